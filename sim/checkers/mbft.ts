import { isMapOf } from "../../agents/core/encoding/codec.ts";
import { bytesToHex } from "../../agents/core/encoding/bytes.ts";
import { isMajority, isSupermajority } from "../../agents/core/quorum.ts";
import {
  ABSENT,
  ONE_PPM,
  type Certificate,
  type Message,
  type SeatIndex,
  type Value,
} from "../../agents/core/types.ts";
import { agrees } from "../plan.ts";
import { backedBy, honestSeats, type Trace } from "../trace.ts";
import { FLAT } from "./pay.ts";
import { fieldsOf } from "./raw.ts";
import { bearing, firstCertificate, openingOf, transcribed, witnesses } from "./transcript.ts";

const COMMIT = 1;
const REVEAL = 2;
const VOTE = 10;
const JUDGE = 11;

/** The deciding round of a certified transcript. */
interface Decided {
  readonly certificate: Certificate;
  readonly messages: readonly Message[];
  /** The messages of all rounds. */
  readonly all: readonly Message[];
}

/**
 * SI10: what the rules of mbft promise beyond the invariants of all protocols, read from the raw messages of the
 * deciding round: a paid seat committed to what it revealed and was heard in time (MB4), the answer has the support
 * of the accept quorum (MB12), and no veto was passed over (MB13) unless the count decided (MB20).
 */
export function checkMbft(trace: Trace): readonly string[] {
  const decided = trace.protocol.id === "mbft" ? deciding(trace) : null;
  if (decided === null) return [];
  return [
    ...unearned(trace, decided),
    ...unsupported(trace, decided),
    ...overruled(trace, decided),
    ...outvoted(trace, decided),
  ];
}

function deciding(trace: Trace): Decided | null {
  const certificate = firstCertificate(trace);
  const all = transcribed(trace);
  if (certificate === null || all === null) return null;
  const round = all.at(-1)?.header.round ?? 0;
  return { certificate, messages: all.filter(({ header }) => header.round === round), all };
}

function of(messages: readonly Message[], phase: number, seat: SeatIndex): Message | null {
  return messages.find(({ header }) => header.phase === phase && header.seat === seat) ?? null;
}

/** MB4, PH1, PH4. */
function unearned(trace: Trace, { certificate, messages }: Decided): readonly string[] {
  const seats = trace.attempt.committee.length;
  return certificate.decision.shares.flatMap((share, index): readonly string[] => {
    const seat = index as SeatIndex;
    const [commit, reveal] = [of(messages, COMMIT, seat), of(messages, REVEAL, seat)];
    if (share <= FLAT || share === ABSENT) return [];
    if (commit === null || reveal === null) return [`seat ${seat} is paid without an answer`];
    const proposal = fieldsOf(fieldsOf(reveal.payload)["proposal"]);
    const opening = openingOf(trace, reveal.header, reveal.header.round, proposal);
    const commitment = fieldsOf(commit.payload)["commitment"];
    if (!(commitment instanceof Uint8Array) || bytesToHex(commitment) !== opening)
      return [`seat ${seat} is paid for an answer that it had not committed to`];
    const late = [commit, reveal, of(messages, VOTE, seat)].find(
      (message) => message !== null && !isMajority(witnesses(messages, message), seats),
    );
    return late === undefined || late === null
      ? []
      : [`seat ${seat} is paid for phase ${late.header.phase}, which most seats had not heard in time`];
  });
}

/** MB12: Byzantine seats may support anything; the models of the others gave or accepted the answer. */
function unsupported(trace: Trace, { certificate: { decision } }: Decided): readonly string[] {
  if (decision.status !== "decided") return [];
  const { terms } = trace.attempt.request;
  const honest = honestSeats(trace);
  const supporters = honest.filter((seat) =>
    backedBy(trace, seat).some((one) => agrees(terms, one, decision.answer)),
  ).length;
  const seats = trace.attempt.committee.length;
  const most = supporters + seats - honest.length;
  const suffices = terms.assurance === "high" ? isSupermajority(most, seats) : isMajority(most, seats);
  return suffices ? [] : [`at most ${most} of ${seats} seats support ${JSON.stringify(decision.answer)}`];
}

