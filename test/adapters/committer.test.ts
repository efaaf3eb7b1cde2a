import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createSystemClock } from "../../agents/adapters/clock/system-clock.ts";
import { createMemoryClock } from "../../agents/adapters/memory/clock.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { RequestId, SeatIndex } from "../../agents/core/types.ts";
import type { ChainWriter, CertifiedDecision, BatchResult, Receipt } from "../../agents/ports/chain.ts";
import { createCommitter, type Committer } from "../../agents/node/request/relay.ts";
import { relay } from "../../agents/node/request/relay.ts";
import { silentLog } from "../integration/world.ts";
import { createMemoryHarness } from "./chain-memory.ts";
import { createNodeHarness } from "./chain-node.ts";
import { drawn } from "./chain-questions.ts";
import { rejects } from "./chain.suite.ts";

const WAIT_MS = 250;
const receipt: Receipt = { transactionHash: "0xaa", blockNumber: 1n, gasUsed: 1n };
const commitOf = (id: number): CertifiedDecision => ({ request: { id: BigInt(id) as RequestId } }) as CertifiedDecision;
const idOf = ({ request }: CertifiedDecision): number => Number(request.id);
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
};

/** A committer over a writer that records its calls and answers when the test lets it. */
function bench(results: (ids: readonly number[]) => readonly BatchResult[] = (ids) => ids.map(() => receipt)) {
  const clock = createMemoryClock();
  const calls: (readonly number[])[] = [];
  let held: Promise<void> = Promise.resolve();
  const submit = async (ids: readonly number[]): Promise<readonly BatchResult[]> => {
    calls.push(ids);
    await held;
    return results(ids);
  };
  const single = async (ids: readonly number[]): Promise<Receipt | "already"> => {
    const [result] = await submit(ids);
    if (result instanceof ConclaveError) throw result;
    return result as Receipt;
  };
  const writer = {
    commit: (request: CertifiedDecision["request"]) => single([Number(request.id)]),
    commitAll: (commits: readonly CertifiedDecision[]) => submit(commits.map(idOf)),
  } as unknown as ChainWriter;
  const lifetime = new AbortController();
  const committer: Committer = createCommitter({ writer, clock, log: silentLog }, WAIT_MS, lifetime.signal);
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return resolve;
  };
  return { clock, calls, committer, lifetime, hold };
}

describe("committer", () => {
  it("sends all decisions of the wait together, and none before", async () => {
    const { clock, calls, committer } = bench();
    const first = committer.commit(commitOf(1));
    clock.advance(WAIT_MS - 1);
    const second = committer.commit(commitOf(2));
    await settled();
    assert.deepEqual(calls, []);
    clock.advance(1);
    assert.deepEqual(await Promise.all([first, second]), [receipt, receipt]);
    assert.deepEqual(calls, [[1, 2]]);
  });

  it("sends a single decision without a batch", async () => {
    const { clock, calls, committer } = bench();
    const only = committer.commit(commitOf(7));
    clock.advance(WAIT_MS);
    assert.equal(await only, receipt);
    assert.deepEqual(calls, [[7]]);
  });

  it("gathers decisions while a transaction is under way, and then sends them without a wait", async () => {
    const { clock, calls, committer, hold } = bench();
    const release = hold();
    const early = committer.commit(commitOf(1));
    clock.advance(WAIT_MS);
    await settled();
    const late = [2, 3].map((id) => committer.commit(commitOf(id)));
    clock.advance(10 * WAIT_MS);
    await settled();
    assert.deepEqual(calls, [[1]]);
    release();
    await Promise.all([early, ...late]);
    assert.deepEqual(calls, [[1], [2, 3]]);
  });

  it("reports each result: one refusal fails one decision, a failed batch fails all of its decisions", async () => {
    const refusal = new ConclaveError("CHAIN_REVERTED", "Commit: the contract refused with QuorumNotReached");
    const mixed = bench((ids) => ids.map((id) => (id === 2 ? refusal : id === 3 ? "already" : receipt)));
    const three = Promise.allSettled([1, 2, 3].map((id) => mixed.committer.commit(commitOf(id))));
    mixed.clock.advance(WAIT_MS);
    assert.deepEqual(
      (await three).map((one) => (one.status === "fulfilled" ? one.value : one.reason)),
      [receipt, refusal, "already"],
    );

    const unreachable = new ConclaveError("CHAIN_UNREACHABLE", "Commit: no answer");
    let isDown = true;
    const failing = bench((ids) => {
      if (isDown) throw unreachable;
      return ids.map(() => receipt);
    });
    const two = Promise.allSettled([1, 2].map((id) => failing.committer.commit(commitOf(id))));
    failing.clock.advance(WAIT_MS);
    assert.deepEqual(
      (await two).map((one) => (one.status === "rejected" ? one.reason : null)),
      [unreachable, unreachable],
    );
    isDown = false;
    const again = failing.committer.commit(commitOf(1));
    await settled();
    failing.clock.advance(WAIT_MS);
    assert.equal(await again, receipt);
  });

  it("fails waiting commits when the agent stops", async () => {
    const { calls, committer, lifetime } = bench();
    const only = assert.rejects(committer.commit(commitOf(1)), /stopped/);
    lifetime.abort(new Error("stopped"));
    await only;
    assert.deepEqual(calls, []);
  });
});

for (const [name, createHarness] of [
  ["memory", createMemoryHarness],
  ["viem on anvil", createNodeHarness],
] as const) {
  describe(`relays that share a committer: ${name}`, async () => {
    const harness = await createHarness();
    after(() => harness.stop());

    it("commits in one transaction; one that is refused holds back no other, and the next relayer finds them done", async () => {
      const [chain, clock, lifetime] = [await harness.reader(), createSystemClock(), new AbortController()];
      const relayed = [await drawn(harness), await drawn(harness)];
      const bad = await drawn(harness);
      const { decision, signatures } = bad.certificate;
      const tooFew = { ...bad, certificate: { decision, signatures: signatures.slice(1) } };
      const relayAll = async (account: 0 | 1): Promise<readonly (Receipt | "already")[]> => {
        const writer = await harness.writer(account);
        const committer = createCommitter({ writer, clock, log: silentLog }, 20, lifetime.signal);
        const ports = { chain, committer, clock, log: silentLog };
        const refused = rejects(committer.commit(tooFew), "CHAIN_REVERTED", "QuorumNotReached");
        const results = await Promise.all(
          relayed.map(({ request, awaited, committee, certificate }) => {
            const attempt = { domain: chain.domain, request, attempt: 0, committee };
            return relay(ports, attempt, awaited, 0 as SeatIndex, certificate, 1, lifetime.signal);
          }),
        );
        await refused;
        return results;
      };
      const [first, second] = await relayAll(0);
      assert.ok(first !== undefined && first !== "already" && second !== undefined && second !== "already");
      assert.equal(first.transactionHash, second.transactionHash);
      assert.deepEqual(await relayAll(1), ["already", "already"]);
    });
  });
}
