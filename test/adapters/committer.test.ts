import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { createSystemClock } from "../../agents/adapters/clock/system-clock.ts";
import { createMemoryClock } from "../../agents/adapters/memory/clock.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { RequestId, SeatIndex, SeatInfo } from "../../agents/core/types.ts";
import type { ChainWriter, CertifiedDecision, BatchResult, Receipt } from "../../agents/ports/chain.ts";
import { decisionOracleAbi } from "@conclave/contracts/abi";
import {
  createCommitter,
  createRelayer,
  relay,
  REFUSED_FOR_GOOD,
  type Committer,
} from "../../agents/node/request/relay.ts";
import { silentLog } from "../integration/world.ts";
import { createMemoryHarness } from "./chain-memory.ts";
import { createNodeHarness } from "./chain-node.ts";
import { drawn, type Drawn } from "./chain-questions.ts";
import { rejects } from "./chain.suite.ts";
import { until } from "../support/until.ts";

const WAIT_MS = 250;
const receipt: Receipt = { transactionHash: "0xaa", blockNumber: 1n, blockHash: "0xbb", gasUsed: 1n };
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
  it("SE26: names errors that the oracle has", () => {
    const names = new Set<unknown>(decisionOracleAbi.flatMap((item) => (item.type === "error" ? [item.name] : [])));
    assert.deepEqual(
      [...REFUSED_FOR_GOOD].filter((name) => !names.has(name)),
      [],
    );
  });

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
      const batching = createMemoryClock();
      const relayed = [await drawn(harness), await drawn(harness)];
      const bad = await drawn(harness);
      const { decision, signatures } = bad.certificate;
      const tooFew = { ...bad, certificate: { decision, signatures: signatures.slice(1) } };
      const relayAll = async (account: 0 | 1, commits: number): Promise<readonly (Receipt | "already")[]> => {
        const writer = await harness.writer(account);
        const inner = createCommitter({ writer, clock: batching, log: silentLog }, WAIT_MS, lifetime.signal);
        let waiting = 0;
        const committer: Committer = { commit: (one) => (waiting++, inner.commit(one)) };
        const ports = { chain, committer, clock, log: silentLog };
        const refused = rejects(committer.commit(tooFew), "CHAIN_REVERTED", "QuorumNotReached");
        const results = Promise.all(
          relayed.map(({ request, awaited, committee, certificate }) => {
            const attempt = { domain: chain.domain, request, attempt: 0, committee };
            return relay(ports, attempt, awaited, 0 as SeatIndex, certificate, 1, lifetime.signal);
          }),
        );
        await until(() => waiting === commits);
        batching.advance(WAIT_MS);
        await refused;
        return results;
      };
      const [first, second] = await relayAll(0, 3);
      assert.ok(first !== undefined && first !== "already" && second !== undefined && second !== "already");
      assert.equal(first.transactionHash, second.transactionHash);
      assert.deepEqual(await relayAll(1, 1), ["already", "already"]);
    });

    it("SE26: gives a certificate up whose draw a reorganization has replaced, and one that is bad, after three turns", async () => {
      const [chain, lifetime, writer] = [await harness.reader(), new AbortController(), await harness.writer(0)];
      const clock = createSystemClock();
      const committer = createCommitter({ writer, clock, log: silentLog }, 1, lifetime.signal);
      const giveUp = async ({ request, awaited, committee, certificate }: Drawn, error: string): Promise<void> => {
        let [refused, warned] = [0, 0];
        const log = { ...silentLog, warn: () => void warned++ };
        const ports = { chain, committer, clock, log, onRefused: () => void refused++ };
        const attempt = { domain: chain.domain, request, attempt: 0, committee };
        const relaying = relay(ports, attempt, awaited, 0 as SeatIndex, certificate, 1, lifetime.signal);
        await rejects(relaying, "CHAIN_REVERTED", error);
        assert.deepEqual([refused, warned], [3, 2]);
      };
      const bad = await drawn(harness);
      const { decision, signatures } = bad.certificate;
      await giveUp({ ...bad, certificate: { decision, signatures: signatures.slice(1) } }, "QuorumNotReached");
      const replaced = await drawn(harness);
      const firstNow = async (): Promise<SeatInfo | undefined> =>
        (await chain.committee(replaced.request, replaced.awaited))[0];
      // The seed block, the one after it, and some before: anvil takes a block's randomness from its parent.
      while (isDeepStrictEqual(await firstNow(), replaced.committee[0])) await harness.reorganize(4);
      await giveUp(replaced, "InvalidSignature");
      const late = await drawn(harness);
      await harness.passTime(late.request.terms.duration + 1);
      await giveUp(late, "DeadlinePassed");
    });

    it("SE26: does not take a node that is behind for a decision, and gives up where it stays so for three turns", async () => {
      const [chain, clock, lifetime] = [await harness.reader(), createSystemClock(), new AbortController()];
      const { request, awaited, committee, certificate } = await drawn(harness);
      const writer = await harness.writer(0);
      const commit: Committer["commit"] = (one) => writer.commit(one.request, one.awaited, one.certificate);
      const attempt = { domain: chain.domain, request, attempt: 0, committee };
      const relayBehind = (turns: number): Promise<Receipt | "already"> => {
        let behind = turns;
        const requestState: typeof chain.requestState = async (...parameters) => {
          const state = await chain.requestState(...parameters);
          return behind-- > 0 ? { ...state, status: "none" } : state;
        };
        const ports = { chain: { ...chain, requestState }, committer: { commit }, clock, log: silentLog };
        return relay(ports, attempt, awaited, 0 as SeatIndex, certificate, 1, lifetime.signal);
      };
      await rejects(relayBehind(3), "REQUEST_UNKNOWN");
      assert.notEqual(await relayBehind(2), "already");
      assert.equal(await relayBehind(0), "already");
    });

    it("SE28: gives a certificate up once it has paid for three refusals, though they can pass", async () => {
      const [chain, clock, lifetime] = [await harness.reader(), createSystemClock(), new AbortController()];
      const { request, awaited, committee, certificate } = await drawn(harness);
      const isPaid = [true, false, true, false, false, true];
      let tries = 0;
      const commit: Committer["commit"] = () => {
        const facts = { error: "WrongStatus", ...(isPaid[tries++] === true ? { paidIn: "0x12" } : {}) };
        return Promise.reject(new ConclaveError("CHAIN_REVERTED", "Commit: the contract refused", facts));
      };
      const ports = { chain, committer: { commit }, clock, log: silentLog };
      const attempt = { domain: chain.domain, request, attempt: 0, committee };
      await rejects(relay(ports, attempt, awaited, 0 as SeatIndex, certificate, 1, lifetime.signal), "CHAIN_REVERTED");
      assert.equal(tries, isPaid.length);
    });

    it("SE26: keeps trying after refusals that pass", async () => {
      const [chain, clock, lifetime] = [await harness.reader(), createSystemClock(), new AbortController()];
      const { request, awaited, committee, certificate } = await drawn(harness);
      const refusing = ["WitnessMismatch", "WitnessMismatch", "SeedNotReady", "WitnessMismatch", "WitnessMismatch"];
      const writer = await harness.writer(0);
      const commit: Committer["commit"] = async (one) => {
        const error = refusing.shift();
        if (error !== undefined) throw new ConclaveError("CHAIN_REVERTED", `Commit: ${error}`, { error });
        return writer.commit(one.request, one.awaited, one.certificate);
      };
      const ports = { chain, committer: { commit }, clock, log: silentLog };
      const attempt = { domain: chain.domain, request, attempt: 0, committee };
      const committed = await relay(ports, attempt, awaited, 0 as SeatIndex, certificate, 1, lifetime.signal);
      assert.ok(committed !== "already");
      assert.deepEqual(refusing, []);
    });
  });
}

