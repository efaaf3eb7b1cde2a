import { access, constants } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { modelFile } from "../../adapters/model-files/folder.ts";
import { probeModel, selfReporting } from "../../adapters/models/calibrated-model.ts";
import { writeCalibration, type CalibrationTable } from "../../adapters/models/calibration-table.ts";
import { modelConfigSchema, type ModelConfig } from "../../adapters/models/config.ts";
import { createModel } from "../../adapters/models/create-model.ts";
import { promptsName } from "../../core/prompts/prompt.ts";
import type { Model } from "../../ports/model.ts";
import { parseInteger, usage } from "../shared/arguments.ts";
import { measureModel } from "./measure.ts";
import { knownSource, readKnown, readQuestions, type KnownQuestion } from "./questions.ts";
import type { CliHost, CommandSpec } from "../shared/command.ts";
import { CONFIG_FILE, DEFAULT_DIR, loadAgentConfig } from "../shared/config.ts";
import { grid, printable, rows } from "../shared/output.ts";

interface Options {
  readonly dir?: string;
  readonly model?: string;
  readonly temperature?: string;
  readonly questions?: string;
  readonly families?: string;
  readonly samples: string;
  readonly seed: string;
  readonly jobs: string;
  readonly out?: string;
}

const PROGRESS_STEPS = 20;

export const calibrate: CommandSpec<Options> = {
  example: [
    "conclave calibrate --dir ./my-agent --questions known.jsonl",
    "conclave calibrate --model models/conclave-small.gguf --temperature 1 --out calibration.json --json",
    `# a line of known.jsonl: {"question":"Is 7 odd?","kind":"boolean","answer":"yes","wrong":"no"}`,
  ].join("\n"),
  options: [
    { flags: "--dir <dir>", description: `the agent's folder, whose model is measured (default: ${DEFAULT_DIR})` },
    {
      flags: "--model <file>",
      description: "or a GGUF file or the name of a pulled model, with the settings that a config has by default",
    },
    { flags: "--temperature <number>", description: "temperature of --model (default: 0)" },
    {
      flags: "--questions <file>",
      description:
        "JSON lines with question, kind and answer, perhaps proof, wrong and wrongProof (default: held-out questions of the families that the embedded model knows)",
    },
    { flags: "--families <list>", description: "only these of the families that the embedded model knows" },
    {
      flags: "--samples <number>",
      description:
        "times that every question is asked, with other seeds; 1 at temperature 0, where all would be the same",
      default: "1",
    },
    {
      flags: "--seed <number>",
      description: "seed of the calls and of the choice of the held-out fifth",
      default: "1",
    },
    {
      flags: "--jobs <number>",
      description: "calls at the same time; beside others the last digits of probabilities may differ",
      default: "1",
    },
    { flags: "--out <file>", description: "where the table goes (default: calibration.json in the agent's folder)" },
  ],
  run: async ({ options, host, tell }) => {
    const samples = parseInteger(options.samples, "--samples", 1, 1000);
    const seed = parseInteger(options.seed, "--seed", 0, 2 ** 31 - 1);
    const jobs = parseInteger(options.jobs, "--jobs", 1, 64);
    const { config, path } = await placeOf(options, host);
    if (samples > 1 && config.temperature === 0)
      throw usage("--samples", options.samples, "at temperature 0 each would be the same answer; give 1");
    await access(dirname(path), constants.W_OK).catch(() => {
      throw usage("--out", path, "its folder is not there, or cannot be written");
    });
    const model = await createModel(config, host.environment);
    const close = (): void => void model.close();
    host.signal.addEventListener("abort", close, { once: true });
    try {
      const { source, questions } = await questionsFor(options, model, host);
      const { origin, confidencePpm } = await probeModel(model);
      const { engine = "", sampling = "" } = origin ?? {};
      const prompts = promptsName(model.prompts);
      const made = { model: origin?.model ?? model.descriptor, engine, sampling, prompts };
      const measure = confidencePpm === null ? "self-report" : "token-probability";
      tell(`${questions.length} questions for ${printable(model.descriptor)}, confidence by ${measure}`);
      const asked = measure === "self-report" ? selfReporting(model) : model;
      const measurement = { questions, samples, seed, jobs };
      const measured = await measureModel(asked, made, measurement, host.signal, teller(tell));
      const table: CalibrationTable = {
        schema: 1,
        ...made,
        measure,
        questions: { source, count: questions.length, samples },
        failed: measured.failed,
        seed,
        date: new Date().toISOString().slice(0, 10),
        curves: { ...measured.curves },
      };
      await writeCalibration(path, table);
      return { json: { path, table }, text: textOf(path, table) };
    } finally {
      host.signal.removeEventListener("abort", close);
      await model.close();
    }
  },
};

