import { open, rename, stat, writeFile } from "node:fs/promises";
import { z } from "zod";

import { BIN_ANSWERS, isBelow, LEAST_QUESTIONS } from "../../core/calibration.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Origin } from "../../core/prompts/prompt.ts";
import { parseJson } from "../json.ts";

const ppm = z.int().min(0).max(1_000_000);
const count = z.int().min(0).max(10_000_000);
const score = z.strictObject({ before: z.number().min(0).max(1), after: z.number().min(0).max(1) });

const curveSchema = z.strictObject({
  /** Answers that the steps were fitted to, and answers that they were tried on. */
  fitted: count.min(LEAST_QUESTIONS),
  heldOut: count.min(1),
  steps: z
    .array(z.strictObject({ from: ppm, right: count, of: count.min(BIN_ANSWERS) }))
    .min(1)
    .max(10_000)
    .refine(
      (steps) => steps.every(({ from }, index) => index === 0 || from > (steps[index - 1]?.from ?? 0)),
      "expected steps in rising order of from",
    )
    .refine((steps) => steps.every(({ right, of }) => right <= of), "expected right to be at most of")
    .refine(
      (steps) => steps.every((step, index) => index === 0 || isBelow(steps[index - 1] ?? step, step)),
      "expected the share of right answers to rise from step to step",
    ),
  /** Scores of the held-out answers: raw, and by the steps. */
  brier: score,
  expectedCalibrationError: score,
});
const wholeCurveSchema = curveSchema.refine(
  ({ fitted, steps }) => steps.reduce((sum, { of }) => sum + of, 0) === fitted,
  { path: ["fitted"], error: "expected the answers of all steps" },
);

/** The file that `conclave calibrate` writes (docs/spec/confidence.md CF4). */
const tableSchema = z.strictObject({
  schema: z.literal(1),
  model: z.string().min(1).max(200),
  engine: z.string().max(200),
  sampling: z.string().max(200),
  /** P5: the set of prompts and its version. */
  prompts: z.string().max(64),
  measure: z.enum(["token-probability", "self-report"]),
  questions: z.strictObject({ source: z.string().max(4096), count, samples: count }),
  /** Calls without an answer. */
  failed: count,
  seed: z.int().min(0),
  date: z.iso.date(),
  /** Curves by property: "answer", and "verdict" or "derived". */
  curves: z.record(z.string().min(1).max(64), wholeCurveSchema),
});

export type CalibrationTable = z.infer<typeof tableSchema>;
export type CalibrationCurve = z.infer<typeof curveSchema>;

const MAX_BYTES = 1 << 22;

/** Reads a table. Throws CONFIG_MISSING, or CONFIG_INVALID that names the field. */
export async function readCalibration(path: string): Promise<CalibrationTable> {
  const text = await readBounded(path).catch((error: unknown) => {
    const message = `Read the calibration table ${path} failed; make one with conclave calibrate, or correct model.calibration`;
    throw new ConclaveError("CONFIG_MISSING", message, { path }, error);
  });
  if (text === null) {
    const message = `Check the calibration table ${path} failed: it has more than ${MAX_BYTES} bytes; make it anew with conclave calibrate`;
    throw new ConclaveError("CONFIG_INVALID", message, { path, field: "" });
  }
  const found = parseJson(text);
  if (found === undefined) {
    const message = `Check the calibration table ${path} failed: it is not JSON; make it anew with conclave calibrate`;
    throw new ConclaveError("CONFIG_INVALID", message, { path, field: "" });
  }
  const parsed = tableSchema.safeParse(found, { reportInput: true });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join(".") ?? "";
  const { input } = issue ?? {};
  const value =
    input === undefined || typeof input === "object" ? "" : ` ${JSON.stringify(input).slice(0, 100)} is wrong:`;
  const message = `Check the calibration table ${path} failed at ${field === "" ? "the top level" : field}:${value} ${issue?.message ?? "invalid"}; make it anew with conclave calibrate`;
  throw new ConclaveError("CONFIG_INVALID", message, { path, field });
}

/** Reads a file; null if it is too long, which shows after one byte too many. */
async function readBounded(path: string): Promise<string | null> {
  if (!(await stat(path)).isFile()) throw new Error("it is not a file");
  const file = await open(path);
  try {
    const buffer = Buffer.alloc(1 << 16);
    const pieces: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length);
      if (bytesRead === 0) return Buffer.concat(pieces).toString("utf8");
      bytes += bytesRead;
      if (bytes > MAX_BYTES) return null;
      pieces.push(Buffer.from(buffer.subarray(0, bytesRead)));
    }
  } finally {
    await file.close();
  }
}

/** Writes the whole table or nothing. */
export async function writeCalibration(path: string, table: CalibrationTable): Promise<void> {
  const draft = `${path}.new`;
  await writeFile(draft, `${JSON.stringify(tableSchema.parse(table), null, 2)}\n`);
  await rename(draft, path);
}

/** What made an answer, as far as a table depends on it. */
export type Made = Pick<Origin, "model" | "engine" | "sampling" | "prompts">;

/** CF7: throws CALIBRATION_WRONG unless the table belongs to what made the answer. */
export function checkCalibration(path: string, table: CalibrationTable, made: Partial<Made>): void {
  const part = strangePart(table, made);
  if (part === null) return;
  const found = made[part];
  const message = `Use the calibration table ${path} failed: it is of the ${part} ${JSON.stringify(table[part])}, not ${JSON.stringify(found)}; make it anew with conclave calibrate, or remove model.calibration`;
  throw new ConclaveError("CALIBRATION_WRONG", message, { path, part, table: table[part], found: found ?? "" });
}

/** Returns the part in which the maker differs from `expected`; null if it does not. */
export function strangePart(expected: Made, made: Partial<Made>): keyof Made | null {
  const parts = ["model", "engine", "sampling", "prompts"] as const;
  return parts.find((part) => made[part] !== undefined && made[part] !== expected[part]) ?? null;
}
