/**
 * The bit layout of every packed word: one table for all languages. TypeScript packs and unpacks by it (words.ts), scripts/words.ts
 * writes the subgraph's accessors from it, and test/core/layouts.test.ts compares every shift and cast of the Solidity libraries
 * with it.
 */

/** The fields of a word from the highest bit to the lowest: name and number of bits. The bits above the first are 0. */
export type Layout = readonly (readonly [name: string, bits: number])[];

export const LAYOUTS = {
  /** See RequestTermsLib.sol. */
  requestTerms: [
    ["fee", 80],
    ["delay", 24],
    ["finality", 8],
    ["duration", 24],
    ["appeals", 4],
    ["retries", 4],
    ["tolerance", 40],
    ["callbackGasLimit", 24],
    ["committeeSize", 8],
    ["assurance", 2],
    ["nonAnswers", 2],
    ["security", 2],
    ["currency", 2],
    ["decimals", 8],
    ["options", 8],
    ["kind", 8],
    ["protocol", 8],
  ],
  /** See RequestIdLib.sol. */
  requestId: [
    ["priceVersion", 16],
    ["subscription", 48],
    ["count", 48],
  ],
  /** See RoundLib.sol. The link holds the upper bits of a hash. */
  round: [
    ["link", 208],
    ["appeals", 8],
    ["deadline", 40],
  ],
  /** See SeatLib.sol. */
  seat: [
    ["skill", 8],
    ["agentId", 32],
    ["reputation", 32],
    ["signer", 160],
  ],
  /** See DecisionHeadLib.sol. */
  decisionHead: [
    ["status", 8],
    ["attempt", 8],
    ["seats", 8],
    ["round", 32],
    ["confidence", 32],
    ["answered", 64],
    ["agreed", 64],
  ],
  /** See RelayLib.sol. The gas price counts units of 10^6 wei. */
  relay: [
    ["signers", 64],
    ["gasPrice", 32],
    ["relayer", 160],
  ],
  /** See PricesLib.sol. The cap counts units of 10^6 wei. */
  prices: [
    ["unitPrice", 80],
    ["gasRate", 80],
    ["gasPriceCap", 32],
    ["treasuryPpm", 24],
    ["version", 16],
    ["open", 8],
  ],
  /** See RequestState.sol: the oracle's storage. The commitment holds the upper bits of a hash. */
  requestState: [
    ["commitment", 232],
    ["flags", 8],
    ["attempt", 8],
    ["status", 8],
  ],
  /** See Candidates.sol: the registry's storage. The stake is a fraction of the highest stake; the stamp is an epoch plus 1. */
  candidate: [
    ["stake", 24],
    ["reputation", 20],
    ["skill", 2],
    ["agentId", 22],
    ["signer", 160],
    ["stamp", 28],
  ],
  /** See ServiceLib.sol. The steps are an int8 in two's complement. */
  service: [
    ["agentId", 32],
    ["steps", 8],
    ["missed", 8],
    ["answered", 8],
    ["agreed", 8],
    ["earned", 96],
  ],
  /** See AgentAccountLib.sol: the registry's storage. */
  agentAccount: [
    ["exited", 1],
    ["misses", 2],
    ["service", 5],
    ["reputation", 20],
    ["week", 14],
    ["slashes", 2],
    ["lessons", 4],
    ["contested", 7],
    ["agreed", 7],
    ["native", 96],
    ["token", 96],
  ],
  /** See BalancesLib.sol: the oracle's storage. */
  balances: [
    ["count", 48],
    ["native", 104],
    ["token", 104],
  ],
} as const satisfies Readonly<Record<string, Layout>>;

export type Field<L extends Layout> = L[number][0];

/** Where a field begins, counted from the lowest bit, and how many bits it has. */
export function placeOf<const L extends Layout>(
  layout: L,
  name: Field<L>,
): { readonly shift: number; readonly bits: number } {
  const index = layout.findIndex(([field]) => field === name);
  const bits = layout[index]?.[1];
  if (bits === undefined) throw new RangeError(`the layout has no field ${name}`);
  return { shift: layout.slice(index + 1).reduce((sum, [, width]) => sum + width, 0), bits };
}

/** The largest value of a field. */
export function greatestOf<const L extends Layout>(layout: L, name: Field<L>): bigint {
  return (1n << BigInt(placeOf(layout, name).bits)) - 1n;
}
