// Generated from agents/core/protocols by scripts/words.ts; `npm run check` compares. Do not edit.
/** The on-chain codes of the protocols, by their ids: the protocols themselves are too large for a web page. */
export const PROTOCOL_CODES = {
  mbft: 1,
  "mbft-bayesian": 2,
  wbft: 3,
  leaderless: 4,
  unanimous: 5,
  hashgraph: 6,
  council: 7,
  debate: 8,
  adversarial: 9,
  escalating: 10,
  clo: 11,
} as const;
