import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createOperatorActions } from "../../agents/adapters/chain/operator.ts";
import { openKeystore } from "../../agents/adapters/keystore/keystore.ts";
import { chainSource } from "../../agents/cli/shared/chain-source.ts";
import { loadAgentConfig } from "../../agents/cli/shared/config.ts";
import { joinAgent } from "../../agents/cli/agent/join.ts";
import type { AgentId, Attempt } from "../../agents/core/types.ts";
import { equivocatingNetwork, rememberingChain } from "../../devnet/world/lies.ts";
import { PASSWORD, startCliWorld, type CliWorld } from "./cli-world.ts";
import { silentLog } from "./world.ts";
import { until } from "../support/until.ts";

const honest = ["a", "b", "c"];
const LIAR = "liar";

let world: CliWorld;

describe("slashing on a real chain", () => {
  before(async () => {
    world = await startCliWorld();
  });
  after(() => world.close());

  it("a seat that tells half of the committee something else loses a tenth of its stake once, whoever proves it", async () => {
    for (const name of [...honest, LIAR]) await world.enlist(name, "100");
    const stop = new AbortController();
    const agents = honest.map((name) =>
      world.run(["agent", "run", "--dir", name, "--json", "--log-level", "error"], { signal: stop.signal }),
    );
    const liar = runLiar(stop.signal);
    try {
      for (const name of [...honest, LIAR]) {
        await until(async () => ((await status(name))["endpoint"] as string[]).length > 0);
      }
      const terms = ["--kind", "boolean", "--fee", "4"];
      const asked = await world.run(["request", "--dir", "a", "--question", "Is 17 prime?", ...terms, "--wait"]);
      assert.equal(asked.code, 0, asked.stderr);
      assert.match(asked.stdout, /^answer +yes$/m);

      const tenth = 10n ** 18n;
      await until(async () => (await status(LIAR))["ownStake"] === String(90n * tenth));
      let rewards = 0n;
      for (const name of honest) {
        assert.equal((await status(name))["ownStake"], String(100n * tenth));
        const { proofs, reward } = (await world.json("evidence", "list", "--dir", name)).value as {
          proofs: { slashed: boolean }[];
          reward: string;
        };
        for (const { slashed } of proofs) assert.equal(slashed, true);
        rewards += BigInt(reward);
      }
      assert.equal(rewards, tenth);
      const { value } = await world.json("transcript", "1", "--dir", "a");
      const { question, protocol, seats } = value["request"] as Record<"question" | "protocol" | "seats", unknown>;
      assert.deepEqual([typeof question, protocol, (seats as readonly unknown[]).length], ["string", "mbft", 4]);
      const slashed = value["slashed"] as readonly { readonly agentId: number; readonly cost: string }[];
      assert.deepEqual(
        slashed.map(({ agentId, cost }) => [agentId, cost]),
        [[(await status(LIAR))["agentId"], String(10n * tenth)]],
      );
      for (const form of [[], ["--html"]]) {
        const { stdout } = await world.run(["transcript", "1", "--dir", "a", ...form]);
        assert.match(stdout, /Agent \d+ lost 10 \w+ of stake for it; 0x[0-9a-f]{40} brought the proof/);
      }
    } finally {
      stop.abort();
      await Promise.all([...agents, liar]);
    }
  });
});

async function status(name: string): Promise<Readonly<Record<string, unknown>>> {
  return (await world.json("agent", "status", "--dir", name)).value;
}

/** Starts an agent that is honest except for what it sends. */
async function runLiar(signal: AbortSignal): Promise<void> {
  const config = await loadAgentConfig(join(world.folder, LIAR, "conclave.json"));
  const keys = await openKeystore(config.keystore, PASSWORD);
  const attempts = new Map<string, Attempt>();
  const joined = await joinAgent(config, keys, silentLog, {
    chain: (chain) => rememberingChain(chain, attempts),
    network: (network) => equivocatingNetwork(network, keys, attempts),
  });
  const operator = await createOperatorActions({ ...chainSource(config.chain), account: keys.viemAccount() });
  const agentId = (await status(LIAR))["agentId"] as AgentId;
  await operator.setEndpoint(agentId, joined.multiaddrs);
  await joined.agent.run(signal);
  await joined.close();
}
