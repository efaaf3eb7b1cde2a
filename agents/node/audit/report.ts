import { cidString } from "../../core/encoding/cid.ts";
import type { Decision, Digest, RequestId } from "../../core/types.ts";
import type { ChainReader, TransactionReader } from "../../ports/chain.ts";
import type { ContentStore } from "../../ports/content-store.ts";

/** Steps of an audit, in this order; the first failure ends it. */
export type VerifyStep = "chain" | "certificate" | "root" | "messages" | "replay" | "decision";

/**
 * `undecided`: the chain holds no standing decision, so that there is nothing to verify. `unavailable`: nobody delivers
 * a block, or this program cannot read the question or the protocol, so that nothing is proven or refuted. `broken`:
 * the source delivers bytes with another hash, which says nothing of the decision. `refuted`: the decision or a signature is wrong.
 */
export type FailureKind = "undecided" | "unavailable" | "broken" | "refuted";

export interface VerifyReport {
  readonly requestId: string;
  readonly ok: boolean;
  /** CID of the transcript; null without a decision. */
  readonly root: string | null;
  /** Message blocks that the root links. */
  readonly messages: number;
  /**
   * Deliberation rounds that the decision rests on (hashgraph: events of the seat that has most); 0 until the replay.
   */
  readonly rounds: number;
  /** Counts of what the audit has checked and found good. */
  readonly checked: {
    /** Signatures on the decision; null if its transaction does not show them (see `TransactionReader.certificate`). */
    readonly certificateSignatures: number | null;
    /** Blocks whose bytes have the hash that their link states, the root included. */
    readonly blocks: number;
    /** Signatures on messages. */
    readonly messageSignatures: number;
  };
  readonly decision: Decision | null;
  /**
   * Why the protocol refuses the question, which then hangs (CE19); null if it accepts it or if the attempt is unknown.
   */
  readonly refused: string | null;
  readonly failure?: {
    readonly kind: FailureKind;
    readonly step: VerifyStep;
    /** The first block that fails; null if no single block is at fault. */
    readonly cid: string | null;
    readonly reason: string;
  };
}

export interface VerifyOptions {
  readonly chain: Pick<ChainReader, "domain" | "requestEvents"> & Pick<TransactionReader, "certificate">;
  readonly store: Pick<ContentStore, "get">;
  readonly requestId: RequestId;
  readonly signal: AbortSignal;
  readonly onProgress?: (step: VerifyStep, done: number, total: number) => void;
  /** False: the audit ends before the replay, for readers who want no proof; its report is then not ok. */
  readonly replays?: boolean;
}

/** Ends the audit with a report. Errors of another kind (chain or network unreachable, aborted) pass through. */
export class Failed extends Error {
  readonly step: VerifyStep;
  readonly block: Digest | null;
  readonly kind: FailureKind;

  constructor(step: VerifyStep, reason: string, block: Digest | null = null, kind: FailureKind = "refuted") {
    super(reason);
    this.step = step;
    this.block = block;
    this.kind = kind;
  }
}

/** What the audit knows so far, for the report. */
export interface Audit {
  readonly options: VerifyOptions;
  decision: Decision | null;
  refused: string | null;
  messages: number;
  rounds: number;
  certificateSignatures: number | null;
  blocks: number;
  messageSignatures: number;
}

export function report(audit: Audit, failed: Failed | null): VerifyReport {
  const { decision, refused: refusal, messages, rounds, certificateSignatures, blocks, messageSignatures } = audit;
  const cid = failed === null || failed.block === null ? null : cidString(failed.block);
  return {
    requestId: String(audit.options.requestId),
    ok: failed === null,
    root: decision === null ? null : cidString(decision.transcript),
    messages,
    rounds,
    checked: { certificateSignatures, blocks, messageSignatures },
    decision,
    refused: refusal,
    ...(failed === null ? {} : { failure: { kind: failed.kind, step: failed.step, cid, reason: failed.message } }),
  };
}

/** The verdict in words. */
export function verdictOf({ failure }: VerifyReport): string {
  if (failure === undefined) return "PROVEN: the transcript yields exactly what the chain holds";
  switch (failure.kind) {
    case "undecided":
      return "UNDECIDED: there is no decision to verify";
    case "unavailable":
      return `UNAVAILABLE at ${failure.step}`;
    case "broken":
      return `BROKEN at ${failure.step}`;
    case "refuted":
      return `REFUTED at ${failure.step}`;
  }
}
