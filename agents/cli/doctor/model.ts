import { stat } from "node:fs/promises";
import { quoted } from "../../adapters/http.ts";
import { checkCalibration, readCalibration } from "../../adapters/models/calibration-table.ts";
import type { ModelConfig } from "../../adapters/models/config.ts";
import { openAiEndpointOf } from "../../adapters/models/create-model.ts";
import { checkContext, checkTemplate, describeGguf, digestGguf, readGgufHeader } from "../../adapters/models/gguf.ts";
import { memoryNeed, usualContext, type MemoryNeed } from "../../adapters/models/memory.ts";
import { probeEngine, probeFile } from "../../adapters/models/llama-probe.ts";
import type { OpenAiEndpoint } from "../../adapters/models/openai-model.ts";
import { askOnce, lacksModel, listModels } from "../../adapters/models/openai-probe.ts";
import { ConclaveError } from "../../core/errors.ts";
import { promptsName } from "../../core/prompts/prompt.ts";
import type { CliHost } from "../shared/command.ts";
import { check, fail, ok, warn, type Check, type Finding } from "./checks.ts";
import { wayOutOf } from "../shared/reasons.ts";
import { KNOWS_TOYS, TOY_FAMILIES } from "../shared/toy-questions.ts";
import { gpuBuildWay, ownPlace } from "./engine-builds.ts";

const ENGINE_MS = 120_000;
const SHOWN_MODELS = 8;
const LIST_MS = 10_000;
const QUESTION_MS = 60_000;
/** Tokens that the longest prompts need. */
const LEAST_CONTEXT = 4096;

type LlamaConfig = Extract<ModelConfig, { kind: "llama" }>;
type ServerConfig = Extract<ModelConfig, { kind: "openai" }>;

/**
 * Checks the model's file and engine, or every server that may be asked.
 * @param graceMs how long a seat waits for the others once more than 2/3 have spoken
 */
export async function examineModel(model: ModelConfig, graceMs: number, host: CliHost): Promise<readonly Check[]> {
  if (model.kind === "openai") return examineServers(model, graceMs, host);
  return [await examineFile(model, host), ...examineKnowledge(model), await examineEngine(model.gpu, host)];
}

/** Warns of a model that knows toy questions only; of a file that cannot be read, its own check says why. */
function examineKnowledge({ path, prompts }: LlamaConfig): readonly Check[] {
  try {
    if ((prompts ?? readGgufHeader(path).prompts) !== "small") return [];
  } catch (error) {
    if (error instanceof ConclaveError) return [];
    throw error;
  }
  const fact = `the model ${KNOWS_TOYS}. They are: ${TOY_FAMILIES}`;
  return [{ name: "questions", ...warn(fact, "for other questions choose a model as docs/models.md says") }];
}

function examineFile(model: LlamaConfig, host: CliHost): Promise<Check> {
  return check("model", async () => {
    const header = readGgufHeader(model.path);
    checkTemplate(model.path, header);
    checkContext(model.path, header, model);
    const descriptor = describeGguf(header, await digestGguf(model.path, model.sha256));
    const patience = AbortSignal.timeout(ENGINE_MS);
    const loads = await probeFile(
      model.path,
      header,
      model.thinkingTokens ?? 0,
      descriptor,
      AbortSignal.any([host.signal, patience]),
    );
    host.signal.throwIfAborted();
    const { thinkingTokens = 0, sequences } = model;
    const context = model.contextSize ?? usualContext(header, model.thinkingTokens);
    const { size } = await stat(model.path);
    const memory = memoryText(memoryNeed(header, size, sequences, context), sequences);
    const fact = `${model.path} is a GGUF file: ${descriptor}, ${context} tokens of context${memory}`;
    if (!loads)
      return warn(
        `${fact}; it was not loaded within ${ENGINE_MS / 1000} s`,
        "start the agent and see whether it loads",
      );
    if (context - thinkingTokens >= LEAST_CONTEXT) return ok(`${fact}; it loads`);
    const thoughts = thinkingTokens === 0 ? "" : ` beside ${thinkingTokens} of thought`;
    return warn(
      `${fact}; prompts may need ${LEAST_CONTEXT}${thoughts}`,
      "for real questions raise model.contextSize, if it is set, or choose a model with a longer context",
    );
  });
}

function memoryText(need: MemoryNeed | null, sequences: number): string {
  if (need === null) return "";
  const mebibytes = (bytes: number): number => Math.ceil(bytes / 2 ** 20);
  const contexts = `${sequences === 1 ? "its context" : `${sequences} contexts`} ${mebibytes(need.contexts)}`;
  return `, at most ${mebibytes(need.all)} MiB of memory (the file twice ${mebibytes(need.file)}, ${contexts})`;
}

async function examineServers(model: ServerConfig, graceMs: number, host: CliHost): Promise<readonly Check[]> {
  const checks: Check[] = [];
  for (const [index, one] of [model, ...model.fallbacks].entries()) {
    const name = index === 0 ? "model" : `model.fallbacks.${index - 1}`;
    const found = await check(name, async () => {
      return examineServer(await openAiEndpointOf(one, name, host.environment), model, graceMs, host);
    });
    const file = one.apiKeyFile === undefined ? null : await examineKeyFile(`${name}.apiKeyFile`, one.apiKeyFile);
    checks.push(found, ...(file === null ? [] : [file]));
  }
  return checks;
}

/**
 * Checks who may read the key file; null if there is no file, which the check of the server reports. Only a warning,
 * since secrets mounted into containers are often readable.
 */
