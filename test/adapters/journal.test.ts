import assert from "node:assert/strict";
import { fork, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

import { ConclaveError } from "../../agents/core/errors.ts";
import { createFileJournals } from "../../agents/adapters/journal/file-journal.ts";
import { createMemoryJournals } from "../../agents/adapters/memory/journal.ts";
import { createInputReader, encodeInput } from "../../agents/node/seat/records.ts";
import { attemptOf, signMessage, wideId, withId } from "../support/core/committee.ts";
import { journalSuite, readAll, type JournalHarness } from "./journal.suite.ts";

journalSuite("memory", async () => {
  const journals = createMemoryJournals();
  return {
    journals,
    bytes: async (name) => journals.bytes(name),
    overwrite: async (name, bytes) => journals.overwrite(name, bytes),
    dispose: async () => {},
  };
});

journalSuite("file", async (): Promise<JournalHarness> => {
  const directory = await mkdtemp(join(tmpdir(), "conclave-journal-"));
  const path = (name: string): string => join(directory, `${name}.journal`);
  return {
    journals: createFileJournals(directory),
    bytes: async (name) => Uint8Array.from(await readFile(path(name))),
    overwrite: async (name, bytes) => await writeFile(path(name), bytes),
    dispose: async () => await rm(directory, { recursive: true }),
  };
});

describe("journal: memory crash", () => {
  it("keeps acknowledged records and disarms the handles of the dead process", async () => {
    const journals = createMemoryJournals();
    const before = await journals.open("a");
    await before.append(Buffer.from("one"));
    journals.crash();
    const after = await journals.open("a");
    assert.deepEqual(await readAll(after), ["one"]);
    await assert.rejects(before.append(Buffer.from("ghost")), /closed/u);
    await before.close();
    await assert.rejects(journals.open("a"), (error: ConclaveError) => error.code === "JOURNAL_LOCKED");
  });
});

describe("journal: file, a request's", () => {
  it("TR5: is named by an id beyond JavaScript's numbers, and gives back the message about it", async () => {
    const directory = await mkdtemp(join(tmpdir(), "conclave-journal-"));
    try {
      const name = `request-${wideId}-0`;
      const message = signMessage(withId(attemptOf(4), wideId), 1, 1, 0, { commitment: null });
      const written = await createFileJournals(directory).open(name);
      for (const record of encodeInput({ kind: "message", message })) await written.append(record);
      await written.close();
      const journals = createFileJournals(directory);
      assert.deepEqual(await journals.list(), [name]);
      const journal = await journals.open(name);
      const inputs = [];
      for await (const record of journal.read()) inputs.push(createInputReader()(record));
      await journal.close();
      assert.deepEqual(inputs, [{ kind: "message", message }]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

describe("journal: file, two processes", () => {
  const writer = new URL("./fixtures/journal-writer.ts", import.meta.url);

  const start = async (directory: string): Promise<{ child: ChildProcess; acknowledged: () => number }> => {
    const child = fork(writer, [directory], { execArgv: [] });
    let count = 0;
    child.on("message", (message) => (count = message as number));
    await once(child, "message");
    return { child, acknowledged: () => count };
  };

  const kill = async (child: ChildProcess): Promise<void> => {
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  };

  const isLocked = (error: unknown): boolean => error instanceof ConclaveError && error.code === "JOURNAL_LOCKED";

  it("locks out the second, and SIGKILL of the first frees it with every acknowledged record kept", async () => {
    const directory = await mkdtemp(join(tmpdir(), "conclave-journal-"));
    try {
      for (let round = 0; round < 3; round++) {
        const { child, acknowledged } = await start(directory);
        await assert.rejects(createFileJournals(directory).open("a"), isLocked);
        await new Promise((resolve) => setTimeout(resolve, 30 + 40 * round));
        await kill(child);
        const journal = await createFileJournals(directory).open("a");
        const records = await readAll(journal);
        assert.ok(records.length >= acknowledged(), `${records.length} records, ${acknowledged()} acknowledged`);
        assert.deepEqual(
          records,
          records.map((_, i) => `record ${i}`),
        );
        await journal.close();
      }
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it("fails an append that the disk refuses, and opens again with the acknowledged records", async () => {
    const directory = await mkdtemp(join(tmpdir(), "conclave-journal-"));
    try {
      const limited = ["-c", 'ulimit -f 16; exec "$0" "$@"', process.execPath, fileURLToPath(writer), directory];
      const { stderr, status } = spawnSync("sh", limited, { encoding: "utf8" });
      assert.notEqual(status, 0);
      assert.match(stderr, /Write to journal .*a\.journal failed \(EFBIG\)/u);
      const journal = await createFileJournals(directory).open("a");
      const records = await readAll(journal);
      assert.ok(records.length > 100);
      assert.deepEqual(
        records,
        records.map((_, i) => `record ${i}`),
      );
      await journal.close();
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it("says in words that the system lets it not write into the directory", async () => {
    const directory = await mkdtemp(join(tmpdir(), "conclave-journal-"));
    try {
      await mkdir(join(directory, "lock"));
      const says =
        /^Write into the folder \/.*conclave-journal-\w+ failed: unable to open.*; let this account write there, or/;
      await assert.rejects(createFileJournals(directory).open("a"), { code: "CONFIG_INVALID", message: says });
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it("locks within one process as well, and unlocks with the last journal", async () => {
    const directory = await mkdtemp(join(tmpdir(), "conclave-journal-"));
    try {
      const one = createFileJournals(directory);
      const other = createFileJournals(directory);
      const a = await one.open("a");
      const b = await one.open("b");
      await a.close();
      await assert.rejects(other.open("a"), isLocked);
      await b.close();
      await (await other.open("a")).close();
      assert.equal((await stat(join(directory, "a.journal"))).mode & 0o777, 0o600);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
