import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { createFileEvidence } from "../../agents/adapters/evidence/file-evidence.ts";
import { createMemoryEvidence } from "../support/memory/evidence.ts";
import { keccak256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { requestHashOf } from "../../agents/core/encoding/typed-data.ts";
import type { Address, HashedRequest, RequestId } from "../../agents/core/types.ts";
import { maxKeptProofs, type EvidenceStore } from "../../agents/ports/evidence.ts";
import { rejects } from "./chain.suite.ts";
import { decisionProofBy, proofBy } from "./chain-questions.ts";
import { testKeys } from "./chain-node.ts";
import { wideId } from "../support/core/committee.ts";

const folder = await mkdtemp(join(tmpdir(), "conclave-evidence-"));
after(() => rm(folder, { recursive: true }));

const domain = { chainId: 1, oracle: `0x${"0c".repeat(20)}` as Address };
const requestOf = (id: bigint): HashedRequest => ({
  id: id as RequestId,
  consumer: `0x${"cc".repeat(20)}` as Address,
  terms: 2n ** 255n + 1n,
  questionHash: keccak256(utf8(`question ${id}`)),
});
const proofOf = (requestId: bigint, attempt = 0) => proofBy(testKeys[0]!, 1, domain, requestOf(requestId), { attempt });

for (const [name, create] of [
  ["memory", async (): Promise<EvidenceStore> => createMemoryEvidence()],
  ["files", async (): Promise<EvidenceStore> => createFileEvidence(await mkdtemp(join(folder, "store-")))],
] as const) {
  describe(`evidence: ${name}`, () => {
    it("keeps one proof per agent and attempt, the oldest request first", async () => {
      const store = await create();
      assert.deepEqual(await store.list(), { proofs: [], unreadable: [] });
      const [ninth, tenth, again] = [proofOf(9n), proofOf(10n), proofOf(10n, 1)];
      for (const proof of [tenth, ninth, again]) assert.equal(await store.keep(proof), true);
      assert.equal(await store.keep({ ...tenth, slot: { ...tenth.slot, phase: 9 } }), false);
      const { proofs: kept } = await store.list();
      assert.deepEqual(kept[0], ninth);
      assert.deepEqual(new Set(kept.slice(1)), new Set([tenth, again]));
    });

    it("keeps two signed decisions like two messages, and one proof for both kinds", async () => {
      const store = await create();
      const decisions = decisionProofBy(testKeys[0]!, 1, domain, requestOf(9n));
      assert.equal(await store.keep(decisions), true);
      assert.equal(await store.keep(proofOf(9n)), false);
      assert.deepEqual((await store.list()).proofs, [decisions]);
    });

    it("TR5: sorts ids of any width as numbers, and gives them back exactly", async () => {
      const store = await create();
      const ids = [9n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 80n + 1n, wideId, 2n ** 128n - 1n];
      for (const id of [4, 1, 5, 0, 2, 3]) assert.equal(await store.keep(proofOf(ids[id]!)), true);
      assert.equal(await store.keep(proofOf(wideId)), false);
      assert.deepEqual(
        (await store.list()).proofs.map(({ request }) => request.id),
        ids,
      );
    });

    it("drops the proofs of the oldest requests above its bound", async () => {
      const store = await create();
      const proof = proofOf(1n);
      for (let index = 0; index <= maxKeptProofs; index++) {
        const request = requestOf(BigInt(index));
        const slot = { ...proof.slot, requestHash: requestHashOf(request) };
        assert.equal(await store.keep({ ...proof, request, slot }), true);
      }
      const { proofs: kept } = await store.list();
      assert.deepEqual([kept.length, kept[0]?.request.id], [maxKeptProofs, 1n]);
    });
  });
}

describe("evidence: files alone", () => {
  it("belong to their owner and survive; an unreadable one is named beside the others", async () => {
    const path = join(folder, "own");
    await createFileEvidence(path).keep(proofOf(7n));
    const [name] = await readdir(path);
    assert.equal((await stat(join(path, name!))).mode & 0o777, 0o600);
    await writeFile(join(path, "notes.txt"), "not a proof, and not read");
    assert.deepEqual(await createFileEvidence(path).list(), { proofs: [proofOf(7n)], unreadable: [] });
    await createFileEvidence(path).keep(proofOf(8n));
    for (const content of ["{}", "{", ""]) {
      await writeFile(join(path, name!), content);
      const unreadable = [{ path: join(path, name!), requestId: 7n }];
      assert.deepEqual(await createFileEvidence(path).list(), { proofs: [proofOf(8n)], unreadable });
    }
    assert.equal(
      await createFileEvidence(path).keep(proofOf(7n)),
      true,
      "a proof found again replaces its broken file",
    );
    assert.equal(await createFileEvidence(path).keep(proofOf(7n)), false);
    assert.deepEqual(await createFileEvidence(path).list(), { proofs: [proofOf(7n), proofOf(8n)], unreadable: [] });
    const file = join(folder, "file");
    await writeFile(file, "where the folder should be");
    const error = await rejects(createFileEvidence(file).list(), "CONFIG_INVALID");
    assert.match(error.message, new RegExp(`${file} failed \\(ENOTDIR\\)`));
  });
});
