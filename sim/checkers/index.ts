import type { Trace } from "../trace.ts";
import { checkAccountability } from "./accountability.ts";
import { checkAgreement } from "./agreement.ts";
import { checkBoundedMemory } from "./bounded-memory.ts";
import { checkCertificateUniqueness } from "./certificate-uniqueness.ts";
import { checkNoHonestSlash } from "./no-honest-slash.ts";
import { checkLessons } from "./lessons.ts";
import { checkClo } from "./clo.ts";
import { checkMbft } from "./mbft.ts";
import { checkOmission } from "./omission.ts";
import { checkPay } from "./pay.ts";
import { checkReplay } from "./replay.ts";
import { checkSources } from "./sources.ts";
import { checkTermination } from "./termination.ts";
import { checkValidity } from "./validity.ts";

/** A pure function of one run: returns the violations in words. */
export type Checker = (trace: Trace) => readonly string[];

/** The checkers, one invariant each (docs/spec/simulator.md). */
export const checkers = {
  agreement: checkAgreement,
  validity: checkValidity,
  "certificate-uniqueness": checkCertificateUniqueness,
  "no-honest-slash": checkNoHonestSlash,
  accountability: checkAccountability,
  termination: checkTermination,
  "bounded-memory": checkBoundedMemory,
  replay: checkReplay,
  omission: checkOmission,
  mbft: checkMbft,
  pay: checkPay,
  lessons: checkLessons,
  sources: checkSources,
  clo: checkClo,
} as const satisfies Readonly<Record<string, Checker>>;

export type CheckerName = keyof typeof checkers;

/**
 * Checkers of promises that hold with at most f Byzantine seats only; no-honest-slash promises then that no honest
 * seat loses reputation.
 */
export const offBeyondF: readonly CheckerName[] = ["validity", "no-honest-slash", "termination", "omission"];

export interface Violation {
  readonly checker: CheckerName;
  readonly message: string;
}

export function violationsIn(trace: Trace): readonly Violation[] {
  return (Object.keys(checkers) as CheckerName[]).flatMap((checker) =>
    checkers[checker](trace).map((message) => ({ checker, message })),
  );
}
