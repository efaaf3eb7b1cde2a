import assert from "node:assert/strict";
import { it } from "node:test";
import type { Address } from "../../agents/core/types.ts";
import type { Network, Peer } from "../../agents/ports/network.ts";
import { memoryWorld } from "./memory-world.ts";
import { truthful } from "./world.ts";
import { until } from "../support/until.ts";

it("names active agents to the network first, which has places for so many: agents that have left take none of theirs", async () => {
  const named: (readonly Address[])[] = [];
  const watched = (network: Network): Network => ({
    ...network,
    setPeers: (peers: readonly Peer[]) => {
      named.push(peers.map(({ signer }) => signer));
      network.setPeers(peers);
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