async function examineKeyFile(name: string, path: string): Promise<Check | null> {
  const found = await stat(path).catch(() => null);
  if (found === null || process.platform === "win32") return null;
  const mode = (found.mode & 0o777).toString(8).padStart(3, "0");
  if ((found.mode & 0o077) === 0) return { name, ...ok(`only its owner may read ${path}`) };
  return { name, ...warn(`others may read or change ${path} (its mode is ${mode})`, `chmod 600 ${path}`) };
}

/**
 * Checks that the server answers, takes the key, has the model and holds it to a schema: it reads the list of models
 * and asks one short question.
 */
async function examineServer(
  endpoint: OpenAiEndpoint,
  model: ServerConfig,
  graceMs: number,
  host: CliHost,
): Promise<Finding> {
  const { timeoutMs } = model;
  let names: readonly string[] | null = null;
  try {
    names = await listModels(endpoint, LIST_MS, host.signal);
    if (names !== null && lacksModel(endpoint, names)) return failWithout(endpoint, names);
    const questionMs = Math.min(timeoutMs, QUESTION_MS);
    const before = performance.now();
    const { confidencePpm, origin } = await askOnce(endpoint, model, questionMs, host.signal);
    const tookMs = performance.now() - before;
    const confidence = confidencePpm === null ? "gives no token probabilities" : "gives token probabilities";
    const fact = `${origin?.model} at ${new URL(endpoint.baseUrl).origin} answers by a JSON schema and ${confidence}`;
    const { thinkingTokens = 0 } = model;
    if (thinkingTokens === 0 || origin?.sampling.includes("thinking=") === true)
      return withSpeed(fact, tookMs, graceMs);
    return warn(
      `${fact}, but only without thought: ${thinkingTokens} tokens do not fit into its context, or it used them up and said nothing`,
      "change model.thinkingTokens, or let the server give the model a longer context",
    );
  } catch (error) {
    host.signal.throwIfAborted();
    if (!(error instanceof ConclaveError)) throw error;
    return unanswered(endpoint, names, error);
  }
}

/** Warns of a model that the other seats may not wait for. */
function withSpeed(fact: string, tookMs: number, graceMs: number): Finding {
  if (tookMs <= graceMs) return ok(fact);
  const seconds = (ms: number): string => `${Math.ceil(ms / 100) / 10} s`;
  return warn(
    `${fact}; one short question took it ${seconds(tookMs)}, and where most others of a committee are quicker they wait ${seconds(graceMs)} more (timing.graceMs)`,
    "lower model.thinkingTokens, or take a quicker server: a seat that is too late has no answer",
  );
}

/** Explains a failed question. `names`: the models that the server lists; null if it lists none. */
function unanswered(endpoint: OpenAiEndpoint, names: readonly string[] | null, error: ConclaveError): Finding {
  const others = names === null || names.includes(endpoint.model) ? "" : `; ${namesText(endpoint, names)}`;
  const message = `${error.code}: ${error.message}${others}`;
  const { kind } = error.data;
  if (kind === "rate-limit" || (kind === "timeout" && names !== null))
    return warn(message, "ask again later: the server is there, whether it can be used is not known");
  return fail(message, wayOutOf(error));
}

function failWithout(endpoint: OpenAiEndpoint, names: readonly string[]): Finding {
  const place = new URL(endpoint.baseUrl).origin;
  const message = `MODEL_FAILED: the server at ${place} has no model ${JSON.stringify(endpoint.model)}; ${namesText(endpoint, names)}`;
  return fail(message, "correct model in the config, or let the server serve it");
}

function namesText({ apiKey }: OpenAiEndpoint, names: readonly string[]): string {
  if (names.length === 0) return "it lists none";
  const some = quoted(names.slice(0, SHOWN_MODELS).join(", "), apiKey);
  return `it lists ${some}${names.length > SHOWN_MODELS ? " and more" : ""}`;
}

/**
 * CF6, CF7: checks that there is a calibration table and that it belongs to the embedded model; for a server only its
 * answers can tell.
 */
export function examineConfidence(model: ModelConfig): Promise<Check> {
  return check("confidence", async () => {
    const { calibration } = model;
    if (calibration === undefined)
      return ok("as the model gives it: there is no calibration table (conclave calibrate)");
    const table = await readCalibration(calibration);
    if (model.kind === "llama") {
      const header = readGgufHeader(model.path);
      const descriptor = describeGguf(header, await digestGguf(model.path, model.sha256));
      const prompts = promptsName(model.prompts ?? header.prompts);
      checkCalibration(calibration, table, { model: descriptor, prompts });
    }
    return ok(
      `by ${calibration}: ${table.questions.count} questions of ${table.date}, ${table.measure}; its engine and sampling are compared when the agent starts`,
    );
  });
}

/** Checks which backend the embedded model runs on, and says how to get a better one. */
function examineEngine(gpu: "auto" | false, host: CliHost): Promise<Check> {
  return check("engine", async () => {
    const report = await probeEngine(AbortSignal.any([host.signal, AbortSignal.timeout(ENGINE_MS)]));
    const { backend, devices, vramBytes, cores, drivers } = report;
    if (backend !== "cpu" && gpu !== false)
      return ok(`${backend}: ${devices.join(", ")}, ${(vramBytes / 2 ** 30).toFixed(1)} GiB`);
    if (gpu === false) return ok(`the CPU, ${cores} cores, as model.gpu says`);
    const cpu = `the CPU, ${cores} cores`;
    const way = gpuBuildWay(report, ownPlace());
    if (drivers.length === 0) return ok(`${cpu}: no driver of a GPU is found; with one, ${way}`);
    return warn(`${cpu}, although there is a driver for ${drivers.join(", ")}`, way);
  });
}
