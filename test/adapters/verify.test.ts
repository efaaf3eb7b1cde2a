import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { createSystemClock } from "../../agents/adapters/clock/system-clock.ts";
import { createMemoryContentStore } from "../support/memory/content-store.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { decode, digestOf, encode, encodeBlock, decodeBlock } from "../../agents/core/encoding/codec.ts";
import type { BlockValue } from "../../agents/core/encoding/block-value.ts";
import { encodeRequestId, hexToBytes, sha256 } from "../../agents/core/encoding/bytes.ts";
import { decisionDigest } from "../../agents/core/encoding/typed-data.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { limits } from "../../agents/core/limits.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import type { Attempt, Certificate, Decision, Digest, RequestId, SeatIndex, Value } from "../../agents/core/types.ts";
import { verdictOf, type VerifyOptions, type VerifyReport } from "../../agents/node/audit/report.ts";
import { verifyRequest } from "../../agents/node/audit/verify.ts";
import { packRound } from "../support/memory-chain/rounds.ts";
import type { ChainEvent } from "../../agents/core/request/events.ts";
import { attemptOf, runCommittee, signDigest, wideId, withId, type SeatScript } from "../support/core/committee.ts";
import { asking, quoting, standing } from "../support/core/sources-scripts.ts";

const seats = [0, 1, 2, 3] as const;
const attempt = attemptOf(4);

const honest: SeatScript = {
  answer: ({ ask }) => {
    if (ask.includes("propose")) return { fields: { proof: "computed", answer: "yes" } };
    return { fields: { check: "ok", verdict: ask.includes("verify") ? "accept" : "refute" } };
  },
};

/** Everything that an auditor reads: a decision with its certificate, and the blocks by digest. */
interface Case {
  readonly attempt: Attempt;
  readonly decision: Decision;
  readonly signatures: Certificate["signatures"] | null;
  readonly blocks: Map<Digest, Uint8Array>;
  /** The chain's domain if it differs from the attempt's. */
  readonly domain?: Attempt["domain"];
}

let good: Case;
/** Digests of the message blocks in the order of the root's links. */
let links: readonly Digest[];

function decided(
  by: Attempt,
  protocol: Protocol = mbft,
  script = honest,
  texts: ReadonlyMap<string, string> = new Map(),
): Case {
  const run = runCommittee(
    protocol,
    by,
    seats.map(() => script),
    { texts },
  );
  const { decision, signatures } = run.certificates[0]!;
  const blocks = new Map(run.blocks[0]!.map((bytes) => [sha256(bytes), bytes]));
  return { attempt: by, decision, signatures, blocks };
}

before(() => {
  good = decided(attempt);
  const [root, ...messages] = good.blocks.keys();
  links = messages;
  assert.equal(root, good.decision.transcript);
});

const position = {
  blockNumber: 1n,
  blockHash: `0x${"00".repeat(32)}`,
  logIndex: 0,
  transactionHash: `0x${"11".repeat(32)}`,
} as const;

function eventsOf({ attempt: settled, decision, signatures }: Case): readonly ChainEvent[] {
  const { request, committee } = settled;
  const round = packRound({ link: 0n, appeals: 0, deadline: 1_900_000_000 });
  const bits = (signatures ?? []).reduce((sum, { seat }) => sum | (1n << BigInt(seat)), 0n);
  return [
    { ...position, kind: "requested", request, round, seedBlock: 3n },
    {
      ...position,
      kind: "decisionCommitted",
      requestId: request.id,
      committee,
      decision,
      relay: { signers: bits, gasPrice: 0n, relayer: request.consumer },
    },
  ];
}

function verify(
  subject: Case,
  overrides: Partial<VerifyOptions> = {},
  events = eventsOf(subject),
): Promise<VerifyReport> {
  const store = createMemoryContentStore({ clock: createSystemClock(), blocks: subject.blocks, getTimeoutMs: 20 });
  const chain: VerifyOptions["chain"] = {
    domain: subject.domain ?? subject.attempt.domain,
    requestEvents: async () => events,
    certificate: async () => subject.signatures,
  };
  return verifyRequest({
    chain,
    store,
    requestId: subject.attempt.request.id,
    signal: new AbortController().signal,
    ...overrides,
  });
}

/** The whole committee signs another decision: what remains wrong is the transcript. */
function resigned(changes: Partial<Decision>, blocks: ReadonlyMap<Digest, Uint8Array> = good.blocks): Case {
  const decision = { ...good.decision, ...changes };
  const digest = decisionDigest(attempt, decision);
  const signatures = seats.map((seat) => ({ seat: seat as SeatIndex, signature: signDigest(seat, digest) }));
  return { ...good, decision, signatures, blocks: new Map(blocks) };
}

