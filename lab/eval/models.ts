import { basename } from "node:path";
import { probeModel } from "../../agents/adapters/models/calibrated-model.ts";
import { modelConfigSchema } from "../../agents/adapters/models/config.ts";
import { createModel } from "../../agents/adapters/models/create-model.ts";
import { readGgufHeader } from "../../agents/adapters/models/gguf.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { Model } from "../../agents/ports/model.ts";
import type { Variant } from "./answer-book.ts";

/** A GGUF file and the temperature it is sampled at, written `path@temperature`. */
export interface VariantSpec {
  readonly path: string;
  readonly temperature: number;
}

/** All models of the repository. The first is the one that users get; the others err more (models/README.md). */
export const DEFAULT_MODELS = ["small", "tiny", "lean", "slim"]
  .map((name) => `models/conclave-${name}.gguf@1`)
  .join(",");

/** Parses `path@temperature` of a flag, and looks at the file. Throws USAGE. */
export function variantSpecOf(flag: "model" | "models", text: string): VariantSpec {
  const [path = "", heat = "1", ...rest] = text.split("@");
  const temperature = Number(heat);
  if (path === "" || rest.length > 0 || heat === "" || !(temperature >= 0 && temperature <= 2))
    throw wrongModel(flag, text, "write a GGUF file, or file@temperature with 0 to 2");
  requireGguf(flag, text, path);
  return { path, temperature };
}

/** Looks at the file that a flag names. Throws USAGE. */
export function requireGguf(flag: "model" | "models", value: string, path: string): void {
  try {
    readGgufHeader(path);
  } catch (error) {
    if (!(error instanceof ConclaveError)) throw error;
    throw wrongModel(flag, value, `${path} cannot be used (${String(error.data["reason"])}); name a GGUF file`, error);
  }
}

function wrongModel(flag: string, value: string, way: string, cause?: unknown): ConclaveError {
  return new ConclaveError(
    "USAGE",
    `Correct --${flag} ${JSON.stringify(value)}: ${way}`,
    { field: flag, value },
    cause,
  );
}

/** The same files at temperature 0, one for each. */
export function greedyOf(specs: readonly VariantSpec[]): readonly VariantSpec[] {
  return specs.map(({ path }) => ({ path, temperature: 0 }));
}

/** Starts each model in as many processes as answers are made at the same time. If one fails, all are stopped. */
export async function openVariants(specs: readonly VariantSpec[], processes: number): Promise<readonly Variant[]> {
  const opened: Variant[] = [];
  try {
    for (const spec of specs) opened.push(await openVariant(spec, processes));
    return opened;
  } catch (error) {
    await closeAll(opened.flatMap(({ models }) => models));
    throw error;
  }
}

async function openVariant({ path, temperature }: VariantSpec, processes: number): Promise<Variant> {
  const config = modelConfigSchema.parse({ kind: "llama", path, temperature, sequences: 1, threads: 1, gpu: false });
  const models: Model[] = [];
  try {
    for (let count = 0; count < processes; count++) models.push(await createModel(config));
    const { descriptor } = models[0] as Model;
    return {
      label: `${basename(path)} at temperature ${temperature}`,
      key: `${descriptor} ${await engineOf(models[0] as Model)}`,
      isGreedy: temperature === 0,
      models,
    };
  } catch (error) {
    await closeAll(models);
    throw error;
  }
}

async function closeAll(models: readonly Model[]): Promise<void> {
  await Promise.all(models.map(async (model) => await model.close()));
}

/** Engine and sampling are known only from an answer; other ones answer differently. */
async function engineOf(model: Model): Promise<string> {
  const { origin } = await probeModel(model);
  return origin === undefined ? "" : `${origin.engine} ${origin.sampling}`;
}
