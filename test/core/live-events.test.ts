import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { bytesToHex, hexToBytes } from "../../agents/core/encoding/bytes.ts";
import {
  decodeLiveEvent,
  encodeLiveEvent,
  MAX_EVENT_CHARACTERS,
  toldOfCertificate,
  toldOfEvidence,
  toldOfMessage,
} from "../../agents/core/encoding/live-events.ts";
import { encodeMessage } from "../../agents/core/encoding/transcript.ts";
import { CERTIFICATE, PRECOMMIT, PREVOTE, PROPOSE } from "../../agents/core/seat/certify/messages.ts";
import type { Certificate, Digest, Ppm, SeatIndex } from "../../agents/core/types.ts";
import { attemptOf, signMessage } from "../support/core/committee.ts";

const attempt = attemptOf(4);
const root = `0x${"ab".repeat(32)}` as Digest;
const rootBlock = new Uint8Array([1, 2, 3]);
const signature = new Uint8Array(65).fill(7);

describe("LV1: live events", () => {
  it("carry a message of the deliberation whole, and read it back", () => {
    const message = signMessage(attempt, 2, 1, 0, { commitment: new Uint8Array(32) });
    const event = toldOfMessage(message);
    assert.deepEqual(event, { kind: "message", message });
    assert.deepEqual(decodeLiveEvent(encodeLiveEvent(event)), event);
  });

  it("LV3: say what a seat says in a ballot, and carry neither a root nor a signature", () => {
    const told = [
      signMessage(attempt, 0, PROPOSE, 1, { root: rootBlock, validRound: null }),
      signMessage(attempt, 1, PREVOTE, 1, { root: null }),
      signMessage(attempt, 2, PRECOMMIT, 1, { root: hexToBytes(root), signature }),
      signMessage(attempt, 3, CERTIFICATE, 1, { root: rootBlock, signatures: [[0, signature]] }),
    ].map((message) => toldOfMessage(message));
    assert.deepEqual(
      told.map((event) => (event?.kind === "ballot" ? [event.seat, event.step, event.root === null] : null)),
      [
        [0, "propose", false],
        [1, "prevote", true],
        [2, "precommit", false],
        [3, "certificate", false],
      ],
    );
    for (const event of told) {
      const text = encodeLiveEvent(event!);
      assert.ok(!text.includes(bytesToHex(signature).slice(2)) && text.length < 200);
      assert.deepEqual(decodeLiveEvent(text), event);
    }
  });

  it("tell nothing of a ballot's message that is malformed", () => {
    assert.equal(toldOfMessage(signMessage(attempt, 1, PREVOTE, 0, { root: 3 })), null);
    assert.equal(toldOfMessage(signMessage(attempt, 1, 250, 0, { root: null })), null);
  });

  it("LV3: tell a decision without the seats' signatures", () => {
    const decision = { status: "decided", answer: "yes", confidence: 900_000 as Ppm, transcript: root };
    const signed = { seat: 0 as SeatIndex, signature: bytesToHex(signature) };
    const event = toldOfCertificate({ decision, signatures: [signed] } as unknown as Certificate);
    assert.deepEqual(event, { kind: "certified", status: "decided", answer: "yes", confidence: 900_000, root });
    assert.deepEqual(decodeLiveEvent(encodeLiveEvent(event)), event);
    const first = signMessage(attempt, 3, 1, 2, {});
    const proven = toldOfEvidence({ first, second: first });
    assert.deepEqual(proven, { kind: "equivocation", seat: 3, phase: 1, round: 2 });
    assert.deepEqual(decodeLiveEvent(encodeLiveEvent(proven)), proven);
  });
});

describe("LV7: events of strangers", () => {
  it("are none if a field is missing, of another type or out of range", () => {
    const ballot = { kind: "ballot", seat: 1, ballot: 0, step: "prevote", root: null };
    const certified = {
      kind: "certified",
      status: "decided",
      answer: "yes",
      confidence: 1,
      root: encodeLiveEvent(toldOfCertificate({ decision: { transcript: root } } as unknown as Certificate)).match(
        /bafy\w+/,
      )?.[0],
    };
    assert.notEqual(decodeLiveEvent(JSON.stringify(ballot)), null);
    assert.notEqual(decodeLiveEvent(JSON.stringify(certified)), null);
    const block = bytesToHex(encodeMessage(signMessage(attempt, 1, PREVOTE, 0, { root: null })));
    for (const wrong of [
      null,
      [],
      {},
      { kind: "toString" },
      { ...ballot, seat: 64 },
      { ...ballot, seat: 1.5 },
      { ...ballot, ballot: 64 },
      { ...ballot, step: "constructor" },
      { ...ballot, root: "bafy" },
      { ...ballot, root: undefined },
      { ...certified, status: "refunded" },
      { ...certified, answer: "x".repeat(1_025) },
      { ...certified, confidence: 1_000_001 },
      { ...certified, root: null },
      { kind: "equivocation", seat: -1, phase: 1, round: 0 },
      { kind: "equivocation", seat: 1, phase: 205, round: 0 },
      { kind: "message", block: "0x" },
      { kind: "message", block: "0xzz" },
      { kind: "message", block: 7 },
      { kind: "message", block },
    ])
      assert.equal(decodeLiveEvent(JSON.stringify(wrong)), null, JSON.stringify(wrong));
    assert.equal(decodeLiveEvent("{"), null);
    assert.equal(decodeLiveEvent(`{"kind":"equivocation",${" ".repeat(MAX_EVENT_CHARACTERS)}`), null);
  });

  it("never make the reader throw", () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void decodeLiveEvent(text)));
  });
});
