import assert from "node:assert/strict";

import type { Keys } from "../../agents/adapters/keystore/keys.ts";
import { bytesToHex, keccak256, utf8, word } from "../../agents/core/encoding/bytes.ts";
import { committeeHash, decisionDigest, requestHashOf } from "../../agents/core/encoding/typed-data.ts";
import { quorumOf } from "../../agents/core/quorum.ts";
import { unpackRound } from "../../agents/core/request/rounds.ts";
import type {
  AgentId,
  Attempt,
  Certificate,
  Decision,
  Digest,
  Domain,
  HashedRequest,
  Ppm,
  Request,
  RequestId,
  SeatIndex,
  SeatInfo,
  Terms,
} from "../../agents/core/types.ts";
import type { AwaitedRound, DecidedRound } from "../../agents/core/request/events.ts";
import type {
  ChainReader,
  ChainWriter,
  DecisionProof,
  FinalRequest,
  MessageProof,
  Receipt,
} from "../../agents/ports/chain.ts";
import { awaitedOf, progressOf, lastRound, roundsOf, type Progress } from "../../agents/core/request/progress.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import { decisionSlotDigest, slotDigest } from "../support/memory-chain/slot-digests.ts";

/** A chain with 13 agents, enough for a committee of 4 and one appeal, and a consumer that can pay. */
export interface ChainHarness {
  /** Keys of the registered agents. */
  readonly keys: readonly Keys[];
  /** Opens a reader; `finalityDepth` is 0 unless given. */
  reader(options?: { readonly finalityDepth?: number }): Promise<ChainReader>;
  /** Writers of different accounts. */
  writer(account: 0 | 1): Promise<ChainWriter>;
  ask(terms: Terms, question: string): Promise<RequestId>;
  /** Appeals from an account that can pay the bond. */
  appeal(request: Request, last: DecidedRound): Promise<Receipt>;
  /** Sets whether callbacks succeed from now on. */
  setConsumer(accepts: boolean): Promise<void>;
  mine(blocks: number): Promise<void>;
  /** Replaces the newest blocks, none of which has a transaction, by as many others. */
  reorganize(blocks: number): Promise<void>;
  /** Mines a block that is so many seconds later. */
  passTime(seconds: number): Promise<void>;
  setReachable(reachable: boolean): Promise<void>;
  /** Number of settled requests that an agent has served, up to the most that count. */
  services(agentId: AgentId): Promise<number>;
  stop(): Promise<void>;
}

export interface Asked extends AwaitedRound {
  readonly request: Request;
}

export interface Drawn {
  readonly request: Request;
  readonly awaited: AwaitedRound;
  readonly committee: readonly SeatInfo[];
  readonly certificate: Certificate;
  readonly certifying: (decided: Partial<Decision>) => Certificate;
}

const ONE = 10n ** 18n;

/** Asks a question and reads it back from its event. */
export async function asked(harness: ChainHarness, change: Partial<Terms> = {}): Promise<Asked> {
  const reader = await harness.reader();
  const terms = defaultTerms({ fee: ONE, protocol: 1, ...change });
  const question = `Is this unique? ${crypto.randomUUID()} ✓`;
  const [event] = await reader.requestEvents(await harness.ask(terms, question));
  assert.ok(event?.kind === "requested");
  const { request, round, seedBlock } = event;
  assert.deepEqual([request.terms, request.question], [terms, question]);
  const { timestamp } = await reader.head();
  assert.deepEqual(unpackRound(round), { link: 0n, appeals: 0, deadline: timestamp + terms.duration });
  return { request, round, attempt: 0, seedBlock, past: [] };
}

export async function drawn(harness: ChainHarness, change: Partial<Terms> = {}): Promise<Drawn> {
  const { request } = await asked(harness, change);
  return drawNext(harness, request.id);
}

/** Leaves a final request that nobody has settled: the commit settles a decision of the first round, and no other. */
export async function unsettled(harness: ChainHarness): Promise<FinalRequest & { readonly finalAt: bigint }> {
  const writer = await harness.writer(1);
  const { request, awaited, certifying } = await drawn(harness, { retries: 1 });
  await writer.commit(request, awaited, certifying({ status: "hung", outcome: wordOf(0n), answer: "" }));
  const second = await drawNext(harness, request.id);
  const receipt = await writer.commit(request, second.awaited, second.certificate);
  assert.ok(receipt !== "already");
  const rounds = roundsOf(await progressNow(await harness.reader(), request.id)) ?? [];
  return { request, rounds, finalAt: receipt.blockNumber };
}

/** Waits for the committee of the running attempt, the first or a later one. */
export async function drawNext(harness: ChainHarness, requestId: RequestId): Promise<Drawn> {
  const reader = await harness.reader();
  const progress = await progressNow(reader, requestId);
  const { request } = progress;
  const awaited = awaitedOf(progress);
  assert.ok(awaited !== null);
  await mineTo(harness, awaited.seedBlock + 1n);
  const committee = await reader.committee(request, awaited);
  const attempt = { domain: reader.domain, request, attempt: awaited.attempt, committee };
  const certifying = (decided: Partial<Decision>): Certificate => certify(harness.keys, attempt, decided);
  return { request, awaited, committee, certificate: certifying({}), certifying };
}

