// The agents of a long chain, whose events nobody wants to read from the first one on.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { provePossession } from "../../agents/adapters/chain/possession.ts";
import { createChainReader } from "../../agents/adapters/chain/reader.ts";
import { hashedRequest } from "../../agents/core/encoding/typed-data.ts";
import { recordOf } from "../../agents/core/request/progress.ts";
import type { AgentId, Ppm, SeatIndex } from "../../agents/core/types.ts";
import type { AgentRecord, ChainReader } from "../../agents/ports/chain.ts";
import { createNodeHarness, makeKeys, ONE, testKeys, type NodeHarness, type RpcCall } from "./chain-node.ts";
import { drawn, proofBy, seated } from "./chain-questions.ts";

const LONG = 2_100;
/** Blocks that a slow machine mines in far less time than a call may take. */
const AT_ONCE = 100;
const refusal = (message: string) => ({ error: { code: -32_000, message } });

describe("chain: agents of a long chain", () => {
  let harness: NodeHarness;
  before(async () => {
    harness = await createNodeHarness();
    await change(harness);
    for (let mined = 0; mined < LONG; mined += AT_ONCE) await harness.mine(AT_ONCE);
  });
  after(() => harness.stop());

  const newReader = (): Promise<ChainReader> =>
    createChainReader({ ...harness.options, finalityDepth: 0, pollIntervalMs: 25 });
  const agentsWith = async (
    intercept: NodeHarness["proxy"]["intercept"],
  ): Promise<{ readonly agents: readonly AgentRecord[]; readonly calls: readonly RpcCall[] }> => {
    const reader = await newReader();
    const calls: RpcCall[] = [];
    harness.proxy.intercept = (call) => {
      calls.push(call);
      return intercept(call);
    };
    const agents = await reader.agents();
    harness.proxy.intercept = () => null;
    return { agents, calls };
  };

  it("are those that all events make, read by a few calls", async () => {
    const byEvents = await agentsWith((call) => (isOfState(call) ? refusal("missing trie node") : null));
    const byState = await agentsWith(() => null);
    assert.deepEqual(byState.agents, byEvents.agents);
    const [slashed, left, moved, renamed, rotated, dear] = kindsOf(byState.agents);
    assert.deepEqual([slashed, left, moved, renamed, rotated, dear], [1, 1, 1, 1, 1, 2]);
    assert.equal(byState.calls.filter(isOfState).length, 1);
    for (const { topics } of logCallsOf(byState.calls).filter(({ blocks }) => blocks > 1_000))
      assert.equal(topics, 1, "all logs of a long range are read");
  });

  it("are read from a node that limits the blocks of a call", async () => {
    const most = 500;
    const { agents, calls } = await agentsWith((call) =>
      logCallsOf([call]).some(({ blocks }) => blocks > most) ? refusal("block range is too wide") : null,
    );
    assert.deepEqual(agents, (await agentsWith(() => null)).agents);
    const granted = logCallsOf(calls).filter(({ blocks }) => blocks <= most);
    assert.ok(granted.length > 2 && granted.length < 20, `${granted.length} calls`);
  });

  it("change with the next block", async () => {
    const reader = await newReader();
    const earlier = await reader.agents();
    const operator = await harness.operator(0);
    await operator.setModel(1 as AgentId, "another");
    const now = await reader.agents();
    assert.deepEqual(now, [{ ...earlier[0], model: "another" }, ...earlier.slice(1)]);
  });
});

/** Changes agents in all ways that an operator, a decision and a proof can. */
async function change(harness: NodeHarness): Promise<void> {
  const [writer, reader, operator] = await Promise.all([harness.writer(0), harness.reader(), harness.operator(0)]);
  const one = await drawn(harness);
  const reputationChanges = [{ seat: 2 as SeatIndex, steps: -3 }];
  await writer.commit(one.request, one.awaited, one.certifying({ reputationChanges }));
  const { key, agentId, place } = seated(harness, one, 0);
  const proof = proofBy(key, agentId, reader.domain, hashedRequest(one.request), place);
  await writer.submitEvidence(proof, async () => recordOf(await reader.requestEvents(one.request.id)));

  const seats = new Set(one.committee.map((seat) => seat.agentId));
  const [bonded, leaving, renamed, rotated, dear, offered] = testKeys
    .map((_, index) => (index + 1) as AgentId)
    .filter((agent) => !seats.has(agent)) as [AgentId, AgentId, AgentId, AgentId, AgentId, AgentId];
  await operator.bond(bonded, ONE / 2n);
  await operator.startUnbonding(bonded, ONE / 4n);
  await operator.startUnbonding(leaving, ONE);
  await operator.setModel(renamed, "renamed");
  await operator.setEndpoint(renamed, ["/ip4/127.0.0.1/tcp/4003"]);
  const [, newKey] = makeKeys(testKeys.length + 2).slice(testKeys.length);
  assert.ok(newKey !== undefined);
  const possession = provePossession(newKey, { ...harness.options, operator: operator.account });
  await operator.rotateSigner(rotated, newKey.publicKey, possession);
  await operator.setCommission(dear, 100_000 as Ppm);
  const other = await harness.operator(1);
  await harness.fund(other.account, ONE);
  await other.bond(offered, ONE);
  await operator.transferOperator(offered, other.account);
  await other.acceptOperator(offered);
  await other.setCommission(offered, 50_000 as Ppm);
}

/** How many agents fell, left, changed hands, changed their model, changed their key, and announced a commission. */
function kindsOf(agents: readonly AgentRecord[]): readonly number[] {
  const [first] = agents;
  const count = (fits: (agent: AgentRecord, index: number) => boolean): number => agents.filter(fits).length;
  return [
    count(({ stake, unbonding }) => stake < ONE && unbonding === 0n),
    count(({ active, unbonding }) => !active && unbonding > 0n),
    count(({ operator }) => operator !== first?.operator),
    count(({ model }) => model === "renamed"),
    count(({ signer }, index) => signer !== testKeys[index]?.address),
    count(({ raise }) => raise !== null),
  ];
}

/** True for a call of no contract, which runs the code that it brings. */
function isOfState({ method, params }: RpcCall): boolean {
  const [call] = params as readonly [{ readonly to?: string }];
  return method === "eth_call" && call.to === undefined;
}

function logCallsOf(calls: readonly RpcCall[]): readonly { readonly blocks: number; readonly topics: number }[] {
  return calls
    .filter(({ method }) => method === "eth_getLogs")
    .map(({ params }) => {
      const [{ fromBlock, toBlock, topics }] = params as readonly [
        { readonly fromBlock: string; readonly toBlock: string; readonly topics: readonly unknown[] },
      ];
      return { blocks: Number(toBlock) - Number(fromBlock) + 1, topics: topics.length };
    });
}
