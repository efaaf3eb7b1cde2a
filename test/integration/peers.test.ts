import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Address, AgentId, SeatInfo } from "../../agents/core/types.ts";
import { createPeers, neighboursOf } from "../../agents/node/peers.ts";
import type { AgentRecord } from "../../agents/ports/chain.ts";
import type { Network, Peer } from "../../agents/ports/network.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { assertBelow } from "../support/assertions.ts";
import { until } from "../support/until.ts";
import { memoryWorld } from "./memory-world.ts";
import { truthful } from "./world.ts";

const signerOf = (agentId: number): Address => `0x${agentId.toString(16).padStart(40, "0")}` as Address;
/** Agents with the ids from 1 on, all of which serve. */
const agentsOf = (count: number): readonly AgentRecord[] =>
  Array.from({ length: count }, (_, index) => {
    const [agentId, signer] = [(index + 1) as AgentId, signerOf(index + 1)];
    return { agentId, signer, publicKey: new Uint8Array(64), endpoint: ["/memory"], active: true } as never;
  });

/** What the network was told, the latest last. */
function watch(own: Address) {
  const named: { readonly linked: readonly Address[]; readonly others: number }[] = [];
  const setPeers = (peers: readonly Peer[], others?: ReadonlySet<Address>): void =>
    void named.push({ linked: peers.map(({ signer }) => signer), others: others?.size ?? 0 });
  return { named, peers: createPeers({ setPeers }, own) };
}

describe("with whom an agent stays connected", () => {
  it("names active agents to the network first, which has places for so many: agents that have left take none of theirs", async () => {
    const named: (readonly Address[])[] = [];
    const watched = (network: Network): Network => ({
      ...network,
      setPeers: (peers, others) => {
        named.push(peers.map(({ signer }) => signer));
        network.setPeers(peers, others);
      },
    });
    const { chain, agents } = memoryWorld(
      [0, 1, 2, 3].map(() => truthful("yes")),
      (network, _, index) => (index === 3 ? watched(network) : network),
    );
    const reader = chain.reader();
    const [first, second, third, own] = agents.map(({ keys }) => keys.address);
    const running = agents[3]?.start({
      chain: {
        ...reader,
        agents: async () =>
          (await reader.agents()).map((agent) => (agent.signer === first ? { ...agent, active: false } : agent)),
      },
    });
    try {
      await until(() => named.length > 0);
      assert.deepEqual(named[0], [second, third, first]);
      assert.ok(own !== undefined && !named[0]?.includes(own));
    } finally {
      await running?.stop();
    }
  });

  it("with all where agents are few", () => {
    const { named, peers } = watch(signerOf(5));
    peers.agents(agentsOf(96));
    peers.seated([[{ signer: signerOf(7) } as SeatInfo]]);
    assert.equal(named.length, 1);
    assert.deepEqual([named[0]?.linked.length, named[0]?.others], [95, 96]);
  });

  it("among 10,000 with its committees while it sits there, and with a few neighbours; everybody may send", () => {
    const { named, peers } = watch(signerOf(5));
    peers.agents(agentsOf(10_000));
    const few = named.at(-1)?.linked ?? [];
    assertBelow(few.length, 30);
    const committee = [5, 2_000, 9_999].map((id) => ({ signer: signerOf(id) }) as SeatInfo);
    peers.seated([committee]);
    assert.deepEqual(
      named.at(-1)?.linked.filter((signer) => !few.includes(signer)),
      [signerOf(2_000), signerOf(9_999)],
    );
    assert.deepEqual(new Set(named.map(({ others }) => others)), new Set([10_000]));
    peers.seated([]);
    assert.deepEqual(named.at(-1)?.linked, few);
  });

  it("neighbours have each other, and what is passed on reaches everybody in few steps", () => {
    for (const count of [1, 2, 3, 97, 1_000]) {
      const agents = agentsOf(count);
      const of = new Map(agents.map(({ signer }) => [signer, neighboursOf(signer, agents)]));
      for (const [signer, neighbours] of of)
        for (const neighbour of neighbours) assert.ok(of.get(neighbour)?.includes(signer), `${count}: ${neighbour}`);
      let reached = new Set([signerOf(1)]);
      let steps = 0;
      while (reached.size < count) {
        reached = new Set([...reached].flatMap((signer) => [signer, ...(of.get(signer) ?? [])]));
        steps += 1;
        assertBelow(steps, 11, `${count} agents`);
      }
    }
  });

  it("a committee among a hundred decides, though nobody is connected with all", async () => {
    const world = memoryWorld(Array.from({ length: 100 }, () => truthful("yes")));
    const running = world.agents.map((agent) => agent.start());
    const { request } = world.chain.ask(signerOf(1), booleanTerms, "Is 720 more than 500?");
    const ticker = setInterval(() => world.chain.mine(), 200);
    try {
      const reader = world.chain.reader();
      await until(async () => (await reader.requestState(request.id)).status === "decided");
      await until(() => running.every(({ agent }) => agent.status().seats.length === 0));
      for (const { agent } of running) assertBelow(agent.status().peers.length, 20);
    } finally {
      clearInterval(ticker);
      for (const one of running) await one.stop();
    }
  });
});
