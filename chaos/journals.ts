// What the agents wrote down: copies of their journals, and the slots in which a seat signed two things.
import { copyFile, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createFileJournals } from "../agents/adapters/journal/file-journal.ts";
import { forgeryIn } from "../agents/core/encoding/transcript.ts";
import { ConclaveError } from "../agents/core/errors.ts";
import type { AgentId, Attempt, Message, RequestId, SeatInfo } from "../agents/core/types.ts";
import { createInputReader } from "../agents/node/seat/records.ts";
import type { ChaosAgent } from "./agents.ts";
import { journalsIn } from "./disk.ts";

/**
 * Copies the journals of requests until the signal aborts: an agent removes a journal when its request is final. Each
 * life of a process has its own copies, since a crash may lose what the life before has written.
 */
export async function copyJournals(
  agents: readonly ChaosAgent[],
  into: string,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await Promise.all(
      agents.map((agent, index) => copyOnce(agent, join(into, `agent-${index}`, `life-${agent.lives()}`))),
    );
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

async function copyOnce({ directory }: ChaosAgent, into: string): Promise<void> {
  const from = join(directory, "data", "journals");
  const names = await journalsIn(from).catch(() => []);
  if (names.length > 0) await mkdir(into, { recursive: true });
  // It may have been removed meanwhile.
  for (const name of names) await copyFile(join(from, name), join(into, name)).catch(() => undefined);
}

export interface DoubleSignature {
  readonly requestId: RequestId;
  readonly seat: number;
  readonly agentId: AgentId;
  readonly slot: string;
}

export interface Slots {
  /** Messages that were read and are signed by their seats. */
  readonly messages: number;
  readonly doubles: readonly DoubleSignature[];
  /** Journals that are broken before their end, in words. */
  readonly broken: readonly string[];
}

/** Finds the slots in which a seat signed two payloads, over all that any agent sent or received. */
export async function readSlots(copies: string, attempts: readonly Attempt[]): Promise<Slots> {
  const payloads = new Map<string, { readonly where: DoubleSignature; readonly digests: Set<string> }>();
  const broken: string[] = [];
  let messages = 0;
  for (const folder of await livesIn(copies)) {
    const names = new Set(await createFileJournals(folder).list());
    for (const attempt of attempts) {
      const name = `request-${attempt.request.id}-${attempt.attempt}`;
      if (!names.has(name)) continue;
      try {
        for await (const message of messagesIn(folder, name)) {
          if (forgeryIn(attempt, message) !== null) continue;
          const { phase, round, seat, payloadDigest } = message.header;
          messages++;
          const { agentId } = attempt.committee[seat] as SeatInfo;
          const where = { requestId: attempt.request.id, seat, agentId, slot: `phase ${phase}, round ${round}` };
          const key = `${name} ${seat} ${where.slot}`;
          const known = payloads.get(key) ?? { where, digests: new Set() };
          known.digests.add(payloadDigest);
          payloads.set(key, known);
        }
      } catch (error) {
        if (!(error instanceof ConclaveError)) throw error;
        broken.push(error.message);
      }
    }
  }
  const doubles = [...payloads.values()].filter(({ digests }) => digests.size > 1).map(({ where }) => where);
  return { messages, doubles, broken };
}

/** The messages in a journal of the folder. Throws JOURNAL_CORRUPT. */
export async function* messagesIn(folder: string, name: string): AsyncGenerator<Message> {
  const journal = await createFileJournals(folder).open(name);
  try {
    const read = createInputReader();
    let records = 0;
    for await (const record of journal.read()) {
      const input = records++ === 0 ? null : read(record);
      if (input?.kind === "message") yield input.message;
    }
  } finally {
    await journal.close();
  }
}

async function livesIn(copies: string): Promise<readonly string[]> {
  const agents = await readdir(copies).catch(() => []);
  const lives = await Promise.all(
    agents.map(async (agent) => (await readdir(join(copies, agent))).map((life) => join(copies, agent, life))),
  );
  return lives.flat();
}
