import { isSupermajority } from "../../agents/core/quorum.ts";
import { passagesOf } from "../../agents/core/sources/passages.ts";
import type { Decision, Message, SeatIndex, Value } from "../../agents/core/types.ts";
import { isDataQuestion } from "../sources.ts";
import { backedBy, honestSeats, type Trace } from "../trace.ts";
import { boundTo, canTell, FLAT, isSame } from "./pay.ts";
import { fieldsOf, recordIn } from "./raw.ts";
import { bearing, citationsIn, firstCertificate, transcribed } from "./transcript.ts";

const REVEAL = 2;

/**
 * SI13: a decision of a question with sources rests on what was read. By the raw messages of the certified transcript, some answer that bears
 * the decision cites passages that more than 1/3 of the seats named in time (SG9), and so does whoever is paid for an answer. With at most f
 * Byzantine seats an honest seat read each such passage at its source (EV-2). In every world a model is shown what its own seat read
 * and nothing else (SG7), who read nothing neither answers nor accepts an answer, and of a data question it is asked nothing (SG11). A question is unanswerable or too early only if no passage was read
 * by all honest seats, and too early only if a source is still to come (SG8).
 */
export function checkSources(trace: Trace): readonly string[] {
  if (trace.sources === null) return [];
  const foreign = honestSeats(trace).flatMap(({ seat, read, shown, answers, approved }) => [
    ...shown
      .filter(({ source, text }) => !read.some((one) => one.source === source && one.text === text))
      .map(({ source }) => `the model of seat ${seat} was shown what it did not read at source ${source}`),
    ...(read.length === 0 && answers.length + approved.length > 0 ? [`seat ${seat} read nothing, and answered`] : []),
    ...(isDataQuestion(trace.attempt) && answers.length + approved.length > 0
      ? [`the model of seat ${seat} was asked for data`]
      : []),
  ]);
  const decision = firstCertificate(trace)?.decision;
  const messages = transcribed(trace);
  if (decision === undefined || messages === null) return foreign;
  if (decision.status === "hung") return foreign;
  if (decision.status !== "decided")
    return [...foreign, ...(trace.tolerable ? [...overlooked(trace), ...hastened(trace, decision)] : [])];
  const bears = bearing(trace, messages);
  return [
    ...foreign,
    ...unborne(trace, decision, messages, bears),
    ...(trace.tolerable ? unread(trace, messages, bears) : []),
  ];
}

/** SG8: honest models give an answer, so only readings make a question unanswerable. What all honest seats read, they could have cited. */
function overlooked(trace: Trace): readonly string[] {
  if (isDataQuestion(trace.attempt)) return overlookedNumber(trace);
  const [first = new Set<string>(), ...others] = honestSeats(trace).map(
    ({ read }) => new Set(read.flatMap(({ source, text }) => passagesOf(text).map((one) => `${source} ${one}`))),
  );
  const common = [...first].find((passage) => others.every((passages) => passages.has(passage)));
  return common === undefined
    ? []
    : [`all honest seats read ${JSON.stringify(common.slice(0, 40))}, and none could cite it`];
}

/** SG8: honest models never say that it is too early, so only a source that is still to come for more than 2/3 of the seats makes it so. */
function hastened(trace: Trace, { status }: Decision): readonly string[] {
  const n = trace.attempt.committee.length;
  const honest = honestSeats(trace);
  const isToCome = trace.sources?.pages.some(({ absence, texts }) => {
    const waiting = honest.filter(({ seat }) => absence === "not-final" && texts[seat] === null).length;
    return isSupermajority(waiting + n - honest.length, n);
  });
  return status === "tooEarly" && isToCome !== true ? ["it is too early, though no source is still to come"] : [];
}

/**
 * SG8, SG12: whether no number could be cited though any two that honest seats read agree. One that agrees with two others is not enough:
 * where its seat says nothing in time, they are left, and need not agree with each other.
 */
function overlookedNumber(trace: Trace): readonly string[] {
  const read = honestSeats(trace).map((seat) => backedBy(trace, seat));
  const all = read.flat();
  const doAgree =
    read.every(({ length }) => length > 0) &&
    all.every((one) => all.every((other) => isSame(trace.attempt.request.terms, one, other)));
  return doAgree ? [`all honest seats read ${all[0] ?? ""} within the tolerance, and none could cite it`] : [];
}

function unborne(
  trace: Trace,
  { answer, shares }: Decision,
  messages: readonly Message[],
  bears: ReturnType<typeof bearing>,
): readonly string[] {
  const { terms } = trace.attempt.request;
  const isBorne = proposalsIn(messages).some(
    ({ proposal, seat }) => (!canTell(terms) || isSame(terms, proposal["answer"], answer)) && bears(proposal, seat),
  );
  const paid = shares.flatMap((share, seat) => {
    const shown = share > FLAT ? (boundTo(trace, messages, seat as SeatIndex)?.shown ?? null) : null;
    return shown === null || bears(shown, seat as SeatIndex)
      ? []
      : [`seat ${seat} is paid for an answer that no source bears`];
  });
  return isBorne ? paid : [...paid, `no source bears ${JSON.stringify(answer)}`];
}

function unread(trace: Trace, messages: readonly Message[], bears: ReturnType<typeof bearing>): readonly string[] {
  const borne = proposalsIn(messages).filter(({ proposal, seat }) => bears(proposal, seat));
  if (isDataQuestion(trace.attempt)) {
    const { terms } = trace.attempt.request;
    const read = honestSeats(trace).flatMap((seat) => backedBy(trace, seat));
    const isRead = (answer: Value | undefined): boolean => read.some((one) => isSame(terms, answer, one));
    return borne.flatMap(({ proposal: { answer } }) =>
      isRead(answer) ? [] : [`no honest seat read a number within the tolerance of ${JSON.stringify(answer)}`],
    );
  }
  const cited = borne.flatMap(({ proposal }) => citationsIn(proposal));
  return cited.flatMap(({ source, passage }) =>
    honestSeats(trace).some(({ read }) => read.some((one) => one.source === source && one.text.includes(passage)))
      ? []
      : [`no honest seat read ${JSON.stringify(passage.slice(0, 40))} at source ${source}`],
  );
}

/** What seats answered: in a phase, or in the record of an event. */
function proposalsIn(
  messages: readonly Message[],
): readonly { readonly proposal: ReturnType<typeof fieldsOf>; readonly seat: SeatIndex }[] {
  return messages.flatMap((message) => {
    const { phase, seat } = message.header;
    const body = phase === REVEAL ? message.payload : recordIn(message)["body"];
    const { proposal = null } = fieldsOf(body);
    return proposal === null ? [] : [{ proposal: fieldsOf(proposal), seat }];
  });
}
