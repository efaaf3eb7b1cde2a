import { limits } from "../limits.ts";
import { canonicalAnswer, groupAnswers } from "../request/answer.ts";
import type { Asked } from "../request/kinds.ts";
import { ONE_PPM, type Ppm, type SeatIndex } from "../types.ts";
import type { Answered, SeatView } from "./phased-rules.ts";
import { proposalFrom, type Proposal } from "./proposals.ts";
import { tierOf } from "./tiers.ts";

/**
 * CL2: the answer that a model gave most often, of those the first to arrive, where sources are read the first that cites, and the
 * outcomes of the other samples. Its tier is the part of all calls that gave it. Null if no reply has an answer of the question's kind.
 * @param tellsSamples whether it names the other samples
 * @param answered replies to `limits.samples` calls; one that failed is missing, and agrees with none
 */
export function mostFrequent(
  asked: Asked,
  answered: readonly Answered[],
  tellsSamples: boolean,
  read: SeatView<unknown>["read"] = null,
): Proposal | null {
  const samples = answered.flatMap((one) => proposalFrom(asked, one, read) ?? []);
  const answers = samples.flatMap(({ answer }, index) => {
    const canonical = canonicalAnswer(asked, answer);
    return canonical === null ? [] : { seat: index as SeatIndex, answer: canonical };
  });
  const groups = groupAnswers(asked.terms, answers).toSorted(
    (a, b) => b.seats.length - a.seats.length || (a.seats[0] as number) - (b.seats[0] as number),
  );
  const [most] = groups;
  const same = answers.filter(({ answer }) => answer.outcome === most?.representative.outcome);
  // SG9: without a citation the answer would not count.
  const shown = same.find(({ seat }) => samples[seat]?.citations?.length !== 0) ?? same[0];
  if (most === undefined || shown === undefined) return null;
  const sample = samples[shown.seat] as Proposal;
  const agreement = Math.floor((most.seats.length * ONE_PPM) / limits.samples) as Ppm;
  const others = answers.flatMap(({ seat, answer }) => (most.seats.includes(seat) ? [] : [answer.outcome]));
  return { ...sample, tier: tierOf(agreement), ...(tellsSamples && others.length > 0 && { others }) };
}
