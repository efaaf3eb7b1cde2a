// Tokens per second of k seats that share one embedded model, beside those of the engine with k sequences, measured in one run.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import Table from "cli-table3";

import { readGgufHeader } from "../../agents/adapters/models/gguf.ts";
import { renderFields } from "../../agents/core/prompts/prompt.ts";
import { measureSeats, type SeatsReport } from "./models.ts";

const models = join(import.meta.dirname, "../../models");

const help = `Usage: npm run bench:models -- [--json] [--seats K,...] [--rounds N] [--questions N] [--threads N] [--model FILE] [--help]

For each number of seats: rounds of the held-out yes-no questions of the small model, in turns through the engine (node-llama-cpp, one
context, as many sequences as seats, greedy), through the same held to the answer's grammar, and through the agents' model host, which
also makes text, checks it and measures confidence, but does not generate tokens that the schema leaves no choice about. Ratios are of
rounds that follow each other; their medians are given. On a busy machine those by CPU time (Linux only) are the steadier ones; they count
the asking process, too.

  --seats K,...     default 1,4,8
  --rounds N        default 7
  --questions N     of all seats in a round (default 48)
  --threads N       of the engine (default 1)
  --model FILE      another GGUF file that knows the same prompts
  --json            one JSON object instead of a table

Example: npm run -s bench:models -- --json`;

async function main(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      json: { type: "boolean", default: false },
      seats: { type: "string", default: "1,4,8" },
      rounds: { type: "string", default: "7" },
      questions: { type: "string", default: "48" },
      threads: { type: "string", default: "1" },
      model: { type: "string", default: join(models, "conclave-small.gguf") },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(`${help}\n`);
    return 0;
  }
  const workload = {
    path: values.model,
    threads: count("--threads", values.threads, 256),
    rounds: count("--rounds", values.rounds, 1000),
    questionsPerRound: count("--questions", values.questions, 1000),
    contextSize: 1024,
    users: heldOutPrompts(),
    schema: {
      properties: [
        { name: "proof", maxLength: 512 },
        { name: "answer", enum: ["yes", "no"] },
      ],
    },
    confidenceOf: "answer",
    maxTokens: 256,
  };
  readGgufHeader(workload.path);
  const reports: SeatsReport[] = [];
  for (const seats of values.seats.split(",").map((one) => count("--seats", one, 64))) {
    process.stderr.write(`${seats} seats ...\n`);
    reports.push(await measureSeats({ ...workload, seats }));
  }
  const { threads, rounds, questionsPerRound } = workload;
  const report = {
    unit: "tokens per second",
    node: process.versions.node,
    threads,
    rounds,
    questionsPerRound,
    reports,
  };
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : asText(reports));
  return 0;
}

function heldOutPrompts(): readonly string[] {
  const rows = JSON.parse(readFileSync(join(models, "held-out.json"), "utf8")) as readonly {
    readonly kind: string;
    readonly question: string;
    readonly sources?: readonly string[];
  }[];
  return rows
    .filter(({ kind, sources }) => kind === "boolean" && sources === undefined)
    .map(({ kind, question }) =>
      renderFields([
        ["task", "propose", "trusted"],
        ["kind", kind, "trusted"],
        ["question", question, "untrusted"],
      ]),
    );
}

function count(name: string, text: string, most: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new Error(`Give ${name} a whole number from 1 to ${most}, not "${text}"`);
}

function asText(reports: readonly SeatsReport[]): string {
  const table = new Table({
    head: ["seats", "engine", "with grammar", "host", "host / engine", "by CPU time", "host / grammar", "first token"],
    style: { head: [], border: [] },
    colAligns: Array.from({ length: 8 }, () => "right" as const),
  });
  for (const { seats, engine, constrained, host, firstTokenMs, ...ratios } of reports) {
    const rates = [engine, constrained, host].map(({ tokensPerSecond }) => Math.round(tokensPerSecond));
    const compared = [ratios.hostToEngine, ratios.hostToEngineByCpu, ratios.hostToConstrained].map(
      ({ median, lowest, highest }) => `${median.toFixed(2)} (${lowest.toFixed(2)} to ${highest.toFixed(2)})`,
    );
    table.push([seats, ...rates, ...compared, `${Math.round(firstTokenMs)} ms`]);
  }
  return `${table.toString()}\nTokens per second; medians over the rounds.\n`;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 2;
}
