import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryJournals, type MemoryJournals } from "../../agents/adapters/memory/journal.ts";
import type { RequestId } from "../../agents/core/types.ts";
import { openCursor, type EventBlocks } from "../../agents/node/cursor.ts";
import type { Cursor } from "../../agents/ports/chain.ts";
import { assertIncludes } from "../support/assertions.ts";

const at = (block: number): Cursor => ({ blockNumber: BigInt(block), blockHash: `0x${"ab".repeat(32)}` });
const older = 1n as RequestId;
const NAME = "request-2-0";
const none: ReadonlyMap<RequestId, EventBlocks> = new Map();

async function withJournal(): Promise<MemoryJournals> {
  const journals = createMemoryJournals();
  await (await journals.open(NAME)).close();
  return journals;
}

describe("the stored cursor", () => {
  it("keeps a settled request's journal until no restart can see its events", async () => {
    const journals = await withJournal();
    const cursor = await openCursor(journals);
    await cursor.advance(at(10), [], [], none);
    await cursor.advance(at(11), [older], [older], none);
    cursor.retire(NAME, 20n);
    await cursor.advance(at(20), [], [older], none);
    assertIncludes(await journals.list(), NAME);
    journals.crash();
    const again = await openCursor(journals);
    assert.equal(again.position?.blockNumber, 10n);
    again.retire(NAME, 20n);
    await again.advance(at(19), [], [], none);
    assertIncludes(await journals.list(), NAME);
    await again.advance(at(20), [], [], none);
    assert.deepEqual(await journals.list(), ["cursor", "ended"]);
    journals.crash();
    assert.equal((await openCursor(journals)).position?.blockNumber, 20n);
  });

  it("finishes a removal that a crash cut short", async () => {
    const journals = await withJournal();
    const remove = (): Promise<void> => Promise.reject(new Error("killed"));
    const first = await openCursor({
      ...journals,
      remove: (name) => (name === NAME ? remove() : journals.remove(name)),
    });
    first.retire(NAME, 20n);
    const failure: unknown = await first.advance(at(20), [], [], none).catch((error: unknown) => error);
    assert.ok(failure instanceof Error);
    journals.crash();
    const again = await openCursor(journals);
    assert.equal(again.position?.blockNumber, 20n);
    assert.deepEqual(await journals.list(), ["cursor", "ended"]);
  });

  it("keeps its position if a start is killed, or the disk is full, at any step", async () => {
    const journals = createMemoryJournals();
    await (await openCursor(journals)).advance(at(10), [], [], none);
    for (const step of ["open", "append", "rename"] as const) {
      journals.crash();
      const fail = (): never => {
        throw new Error("killed");
      };
      const failing: MemoryJournals = {
        ...journals,
        open: async (name) => {
          if (name !== "cursor-new") return journals.open(name);
          if (step === "open") fail();
          const journal = await journals.open(name);
          return step === "append" ? { ...journal, append: async () => fail() } : journal;
        },
        rename: step === "rename" ? async () => fail() : journals.rename,
      };
      await assert.rejects(openCursor(failing), /killed/, step);
      journals.crash();
      assert.equal((await openCursor(journals)).position?.blockNumber, 10n, step);
      assert.deepEqual(await journals.list(), ["cursor", "ended"]);
    }
  });

  it("CE11: knows for good which journals it has removed, also after a crash in between and while the disk was full", async () => {
    const journals = await withJournal();
    let fails: "ended" | "removal" | null = "ended";
    const open: MemoryJournals["open"] = async (name) => {
      const journal = await journals.open(name);
      const append: typeof journal.append = (record) =>
        name === "ended" && fails === "ended" ? Promise.reject(new Error("ENOSPC")) : journal.append(record);
      return { ...journal, append };
    };
    const remove: MemoryJournals["remove"] = (name) =>
      name === NAME && fails === "removal" ? Promise.reject(new Error("killed")) : journals.remove(name);
    const first = await openCursor({ ...journals, open, remove });
    first.retire(NAME, 20n);
    await assert.rejects(first.advance(at(20), [], [], none), /ENOSPC/);
    assertIncludes(await journals.list(), NAME);
    assert.equal(first.hasEnded(NAME), false);
    fails = "removal";
    await assert.rejects(first.advance(at(21), [], [], none), /killed/);
    fails = null;
    for (let start = 0; start < 2; start++) {
      journals.crash();
      const again = await openCursor({ ...journals, open, remove });
      assert.equal(again.hasEnded(NAME), true);
      assert.equal(again.hasEnded("request-2-1"), false);
      await again.advance(at(22 + start), [], [], none);
      assert.deepEqual(await journals.list(), ["cursor", "ended"]);
    }
  });

  it("does not remove a journal that is in use again", async () => {
    const journals = await withJournal();
    const cursor = await openCursor(journals);
    cursor.retire(NAME, 20n);
    cursor.keep(NAME);
    await cursor.advance(at(30), [], [], none);
    assertIncludes(await journals.list(), NAME);
    // A later start does not remove it either, although an earlier record said so.
    cursor.retire(NAME, 30n);
    await cursor.advance(at(31), [], [], none);
    await (await journals.open(NAME)).close();
    journals.crash();
    await openCursor(journals);
    assertIncludes(await journals.list(), NAME);
  });

  it("keeps a request that has waited by the blocks of its events, and goes on past it", async () => {
    const journals = createMemoryJournals();
    const first = await openCursor(journals);
    await first.advance(at(10), [], [], none);
    await first.advance(at(11), [older], [older], new Map([[older, [11n]]]));
    await first.advance(at(400), [], [older], new Map([[older, [11n, 399n]]]));
    await first.advance(at(450), [], [older], new Map([[older, [11n, 399n, 450n]]]));
    journals.crash();
    const second = await openCursor(journals);
    assert.equal(second.position?.blockNumber, 400n);
    assert.deepEqual([...second.kept], [[older, [11n, 399n]]]);
    // A restart that stores nothing new finds the same.
    journals.crash();
    const third = await openCursor(journals);
    assert.deepEqual([...third.kept], [[older, [11n, 399n]]]);
    await third.advance(at(600), [], [], none);
    journals.crash();
    assert.deepEqual([...(await openCursor(journals)).kept], []);
  });

  it("keeps of a request that has waited only what lies before the position, which another request may hold back", async () => {
    const journals = createMemoryJournals();
    const held = 2n as RequestId;
    const first = await openCursor(journals);
    await first.advance(at(10), [], [], none);
    await first.advance(at(11), [older], [older], new Map([[older, [11n]]]));
    await first.advance(at(12), [], [older], new Map([[older, [11n]]]));
    await first.advance(at(13), [held], [older, held], new Map([[older, [11n, 13n]]]));
    journals.crash();
    const second = await openCursor(journals);
    assert.equal(second.position?.blockNumber, 12n);
    assert.deepEqual([...second.kept], [[older, [11n]]]);
  });

  it("keeps a request that has waited until a restart does not see its end either", async () => {
    const journals = createMemoryJournals();
    const first = await openCursor(journals);
    await first.advance(at(10), [], [], none);
    await first.advance(at(11), [older], [older], new Map([[older, [11n]]]));
    await first.advance(at(12), [], [older], new Map([[older, [11n]]]));
    // It ends in this block, and another request holds the position before it.
    await first.advance(at(13), [2n as RequestId], [2n as RequestId], none);
    journals.crash();
    const second = await openCursor(journals);
    assert.equal(second.position?.blockNumber, 12n);
    assert.deepEqual([...second.kept], [[older, [11n]]]);
  });

  it("holds the position back for what it has no room to keep", async () => {
    const journals = createMemoryJournals();
    const cursor = await openCursor(journals);
    const waited = new Map(Array.from({ length: 4_097 }, (_, id) => [BigInt(id + 1) as RequestId, [11n]]));
    await cursor.advance(at(10), [], [], none);
    await cursor.advance(at(11), [...waited.keys()], [...waited.keys()], waited);
    await cursor.advance(at(500), [], [...waited.keys()], waited);
    journals.crash();
    const again = await openCursor(journals);
    assert.equal(again.position?.blockNumber, 10n);
    assert.equal(again.kept.size, 0);
    await again.close();
  });

  it("stores a position again after the disk was full, with what came meanwhile", async () => {
    const journals = await withJournal();
    let isFull = false;
    const cursor = await openCursor({
      ...journals,
      open: async (name) => {
        const journal = await journals.open(name);
        let failure: Error | null = null;
        return {
          ...journal,
          // As a file's: after one failed write the open journal takes no more.
          append: async (record) => {
            if (isFull) failure ??= new Error("ENOSPC");
            if (failure !== null) throw failure;
            await journal.append(record);
          },
        };
      },
    });
    await cursor.advance(at(10), [], [], none);
    isFull = true;
    cursor.retire(NAME, 11n);
    const waited = new Map([[older, [11n]]]);
    for (const block of [11, 12]) await assert.rejects(cursor.advance(at(block), [], [older], waited), /ENOSPC/);
    assertIncludes(await journals.list(), NAME);
    isFull = false;
    await cursor.advance(at(13), [], [older], waited);
    assert.deepEqual(await journals.list(), ["cursor", "ended"]);
    await cursor.close();
    const { position, kept } = await openCursor(journals);
    assert.equal(position?.blockNumber, 13n);
    assert.deepEqual([...kept], [[older, [11n]]]);
  });
});
