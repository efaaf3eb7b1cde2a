/**
 * Rounds of the same questions, in turns through the bare engine and through the model host, so that both meet the
 * same load of the machine.
 */
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { createLlamaModel } from "../../../agents/adapters/models/llama-model.ts";
import type { Model, OutputSchema } from "../../../agents/ports/model.ts";
import type { RawLoad, RoundResult, RawRound } from "./raw-llama.ts";

export interface Workload {
  readonly path: string;
  readonly seats: number;
  readonly threads: number;
  readonly gpu: "auto" | false;
  readonly contextSize: number;
  readonly rounds: number;
  /** Rendered prompts. */
  readonly users: readonly string[];
  /** Questions of all seats together: a round is equally long for any number of seats. */
  readonly questionsPerRound: number;
  readonly schema: OutputSchema;
  readonly confidenceOf: string;
  readonly maxTokens: number;
}

interface Rates {
  readonly tokens: number;
  /** Median over the rounds. */
  readonly tokensPerSecond: number;
  readonly tokensPerCpuSecond: number;
}

/** Ratio of the host's rate to another one within a round: median, lowest, highest. */
interface Ratio {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

export interface SeatsReport {
  readonly seats: number;
  /** The engine with its backend, e.g. "node-llama-cpp@3.21.1 llama.cpp@v0.4.0 vulkan". */
  readonly runsOn: string;
  /** The engine alone, the engine held to the answer's grammar, and the agents' model host. */
  readonly engine: Rates;
  readonly constrained: Rates;
  readonly host: Rates;
  readonly firstTokenMs: number;
  readonly hostToEngine: Ratio;
  readonly hostToEngineByCpu: Ratio;
  readonly hostToConstrained: Ratio;
}

interface Round {
  readonly engine: RoundResult;
  readonly constrained: RoundResult;
  readonly host: RoundResult;
  readonly firstTokenMs: readonly number[];
  readonly runsOn: string;
}

const wall = ({ tokens, seconds }: RoundResult): number => tokens / seconds;
const cpu = ({ tokens, cpuSeconds }: RoundResult): number => tokens / cpuSeconds;

/** One round to warm up precedes those that count. */
export async function measureSeats(workload: Workload): Promise<SeatsReport> {
  const { path, seats, threads, gpu, contextSize, schema, maxTokens } = workload;
  const engine = await startEngine({ path, sequences: seats, threads, gpu, contextSize });
  let worker = 0;
  const model = await createLlamaModel({
    path,
    sequences: seats,
    threads,
    contextSize,
    waiting: seats,
    gpu,
    temperature: 0,
    onStart: (pid) => (worker = pid),
  });
  try {
    const rounds: Round[] = [];
    for (let round = 0; round <= workload.rounds; round++) {
      const users = usersOf(workload, round);
      const raw = await engine.round({ users, schema, maxTokens, isConstrained: false });
      const host = await hostRound(model, worker, workload, users);
      const constrained = await engine.round({ users, schema, maxTokens, isConstrained: true });
      if (round > 0) rounds.push({ engine: raw, ...host, constrained });
    }
    return reportOf(seats, rounds);
  } finally {
    engine.close();
    await model.close();
  }
}

function reportOf(seats: number, rounds: readonly Round[]): SeatsReport {
  const ratio = (rate: typeof wall, to: "engine" | "constrained"): Ratio => {
    const ratios = rounds.map((round) => rate(round.host) / rate(round[to]));
    return { median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) };
  };
  const rates = (of: "engine" | "constrained" | "host"): Rates => ({
    tokens: rounds.reduce((sum, round) => sum + round[of].tokens, 0),
    tokensPerSecond: median(rounds.map((round) => wall(round[of]))),
    tokensPerCpuSecond: median(rounds.map((round) => cpu(round[of]))),
  });
  return {
    seats,
    runsOn: rounds[0]?.runsOn ?? "",
    engine: rates("engine"),
    constrained: rates("constrained"),
    host: rates("host"),
    firstTokenMs: median(rounds.flatMap(({ firstTokenMs }) => firstTokenMs)),
    hostToEngine: ratio(wall, "engine"),
    hostToEngineByCpu: ratio(cpu, "engine"),
    hostToConstrained: ratio(wall, "constrained"),
  };
}

function usersOf({ seats, users, questionsPerRound }: Workload, round: number): readonly (readonly string[])[] {
  const asked = Array.from({ length: questionsPerRound }, (_, index) => round * questionsPerRound + index);
  return Array.from({ length: seats }, (_, seat) =>
    asked.filter((_question, index) => index % seats === seat).map((index) => users[index % users.length] ?? ""),
  );
}

/** All seats ask at once, each one question after the other, as agents on one node do. */
async function hostRound(
  model: Model,
  worker: number,
  { schema, confidenceOf, maxTokens }: Workload,
  users: readonly (readonly string[])[],
): Promise<Pick<Round, "host" | "firstTokenMs" | "runsOn">> {
  const { signal } = new AbortController();
  const startMs = performance.now();
  const [before, workerBefore] = [process.cpuUsage(), cpuSecondsOf(worker)];
  const answers = await Promise.all(
    users.map(async (own) => {
      const given = [];
      for (const user of own)
        given.push(await model.ask({ system: "", user, schema, confidenceOf, maxTokens, seed: 1 }, signal));
      return given;
    }),
  );
  const seconds = (performance.now() - startMs) / 1000;
  const { user: own, system } = process.cpuUsage(before);
  const cpuSeconds = (own + system) / 1e6 + cpuSecondsOf(worker) - workerBefore;
  const tokens = answers.flat().reduce((sum, { outputTokens }) => sum + outputTokens, 0);
  return {
    host: { tokens, seconds, cpuSeconds },
    firstTokenMs: answers.flat().map(({ firstTokenMs }) => firstTokenMs),
    runsOn: answers.flat()[0]?.origin?.engine ?? "",
  };
}

async function startEngine(
  load: RawLoad,
): Promise<{ readonly round: (round: RawRound) => Promise<RoundResult>; readonly close: () => void }> {
  const child = fork(fileURLToPath(new URL("./raw-llama.ts", import.meta.url)), [], { execArgv: [] });
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => {});
  child.on("exit", (code) => ended.reject(new Error(`Measure the engine failed: its process ended (${code})`)));
  const ask = async (message: RawLoad | RawRound): Promise<RoundResult> => {
    const answer = Promise.withResolvers<{ readonly result: RoundResult }>();
    child.once("message", answer.resolve);
    child.send(message);
    return (await Promise.race([answer.promise, ended.promise])).result;
  };
  await ask(load);
  return { round: ask, close: () => void child.kill() };
}

/** Returns user and system time of a process in hundredths of a second. */
function cpuSecondsOf(pid: number): number {
  if (process.platform !== "linux") return Number.NaN;
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}
