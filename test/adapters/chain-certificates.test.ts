import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { decisionOracleAbi } from "conclave/abi";
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
});
