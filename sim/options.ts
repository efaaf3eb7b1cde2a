import { ConclaveError } from "../agents/core/errors.ts";
import { limits } from "../agents/core/limits.ts";
import { protocolById, protocols } from "../agents/core/protocols/index.ts";
import { faultTolerance } from "../agents/core/quorum.ts";
import type { AnswerKind } from "../agents/core/types.ts";

/** Faults around honest seats; all of them end when the network heals. */
export const FAULTS = [
  "drop",
  "delay",
  "reorder",
  "duplicate",
  "partition",
  "crash",
  "skew",
  "model",
  "storm",
] as const;
export type Fault = (typeof FAULTS)[number];

/** Ways in which a Byzantine seat misbehaves. */
export const BYZANTINE_KINDS = [
  "silent",
  "equivocating",
  "twin",
  "double-voter",
  "lying",
  "stealth-vetoer",
  "sacrificial-vetoer",
  "accuser",
  "biased-evaluator",
  "forking-gossiper",
  "late-revealer",
  "censoring-proposer",
  "replayer",
  "malformed",
] as const;
export type ByzantineKind = (typeof BYZANTINE_KINDS)[number];

/** SM8: how a page that the question names shows itself. */
export const SOURCE_FAULTS = ["right", "poisoned", "differing", "moving", "gone", "slow"] as const;
export type SourceFault = (typeof SOURCE_FAULTS)[number];

/** One kind of world; with a seed it is one world. */
export interface SimOptions {
  readonly protocol: string;
  readonly n: number;
  readonly byzantine: number;
  readonly faults: readonly Fault[];
  readonly byzantineKinds: readonly ByzantineKind[];
  /** Null: drawn per seed among the kinds that the protocol takes. */
  readonly kind: AnswerKind | null;
  /** Rate at which an honest model is wrong, parts per million. */
  readonly errorPpm: number;
  /** SM8: how the sources of the question may show themselves; empty: the question names none. */
  readonly sources: readonly SourceFault[];
  /** SM11: every way to split the committee around a seat with two instances; absent: faults are drawn. */
  readonly twins?: TwinsOptions;
}

export interface TwinsOptions {
  readonly windows: number;
  /** Virtual milliseconds of one window. */
  readonly windowMs: number;
}

const READERS = protocols.filter(({ readsSources }) => readsSources).map(({ id }) => id);

/** Throws PROTOCOL_UNKNOWN, TERMS_INVALID or USAGE, with the field, its value and a way out. */
export function checkOptions(options: SimOptions): void {
  const { n, byzantine } = options;
  if (protocolById(options.protocol) === null) {
    const known = protocols.map(({ id }) => id).join(", ");
    throw new ConclaveError(
      "PROTOCOL_UNKNOWN",
      `Choose a known protocol instead of --protocol ${JSON.stringify(options.protocol)}: ${known}`,
      { field: "protocol", value: options.protocol },
    );
  }
  if (options.sources.length > 0 && protocolById(options.protocol)?.readsSources === false)
    throw new ConclaveError(
      "USAGE",
      `Correct --sources: ${options.protocol} reads none; leave it out, or choose one of ${READERS.join(", ")}`,
      { field: "sources", value: options.sources.join(",") },
    );
  if (!Number.isSafeInteger(n) || n < 1)
    throw invalid("n", n, "the committee is empty; take at least 4 seats, e.g. --n 4");
  if (n > limits.maxCommittee) throw invalid("n", n, `a committee has at most ${limits.maxCommittee} seats`);
  if (!Number.isSafeInteger(byzantine) || byzantine < 0 || byzantine >= n)
    throw invalid("byzantine", byzantine, `at least one seat must be honest; give 0 to ${n - 1}`);
  if (!Number.isSafeInteger(options.errorPpm) || options.errorPpm < 0 || options.errorPpm > 1_000_000)
    throw invalid("error-ppm", options.errorPpm, "give a whole number from 0 (never wrong) to 1000000 (always wrong)");
  if (byzantine > 0 && options.byzantineKinds.length === 0)
    throw invalid("byzantine-kinds", "none", "name at least one kind, or all, or give --byzantine 0");
}

/** True if more seats misbehave than the protocol promises to bear. */
export function isBeyondTolerance({ n, byzantine }: SimOptions): boolean {
  return byzantine > faultTolerance(n);
}

/** Parses a comma-separated list, or one of the words that stand for a whole list; throws USAGE. */
export function parseList<T extends string>(
  field: string,
  text: string,
  known: readonly T[],
  wholes: readonly ("all" | "none")[] = ["all", "none"],
): readonly T[] {
  const whole = wholes.find((one) => one === text);
  if (whole !== undefined) return whole === "all" ? known : [];
  const names = text.split(",").map((name) => name.trim());
  const beside = wholes.find((one) => names.includes(one));
  if (beside !== undefined)
    throw new ConclaveError(
      "USAGE",
      `Correct --${field} ${JSON.stringify(text)}: name ${beside} alone, or leave it out`,
      {
        field,
        value: text,
      },
    );
  const unknown = names.find((name) => !known.some((one) => one === name));
  if (unknown !== undefined)
    throw new ConclaveError(
      "USAGE",
      `Correct --${field}: ${JSON.stringify(unknown)} is unknown; choose ${wholes.join(", ")}, or some of ${known.join(", ")}`,
      { field, value: unknown },
    );
  return known.filter((one) => names.includes(one));
}

export function invalid(field: string, value: string | number, way: string): ConclaveError {
  return new ConclaveError("TERMS_INVALID", `Correct --${field} ${value}: ${way}`, { field, value });
}
