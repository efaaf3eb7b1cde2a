import { agrees } from "../plan.ts";
import { honestSeats, type Trace } from "../trace.ts";

/**
 * SI2: a decided answer is one that some honest seat's model gave or accepted; with at most f Byzantine seats and honest models that
 * do not err, it is the truth.
 */
export function checkValidity(trace: Trace): readonly string[] {
  // A chair's word promises nothing about the answer.
  if (!trace.tolerable || trace.protocol.assurance === "chair") return [];
  const { terms } = trace.attempt.request;
  const given = honestSeats(trace).flatMap(({ answers, approved }) => [...answers, ...approved]);
  return honestSeats(trace).flatMap(({ seat, certificates }) =>
    certificates.flatMap(({ certificate: { decision } }) => {
      if (decision.status !== "decided") return [];
      const { answer } = decision;
      // The truth is what an honest model holds, also where it was asked for something else, or failed.
      if (agrees(terms, answer, trace.truth)) return [];
      if (trace.truthful)
        return [`seat ${seat} holds ${JSON.stringify(answer)}, the truth is ${JSON.stringify(trace.truth)}`];
      if (given.some((one) => agrees(terms, one, answer))) return [];
      return [`seat ${seat} holds ${JSON.stringify(answer)}, which no honest seat said or accepted`];
    }),
  );
}
