// Whether a chain has a beacon: randomness in each block that nobody knows when a request is made (docs/adr/007).
import { numberToHex, type Hex, type PublicClient } from "viem";

/** Chains that nobody else uses: a block is final at once, a poll costs nothing, and the node makes up the randomness. */
export const LOCAL_CHAINS: readonly number[] = [1_337, 31_337];

/** MIN_PREVRANDAO of contracts/types/Limits.sol. */
const MIN_PREVRANDAO = 1n << 64n;
/**
 * Init code that returns a zero byte and the opcode's value: PREVRANDAO, PUSH1 1, MSTORE, PUSH1 33, PUSH0, RETURN.
 * Without the zero byte a node refuses one value in 256, as code that begins with 0xEF (EIP-3541).
 */
const TELL_PREVRANDAO: Hex = "0x4460015260215ff3";

const ORBIT = "an Arbitrum chain: the EVM's prevrandao is always 1, and the header's mixHash holds counters";
const OP_STACK = "an OP Stack chain: prevrandao is that of an older block of L1, which an asker can know beforehand";
const ZKSYNC = "a ZKsync chain: prevrandao is always 2500000000000000";
const SCROLL = "Scroll: prevrandao is always 0";
const LINEA = "Linea: the only sequencer works out prevrandao and knows it beforehand";

/**
 * Public chains without a usable beacon. The list only explains; `examineBeacon` finds most others by their blocks.
 *
 * Sources, read in November 2026: docs.arbitrum.io/solidity-support, docs.scroll.io/en/technology/chain/differences,
 * docs.linea.build/network/build/ethereum-differences, native-rollups.l2beat.com/l1_vs_l2_diff.html (all five).
 */
const WITHOUT_BEACON: ReadonlyMap<number, string> = new Map([
  [42_161, ORBIT],
  [42_170, ORBIT],
  [421_614, ORBIT],
  [10, OP_STACK],
  [11_155_420, OP_STACK],
  [8_453, OP_STACK],
  [84_532, OP_STACK],
  [324, ZKSYNC],
  [300, ZKSYNC],
  [534_352, SCROLL],
  [534_351, SCROLL],
  [59_144, LINEA],
  [59_141, LINEA],
]);

/** Says why committees cannot be drawn on this chain; null if nothing is wrong with its randomness. */
export async function examineBeacon(client: PublicClient, chainId: number): Promise<string | null> {
  if (LOCAL_CHAINS.includes(chainId)) return null;
  const known = WITHOUT_BEACON.get(chainId);
  if (known !== undefined) return known;
  const latest = await client.getBlock();
  const block = numberToHex(latest.number);
  const told = BigInt(await client.request({ method: "eth_call", params: [{ data: TELL_PREVRANDAO }, block] }));
  if (told < MIN_PREVRANDAO) return `prevrandao of block ${latest.number} is ${told}, which is no random number`;
  const before = await client.getBlock({ blockHash: latest.parentHash });
  if (before.mixHash !== latest.mixHash) return null;
  return `blocks ${before.number} and ${latest.number} have the same prevrandao ${latest.mixHash}`;
}
