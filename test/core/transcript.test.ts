import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { decodeBlock, encode, encodeBlock } from "../../agents/core/encoding/codec.ts";
import type { BlockLink, BlockValue } from "../../agents/core/encoding/block-value.ts";
import { bytesToHex, encodeRequestId, hexToBytes, sha256 } from "../../agents/core/encoding/bytes.ts";
import { secp256k1 } from "../../agents/core/encoding/secp256k1.ts";
import { limits } from "../../agents/core/limits.ts";
import { commitmentOf } from "../../agents/core/phases/proposals.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { addMessage, emptyTally } from "../../agents/core/seat/tally.ts";
import {
  buildTranscript,
  decodeEnvelope,
  decodeMessage,
  encodeMessage,
  readRoot,
  forgeryIn,
  replay,
} from "../../agents/core/encoding/transcript.ts";
import {
  ONE_PPM,
  type Attempt,
  type Message,
  type RequestId,
  type SeatIndex,
  type Value,
} from "../../agents/core/types.ts";
import { attemptOf, runCommittee, signMessage, wideId, withId } from "../support/core/committee.ts";

const requestIds = fc.bigInt(0n, 2n ** 128n - 1n) as fc.Arbitrary<RequestId>;
/** Both are 2^53 as a number. */
const [even, odd] = [2n ** 53n, 2n ** 53n + 1n] as [RequestId, RequestId];
/** In the place of the request id 7. */
const malformedIds: Readonly<Record<string, Value>> = {
  "15 bytes": encodeRequestId(7n as RequestId).subarray(1),
  "17 bytes": Uint8Array.of(0, ...encodeRequestId(7n as RequestId)),
  "a number": 7,
  "a decimal": "7",
  nothing: null,
};

describe("TR5: request ids in blocks", () => {
  const attempt = attemptOf(4);
  const said = signMessage(attempt, 1, 1, 0, { commitment: null });
  const rootOf = (by: Attempt): Uint8Array => buildTranscript(by, mbft, emptyTally, { round: 0, phase: 0 }).rootBlock;
  const fieldsOf = (bytes: Uint8Array): Record<string, Value> =>
    decodeBlock(bytes, limits.rootBytes) as Record<string, Value>;

  it("a message block gives back the id that it was made from, in as many bytes", () => {
    const { length } = encodeMessage(said);
    fc.assert(
      fc.property(requestIds, (requestId) => {
        const message = { ...said, header: { ...said.header, requestId } };
        const bytes = encodeMessage(message);
        assert.deepEqual(decodeMessage(bytes), message);
        assert.equal(bytes.length, length);
      }),
    );
  });

  it("a message's envelope says what the whole message says, and reads nothing of its payload", () => {
    const bytes = encodeMessage(said);
    const payloadAt = bytes.length - encode(said.payload).length - 77;
    const { payloadDigest, ...slot } = said.header;
    const envelope = decodeEnvelope(bytes) ?? assert.fail("no envelope");
    assert.deepEqual([envelope.slot, envelope.signature], [slot, said.signature]);
    assert.equal(sha256(envelope.payload), payloadDigest);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const bent = Uint8Array.from(bytes);
        bent[at] = (bent[at] as number) ^ flip;
        const [whole, part] = [decodeMessage(bent), decodeEnvelope(bent)];
        if (at >= payloadAt && at < bytes.length - 77) assert.deepEqual(part?.slot, slot);
        else assert.equal(part === null, whole === null);
        if (whole === null) return;
        assert.deepEqual({ ...part?.slot, payloadDigest: sha256(part?.payload ?? bent) }, whole.header);
        assert.equal(part?.signature, whole.signature);
      }),
      { numRuns: 1_000 },
    );
    for (let length = 0; length < bytes.length; length++)
      assert.equal(decodeEnvelope(bytes.subarray(0, length)), null, `the first ${length} bytes`);
  });

  it("a root holds the id of its request, and is no root of another request", () => {
    fc.assert(
      fc.property(requestIds, requestIds, (id, other) => {
        const bytes = rootOf(withId(attempt, id));
        const { requestId } = fieldsOf(bytes)["attempt"] as Record<string, Value>;
        assert.equal(BigInt(bytesToHex(requestId as Uint8Array)), id);
        assert.deepEqual(readRoot(withId(attempt, id), mbft, bytes), { messages: [] });
        if (id !== other) assert.ok("refused" in readRoot(withId(attempt, other), mbft, bytes));
      }),
    );
    assert.ok("refused" in readRoot(withId(attempt, even), mbft, rootOf(withId(attempt, odd))));
  });

  for (const [name, requestId] of Object.entries(malformedIds)) {
    it(`${name} in its place is rejected, in a message block and in a root`, () => {
      const block = fieldsOf(encodeMessage(said));
      const header = block["header"] as Record<string, Value>;
      assert.deepEqual(decodeMessage(encode({ ...block, header })), said);
      assert.equal(decodeMessage(encode({ ...block, header: { ...header, requestId } })), null);
      const root = fieldsOf(rootOf(attempt));
      const described = root["attempt"] as Record<string, BlockValue>;
      const bent = encodeBlock({ ...root, attempt: { ...described, requestId } });
      assert.ok("refused" in readRoot(attempt, mbft, bent));
    });
  }

  it("TR2: a root of another version is refused", () => {
    const root = fieldsOf(rootOf(attempt));
    assert.equal(root["version"], 2);
    assert.ok("refused" in readRoot(attempt, mbft, encodeBlock({ ...root, version: 1 })));
  });

  it("TR2: a root with a field altered, added or left out is refused", () => {
    const root = fieldsOf(rootOf(attempt));
    const described = root["attempt"] as Record<string, Value>;
    const without = (fields: Record<string, Value>, name: string): Record<string, Value> =>
      Object.fromEntries(Object.entries(fields).filter(([other]) => other !== name));
    const bents = ["version", "protocol", "protocolVersion"].flatMap((name) => [
      { ...root, [name]: 99 },
      without(root, name),
    ]);
    const bentAttempts = Object.keys(described).flatMap((name) => [
      { ...described, [name]: "another" },
      without(described, name),
    ]);
    for (const bent of [
      ...bents,
      ...bentAttempts.map((one) => ({ ...root, attempt: one })),
      { ...root, more: 1 },
      { ...root, attempt: { ...described, more: 1 } },
      without(root, "attempt"),
    ])
      assert.deepEqual(readRoot(attempt, mbft, encodeBlock(bent)), {
        refused: "root of another attempt, protocol version or chain",
      });
    assert.deepEqual(readRoot(attempt, mbft, encodeBlock(root)), { messages: [] });
  });

  it("TR2: a root whose entries are no links is refused: nobody who pins it would keep the messages", () => {
    const { rootBlock } = buildTranscript(attempt, mbft, addMessage(emptyTally, said).tally, { round: 0, phase: 200 });
    const root = decodeBlock(rootBlock, limits.rootBytes) as Record<string, BlockValue>;
    const [link] = root["messages"] as [BlockLink];
    const withEntry = (entry: BlockValue) => readRoot(attempt, mbft, encodeBlock({ ...root, messages: [entry] }));
    assert.deepEqual(withEntry(link), { messages: [sha256(encodeMessage(said))] });
    for (const entry of [{ ...link, more: 1 }, link.link, hexToBytes(link.link), [link], { other: link }])
      assert.deepEqual(withEntry(entry), { refused: "message entry without a link" });
  });

  it("PH1: a commitment to one request's answer opens under no other id", () => {
    const proposal = { answer: "yes", proof: "computed", tier: ONE_PPM };
    const commit = (id: RequestId): string =>
      commitmentOf(withId(attempt, id), 0, 0 as SeatIndex, proposal, new Uint8Array(32));
    assert.equal(commit(wideId), commit(wideId));
    const others = [even, odd, wideId, wideId & (2n ** 40n - 1n), wideId & (2n ** 80n - 1n)] as RequestId[];
    assert.equal(new Set(others.map(commit)).size, others.length);
  });

  it("a committee decides a request of the widest id", () => {
    const script = { answer: () => ({ fields: { proof: "computed", answer: "yes", check: "ok", verdict: "accept" } }) };
    const { certificates } = runCommittee(mbft, withId(attempt, wideId), [script, script, script, script]);
    assert.deepEqual(
      certificates.map((certificate) => certificate?.decision.answer),
      ["yes", "yes", "yes", "yes"],
    );
  });
});

