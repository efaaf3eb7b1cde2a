import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryContentStore, createMemoryPins } from "../support/memory/content-store.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { addMessage, emptyTally } from "../../agents/core/seat/tally.ts";
import { buildTranscript } from "../../agents/core/encoding/transcript.ts";
import type { Digest, RequestId } from "../../agents/core/types.ts";
import {
  collectEvery,
  createCollector,
  leastRetentionDays,
  previewCollection,
  retentionMs,
  type CollectorPorts,
} from "../../agents/node/collector.ts";
import { committeeHash } from "../../agents/core/encoding/typed-data.ts";
import type { ChainEvent, RequestState } from "../../agents/core/request/events.ts";
import { packRound } from "../support/memory-chain/rounds.ts";
import type { EquivocationProof } from "../../agents/ports/chain.ts";
import type { UnreadableProof } from "../../agents/ports/evidence.ts";
import { attemptOf, signMessage } from "../support/core/committee.ts";
import { until } from "../support/until.ts";
import { freshBlock } from "./content-store.suite.ts";

const DAY_MS = 86_400_000;
const WINDOW_MS = 30 * DAY_MS;
const base = attemptOf(4);

const settled: RequestState = {
  status: "decided",
  attempt: 0,
  provisional: false,
  callbackPending: false,
  settled: true,
};

/** Blocks of a transcript of a request, with one message that no other has. */
function transcriptOf(id: number, domain = base.domain): readonly Uint8Array[] {
  const attempt = { ...base, domain, request: { ...base.request, id: BigInt(id) as RequestId } };
  const message = signMessage(attempt, 0, 1, 0, { commitment: new Uint8Array(32).fill(id) });
  const { rootBlock, blocks } = buildTranscript(attempt, mbft, addMessage(emptyTally, message).tally, {
    round: 0,
    phase: 9,
  });
  return [rootBlock, ...blocks];
}

/** Events of a request that its first committee decided. */
const decidedOnce = [
  { kind: "requested", request: base.request, round: packRound({ link: 0n, appeals: 0, deadline: 1 }), seedBlock: 0n },
  { kind: "decisionCommitted", committee: base.committee, decision: { attempt: 0, status: "decided" } },
] as unknown as readonly ChainEvent[];

/** Evidence against the first seat of the first request, in this attempt. */
function proofIn(attempt: number): EquivocationProof {
  const slot = { attempt, committeeHash: committeeHash(base.committee) };
  return { request: { id: 1n }, agentId: base.committee[0]!.agentId, slot } as unknown as EquivocationProof;
}

class World {
  now = 1_000 * DAY_MS;
  readonly states = new Map<number, RequestState>();
  readonly proofs: EquivocationProof[] = [];
  readonly unreadable: UnreadableProof[] = [];
  slashed = false;
  asked = 0;
  /** Time of the chain if it differs from that of this machine, else null. */
  chainTime: number | null = null;
  readonly pins = createMemoryPins();
  readonly clock = { now: () => this.now, schedule: () => () => {} };
  readonly store = createMemoryContentStore({ clock: this.clock, pins: this.pins });
  readonly ports: CollectorPorts = {
    store: this.store,
    chain: {
      domain: base.domain,
      head: async () => ({ number: 1n, timestamp: (this.chainTime ?? this.now) / 1_000, oldestSeed: 0n }),
      requestState: async (id) => {
        this.asked += 1;
        return this.states.get(Number(id)) ?? { ...settled, status: "none" };
      },
      requestEvents: async () => decidedOnce,
    },
    evidence: { list: async () => ({ proofs: this.proofs, unreadable: this.unreadable }) },
    isConsumed: async () => this.slashed,
    clock: this.clock,
  };

  /** Stores a transcript and pins it for the seat now. */
  async keep(id: number, state?: Partial<RequestState>, blocks = transcriptOf(id)): Promise<Digest> {
    const digests: Digest[] = [];
    for (const bytes of blocks) digests.push(await this.store.put(bytes));
    const root = digests[0] ?? assert.fail();
    await this.store.pin(root);
    if (state !== undefined) this.states.set(id, { ...settled, ...state });
    return root;
  }
}

const signal = new AbortController().signal;

