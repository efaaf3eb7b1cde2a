import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryModel } from "../../agents/adapters/memory/model.ts";
import { decodeBlock } from "../../agents/core/encoding/codec.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { limits } from "../../agents/core/limits.ts";
import { decodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { Address, Digest, Request } from "../../agents/core/types.ts";
import type { ChainReader } from "../../agents/ports/chain.ts";
import type { JournalFactory } from "../../agents/ports/journal.ts";
import type { Network } from "../../agents/ports/network.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { memoryWorld, type MemoryWorld, type RunningMemoryAgent } from "./memory-world.ts";
import { silentLog, truthful } from "./world.ts";
import { until } from "../support/until.ts";
import { assertAbove, assertBelow, assertFields } from "../support/assertions.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;
const question = "Is 720 more than 500?";
const everybody = [0, 1, 2, 3];
const honestWorld = (wrap?: Parameters<typeof memoryWorld>[1]): MemoryWorld =>
  memoryWorld(
    everybody.map(() => truthful("yes")),
    wrap,
  );

async function during(
  world: MemoryWorld,
  running: RunningMemoryAgent[],
  body: (request: Request) => Promise<void>,
): Promise<void> {
  const { request } = world.chain.ask(consumer, booleanTerms, question);
  const ticker = setInterval(() => world.chain.mine(), 50);
  try {
    await body(request);
  } finally {
    clearInterval(ticker);
    for (const one of running) await one.stop();
  }
}

const journalsOf = async (journals: JournalFactory): Promise<readonly string[]> =>
  (await journals.list()).filter((name) => name.startsWith("request-"));

describe("the runtime over in-memory adapters", () => {
  it("draws, deliberates, certifies, commits once, and leaves its seats", async () => {
    const world = honestWorld();
    const running = world.agents.map((agent) => agent.start());
    await during(world, running, async (request) => {
      const reader = world.chain.reader();
      await until(async () => (await reader.requestState(request.id)).status === "decided");
      const commits = (await reader.requestEvents(request.id)).filter((event) => event.kind === "decisionCommitted");
      assert.deepEqual(
        commits.map((event) => event.decision.answer),
        ["yes"],
      );
      await until(() => running.every(({ agent }) => agent.status().seats.length === 0));
      await until(async () => {
        const names = await Promise.all(world.agents.map(({ journals }) => journalsOf(journals)));
        return names.flat().length === 0;
      });
    });
  });

  it("CE11: takes no seat again whose journal is gone, whatever its node says", async () => {
    const world = honestWorld();
    const [agent] = world.agents;
    assert.ok(agent !== undefined);
    const running = world.agents.map((one) => one.start());
    await during(world, running, async (request) => {
      const reader = world.chain.reader();
      await until(async () => (await reader.requestState(request.id)).settled);
      await until(async () => (await journalsOf(agent.journals)).length === 0);
      const events = await reader.requestEvents(request.id);
      const asked = events.filter(({ kind }) => kind === "requested");
      const committee = events.find((event) => event.kind === "decisionCommitted")?.committee ?? [];
      let batches = 0;
      // The node takes the decision back, and asks the agent again.
      const follow: ChainReader["follow"] = (from, onBatch, ...rest) => {
        const lie = (batch: Parameters<typeof onBatch>[0]): ReturnType<typeof onBatch> =>
          onBatch(batches++ === 0 ? { ...batch, events: [...batch.events, ...asked] } : batch);
        return reader.follow(from, lie, ...rest);
      };
      const requestState: ChainReader["requestState"] = async (...parameters) => ({
        ...(await reader.requestState(...parameters)),
        status: "requested",
        settled: false,
      });
      const refusals: unknown[] = [];
      const log = { ...silentLog, error: (facts: unknown) => void refusals.push(facts) };
      await running[0]?.stop();
      const chain = { ...reader, follow, requestState, committee: async () => committee };
      running[0] = agent.start({ chain, log });
      await until(() => batches > 2);
      assert.deepEqual(running[0].agent.status().seats, []);
      assert.deepEqual(await journalsOf(agent.journals), []);
      assert.deepEqual(refusals, [{ requestId: String(request.id), attempt: 0 }]);
    });
  });

  it("the seat that commits a decision announces its transcript to everybody, once and not before", async () => {
    let statusNow = async (): Promise<string> => "none";
    const seen: string[] = [];
    const world = honestWorld((network) => ({
      ...network,
      announce: async (topic, data) => {
        seen.push(await statusNow());
        return network.announce(topic, data);
      },
    }));
    const running = world.agents.map((agent) => agent.start());
    await during(world, running, async ({ id }) => {
      statusNow = async () => (await world.chain.reader().requestState(id)).status;
      const relayed = (): number =>
        running
          .map(({ agent }) => agent.facts().relays)
          .reduce((sum, { committed, already }) => sum + committed + already, 0);
      await until(() => relayed() === everybody.length && seen.length > 0);
      assert.deepEqual(seen, ["decided"]);
    });
  });

  it("D36: stores and pins the whole transcript of a decision before it commits it", async () => {
    const world = honestWorld();
    const commits: boolean[] = [];
    const running = world.agents.map((agent) => {
      const writer = world.chain.writer(agent.keys.address);
      return agent.start({
        writer: {
          ...writer,
          commit: async (request, awaited, certificate, signal) => {
            const { transcript } = certificate.decision;
            const isPinned = await agent.store.isPinned(transcript);
            const root = decodeBlock(await agent.store.get(transcript), limits.rootBytes) as unknown as {
              readonly messages: readonly { readonly link: Digest }[];
            };
            const held = await Promise.all(root.messages.map(({ link }) => agent.store.has(link)));
            // Each of four seats sent messages in at least three phases.
            commits.push(isPinned && held.length >= 3 * everybody.length && held.every((one) => one));
            return writer.commit(request, awaited, certificate, signal);
          },
        },
      });
    });
    await during(world, running, async (request) => {
      await until(async () => (await world.chain.reader().requestState(request.id)).status === "decided");
    });
    assert.deepEqual(new Set(commits), new Set([true]));
  });

  it("resumes a stopped agent's duty, without whom there is no quorum", async () => {
    const world = honestWorld();
    // Seat 3 never runs, so each of the others is needed.
    const running = world.agents.slice(0, 3).map((agent) => agent.start());
    await during(world, running, async (request) => {
      const reader = world.chain.reader();
      await until(() => running[0]?.agent.status().seats.length === 1);
      await running[0]?.stop();
      assert.equal((await journalsOf(world.agents[0]!.journals)).length, 1);
      await sleep(500);
      assert.equal((await reader.requestState(request.id)).status, "requested");
      running[0] = world.agents[0]!.start();
      await until(() => running[0]?.agent.status().seats.length === 1);
      assertFields(running[0].agent.status().seats[0], { requestId: String(request.id), silent: null });
      await until(async () => (await reader.requestState(request.id)).status === "decided");
      await until(() => running.every(({ agent }) => agent.status().seats.length === 0));
    });
  });

  it("loses no seat when the node fails for a moment while an event is handled", async () => {
    const world = honestWorld();
    let failures = 0;
    const running = world.agents.map((agent) => {
      const reader = world.chain.reader();
      let left = 2;
      const requestState: ChainReader["requestState"] = async (...parameters) => {
        if (left-- <= 0) return reader.requestState(...parameters);
        failures++;
        throw new ConclaveError(left === 0 ? "CHAIN_TIMEOUT" : "CHAIN_UNREACHABLE", "Call the node: it is away");
      };
      return agent.start({ chain: { ...reader, requestState } });
    });
    await during(world, running, async (request) => {
      await until(async () => (await world.chain.reader().requestState(request.id)).status === "decided");
    });
    assert.equal(failures, 8);
  });

  it("begins later, and does not end, while the gas of its first transaction is too dear", async () => {
    const world = honestWorld();
    let left = 2;
    const publish = async (): Promise<void> => {
      if (left-- > 0) throw new ConclaveError("GAS_TOO_DEAR", "Publish the endpoint: the node asks for too much");
    };
    const running = world.agents.map((agent, index) => agent.start({}, Infinity, index === 0 ? publish : undefined));
    await during(world, running, async (request) => {
      await until(async () => (await world.chain.reader().requestState(request.id)).status === "decided");
      await until(() => left < 0);
    });
  });

  it("stops an agent that waits for its node", async () => {
    const world = honestWorld();
    const reader = world.chain.reader();
    const unreachable = async (): Promise<never> => {
      throw new ConclaveError("CHAIN_UNREACHABLE", "Call the node: it is away");
    };
    const running = [world.agents[0]!.start({ chain: { ...reader, agents: unreachable } })];
    await sleep(300);
    await running[0]!.stop();
  });

  it("reads the registry once for several changes in it", async () => {
    const world = honestWorld();
    const reader = world.chain.reader();
    let reads = 0;
    const agents: ChainReader["agents"] = (signal) => (reads++, reader.agents(signal));
    const follow: ChainReader["follow"] = async (_, onBatch, signal) => {
      const { number } = await reader.head();
      const blockHash = `0x${"ab".repeat(32)}` as const;
      const position = { blockNumber: number, blockHash, logIndex: 0, transactionHash: blockHash };
      const change = { ...position, kind: "agentsChanged", agentId: 1 as never } as const;
      await onBatch({ events: [change, change, change], from: 0n, cursor: { blockNumber: number, blockHash } });
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    };
    const running = world.agents[0]!.start({ chain: { ...reader, agents, follow } });
    await until(() => reads >= 2);
    await sleep(50);
    assert.equal(reads, 2);
    await running.stop();
  });
});

describe("a settled request that a lagging node still calls open", () => {
  it("is not signed again, even if the model now answers otherwise", async () => {
    const signed = new Map<string, Set<string>>();
    const note = (frame: Uint8Array): void => {
      const { header } = decodeMessage(frame)!;
      const key = `${header.requestId}.${header.phase}.${header.round}.${header.seat}`;
      signed.set(key, (signed.get(key) ?? new Set()).add(header.payloadDigest));
    };
    const listening = (network: Network, _: unknown, index: number): Network =>
      index > 0 ? network : { ...network, send: (to, frame) => (note(frame), network.send(to, frame)) };
    const world = honestWorld(listening);
    const [first] = world.agents;
    const running = world.agents.map((agent) => agent.start());
    // This request stays open, because nobody knows its protocol, and so holds the cursor back.
    world.chain.ask(consumer, { ...booleanTerms, protocol: 255 }, question);
    world.chain.mine(2);
    await during(world, running, async (request) => {
      const reader = world.chain.reader();
      await until(async () => (await reader.requestState(request.id)).status === "decided");
      await until(() => running[0]!.agent.status().seats.length === 0);
      assert.equal((await journalsOf(first!.journals)).length, 1, "kept: a restart sees the request again");
      await running[0]!.stop();
      const before = signed.size;
      assertAbove(before, 5);

      const [asked, committed] = await reader.requestEvents(request.id);
      assert.ok(asked !== undefined && committed?.kind === "decisionCommitted");
      const { blockNumber, blockHash, committee } = committed;
      let resumedAt: bigint | null = null;
      const lagging: ChainReader = {
        ...reader,
        requestState: async () => ({
          status: "requested",
          attempt: 0,
          provisional: false,
          callbackPending: false,
          settled: false,
        }),
        committee: async () => committee,
        follow: async (from, onBatch, signal) => {
          resumedAt = from?.blockNumber ?? 0n;
          await onBatch({ events: [asked], from: 0n, cursor: { blockNumber, blockHash } });
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        },
      };
      const model = createMemoryModel(truthful("no"), { confidence: () => 700_000 });
      running[0] = first!.start({ chain: lagging, model });
      await until(() => running[0]!.agent.status().seats.length === 1);
      assertBelow(Number(resumedAt), Number(asked.blockNumber), "the cursor waits for the older request");
      await sleep(500);
      assert.deepEqual(
        [...signed].filter(([, digests]) => digests.size > 1),
        [],
      );
    });
  });
});
