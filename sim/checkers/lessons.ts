import type { Decision, SeatIndex } from "../../agents/core/types.ts";
import { slotOf, type Trace } from "../trace.ts";
import { OWN_SLASHES, boundTo, canTell, isSame, paidFor } from "./pay.ts";
import { bearing, differingFrom, firstCertificate, transcribed } from "./transcript.ts";

/**
 * SI12: all certificates teach about the same seats. A Hung decision teaches about nobody, any other about nobody or about one outvoted
 * seat at least. Where one can tell by the answers alone, the raw messages of the certified transcript bear it out: who agreed bound itself
 * to the decided answer, who is outvoted to another or to one that it never showed, and more than 2/3 of the seats bound themselves to the
 * decided answer. Who is paid agreed, and who bound itself to another answer than more than 2/3 are paid for is outvoted (SK1).
 */
export function checkLessons(trace: Trace): readonly string[] {
  const certificate = firstCertificate(trace);
  const messages = transcribed(trace);
  if (certificate === null || messages === null) return [];
  const { decision } = certificate;
  const { terms } = trace.attempt.request;
  const differing = differingFrom(trace, certificate, taughtBy, "lessons");
  const { answered, agreed } = decision;
  const outvoted = answered.filter((seat) => !agreed.includes(seat));
  const teaches = answered.length > 0 || agreed.length > 0;
  if (
    teaches &&
    (decision.status === "hung" || outvoted.length === 0 || agreed.some((seat) => !answered.includes(seat)))
  )
    return [...differing, `the decision teaches about seats ${answered.join()}, of which ${agreed.join()} agreed`];
  if (!canTell(terms) || decision.status === "hung") return differing;
  const slots = messages.map((message) => slotOf(message));
  const isForked = (seat: SeatIndex): boolean =>
    messages.some(
      ({ header }, at) => header.seat === seat && slots.indexOf(slots[at]!) !== slots.lastIndexOf(slots[at]!),
    );
  const seats = trace.attempt.committee.map((_, seat) => seat as SeatIndex);
  const bears = bearing(trace, messages);
  const answerBy = seats.map((seat) => boundTo(trace, messages, seat)?.shown?.["answer"]);
  const paid = paidFor(decision);
  const isMost = (those: readonly SeatIndex[]): boolean => 3 * those.length > 2 * seats.length;
  const right = seats.filter((seat) => isSame(terms, answerBy[seat], decision.answer));
  return [
    ...differing,
    ...seats.flatMap((seat): readonly string[] => {
      // A seat that is slashed is taught nothing.
      if (isForked(seat) || (OWN_SLASHES.includes(trace.protocol.id) && hasFallen(decision, seat))) return [];
      const own = boundTo(trace, messages, seat);
      const differs = (other: SeatIndex): boolean => !isSame(terms, answerBy[other], answerBy[seat]);
      const couldBe = own !== null && !right.includes(seat) && isMost(right.filter(differs));
      // SG9: an answer that no source bears teaches nothing, unless it was shown too late (PY10).
      const isBound = own?.isOrdered === true && (own.shown === null || bears(own.shown, seat));
      const mustBe = isBound && !right.includes(seat) && isMost(paid.filter(differs));
      if (outvoted.includes(seat)) return couldBe ? [] : [`seat ${seat} is outvoted, and was not`];
      if (mustBe) return [`seat ${seat} is not outvoted, and was`];
      if (agreed.includes(seat)) return right.includes(seat) ? [] : [`seat ${seat} agreed, and did not`];
      return teaches && paid.includes(seat) ? [`seat ${seat} is paid, and did not agree`] : [];
    }),
  ];
}

function hasFallen({ reputationChanges }: Decision, seat: SeatIndex): boolean {
  return reputationChanges.some((change) => change.seat === seat && change.steps < 0);
}

function taughtBy({ answered, agreed }: Pick<Decision, "answered" | "agreed">): string {
  return JSON.stringify([answered, agreed]);
}