describe("AV10: the policy of collection", () => {
  it("removes a transcript that is over and older than the window, with its blocks, and nothing else", async () => {
    const world = new World();
    const over = await world.keep(1, {});
    const refunded = await world.keep(2, { status: "refunded", settled: false });
    const stays = {
      undecided: [await world.keep(4, { status: "requested", settled: false }), await world.keep(5)],
      provisional: [
        await world.keep(6, { provisional: true, settled: false }),
        await world.keep(7, { status: "hung", provisional: true, settled: false }),
      ],
      unsettled: [await world.keep(8, { settled: false }), await world.keep(9, { status: "hung", settled: false })],
      elsewhere: [await world.keep(1, undefined, transcriptOf(1, { ...base.domain, chainId: 5 }))],
      unreadable: [await world.keep(0, undefined, [freshBlock().bytes])],
    };
    world.now += WINDOW_MS + 1;
    const young = await world.keep(10, {});
    const preview = await previewCollection(world.ports, WINDOW_MS, signal);
    const passed = await createCollector(world.ports, WINDOW_MS).pass(signal);
    for (const { over: found, kept, swept, more } of [preview, passed]) {
      assert.deepEqual(found.map(({ root }) => root).toSorted(), [over, refunded].toSorted());
      assert.deepEqual(kept, {
        ...Object.fromEntries(Object.entries(stays).map(([reason, roots]) => [reason, roots.length])),
        young: 1,
        evidence: 0,
      });
      assert.deepEqual([swept.blocks, more], [4, false]);
    }
    for (const root of [over, refunded])
      assert.deepEqual([await world.store.isPinned(root), await world.store.has(root)], [false, false]);
    for (const root of [young, ...Object.values(stays).flat()])
      assert.deepEqual([await world.store.isPinned(root), await world.store.has(root)], [true, true]);
  });

  it("keeps the transcript that open evidence refers to until the chain has slashed for it", async () => {
    const world = new World();
    const root = await world.keep(1, {});
    world.now += WINDOW_MS + 1;
    world.proofs.push(proofIn(0));
    const collector = createCollector(world.ports, WINDOW_MS);
    assert.equal((await collector.pass(signal)).kept.evidence, 1);
    assert.equal(await world.store.isPinned(root), true);
    world.slashed = true;
    assert.deepEqual(
      (await collector.pass(signal)).over.map((one) => one.root),
      [root],
    );
  });

  it("ST10: does not keep a transcript for evidence about an attempt without a decision, which nobody can prove", async () => {
    const world = new World();
    const root = await world.keep(1, { attempt: 1 });
    world.now += WINDOW_MS + 1;
    world.proofs.push(proofIn(1));
    const { over, kept } = await createCollector(world.ports, WINDOW_MS).pass(signal);
    assert.deepEqual([over.map((one) => one.root), kept.evidence], [[root], 0]);
  });

  it("keeps the transcript of unreadable evidence, names that evidence, and collects the others", async () => {
    const world = new World();
    const about = await world.keep(1, {});
    const other = await world.keep(2, {});
    world.now += WINDOW_MS + 1;
    const broken = { path: "evidence/broken.json", requestId: 1n as RequestId };
    world.unreadable.push(broken);
    const preview = await previewCollection(world.ports, WINDOW_MS, signal);
    const passed = await createCollector(world.ports, WINDOW_MS).pass(signal);
    for (const { over, kept, unreadable } of [preview, passed]) {
      assert.deepEqual([over.map(({ root }) => root), kept.evidence, unreadable], [[other], 1, [broken]]);
    }
    assert.deepEqual([await world.store.isPinned(about), await world.store.has(about)], [true, true]);
    const warned: object[] = [];
    const note = (): void => {};
    const ended = new AbortController();
    const clock = { now: () => world.now, schedule: () => () => {} };
    const log = { debug: note, info: note, warn: (fields: object) => void warned.push(fields), error: note };
    const collector = createCollector(world.ports, WINDOW_MS);
    const running = collectEvery(collector, { clock, log, intervalMs: 1_000 }, ended.signal);
    await until(() => warned.length > 0);
    assert.deepEqual(warned, [{ path: broken.path, requestId: "1" }]);
    ended.abort();
    await running;
  });

  it("keeps what an operator pinned, until it is unpinned", async () => {
    const world = new World();
    const root = await world.keep(1, {});
    const operator = createMemoryContentStore({
      clock: world.clock,
      pins: world.pins,
      blocks: new Map(
        await Promise.all(transcriptOf(1).map(async (bytes) => [await world.store.put(bytes), bytes] as const)),
      ),
      owner: "operator",
    });
    await operator.pin(root);
    world.now += WINDOW_MS + 1;
    const collector = createCollector(world.ports, WINDOW_MS);
    const { over, swept } = await collector.pass(signal);
    assert.deepEqual([over.length, swept.blocks], [1, 0]);
    assert.deepEqual([await world.store.isPinned(root), await world.store.has(root)], [true, true]);
    await operator.unpin(root);
    assert.equal((await collector.pass(signal)).swept.blocks, 2);
  });

  it("looks at a bounded number of pins in a pass, and reaches all of them in turn", async () => {
    const world = new World();
    for (let id = 1; id <= 7; id++) await world.keep(id, { settled: id !== 4 });
    world.now += WINDOW_MS + 1;
    const collector = createCollector(world.ports, WINDOW_MS, { looks: 3, blocks: 4 });
    const passes: unknown[] = [];
    for (let pass = 0; pass < 3; pass++) {
      const { over, kept, swept, more } = await collector.pass(signal);
      passes.push([over.length + kept.unsettled, swept.blocks <= 4, more]);
    }
    assert.deepEqual(passes, [
      [3, true, true],
      [3, true, true],
      [1, true, false],
    ]);
    assert.equal(world.asked, 7);
    // The next pass looks again at what was kept.
    assert.equal((await collector.pass(signal)).kept.unsettled, 1);
  });

  it("removes nothing when the chain does not answer, and goes on at the next interval", async () => {
    const world = new World();
    const root = await world.keep(1, {});
    world.now += WINDOW_MS + 1;
    let isDown = true;
    const chain = {
      ...world.ports.chain,
      requestState: async (id: RequestId) => {
        if (isDown) throw new ConclaveError("CHAIN_UNREACHABLE", "Reach the node");
        return world.ports.chain.requestState(id);
      },
    };
    const collector = createCollector({ ...world.ports, chain }, WINDOW_MS);
    const ended = new AbortController();
    const lines: string[] = [];
    const note = (_: object, message: string): void => void lines.push(message);
    const log = { debug: note, info: note, warn: note, error: note };
    const ticks: (() => void)[] = [];
    const clock = {
      now: () => world.now,
      schedule: (_: number, tick: () => void) => (ticks.push(tick), () => {}),
    };
    const running = collectEvery(collector, { clock, log, intervalMs: 1_000 }, ended.signal);
    // It also collects at the start: an agent that restarts before each interval ends would never collect otherwise.
    await until(() => ticks.length > 0);
    assert.deepEqual([lines, await world.store.isPinned(root)], [["could not collect transcripts"], true]);
    isDown = false;
    ticks.shift()?.();
    await until(() => lines.length > 1);
    assert.deepEqual([lines.at(-1), await world.store.isPinned(root)], ["collected transcripts that are over", false]);
    ended.abort();
    await running;
  });

  it("removes nothing when the clock runs ahead of the chain's, or when the chain does not tell its time", async () => {
    const world = new World();
    const root = await world.keep(1, {});
    const loose = await world.store.put(freshBlock().bytes);
    world.chainTime = world.now + WINDOW_MS - 1_000;
    world.now += 10 * WINDOW_MS;
    const collector = createCollector(world.ports, WINDOW_MS);
    for (const { over, kept, swept } of [
      await collector.pass(signal),
      await previewCollection(world.ports, WINDOW_MS, signal),
    ])
      assert.deepEqual([over, kept.young, swept.blocks], [[], 1, 0]);
    const head = (): Promise<never> => Promise.reject(new ConclaveError("CHAIN_UNREACHABLE", "Reach the node"));
    const lost = createCollector({ ...world.ports, chain: { ...world.ports.chain, head } }, WINDOW_MS);
    await assert.rejects(lost.pass(signal), { code: "CHAIN_UNREACHABLE" });
    assert.deepEqual([await world.store.isPinned(root), await world.store.has(loose)], [true, true]);
    world.chainTime += 2_000;
    assert.deepEqual((await collector.pass(signal)).swept.blocks, 3);
  });

  it("refuses a window that is not longer than appeals and unbonding, naming field, value and minimum", () => {
    const fourteen = 14 * 86_400;
    assert.equal(leastRetentionDays(fourteen), 21);
    assert.equal(leastRetentionDays(fourteen + 1), 22);
    for (const days of [1, 20, 21])
      assert.throws(
        () => retentionMs(days, fourteen, "/agent/conclave.json"),
        (error: ConclaveError) => {
          assert.equal(error.code, "CONFIG_INVALID");
          assert.deepEqual(error.data, {
            path: "/agent/conclave.json",
            field: "collection.retentionDays",
            value: days,
            minimum: 21,
          });
          assert.match(
            error.message,
            new RegExp(`collection.retentionDays: ${days} is too short: transcripts must be kept longer than 21 days`),
          );
          return true;
        },
      );
    assert.equal(retentionMs(22, fourteen, ""), 22 * DAY_MS);
    assert.equal(retentionMs(undefined, fourteen, ""), 42 * DAY_MS);
  });
});
