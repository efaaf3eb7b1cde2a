// Examines a run with an outsider's view: the chain's events and state, the journals, the pinned blocks.
import { join } from "node:path";
import { openFolderReader, type FolderReader } from "../agents/adapters/ipfs/folder-content-store.ts";
import { messageOf } from "../agents/core/errors.ts";
import type { ChainEvent } from "../agents/core/request/events.ts";
import type { Attempt, Digest, Request } from "../agents/core/types.ts";
import { verifyRequest } from "../agents/node/audit/verify.ts";
import { readSlots } from "./journals.ts";
import { checkMoney } from "./money.ts";
import type { Asked, ChaosWorld } from "./world.ts";

export const FINDINGS = [
  "two decisions",
  "two signatures",
  "broken journal",
  "not ended",
  "no progress",
  "not proven",
  "money",
  "slashed",
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

/** `last`: the request that was asked after everything was mended. */
export async function examine(
  world: ChaosWorld,
  asked: readonly Asked[],
  last: Asked | null,
  copies: string,
  signal: AbortSignal,
): Promise<Examination> {
  const findings: Finding[] = [];
  const find = (kind: Finding["kind"], what: string): void => void findings.push({ kind, what });
  const all = last === null ? asked : [...asked, last];
  const attempts: Attempt[] = [];
  const sharesOf = new Map<bigint, readonly number[]>();
  let decisions = 0;
  for (const one of all) {
    const { requestId, protocol } = one;
    const label = `request ${requestId} (${protocol})`;
    const events = await world.reader.requestEvents(requestId, signal);
    const committed = events.filter((event) => event.kind === "decisionCommitted");
    if (committed.length > 1) find("two decisions", `${label} has ${committed.length}`);
    const { status } = await world.reader.requestState(requestId, signal);
    if (status === "requested") find(one === last ? "no progress" : "not ended", `${label} is still open`);
    if (committed.length === 0) continue;
    decisions++;
    sharesOf.set(requestId, committed[0]?.decision.shares ?? []);
    attempts.push(...attemptsIn(world, events));
    await prove(world, one, find, signal);
    const answer = committed[0]?.decision.answer;
    // What was asked in peace has to be answered, and rightly.
    if (one === last && (status !== "decided" || answer !== one.truth))
      find("wrong answer", `${label} is ${status} ${JSON.stringify(answer)}, not ${one.truth}`);
  }
  const { messages, doubles, broken } = await readSlots(copies, attempts);
  for (const { requestId, seat, slot } of doubles)
    find("two signatures", `seat ${seat} of request ${requestId} signed two payloads in ${slot}`);
  for (const what of broken) find("broken journal", what);
  if (decisions > 0 && messages === 0) find("two signatures", "no message was found, so nothing is shown");
  for (const what of await checkMoney(world, sharesOf, signal)) find("money", what);
  for (const { agentId, stake } of await world.reader.agents(signal))
    if (stake < world.stake) find("slashed", `agent ${agentId}, which is honest, has a stake of ${stake}`);
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

/** Replays the decision from the chain and what the agents have pinned, as `conclave verify` does. */
async function prove(
  { reader, transactions, agents }: ChaosWorld,
  { requestId, protocol }: Asked,
  find: (kind: Finding["kind"], what: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const folders = await Promise.all(agents.map(({ directory }) => openFolderReader(join(directory, "data", "ipfs"))));
  try {
    const store = { get: (digest: Digest) => firstOf(folders, digest, signal) };
    const chain = { ...reader, certificate: transactions.certificate.bind(transactions) };
    const report = await verifyRequest({ chain, store, requestId, signal });
    if (!report.ok)
      find("not proven", `request ${requestId} (${protocol}): ${report.failure?.step} ${report.failure?.reason}`);
  } catch (error) {
    find("not proven", `request ${requestId} (${protocol}): ${messageOf(error)}`);
  } finally {
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
