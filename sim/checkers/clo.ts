import { faultTolerance, isMajority, quorumOf } from "../../agents/core/quorum.ts";
import { namesSources } from "../../agents/core/sources/named.ts";
import type { Message } from "../../agents/core/types.ts";
import { agrees } from "../plan.ts";
import { slotOf, type Trace } from "../trace.ts";
import { digestIn, fieldsOf } from "./raw.ts";
import { firstCertificate, openingOf, transcribed, witnesses } from "./transcript.ts";

const COMMIT = 1;
const REVEAL = 2;

/**
 * SI14: where seats of clo sample again, f + 1 of them gave the decided answer in some round, at high assurance more than 2/3 (CL7), by the raw
 * messages of the certified transcript. An answer is given if it opens its seat's commitment (PH1), both in slots that are not void, and
 * more than half of the seats list each in the next phase (PH4).
 */
export function checkClo(trace: Trace): readonly string[] {
  const { attempt, protocol } = trace;
  const { terms } = attempt.request;
  if (protocol.id !== "clo" || terms.kind === "text" || namesSources(attempt)) return [];
  const decision = firstCertificate(trace)?.decision;
  const messages = transcribed(trace);
  if (decision?.status !== "decided" || messages === null) return [];
  const seats = attempt.committee.length;
  const givers = new Set(
    givenIn(trace, messages).flatMap(({ header, payload }) => {
      const { answer } = fieldsOf(fieldsOf(payload)["proposal"]);
      return typeof answer === "string" && agrees(terms, answer, decision.answer) ? [header.seat] : [];
    }),
  );
  const needed = terms.assurance === "high" ? quorumOf(seats) : faultTolerance(seats) + 1;
  return givers.size >= needed
    ? []
    : [`${givers.size} seats gave ${JSON.stringify(decision.answer)}, ${needed} needed`];
}

/** The reveals that count. */
function givenIn(trace: Trace, messages: readonly Message[]): readonly Message[] {
  const bySlot = Map.groupBy(messages, (message) => slotOf(message));
  const valid = messages.filter((message) => bySlot.get(slotOf(message))?.length === 1);
  /** What seats say in a phase that most seats list later in the round. */
  const heard = (phase: number): readonly Message[] =>
    valid.filter((message) => {
      const { round } = message.header;
      const listing = valid.filter(({ header }) => header.round === round);
      return message.header.phase === phase && isMajority(witnesses(listing, message), trace.attempt.committee.length);
    });
  const commits = heard(COMMIT);
  return heard(REVEAL).filter(({ header, payload }) => {
    const { seat, round } = header;
    const commit = commits.find((one) => one.header.seat === seat && one.header.round === round);
    const opening = openingOf(trace, header, round, fieldsOf(fieldsOf(payload)["proposal"]));
    return commit !== undefined && digestIn(fieldsOf(commit.payload)["commitment"]) === opening;
  });
}
