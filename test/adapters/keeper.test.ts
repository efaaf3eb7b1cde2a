import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryClock } from "../../agents/adapters/memory/clock.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { Head, Progress } from "../../agents/core/request/progress.ts";
import type { Address, AgentId } from "../../agents/core/types.ts";
import { createKeeper, type KeeperPorts } from "../../agents/node/request/keeper.ts";
import type { AgentRecord, BatchResult, Receipt } from "../../agents/ports/chain.ts";
import { silentLog } from "../integration/world.ts";
import { assertWithin } from "../support/assertions.ts";
import { processorMs } from "../support/processor-time.ts";

const WAIT_MS = 10_000;
const STAGGER_MS = 1_000;
/** The turn of a keeper, which is longer than a block takes where a relayer's is not. */
const TURN_MS = 3 * STAGGER_MS;
const TICK_MS = 500;
/** Blocks of one period: its final requests are settled in one order of agents. */
const PERIOD = 50n;
const HEAD: Head = { number: 1n, timestamp: 0, oldestSeed: 0n };
const receipt: Receipt = { transactionHash: "0xaa", blockNumber: 1n, blockHash: "0xbb", gasUsed: 1n };

/** A request that an appeal made final. */
const finalRequest = (id: number): Progress =>
  ({
    request: { id: BigInt(id) },
    attempt: 1,
    past: [{}],
    stage: { kind: "decided", standing: "final" },
  }) as unknown as Progress;

/** A keeper that is the only agent, over a chain that answers as `outcomeOf` says and records which requests it is asked to settle. */
function bench(
  outcomeOf: (id: number) => BatchResult = () => receipt,
  own = "0x11" as Address,
  head = async (): Promise<Head> => HEAD,
  log = silentLog,
) {
  const clock = createMemoryClock();
  const calls: (readonly number[])[] = [];
  const lifetime = new AbortController();
  const signer = { address: own };
  const ports = {
    chain: { head },
    writer: {
      settleAll: async (requests: readonly { readonly request: { readonly id: bigint } }[]) => {
        const ids = requests.map(({ request }) => Number(request.id));
        calls.push(ids);
        return ids.map(outcomeOf);
      },
    },
    clock,
    signer,
    log,
  } as unknown as KeeperPorts;
  const keeper = createKeeper(ports, { relayStaggerMs: STAGGER_MS, settleBatchMs: WAIT_MS }, lifetime.signal);
  keeper.agents([{ agentId: 1 as AgentId, signer: signer.address } as AgentRecord]);
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += TICK_MS) {
      clock.advance(TICK_MS);
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    }
  };
  return { keeper, calls, pass, stop: () => lifetime.abort() };
}

/** Returns that many agents; the first one keeps. */
function manyAgents(count: number): readonly AgentRecord[] {
  return Array.from(
    { length: count },
    (_, index) => ({ agentId: index + 1, signer: index === 0 ? "0x11" : `0x${index}` }) as AgentRecord,
  );
}

