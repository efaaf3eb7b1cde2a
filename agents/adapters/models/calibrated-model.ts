import { calibratedConfidence } from "../../core/calibration.ts";
import { promptsName } from "../../core/prompts/prompt.ts";
import type { Ppm } from "../../core/types.ts";
import type { HostedModel, Model, ModelResponse } from "../../ports/model.ts";
import { samplesOtherwise } from "./sampling.ts";
import { checkCalibration, strangePart, type CalibrationTable, type Made } from "./calibration-table.ts";

/** Most strangers to report, since a server may name itself anew each time. */
const MAX_STRANGERS = 16;

/**
 * Returns the model with confidences by its table (docs/spec/confidence.md CF6); a property without a curve keeps its
 * confidences. One short answer checks the table now. CF7: a later answer that something else made has no confidence,
 * and `onStrange` hears once of each such maker. Throws CALIBRATION_WRONG, and what asking throws.
 */
export async function calibratedModel(
  model: HostedModel,
  path: string,
  table: CalibrationTable,
  onStrange?: (made: string) => void,
): Promise<HostedModel> {
  checkCalibration(path, table, { model: model.descriptor, prompts: promptsName(model.prompts) });
  checkCalibration(path, table, (await probeModel(model)).origin ?? {});
  const isReported = table.measure === "self-report";
  const reporting = selfReporting(model);
  const strangers = new Set<string>();
  return {
    ...model,
    async ask(request, signal, onToken) {
      const curve = table.curves[request.confidenceOf];
      const asked = isReported && curve !== undefined ? reporting : model;
      const response = await asked.ask(request, signal, onToken);
      const maker: Partial<Made> = response.origin ?? {};
      const strange = strangePart(table, maker);
      if (strange !== null) {
        const isOwnSample = strange === "sampling" && request.isSampled === true && samplesOtherwise(table.sampling);
        if (isOwnSample) return { ...response, confidencePpm: null };
        const made = `${strange} ${JSON.stringify(maker[strange])}`;
        if (!strangers.has(made) && strangers.size < MAX_STRANGERS) {
          strangers.add(made);
          onStrange?.(made);
        }
        return { ...response, confidencePpm: null };
      }
      const raw = response.confidencePpm as Ppm | null;
      if (raw === null || curve === undefined) return response;
      return { ...response, confidencePpm: calibratedConfidence(curve.steps, raw) };
    },
  };
}

const STATED = "statedConfidence";
const STATED_VALUES = Array.from({ length: 11 }, (_, tenth) => String(10 * tenth));
const PPM_PER_PERCENT = 10_000;

/** CF3: asks for one more property, after all others, and takes it as the confidence. */
export function selfReporting<Asked extends Model>(model: Asked): Asked {
  return {
    ...model,
    async ask(request, signal, onToken) {
      const ending = `After all other properties, \`${STATED}\` says in percent how sure you are that \`${request.confidenceOf}\` is right.`;
      const properties = [...request.schema.properties, { name: STATED, enum: STATED_VALUES }];
      const asking = { ...request, system: `${request.system} ${ending}`, schema: { properties } };
      const response = await model.ask(asking, signal, onToken);
      const { [STATED]: stated, ...fields } = response.fields;
      return { ...response, fields, confidencePpm: Number(stated) * PPM_PER_PERCENT };
    },
  };
}

/** Asks for one short answer, which shows its origin and whether it has a confidence. */
export async function probeModel(
  model: Model,
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelResponse> {
  const request = {
    system: "",
    user: "task: propose",
    schema: { properties: [{ name: "answer", enum: ["yes", "no"] }] },
    maxTokens: 64,
    seed: 0,
    confidenceOf: "answer",
  };
  return await model.ask(request, signal);
}