/** MB13: in the first round reputations are those of the draw. MB20: no veto stands against the count. */
function overruled({ attempt, sources }: Trace, { certificate: { decision }, messages }: Decided): readonly string[] {
  if (decision.status !== "decided" || messages[0]?.header.round !== (sources === null ? 0 : 1)) return [];
  const { terms } = attempt.request;
  const reveals = messages.filter(({ header }) => header.phase === REVEAL);
  const members = reveals.filter((reveal) => agrees(terms, answerIn(reveal) ?? "", decision.answer));
  if (isSupermajority(new Set(members.map(({ header }) => header.seat)).size, attempt.committee.length)) return [];
  const upheld = new Map<string, Set<SeatIndex>>();
  for (const { header, payload } of messages) {
    if (header.phase !== JUDGE || messages.filter((one) => sameSlot(one, header)).length > 1) continue;
    for (const entry of (fieldsOf(payload)["judgements"] ?? []) as readonly Value[]) {
      if (!isMapOf(entry, ["author", "target", "verdict"]) || entry.verdict !== "uphold") continue;
      const { author, target } = entry;
      if (typeof author !== "number" || author === header.seat || !(target instanceof Uint8Array)) continue;
      const key = `${author} ${bytesToHex(target)}`;
      upheld.set(key, (upheld.get(key) ?? new Set<SeatIndex>()).add(header.seat));
    }
  }
  return [...upheld].flatMap(([key, judges]) => {
    const [author, target] = key.split(" ");
    const reveal = reveals.find(({ header }) => header.payloadDigest === target);
    const answer = answerIn(reveal);
    const vetoes =
      isMajority(judges.size, attempt.committee.length) &&
      attempt.committee[Number(author)]?.reputation === ONE_PPM &&
      answer !== null &&
      agrees(terms, answer, decision.answer);
    return vetoes
      ? [`the upheld counter-proof of seat ${author} against ${JSON.stringify(answer)} was passed over`]
      : [];
  });
}

/**
 * MB20: what more than 2/3 of the seats answered in the same words is decided: honest seats, which open what they committed to. A message
 * of a void slot tells nothing (PH4).
 */
function outvoted(trace: Trace, { certificate: { decision }, messages, all }: Decided): readonly string[] {
  const { attempt } = trace;
  const seats = attempt.committee.length;
  const valid = messages.filter(({ header }) => messages.filter((one) => sameSlot(one, header)).length === 1);
  const isHeard = (message: Message | null): boolean =>
    message !== null && isMajority(witnesses(valid, message), seats);
  const heard = honestSeats(trace).flatMap(({ seat }) => {
    const reveal = of(valid, REVEAL, seat);
    return reveal !== null && isHeard(reveal) && isHeard(of(valid, COMMIT, seat)) ? reveal : [];
  });
  const bears = bearing(trace, all);
  const borne = heard.filter(({ header, payload }) => bears(fieldsOf(fieldsOf(payload)["proposal"]), header.seat));
  const answers = borne.flatMap((reveal) => answerIn(reveal) ?? []);
  const counted = answers.find((answer) => isSupermajority(answers.filter((one) => one === answer).length, seats));
  const ended = new Set(messages.flatMap(({ header: { phase, seat } }) => (phase === JUDGE ? seat : [])));
  const isComplete = isSupermajority(ended.size, seats);
  if (!isComplete || counted === undefined || agrees(attempt.request.terms, counted, decision.answer)) return [];
  return [`more than 2/3 of the seats answered ${JSON.stringify(counted)}, and it was not decided`];
}

function answerIn(reveal: Message | undefined): string | null {
  const { answer } = fieldsOf(fieldsOf(reveal?.payload)["proposal"]);
  return typeof answer === "string" ? answer : null;
}

function sameSlot({ header }: Message, { phase, round, seat }: Message["header"]): boolean {
  return header.phase === phase && header.round === round && header.seat === seat;
}
