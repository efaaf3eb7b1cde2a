// The seats of a committee as processes, and what the bench asks of all of them.
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { mean } from "simple-statistics";
import type { FromSeat, Sizes, Stages, ToSeat } from "./messages.ts";

const script = join(import.meta.dirname, "seat-process.ts");
/** Processes that start at once: more of them only wait for each other. */
const STARTING = 4;

export interface Decision {
  /** From the proposer's last message of the deliberation to each seat's certificate. */
  readonly certifiedMs: readonly number[];
  readonly sizes: Sizes;
  readonly stages: readonly Stages[];
  /** Mean processor time of a seat for the whole decision. */
  readonly cpuMs: number;
}

export interface Committee {
  readonly seats: number;
  decide(repetition: number): Promise<Decision>;
  /** Returns how long the bare steps took for each seat. */
  exchange(repetition: number, sizes: Sizes): Promise<readonly number[]>;
  ping(from: number, to: number, bytes: number, count: number): Promise<readonly number[]>;
  close(): Promise<void>;
}

type Answer<Kind extends FromSeat["kind"]> = Extract<FromSeat, { readonly kind: Kind }>;

/** Starts the processes and waits until each is connected with all others. */
export async function startCommittee(seats: number, folder: string, isInMemory: boolean): Promise<Committee> {
  const children: ChildProcess[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(
      children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const exited = once(child, "exit");
        child.send({ kind: "close" } satisfies ToSeat);
        await exited;
      }),
    );
  };
  try {
    const multiaddrs: (readonly string[])[] = [];
    while (children.length < seats) {
      const started = Array.from({ length: Math.min(STARTING, seats - children.length) }, (_, index) =>
        start(children.length + index, seats, folder, isInMemory),
      );
      children.push(...started);
      const listening = await Promise.all(started.map((child) => answerOf(child, "listening")));
      multiaddrs.push(...listening.map((answer) => answer.multiaddrs));
    }
    await askAll(children, { kind: "peers", multiaddrs }, "connected");
    return {
      seats,
      async decide(repetition) {
        const answers = await askAll(children, { kind: "decide", repetition }, "decided");
        const proposer = answers.find((answer) => answer.proposer !== null)?.proposer;
        if (proposer === undefined || proposer === null) throw new Error(`Decision ${repetition} has no proposer`);
        return {
          certifiedMs: answers.map(({ certifiedAt }) => millisecondsFrom(proposer.lastMessageAt, certifiedAt)),
          sizes: proposer.sizes,
          stages: answers.map(({ stages }) => stages),
          cpuMs: mean(answers.map(({ cpuMs }) => cpuMs)),
        };
      },
      async exchange(repetition, sizes) {
        const answers = await askAll(children, { kind: "exchange", repetition, sizes }, "exchanged");
        const startedAt = answers.find((answer) => answer.startedAt !== null)?.startedAt ?? 0n;
        return answers.map(({ doneAt }) => millisecondsFrom(startedAt, doneAt));
      },
      async ping(from, to, bytes, count) {
        const child = children[from] as ChildProcess;
        const answer = answerOf(child, "pinged");
        child.send({ kind: "ping", to, bytes, count } satisfies ToSeat);
        return (await answer).delaysMs;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function start(seat: number, seats: number, folder: string, isInMemory: boolean): ChildProcess {
  const args = [String(seat), String(seats), join(folder, `seat-${seat}`), isInMemory ? "memory" : "disk"];
  // Moments are big integers, which JSON has not.
  return fork(script, args, { serialization: "advanced", stdio: ["ignore", "ignore", "inherit", "ipc"] });
}

async function askAll<Kind extends FromSeat["kind"]>(
  children: readonly ChildProcess[],
  message: ToSeat,
  kind: Kind,
): Promise<readonly Answer<Kind>[]> {
  const answers = children.map((child) => answerOf(child, kind));
  for (const child of children) child.send(message);
  return await Promise.all(answers);
}

/** The next answer of the process, which is of that kind. Rejects if the process ends. */
async function answerOf<Kind extends FromSeat["kind"]>(child: ChildProcess, kind: Kind): Promise<Answer<Kind>> {
  const waiting = new AbortController();
  const { signal } = waiting;
  const ended = once(child, "exit", { signal }).then(() => null);
  const told = once(child, "message", { signal }).then(([message]) => message as FromSeat);
  try {
    const message = await Promise.race([told, ended]);
    if (message?.kind !== kind)
      throw new Error(`A seat tells ${message?.kind ?? "nothing, and ends,"} instead of ${kind}`);
    return message as Answer<Kind>;
  } finally {
    waiting.abort();
  }
}

function millisecondsFrom(from: bigint, to: bigint): number {
  return Number(to - from) / 1e6;
}
