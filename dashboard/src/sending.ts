/** Actions of viem that only whoever sends needs. */
export {
  estimateFeesPerGas,
  estimateGas,
  sendTransaction,
  signTypedData,
  waitForTransactionReceipt,
} from "viem/actions";
