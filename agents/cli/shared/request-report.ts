import { lastHeadFor } from "../../adapters/chain/committee.ts";
import type { ChainTerms } from "../../adapters/chain/terms.ts";
import { KIND_RULES, policiesOf } from "../../core/request/kinds.ts";
import { cidString } from "../../core/encoding/cid.ts";
import { protocolByCode } from "../../core/protocols/index.ts";
import { unpackRound } from "../../core/request/rounds.ts";
import { seedEndOf, type SeedEnd } from "../../core/request/seed-end.ts";
import {
  ABSENT,
  shareOf,
  type RequestId,
  type SeatIndex,
  type SeatInfo,
  type Skill,
  type Terms,
} from "../../core/types.ts";
import type { ChainEvent, RequestState } from "../../core/request/events.ts";
import type { ChainReader, TransactionReader } from "../../ports/chain.ts";
import { awaitedOf, isWaiting, progressOf, lastRound, type Head, type Progress } from "../../core/request/progress.ts";
import { formatAmount, unitOf } from "./arguments.ts";
import { answerOf, reputationText, statusWords } from "./decision-words.ts";
import { meaningOf } from "./protocol-words.ts";
import { isDecided } from "../../core/request/state.ts";
import { lessonOf } from "./skill.ts";
import { seatedIfPossible } from "./seated.ts";
import { grid, percent, printable, rows, utc, type Row } from "./output.ts";

type EventOf<Kind extends ChainEvent["kind"]> = Extract<ChainEvent, { kind: Kind }>;

/** Report of one request, from its events. */
export interface RequestReport {
  readonly json: object;
  readonly text: string;
  readonly state: RequestState;
}

interface Facts {
  readonly requestId: RequestId;
  readonly state: RequestState;
  readonly asked: EventOf<"requested"> | undefined;
  readonly progress: Progress | null;
  /** When the running attempt's seed can be proven no more (SE8); null without one. */
  readonly seedEnd: SeedEnd | null;
  /** The decision that stands, final or not. */
  readonly committed: EventOf<"decisionCommitted"> | undefined;
  readonly requestGas: bigint | null;
  readonly commitGas: bigint | null;
}

interface SeatLine {
  readonly seat: number;
  readonly agentId: number;
  readonly signer: string;
  /** As the registry showed it when the committee was picked. */
  readonly reputation: number;
  readonly skill: Skill;
  readonly signed: boolean;
  /** Steps that reputation falls (negative), or recovery. */
  readonly steps: number;
  readonly share: number;
  /** PY9: it said nothing. */
  readonly absent: boolean;
  /** SK1: what the decision teaches about it if it stands; null if nothing. */
  readonly lesson: "agreed" | "outvoted" | null;
}

/** Reports a request. Throws REQUEST_UNKNOWN. */
export async function reportRequest(
  chain: ChainReader & TransactionReader,
  { feeToken, seedWindow }: Pick<ChainTerms, "feeToken" | "seedWindow">,
  requestId: RequestId,
  signal: AbortSignal,
): Promise<RequestReport> {
  const [events, state, head] = await Promise.all([
    chain.requestEvents(requestId, signal),
    chain.requestState(requestId, signal),
    chain.head(signal),
  ]);
  const asked = events.find((event) => event.kind === "requested");
  const asOfEvents = progressOf(events);
  const progress = asOfEvents === null ? null : await seatedIfPossible(chain, asOfEvents, head, signal);
  const awaited = progress === null ? null : awaitedOf(progress);
  const seedEnd =
    progress === null || awaited === null || isWaiting(awaited)
      ? null
      : seedEndOf(progress, calledIn(events, head), lastHeadFor(awaited.seedBlock, await seedWindow(signal)), head);
  const last = progress === null ? null : lastRound(progress);
  const committed = events
    .filter((event) => event.kind === "decisionCommitted")
    .findLast(({ decision }) => decision.attempt === last?.decision.attempt);
  const gasOf = async (event: ChainEvent | undefined): Promise<bigint | null> =>
    event === undefined ? null : (await chain.receipt(event.transactionHash, signal)).gasUsed;
  const [requestGas, commitGas] = await Promise.all([gasOf(asked), gasOf(committed)]);
  const facts = { requestId, state, asked, progress, seedEnd, committed, requestGas, commitGas };
  return { json: reportJson(facts), text: reportText(facts, feeToken), state };
}

