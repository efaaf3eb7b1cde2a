// Compares the typed client's answers about a chain with the chain's events and with every entity.
import assert from "node:assert/strict";
import { connect } from "../../agents/adapters/chain/connection.ts";
import { readRecentFaults } from "../../agents/adapters/chain/faults.ts";
import { openRecentHistory } from "../../agents/adapters/chain/recent.ts";
import type { ReaderOptions } from "../../agents/adapters/chain/reader.ts";
import { openSubgraph, type Subgraph } from "../../agents/adapters/subgraph/subgraph.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import type { Address, AgentId } from "../../agents/core/types.ts";
import type { PastRequest, HistoryFilter, RequestPage, PageWanted } from "../../agents/ports/history.ts";
import type { Entities, Entity } from "../../devnet/subgraph/entities.ts";
import { rows } from "../../devnet/subgraph/ledger.ts";
import { ANYTHING } from "../adapters/fixtures/subgraph-server.ts";

/** More blocks than any test mines. */
const BLOCKS = 1_000_000;
/** Rows per page: a number that does not divide the number of rows. */
const LIMIT = 7;
const MOST_FAULTS = 1_000;

/** Checks that subgraph and events give the same requests under every filter. */
export async function checkRequests(
  queryUrl: string,
  source: ReaderOptions,
  agents: readonly AgentId[],
  signal: AbortSignal,
): Promise<void> {
  const subgraph = openSubgraph({ url: queryUrl });
  const recent = await openRecentHistory(source, signal);
  const fromSubgraph = async (filter: HistoryFilter): Promise<readonly PastRequest[]> =>
    allPages(async (page) => (await subgraph.requests(filter, page, signal)).answer);
  const fromEvents = async (filter: HistoryFilter): Promise<readonly PastRequest[]> =>
    allPages((page) => recent.requests(filter, page, { blocks: BLOCKS, signal }));

  const all = await fromSubgraph(ANYTHING);
  assert.deepEqual(all, await fromEvents(ANYTHING));
  const middle = all[Math.floor(all.length / 2)]!;
  const some: readonly Partial<HistoryFilter>[] = [
    { statuses: ["hung"] },
    { statuses: ["decided", "refunded"] },
    { since: middle.time },
    { until: middle.time },
    { consumer: middle.consumer },
    { protocol: middle.protocol },
    { agentId: agents[0]! },
    { agentId: agents[1]!, statuses: ["decided"], since: all.at(-3)!.time },
  ];
  for (const change of some) {
    const found = await fromSubgraph({ ...ANYTHING, ...change });
    assert.ok(found.length > 0, Object.keys(change).join());
    assert.deepEqual(found, await fromEvents({ ...ANYTHING, ...change }));
  }
  const nobody = { ...ANYTHING, consumer: `0x${"9".repeat(40)}` as Address };
  assert.deepEqual([await fromSubgraph(nobody), await fromEvents(nobody)], [[], []]);
  const unused = protocols.find(({ code }) => all.every(({ protocol }) => protocol !== code));
  assert.deepEqual(await fromSubgraph({ ...ANYTHING, protocol: unused!.code }), []);
}

/** Checks that subgraph and events tell the same faults, of all agents and of each. */
export async function checkFaults(
  queryUrl: string,
  source: ReaderOptions,
  agents: readonly AgentId[],
  signal: AbortSignal,
): Promise<void> {
  const subgraph = openSubgraph({ url: queryUrl });
  const connection = await connect(source, signal);
  for (const agentId of [null, ...agents]) {
    const filter = { agentId, requestId: null };
    const { answer } = await subgraph.faults(filter, MOST_FAULTS, signal);
    const { faults } = await readRecentFaults(connection, filter, MOST_FAULTS, { blocks: BLOCKS, signal });
    assert.deepEqual(answer, faults);
    if (agentId !== null) continue;
    const [newest] = faults;
    assert.ok(newest !== undefined, "nobody was slashed");
    const { requestId } = newest;
    const ofRequest = await subgraph.faults({ agentId, requestId }, MOST_FAULTS, signal);
    assert.deepEqual(
      ofRequest.answer,
      faults.filter((fault) => fault.requestId === requestId),
    );
  }
}

async function allPages(read: (page: PageWanted) => Promise<RequestPage>): Promise<readonly PastRequest[]> {
  const all: PastRequest[] = [];
  for (let cursor: string | null = null; ;) {
    const page: RequestPage = await read({ limit: LIMIT, cursor });
    assert.ok(page.requests.length <= LIMIT);
    all.push(...page.requests);
    if (page.next === null) return all;
    cursor = page.next;
  }
}

/** Checks that an agent's record has every entity of the agent, and no other. */
export async function checkAgentRecord(
  subgraph: Subgraph,
  entities: Entities,
  agentId: AgentId,
  signal: AbortSignal,
): Promise<void> {
  const { answer } = await subgraph.agent(agentId, 1_000, signal);
  assert.ok(answer !== null);
  const own = (type: string): readonly Entity[] =>
    rows(entities, type).filter((entity) => entity["agent"] === String(agentId));
  const agent = entities["Agent"]!.get(String(agentId))!;
  assert.equal(String(answer.bonded), agent["bonded"]);
  assert.equal(answer.reputation, agent["reputation"]);
  assert.deepEqual(
    answer.seats.map(({ requestId, attempt, seat }) => `${requestId}-${attempt}-${seat}`).toSorted(),
    own("Seat")
      .map(({ id }) => id)
      .toSorted(),
  );
  const signed = answer.seats.filter(({ decision }) => decision.signed);
  assert.equal(signed.length, agent["signatureCount"]);
  assert.deepEqual(
    answer.pay.map(({ requestId, attempt, seat, amount }) => `${requestId}-${attempt}-${seat}: ${amount}`).toSorted(),
    own("Pay")
      .map(({ id, amount }) => `${id}: ${String(amount)}`)
      .toSorted(),
  );
  const slashed = answer.slashes.reduce((sum, { bonded, unbonding }) => sum + bonded + unbonding, 0n);
  assert.equal(String(slashed), agent["slashed"]);
  // The changes form a curve: each begins where the one before ended, and the newest ends at the agent's present
  // reputation.
  const points = answer.reputationChanges.toReversed();
  assert.equal(points.length, own("ReputationChange").length);
  for (const [index, { before }] of points.entries()) if (index > 0) assert.equal(before, points[index - 1]!.after);
  assert.equal(points.at(-1)?.after ?? answer.reputation, answer.reputation);
}
