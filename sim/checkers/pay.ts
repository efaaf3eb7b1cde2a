import { bytesToHex } from "../../agents/core/encoding/bytes.ts";
import {
  ABSENT,
  type Decision,
  type Message,
  type SeatIndex,
  type Terms,
  type Value,
} from "../../agents/core/types.ts";
import { KIND_RULES } from "../../agents/core/request/kinds.ts";
import { namesSources } from "../../agents/core/sources/named.ts";
import { agrees } from "../plan.ts";
import { slotOf, type Trace } from "../trace.ts";
import { digestIn, fieldsOf, recordIn } from "./raw.ts";
import { bearing, differingFrom, firstCertificate, openingOf, transcribed } from "./transcript.ts";

const COMMIT = 1;
const REVEAL = 2;
const DRAFT = 10;
const TOP_TIER = 900_000;
/** PY6: the share of a seat that worked, and earned nothing by its answer: no score. */
export const FLAT = 1;
const [SAFE, SURE] = [30, 240];
/** PY8: protocols whose chair can decide what few seats answered. */
const CHAIRED = ["council", "debate", "adversarial"];
/** LL15, AD9: protocols under which most seats answer nothing blind, and would gain if all earned where nobody was right. */
const FEW_BLIND = ["leaderless", "adversarial"];
/** Protocols that also slash for opinions. */
export const OWN_SLASHES = ["mbft", "escalating"];

/**
 * SI11: all certificates state the same shares and changes. Who is paid answered blind, as the raw messages of the certified transcript
 * show: it bound itself to an answer of the first round, or wrote the first draft (PY7). If one can tell by the answer alone, it is the
 * decided one, and paid by its tier (PY3). Where no more than a third were right at first, and in a Hung attempt, all earn alike (PY6):
 * somebody always earns, but for LL15 and AD9. Who said nothing, and nobody else, is absent, and falls one step (PY9). Where more than 2/3 are paid for the decided answer, whoever bound itself and was wrong when sure, or never showed its
 * answer, falls; nobody else does (PY5, PY10).
 */
export function checkPay(trace: Trace): readonly string[] {
  const certificate = firstCertificate(trace);
  const messages = transcribed(trace);
  if (certificate === null || messages === null) return [];
  const { decision } = certificate;
  const { terms } = trace.attempt.request;
  const differing = differingFrom(trace, certificate, paidBy, "shares or reputation changes");
  const bound = trace.attempt.committee.map((_, seat) => boundTo(trace, messages, seat as SeatIndex));
  const isAlike = decision.shares.every((share) => share <= FLAT || share === ABSENT);
  const known = knownIn(trace, messages, decision, bound);
  const unearned = decision.shares.flatMap((share, seat): readonly string[] => {
    const isSilent = !messages.some(({ header }) => header.seat === seat);
    // Nobody is asked anything in a refused attempt.
    if (isSilent !== (share === ABSENT) && messages.length > 0)
      return [`seat ${seat} ${isSilent ? "said nothing" : "spoke"}, and its share is ${share}`];
    if (share === 0 || share === ABSENT) return [];
    const shown = bound[seat]?.shown ?? null;
    if (decision.status === "hung" && !isAlike) return [`seat ${seat} is paid ${share} for a Hung attempt`];
    if (isAlike) {
      const isRight = decision.status === "decided" && isSame(terms, shown?.["answer"], decision.answer);
      return isRight && known === true ? [`seat ${seat} was right, and all earn alike`] : [];
    }
    if (shown === null) return [`seat ${seat} is paid and answered nothing blind`];
    if (!canTell(terms)) return [];
    if (known === false) return [`seat ${seat} is paid ${share}, and no more than a third were right`];
    const { answer, tier } = shown;
    if (!isSame(terms, answer, decision.answer))
      return [`seat ${seat} is paid and answered ${JSON.stringify(answer)}, not ${JSON.stringify(decision.answer)}`];
    return share === (tier === TOP_TIER ? SURE : SAFE)
      ? []
      : [`seat ${seat} is paid ${share} for tier ${JSON.stringify(tier)}`];
  });
  const isFree = decision.shares.every((share) => share === 0 || share === ABSENT);
  const isNobodys = FEW_BLIND.includes(trace.protocol.id) && decision.status === "decided";
  const unpaid = isFree && !isNobodys ? ["nobody is paid"] : [];
  return [...differing, ...unpaid, ...unearned, ...fallsIn(trace, messages, decision, bound)];
}

/**
 * PY6: whether more than a third of all seats gave the decided answer blind and did what was asked; null if one cannot tell. Without faults
 * all answers of honest seats count, but those that no source bears or that its own slashes take; one that a Byzantine seat shows may be late. An honest
 * seat that is paid, and spoke in the last round, did what was asked.
 */
