import { honestSeats, type Trace } from "../trace.ts";

/**
 * SI6: with at most f Byzantine seats every honest seat has a certificate by the stated time after the heal. In a
 * world without any fault it certifies an answer: no protocol's rules excuse Hung there, nor a non-answer (SG10).
 */
export function checkTermination(trace: Trace): readonly string[] {
  if (!trace.tolerable) return [];
  return honestSeats(trace).flatMap(({ seat, certificates, silent }) => {
    if (silent !== null) return [`seat ${seat} fell silent: ${silent}`];
    const decision = certificates[0]?.certificate.decision;
    if (decision === undefined)
      return [`seat ${seat} has no certificate at ${trace.endedAt} ms (due ${trace.dueAt}, healed ${trace.healAt})`];
    const isAnswered = decision.status === "decided";
    return !isAnswered && isCalm(trace) ? [`seat ${seat} holds ${decision.status}, and nothing went wrong`] : [];
  });
}

/** True if the world has no fault, no Byzantine seat, models that do not err, and pages that show everybody the truth. */
function isCalm({ faults, seats, sources, truthful }: Trace): boolean {
  const isRight = sources === null || sources.pages.every(({ fault }) => fault === "right");
  return isRight && truthful && faults.length === 0 && seats.every(({ byzantine }) => byzantine === null);
}
