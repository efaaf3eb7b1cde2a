import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createSystemClock } from "../../agents/adapters/clock/system-clock.ts";
import { createMemoryContentHub, createMemoryContentStore } from "../support/memory/content-store.ts";
import { createMemoryJournals } from "../../agents/adapters/memory/journal.ts";
import { proposerOf } from "../../agents/core/seat/certify/proposals.ts";
import { decodeBlock, encode, encodeBlock } from "../../agents/core/encoding/codec.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { limits } from "../../agents/core/limits.ts";
import type { Effect, Input, MessageBlock, Protocol } from "../../agents/core/protocol.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { emptyTally } from "../../agents/core/seat/tally.ts";
import { buildTranscript, encodeMessage, messageBlock } from "../../agents/core/encoding/transcript.ts";
import type { Digest, Message } from "../../agents/core/types.ts";
import { createLoader } from "../../agents/node/seat/loader.ts";
import { createInputReader, encodeInput } from "../../agents/node/seat/records.ts";
import type { ContentStore } from "../../agents/ports/content-store.ts";
import { maxRecordBytes, type Journal } from "../../agents/ports/journal.ts";
import type { Model } from "../../agents/ports/model.ts";
import { attemptOf, signMessage } from "../support/core/committee.ts";
import { openSeatOf } from "./seat.ts";
import { until } from "../support/until.ts";
import { assertAtMost, assertBelow, assertExcludes, assertIncludes, assertWithin } from "../support/assertions.ts";

const attempt = attemptOf(4);
const clock = createSystemClock();
const proposer = proposerOf(attempt, 0);
const self = proposer === 0 ? 1 : 0;
const others = [0, 1, 2, 3].filter((seat) => seat !== self);
const commitment = (seat: number, fill = seat): Message =>
  signMessage(attempt, seat, 1, 0, { commitment: new Uint8Array(32).fill(fill) });

/** Proposal of the round's proposer that links these blocks. */
function proposalOf(digests: readonly Digest[]): Message {
  const empty = buildTranscript(attempt, mbft, emptyTally, { round: 0, phase: 0 });
  const root = decodeBlock(empty.rootBlock, limits.rootBytes) as { readonly [key: string]: never };
  const rootBlock = encodeBlock({ ...root, messages: digests.map((link) => ({ link })) });
  return signMessage(attempt, proposer, 201, 0, { root: rootBlock, validRound: null });
}

async function openJournal(append?: (journal: Journal, record: Uint8Array) => Promise<void>): Promise<Journal> {
  const journal = await createMemoryJournals().open("seat");
  return append === undefined ? journal : { ...journal, append: (record) => append(journal, record) };
}

/** Protocol whose start has this one effect. */
function saying(effect: Effect): Protocol {
  return { ...mbft, start: (context) => ({ ...mbft.start(context), effects: [effect] }) };
}

describe("blocks behind a proposal", () => {
  it("do not silence a seat or fill its journal if they are junk", async () => {
    const hub = createMemoryContentHub();
    const theirs = createMemoryContentStore({ clock, hub });
    const junk = await Promise.all(
      [1, 2, 3, 4, 5].map((fill) => theirs.put(encode({ junk: new Uint8Array(250_000).fill(fill) }))),
    );
    const seat = await openSeatOf(attempt, self, { ports: { store: createMemoryContentStore({ clock, hub }) } });
    seat.session.deliver(proposalOf(junk));
    await until(async () => {
      const read = createInputReader();
      return (await seat.journal()).slice(1).some((record) => read(record)?.kind === "loaded");
    });
    for (const other of others) seat.session.deliver(commitment(other));
    await until(() => seat.sent.some(({ header }) => header.phase === 2));
    assert.equal(seat.session.silent(), null);
    assertBelow(
      (await seat.journal()).reduce((sum, record) => sum + record.length, 0),
      20_000,
    );
    await seat.session.close();
  });

  it("are journalled in parts if they are longer than a record, and read back unchanged", () => {
    const blocks = [1, 2, 3, 4, 5].map((fill) => messageBlock(new Uint8Array(250_000).fill(fill)));
    const input: Input = { kind: "loaded", root: blocks[0]!.digest, blocks: [blocks[0]!, null, ...blocks.slice(1)] };
    const records = encodeInput(input);
    for (const record of records) assertAtMost(record.length, maxRecordBytes);
    const read = createInputReader();
    // Records that a crash left of an earlier try do no harm.
    read(records[1]!);
    assert.deepEqual(records.map(read), [...blocks.map(() => null), input]);
    assert.throws(() => createInputReader()(records.at(-1)!), { code: "JOURNAL_CORRUPT" });
  });

  it("are kept only if they are signed messages of the attempt, and asked for a few at a time", async () => {
    let asked = 0;
    let most = 0;
    const blocks = new Map<Digest, Uint8Array>();
    const store = {
      get: async (digest) => {
        most = Math.max(most, ++asked);
        await sleep(1);
        asked--;
        const bytes = blocks.get(digest);
        if (bytes === undefined) throw new Error("missing");
        return bytes;
      },
    } as Pick<ContentStore, "get"> as ContentStore;
    const loader = createLoader(
      attempt,
      ({ header }) => header.phase === 1 && header.requestId === attempt.request.id,
      store,
      () => ({ signal: new AbortController().signal, cancel: () => {} }),
    );
    const put = (bytes: Uint8Array): Digest => {
      blocks.set(sha256(bytes), bytes);
      return sha256(bytes);
    };
    const good = encodeMessage(commitment(1));
    const load = async (...found: readonly Uint8Array[]): Promise<readonly (MessageBlock | null)[]> =>
      loader.load(found.map(put));
    const missing = sha256(new Uint8Array(9));
    assert.deepEqual(await loader.load([put(good), missing]), [messageBlock(good), null]);
    const other = attemptOf(4);
    const elsewhere = { ...other, request: { ...other.request, id: 8n as never } };
    const foreign: readonly Uint8Array[] = [
      encode({ junk: 1 }),
      new Uint8Array(limits.messageBytes + 1),
      encodeMessage(signMessage(elsewhere, 1, 1, 0, { commitment: null })),
      encodeMessage(signMessage(attempt, 1, 2, 0, { commitment: null })),
      encodeMessage({ ...commitment(2), signature: commitment(3).signature }),
    ];
    for (const bytes of foreign) assert.deepEqual(await load(good, bytes), [null, null]);
    const crowded = Array.from({ length: limits.payloadsPerSlot + 1 }, (_, fill) => encodeMessage(commitment(1, fill)));
    assert.deepEqual(
      await load(...crowded),
      crowded.map(() => null),
    );
    await loader.load(Array.from({ length: 100 }, (_, fill) => sha256(Uint8Array.of(fill))));
    assertWithin(most, 2, 16);
  });
});