describe("a relayer after a reorganization: viem on anvil", async () => {
  const harness = await createNodeHarness();
  after(() => harness.stop());

  it("SE27: submits a decision again that was taken back, as long as the draw is the same", async () => {
    const [chain, writer] = [await harness.reader(), await harness.writer(0)];
    const lifetime = new AbortController();
    const announced: Uint8Array[] = [];
    const gaveUp: object[] = [];
    const log = { ...silentLog, error: (facts: object) => void gaveUp.push(facts) };
    const network = { announce: async (_: string, data: Uint8Array) => void announced.push(data) };
    const ports = { chain, writer, network, clock: createSystemClock(), log };
    const relayer = createRelayer(ports, { relayBatchMs: 1, relayStaggerMs: 1 }, lifetime.signal);
    const { request, awaited, committee, certificate } = await drawn(harness);
    const attempt = { domain: chain.domain, request, attempt: 0, committee };
    await relayer.certified(attempt, awaited, 0 as SeatIndex, certificate);
    relayer.reorganized();
    await setTimeout(100);
    assert.deepEqual(relayer.counts(), { committed: 1, already: 0, refused: 0 });

    await harness.reorganize(1);
    assert.equal((await chain.requestState(request.id)).status, "requested");
    relayer.reorganized();
    relayer.reorganized();
    await until(() => announced.length === 2);
    assert.equal((await chain.requestState(request.id)).status, "decided");
    assert.deepEqual(relayer.counts(), { committed: 2, already: 0, refused: 0 });

    const firstNow = async (): Promise<SeatInfo | undefined> => (await chain.committee(request, awaited))[0];
    await harness.reorganize(6);
    while (isDeepStrictEqual(await firstNow(), committee[0])) await harness.reorganize(6);
    relayer.reorganized();
    await until(() => gaveUp.length === 1);
    relayer.reorganized();
    await setTimeout(100);
    assert.deepEqual(relayer.counts(), { committed: 2, already: 0, refused: 3 });
    assert.equal((await chain.requestState(request.id)).status, "requested");
    lifetime.abort();
  });
});
