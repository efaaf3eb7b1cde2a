import assert from "node:assert/strict";
import { describe, it } from "node:test";

import fc from "fast-check";

import { ConclaveError } from "../../agents/core/errors.ts";
import type { Journal, JournalFactory } from "../../agents/ports/journal.ts";

/** A journal store whose bytes the test can read and change while no journal is open. */
export interface JournalHarness {
  readonly journals: JournalFactory;
  bytes(name: string): Promise<Uint8Array>;
  overwrite(name: string, bytes: Uint8Array): Promise<void>;
  dispose(): Promise<void>;
}

export async function readAll(journal: Journal): Promise<string[]> {
  const records: string[] = [];
  for await (const record of journal.read()) records.push(Buffer.from(record).toString("latin1"));
  return records;
}

async function write(journals: JournalFactory, name: string, records: readonly (string | Uint8Array)[]): Promise<void> {
  const journal = await journals.open(name);
  for (const record of records) await journal.append(Buffer.from(record as string, "latin1"));
  await journal.close();
}

async function reopen(journals: JournalFactory, name: string): Promise<{ records: string[]; truncatedBytes: number }> {
  const journal = await journals.open(name);
  try {
    return { records: await readAll(journal), truncatedBytes: journal.truncatedBytes };
  } finally {
    await journal.close();
  }
}

const withCode = (code: string) => (error: unknown) => error instanceof ConclaveError && error.code === code;

export function journalSuite(adapter: string, create: () => Promise<JournalHarness>): void {
  const test = (title: string, body: (harness: JournalHarness) => Promise<void>): void => {
    it(title, async () => {
      const harness = await create();
      try {
        await body(harness);
      } finally {
        await harness.dispose();
      }
    });
  };

  describe(`journal: ${adapter}`, () => {
    lifeCycle(test);
    damage(test);
  });
}

type Test = (title: string, body: (harness: JournalHarness) => Promise<void>) => void;

function lifeCycle(test: Test): void {
  test("keeps the order of records across openings, also of empty and binary ones", async ({ journals }) => {
    const binary = Uint8Array.from({ length: 256 }, (_, i) => i);
    await write(journals, "a", ["one", "", binary]);
    await write(journals, "a", ["four"]);
    const { records, truncatedBytes } = await reopen(journals, "a");
    assert.deepEqual(records, ["one", "", Buffer.from(binary).toString("latin1"), "four"]);
    assert.equal(truncatedBytes, 0);
  });

  test("reads its own appends while it is open", async ({ journals }) => {
    const journal = await journals.open("a");
    await journal.append(Buffer.from("one"));
    assert.deepEqual(await readAll(journal), ["one"]);
    await journal.append(Buffer.from("two"));
    assert.deepEqual(await readAll(journal), ["one", "two"]);
    await journal.close();
  });

  test("keeps the order of appends that wait together", async ({ journals }) => {
    const journal = await journals.open("a");
    const expected = Array.from({ length: 300 }, (_, i) => `record ${i}`);
    await Promise.all(expected.map((record) => journal.append(Buffer.from(record))));
    await journal.close();
    assert.deepEqual((await reopen(journals, "a")).records, expected);
  });

  test("finishes waiting appends when it is closed, then refuses", async ({ journals }) => {
    const journal = await journals.open("a");
    const pending = journal.append(Buffer.from("one"));
    await journal.close();
    await journal.close();
    await pending;
    await assert.rejects(journal.append(Buffer.from("two")), /closed/u);
    assert.deepEqual((await reopen(journals, "a")).records, ["one"]);
  });

  test("lists and removes", async ({ journals }) => {
    assert.deepEqual(await journals.list(), []);
    await write(journals, "b", ["x"]);
    await write(journals, "a", ["y"]);
    assert.deepEqual(await journals.list(), ["a", "b"]);
    await journals.remove("b");
    await journals.remove("absent");
    assert.deepEqual(await journals.list(), ["a"]);
    assert.deepEqual((await reopen(journals, "b")).records, []);
  });

  test("renames in place of another", async ({ journals }) => {
    await write(journals, "a", ["old"]);
    await write(journals, "b", ["new"]);
    const opened = await journals.open("a");
    await assert.rejects(journals.rename("b", "a"), withCode("JOURNAL_LOCKED"));
    await assert.rejects(journals.rename("a", "c"), withCode("JOURNAL_LOCKED"));
    await opened.close();
    await journals.rename("b", "a");
    assert.deepEqual(await journals.list(), ["a"]);
    assert.deepEqual((await reopen(journals, "a")).records, ["new"]);
    await assert.rejects(journals.rename("b", "a"), Error);
    await assert.rejects(journals.rename("a", "../a"), RangeError);
  });

  test("refuses an invalid name, a record that is too large, and a second opening", async ({ journals }) => {
    for (const name of ["", "../a", "A", "a.b", "a".repeat(81)]) await assert.rejects(journals.open(name), RangeError);
    const journal = await journals.open("a");
    await assert.rejects(journal.append(new Uint8Array((1 << 20) + 1)), RangeError);
    await journal.append(new Uint8Array(1 << 20));
    await assert.rejects(journals.open("a"), withCode("JOURNAL_LOCKED"));
    await assert.rejects(journals.remove("a"), withCode("JOURNAL_LOCKED"));
    assert.equal((await readAll(journal)).length, 1);
    await journal.close();
  });
}

