import type { FinalConclusion, Protocol, SeatContext } from "../../protocol.ts";
import { emptyTally, type Tally } from "../tally.ts";
import type { Decision, Digest, Hex, SeatIndex } from "../../types.ts";

/** A proposed transcript and what this seat's own replay made of it. */
export type ProposedRoot =
  | {
      readonly kind: "loading";
      /** The seat that offered it; one offer per seat is loaded at a time (CE3). */
      readonly from: SeatIndex;
      /** Number of failed loads before this one. */
      readonly tries: number;
      readonly rootBlock: Uint8Array;
      readonly messages: readonly Digest[];
    }
  /** Some blocks could not be loaded, `tries` times in a row; a timer starts the next try. */
  | { readonly kind: "unavailable"; readonly tries: number }
  | { readonly kind: "bad"; readonly reason: string }
  | GoodRoot;

/** A root that this seat replayed to a final conclusion (CE4). */
export interface GoodRoot {
  readonly kind: "good";
  readonly tally: Tally;
  readonly conclusion: FinalConclusion;
  readonly rootBlock: Uint8Array;
}

export interface Offer {
  readonly root: Digest;
  readonly rootBlock: Uint8Array;
  readonly ballot: number;
}

export interface Signed {
  readonly root: Digest;
  readonly ballot: number;
  readonly seat: SeatIndex;
  readonly signature: Hex;
}

/** A signature that its seat made, with the decision it signs. The decision is kept whatever becomes of the root. */
export interface Verified extends Signed {
  readonly decision: Decision;
}

export interface Lock {
  readonly root: Digest;
  readonly ballot: number;
}

/**
 * docs/spec/certify.md: single-shot Tendermint (arXiv 1807.04938, Algorithm 1) on the transcript root. A vote names a
 * root; the decision is a function of the root and the ballot. A ballot is one of the paper's rounds: the field `round` of the
 * message header and of the signed `Decision` holds its number. "Tendermint L.." cites the paper's lines.
 */
export interface CertifyState {
  /** The messages this seat held in time; null until its deliberation is over (CE2). */
  readonly inTime: Tally | null;
  readonly ballot: number;
  readonly step: "propose" | "prevote" | "precommit";
  readonly locked: Lock | null;
  readonly valid: Lock | null;
  /** Messages of the certify phases. */
  readonly votes: Tally;
  readonly roots: ReadonlyMap<Digest, ProposedRoot>;
  /** Latest root each seat has offered: a proposal, a shared own root, or a certificate. */
  readonly offers: ReadonlyMap<SeatIndex, Offer>;
  /** Verified decision signatures by root, ballot and seat. */
  readonly signatures: ReadonlyMap<string, Verified>;
  /** Vote timers of this ballot that have started. */
  readonly running: readonly string[];
  readonly done: boolean;
}

export const initialCertify: CertifyState = {
  inTime: null,
  ballot: 0,
  step: "propose",
  locked: null,
  valid: null,
  votes: emptyTally,
  roots: new Map(),
  offers: new Map(),
  signatures: new Map(),
  running: [],
  done: false,
};

/** The seat around the certification. */
export interface CertifyContext extends SeatContext {
  readonly protocol: Protocol;
  /** Deliberation messages now held. */
  readonly tally: Tally;
}
