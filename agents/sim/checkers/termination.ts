import { honestSeats, type Trace } from "../trace.ts";

/** SI6: with at most f Byzantine seats every honest seat has a certificate by the stated time after the heal. */
export function checkTermination(trace: Trace): readonly string[] {
  if (!trace.tolerable) return [];
  return honestSeats(trace).flatMap(({ seat, certificates, silent }) => {
    if (silent !== null) return [`seat ${seat} fell silent: ${silent}`];
    if (certificates.length > 0) return [];
    return [`seat ${seat} has no certificate at ${trace.endedAt} ms (due ${trace.dueAt}, healed ${trace.healAt})`];
  });
}
