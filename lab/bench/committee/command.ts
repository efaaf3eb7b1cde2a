// Decisions of a committee whose seats share one embedded model, as the seats of one agent do, with the time and the tokens that they take.
import { join } from "node:path";
import Table from "cli-table3";
import { InvalidArgumentError, type Command } from "commander";
import { probeModel } from "../../../agents/adapters/models/calibrated-model.ts";
import { modelConfigSchema } from "../../../agents/adapters/models/config.ts";
import { createModel } from "../../../agents/adapters/models/create-model.ts";
import { limits } from "../../../agents/core/limits.ts";
import { mbft } from "../../../agents/core/protocols/mbft/index.ts";
import { protocolById, protocols } from "../../../agents/core/protocols/index.ts";
import type { Protocol } from "../../../agents/core/protocol.ts";
import type { Model } from "../../../agents/ports/model.ts";
import { between, toolCommand } from "../../../scripts/shared/arguments.ts";
import { answerOf } from "../../eval/answer-book.ts";
import { deliberate } from "../../eval/deliberate.ts";
import { requireGguf } from "../../eval/models.ts";
import { questionsOf, type Question } from "../../eval/question.ts";

const DEFAULT_MODEL = join(import.meta.dirname, "../../../models/conclave-small.gguf");

const PROTOCOLS = protocols.map(({ id }) => id).join(", ");

interface Flags {
  readonly seats: readonly number[];
  readonly questions: number;
  readonly protocol?: Protocol;
  readonly threads: number;
  readonly model: string;
  readonly gpu?: true;
  readonly json?: true;
}

interface Report {
  readonly seats: number;
  /** The engine with its backend, e.g. "node-llama-cpp@3.21.1 llama.cpp@v0.4.0 vulkan". */
  readonly engine: string;
  readonly decided: number;
  readonly right: number;
  readonly calls: number;
  readonly failedCalls: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** From the first question to the last decision, with the loaded model. */
  readonly seconds: number;
}

function commandLine(): Command {
  return toolCommand("bench:committee")
    .description(
      "For each number of seats: lets a committee decide yes-no questions with known answers, one after the other. All seats share one embedded model in its process, which generates as many answers at once as there are seats. Counts the prompts' and the answers' tokens of all calls.",
    )
    .option("--seats <list>", "numbers of seats, 4 to 64", (text) => text.split(",").map(between(4, 64)), [4, 7])
    .option("--questions <n>", "number of questions, 1 to 1000", between(1, 1000), 10)
    .option("--protocol <id>", `one of ${PROTOCOLS} (default: mbft)`, protocolOf)
    .option("--threads <n>", "threads of the engine, 1 to 256", between(1, 256), 1)
    .option("--model <file>", "a GGUF file", DEFAULT_MODEL)
    .option("--gpu", "let the engine take a GPU, as agents do; without it, the CPU")
    .option("--json", "print one JSON object instead of a table")
    .addHelpText("after", "\nExample:\n  npm run -s bench:committee -- --seats 4 --questions 5 --json\n");
}

function protocolOf(id: string): Protocol {
  const protocol = protocolById(id);
  if (protocol === null) throw new InvalidArgumentError(`Choose one of ${PROTOCOLS}.`);
  return protocol;
}

/** Measures and prints, and returns the exit code. Throws CommanderError, USAGE, and what opening the model throws. */
export async function main(argv: readonly string[]): Promise<number> {
  const flags = commandLine().parse(argv, { from: "user" }).opts<Flags>();
  const { protocol = mbft } = flags;
  requireGguf("model", flags.model, flags.model);
  // One more, which warms the engine up.
  const questions = questionsOf("policy", flags.questions + 1, 1);
  const reports: Report[] = [];
  for (const seats of flags.seats) {
    process.stderr.write(`${seats} seats ...\n`);
    reports.push(await measure(flags, protocol, questions, seats));
  }
  const { threads, model } = flags;
  const report = { protocol: protocol.id, model, threads, questions: flags.questions, reports };
  process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : asText(reports));
  return 0;
}

async function measure(
  { model: path, threads, gpu }: Flags,
  protocol: Protocol,
  [warmUp, ...questions]: readonly Question[],
  seats: number,
): Promise<Report> {
  const config = { kind: "llama", path, sequences: seats, threads };
  const model = await createModel(modelConfigSchema.parse({ ...config, gpu: gpu === true ? "auto" : false }));
  try {
    const { origin } = await probeModel(model);
    const counts = { calls: 0, failedCalls: 0, promptTokens: 0, outputTokens: 0 };
    const decide = async (question: Question): Promise<string | null> => {
      const committee = { seats, bad: new Map(), misled: new Set<never>(), assurance: "normal" } as const;
      return (await deliberate(protocol, question, committee, panelOf(model, counts), 1)).answer;
    };
    await decide(warmUp as Question);
    Object.assign(counts, { calls: 0, failedCalls: 0, promptTokens: 0, outputTokens: 0 });
    const startMs = performance.now();
    const answers: (string | null)[] = [];
    for (const question of questions) answers.push(await decide(question));
    const seconds = (performance.now() - startMs) / 1000;
    const decided = answers.filter((answer) => answer !== null).length;
    const right = answers.filter((answer, index) => answer === questions[index]?.truth).length;
    return { seats, engine: origin?.engine ?? "", decided, right, ...counts, seconds };
  } finally {
    await model.close();
  }
}

/** All seats ask the one model, with seeds of their own. */
function panelOf(
  model: Model,
  counted: { calls: number; failedCalls: number; promptTokens: number; outputTokens: number },
): Parameters<typeof deliberate>[3] {
  return {
    prompts: model.prompts,
    async ask(seat, { system, user, schema, confidenceOf, isSampled }) {
      counted.calls += 1;
      const maxTokens = limits.modelOutputTokens;
      const request = { system, user, schema, confidenceOf, ...(isSampled && { isSampled }), maxTokens, seed: seat };
      const answer = await answerOf(model, request);
      if (answer.kind === "failed") counted.failedCalls += 1;
      else {
        counted.promptTokens += answer.promptTokens;
        counted.outputTokens += answer.outputTokens;
      }
      return answer;
    },
  };
}

function asText(reports: readonly Report[]): string {
  const table = new Table({
    head: [
      "seats",
      "engine",
      "decided",
      "right",
      "calls",
      "without answer",
      "prompt tokens/s",
      "answer tokens/s",
      "s per decision",
    ],
    style: { head: [], border: [] },
  });
  for (const { seats, engine, decided, right, calls, failedCalls, promptTokens, outputTokens, seconds } of reports) {
    const rates = [promptTokens, outputTokens].map((tokens) => Math.round(tokens / seconds));
    table.push([
      seats,
      engine,
      decided,
      right,
      calls,
      failedCalls,
      ...rates,
      (seconds / Math.max(1, decided)).toFixed(2),
    ]);
  }
  return `${table.toString()}\n`;
}
