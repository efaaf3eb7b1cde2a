import assert from "node:assert/strict";

import type { Keys } from "../../agents/adapters/keystore/keys.ts";
import {
  bytesToHex,
  decisionDigest,
  keccak256,
  requestHashOf,
  slotDigest,
  utf8,
  word,
} from "../../agents/core/digest.ts";
import type {
  AgentId,
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
import type { ChainReader, ChainWriter, EquivocationProof } from "../../agents/ports/chain.ts";

/** A chain with four agents and a consumer that holds a balance. */
export interface ChainHarness {
  /** Keys of the registered agents. */
  readonly keys: readonly Keys[];
  /** `finalityDepth` 0 unless given. */
  reader(options?: { readonly finalityDepth?: number }): Promise<ChainReader>;
  /** Writers of different accounts. */
  writer(account: 0 | 1): Promise<ChainWriter>;
  ask(terms: Terms, question: string): Promise<RequestId>;
  /** Whether callbacks succeed from now on. */
  setConsumer(accepts: boolean): Promise<void>;
  mine(blocks: number): Promise<void>;
  /** Mines a block so much later. */
  passTime(seconds: number): Promise<void>;
  setReachable(reachable: boolean): Promise<void>;
  stop(): Promise<void>;
}

export interface Asked {
  readonly request: Request;
  readonly seedBlock: bigint;
}

const ONE = 10n ** 18n;

/** Asks a question and reads it back from its event. */
export async function asked(harness: ChainHarness, change: Partial<Terms> = {}): Promise<Asked> {
  const reader = await harness.reader();
  const { timestamp } = await reader.head();
  const terms: Terms = {
    fee: ONE,
    deadline: timestamp + 3_600,
    tolerance: 0n,
    callbackGasLimit: 0,
    committeeSize: 4,
    assurance: "normal",
    decimals: 0,
    options: 0,
    kind: "boolean",
    protocol: 1,
    ...change,
  };
  const question = `Is this unique? ${crypto.randomUUID()} ✓`;
  const [event] = await reader.requestEvents(await harness.ask(terms, question));
  assert.ok(event?.kind === "requested");
  assert.deepEqual([event.request.terms, event.request.question], [terms, question]);
  return { request: event.request, seedBlock: event.seedBlock };
}

export async function drawn(
  harness: ChainHarness,
  change: Partial<Terms> = {},
): Promise<{
  readonly request: Request;
  readonly committee: readonly SeatInfo[];
  readonly certificate: Certificate;
  readonly certifying: (decided: Partial<Decision>) => Certificate;
}> {
  const { request, seedBlock } = await asked(harness, change);
  const reader = await harness.reader();
  await mineTo(harness, seedBlock);
  assert.notEqual(await (await harness.writer(0)).draw(request, seedBlock), "already");
  const event = (await reader.requestEvents(request.id)).find(({ kind }) => kind === "committeeDrawn");
  assert.ok(event?.kind === "committeeDrawn");
  const { committee } = event;
  const certifying = (decided: Partial<Decision>): Certificate =>
    certify(harness.keys, reader, request, committee, decided);
  return { request, committee, certificate: certifying({}), certifying };
}

/** Mines until that block is there; a draw must follow the seed block within the same epoch. */
export async function mineTo(harness: ChainHarness, block: bigint): Promise<void> {
  const { number } = await (await harness.reader()).head();
  if (number < block) await harness.mine(Number(block - number));
}

/** A decision that three of four seats sign; the fourth is slashed. */
function certify(
  keys: readonly Keys[],
  reader: ChainReader,
  request: Request,
  committee: readonly SeatInfo[],
  decided: Partial<Decision>,
): Certificate {
  const decision: Decision = {
    attempt: 0,
    round: 1,
    status: "decided",
    outcome: wordOf(1n),
    answer: "true",
    confidence: 900_000 as Ppm,
    transcript: `0x${"5a".repeat(32)}` as Digest,
    reputationChanges: [
      { seat: 0 as SeatIndex, steps: 1 },
      { seat: 3 as SeatIndex, steps: -1 },
    ],
    shares: [85, 85, 85, 0],
    ...decided,
  };
  const digest = decisionDigest({ domain: reader.domain, request, attempt: 0, committee }, decision);
  const signatures = committee.slice(0, 3).map(({ signer }, seat) => {
    const key = keys.find(({ address }) => address === signer);
    assert.ok(key !== undefined);
    return { seat: seat as SeatIndex, signature: key.sign(digest) };
  });
  return { decision, signatures };
}

/** Two payloads that the key signed for one slot. */
export function proofBy(
  key: Keys,
  agentId: number,
  domain: Domain,
  request: HashedRequest,
  attempt = 0,
): EquivocationProof {
  const slot = {
    requestHash: requestHashOf(request),
    committeeHash: keccak256(utf8("committee")),
    attempt,
    protocol: 1,
    phase: 2,
    round: 0,
    seat: 3 as SeatIndex,
  };
  const signed = (text: string) => {
    const payloadDigest = keccak256(utf8(text));
    return { payloadDigest, signature: key.sign(slotDigest(domain, slot, payloadDigest)) };
  };
  const [first, second] = [signed("yes"), signed("no")];
  return { request, agentId: agentId as AgentId, slot, first, second };
}

export function wordOf(value: bigint): Digest {
  return bytesToHex(word(value)) as Digest;
}
