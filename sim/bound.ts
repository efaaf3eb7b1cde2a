import { limits } from "../agents/core/limits.ts";
import { faultTolerance } from "../agents/core/quorum.ts";
import { SKEW_PPM, type Plan } from "./plan.ts";

/**
 * Certify rounds after the heal until an honest proposer's root that every honest seat accepts: at most f bad
 * proposers, and a few rounds that spread what was missing.
 */
const SPARE_ROUNDS = 4;
/** Time for frames, restarts and paced resending after the heal. */
const RESEND_MS = 2_000;

/**
 * Returns the time by which every honest seat has a certificate: the heal, then the phases of the deliberation at
 * their time-outs, then the ballots from the latest that any seat can have reached by then
 * (docs/spec/simulator.md).
 */
export function dueAt(plan: Plan): number {
  const { phaseMs, graceMs, certifyMs, certifyDeltaMs } = plan.timing;
  const slow = (ms: number): number => Math.ceil((ms * 1_000_000) / SKEW_PPM.slowest);
  const deliberated = plan.healAt + RESEND_MS + plan.protocol.phasesAtMost(plan.attempt) * slow(phaseMs + graceMs);
  // A round lasts at least one of its timeouts on the fastest clock.
  let round = 0;
  for (let at = 0; at < deliberated && round < limits.certifyBallots; round++)
    at += Math.floor(((certifyMs + round * certifyDeltaMs) * 1_000_000) / SKEW_PPM.fastest);
  const last = round + faultTolerance(plan.attempt.committee.length) + SPARE_ROUNDS;
  let due = deliberated;
  for (; round <= last; round++) due += 3 * slow(certifyMs + round * certifyDeltaMs);
  return due;
}
