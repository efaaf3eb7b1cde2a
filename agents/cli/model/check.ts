import { stat } from "node:fs/promises";
import { checkDigest } from "../../adapters/model-files/download.ts";
import { modelFile } from "../../adapters/model-files/folder.ts";
import { modelConfigSchema } from "../../adapters/models/config.ts";
import { digestGguf, readGgufHeader } from "../../adapters/models/gguf.ts";
import { createLlamaModel } from "../../adapters/models/llama-model.ts";
import { memoryNeed, usualContext } from "../../adapters/models/memory.ts";
import { peakMemory } from "../../adapters/models/process-memory.ts";
import { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { proposePrompt } from "../../core/prompts/task-prompt.ts";
import { canonicalAnswer } from "../../core/request/answer.ts";
import { KIND_RULES, usesTerm } from "../../core/request/kinds.ts";
import { composeText } from "../../core/request/text.ts";
import { ANSWER_KINDS, type AnswerKind } from "../../core/types.ts";
import type { Model } from "../../ports/model.ts";
import { parseDigest } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { sampleAttempt } from "../../core/request/refusal.ts";
import { grid, printable, rows } from "../shared/output.ts";
import { megabytes } from "../shared/progress.ts";
import { SMALLEST } from "../shared/smallest-terms.ts";

interface Options {
  readonly sha256?: string;
}

/** What a model made of the question of one kind. */
interface Checked {
  readonly kind: AnswerKind;
  readonly question: string;
  /** The canonical answer; null without one. */
  readonly answer: string | null;
  /** Why there is no answer. */
  readonly reason: string | null;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** What made the answer: engine and sampling, with the tokens of thought that the model may spend. */
  readonly engine: string | null;
  readonly sampling: string | null;
  /** Time to the first token, and from there to the last. */
  readonly readMs: number;
  readonly writeMs: number;
}

/** The options of the trial questions that have some. */
const TRIAL_OPTIONS = 3;

/** Answers at the same time. */
const SEQUENCES = 1;

const SHOWN = 40;

export const modelCheck: CommandSpec<Options> = {
  example: "conclave model check smollm2\nconclave model check ./qwen3-8b.gguf --sha256 64_HEX_DIGITS --json",
  options: [{ flags: "--sha256 <hex>", description: "the sha256 that the file must have" }],
  run: async ({ args: [named = ""], options, host }) => {
    const path = modelFile(named, host.cwd, host.environment);
    const header = readGgufHeader(path);
    const wanted = options.sha256 === undefined ? undefined : parseDigest(options.sha256, "--sha256");
    const sha256 = await digestGguf(path);
    if (wanted !== undefined) checkDigest(path, sha256, wanted, "get the right file, or correct --sha256");
    const config = modelConfigSchema.parse({ kind: "llama", path, sha256, sequences: SEQUENCES });
    let pid = 0;
    const startedMs = performance.now();
    const onStart = (started: number): void => void (pid = started);
    const model = await createLlamaModel({ ...(config as Extract<typeof config, { kind: "llama" }>), onStart });
    const loadMs = Math.round(performance.now() - startedMs);
    try {
      const answers: Checked[] = [];
      for (const kind of ANSWER_KINDS) answers.push(await checkKind(model, kind, host.signal));
      const memoryBytes = await peakMemory(pid);
      const { size: bytes } = await stat(path);
      const { architecture, contextLength, thinks } = header;
      const memoryBound = memoryNeed(header, bytes, SEQUENCES, usualContext(header))?.all ?? null;
      const facts = { path, bytes, sha256, model: model.descriptor, architecture, contextLength, thinks };
      const tokensPerSecond = speedOf(answers);
      const json = { ...facts, loadMs, memoryBytes, memoryBound, tokensPerSecond, answers };
      const ok = answers.every(({ answer }) => answer !== null);
      return { json, text: textOf(json), ok };
    } finally {
      await model.close();
    }
  },
};

/** Asks the kind's trial question. Whether the answer is right does not count. */
async function checkKind(model: Model, kind: AnswerKind, signal: AbortSignal): Promise<Checked> {
  const question = KIND_RULES[kind].trial;
  const terms = { ...SMALLEST, kind, options: usesTerm(kind, "options") ? TRIAL_OPTIONS : 0 };
  const attempt = sampleAttempt(terms, question);
  const nothing = { engine: null, sampling: null, promptTokens: 0, outputTokens: 0, readMs: 0, writeMs: 0 };
  try {
    const prompt = proposePrompt(attempt)[model.prompts];
    const request = { ...prompt, seed: 1, maxTokens: limits.modelOutputTokens };
    const {
      fields,
      origin,
      promptTokens,
      outputTokens,
      firstTokenMs: readMs,
      durationMs,
    } = await model.ask(request, signal);
    const given = composeText(fields["answer"] ?? "");
    const answer = canonicalAnswer(attempt.request, given)?.text ?? null;
    const reason = answer === null ? `${JSON.stringify(given)} is no answer of this kind` : null;
    const { engine = null, sampling = null } = origin ?? {};
    const writeMs = Math.max(0, durationMs - readMs);
    return { kind, question, answer, reason, engine, sampling, promptTokens, outputTokens, readMs, writeMs };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ConclaveError && error.code === "MODEL_FAILED")) throw error;
    return { kind, question, answer: null, reason: error.message, ...nothing };
  }
}

