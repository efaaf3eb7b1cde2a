// The provider that Ignition talks to: the node of the chain, and a key that the node does not have.
import type { EIP1193Provider } from "@nomicfoundation/ignition-core";
import { BaseError, RpcRequestError, hexToBigInt, hexToNumber, http, type Hex, type LocalAccount } from "viem";

export interface Sent {
  /** Null creates a contract. */
  readonly to: Hex | null;
  readonly data: Hex;
  readonly nonce: number;
}

interface Transaction {
  readonly to?: Hex | null;
  readonly data?: Hex;
  readonly value?: Hex;
  readonly nonce: Hex;
  readonly gas: Hex;
  readonly gasPrice?: Hex;
  readonly maxFeePerGas?: Hex;
  readonly maxPriorityFeePerGas?: Hex;
}

export interface Hooks {
  /** May throw; then nothing is signed. */
  readonly beforeSigning: (sent: Sent) => void;
  /** The signed transaction, sent as soon as this resolves. */
  readonly beforeSending: (nonce: number, raw: Hex) => Promise<void>;
}

export function signingProvider(
  rpcUrl: string,
  chainId: number,
  account: LocalAccount,
  { beforeSigning, beforeSending }: Hooks,
): EIP1193Provider {
  const { request } = http(rpcUrl)({});
  const ask = (method: string, params: unknown): Promise<unknown> =>
    request({ method, params }).catch((error: unknown) => {
      // Ignition looks for the revert's data on the error itself.
      const cause = error instanceof BaseError ? error.walk((one) => one instanceof RpcRequestError) : null;
      throw cause ?? error;
    });
  return {
    async request({ method, params }) {
      if (method === "eth_accounts") return [account.address];
      if (method === "eth_call") return ask(method, onLatest(params));
      if (method !== "eth_sendTransaction") return ask(method, params);
      const [transaction] = params as readonly [Transaction];
      const nonce = hexToNumber(transaction.nonce);
      beforeSigning({ to: transaction.to ?? null, data: transaction.data ?? "0x", nonce });
      const raw = await sign(transaction, chainId, account);
      await beforeSending(nonce, raw);
      return ask("eth_sendRawTransaction", [raw]);
    },
  };
}

/**
 * Moves a call from the pending block to the latest one. Ignition tries each transaction on the pending block before it sends it,
 * and there Geth's prevrandao is 0, which the oracle's constructor refuses.
 */
function onLatest(params: unknown): unknown {
  const [call, block, ...rest] = params as readonly unknown[];
  return [call, block === "pending" ? "latest" : block, ...rest];
}

function sign(transaction: Transaction, chainId: number, account: LocalAccount): Promise<Hex> {
  const { to, data, value, nonce, gas, gasPrice, maxFeePerGas, maxPriorityFeePerGas } = transaction;
  const common = {
    chainId,
    to: to ?? null,
    ...(data === undefined ? {} : { data }),
    value: hexToBigInt(value ?? "0x0"),
    nonce: hexToNumber(nonce),
    gas: hexToBigInt(gas),
  };
  if (gasPrice !== undefined)
    return account.signTransaction({ ...common, type: "legacy", gasPrice: hexToBigInt(gasPrice) });
  const fees = {
    maxFeePerGas: hexToBigInt(maxFeePerGas ?? "0x0"),
    maxPriorityFeePerGas: hexToBigInt(maxPriorityFeePerGas ?? "0x0"),
  };
  return account.signTransaction({ ...common, ...fees, type: "eip1559" });
}
