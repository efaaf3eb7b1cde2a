import type { Conclusion, Protocol, SeatContext } from "../../protocol.ts";
import { emptyTally, type Tally } from "../tally.ts";
import type { Decision, Digest, Hex, Message, SeatIndex } from "../../types.ts";

export type Final = Extract<Conclusion, { kind: "final" }>;

/** A proposed transcript and what this seat's own replay made of it. */
export type ProposedRoot =
  | {
      readonly kind: "loading";
      /** Who offered it; one offer per seat is loaded at a time (CE3). */
      readonly from: SeatIndex;
      /** How often it could not be had before. */
      readonly tries: number;
      readonly rootBlock: Uint8Array;
      readonly messages: readonly Digest[];
    }
  /** Not all blocks could be had, so many times in a row; tried again when its timer fires. */
  | { readonly kind: "unavailable"; readonly tries: number }
  | { readonly kind: "bad"; readonly reason: string }
  | {
      readonly kind: "good";
      readonly tally: Tally;
      readonly conclusion: Final;
      readonly rootBlock: Uint8Array;
    };

export interface Offer {
  readonly root: Digest;
  readonly rootBlock: Uint8Array;
  readonly round: number;
}

export interface Signed {
  readonly root: Digest;
  readonly round: number;
  readonly seat: SeatIndex;
  readonly signature: Hex;
}

/** A signature that belongs to its seat, and what it signs, which is kept whatever becomes of the root. */
export interface Verified extends Signed {
  readonly decision: Decision;
}

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
  /** Messages of the certify phases. */
  readonly votes: Tally;
  readonly candidates: ReadonlyMap<Digest, ProposedRoot>;
  /** Latest root each seat has offered: a proposal, a shared own root, or a certificate. */
  readonly offers: ReadonlyMap<SeatIndex, Offer>;
  /** Verified decision signatures by root, round and seat. */
  readonly signatures: ReadonlyMap<string, Verified>;
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
  offers: new Map(),
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