function reportJson(facts: Facts): object {
  const { requestId, state, asked, committed, requestGas, commitGas } = facts;
  const request = asked?.request;
  const decision = committed?.decision;
  return {
    requestId: String(requestId),
    status: state.status,
    provisional: state.provisional,
    deadline: facts.progress === null ? null : unpackRound(facts.progress.round).deadline,
    lastBlock: facts.seedEnd === null ? null : Number(facts.seedEnd.block),
    question: request?.question ?? null,
    consumer: request?.consumer ?? null,
    terms: request === undefined ? null : { ...request.terms, protocol: protocolLabel(request.terms.protocol) },
    protocolAssurance: request === undefined ? null : (protocolByCode(request.terms.protocol)?.assurance ?? null),
    attempt: decision?.attempt ?? state.attempt,
    outcome: decision?.outcome ?? null,
    answer: decision?.answer ?? null,
    policies:
      request?.terms.kind === "policies" && decision?.status === "decided" ? policiesOf(decision.outcome) : null,
    confidence: decision?.confidence ?? null,
    round: decision?.round ?? null,
    transcript: decision === undefined ? null : cidString(decision.transcript),
    seats: seatLines(facts),
    signers: seatLines(facts).flatMap(({ seat, signed }) => (signed ? [seat] : [])),
    requestTx: asked?.transactionHash ?? null,
    requestGas: requestGas === null ? null : Number(requestGas),
    commitTx: committed?.transactionHash ?? null,
    commitGas: commitGas === null ? null : Number(commitGas),
    relayer: committed?.relay.relayer ?? null,
    callbackPending: state.callbackPending,
    settled: state.settled,
    earlier: (facts.progress?.past ?? []).map(({ decision: { attempt, status, answer }, committee, appellant }) => ({
      attempt,
      status,
      answer,
      seats: committee.length,
      appellant,
    })),
  };
}

function reportText(facts: Facts, feeToken: ChainTerms["feeToken"]): string {
  const { requestId, state, asked, committed, requestGas, commitGas } = facts;
  const lines: Row[] = [
    ["request", String(requestId)],
    ["status", statusText(facts)],
  ];
  if (asked !== undefined) {
    const { question, consumer, terms } = asked.request;
    lines.push(
      ["question", question.split("\n").map(printable).join(" / ")],
      ["kind", KIND_RULES[terms.kind].label(terms)],
      ["protocol", protocolLabel(terms.protocol)],
      ["assurance", assuranceText(terms)],
    );
    lines.push(["fee", formatAmount(terms.fee, unitOf(terms.currency, feeToken))], ["consumer", consumer]);
    lines.push(...earlierRows(facts));
    lines.push(["asked in", `${asked.transactionHash} (${requestGas ?? "?"} gas)`]);
  }
  if (committed !== undefined) {
    const {
      decision,
      transactionHash,
      relay: { relayer },
    } = committed;
    lines.push(["answer", decision.status === "decided" ? answerOf(decision) : `none: ${answerOf(decision)}`]);
    lines.push(["confidence", percent(decision.confidence)], ["ballot", String(decision.round)]);
    lines.push(["transcript", cidString(decision.transcript)]);
    lines.push(["committed in", `${transactionHash} (${commitGas ?? "?"} gas) by ${relayer}`]);
  }
  if (facts.progress?.stage.kind === "unanswered") lines.push(["answer", "none: nobody answered the last attempt"]);
  if (isDecided(state))
    lines.push(["callback", callbackText(facts)], ["pay", state.settled ? "settled" : "not settled yet"]);
  const seats = seatLines(facts);
  return seats.length === 0 ? rows(lines) : `${rows(lines)}\n\n${seatTable(seats)}`;
}

