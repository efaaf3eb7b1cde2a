import { faultTolerance } from "../../agents/core/quorum.ts";
import { unanimous } from "../../agents/core/protocols/unanimous/index.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { policiesOf } from "../../agents/core/request/kinds.ts";
import { ONE_PPM } from "../../agents/core/types.ts";
import { agrees } from "../plan.ts";
import { backedBy, honestSeats, type Trace } from "../trace.ts";

/**
 * SI2: some honest seat's model gave or accepted the decided answer; under unanimous, each policy of a decided set. With at most f
 * Byzantine seats and honest models that do not err, the answer is true. A chair's word promises nothing about the answer, but its confidence shows: at
 * most f of the n - 1 other seats can agree with an untrue one (CH8, AD6).
 */
export function checkValidity(trace: Trace): readonly string[] {
  if (!trace.tolerable) return [];
  if (trace.protocol.assurance === "chair") return overrated(trace);
  const { terms } = trace.attempt.request;
  const given = honestSeats(trace).flatMap((seat) => backedBy(trace, seat));
  return honestSeats(trace).flatMap(({ seat, certificates }) =>
    certificates.flatMap(({ certificate: { decision } }) => {
      if (decision.status !== "decided") return [];
      const { answer } = decision;
      // The truth is the answer of an honest model, even if the model was asked for something else or failed.
      if (agrees(terms, answer, trace.truth)) return [];
      if (trace.truthful)
        return [`seat ${seat} holds ${JSON.stringify(answer)}, the truth is ${JSON.stringify(trace.truth)}`];
      if (given.some((one) => agrees(terms, one, answer)) || isNamedInParts(trace, answer, given)) return [];
      return [`seat ${seat} holds ${JSON.stringify(answer)}, which no honest seat said or accepted`];
    }),
  );
}

/** UN12 counts each policy by itself: the set of all that are accepted may be no seat's. */
function isNamedInParts({ protocol, attempt }: Trace, answer: string, given: readonly string[]): boolean {
  const { terms } = attempt.request;
  if (protocol.id !== unanimous.id || terms.kind !== "policies") return false;
  const policiesIn = (text: string): readonly number[] => {
    const canonical = canonicalAnswer({ terms, question: "" }, text);
    return canonical === null ? [] : policiesOf(canonical.outcome);
  };
  const named = new Set(given.flatMap(policiesIn));
  return policiesIn(answer).every((policy) => named.has(policy));
}

function overrated(trace: Trace): readonly string[] {
  const { attempt, truth, truthful } = trace;
  const seats = attempt.committee.length;
  const most = Math.floor((faultTolerance(seats) * ONE_PPM) / (seats - 1));
  return honestSeats(trace).flatMap(({ seat, certificates }) =>
    certificates.flatMap(({ certificate: { decision } }) => {
      const { status, answer, confidence } = decision;
      if (!truthful || status !== "decided" || agrees(attempt.request.terms, answer, truth)) return [];
      return confidence <= most
        ? []
        : [
            `seat ${seat} holds ${JSON.stringify(answer)} with confidence ${confidence}, of which nobody honest is sure`,
          ];
    }),
  );
}
