// Tokens per second of k seats that share one embedded model, beside those of the engine with k sequences, measured in one run.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Table from "cli-table3";
import type { Command } from "commander";

import { between, toolCommand } from "../../../scripts/shared/arguments.ts";
import { renderFields } from "../../../agents/core/prompts/prompt.ts";
import { requireGguf } from "../../eval/models.ts";
import { measureSeats, type SeatsReport } from "./rounds.ts";

const models = join(import.meta.dirname, "../../../models");

interface Flags {
  readonly seats: readonly number[];
  readonly rounds: number;
  readonly questions: number;
  readonly threads: number;
  readonly model: string;
  readonly gpu?: true;
  readonly json?: true;
}

function commandLine(): Command {
  return toolCommand("bench:models")
    .description(
      "Measures tokens per second of seats that share one embedded model. For each number of seats it asks rounds of the held-out yes-no questions of the small model in three ways, in turns: through the engine (node-llama-cpp, one context, as many sequences as seats, greedy); through the engine, held to the answer's grammar; and through the agents' model host, which also makes text, checks it and measures confidence, but does not generate tokens that the schema leaves no choice about. A ratio compares rounds that follow each other; the report gives the median. On a busy machine the ratios by CPU time (Linux only) are steadier; they count the asking process, too.",
    )
    .option("--seats <list>", "numbers of seats, 1 to 64", (text) => text.split(",").map(between(1, 64)), [1, 4, 8])
    .option("--rounds <n>", "number of rounds, 1 to 1000", between(1, 1000), 7)
    .option("--questions <n>", "questions of all seats in a round, 1 to 1000", between(1, 1000), 48)
    .option("--threads <n>", "threads of the engine, 1 to 256", between(1, 256), 1)
    .option("--model <file>", "another GGUF file that knows the same prompts", join(models, "conclave-small.gguf"))
    .option("--gpu", "let the engine take a GPU, as agents do; without it, the CPU")
    .option("--json", "print one JSON object instead of a table")
    .addHelpText("after", "\nExample:\n  npm run -s bench:models -- --json\n");
}

/** Measures and prints, and returns the exit code. Throws CommanderError, USAGE, and what opening the model throws. */
export async function main(argv: readonly string[]): Promise<number> {
  const flags = commandLine().parse(argv, { from: "user" }).opts<Flags>();
  const workload = {
    path: flags.model,
    threads: flags.threads,
    gpu: flags.gpu === true ? ("auto" as const) : (false as const),
    rounds: flags.rounds,
    questionsPerRound: flags.questions,
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
  requireGguf("model", flags.model, flags.model);
  const reports: SeatsReport[] = [];
  for (const seats of flags.seats) {
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
  process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : asText(reports));
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
  return `${table.toString()}\nTokens per second; medians over the rounds. Engine: ${reports[0]?.runsOn}\n`;
}
