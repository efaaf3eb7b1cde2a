import type { SeedResult } from "./batch.ts";
import { commandFor } from "./command.ts";
import { offBeyondF, type CheckerName, type Violation } from "./checkers/index.ts";
import { isBeyondTolerance, type SimOptions } from "./options.ts";

export interface ReportedViolation extends Violation {
  readonly seed: number;
  readonly command: string;
}

export interface Report {
  readonly protocol: string;
  readonly n: number;
  readonly byzantine: number;
  /** True if more than f seats misbehave. The protocol then promises less, and fewer promises are judged. */
  readonly beyondF: boolean;
  /** Checkers that skip such worlds or look at a part of them only. */
  readonly checkersOff: readonly CheckerName[];
  readonly faults: readonly string[];
  readonly seeds: number;
  readonly firstSeed: number;
  readonly decided: number;
  readonly hung: number;
  readonly unanswerable: number;
  readonly tooEarly: number;
  /** Worlds in which some honest seat had no certificate in time. */
  readonly stalled: number;
  readonly violations: readonly ReportedViolation[];
  readonly shrunk: string | null;
  /** Worlds that did not stall, per second of processor time. */
  readonly decisionsPerSecondPerCore: number;
  readonly elapsedMs: number;
  readonly messages: number;
  readonly bytes: number;
  readonly modelCalls: number;
  readonly criticalPathCalls: { readonly min: number; readonly mean: number; readonly max: number };
  /** Number of times that each fault and misbehaviour struck. */
  readonly counts: Readonly<Record<string, number>>;
}

const SHOWN_VIOLATIONS = 20;

export function buildReport(
  options: SimOptions,
  firstSeed: number,
  results: readonly SeedResult[],
  time: { readonly elapsedMs: number; readonly cpuMs: number },
  extra: { readonly mutant: string | null; readonly shrunk: string | null },
): Report {
  const total = (value: (result: SeedResult) => number): number => results.reduce((sum, one) => sum + value(one), 0);
  const of = (status: SeedResult["status"]): number => results.filter((one) => one.status === status).length;
  const paths = results.flatMap(({ criticalPathCalls }) => criticalPathCalls ?? []);
  const violations = results.flatMap(({ seed, violations: found }) =>
    found.map((one) => ({ ...one, seed, command: commandFor(options, seed, extra.mutant) })),
  );
  const counts: Record<string, number> = {};
  for (const result of results)
    for (const [what, count] of Object.entries(result.counts)) counts[what] = (counts[what] ?? 0) + count;
  const decisions = results.length - of("stalled");
  return {
    protocol: options.protocol,
    n: options.n,
    byzantine: options.byzantine,
    beyondF: isBeyondTolerance(options),
    checkersOff: isBeyondTolerance(options) ? offBeyondF : [],
    faults: options.faults,
    seeds: results.length,
    firstSeed,
    decided: of("decided"),
    hung: of("hung"),
    unanswerable: of("unanswerable"),
    tooEarly: of("tooEarly"),
    stalled: of("stalled"),
    violations,
    shrunk: extra.shrunk,
    decisionsPerSecondPerCore: Math.round((10_000 * decisions) / Math.max(1, time.cpuMs)) / 10,
    elapsedMs: Math.round(time.elapsedMs),
    messages: total(({ frames }) => frames),
    bytes: total(({ bytes }) => bytes),
    modelCalls: total(({ modelCalls }) => modelCalls),
    criticalPathCalls: {
      min: paths.reduce((least, one) => Math.min(least, one), paths[0] ?? 0),
      mean: Math.round((100 * paths.reduce((sum, one) => sum + one, 0)) / Math.max(1, paths.length)) / 100,
      max: paths.reduce((most, one) => Math.max(most, one), 0),
    },
    counts,
  };
}

export function reportText(report: Report): string {
  const shown = report.violations.slice(0, SHOWN_VIOLATIONS);
  const hidden = report.violations.length - shown.length;
  const per = (value: number): string => (value / Math.max(1, report.seeds)).toFixed(1);
  const { criticalPathCalls: path } = report;
  return [
    ...shown.flatMap(({ seed, checker, message, command }, index) => [
      `seed ${seed}: ${checker}: ${message}`,
      // One line for all violations of a seed.
      ...(shown[index + 1]?.seed === seed ? [] : [`  ${command}`]),
    ]),
    ...(hidden > 0 ? [`... and ${hidden} more violations`] : []),
    ...(report.shrunk === null ? [] : [`shrunk:\n  ${report.shrunk}`]),
    `${report.protocol} n=${report.n} byzantine=${report.byzantine}: ${report.seeds} seeds from ${report.firstSeed}: ` +
      `${report.decided} decided, ${report.hung} hung, ${report.unanswerable} unanswerable, ${report.tooEarly} too early, ${report.stalled} stalled, ${report.violations.length} violations`,
    ...(report.beyondF
      ? [`more than f seats misbehave: ${report.checkersOff.join(", ")} are off, or say less (docs/spec/simulator.md)`]
      : []),
    `${(report.elapsedMs / 1000).toFixed(1)} s, ${report.decisionsPerSecondPerCore} decisions per second and core; per decision ` +
      `${per(report.messages)} messages, ${per(report.bytes)} bytes, ${per(report.modelCalls)} model calls, ` +
      `critical path ${path.min} to ${path.max} calls (mean ${path.mean})`,
    `struck: ${
      Object.entries(report.counts)
        .map(([what, count]) => `${what} ${count}`)
        .join(", ") || "nothing"
    }`,
    "",
  ].join("\n");
}
