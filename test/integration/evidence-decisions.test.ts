import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSystemClock } from "../../agents/adapters/clock/system-clock.ts";
import { createMemoryEvidence } from "../support/memory/evidence.ts";
import { CERTIFICATE, PREVOTE, PROPOSE, encodeCertificate } from "../../agents/core/seat/certify/messages.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { decisionDigest, messageDigest } from "../../agents/core/encoding/typed-data.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { JUDGE } from "../../agents/core/protocols/mbft/payloads.ts";
import { addMessage, emptyTally, type Tally } from "../../agents/core/seat/tally.ts";
import { buildTranscript, decodeMessage, encodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { Address, AgentId, Attempt, Header, SeatIndex } from "../../agents/core/types.ts";
import { createEvidenceKeeper } from "../../agents/node/request/evidence.ts";
import type { Network } from "../../agents/ports/network.ts";
import type { Signer } from "../../agents/ports/signer.ts";
import { rememberingChain } from "../../devnet/world/lies.ts";
import { createMemoryHarness } from "../adapters/chain-memory.ts";
import { drawn } from "../adapters/chain-questions.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { memoryWorld } from "./memory-world.ts";
import { silentLog, truthful } from "./world.ts";
import { until } from "../support/until.ts";
import { assertAbove } from "../support/assertions.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;
const LIAR = 3;
const STAKE = 10n ** 18n;

/**
 * Network of a seat that certifies like an honest seat, but sends with its prevotes a certificate of another transcript,
 * which leaves out its own last message. In that certificate only its own signature is valid.
 */
function signingTwice(network: Network, signer: Signer, attempts: ReadonlyMap<string, Attempt>): Network {
  let tally: Tally = emptyTally;
  const place = (): { readonly attempt: Attempt; readonly self: SeatIndex } | null => {
    const [attempt] = attempts.values();
    const self = attempt?.committee.findIndex((seat) => seat.signer === signer.address);
    return attempt === undefined ? null : { attempt, self: self as SeatIndex };
  };
  const note = (frame: Uint8Array): void => {
    const message = decodeMessage(frame);
    if (message === null || message.header.phase >= PROPOSE) return;
    const isLastWord = message.header.phase === JUDGE && message.header.seat === place()?.self;
    if (!isLastWord) tally = addMessage(tally, message).tally;
  };
  return {
    ...network,
    send(to, frame) {
      note(frame);
      const header = decodeMessage(frame)?.header;
      const at = place();
      const isOwnVote = header?.phase === PREVOTE && header.seat === at?.self;
      const extra =
        isOwnVote && at !== null ? otherCertificate(at.attempt, at.self, signer, tally, header.round) : null;
      if (extra !== null) network.send(to, extra);
      network.send(to, frame);
    },
    onFrame: (listener) =>
      network.onFrame((from, frame) => {
        note(frame);
        listener(from, frame);
      }),
  };
}

function otherCertificate(attempt: Attempt, self: SeatIndex, signer: Signer, tally: Tally, round: number) {
  const conclusion = mbft.conclude(attempt, tally);
  if (conclusion.kind === "open") return null;
  const { rootBlock } = buildTranscript(attempt, mbft, tally, conclusion.through);
  const decision = { ...conclusion.outcome, attempt: attempt.attempt, round, transcript: sha256(rootBlock) };
  const signature = signer.sign(decisionDigest(attempt, decision));
  const seats = [self, ...attempt.committee.keys().filter((seat) => seat !== self)];
  const signatures = seats.map((seat) => ({ seat: seat as SeatIndex, signature }));
  const payload = encodeCertificate(rootBlock, signatures);
  const header: Header = {
    requestId: attempt.request.id,
    attempt: attempt.attempt,
    protocol: mbft.code,
    phase: CERTIFICATE,
    round,
    seat: self,
    payloadDigest: digestOf(payload),
  };
  return encodeMessage({ header, payload, signature: signer.sign(messageDigest(attempt, header)) });
}

/** Network of a seat that deliberates but does not certify, so that the certificate needs the liar's signature. */
function silentWhenCertifying(network: Network): Network {
  return {
    ...network,
    send(to, frame) {
      if ((decodeMessage(frame)?.header.phase ?? 0) < PROPOSE) network.send(to, frame);
    },
  };
}

describe("evidence of two signed decisions", () => {
  it("CE18: a seat that signs two decisions in one ballot is slashed once, by whichever seat receives both", async () => {
    const attempts = new Map<string, Attempt>();
    const world = memoryWorld(
      [0, 1, 2, 3].map(() => truthful("yes")),
      (network, keys, index) => {
        if (index === LIAR) return signingTwice(network, keys, attempts);
        return index === 0 ? silentWhenCertifying(network) : network;
      },
    );
    const { chain, agents } = world;
    const running = agents.map((agent, index) =>
      agent.start(index === LIAR ? { chain: rememberingChain(chain.reader(), attempts) } : {}),
    );
    chain.ask(consumer, booleanTerms, "Is 720 more than 500?");
    const ticker = setInterval(() => chain.mine(), 50);
    try {
      await until(() => chain.agents.get((LIAR + 1) as AgentId)?.stake === (STAKE * 9n) / 10n);
      const kept = (await Promise.all(agents.map(({ evidence }) => evidence.list()))).flatMap(({ proofs }) => proofs);
      assertAbove(kept.length, 0);
      for (const { kind, agentId } of kept) assert.deepEqual([kind, agentId], ["decisions", LIAR + 1]);
    } finally {
      clearInterval(ticker);
      for (const one of running) await one.stop();
    }
    const stakes = [...chain.agents.values()].map(({ stake }) => stake);
    assert.deepEqual(stakes, [STAKE, STAKE, STAKE, (STAKE * 9n) / 10n]);
  });

  it("CE18: the signer of another decision than the one on chain is slashed, and nobody else", async () => {
    const harness = await createMemoryHarness();
    const reader = await harness.reader();
    const writer = await harness.writer(0);
    const { request, awaited, committee, certificate, certifying } = await drawn(harness);
    await writer.commit(request, awaited, certificate);
    const committed = (await reader.requestEvents(request.id)).find(({ kind }) => kind === "decisionCommitted");
    if (committed?.kind !== "decisionCommitted") throw new Error("nothing was committed");
    const attempt = { domain: reader.domain, request, attempt: 0, committee };
    const signed = ({ decision, signatures }: typeof certificate, seat: number) => {
      const one = signatures.find((signature) => signature.seat === seat)!;
      return { ...one, decision };
    };
    // Seat 0 holds decisions: seat 1 signed another one, seat 2 the one on the chain, seat 3 another one that only it
    // signed.
    const other = certifying({ answer: "false", outcome: `0x${"00".repeat(32)}` as never });
    const held = [signed(other, 1), signed(certificate, 2), { ...signed(other, 2), seat: 3 as SeatIndex }];
    let reads = 0;
    const evidence = createMemoryEvidence();
    const transactions = {
      certificate: async () => {
        reads += 1;
        return certificate.signatures;
      },
    };
    const ports = { chain: reader, writer, transactions, evidence, clock: createSystemClock(), log: silentLog };
    const keeper = createEvidenceKeeper(ports, 1, new AbortController().signal);
    keeper.compare(attempt, 0 as SeatIndex, [signed(certificate, 2)], committed);
    assert.equal(reads, 0, "nothing to look for");
    keeper.compare(attempt, 0 as SeatIndex, held, committed);
    const accused = committee[1]!.agentId;
    await until(async () => (await reader.agents()).find(({ agentId }) => agentId === accused)?.stake === 0n);
    assert.deepEqual(
      (await evidence.list()).proofs.map(({ kind, agentId }) => [kind, agentId]),
      [["decisions", accused]],
    );
    assert.equal((await reader.agents()).filter(({ stake }) => stake === 0n).length, 1);
    // An accused seat does not accuse itself.
    const own = createMemoryEvidence();
    createEvidenceKeeper({ ...ports, evidence: own }, 1, new AbortController().signal).compare(
      attempt,
      1 as SeatIndex,
      held,
      committed,
    );
    await until(() => reads === 2);
    assert.deepEqual((await own.list()).proofs, []);
  });

  it("ST10: evidence about an attempt that nobody answered is tried a few times, kept, and slashes nobody", async () => {
    const harness = await createMemoryHarness();
    const reader = await harness.reader();
    const writer = await harness.writer(0);
    const { request, awaited, committee, certifying } = await drawn(harness, { retries: 1 });
    const attempt = { domain: reader.domain, request, attempt: 0, committee };
    let tries = 0;
    const counting: typeof writer = {
      ...writer,
      submitEvidence: (...parameters) => {
        tries += 1;
        return writer.submitEvidence(...parameters);
      },
    };
    const warned: string[] = [];
    const log = {
      ...silentLog,
      warn: (fields: object) => void warned.push(String((fields as { error?: string }).error)),
    };
    const evidence = createMemoryEvidence();
    const transactions = { certificate: async () => null };
    const ports = { chain: reader, writer: counting, transactions, evidence, clock: createSystemClock(), log };
    const keeper = createEvidenceKeeper(ports, 1, new AbortController().signal);
    const signed = (answer: object) => {
      const { decision, signatures } = certifying(answer);
      return { decision, signature: signatures[1]!.signature };
    };
    const conflict = { seat: 1 as SeatIndex, first: signed({}), second: signed({ answer: "false" }) };
    keeper.conflicting(attempt, 0 as SeatIndex, conflict);
    await until(async () => (await evidence.list()).proofs.length === 1);
    assert.equal(tries, 0, "the attempt may still be answered");
    await harness.passTime(request.terms.duration + 1);
    await writer.replace(request, awaited);
    await until(() => tries === 5);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(tries, 5);
    assert.match(
      warned.at(-1) ?? "",
      /^Prove what agent \d+ signed: the chain has no decision of its committee in attempt 0/,
    );
    assert.equal((await evidence.list()).proofs.length, 1);
    assert.equal((await reader.agents()).filter(({ stake }) => stake === 0n).length, 0);
  });
});
