import type { Conclusion, Protocol, SeatContext } from "./protocol.ts";
import { emptyTally, type Tally } from "./tally.ts";
import type { Digest, Hex, Message } from "./types.ts";

export type Final = Extract<Conclusion, { kind: "final" }>;

/** A proposed transcript and what this seat's own replay made of it. */
export type Candidate =
  | { readonly kind: "loading"; readonly rootBlock: Uint8Array; readonly messages: readonly Digest[] }
  | { readonly kind: "bad"; readonly reason: string }
  | {
      readonly kind: "good";
      readonly tally: Tally;
      readonly conclusion: Final;
      readonly blocks: readonly Uint8Array[];
    };

export interface Lock {
  readonly root: Digest;
  readonly round: number;
}

/**
 * docs/spec/certify.md: single-shot Tendermint (arXiv 1807.04938, Algorithm 1) on the transcript root. A vote names a
 * root; the decision is a function of the root and the certify round. "L.." cites the paper's lines.
 */
export interface CertifyState {
  /** What this seat held in time; null until its deliberation is over (CE2). */
  readonly inTime: Tally | null;
  readonly round: number;
  readonly stage: "propose" | "prevote" | "precommit";
  readonly locked: Lock | null;
  readonly valid: Lock | null;
  /** PROPOSE, PREVOTE and PRECOMMIT messages. */
  readonly votes: Tally;
  readonly candidates: ReadonlyMap<Digest, Candidate>;
  /** Verified decision signatures: `round.seat` -> root and signature. */
  readonly signatures: ReadonlyMap<string, { readonly root: Digest; readonly signature: Hex }>;
  /** Timers of this round already running. */
  readonly running: readonly string[];
  readonly done: boolean;
}

export const initialCertify: CertifyState = {
  inTime: null,
  round: 0,
  stage: "propose",
  locked: null,
  valid: null,
  votes: emptyTally,
  candidates: new Map(),
  signatures: new Map(),
  running: [],
  done: false,
};

/** What the engine sees of the seat around it. */
export interface CertifyContext extends SeatContext {
  readonly protocol: Protocol;
  /** Deliberation messages now held. */
  readonly tally: Tally;
  /** The same messages by the digest of their block. */
  readonly byBlock: ReadonlyMap<Digest, Message>;
}
