import { honestSeats, type Trace } from "../trace.ts";

/** SI1: all honest seats hold the same decision; only the ballot may differ. */
export function checkAgreement(trace: Trace): readonly string[] {
  const held = honestSeats(trace).flatMap(({ seat, certificates }) =>
    certificates.map(({ certificate }) => ({ seat, decision: certificate.decision })),
  );
  const first = held[0];
  if (first === undefined) return [];
  return held.flatMap(({ seat, decision }) => {
    const { status, answer, outcome, transcript, confidence } = first.decision;
    const agreed =
      decision.status === status &&
      decision.answer === answer &&
      decision.outcome === outcome &&
      decision.transcript === transcript &&
      decision.confidence === confidence;
    if (agreed) return [];
    const mine = `${decision.status} ${JSON.stringify(decision.answer)} on ${decision.transcript.slice(0, 10)}`;
    const theirs = `${status} ${JSON.stringify(answer)} on ${transcript.slice(0, 10)}`;
    return [`seat ${seat} holds ${mine}, seat ${first.seat} holds ${theirs}`];
  });
}
