import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AgentId, Address, Attempt } from "../../agents/core/types.ts";
import { equivocatingNetwork, rememberingChain } from "../../devnet/world/lies.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { memoryWorld } from "./memory-world.ts";
import { truthful } from "./world.ts";
import { until } from "../support/until.ts";

const consumer = `0x${"cc".repeat(20)}` as Address;
const LIAR = 3;
const STAKE = 10n ** 18n;

describe("evidence in the runtime", () => {
  it("slashes an equivocator once and pays one reporter; a restart submits the remaining proofs", async () => {
    const attempts = new Map<string, Attempt>();
    const world = memoryWorld(
      [0, 1, 2, 3].map(() => truthful("yes")),
      (network, keys, index) => (index === LIAR ? equivocatingNetwork(network, keys, attempts) : network),
    );
    const { chain, agents } = world;
    const stakes = (): readonly bigint[] => [...chain.agents.values()].map(({ stake }) => stake);
    // Nobody can reach the chain for evidence at first.
    const refusing = agents.map(({ keys }) => ({
      ...chain.writer(keys.address),
      submitEvidence: () => Promise.reject(new Error("no chain for evidence")),
    }));
    const first = agents.map((agent, index) =>
      agent.start({
        writer: refusing[index]!,
        ...(index === LIAR ? { chain: rememberingChain(chain.reader(), attempts) } : {}),
      }),
    );
    chain.ask(consumer, booleanTerms, "Is 720 more than 500?");
    const ticker = setInterval(() => chain.mine(), 50);
    try {
      await until(async () => {
        const kept = await Promise.all(agents.map(({ evidence }) => evidence.list()));
        return kept.some(({ proofs }) => proofs.length > 0);
      });
      for (const one of first) await one.stop();
      assert.deepEqual(stakes(), [STAKE, STAKE, STAKE, STAKE]);

      const honest = agents.filter((_, index) => index !== LIAR);
      const again = honest.map((agent) => agent.start());
      await until(() => chain.agents.get((LIAR + 1) as AgentId)?.stake === (STAKE * 9n) / 10n);
      for (const one of again) await one.stop();
      assert.deepEqual(stakes(), [STAKE, STAKE, STAKE, (STAKE * 9n) / 10n]);
      const rewards = honest.map(({ keys }) => chain.owedTo(keys.address)).filter((reward) => reward > 0n);
      assert.deepEqual(rewards, [STAKE / 100n]);
      for (const { evidence } of agents) {
        const accused = (await evidence.list()).proofs.map(({ agentId }) => agentId);
        assert.equal(
          accused.every((agentId) => agentId === LIAR + 1),
          true,
        );
      }
    } finally {
      clearInterval(ticker);
    }
  });

  it("slashes an equivocator although no disk takes the proof", async () => {
    const attempts = new Map<string, Attempt>();
    const { chain, agents } = memoryWorld(
      [0, 1, 2, 3].map(() => truthful("yes")),
      (network, keys, index) => (index === LIAR ? equivocatingNetwork(network, keys, attempts) : network),
    );
    const running = agents.map((agent, index) =>
      agent.start({
        evidence: { ...agent.evidence, keep: () => Promise.reject(new Error("ENOSPC")) },
        ...(index === LIAR ? { chain: rememberingChain(chain.reader(), attempts) } : {}),
      }),
    );
    chain.ask(consumer, booleanTerms, "Is 720 more than 500?");
    const ticker = setInterval(() => chain.mine(), 50);
    try {
      await until(() => chain.agents.get((LIAR + 1) as AgentId)?.stake === (STAKE * 9n) / 10n);
    } finally {
      clearInterval(ticker);
      for (const one of running) await one.stop();
    }
  });
});