describe("TR3: why a message is not one of an attempt's", () => {
  const attempt = attemptOf(4);
  const said = (by: Attempt): ReturnType<typeof signMessage> => signMessage(by, 1, 1, 0, { commitment: null });

  it("a good message is accepted", () => {
    assert.equal(forgeryIn(attempt, said(attempt)), null);
  });

  it("the signature of a good one is checked once, of a bad one and for another attempt every time", (context) => {
    const recover = context.mock.method(secp256k1, "recover");
    const checks = (by: Attempt, message: Message): number => {
      const before = recover.mock.callCount();
      forgeryIn(by, message);
      return recover.mock.callCount() - before;
    };
    const message = said(attempt);
    const forged = { ...message, signature: said({ ...attempt, attempt: 5 }).signature };
    assert.deepEqual([checks(attempt, message), checks(attempt, message)], [1, 0]);
    assert.deepEqual([checks(attempt, forged), checks(attempt, forged)], [1, 1]);
    const elsewhere = { ...attempt, committee: attempt.committee.toReversed() };
    assert.equal(checks(elsewhere, message), 1);
    assert.equal(forgeryIn(elsewhere, message), "bad-signature");
    const entry = { digest: sha256(encodeMessage(message)), message };
    const before = recover.mock.callCount();
    replay(attempt, mbft, entry.digest, [entry]);
    assert.equal(recover.mock.callCount(), before, "the replay checks it again");
    replay(attempt, mbft, entry.digest, [{ ...entry, message: { ...message } }]);
    assert.equal(recover.mock.callCount(), before + 1, "the replay takes another message unchecked");
  });

  it("other-attempt: another attempt of the request, or another request, however well signed", () => {
    assert.equal(forgeryIn(attempt, said({ ...attempt, attempt: 5 })), "other-attempt");
    const request = { ...attempt.request, id: (attempt.request.id + 1n) as RequestId };
    assert.equal(forgeryIn(attempt, said({ ...attempt, request })), "other-attempt");
  });

  it("other-protocol, no-such-seat, bad-signature", () => {
    const message = said(attempt);
    const bend = (change: Partial<typeof message.header>): string | null =>
      forgeryIn(attempt, { ...message, header: { ...message.header, ...change } });
    assert.equal(bend({ protocol: 2 }), "other-protocol");
    assert.equal(bend({ seat: 9 as SeatIndex }), "no-such-seat");
    assert.equal(bend({ seat: 2 as SeatIndex }), "bad-signature");
    assert.equal(bend({ round: 1 }), "bad-signature");
  });
});
