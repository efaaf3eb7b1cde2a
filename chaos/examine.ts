// Examines a run with an outsider's view: the chain's events and state, the journals, the pinned blocks.
import { join } from "node:path";
import { openFolderReader, type FolderReader } from "../agents/adapters/ipfs/folder-content-store.ts";
import { createGatewaySource } from "../agents/adapters/ipfs/gateway-source.ts";
import { ConclaveError, messageOf } from "../agents/core/errors.ts";
import { faultTolerance } from "../agents/core/quorum.ts";
import type { ChainEvent } from "../agents/core/request/events.ts";
import { isFinalState } from "../agents/core/request/state.ts";
import type { Attempt, Digest, Request } from "../agents/core/types.ts";
import { verifyRequest } from "../agents/node/audit/verify.ts";
import { readSlots } from "./journals.ts";
import { checkMoney, stakesOf } from "./money.ts";
import type { Asked, ChaosWorld } from "./world.ts";
import { startWrongGateway } from "./wrong-gateway.ts";

export const FINDINGS = [
  "two decisions",
  "two signatures",
  "broken journal",
  "not ended",
  "no progress",
  "not proven",
  "wrong blocks",
  "money",
  "slashed",
  "not slashed",
  "wrong answer",
] as const;

export interface Finding {
  readonly kind: (typeof FINDINGS)[number];
  readonly what: string;
}

export interface Examination {
  readonly decisions: number;
  readonly messages: number;
  readonly findings: readonly Finding[];
}

export interface Examined {
  readonly asked: readonly Asked[];
  /** The request that was asked after everything was mended. */
  readonly last: Asked;
  /** Agents that were shown something else by sources, or lied: at most f of a committee cannot make the others answer by it. */
  readonly misled: readonly number[];
  /** Agents that signed two things on purpose. */
  readonly equivocators: readonly number[];
  /** Agents that have to be slashed. */
  readonly slashed: readonly number[];
  /** Copies of the journals. */
  readonly copies: string;
}

export async function examine(
  world: ChaosWorld,
  { asked, last, misled, equivocators, slashed, copies }: Examined,
  signal: AbortSignal,
): Promise<Examination> {
  const findings: Finding[] = [];
  const find = (kind: Finding["kind"], what: string): void => void findings.push({ kind, what });
  const all = [...asked, last];
  const idsOf = (agents: readonly number[]): readonly unknown[] => agents.map((agent) => world.agents[agent]?.agentId);
  const misledIds = idsOf(misled);
  const attempts: Attempt[] = [];
  const sharesOf = new Map<bigint, readonly number[]>();
  let decisions = 0;
  for (const one of all) {
    const { requestId, protocol } = one;
    const label = `request ${requestId} (${protocol})`;
    const events = await world.reader.requestEvents(requestId, signal);
    const committed = events.filter((event) => event.kind === "decisionCommitted");
    const decided = new Set(committed.map(({ decision }) => decision.attempt));
    if (committed.length > decided.size)
      find("two decisions", `${label} has ${committed.length} in ${decided.size} attempts`);
    const state = await world.reader.requestState(requestId, signal);
    if (!isFinalState(state)) find(one === last ? "no progress" : "not ended", `${label} is still open`);
    if (committed.length === 0) continue;
    decisions++;
    // Several rounds share what the request pays, and whoever called a second attempt was paid before it was settled.
    if (committed.length === 1 && committed[0]?.decision.attempt === 0)
      sharesOf.set(requestId, committed[0]?.decision.shares ?? []);
    attempts.push(...attemptsIn(world, events));
    for (const [index, { committee, decision }] of committed.entries()) {
      const { answer, status: said } = decision;
      // What was asked in peace has to be answered, and rightly.
      const mustAnswer = one === last && index === committed.length - 1;
      const liars = committee.filter(({ agentId }) => misledIds.includes(agentId)).length;
      const mustBeRight = one === last || (one.hasSource && liars <= faultTolerance(committee.length));
      if ((mustAnswer && said !== "decided") || (mustBeRight && said === "decided" && answer !== one.truth))
        find("wrong answer", `${label} is ${said} ${JSON.stringify(answer)}, not ${one.truth}`);
    }
    for (const [index, event] of events.entries())
      if (event.kind === "decisionCommitted") await prove(world, one, events.slice(0, index + 1), find, signal);
  }
  const { messages, doubles, broken } = await readSlots(copies, attempts);
  const culprits = idsOf(equivocators);
  for (const { requestId, seat, agentId, slot } of doubles)
    // Whoever equivocated is honest again when the last one is asked.
    if (requestId === last.requestId || !culprits.includes(agentId))
      find("two signatures", `seat ${seat} of request ${requestId} signed two payloads in ${slot}`);
  for (const what of broken) find("broken journal", what);
  if (decisions > 0 && messages === 0) find("two signatures", "no message was found, so nothing is shown");
  for (const what of await checkMoney(world, sharesOf, signal)) find("money", what);
  for (const [agent, stake] of (await stakesOf(world, signal)).entries()) {
    const isSlashed = stake < world.stake;
    if (isSlashed && !equivocators.includes(agent))
      find("slashed", `agent ${agent}, which is honest, has a stake of ${stake}`);
    if (!isSlashed && slashed.includes(agent))
      find("not slashed", `agent ${agent}, which equivocated, has all of its stake`);
  }
  return { decisions, messages, findings };
}

