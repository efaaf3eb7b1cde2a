// The dashboard of `conclave dev` asks few gateways, so its own has the blocks of all agents.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { digestOfBlock } from "../../agents/adapters/ipfs/block.ts";
import { createFolderContentStore } from "../../agents/adapters/ipfs/folder-content-store.ts";
import { openAllBlocks } from "../../devnet/dev/blocks.ts";

it("the blocks of all agents are read as one store, those of a folder that comes later, too", async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "conclave-all-blocks-"));
  context.after(() => rm(folder, { recursive: true }));
  const folders = ["agent-1", "agent-2"].map((name) => join(folder, name));
  const all = await openAllBlocks(folders);
  const blocks = folders.map((_, index) => Uint8Array.of(0x81, index));
  for (const [index, path] of folders.entries()) {
    const store = await createFolderContentStore(path);
    await store.put(blocks[index]!);
    await store.close();
  }
  for (const block of blocks) {
    assert.ok(await all.has(digestOfBlock(block)));
    assert.deepEqual(await all.get(digestOfBlock(block)), block);
  }
  const absent = digestOfBlock(Uint8Array.of(0x81, 9));
  assert.equal(await all.has(absent), false);
  await assert.rejects(all.get(absent), { code: "BLOCK_MISSING" });
  await all.close();
});
