// The mappings on the real graph-node: a scripted economy on anvil, then every entity and the client's answers compared
// with the contracts.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openSubgraph } from "../../agents/adapters/subgraph/subgraph.ts";
import type { Address, AgentId } from "../../agents/core/types.ts";
import { createRandom } from "../../sim/random.ts";
import { LEAST_OPERATORS, openEconomy } from "../../lab/scenario/economy.ts";
import { playScenario } from "../../lab/scenario/scenario.ts";
import { deployedIn } from "../../lab/subgraph/economy-chain.ts";
import { createCli } from "../integration/cli-world.ts";
import { check, headOf, startChain, startNode } from "./follow.ts";
import { checkAgentRecord, checkFaults, checkRequests } from "./history.ts";

const REQUESTS = 24;

test("every entity equals the contracts' state and events, at the end and at earlier blocks; the client agrees", async (context) => {
  const random = createRandom(1, "subgraph");
  const chain = await startChain(context);
  const economy = await openEconomy(chain.ethers, LEAST_OPERATORS, random.fork("economy"));
  const { fates, events: happened } = await playScenario(economy, REQUESTS, random.fork("life"), () => {});
  const deployed = deployedIn(economy.world);
  const node = await startNode(context, chain, deployed);
  const last = await headOf(chain);
  const entities = await check(context, node, chain, deployed, last);
  for (const part of [0.7, 0.3]) await check(context, node, chain, deployed, Math.floor(last * part));

  // The comparison would prove nothing if nothing had happened.
  assert.ok(Object.keys(fates).length >= 7, JSON.stringify(fates));
  assert.ok(
    Object.values(happened).every((count) => count > 0),
    JSON.stringify(happened),
  );
  const causes = new Set([...entities["Attempt"]!.values()].map(({ cause }) => cause));
  assert.deepEqual(causes, new Set(["Appeal", "First", "Hung", "Silent", "TooEarly", "Unsure", "Waited"]));
  const empty = Object.entries(entities).filter(([, { size }]) => size === 0);
  assert.deepEqual(
    empty.map(([type]) => type),
    [],
  );

  const source = {
    rpcUrl: chain.chain.rpcUrl,
    chainId: chain.chain.chainId,
    oracle: deployed.oracle as Address,
    registry: deployed.registry as Address,
    deploymentBlock: 0n,
    finalityDepth: 0,
    pollIntervalMs: 1_000,
  };
  const agents = economy.agents.map(({ id }) => Number(id) as AgentId);
  await context.test("history: the same requests as the chain's events, by every filter and page", () =>
    checkRequests(node.queryUrl, source, agents, context.signal),
  );
  await context.test("history: the same faults as the chain's events", () =>
    checkFaults(node.queryUrl, source, agents, context.signal),
  );
  await context.test("an agent's record has each of its entities", async () => {
    for (const agentId of agents)
      await checkAgentRecord(openSubgraph({ url: node.queryUrl }), entities, agentId, context.signal);
    assert.equal((await openSubgraph({ url: node.queryUrl }).agent(9_999 as AgentId, 1, context.signal)).answer, null);
  });
  await context.test("the commands, against the node that the deployment file names", async () => {
    const folder = await mkdtemp(join(tmpdir(), "conclave-history-"));
    context.after(() => rm(folder, { recursive: true, force: true }));
    const file = { ...source, deploymentBlock: 0, subgraphUrl: node.queryUrl };
    await writeFile(join(folder, "d.json"), JSON.stringify(file));
    const cli = createCli(folder);
    const here = ["--deployment", "d.json"];
    const { value: history } = await cli.json("history", "--limit", "5", ...here);
    const { value: events } = await cli.json("history", "--limit", "5", "--blocks", "100000", ...here);
    assert.deepEqual(history["requests"], events["requests"]);
    assert.equal((history["source"] as { behind: number }).behind, 0);
    const { code, stdout } = await cli.run(["agent", String(agents[0]), ...here]);
    assert.equal(code, 0);
    assert.match(stdout, /^seats\n/m);
    const { value: stats } = await cli.json("stats", ...here);
    const total = entities["Statistic"]!.get("all")!;
    const all = stats["all"] as Record<string, unknown>;
    assert.equal(all["requests"], total["requests"]);
    assert.deepEqual(all["fees"], { token: total["feesToken"], native: total["feesNative"] });
    assert.equal((await cli.failure("agent", "9999", ...here)).code, "AGENT_NOT_REGISTERED");
  });
});