async function placeOf(
  { dir, model, temperature, out }: Options,
  { cwd, environment }: CliHost,
): Promise<{ readonly config: ModelConfig; readonly path: string }> {
  if (dir !== undefined && model !== undefined) throw usage("--model", model, "give --dir or --model, not both");
  if (model === undefined) {
    if (temperature !== undefined)
      throw usage("--temperature", temperature, "an agent's is in its config; give --model");
    const folder = resolve(cwd, dir ?? DEFAULT_DIR);
    const { calibration: _, ...config } = (await loadAgentConfig(resolve(folder, CONFIG_FILE))).model;
    return { config, path: out === undefined ? resolve(folder, "calibration.json") : resolve(cwd, out) };
  }
  const heat = Number(temperature ?? "0");
  if (temperature === "" || !(heat >= 0 && heat <= 2))
    throw usage("--temperature", temperature ?? "", "give a number from 0 to 2");
  const config = modelConfigSchema.parse({
    kind: "llama",
    path: modelFile(model, cwd, environment),
    temperature: heat,
  });
  return { config, path: resolve(cwd, out ?? "calibration.json") };
}

async function questionsFor(
  { questions, families }: Options,
  { descriptor }: Model,
  { cwd }: CliHost,
): Promise<{ readonly source: string; readonly questions: readonly KnownQuestion[] }> {
  if (questions !== undefined) {
    if (families !== undefined) throw usage("--families", families, "a file of questions has none");
    return { source: questions, questions: await readQuestions(resolve(cwd, questions)) };
  }
  const wanted = families?.split(",").filter((family) => family !== "") ?? null;
  const path = knownSource(descriptor);
  return { source: `held-out ${wanted?.join(",") ?? "all families"}`, questions: await readKnown(path, wanted) };
}

function teller(tell: (line: string) => void): (done: number, of: number) => void {
  return (done, of) => {
    if (done === of || done % Math.ceil(of / PROGRESS_STEPS) === 0) tell(`${done} of ${of} answers`);
  };
}

function textOf(path: string, table: CalibrationTable): string {
  const { model, engine, sampling, measure, questions, failed, curves } = table;
  const head = rows([
    ["table", path],
    ["model", printable(model)],
    ["engine", printable(`${engine} ${sampling}`)],
    ["confidence", measure],
    ["questions", `${questions.count}, each ${questions.samples} times; ${failed} calls without an answer`],
  ]);
  const lines = Object.entries(curves).map(([property, curve]) => [
    property,
    String(curve.fitted),
    String(curve.heldOut),
    `${curve.brier.before.toFixed(4)} -> ${curve.brier.after.toFixed(4)}`,
    `${curve.expectedCalibrationError.before.toFixed(4)} -> ${curve.expectedCalibrationError.after.toFixed(4)}`,
    curve.steps.map(({ from, right, of }) => `${(from / 1e6).toFixed(3)}: ${right}/${of}`).join(", "),
  ]);
  const measured = grid(["confidence of", "fitted", "held out", "Brier score", "calibration error", "steps"], lines);
  return `${head}\n\n${measured}\n\nAn agent uses it when its config says "calibration": ${JSON.stringify(path)} under "model".`;
}
