import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { decisionOracleAbi } from "@conclave/contracts/abi";
import { connect } from "../../agents/adapters/chain/connection.ts";
import { encodeCommit } from "../../agents/adapters/chain/encode.ts";
import { readHeader } from "../../agents/adapters/chain/header.ts";
import { createTransactionReader } from "../../agents/adapters/chain/transaction-reader.ts";
import type { Hex, RequestId } from "../../agents/core/types.ts";
import { createNodeHarness, type NodeHarness } from "./chain-node.ts";
import { drawn } from "./chain-questions.ts";

describe("chain: certificates in calldata", () => {
  let harness: NodeHarness;
  before(async () => {
    harness = await createNodeHarness();
  });
  after(() => harness.stop());

  it("finds the signatures of a commit, alone or in a batch, unless the calldata hides them", async () => {
    const entries = [await drawn(harness), await drawn(harness)] as const;
    const [first, second] = entries;
    const connection = await connect(harness.options);
    const commitOf = async ({ request, awaited, certificate }: typeof first): Promise<Hex> =>
      encodeCommit(request, awaited, await readHeader(connection, awaited.seedBlock), certificate);
    const transactions = await createTransactionReader(harness.options);
    const oracle = harness.options.oracle;
    const tryAll = async (calls: readonly Hex[]): Promise<Hex> => {
      const args = [[...calls]] as const;
      return harness.execute(oracle, decisionOracleAbi, "tryMulticall", args, 3_000_000n);
    };
    const alone = await drawn(harness);
    const receipt = await (await harness.writer(0)).commit(alone.request, alone.awaited, alone.certificate);
    assert.ok(receipt !== "already");
    const read = (hash: Hex, id: RequestId) => transactions.certificate(hash, id);
    assert.deepEqual(await read(receipt.transactionHash, alone.request.id), alone.certificate.signatures);
    assert.equal(await read(receipt.transactionHash, first.request.id), null);

    const batch = await tryAll(["0x", await commitOf(first), await commitOf(second)]);
    for (const { request, certificate } of entries)
      assert.deepEqual(await read(batch, request.id), certificate.signatures);
    for (const { request } of entries)
      assert.equal((await (await harness.reader()).requestState(request.id)).status, "decided");
    const third = await drawn(harness);
    const twice = await tryAll([await commitOf(third), await commitOf(third)]);
    assert.equal(await read(twice, third.request.id), null);
  });

  it("reads what is asked in one turn with one HTTP request, or one by one from a node that takes no batches", async () => {
    const entry = await drawn(harness);
    const receipt = await (await harness.writer(0)).commit(entry.request, entry.awaited, entry.certificate);
    assert.ok(receipt !== "already");
    const transactions = await createTransactionReader(harness.options);
    const readTwice = async (): Promise<readonly unknown[]> => {
      const both = [receipt.transactionHash, receipt.transactionHash].map((hash) =>
        transactions.certificate(hash, entry.request.id),
      );
      return Promise.all(both);
    };
    const expected = [entry.certificate.signatures, entry.certificate.signatures];
    const batches: number[] = [];
    let [alone, takesBatches] = [0, true];
    const { intercept } = harness.proxy;
    harness.proxy.intercept = (call) => {
      if (!Array.isArray(call)) {
        alone += 1;
        return null;
      }
      batches.push(call.length);
      return takesBatches ? null : { error: { code: -32_600, message: "batches are off" } };
    };
    assert.deepEqual(await readTwice(), expected);
    assert.deepEqual([batches, alone], [[2], 0]);
    takesBatches = false;
    assert.deepEqual(await readTwice(), expected);
    assert.deepEqual([batches, alone], [[2, 2], 2]);
    const other = await drawn(harness);
    const later = await (await harness.writer(0)).commit(other.request, other.awaited, other.certificate);
    assert.ok(later !== "already");
    harness.proxy.intercept = (call) => (Array.isArray(call) ? "leaveOutFirst" : null);
    const answers = await Promise.all([
      transactions.certificate(receipt.transactionHash, entry.request.id),
      transactions.certificate(later.transactionHash, other.request.id),
    ]);
    assert.deepEqual(answers, [entry.certificate.signatures, other.certificate.signatures], "none is another's");
    harness.proxy.intercept = intercept;
    const left = transactions.certificate(receipt.transactionHash, entry.request.id, AbortSignal.abort());
    await assert.rejects(left, { name: "AbortError" });
  });
});
