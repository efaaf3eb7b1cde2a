import { honestSeats, type Trace } from "../trace.ts";

/**
 * SI4: with at most f Byzantine seats and honest models that do not err, no certificate lowers the reputation of an
 * honest seat. In every world, no honest seat signs two payloads for one slot, or two decisions in one ballot.
 */
export function checkNoHonestSlash(trace: Trace): readonly string[] {
  const honest = new Set(honestSeats(trace).map(({ seat }) => seat));
  const doubled = [...trace.messages.values()].flatMap((messages) => {
    const header = messages[0]?.header;
    if (header === undefined || messages.length < 2 || !honest.has(header.seat)) return [];
    return [`honest seat ${header.seat} signed two payloads in phase ${header.phase}, round ${header.round}`];
  });
  const accused = trace.seats.flatMap(({ seat, evidence, conflicts }) =>
    [...evidence.map(({ first }) => first.header.seat), ...conflicts.map((conflict) => conflict.seat)]
      .filter((one) => honest.has(one))
      .map((one) => `seat ${seat} has evidence against honest seat ${one}`),
  );
  if (!trace.tolerable || !trace.truthful) return [...doubled, ...accused];
  const slashed = honestSeats(trace).flatMap(({ seat, certificates }) =>
    (certificates.at(-1)?.certificate.decision.reputationChanges ?? [])
      .filter((change) => change.steps < 0 && honest.has(change.seat))
      .map((change) => `the certificate of seat ${seat} slashes honest seat ${change.seat} by ${-change.steps}`),
  );
  return [...doubled, ...accused, ...slashed];
}