/** A root with other content, stored and signed by all. */
function withRoot(change: (root: Record<string, BlockValue>) => Record<string, BlockValue>): Case {
  const root = decodeBlock(good.blocks.get(good.decision.transcript)!, limits.rootBytes) as Record<string, BlockValue>;
  const bytes = encodeBlock(change(root));
  return resigned({ transcript: sha256(bytes) }, new Map(good.blocks).set(sha256(bytes), bytes));
}

/** A root in which one message block is replaced by other bytes. */
function withMessage(index: number, bytes: Uint8Array): Case {
  const subject = withRoot((root) => ({
    ...root,
    messages: links.map((digest, at) => ({ link: at === index ? sha256(bytes) : digest })),
  }));
  subject.blocks.set(sha256(bytes), bytes);
  return subject;
}

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  return bytes.with(at, bytes[at]! ^ 1);
}

describe("verifyRequest", () => {
  it("L16: proves an honest decision from the blocks behind its root and counts what it checked", async () => {
    const steps: string[] = [];
    const report = await verify(good, { onProgress: (step, done, total) => done === total && steps.push(step) });
    assert.deepEqual(report, {
      requestId: "7",
      ok: true,
      root: cidString(good.decision.transcript),
      messages: links.length,
      rounds: 1,
      checked: { certificateSignatures: 3, blocks: links.length + 1, messageSignatures: links.length },
      decision: good.decision,
      refused: null,
    });
    assert.deepEqual(steps, ["chain", "certificate", "root", "messages", "replay", "decision"]);
  });

  it("TR5: proves a decision on a request whose id is beyond JavaScript's numbers", async () => {
    const report = await verify(decided(withId(attempt, wideId)));
    assert.deepEqual([report.ok, report.requestId, report.messages], [true, String(wideId), links.length]);
  });

  it("D28: names the block in which any byte is flipped", async () => {
    const all = [good.decision.transcript, ...links];
    for (const [index, digest] of all.entries()) {
      const bytes = good.blocks.get(digest)!;
      const blocks = new Map(good.blocks).set(digest, flipped(bytes, (index * 97) % bytes.length));
      const report = await verify({ ...good, blocks });
      assert.equal(report.ok, false);
      assert.equal(report.failure?.cid, cidString(digest));
      assert.equal(report.failure.step, index === 0 ? "root" : "messages");
      assert.match(report.failure.reason, /hash/);
    }
  });

  it("hashes every block itself instead of trusting the store", async () => {
    const digest = links[2]!;
    const get = async (wanted: Digest): Promise<Uint8Array> => {
      const bytes = good.blocks.get(wanted)!;
      return wanted === digest ? flipped(bytes, 5) : bytes;
    };
    const report = await verify(good, { store: { get } });
    assert.deepEqual([report.failure?.step, report.failure?.cid], ["messages", cidString(digest)]);
    assert.match(report.failure?.reason ?? "", /^hash mismatch/);
  });

  it("names the missing block, the first if several are missing", async () => {
    const blocks = new Map(good.blocks);
    blocks.delete(links[5]!);
    blocks.set(links[3]!, flipped(blocks.get(links[3]!)!, 1));
    const first = await verify({ ...good, blocks: new Map(blocks) });
    assert.equal(first.failure?.cid, cidString(links[3]!));
    blocks.set(links[3]!, good.blocks.get(links[3]!)!);
    const second = await verify({ ...good, blocks });
    assert.deepEqual([second.failure?.step, second.failure?.cid], ["messages", cidString(links[5]!)]);
    assert.deepEqual([first.failure.kind, second.failure?.kind], ["broken", "unavailable"]);
    assert.match(second.failure?.reason ?? "", /^missing block/);
    assert.equal(second.checked.messageSignatures, 5);
  });

  it("finds a tampered signature in a block that was encoded again", async () => {
    const index = 4;
    const value = decode(good.blocks.get(links[index]!)!, limits.messageBytes) as { signature: Uint8Array };
    const bytes = encode({ ...value, signature: flipped(value.signature, 10) });
    const report = await verify(withMessage(index, bytes));
    assert.deepEqual([report.failure?.step, report.failure?.cid], ["messages", cidString(sha256(bytes))]);
    assert.equal(report.failure?.kind, "refuted");
    assert.match(report.failure.reason, /^bad signature/);
  });

  it("finds a tampered payload under the old signature", async () => {
    const index = links.length - 1;
    const value = decode(good.blocks.get(links[index]!)!, limits.messageBytes) as {
      payload: { readonly [key: string]: Value };
    };
    const bytes = encode({ ...value, payload: { ...value.payload, extra: 1 } });
    const report = await verify(withMessage(index, bytes));
    assert.deepEqual([report.failure?.step, report.failure?.cid], ["messages", cidString(sha256(bytes))]);
  });

  it("finds a block that is not a message", async () => {
    const bytes = encode({ hello: "world" });
    const report = await verify(withMessage(0, bytes));
    assert.deepEqual([report.failure?.cid, report.failure?.reason], [cidString(sha256(bytes)), "it is no message"]);
  });

  it("fails when a message is left out, unless more than 2/3 of the seats said the same", async () => {
    const without = (dropped: readonly number[]) =>
      withRoot((root) => ({
        ...root,
        messages: links.filter((_, at) => !dropped.includes(at)).map((link) => ({ link })),
      }));
    const verdicts: string[] = [];
    for (const dropped of links.keys()) verdicts.push((await verify(without([dropped]))).failure?.step ?? "same");
    // Commitments, reveals and votes count one by one; of the four empty judgements of the last phase any three will do.
    assert.deepEqual(verdicts, [...Array<string>(12).fill("decision"), ...Array<string>(4).fill("same")]);
    const subject = without([links.length - 1, links.length - 2]);
    const report = await verify(subject);
    assert.deepEqual([report.failure?.step, report.failure?.cid], ["replay", cidString(subject.decision.transcript)]);
    assert.match(report.failure?.reason ?? "", /do not conclude/);
  });

  it("refuses and names messages out of order", async () => {
    const swapped = [links[1]!, links[0]!, ...links.slice(2)];
    const report = await verify(withRoot((root) => ({ ...root, messages: swapped.map((link) => ({ link })) })));
    assert.deepEqual([report.failure?.step, report.failure?.cid], ["replay", cidString(links[0]!)]);
  });

  it("refuses a root that is missing, of another decision, or not a transcript", async () => {
    const absent = await verify(resigned({ transcript: sha256(Uint8Array.of(1)) }));
    assert.deepEqual([absent.failure?.step, absent.failure?.cid], ["root", cidString(sha256(Uint8Array.of(1)))]);
    assert.match(absent.failure?.reason ?? "", /^missing block/);
    const message = await verify(resigned({ transcript: links[0]! }));
    assert.deepEqual([message.failure?.step, message.failure?.cid], ["root", cidString(links[0]!)]);
  });

  it("names what differs in a transcript of another chain, request or committee", async () => {
    const foreign = { ...attempt.domain, chainId: 1 };
    const moved = await verify({ ...resigned({}), domain: foreign, signatures: null });
    assert.equal(moved.failure?.step, "root");
    assert.match(moved.failure.reason, /chainId 31337, not 1/);

    const change = (fields: Record<string, BlockValue>) =>
      withRoot((root) => ({ ...root, attempt: { ...(root["attempt"] as Record<string, BlockValue>), ...fields } }));
    for (const [fields, pattern] of [
      [{ requestId: encodeRequestId(8n as RequestId) }, /requestId 8, not 7/],
      [{ requestId: encodeRequestId(wideId) }, new RegExp(`requestId ${wideId}, not 7`)],
      [{ requestId: 7 }, /another requestId/],
      [{ oracle: encodeRequestId(wideId) }, /another oracle/],
      [{ question: "Is 2 more than 3?" }, /another question/],
      [{ committee: [] }, /another committee/],
      [{ attempt: 1 }, /attempt 1, not 0/],
    ] as const) {
      const report = await verify(change(fields));
      assert.equal(report.failure?.step, "root");
      assert.match(report.failure.reason, pattern);
    }
    const version = await verify(withRoot((root) => ({ ...root, protocolVersion: 99 })));
    assert.match(version.failure?.reason ?? "", /protocolVersion 99, not \d+/);
  });

  it("names what differs between the decision and its replay", async () => {
    const cases: readonly (readonly [Partial<Decision>, RegExp])[] = [
      [{ answer: "no" }, /answer "yes" where the chain has "no"/],
      [{ outcome: `0x${"00".repeat(32)}` as Digest }, /outcome 0x0+1 where/],
      [{ confidence: 1 as Decision["confidence"] }, /confidence \d+ where the chain has 1$/],
      [
        { reputationChanges: [{ seat: 1 as SeatIndex, steps: -3 }] },
        /reputation changes 0x\w* where the chain has 0x01fd/,
      ],
      [{ shares: [9, 0, 0, 0] }, /shares 0x\w+ where the chain has 0x09000000/],
      [
        { status: "hung", outcome: `0x${"00".repeat(32)}` as Digest, answer: "" },
        /status decided where the chain has hung/,
      ],
    ];
    for (const [changes, pattern] of cases) {
      const report = await verify(resigned(changes));
      assert.equal(report.failure?.step, "decision");
      assert.match(report.failure.reason, pattern);
    }
  });

  it("checks the certificate: signatures, quorum, bits", async () => {
    const [first, ...others] = good.signatures!;
    const forged = [{ ...first!, signature: signDigest(3, decisionDigest(attempt, good.decision)) }, ...others];
    const cases: readonly (readonly [Case["signatures"], RegExp])[] = [
      [forged, /signature of seat 0/],
      [[{ seat: 9 as SeatIndex, signature: first!.signature }], /signature of seat 9/],
      [good.signatures!.slice(0, 2), /2 of 4 seats signed/],
    ];
    for (const [signatures, pattern] of cases) {
      const report = await verify({ ...good, signatures });
      assert.deepEqual([report.failure?.step, report.failure?.cid], ["certificate", null]);
      assert.match(report.failure?.reason ?? "", pattern);
    }
    const events = eventsOf(good).map((event) =>
      event.kind === "decisionCommitted" ? { ...event, relay: { ...event.relay, signers: 15n } } : event,
    );
    assert.match((await verify(good, {}, events)).failure?.reason ?? "", /other signers/);
    const hidden = await verify({ ...good, signatures: null });
    assert.deepEqual([hidden.ok, hidden.checked.certificateSignatures], [true, null]);
  });

  it("TR6: calls a request without a decision undecided and what it cannot read unavailable, but refutes neither", async () => {
    const open = await verify(good, {}, eventsOf(good).slice(0, 1));
    const reason = "it has no decision that stands";
    assert.deepEqual(open.failure, { kind: "undecided", step: "chain", cid: null, reason });
    assert.deepEqual([open.ok, open.root, verdictOf(open)], [false, null, "UNDECIDED: there is no decision to verify"]);
    const unread = await verify(good, {}, eventsOf(good).slice(1));
    assert.deepEqual([unread.failure?.kind, verdictOf(unread)], ["unavailable", "UNAVAILABLE at chain"]);
    const terms = { ...good.attempt.request.terms, protocol: 999 };
    const [requested, ...later] = eventsOf(good);
    assert.ok(requested?.kind === "requested");
    const other = { ...requested, request: { ...requested.request, terms } };
    const unknown = (await verify(good, {}, [other, ...later])).failure;
    assert.deepEqual([unknown?.kind, unknown?.reason], ["unavailable", "protocol 999 is not one of this program's"]);
  });

  it("throws an error that is not a verdict", async () => {
    const down = async (): Promise<never> => {
      throw new ConclaveError("NETWORK_FAILED", "Check the Kubo node");
    };
    await assert.rejects(verify(good, { store: { get: down } }), { code: "NETWORK_FAILED" });
    const aborted = AbortSignal.abort(new Error("Ctrl-C"));
    await assert.rejects(verify({ ...good, blocks: new Map() }, { signal: aborted }), /Ctrl-C/);
  });
});

describe("verifyRequest of questions with sources", () => {
  const page = "The team shipped version 2 on 3 March, says its release page.";
  for (const protocol of protocols.filter(({ readsSources }) => readsSources))
    it(`EV-3: ${protocol.id}: proves the decision from the transcript alone, and names the block in which a byte of what was read is changed`, async () => {
      const subject = decided(
        asking(4, [page], { protocol: protocol.code }),
        protocol,
        quoting(page, "yes"),
        standing(page),
      );
      assert.deepEqual([subject.decision.status, subject.decision.answer], ["decided", "yes"]);
      assert.equal((await verify(subject)).ok, true);
      for (const needle of [Buffer.from(page), Buffer.from(hexToBytes(digestOf(page)))]) {
        const [digest, bytes] = [...subject.blocks].find(
          ([one, block]) => one !== subject.decision.transcript && Buffer.from(block).includes(needle),
        )!;
        const bent = flipped(bytes, Buffer.from(bytes).indexOf(needle) + 9);
        const report = await verify({ ...subject, blocks: new Map(subject.blocks).set(digest, bent) });
        assert.deepEqual([report.failure?.step, report.failure?.cid], ["messages", cidString(digest)]);
      }
    });
});
