import type { Protocol } from "../protocol.ts";
import { adversarial } from "./adversarial/index.ts";
import { clo } from "./clo/index.ts";
import { council } from "./council.ts";
import { debate } from "./debate/index.ts";
import { escalating } from "./escalating/index.ts";
import { hashgraph } from "./hashgraph/index.ts";
import { leaderless } from "./leaderless/index.ts";
import { mbft } from "./mbft/index.ts";
import { mbftBayesian } from "./mbft-bayesian/index.ts";
import { unanimous } from "./unanimous/index.ts";
import { wbft } from "./wbft/index.ts";

/** The only registration: CLI choices, config validation, docs and on-chain codes derive from this list. */
export const protocols: readonly Protocol[] = [
  mbft,
  mbftBayesian,
  wbft,
  leaderless,
  unanimous,
  hashgraph,
  council,
  debate,
  adversarial,
  escalating,
  clo,
];

export function protocolByCode(code: number): Protocol | null {
  return protocols.find((protocol) => protocol.code === code) ?? null;
}

export function protocolById(id: string): Protocol | null {
  return protocols.find((protocol) => protocol.id === id) ?? null;
}