function knownIn(
  trace: Trace,
  messages: readonly Message[],
  { status, answer, shares }: Decision,
  bound: readonly (Bound | null)[],
): boolean | null {
  const { terms } = trace.attempt.request;
  const isTold = trace.faults.length === 0 && trace.sources === null && status === "decided" && canTell(terms);
  if (!isTold || [...CHAIRED, ...FEW_BLIND, ...OWN_SLASHES].includes(trace.protocol.id)) return null;
  const right = trace.seats.filter(({ seat }) => isSame(terms, bound[seat]?.shown?.["answer"], answer));
  const last = Math.max(...messages.map(({ header }) => header.round));
  const spoke = (seat: SeatIndex): boolean =>
    messages.some(({ header }) => header.seat === seat && header.round === last);
  const honest = right.filter(({ byzantine, seat }) => byzantine === null && (shares[seat] ?? 0) > 0 && spoke(seat));
  const { length } = trace.attempt.committee;
  if (3 * honest.length > length) return true;
  return 3 * right.length <= length ? false : null;
}

/** PY5, PY10: the errors in who falls. A seat with two messages for one slot falls for that. */
function fallsIn(
  trace: Trace,
  messages: readonly Message[],
  { status, answer, shares, reputationChanges }: Decision,
  bound: readonly (Bound | null)[],
): readonly string[] {
  const { attempt, protocol } = trace;
  const { terms } = attempt.request;
  const isMost = (those: readonly unknown[]): boolean => 3 * those.length > 2 * attempt.committee.length;
  const shownBy = (seat: number): Fields | null => bound[seat]?.shown ?? null;
  const seats = attempt.committee.map((_, seat) => seat);
  const paid = paidFor({ status, shares });
  const bears = bearing(trace, messages);
  const right = seats.filter((seat) => status === "decided" && isSame(terms, shownBy(seat)?.["answer"], answer));
  const slots = messages.map((message) => slotOf(message));
  const isForked = ({ header }: Message, index: number, seat: number): boolean =>
    header.seat === seat && slots.indexOf(slots[index]!) !== slots.lastIndexOf(slots[index]!);
  return seats.flatMap((seat): readonly string[] => {
    const [own, shown] = [bound[seat] ?? null, shownBy(seat)];
    if (messages.some((message, index) => isForked(message, index, seat)) || (shown !== null && !canTell(terms)))
      return [];
    const differs = (other: number): boolean =>
      shown === null || !isSame(terms, shownBy(other)?.["answer"], shown["answer"]);
    const isWrong = shown === null || (shown["tier"] === TOP_TIER && !isSame(terms, shown["answer"], answer));
    const steps = reputationChanges.find((change) => change.seat === seat)?.steps ?? 0;
    if (shares[seat] === ABSENT)
      return steps === -1 ? [] : [`seat ${seat} is absent, and its reputation moves by ${steps}`];
    if (steps >= 0)
      // SG9: an answer that no source bears earns nothing, and costs nothing.
      return own?.isOrdered === true &&
        isWrong &&
        isMost(paid.filter(differs)) &&
        (shown === null || bears(shown, seat as SeatIndex))
        ? [`seat ${seat} ${shown === null ? "never showed what it bound itself to" : "was wrong when sure"}, and stays`]
        : [];
    if (OWN_SLASHES.includes(protocol.id) || !canTell(terms)) return [];
    return own !== null && isWrong && isMost(right.filter(differs))
      ? []
      : [`seat ${seat} falls, and was not wrong when sure`];
  });
}

/** The seats that are paid for an answer that agrees. Policies that agree by half earn half. */
export function paidFor({ status, shares }: Pick<Decision, "status" | "shares">): readonly SeatIndex[] {
  return shares.flatMap((share, seat) =>
    status === "decided" && share !== ABSENT && 2 * share >= SAFE ? (seat as SeatIndex) : [],
  );
}

/** True if one can tell by the answers alone whether two agree. */
export function canTell({ kind }: Terms): boolean {
  const { appealable, agreement } = KIND_RULES[kind];
  return appealable && agreement === undefined;
}

export function isSame(terms: Terms, answer: Value | undefined, other: Value | undefined): boolean {
  return typeof answer === "string" && typeof other === "string" && agrees(terms, answer, other);
}

function paidBy({
  shares,
  reputationChanges,
}: {
  readonly shares: unknown;
  readonly reputationChanges: unknown;
}): string {
  return JSON.stringify([shares, reputationChanges]);
}

type Fields = ReturnType<typeof fieldsOf>;

/** A seat bound itself to an answer before it could see others' answers. */
interface Bound {
  /** Null if it never showed the answer. */
  readonly shown: Fields | null;
  /** False if the decision may not have read the commitment: under hashgraph it has to be ordered by then (PY10). */
  readonly isOrdered: boolean;
}