function damage(test: Test): void {
  const records = ["first", "", "third record", "\0\0\0\0", "x".repeat(40)];

  test("keeps exactly the whole records, at whichever byte the file is cut", async ({ journals, bytes, overwrite }) => {
    await write(journals, "a", []);
    const ends = [(await bytes("a")).length];
    for (const record of records) {
      await write(journals, "a", [record]);
      ends.push((await bytes("a")).length);
    }
    const whole = await bytes("a");
    for (let cut = 0; cut <= whole.length; cut++) {
      await overwrite("a", whole.slice(0, cut));
      const kept = Math.max(
        0,
        ends.findLastIndex((end) => end <= cut),
      );
      const seen = await reopen(journals, "a");
      assert.deepEqual(seen.records, records.slice(0, kept), `cut at ${cut}`);
      assert.equal(seen.truncatedBytes, cut - (cut < ends[0]! ? 0 : ends[kept]!), `cut at ${cut}`);
      await write(journals, "a", ["after"]);
      assert.deepEqual(
        (await reopen(journals, "a")).records,
        [...records.slice(0, kept), "after"],
        `append after cut at ${cut}`,
      );
    }
  });

  test("keeps a prefix of any records after any cut, and goes on appending", async ({ journals, bytes, overwrite }) => {
    const record = fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ minLength: 400, maxLength: 1200 }));
    const property = fc.asyncProperty(
      fc.array(record, { maxLength: 6 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      async (list, share) => {
        await journals.remove("p");
        await write(journals, "p", list);
        const whole = await bytes("p");
        await overwrite("p", whole.slice(0, Math.floor(whole.length * share)));
        await write(journals, "p", ["after"]);
        const expected = list.map((one) => Buffer.from(one).toString("latin1"));
        const seen = (await reopen(journals, "p")).records;
        assert.deepEqual(seen, [...expected.slice(0, seen.length - 1), "after"]);
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });

  test("refuses a flipped bit anywhere, and changes nothing in the file", async ({ journals, bytes, overwrite }) => {
    await write(journals, "a", records);
    const whole = await bytes("a");
    for (let at = 0; at < whole.length; at++) {
      const flipped = whole.slice();
      flipped[at]! ^= 1 << (at % 8);
      await overwrite("a", flipped);
      await assert.rejects(journals.open("a"), withCode("JOURNAL_CORRUPT"), `byte ${at}`);
      assert.deepEqual(await bytes("a"), flipped, `byte ${at}`);
    }
  });

  test("names the place of the damage", async ({ journals, bytes, overwrite }) => {
    await write(journals, "a", ["first"]);
    const offset = (await bytes("a")).length;
    await write(journals, "a", ["second", "third"]);
    const whole = await bytes("a");
    whole[offset + 17]! ^= 1;
    await overwrite("a", whole);
    await assert.rejects(journals.open("a"), (error: ConclaveError) => {
      assert.equal(error.data["offset"], offset);
      assert.match(error.message, /^Read journal .*a.* at byte/u);
      return true;
    });
  });

  test("refuses a file in which a record was removed, doubled or moved", async ({ journals, bytes, overwrite }) => {
    const ends: number[] = [];
    for (const record of ["aaaa", "bbbb", "cccc"]) {
      await write(journals, "a", [record]);
      ends.push((await bytes("a")).length);
    }
    const whole = await bytes("a");
    const [a, b, c] = ends as [number, number, number];
    const removed = Buffer.concat([whole.slice(0, a), whole.slice(b)]);
    const doubled = Buffer.concat([whole, whole.slice(b, c)]);
    const swapped = Buffer.concat([whole.slice(0, a), whole.slice(b, c), whole.slice(a, b)]);
    for (const bad of [removed, doubled, swapped]) {
      await overwrite("a", bad);
      await assert.rejects(journals.open("a"), withCode("JOURNAL_CORRUPT"));
    }
  });

  test("treats zero sectors at the end as an append that a crash cut short", async ({ journals, bytes, overwrite }) => {
    await write(journals, "a", ["first"]);
    const first = await bytes("a");
    await overwrite("a", Buffer.concat([first, new Uint8Array(5000)]));
    assert.deepEqual(await reopen(journals, "a"), { records: ["first"], truncatedBytes: 5000 });
    await write(journals, "a", ["y".repeat(3000)]);
    const torn = await bytes("a");
    torn.fill(0, 1024);
    await overwrite("a", torn);
    assert.deepEqual(await reopen(journals, "a"), { records: ["first"], truncatedBytes: torn.length - first.length });
  });

  test("refuses a damaged record, even if it ends in zeros like a cut one", async ({ journals, bytes, overwrite }) => {
    await write(journals, "a", ["first", "\0".repeat(2000)]);
    const whole = await bytes("a");
    whole[80]! ^= 1;
    await overwrite("a", whole);
    await assert.rejects(journals.open("a"), withCode("JOURNAL_CORRUPT"));
  });

  test("refuses a file that is not a journal", async ({ journals, overwrite }) => {
    await overwrite("a", Buffer.from("not a journal at all, but something long enough to be one"));
    await assert.rejects(journals.open("a"), withCode("JOURNAL_CORRUPT"));
    await overwrite("a", Buffer.from("short"));
    await assert.rejects(journals.open("a"), withCode("JOURNAL_CORRUPT"));
  });
}