function attemptsIn({ reader }: ChaosWorld, events: readonly ChainEvent[]): readonly Attempt[] {
  const request = events.find((event) => event.kind === "requested")?.request as Request;
  return events.flatMap((event) =>
    event.kind === "decisionCommitted"
      ? [{ domain: reader.domain, request, attempt: event.decision.attempt, committee: event.committee }]
      : [],
  );
}

/** Replays the decision that stood after these events from the chain and what the agents have pinned, as `conclave verify` does. */
async function prove(
  { reader, transactions, agents }: ChaosWorld,
  { requestId, protocol }: Asked,
  events: readonly ChainEvent[],
  find: (kind: Finding["kind"], what: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const folders = await Promise.all(agents.map(({ directory }) => openFolderReader(join(directory, "data", "ipfs"))));
  const get = (digest: Digest): Promise<Uint8Array> => firstOf(folders, digest, signal);
  const gateway = await startWrongGateway(get, Number(requestId));
  const certificate = transactions.certificate.bind(transactions);
  const chain = { ...reader, requestEvents: () => Promise.resolve(events), certificate };
  /** Why it is not proven; null if it is. */
  const failureWith = async (store: Parameters<typeof verifyRequest>[0]["store"]): Promise<string | null> => {
    try {
      const { ok, failure } = await verifyRequest({ chain, store, requestId, signal });
      return ok ? null : `${failure?.step} ${failure?.reason}`;
    } catch (error) {
      if (!(error instanceof ConclaveError)) throw error;
      return messageOf(error);
    }
  };
  const label = `request ${requestId} (${protocol})`;
  try {
    const failure = await failureWith({ get });
    if (failure !== null) find("not proven", `${label}: ${failure}`);
    if ((await failureWith(createGatewaySource(gateway.url))) === null && gateway.wrong() > 0)
      find("wrong blocks", `${label} is proven by a gateway that served ${gateway.wrong()} wrong blocks`);
  } finally {
    await gateway.close();
    await Promise.all(folders.map((folder) => folder.close()));
  }
}

async function firstOf(folders: readonly FolderReader[], digest: Digest, signal: AbortSignal): Promise<Uint8Array> {
  let failure: unknown;
  for (const folder of folders)
    try {
      return await folder.get(digest, signal);
    } catch (error) {
      failure = error;
    }
  throw failure;
}