function statusText({ state, progress, seedEnd }: Facts): string {
  const status = statusWords(state.status);
  if (progress === null) return status;
  const { deadline } = unpackRound(progress.round);
  const awaited = awaitedOf(progress);
  if (awaited !== null && isWaiting(awaited))
    return `${status}, waits until ${utc(deadline)}; then a committee is called`;
  if (state.provisional) return `${status}, provisional: anybody may appeal until ${utc(deadline)}`;
  if (state.status !== "requested" || seedEnd === null) return status;
  const { block, time } = seedEnd;
  if (time === null)
    return `${state.status}, until ${utc(deadline)} or the end of block ${block}, whichever comes first`;
  return time < deadline
    ? `${state.status}, until the end of block ${block}, about ${utc(time)}: then its seed expires, before the deadline ${utc(deadline)}`
    : `${state.status}, until ${utc(deadline)}`;
}

/** The block that called the running attempt; the head if it was not read. */
function calledIn(events: readonly ChainEvent[], head: Head): bigint {
  return events.findLast(({ kind }) => kind === "requested" || kind === "requestReopened")?.blockNumber ?? head.number;
}

function earlierRows({ progress }: Facts): readonly Row[] {
  return (progress?.past ?? []).map(({ decision: { attempt, status, answer }, committee, appellant }) => {
    const said = status === "hung" ? "hung" : answerOf({ status, answer });
    const unappealed =
      status === "hung" || status === "tooEarly"
        ? "another committee was called"
        : "not sure enough, so a larger committee was called";
    const then = appellant === null ? unappealed : `appealed against by ${appellant}`;
    return [`attempt ${attempt}`, `${committee.length} seats: ${said}; ${then}`];
  });
}

function seatTable(seats: readonly SeatLine[]): string {
  const head = ["seat", "agent", "signer", "reputation", "skill", "signed", "change", "share", "blind answer"];
  return grid(
    head,
    seats.map(({ seat, agentId, signer, reputation, skill, signed, steps, share, absent, lesson }) => {
      const change = reputationText(steps, absent ? ABSENT : share);
      const earns = absent ? "absent" : String(share);
      const places = [String(seat), String(agentId), signer, percent(reputation), String(skill)];
      return [...places, signed ? "yes" : "no", change, earns, lesson ?? "-"];
    }),
  );
}

function seatLines({ progress, committed }: Facts): readonly SeatLine[] {
  const stage = progress?.stage;
  const committee: readonly SeatInfo[] = stage !== undefined && "committee" in stage ? stage.committee : [];
  return committee.map(({ agentId, signer, reputation, skill }, seat) => ({
    seat,
    agentId,
    signer,
    reputation,
    skill,
    signed: (((committed?.relay.signers ?? 0n) >> BigInt(seat)) & 1n) === 1n,
    steps: committed?.decision.reputationChanges.find((change) => change.seat === seat)?.steps ?? 0,
    share: shareOf(committed?.decision.shares ?? [], seat),
    absent: committed?.decision.shares[seat] === ABSENT,
    lesson: committed === undefined ? null : lessonOf(committed.decision, seat as SeatIndex),
  }));
}

/** Shows the request's assurance, then the protocol's. */
function assuranceText({ assurance, protocol }: Pick<Terms, "assurance" | "protocol">): string {
  const assured = protocolByCode(protocol)?.assurance;
  return assured === undefined ? assurance : `${assurance}, ${assured}: ${meaningOf[assured]}`;
}

function callbackText({ state, asked }: Facts): string {
  if (state.callbackPending) return "failed; anybody can retry it";
  return (asked?.request.terms.callbackGasLimit ?? 0) === 0 ? "none asked for" : "succeeded";
}

function protocolLabel(code: number): string {
  return protocolByCode(code)?.id ?? `unknown (${code})`;
}