/** What a seat bound itself to; null if nothing. */
export function boundTo(trace: Trace, messages: readonly Message[], seat: SeatIndex): Bound | null {
  const { protocol } = trace;
  if (protocol.id === "adversarial") {
    const draft = messages.find(({ header, payload }) => header.phase === DRAFT && proposalIn(payload) !== null);
    return draft?.header.seat === seat ? { shown: proposalIn(draft.payload), isOrdered: true } : null;
  }
  if (protocol.id === "hashgraph") {
    const own = bySeat(placedIn(messages), seat);
    const first = readingStages(trace);
    const [commit, reveal] = [recorded(own, first), recorded(own, first + 1)];
    // Before the rounds of answers there is as many rounds of phases for reading as there are stages here.
    const bound = opened(trace, own[0], first, recordIn(commit)["body"], recordIn(reveal)["body"]);
    return bound && { ...bound, isOrdered: commit !== undefined && isBehindPaid(trace, messages, commit) };
  }
  const own = bySeat(messages, seat);
  const first = Math.min(...messages.filter(({ header }) => header.phase === COMMIT).map(({ header }) => header.round));
  const said = (phase: number) => own.find(({ header }) => header.phase === phase && header.round === first)?.payload;
  return opened(trace, own[0], first, said(COMMIT), said(REVEAL));
}

/** HG26: how many stages come before the commitments. */
function readingStages({ attempt }: Trace): number {
  return namesSources(attempt) ? 1 : 0;
}

function recorded(own: readonly Message[], stage: number): Message | undefined {
  return own.find((message) => recordIn(message)["stage"] === stage);
}

/**
 * HG4, HG6: the events whose ancestors are there. Only in a forked slot may another event's place stay empty; what follows in the line of
 * an event that is left out there is dead, and no parent.
 */
function placedIn(messages: readonly Message[]): readonly Message[] {
  const [placed, dead] = [new Set<string>(), new Set<string>()];
  const all = new Set(messages.map(({ header }) => nameOf(header)));
  const slots = messages.map(({ header: { seat, round } }) => JSON.stringify([seat, round]));
  const isForked = ({ seat, sequence }: Fields): boolean => {
    const slot = JSON.stringify([seat, sequence]);
    return slots.indexOf(slot) !== slots.lastIndexOf(slot);
  };
  for (let count = -1; count !== placed.size + dead.size;) {
    count = placed.size + dead.size;
    for (const message of messages) {
      const { seat, round } = message.header;
      const { self, other } = parentsOf(message);
      const isCut = self !== null && !all.has(self) && isForked({ seat, sequence: round - 1 });
      if (self !== null && (isCut || dead.has(self))) dead.add(nameOf(message.header));
      const isOtherThere = other === null || placed.has(other.name) || dead.has(other.name) || isForked(other.ref);
      if ((self === null || placed.has(self)) && isOtherThere) placed.add(nameOf(message.header));
    }
  }
  return messages.filter(({ header }) => placed.has(nameOf(header)));
}

/** HG9: a seat is paid for an answer that was ordered, and with it all events that its own rests on. */
function isBehindPaid(trace: Trace, messages: readonly Message[], commit: Message): boolean {
  const shares = firstCertificate(trace)?.decision.shares ?? [];
  const byName = new Map(messages.map((message) => [nameOf(message.header), message]));
  const revealed = shares.flatMap((share, seat) => {
    const reveal =
      share === 0 || share === ABSENT ? undefined : recorded(bySeat(messages, seat), readingStages(trace) + 1);
    return reveal === undefined ? [] : nameOf(reveal.header);
  });
  const ancestors = new Set(revealed);
  // The loop also visits what it adds to the set.
  for (const name of ancestors) {
    const message = byName.get(name);
    const { self, other } = message === undefined ? { self: null, other: null } : parentsOf(message);
    for (const parent of [self, other?.name ?? null]) if (parent !== null) ancestors.add(parent);
  }
  return ancestors.has(nameOf(commit.header));
}

/** An event by its creator and digest: seats that read the same say the same, and a liar copies what others say. */
function nameOf({ seat, payloadDigest }: Pick<Message["header"], "seat" | "payloadDigest">): string {
  return `${seat} ${payloadDigest}`;
}

/** The names of an event's parents; null without one. */
function parentsOf({ header: { seat }, payload }: Message) {
  const { selfParent, otherParent } = fieldsOf(payload);
  const own = digestIn(selfParent);
  const ref = fieldsOf(otherParent);
  const digest = digestIn(ref["digest"]);
  return {
    self: own === null ? null : nameOf({ seat, payloadDigest: own }),
    other: digest === null ? null : { ref, name: nameOf({ seat: ref["seat"] as SeatIndex, payloadDigest: digest }) },
  };
}

function bySeat(messages: readonly Message[], seat: number): readonly Message[] {
  return messages.filter(({ header }) => header.seat === seat);
}

function proposalIn(payload: Value | undefined): Fields | null {
  const proposal = fieldsOf(payload)["proposal"];
  return proposal === null || proposal === undefined ? null : fieldsOf(proposal);
}

/** The commitment, with the revealed answer if it opens it (PH1). */
function opened(
  trace: Trace,
  message: Message | undefined,
  round: number,
  commit: Value | undefined,
  reveal: Value | undefined,
): Bound | null {
  const [commitment, proposal] = [fieldsOf(commit)["commitment"], proposalIn(reveal)];
  if (message === undefined || !(commitment instanceof Uint8Array)) return null;
  const isOpening = proposal !== null && bytesToHex(commitment) === openingOf(trace, message.header, round, proposal);
  return { shown: isOpening ? proposal : null, isOrdered: true };
}
