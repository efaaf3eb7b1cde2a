// Coins and test tokens for everybody; only on a local chain.
import { parseAbi, parseEther, type LocalAccount } from "viem";
import { receiptOf } from "../../agents/adapters/chain/receipt.ts";
import type { Address, Hex } from "../../agents/core/types.ts";
import type { LocalChain } from "../local-chain.ts";
import { clientsOf } from "./clients.ts";

const abi = parseAbi([
  "function mint(address account, uint256 amount)",
  "function approve(address spender, uint256 amount) returns (bool)",
  "function fund(uint48 subscriptionId, uint256 amount)",
]);

export interface Bank {
  /** Coins for gas, and tokens. */
  fund(account: Address, tokens: bigint): Promise<void>;
  mint(account: Address, tokens: bigint): Promise<void>;
  /** Moves tokens of the owner into a subscription. */
  subscribe(oracle: Address, subscription: number, tokens: bigint): Promise<void>;
}

/** Transactions go out one after the other, in the order of the calls. */
export function openBank({ rpcUrl, chainId }: LocalChain, token: Address, owner: LocalAccount): Bank {
  const { reader, wallet } = clientsOf(rpcUrl, chainId, owner);
  let last: Promise<unknown> = Promise.resolve();
  const settle = async (before: Promise<unknown>, send: () => Promise<Hex>): Promise<void> => {
    await before;
    const receipt = await receiptOf(reader, await send());
    if (receipt.status !== "success") throw new Error(`Fund an account: ${receipt.transactionHash} reverted`);
  };
  const inOrder = (send: () => Promise<Hex>): Promise<void> => {
    const next = settle(last, send);
    last = next.catch(() => undefined);
    return next;
  };
  const mint = (account: Address, tokens: bigint): Promise<void> =>
    inOrder(() => wallet.writeContract({ address: token, abi, functionName: "mint", args: [account, tokens] }));
  return {
    mint,
    async fund(account, tokens) {
      const coins = inOrder(() => wallet.sendTransaction({ to: account, value: parseEther("10") }));
      await Promise.all([coins, mint(account, tokens)]);
    },
    async subscribe(oracle, subscription, tokens) {
      await inOrder(() =>
        wallet.writeContract({ address: token, abi, functionName: "approve", args: [oracle, tokens] }),
      );
      await inOrder(() =>
        wallet.writeContract({ address: oracle, abi, functionName: "fund", args: [subscription, tokens] }),
      );
    },
  };
}
