// The demo's history by GraphQL: three queries to a real graph-node, and a comparison of every entity with the
// contracts.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createPublicClient, http } from "viem";
import { checkEntities } from "../subgraph/check.ts";
import { readEntities } from "../subgraph/entities.ts";
import { postQuery, startGraphNode, type GraphNode } from "../subgraph/graph-node.ts";
import { openLedger, type Ledger, type Result } from "../subgraph/ledger.ts";
import type { Deployment } from "../../scripts/deploy/settings.ts";
import type { DemoFacts } from "./facts.ts";

export interface SubgraphReport {
  readonly queryUrl: string;
  /** Block at which everything was compared. */
  readonly block: number;
  readonly entities: number;
  /** Compared values of entities and of the three answers. */
  readonly comparisons: number;
  /** Differences from the chain, in words. */
  readonly differences: readonly string[];
  readonly answers: readonly Answer[];
}

interface Answer {
  readonly query: string;
  readonly data: object;
}

interface DecisionsData {
  readonly requests: readonly {
    readonly id: string;
    readonly status: string;
    readonly decision: {
      readonly answer: string;
      readonly confidence: number;
      readonly transcript: string;
      readonly signers: readonly { readonly agent: { readonly id: string } }[];
    } | null;
  }[];
}

interface ReputationData {
  readonly agent: {
    readonly reputation: number;
    readonly reputationChanges: readonly {
      readonly before: number;
      readonly after: number;
      readonly block: string;
      readonly logIndex: string;
    }[];
  };
}

interface FeesData {
  readonly statistics: readonly { readonly protocol: number; readonly requests: number; readonly feesToken: string }[];
}

/** What the demo read from the chain. */
type Known = Pick<DemoFacts, "decisions" | "agents" | "protocol">;

export interface SubgraphDemo {
  readonly rpcUrl: string;
  readonly deployment: Deployment;
  /** File that gets the URL for queries, so that `conclave history` finds it. */
  readonly deploymentFile: string;
  readonly known: Known;
  /** Fee of one request. */
  readonly fee: bigint;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

const examples = join(import.meta.dirname, "../../subgraph/examples");

/** Starts the node; the caller stops it. */
export async function startSubgraph(demo: SubgraphDemo): Promise<GraphNode> {
  demo.progress("building the subgraph, starting PostgreSQL and graph-node");
  const node = await startGraphNode(demo.rpcUrl, demo.deployment, demo.signal);
  const file = { ...demo.deployment, rpcUrl: demo.rpcUrl, subgraphUrl: node.queryUrl };
  await writeFile(demo.deploymentFile, JSON.stringify(file, null, 2));
  return node;
}

export async function reportSubgraph(node: GraphNode, demo: SubgraphDemo): Promise<SubgraphReport> {
  const { deployment, known, signal, progress } = demo;
  const client = createPublicClient({ transport: http(demo.rpcUrl, { batch: true }) });
  const block = Number(await client.getBlockNumber({ cacheTime: 0 }));
  let shown = -1;
  await node.synced(block, {
    signal,
    onProgress: ({ block: at }) => {
      if (at !== shown) progress(`graph-node has indexed block ${at} of ${block}`);
      shown = at;
    },
  });
  progress(`comparing every entity with the contracts at block ${block}`);
  const checked = await checkEntities(await readEntities(node.queryUrl, block), client, deployment, block);
  const liar = liarOf(known);
  const ask = async (name: string): Promise<Answer> => {
    const query = await readFile(join(examples, `${name}.graphql`), "utf8");
    return { query, data: await postQuery<object>(node.queryUrl, query, { block, agent: String(liar) }) };
  };
  const decisions = await ask("decisions");
  const reputation = await ask("reputation");
  const fees = await ask("fees");
  const answered = compareAnswers([decisions.data, reputation.data, fees.data], known, demo.fee);
  return {
    queryUrl: node.queryUrl,
    block,
    entities: checked.entities,
    comparisons: checked.comparisons + answered.comparisons,
    differences: [...checked.differences, ...answered.differences],
    answers: [decisions, reputation, fees],
  };
}

/** Compares the answers to the three queries with what the demo read from the chain. */
export function compareAnswers([decisions, reputation, fees]: readonly object[], known: Known, fee: bigint): Result {
  const { ledger, result } = openLedger();
  compareDecisions(decisions as DecisionsData, known, ledger);
  compareReputation(reputation as ReputationData, known, ledger);
  compareFees(fees as FeesData, known, fee, ledger);
  return result();
}

function liarOf({ agents }: Known): number {
  return agents.find(({ lies }) => lies)?.agentId ?? 1;
}

function compareDecisions({ requests }: DecisionsData, { decisions }: Known, ledger: Ledger): void {
  ledger.equal("number of requests in the answer", requests.length, decisions.length);
  for (const expected of decisions) {
    const found = requests.find(({ id }) => id === expected.requestId);
    const name = `answer for request ${expected.requestId}`;
    const signers = (found?.decision?.signers ?? []).map(({ agent }) => Number(agent.id));
    ledger.equal(`${name}: status`, found?.status, expected.status);
    ledger.equal(`${name}: answer`, found?.decision?.answer, expected.answer);
    ledger.equal(`${name}: confidence`, found?.decision?.confidence, expected.confidence);
    ledger.equal(`${name}: transcript`, found?.decision?.transcript, expected.transcript);
    const signed = expected.signers.map((seat) => expected.seats[seat]?.agentId ?? 0);
    ledger.equal(`${name}: signers`, inOrder(signers), inOrder(signed));
  }
}

/** The last point of the curve equals the registry's value, and each point begins where the one before ended. */
function compareReputation({ agent }: ReputationData, known: Known, ledger: Ledger): void {
  const agentId = liarOf(known);
  const expected = known.agents.find((one) => one.agentId === agentId)?.reputation;
  ledger.equal(`reputation of agent ${agentId}`, agent.reputation, expected);
  // Graph-node orders by one field, but one block can have several changes.
  const changes = agent.reputationChanges.toSorted(
    (left, right) => Number(left.block) - Number(right.block) || Number(left.logIndex) - Number(right.logIndex),
  );
  ledger.equal(`last change of agent ${agentId}`, changes.at(-1)?.after ?? agent.reputation, expected);
  for (const [index, { before }] of changes.entries())
    if (index > 0) ledger.equal(`change ${index} of agent ${agentId}`, before, changes[index - 1]?.after);
}

function compareFees({ statistics }: FeesData, { protocol, decisions }: Known, fee: bigint, ledger: Ledger): void {
  ledger.equal(
    "protocols with fees",
    statistics.map((one) => one.protocol),
    [protocol.code],
  );
  ledger.equal("requests of the protocol", statistics[0]?.requests, decisions.length);
  ledger.equal("fees of the protocol", statistics[0]?.feesToken, fee * BigInt(decisions.length));
}

function inOrder(numbers: readonly number[]): readonly number[] {
  return numbers.toSorted((left, right) => left - right);
}

/** Renders the queries, their answers and the result of the comparison. */
export function renderSubgraph(report: SubgraphReport): string {
  const { answers, block, entities, comparisons, differences, queryUrl } = report;
  const asked = answers.map(({ query, data }) => `${query}${JSON.stringify(data, null, 2)}\n`);
  const result =
    differences.length === 0
      ? `${entities} entities and these answers equal the contracts at block ${block} (${comparisons} values compared)`
      : `${differences.length} of ${comparisons} values are NOT what the chain says at block ${block}:\n${differences.join("\n")}`;
  return `\nGraphQL at ${queryUrl}\n\n${asked.join("\n")}\n${result}\n`;
}