/** Tokens written per second; null if no answer came. */
function speedOf(answers: readonly Checked[]): number | null {
  const tokens = answers.reduce((sum, { outputTokens }) => sum + outputTokens, 0);
  const ms = answers.reduce((sum, { writeMs }) => sum + writeMs, 0);
  return ms === 0 ? null : Math.round((10_000 * tokens) / ms) / 10;
}

interface Report {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly model: string;
  readonly architecture: string | null;
  readonly contextLength: number | null;
  readonly thinks: boolean;
  readonly loadMs: number;
  readonly memoryBytes: number | null;
  /** What file, context and engine may take; null if the file does not say how large its context is. */
  readonly memoryBound: number | null;
  readonly tokensPerSecond: number | null;
  readonly answers: readonly Checked[];
}

function textOf(report: Report): string {
  const { path, bytes, sha256, architecture, contextLength, thinks, loadMs, memoryBytes, tokensPerSecond } = report;
  const valid = report.answers.filter(({ answer }) => answer !== null).length;
  const answered = report.answers.find(({ engine }) => engine !== null);
  const head = rows([
    ["file", `${path}, ${megabytes(bytes)}`],
    ["sha256", sha256],
    ["model", printable(report.model)],
    [
      "architecture",
      `${architecture ?? "unknown"}, trained for ${contextLength ?? "an unknown number of"} tokens${thinks ? ", thinks before it answers" : ""}`,
    ],
    ["engine", printable(`${answered?.engine ?? "unknown"} ${answered?.sampling ?? ""}`)],
    [
      "memory",
      memoryBytes === null
        ? "unknown on this system"
        : `${megabytes(memoryBytes)} at most, after ${report.answers.length} answers${boundText(report.memoryBound)}`,
    ],
    [
      "speed",
      `loaded in ${loadMs} ms; ${tokensPerSecond === null ? "no answer came" : `writes ${tokensPerSecond} tokens a second`}`,
    ],
    ["answers", `${valid} of ${report.answers.length} kinds are valid; whether an answer is right is not checked`],
  ]);
  const lines = report.answers.map(({ kind, answer, promptTokens, outputTokens, readMs, writeMs }) => [
    kind,
    answer === null ? "" : printable(shortened(answer)),
    answer === null ? "NO" : "yes",
    `${promptTokens} read, ${outputTokens} written`,
    `${readMs + writeMs} ms`,
  ]);
  const why = report.answers.flatMap(({ kind, reason }) => (reason === null ? [] : [`${kind}: ${printable(reason)}`]));
  return [head, "", grid(["kind", "answer", "valid", "tokens", "time"], lines), ...why].join("\n");
}

function boundText(bound: number | null): string {
  return bound === null ? "" : `; its file, context and engine may take ${megabytes(bound)}`;
}

function shortened(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text;
}