/** Progress of the request by its events. */
export async function progressNow(reader: ChainReader, requestId: RequestId): Promise<Progress> {
  const progress = progressOf(await reader.requestEvents(requestId));
  assert.ok(progress !== null);
  return progress;
}

/** The decision that stands. */
export async function lastOf(reader: ChainReader, requestId: RequestId): Promise<DecidedRound> {
  const last = lastRound(await progressNow(reader, requestId));
  assert.ok(last !== null);
  return last;
}

/** Mines until that block exists. */
export async function mineTo(harness: ChainHarness, block: bigint): Promise<void> {
  const { number } = await (await harness.reader()).head();
  if (number < block) await harness.mine(Number(block - number));
}

/** Certificate with the fewest signatures that suffice, for a decision that slashes the last seat. */
export function certify(keys: readonly Keys[], attempt: Attempt, decided: Partial<Decision>): Certificate {
  const { committee } = attempt;
  const last = (committee.length - 1) as SeatIndex;
  const decision: Decision = {
    attempt: attempt.attempt,
    round: 1,
    status: "decided",
    outcome: wordOf(1n),
    answer: "true",
    confidence: 900_000 as Ppm,
    transcript: `0x${"5a".repeat(32)}` as Digest,
    reputationChanges: [
      { seat: 0 as SeatIndex, steps: 1 },
      { seat: last, steps: -1 },
    ],
    shares: committee.map((_, seat) => (seat === last ? 0 : 85)),
    answered: committee.map((_, seat) => seat as SeatIndex),
    agreed: committee.slice(0, -1).map((_, seat) => seat as SeatIndex),
    ...decided,
  };
  const digest = decisionDigest(attempt, decision);
  const quorum = quorumOf(committee.length);
  const signatures = committee.slice(0, quorum).map(({ signer }, seat) => {
    const key = keys.find(({ address }) => address === signer);
    assert.ok(key !== undefined);
    return { seat: seat as SeatIndex, signature: key.sign(digest) };
  });
  return { decision, signatures };
}

/** Where a seat signs twice. */
export interface Place {
  readonly attempt: number;
  readonly committeeHash: Digest;
  readonly seat: SeatIndex;
}

/** A place that no chain knows. */
const NOWHERE: Place = { attempt: 0, committeeHash: keccak256(utf8("committee")), seat: 3 as SeatIndex };

/** The key that holds a seat of a drawn committee, and what its proofs name. */
export function seated(harness: Pick<ChainHarness, "keys">, { awaited, committee }: Drawn, seat: number) {
  const { agentId, signer } = committee[seat] as SeatInfo;
  const key = harness.keys.find(({ address }) => address === signer);
  assert.ok(key !== undefined);
  const place = { attempt: awaited.attempt, committeeHash: committeeHash(committee), seat: seat as SeatIndex };
  return { key, agentId, place };
}

/** Two payloads that the key signed for one slot. */
export function proofBy(
  key: Keys,
  agentId: number,
  domain: Domain,
  request: HashedRequest,
  place: Partial<Place> = {},
): MessageProof {
  const slot = { requestHash: requestHashOf(request), protocol: 1, phase: 2, round: 0, ...NOWHERE, ...place };
  const signed = (text: string) => {
    const payloadDigest = keccak256(utf8(text));
    return { payloadDigest, signature: key.sign(slotDigest(domain, slot, payloadDigest)) };
  };
  const [first, second] = [signed("yes"), signed("no")];
  return { kind: "messages", request, agentId: agentId as AgentId, slot, first, second };
}

/** Two decisions that the key signed in one ballot. */
export function decisionProofBy(
  key: Keys,
  agentId: number,
  domain: Domain,
  request: HashedRequest,
  place: Partial<Place> = {},
): DecisionProof {
  const { attempt, committeeHash: committee } = { ...NOWHERE, ...place };
  const slot = { requestHash: requestHashOf(request), committeeHash: committee, attempt, round: 2 };
  const signed = (answer: string) => {
    const decision = {
      status: 2,
      outcome: keccak256(utf8(answer)),
      answerHash: keccak256(utf8(answer)),
      confidence: 900_000 as Ppm,
      answered: 15n,
      agreed: 7n,
      transcript: keccak256(utf8(`root of ${answer}`)),
      reputationChangesHash: keccak256(new Uint8Array()),
      sharesHash: keccak256(Uint8Array.of(64, 64, 64, 64)),
    };
    return { decision, signature: key.sign(decisionSlotDigest(domain, slot, decision)) };
  };
  const [first, second] = [signed("yes"), signed("no")];
  return { kind: "decisions", request, agentId: agentId as AgentId, slot, first, second };
}

export function wordOf(value: bigint): Digest {
  return bytesToHex(word(value)) as Digest;
}
