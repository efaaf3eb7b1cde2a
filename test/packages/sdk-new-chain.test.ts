import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createPublicClient, createTestClient, createWalletClient, http, type TestClient } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { startDecidedChain, type DecidedChain } from "../../devnet/decided-chain.ts";
import { createConclave, type Ask, type Conclave, type RequestUpdate } from "../../sdk/src/index.ts";

const OLD: Ask = { question: "Is 720 more than 500?", kind: "boolean", currency: "native" };
const NEW: Ask = { ...OLD, question: "Is 1 more than 2?" };
const POLL_MS = 20;

let world: DecidedChain;
let chain: TestClient;
let conclave: Conclave;
before(async () => {
  world = await startDecidedChain(1);
  const transport = http(world.chain.rpcUrl);
  const account = privateKeyToAccount(world.chain.accounts[0]?.privateKey ?? "0x");
  chain = createTestClient({ mode: "anvil", transport });
  conclave = createConclave({
    publicClient: createPublicClient({ transport, pollingInterval: POLL_MS, cacheTime: 0 }),
    walletClient: createWalletClient({ account, transport }),
    deployment: world.deployment,
  });
});
after(() => world.close());

describe("sdk: a cursor of a chain that was there before", () => {
  it("finds the request that has the number now, in a block above or below, and no other", async () => {
    for (const { oldAfter, newAfter } of [
      { oldAfter: 100, newAfter: 1 },
      { oldAfter: 1, newAfter: 100 },
      { oldAfter: 40, newAfter: 30 },
    ]) {
      const id = await chain.snapshot();
      await chain.mine({ blocks: oldAfter });
      const { requestId, cursor } = await conclave.ask(OLD);
      const seen = await newest(requestId, cursor);
      assert.equal(seen?.request.question, OLD.question);
      await chain.revert({ id });

      const fresh = await chain.snapshot();
      await chain.mine({ blocks: newAfter });
      assert.equal((await conclave.ask(NEW)).requestId, requestId);
      for (const from of [cursor, seen?.cursor])
        assert.equal((await newest(requestId, from))?.request.question, NEW.question, from);
      await chain.mine({ blocks: 200 });
      assert.equal((await newest(requestId, cursor))?.request.question, NEW.question);
      await assert.rejects(newest(requestId + 1n, cursor), { code: "REQUEST_UNKNOWN", field: "requestId" });
      await chain.revert({ id: fresh });
    }
  });

  it("says that a much shorter chain has no such request", async () => {
    const id = await chain.snapshot();
    await chain.mine({ blocks: 200 });
    const { requestId, cursor } = await conclave.ask(OLD);
    await chain.revert({ id });
    await assert.rejects(newest(requestId, cursor), { code: "REQUEST_UNKNOWN", field: "requestId" });
  });
});

async function newest(requestId: bigint, from = ""): Promise<RequestUpdate | undefined> {
  for await (const update of conclave.follow(requestId, { from, signal: AbortSignal.timeout(20_000) })) return update;
  return undefined;
}
