import { cidString, decodeBlock, encodeBlock, type BlockValue } from "../../core/encoding/codec.ts";
import { bytesToHex, decodeRequestId, sha256 } from "../../core/encoding/bytes.ts";
import { recoverSigner } from "../../core/encoding/digest.ts";
import { decisionDigest } from "../../core/encoding/typed-data.ts";
import { encodeReputationChanges, encodeShares } from "../../core/encoding/words.ts";
import { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { Protocol } from "../../core/protocol.ts";
import { protocolByCode } from "../../core/protocols/index.ts";
import { isSupermajority } from "../../core/quorum.ts";
import { emptyTally } from "../../core/seat/tally.ts";
import { buildTranscript, decodeMessage, readRoot, forgeryIn, replay } from "../../core/encoding/transcript.ts";
import type {
  Attempt,
  Certificate,
  Decision,
  Digest,
  Hex,
  Message,
  Outcome,
  RequestId,
  SeatIndex,
} from "../../core/types.ts";
import type { ChainEvent } from "../../core/request/events.ts";
import type { ChainReader, TransactionReader } from "../../ports/chain.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { progressOf, lastRound, type Progress } from "../../core/request/progress.ts";

/** In this order; the first failure ends the audit. */
export type VerifyStep = "chain" | "certificate" | "root" | "messages" | "replay" | "decision";

/**
 * `undecided`: the chain holds no decision that stands, so that there is nothing to verify. `unavailable`: a block was not to be had, the
 * question or the protocol cannot be read by this program, so that nothing is proven and nothing refuted. `broken`: the source delivers bytes
 * with another hash. `refuted`: what was decided or signed is not what it has to be.
 */
export type FailureKind = "undecided" | "unavailable" | "broken" | "refuted";

export interface VerifyReport {
  readonly requestId: string;
  readonly ok: boolean;
  /** CID of the transcript; null while there is no decision. */
  readonly root: string | null;
  /** Message blocks that the root links. */
  readonly messages: number;
  /** Deliberation rounds that the decision rests on (hashgraph: events of the seat that said most); 0 until the replay. */
  readonly rounds: number;
  /** What was found good. */
  readonly checked: {
    /** Signatures on the decision; null when its transaction does not show them, see `TransactionReader.certificate`. */
    readonly certificateSignatures: number | null;
    /** Blocks whose bytes have the hash that their link states, the root included. */
    readonly blocks: number;
    /** Signatures on messages. */
    readonly messageSignatures: number;
  };
  readonly decision: Decision | null;
  /** Why the protocol refuses the question, which is then Hung (CE19); null where it does not, or the attempt is not known. */
  readonly refused: string | null;
  readonly failure?: {
    readonly kind: FailureKind;
    readonly step: VerifyStep;
    /** The first block that fails; null where no single block is at fault. */
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
}

/** Blocks fetched at once. */
const CONCURRENCY = 16;

/** Ends the audit with a report; errors that are none of its own (chain or network out of reach, aborted) are thrown as they come. */
class Failed extends Error {
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

/** What is known so far, for the report. */
interface Audit {
  readonly options: VerifyOptions;
  decision: Decision | null;
  refused: string | null;
  messages: number;
  rounds: number;
  certificateSignatures: number | null;
  blocks: number;
  messageSignatures: number;
}

/**
 * Proves a decision from the chain and the transcript alone: every hash and signature, then the protocol's pure replay,
 * which must yield exactly what the chain holds. Throws REQUEST_UNKNOWN, CHAIN_* and NETWORK_FAILED: those are no verdict.
 */
export async function verifyRequest(options: VerifyOptions): Promise<VerifyReport> {
  const audit: Audit = {
    options,
    decision: null,
    refused: null,
    messages: 0,
    rounds: 0,
    certificateSignatures: 0,
    blocks: 0,
    messageSignatures: 0,
  };
  try {
    await run(audit);
    return report(audit, null);
  } catch (error) {
    if (error instanceof Failed) return report(audit, error);
    throw error;
  }
}

function report(audit: Audit, failed: Failed | null): VerifyReport {
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

async function run(audit: Audit): Promise<void> {
  const { options } = audit;
  const { chain, requestId, signal } = options;
  const { attempt, protocol, committed } = settledAttempt(chain.domain, await chain.requestEvents(requestId, signal));
  audit.decision = committed.decision;
  audit.refused = protocol.refuseRequest(attempt);
  options.onProgress?.("chain", 1, 1);
  await checkCertificate(audit, attempt, committed);
  const digests = await checkRoot(audit, attempt, protocol, committed.decision.transcript);
  const messages = await checkMessages(audit, attempt, digests);
  const replayed = replay(attempt, protocol, committed.decision.transcript, messages);
  if (replayed.kind === "failed") throw new Failed("replay", replayed.reason, replayed.block);
  audit.rounds = replayed.conclusion.through.round + 1;
  options.onProgress?.("replay", 1, 1);
  const differences = differencesOf(replayed.conclusion.outcome, committed.decision);
  if (differences.length > 0) throw new Failed("decision", `the transcript yields ${differences.join(", ")}`);
  options.onProgress?.("decision", 1, 1);
}

export type Committed = Extract<ChainEvent, { kind: "decisionCommitted" }>;

/** The event of the decision that stands; null while there is none. */
export function standingCommit(progress: Progress, events: readonly ChainEvent[]): Committed | null {
  const attempt = lastRound(progress)?.decision.attempt;
  const found = events.findLast((event) => event.kind === "decisionCommitted" && event.decision.attempt === attempt);
  return found?.kind === "decisionCommitted" ? found : null;
}

/** What the chain fixed for the attempt whose decision stands. Throws where there is none. */
export function settledAttempt(
  domain: Attempt["domain"],
  events: readonly ChainEvent[],
): { readonly attempt: Attempt; readonly protocol: Protocol; readonly committed: Committed } {
  const progress = progressOf(events);
  if (progress === null) throw new Failed("chain", "its question cannot be read from the chain", null, "unavailable");
  const last = lastRound(progress);
  const committed = standingCommit(progress, events);
  if (last === null || committed === null)
    throw new Failed("chain", "it has no decision that stands", null, "undecided");
  const { request } = progress;
  const protocol = protocolByCode(request.terms.protocol);
  if (protocol === null) {
    const reason = `protocol ${request.terms.protocol} is not one of this program's`;
    throw new Failed("chain", reason, null, "unavailable");
  }
  const attempt = { domain, request, attempt: last.decision.attempt, committee: last.committee };
  return { attempt, protocol, committed };
}

async function checkCertificate(audit: Audit, attempt: Attempt, committed: Committed): Promise<void> {
  const { chain, signal, onProgress } = audit.options;
  const signatures = await chain.certificate(committed.transactionHash, committed.requestId, signal);
  if (signatures === null) {
    audit.certificateSignatures = null;
    return;
  }
  const digest = decisionDigest(attempt, committed.decision);
  const seats = new Set<SeatIndex>();
  for (const { seat, signature } of signatures) {
    requireSeatSigned(attempt, digest, seat, signature);
    seats.add(seat);
    audit.certificateSignatures = seats.size;
    onProgress?.("certificate", seats.size, signatures.length);
  }
  if (bitsOf(signatures) !== committed.relay.signers)
    throw new Failed("certificate", "the event names other signers than the certificate");
  if (!isSupermajority(seats.size, attempt.committee.length)) {
    throw new Failed(
      "certificate",
      `${seats.size} of ${attempt.committee.length} seats signed, which is not more than 2/3`,
    );
  }
}

function requireSeatSigned(attempt: Attempt, digest: Digest, seat: SeatIndex, signature: Hex): void {
  const signer = attempt.committee[seat]?.signer;
  if (signer !== undefined && recoverSigner(digest, signature) === signer) return;
  throw new Failed("certificate", `the signature of seat ${seat} on the decision is not that of its agent`);
}

function bitsOf(signatures: Certificate["signatures"]): bigint {
  return signatures.reduce((bits, { seat }) => bits | (1n << BigInt(seat)), 0n);
}

async function checkRoot(audit: Audit, attempt: Attempt, protocol: Protocol, root: Digest): Promise<readonly Digest[]> {
  const fetched = await fetchBlock(audit.options, root, audit.options.signal);
  const bytes = requireBlock("root", root, fetched);
  audit.blocks = 1;
  const read = readRoot(attempt, protocol, bytes);
  if ("refused" in read) throw new Failed("root", explainRoot(attempt, protocol, bytes) ?? read.refused, root);
  audit.messages = read.messages.length;
  audit.options.onProgress?.("root", 1, 1);
  return read.messages;
}

/** Names what the root says otherwise than the chain; null when that is not the matter. */
function explainRoot(attempt: Attempt, protocol: Protocol, bytes: Uint8Array): string | null {
  const found = decodeBlock(bytes, limits.rootBytes);
  const expected = decodeBlock(
    buildTranscript(attempt, protocol, emptyTally, { round: 0, phase: 0 }).rootBlock,
    limits.rootBytes,
  );
  const others = ["version", "protocol", "protocolVersion"].flatMap((name) =>
    compareField(name, field(found, name), field(expected, name)),
  );
  const [theirs, ours] = [field(found, "attempt"), field(expected, "attempt")];
  const names = typeof ours === "object" && ours !== null ? Object.keys(ours) : [];
  const differing = [...others, ...names.flatMap((name) => compareField(name, field(theirs, name), field(ours, name)))];
  return differing.length === 0 ? null : `it is the transcript of something else: ${differing.join(", ")}`;
}

function compareField(
  name: string,
  found: BlockValue | undefined,
  expected: BlockValue | undefined,
): readonly string[] {
  if (found === undefined || expected === undefined) return found === expected ? [] : [`no ${name}`];
  if (sha256(encodeBlock([found])) === sha256(encodeBlock([expected]))) return [];
  const [theirs, ours] = [found, expected].map((value) =>
    name === "requestId" ? decodeRequestId(value) : typeof value === "number" ? value : null,
  );
  return theirs === null || ours === null ? [`another ${name}`] : [`${name} ${theirs}, not ${ours}`];
}

function field(value: BlockValue | undefined, name: string): BlockValue | undefined {
  if (value === null || typeof value !== "object" || Array.isArray(value) || value instanceof Uint8Array)
    return undefined;
  return (value as Readonly<Record<string, BlockValue>>)[name];
}

interface CheckedMessage {
  readonly digest: Digest;
  readonly message: Message;
  readonly verified: true;
}

/** In the order of the root's links, so that the block that is named is the first that fails. */
async function checkMessages(
  audit: Audit,
  attempt: Attempt,
  digests: readonly Digest[],
): Promise<readonly CheckedMessage[]> {
  const { options } = audit;
  const leaving = new AbortController();
  const signal = AbortSignal.any([options.signal, leaving.signal]);
  const pending: Promise<Fetched>[] = [];
  const messages: CheckedMessage[] = [];
  try {
    for (const [index, digest] of digests.entries()) {
      for (const ahead of digests.slice(index + pending.length, index + CONCURRENCY))
        pending.push(fetchBlock(options, ahead, signal));
      const bytes = requireBlock("messages", digest, await (pending.shift() as Promise<Fetched>));
      audit.blocks += 1;
      const message = decodeMessage(bytes);
      if (message === null) throw new Failed("messages", "it is no message", digest);
      const refused = forgeryIn(attempt, message);
      if (refused !== null) throw new Failed("messages", refusalText(refused, message), digest);
      audit.messageSignatures += 1;
      messages.push({ digest, message, verified: true });
      options.onProgress?.("messages", messages.length, digests.length);
    }
  } finally {
    leaving.abort();
  }
  return messages;
}

function refusalText(refused: string, { header }: Message): string {
  const place = `round ${header.round}, phase ${header.phase}, seat ${header.seat}`;
  return refused === "bad-signature"
    ? `bad signature: not that of the seat's agent (${place})`
    : `${refused} (${place})`;
}

type Fetched = { readonly bytes: Uint8Array } | { readonly error: unknown };

/** Never rejects, so that one that is not awaited any more cannot end the process. */
async function fetchBlock({ store }: VerifyOptions, digest: Digest, signal: AbortSignal): Promise<Fetched> {
  try {
    return { bytes: await store.get(digest, signal) };
  } catch (error) {
    return { error: signal.aborted ? signal.reason : error };
  }
}

/** The store is not trusted with the hash. */
function requireBlock(step: VerifyStep, digest: Digest, fetched: Fetched): Uint8Array {
  if ("error" in fetched) {
    const { error } = fetched;
    if (error instanceof ConclaveError && error.code === "BLOCK_MISSING")
      throw new Failed(step, `missing block: ${whyMissing(error)}`, digest, "unavailable");
    if (error instanceof ConclaveError && error.code === "BLOCK_INVALID")
      throw new Failed(step, `hash mismatch: ${error.message}`, digest, "broken");
    throw error;
  }
  const actual = sha256(fetched.bytes);
  if (actual === digest) return fetched.bytes;
  throw new Failed(step, `hash mismatch: its bytes are those of ${cidString(actual)}`, digest, "broken");
}

/** Nobody waited for a source that knows at once. */
function whyMissing({ data }: ConclaveError): string {
  return data["timeoutMs"] === 0 ? "the source does not hold it" : "nobody delivered it in time";
}

/** For people. */
export function verdictOf({ failure }: VerifyReport): string {
  if (failure === undefined) return "PROVEN: the transcript yields exactly what the chain holds";
  switch (failure.kind) {
    case "undecided":
      return "UNDECIDED: there is no decision to verify";
    case "unavailable":
      return `UNAVAILABLE at ${failure.step}`;
    case "broken":
    case "refuted":
      return `REFUTED at ${failure.step}`;
  }
}

function differencesOf(yielded: Outcome, committed: Decision): readonly string[] {
  const pairs: readonly (readonly [name: string, yielded: string, committed: string])[] = [
    ["status", yielded.status, committed.status],
    ["outcome", yielded.outcome, committed.outcome],
    ["answer", JSON.stringify(yielded.answer), JSON.stringify(committed.answer)],
    ["confidence", String(yielded.confidence), String(committed.confidence)],
    [
      "reputation changes",
      bytesToHex(encodeReputationChanges(yielded.reputationChanges)),
      bytesToHex(encodeReputationChanges(committed.reputationChanges)),
    ],
    ["shares", bytesToHex(encodeShares(yielded.shares)), bytesToHex(encodeShares(committed.shares))],
  ];
  return pairs
    .filter(([, mine, theirs]) => mine !== theirs)
    .map(([name, mine, theirs]) => `${name} ${mine} where the chain has ${theirs}`);
}
