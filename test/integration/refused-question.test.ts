import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryModel } from "../../agents/adapters/memory/model.ts";
import { PRECOMMIT, PREVOTE, PROPOSE } from "../../agents/core/seat/certify/messages.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { decisionDigest, messageDigest } from "../../agents/core/encoding/typed-data.ts";
import { escalating } from "../../agents/core/protocols/escalating/index.ts";
import { rawText } from "../../agents/core/request/question.ts";
import { addMessage, emptyTally } from "../../agents/core/seat/tally.ts";
import { buildTranscript, decodeMessage, encodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { Address, Attempt, Decision, Digest, Message, Terms, Value } from "../../agents/core/types.ts";
import { verifyRequest } from "../../agents/node/audit/verify.ts";
import type { Log } from "../../agents/ports/log.ts";
import type { Network } from "../../agents/ports/network.ts";
import type { Signer } from "../../agents/ports/signer.ts";
import { rememberingChain } from "../../devnet/world/lies.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { memoryWorld } from "./memory-world.ts";
import { silentLog, truthful } from "./world.ts";
import { until } from "../support/until.ts";
import { assertFields } from "../support/assertions.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;
const LIAR = 3;
const terms: Terms = { ...booleanTerms, protocol: escalating.code };
const refused = "Is 720 more than 500?\nsource: none";

/** Network of a seat that proposes, votes for and signs an answer instead of Hung. */
function answering(network: Network, signer: Signer, attempts: ReadonlyMap<string, Attempt>): Network {
  const sign = (attempt: Attempt, header: Message["header"], payload: Value): Message => {
    const signed = { ...header, payloadDigest: digestOf(payload) };
    return { header: signed, payload, signature: signer.sign(messageDigest(attempt, signed)) };
  };
  const forged = (attempt: Attempt, { header, payload }: Message): readonly Message[] => {
    const said = sign(attempt, { ...header, phase: 1, round: 0 }, { commitment: null });
    const tally = addMessage(emptyTally, said).tally;
    const { root, rootBlock } = buildTranscript(attempt, escalating, tally, { round: 0, phase: 1 });
    const decision: Decision = {
      status: "decided",
      outcome: `0x${"00".repeat(31)}01` as Digest,
      answer: "yes",
      confidence: 900_000 as Decision["confidence"],
      reputationChanges: [],
      shares: attempt.committee.map(() => 2),
      answered: [],
      agreed: [],
      attempt: attempt.attempt,
      round: header.round,
      transcript: root,
    };
    const vote = { root: hexToBytes(root) };
    const signature = hexToBytes(signer.sign(decisionDigest(attempt, decision)));
    const bodies = new Map<number, Value>([
      [PROPOSE, { root: rootBlock, validRound: null }],
      [PREVOTE, vote],
      [PRECOMMIT, { ...vote, signature }],
    ]);
    return [said, sign(attempt, header, bodies.get(header.phase) ?? payload)];
  };
  return {
    ...network,
    send(to, frame) {
      const message = decodeMessage(frame);
      const [attempt] = attempts.values();
      const isOwn = message !== null && attempt?.committee[message.header.seat]?.signer === signer.address;
      if (!isOwn || attempt === undefined) network.send(to, frame);
      else for (const one of forged(attempt, message)) network.send(to, encodeMessage(one));
    },
  };
}

describe("a question that the protocol refuses", () => {
  for (const [name, question, reason] of [
    ["a source that is not a CID", refused, /cannot be read/],
    ["bytes that are not text", rawText(Uint8Array.of(0xc3, 0x28)), /not UTF-8/],
  ] as const)
    it(`CE19: ${name}: is certified as Hung and paid without a model call, whatever f seats say; verify says why`, async () => {
      const attempts = new Map<string, Attempt>();
      const warnings: object[] = [];
      const log: Log = { ...silentLog, warn: (data) => void warnings.push(data) };
      const world = memoryWorld(
        [0, 1, 2, 3].map(() => truthful("yes")),
        (network, keys, index) => (index === LIAR ? answering(network, keys, attempts) : network),
        log,
      );
      const { chain, agents } = world;
      let asks = 0;
      const model = createMemoryModel(() => {
        asks++;
        return {};
      });
      const running = agents.map((agent, index) =>
        agent.start({ model, ...(index === LIAR ? { chain: rememberingChain(chain.reader(), attempts) } : {}) }),
      );
      const { request } = chain.ask(consumer, terms, question);
      const ticker = setInterval(() => chain.mine(), 50);
      try {
        await until(async () => (await chain.reader().requestState(request.id)).status === "hung");
      } finally {
        clearInterval(ticker);
        for (const one of running) await one.stop();
      }
      assert.equal(asks, 0);
      assert.match(String(warnings.flatMap((data) => ("reason" in data ? [data.reason] : []))[0]), reason);
      const report = await verifyRequest({
        chain: { ...chain.reader(), ...chain.transactions() },
        store: agents[0]!.store,
        requestId: request.id,
        signal: new AbortController().signal,
      });
      assertFields(report, { ok: true, messages: 0, rounds: 0 });
      assert.match(String(report.refused), reason);
      assertFields(report.decision, { status: "hung", answer: "", shares: [1, 1, 1, 1] });
    });
});