describe("a session and its journal", () => {
  it("sends no message before its record is durable", async () => {
    const held: (() => void)[] = [];
    let appended = 0;
    const journal = await openJournal(async (inner, record) => {
      if (appended++ > 0) await new Promise<void>((resolve) => held.push(resolve));
      await inner.append(record);
    });
    const seat = await openSeatOf(attempt, self, { ports: { journal } });
    for (let step = 0; step < 3; step++) {
      await until(() => held.length > 0);
      await sleep(50);
      const durable = new Set<string>();
      const read = createInputReader();
      for (const record of (await seat.journal()).slice(1)) {
        const input = read(record);
        if (input?.kind === "message") durable.add(input.message.header.payloadDigest);
      }
      for (const { header } of seat.sent) assert.equal(durable.has(header.payloadDigest), true, `step ${step}`);
      for (const release of held.splice(0)) release();
      for (const other of others) seat.session.deliver(commitment(other));
    }
    await until(() => seat.sent.length > 0);
    const released = setInterval(() => held.splice(0).forEach((release) => release()), 10);
    await seat.session.close().finally(() => clearInterval(released));
  });

  it("falls silent, and says so, when the disk fails", async () => {
    let full = false;
    const journal = await openJournal(async (inner, record) => {
      if (full) throw new Error("ENOSPC");
      await inner.append(record);
    });
    const seat = await openSeatOf(attempt, self, { ports: { journal } });
    await until(() => seat.sent.length > 0);
    assert.equal(seat.session.silent(), null);
    full = true;
    const before = seat.sent.length;
    for (const other of others) seat.session.deliver(commitment(other));
    await until(() => seat.session.silent() !== null);
    await sleep(100);
    assert.equal(seat.session.silent(), "journal failed: ENOSPC");
    assert.equal(seat.sent.length, before);
    assert.equal(seat.session.wants(commitment(1, 9).header), false);
    await seat.session.close();
  });

  it("drops an input that no record can hold, and goes on", async () => {
    const errors: string[] = [];
    const log = { debug() {}, info() {}, warn() {}, error: (_: object, message: string) => errors.push(message) };
    const model = {
      prompts: "small",
      ask: async () => ({ fields: { proof: "x".repeat(2 * maxRecordBytes), answer: "yes" }, confidencePpm: 900_000 }),
    } as unknown as Model;
    const seat = await openSeatOf(attempt, self, { ports: { model, log } });
    await until(() => errors.length > 0);
    assert.deepEqual(errors, ["input too long for the journal: ignored"]);
    assert.equal(seat.session.silent(), null);
    // The seat abstains when the phase ends.
    await until(() => seat.sent.length > 0);
    await seat.session.close();
  });

  it("neither journals nor sends an own message that no peer would accept", async () => {
    const root = new Uint8Array(limits.certifyMessageBytes);
    const errors: object[] = [];
    const log = { debug() {}, info() {}, warn() {}, error: (data: object) => errors.push(data) };
    const protocol = saying({ kind: "send", phase: 201, round: 0, payload: { root, validRound: null } });
    const seat = await openSeatOf(attempt, self, { protocol, ports: { log } });
    await until(() => errors.length > 0);
    await sleep(50);
    assert.equal(errors.length, 1);
    assert.deepEqual(seat.sent, []);
    const records = await seat.journal();
    assert.equal(records.length, 1);
    assert.equal(seat.session.silent(), null);
    await seat.session.close();
    await (await openSeatOf(attempt, self, { protocol, records })).session.close();
  });

  it("falls silent visibly after a bug in the core, and leaves no promise unhandled", async () => {
    const protocol: Protocol = {
      ...mbft,
      step: () => {
        throw new Error("bug");
      },
    };
    const seat = await openSeatOf(attempt, self, { protocol });
    seat.session.deliver(commitment(1, 1));
    await until(() => seat.session.silent() !== null);
    assert.equal(seat.session.silent(), "internal error: bug");
    await seat.session.close();
  });

  it("stores deliberation messages for auditors, but no votes", async () => {
    const stored: Uint8Array[] = [];
    const inner = createMemoryContentStore({ clock });
    const store: ContentStore = { ...inner, put: (bytes) => (stored.push(bytes), inner.put(bytes)) };
    const seat = await openSeatOf(attempt, self, { ports: { store } });
    const vote = signMessage(attempt, others[0]!, 202, 0, { root: null });
    const message = commitment(others[0]!);
    for (const one of [vote, message]) seat.session.deliver(one);
    await until(() => stored.length > 0);
    await seat.session.close();
    assertIncludes(stored, encodeMessage(message));
    assertExcludes(stored, encodeMessage(vote));
  });
});
