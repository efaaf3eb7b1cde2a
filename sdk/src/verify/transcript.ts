import { bytesToHex } from "../../../agents/core/encoding/bytes.ts";
import type { Decision, SeatInfo, Value } from "../../../agents/core/types.ts";
import { argumentOf, type Argument } from "../../../agents/node/audit/argument.ts";
import { readDeliberation, type Spoken } from "../../../agents/node/audit/deliberation.ts";
import type { VerifyReport } from "../../../agents/node/audit/report.ts";
import { guarded } from "../errors.ts";
import { auditOf, type AuditRequest } from "./audit.ts";
import { breathing } from "./breathing.ts";

/** What a message says: dag-cbor as JSON, with bytes in hexadecimal. Texts are strangers'. */
export type Said = null | boolean | number | string | readonly Said[] | { readonly [key: string]: Said };

export interface TranscriptMessage {
  readonly cid: string;
  readonly seat: number;
  readonly round: number;
  readonly phase: number;
  /** Name of the phase, e.g. "reveal", or of the record of an event; null if the protocol refuses the payload. */
  readonly name: string | null;
  readonly says: Said;
  /** Indices of the messages that its sender says it held. */
  readonly parents: readonly number[];
}

export interface Transcript {
  /** CID of the root. */
  readonly root: string;
  readonly protocol: { readonly id: string; readonly version: number; readonly title: string };
  readonly committee: readonly SeatInfo[];
  readonly decision: Decision;
  /** In the order of the root; up to the first block that fails. */
  readonly messages: readonly TranscriptMessage[];
  /** Who answered what, who objected and why. */
  readonly argument: Argument;
  /** How many messages the root links. */
  readonly linked: number;
  /** What the last complete round lacks for a decision, in words; empty if the committee decided. */
  readonly reasons: readonly string[];
  /** The first block that cannot be fetched or is wrong; null if all were read. */
  readonly failure: Pick<NonNullable<VerifyReport["failure"]>, "kind" | "cid" | "reason"> | null;
}

/**
 * Reads the transcript of the standing decision: hashes and signatures are checked, but nothing is proven, because the
 * protocol is not run again. Null while no decision stands, and if this version does not know the protocol. Rejects with
 * a ConclaveError, e.g. CHAIN_UNREACHABLE, REQUEST_UNKNOWN or NETWORK_FAILED. It checks thousands of signatures where a committee of 31
 * ran a hashgraph, which takes seconds: a page stays responsive meanwhile, and `onProgress` tells how far it is.
 */
export function readTranscript(request: AuditRequest): Promise<Transcript | null> {
  return guarded(async () => {
    const options = await auditOf(request);
    const store = breathing(options.store);
    const { report, deliberation } = await readDeliberation({ ...options, store, replays: false });
    if (deliberation === null || report.decision === null || report.root === null) return null;
    const { protocol, attempt, messages, reasons } = deliberation;
    const { id, version, title } = protocol;
    return {
      root: report.root,
      protocol: { id, version, title },
      committee: attempt.committee,
      decision: report.decision,
      messages: messages.map(saidOf),
      argument: argumentOf(deliberation),
      linked: report.messages,
      reasons: report.decision.status === "hung" ? reasons() : [],
      failure: failureOf(report),
    };
  });
}

function failureOf({ failure }: VerifyReport): Transcript["failure"] {
  // Where all blocks are good, the replay is what was left out.
  if (failure === undefined || failure.step === "replay") return null;
  const { kind, cid, reason } = failure;
  return { kind, cid, reason };
}

export function saidOf({ cid, header, rendering, parents }: Spoken): TranscriptMessage {
  const { seat, round, phase } = header;
  return {
    cid,
    seat,
    round,
    phase,
    name: rendering?.name ?? null,
    says: rendering === null ? null : saidIn(rendering.body),
    parents,
  };
}

function saidIn(value: Value): Said {
  if (value instanceof Uint8Array) return bytesToHex(value);
  if (Array.isArray(value)) return (value as readonly Value[]).map(saidIn);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, saidIn(one)]));
}
