import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createFolderContentStore, openFolderReader } from "../../agents/adapters/ipfs/folder-content-store.ts";
import { createHeliaContentStore } from "../../agents/adapters/ipfs/helia-content-store.ts";
import { sharedFlushes } from "../../agents/adapters/ipfs/local-blocks.ts";
import { createLibp2pNetwork } from "../../agents/adapters/libp2p/network.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import type { Digest } from "../../agents/core/types.ts";
import { freshBlock, putDiamond } from "./content-store.suite.ts";
import { signerKey } from "./network.suite.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "conclave-kept-"));
});

afterEach(() => rm(folder, { recursive: true }));

describe("AV9: one process writes to a folder of blocks", () => {
  const isLocked = { code: "STORE_LOCKED", message: /another process writes there; wait for it or stop it$/ };

  it("refuses a second writer, lets everybody read, and is free again after a close", async () => {
    const store = await createFolderContentStore(folder);
    const [root = assert.fail()] = await putDiamond(store);
    await assert.rejects(createFolderContentStore(folder), isLocked);
    const reader = await openFolderReader(folder);
    assert.equal((await reader.get(root)).length > 0, true);
    await reader.close();
    await Promise.all([store.close(), store.close()]);
    await (await createFolderContentStore(folder)).close();
  });

  it("refuses a second writer as long as an agent runs on the folder", async () => {
    const network = await createLibp2pNetwork({ privateKey: signerKey(0) });
    const store = await createHeliaContentStore({ libp2p: network.libp2p, path: folder });
    await assert.rejects(createFolderContentStore(folder, "seat"), isLocked);
    await store.close();
    await (await createFolderContentStore(folder, "seat")).close();
    await network.close();
  });

  it("keeps the blocks of a killed writer, but not its lock", async () => {
    const script = `
      import { createFolderContentStore } from "./agents/adapters/ipfs/folder-content-store.ts";
      import { putDiamond } from "./test/adapters/content-store.suite.ts";
      const store = await createFolderContentStore(${JSON.stringify(folder)});
      const [root] = await putDiamond(store);
      await store.pin(root);
      console.log(root);
      setInterval(() => {}, 1_000);
    `;
    const args = ["--input-type=module-typescript", "-e", script];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const root = line.toString().trim() as Digest;
    await assert.rejects(createFolderContentStore(folder), isLocked);
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    const store = await createFolderContentStore(folder);
    assert.equal(await store.isPinned(root), true);
    assert.equal((await store.sweep({ beforeMs: Date.now() + 1_000, maxBlocks: 9 })).blocks, 0);
    await store.close();
  });
});

describe("AV7: pins as files", () => {
  it("name a file that lists no blocks, sweep nothing meanwhile, and repair it when the root is pinned again", async () => {
    const store = await createFolderContentStore(folder);
    const [root = assert.fail()] = await putDiamond(store);
    const loose = freshBlock();
    await store.put(loose.bytes);
    await store.pin(root);
    const path = join(folder, "pins", cidString(root));
    const sweep = { beforeMs: Date.now() + 1_000, maxBlocks: 9 };
    for (const text of ["", `${cidString(loose.digest)}\n`, `${cidString(root)}\nnonsense\n`, cidString(root)]) {
      await writeFile(path, text);
      const isNamed = { code: "STORE_INVALID", message: new RegExp(`${cidString(root)}.*pin .* again`) };
      await assert.rejects(store.sweep(sweep), isNamed, JSON.stringify(text));
      await assert.rejects(store.wouldSweep(sweep, new Set()), isNamed);
      assert.equal((await store.wouldSweep(sweep, new Set([root]))).blocks, 5);
    }
    await store.pin(root);
    assert.deepEqual(await store.sweep(sweep), { blocks: 1, bytes: loose.bytes.length, more: false });
    assert.deepEqual(await readdir(join(folder, "pins")), [cidString(root)]);
    await store.close();
  });
});

describe("AV6: folders flushed for many blocks at once", () => {
  it("shares a flush that begins after all who wait for it, one at a time in a folder, also after a failure", async () => {
    const begun: { readonly folder: string; readonly end: (error?: Error) => void }[] = [];
    const flush = sharedFlushes((path) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      begun.push({ folder: path, end: (error) => (error === undefined ? resolve() : reject(error)) });
      return promise;
    });
    const ended: string[] = [];
    const ask = (name: string, path = "a"): Promise<void> =>
      flush(path).then(
        () => void ended.push(name),
        () => void ended.push(`${name} failed`),
      );
    const first = [ask("one"), ask("two"), ask("elsewhere", "b")];
    await turn();
    assert.deepEqual(
      begun.map((one) => one.folder),
      ["a", "b"],
    );
    const later = [ask("three"), ask("four")];
    await turn();
    assert.equal(begun.length, 2);
    begun[0]?.end(new Error("no room"));
    begun[1]?.end();
    await Promise.all(first);
    assert.deepEqual(ended.toSorted(), ["elsewhere", "one failed", "two failed"]);
    await turn();
    assert.equal(begun.length, 3);
    begun[2]?.end();
    await Promise.all(later);
    assert.deepEqual(ended.slice(3), ["three", "four"]);
  });
});

/** Lets all that waits for nothing else go on. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
