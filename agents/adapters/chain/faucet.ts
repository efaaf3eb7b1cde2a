// Coins and tokens on a local chain, from the accounts that its node holds unlocked.
import { createPublicClient, encodeFunctionData, http, parseAbi, type PublicClient } from "viem";
import { ConclaveError } from "../../core/errors.ts";
import type { Address, Hex } from "../../core/types.ts";
import { LOCAL_CHAINS } from "./beacon.ts";
import { toChainError } from "./errors.ts";
import { receiptOf, requireStatus } from "./receipt.ts";

export interface Gift {
  readonly to: Address;
  /** In wei; 0 sends none. */
  readonly coins: bigint;
  /** In the smallest units; 0 mints none. */
  readonly tokens: bigint;
  /** The test token of the deployment, which anybody may mint. */
  readonly token: Address;
}

/** What the faucet did, by the hashes of its transactions. */
export interface Given {
  readonly from: Address;
  readonly transactionHashes: readonly Hex[];
}

const mint = parseAbi(["function mint(address account, uint256 amount)"]);

/**
 * Sends coins and mints test tokens. Throws CONFIG_INVALID on a chain that is not local, or whose node has no unlocked
 * account or one with fewer coins; CHAIN_REVERTED if the token cannot be minted; CHAIN_UNREACHABLE.
 */
export async function give(
  { rpcUrl, chainId }: { readonly rpcUrl: string; readonly chainId: number },
  gift: Gift,
  signal: AbortSignal,
): Promise<Given> {
  const { to, coins, tokens, token } = gift;
  if (!LOCAL_CHAINS.includes(chainId))
    throw refused(to, `chain ${chainId} is not local, so nobody gives anything away; send it coins and tokens`);
  const fetchFn: typeof fetch = (input, init) => fetch(input, { ...init, signal });
  const client = createPublicClient({ transport: http(rpcUrl, { fetchFn }) });
  try {
    const [from] = await client.request<{ Method: "eth_accounts"; Parameters: []; ReturnType: readonly Address[] }>({
      method: "eth_accounts",
      params: [],
    });
    if (from === undefined)
      throw refused(to, "the node holds no unlocked account; start one with `conclave dev`, or anvil");
    const data = encodeFunctionData({ abi: mint, args: [to, tokens] });
    const calls = [
      ...(coins === 0n ? [] : [{ from, to, value: hexOf(coins) }]),
      ...(tokens === 0n ? [] : [{ from, to: token, data }]),
    ];
    const transactionHashes: Hex[] = [];
    for (const call of calls) transactionHashes.push(await send(client, call, to));
    return { from, transactionHashes };
  } catch (error) {
    signal.throwIfAborted();
    const failed = toChainError(error, `Give to ${to}`, rpcUrl);
    if (failed.code !== "BALANCE_TOO_LOW") throw failed;
    const message = `Give to ${to}: the node's own account, which gives, holds fewer coins; ask for less with --coins`;
    throw new ConclaveError("CONFIG_INVALID", message, { account: to, option: "--coins" }, failed);
  }
}

interface Call {
  readonly from: Address;
  readonly to: Address;
  readonly value?: Hex;
  readonly data?: Hex;
}

async function send(client: PublicClient, call: Call, receiver: Address): Promise<Hex> {
  const hash = await client.request<{ Method: "eth_sendTransaction"; Parameters: [Call]; ReturnType: Hex }>({
    method: "eth_sendTransaction",
    params: [call],
  });
  const { status } = requireStatus(`Give to ${receiver}`, await receiptOf(client, hash));
  if (status === "success") return hash;
  const why =
    call.value === undefined
      ? "the token minted nothing for it"
      : "it took no coins: it is no account but code, which refuses them or needs more gas than a transfer has; name an account";
  throw new ConclaveError("CHAIN_REVERTED", `Give to ${receiver}: ${why} (transaction ${hash} reverted)`, {
    transactionHash: hash,
  });
}

function refused(to: Address, why: string): ConclaveError {
  return new ConclaveError("CONFIG_INVALID", `Give to ${to}: ${why}`, { account: to });
}

function hexOf(amount: bigint): Hex {
  return `0x${amount.toString(16)}`;
}
