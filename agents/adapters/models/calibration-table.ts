import { readFile, rename, writeFile } from "node:fs/promises";
import { z } from "zod";

import { ConclaveError } from "../../core/errors.ts";
import type { Origin } from "../../core/prompt.ts";

const ppm = z.int().min(0).max(1_000_000);
const count = z.int().min(0).max(10_000_000);
const score = z.strictObject({ before: z.number().min(0).max(1), after: z.number().min(0).max(1) });

const curveSchema = z.strictObject({
  /** Answers that the steps rest on, and answers that they were tried on. */
  fitted: count,
  heldOut: count,
  steps: z
    .array(z.strictObject({ from: ppm, right: count, of: count.min(1) }))
    .min(1)
    .max(10_000)
    .refine(
      (steps) => steps.every(({ from }, index) => index === 0 || from > (steps[index - 1]?.from ?? 0)),
      "expected steps in rising order of from",
    )
    .refine((steps) => steps.every(({ right, of }) => right <= of), "expected right to be at most of"),
  /** Of the held-out answers: raw, and by the steps. */
  brier: score,
  expectedCalibrationError: score,
});

/** The file that `conclave calibrate` writes (docs/spec/confidence.md CF4). */
const tableSchema = z.strictObject({
  schema: z.literal(1),
  model: z.string().min(1).max(200),
  engine: z.string().max(200),
  sampling: z.string().max(200),
  measure: z.enum(["token-probability", "self-report"]),
  questions: z.strictObject({ source: z.string().max(4096), count, samples: count }),
  /** Calls without an answer. */
  failed: count,
  seed: z.int().min(0),
  date: z.iso.date(),
  /** By the property whose confidence it is: "answer", "verdict". */
  curves: z.record(z.string().min(1).max(64), curveSchema),
});

export type CalibrationTable = z.infer<typeof tableSchema>;
export type CalibrationCurve = z.infer<typeof curveSchema>;

const MAX_BYTES = 1 << 22;

/** Throws CONFIG_MISSING, or CONFIG_INVALID that names the field. */
export async function readCalibration(path: string): Promise<CalibrationTable> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    const message = `Read the calibration table ${path} failed; make one with conclave calibrate, or correct model.calibration`;
    throw new ConclaveError("CONFIG_MISSING", message, { path }, error);
  });
  const parsed = tableSchema.safeParse(text.length > MAX_BYTES ? null : parseJson(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join(".") ?? "";
  const message = `Check the calibration table ${path} failed at ${field === "" ? "the top level" : field}: ${issue?.message ?? "invalid"}; make it anew with conclave calibrate`;
  throw new ConclaveError("CONFIG_INVALID", message, { path, field });
}

/** Whole or not at all. */
export async function writeCalibration(path: string, table: CalibrationTable): Promise<void> {
  const draft = `${path}.new`;
  await writeFile(draft, `${JSON.stringify(tableSchema.parse(table), null, 2)}\n`);
  await rename(draft, path);
}

/** CF7: throws CALIBRATION_WRONG unless the table is of what made the answer. */
export function checkCalibration(path: string, table: CalibrationTable, made: Partial<Origin>): void {
  for (const part of ["model", "engine", "sampling"] as const) {
    const found = made[part];
    if (found === undefined || found === table[part]) continue;
    const message = `Use the calibration table ${path} failed: it is of the ${part} ${JSON.stringify(table[part])}, not ${JSON.stringify(found)}; make it anew with conclave calibrate, or remove model.calibration`;
    throw new ConclaveError("CALIBRATION_WRONG", message, { path, part, table: table[part], found });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