describe("a keeper that settles", () => {
  it("SE9: waits for others, but no longer than its wait, and settles what became final in the same period together", async () => {
    const { keeper, calls, pass, stop } = bench();
    keeper.see(finalRequest(1), 0n);
    await pass(WAIT_MS / 2);
    keeper.see(finalRequest(2), PERIOD - 1n);
    keeper.see(finalRequest(3), PERIOD);
    await pass(WAIT_MS / 2 - TICK_MS);
    assert.deepEqual(calls, []);
    await pass(2 * TICK_MS);
    assert.deepEqual(calls, [[1, 2]]);
    await pass(WAIT_MS / 2);
    assert.deepEqual(calls, [[1, 2], [3]]);
    stop();
  });

  it("SE9: settles at most twenty at once, and the rest after them", async () => {
    const { keeper, calls, pass, stop } = bench();
    for (let id = 1; id <= 45; id += 1) keeper.see(finalRequest(id), 0n);
    await pass(WAIT_MS + 4 * TICK_MS);
    assert.deepEqual(
      calls.map((ids) => ids.length),
      [20, 20, 5],
    );
    assert.equal(new Set(calls.flat()).size, 45);
    stop();
  });

  it("SE9: tries one that was refused again in its next turn, and forgets those that are settled", async () => {
    let isRefused = true;
    const refusal = new ConclaveError("CHAIN_REVERTED", "Settle request 2: the contract refused with WitnessMismatch");
    const { keeper, calls, pass, stop } = bench((id) =>
      id === 2 && isRefused ? refusal : id === 3 ? "already" : receipt,
    );
    for (const id of [1, 2, 3]) keeper.see(finalRequest(id), 0n);
    await pass(WAIT_MS + 2 * TICK_MS);
    assert.deepEqual(calls, [[1, 2, 3]]);
    isRefused = false;
    await pass(WAIT_MS + TURN_MS + 2 * TICK_MS);
    assert.deepEqual(calls, [[1, 2, 3], [2]]);
    await pass(3 * WAIT_MS);
    assert.equal(calls.length, 2);
    stop();
  });

  it("SE28: leaves a request to others once it has paid for three refusals", async () => {
    const refusal = new ConclaveError("CHAIN_REVERTED", "Settle: the contract refused", { paidIn: "0x12" });
    const { keeper, calls, pass, stop } = bench(() => refusal);
    keeper.see(finalRequest(1), 0n);
    await pass(10 * (WAIT_MS + TURN_MS));
    assert.deepEqual(calls, [[1], [1], [1]]);
    // The next block finds it final, and nobody tells when others have settled it: it is not remembered.
    keeper.block();
    await pass(3 * TICK_MS);
    assert.deepEqual(keeper.unsettled(0n), []);
    stop();
  });

  it("SE9: finds its turns for 100 due requests among 1,000 agents in little time, however long they are due", async () => {
    const { keeper, pass, stop } = bench();
    keeper.agents(manyAgents(1_000));
    for (let id = 1; id <= 100; id += 1) keeper.see(finalRequest(id), BigInt(id) * PERIOD);
    await pass(WAIT_MS);
    const tookMs = await processorMs(() => pass(20 * TICK_MS));
    // With a hash for each agent, request and tick it takes many seconds.
    assert.ok(tookMs < 3_000, `${tookMs} ms`);
    stop();
  });

  it("SE9: every agent comes first for some of the requests, and exactly one for each", async () => {
    const count = 5;
    const agents = manyAgents(count);
    const firsts: number[] = [];
    for (const { signer } of agents) {
      const { keeper, calls, pass, stop } = bench(undefined, signer);
      keeper.agents(agents);
      for (let id = 1; id <= 40; id += 1) keeper.see(finalRequest(id), BigInt(id) * PERIOD);
      // Before the second agent's turn comes.
      await pass(WAIT_MS + TURN_MS - TICK_MS);
      const own = calls.flat();
      assert.ok(own.length > 0);
      firsts.push(...own);
      stop();
    }
    assert.deepEqual(
      firsts.toSorted((one, other) => one - other),
      Array.from({ length: 40 }, (_, index) => index + 1),
    );
  });

  it("SE9: agents whose turns have come begin at different places of what waits", async () => {
    const agents = manyAgents(5);
    const firsts: number[] = [];
    for (const { signer } of agents) {
      const { keeper, calls, pass, stop } = bench(undefined, signer);
      keeper.agents(agents);
      for (let id = 1; id <= 100; id += 1) keeper.see(finalRequest(id), 0n);
      // Nobody has settled any before its turn.
      while (calls.length === 0) await pass(TICK_MS);
      firsts.push(...(calls[0] as readonly number[]));
      stop();
    }
    assert.equal(new Set(firsts).size, 100);
  });

  it("asks a chain that is away less and less often, says so once, and settles when it is back", async () => {
    let isAway = true;
    let asked = 0;
    const lines: string[] = [];
    const log = {
      ...silentLog,
      warn: (_: object, line: string) => lines.push(line),
      info: (_: object, line: string) => lines.push(line),
    };
    const head = async (): Promise<Head> => {
      asked++;
      if (isAway) throw new ConclaveError("CHAIN_UNREACHABLE", "Read the head: the node is away");
      return HEAD;
    };
    const { keeper, calls, pass, stop } = bench(undefined, undefined, head, log);
    keeper.see(finalRequest(1), 0n);
    await pass(600_000);
    assertWithin(asked, 20, 50);
    assert.deepEqual(lines, ["the chain does not answer, or its gas is too dear; trying again"]);
    isAway = false;
    await pass(30_000 + WAIT_MS + 2 * TICK_MS);
    assert.deepEqual(calls, [[1]]);
    assert.equal(lines[1], "the chain answers again");
    stop();
  });
});
