import type * as z from "zod/mini";
import {
  shareOf,
  type Address,
  type AgentId,
  type AnswerKind,
  type Currency,
  type DecisionStatus,
  type Hex,
  type Ppm,
  type RequestId,
} from "../../core/types.ts";
import type {
  Amounts,
  FaultFilter,
  PageWanted,
  PastFault,
  PastRequest,
  HistoryFilter,
  RequestMoney,
  RequestPage,
  Statistics,
  Sums,
} from "../../ports/history.ts";
import type { AgentHistory } from "../../ports/history.ts";
import { postQuery, subgraphError, type Query } from "./endpoint.ts";
import type { Endpoint } from "./graph-node.ts";
import {
  agentHistoryQuery,
  faultsQuery,
  requestMoneyQuery,
  requestsQuery,
  statisticsQuery,
  type AgentHistoryAnswer,
  type FaultsAnswer,
  type RequestFilter as Where,
  type RequestMoneyAnswer,
  type RequestsAnswer,
  type StatisticsAnswer,
} from "./queries.ts";
import { MAX_ROWS } from "./scalars.ts";

/** The subgraph of one deployment. Its answers are not proven: trust or audit whoever runs the endpoint. */
export interface Subgraph {
  /** Returns a page of requests. Throws USAGE for a cursor of another source. */
  requests(filter: HistoryFilter, page: PageWanted, signal: AbortSignal): Promise<Indexed<RequestPage>>;
  /** Returns an agent's record, with at most `limit` entries in each list; null if there is no such agent. */
  agent(agentId: AgentId, limit: number, signal: AbortSignal): Promise<Indexed<AgentHistory | null>>;
  /** Returns who was paid what for a request; null if it does not know the request. */
  money(requestId: RequestId, signal: AbortSignal): Promise<Indexed<RequestMoney | null>>;
  /** Returns the newest faults, at most `limit`, the newest first. */
  faults(filter: FaultFilter, limit: number, signal: AbortSignal): Promise<Indexed<readonly PastFault[]>>;
  statistics(days: number, signal: AbortSignal): Promise<Indexed<Statistics>>;
}

export interface Indexed<Answer> {
  readonly answer: Answer;
  readonly upTo: IndexedUpTo;
}

/** The block up to which an answer holds, and its contracts. */
export interface IndexedUpTo {
  readonly block: number;
  /** The block's hash; null if the endpoint does not say. */
  readonly blockHash: Hex | null;
  /** Unix seconds; null if the endpoint does not say. */
  readonly time: number | null;
  /** Null before the deployment is indexed. */
  readonly oracle: Hex | null;
  readonly registry: Hex | null;
}

/** Most rows of a page. */
export const MAX_PAGE = 500;
const CURSOR = /^s-([1-9]\d{0,9})$/;
/** Largest Int of GraphQL. */
const MAX_INT = 2 ** 31 - 1;

export function openSubgraph(endpoint: Endpoint): Subgraph {
  const ask = async <Answer extends z.ZodMiniType<Standings>>(
    query: Query<Answer>,
    signal: AbortSignal,
  ): Promise<{ readonly said: z.infer<Answer>; readonly upTo: IndexedUpTo }> => {
    const said = await postQuery(endpoint, query, signal);
    return { said, upTo: indexedUpTo(endpoint, said) };
  };
  return {
    async requests(filter, page, signal) {
      const before = page.cursor === null ? null : numberOf(endpoint, page.cursor);
      const where = whereOf(filter, before);
      const { said, upTo } = await ask(requestsQuery({ first: page.limit, where }), signal);
      requireDescending(endpoint, said.requests, page.limit, before);
      const last = said.requests.at(-1)?.number ?? 1;
      const next = said.requests.length < page.limit || last === 1 ? null : `s-${last}`;
      return { answer: { requests: said.requests.map(requestOf), next }, upTo };
    },
    async agent(agentId, limit, signal) {
      const first = Math.min(limit, MAX_ROWS);
      const { said, upTo } = await ask(agentHistoryQuery({ id: String(agentId), first }), signal);
      if (said.agent !== null && said.agent.number !== agentId)
        throw subgraphError("SUBGRAPH_INVALID", endpoint, `it answers with agent ${said.agent.number}, not ${agentId}`);
      return { answer: said.agent === null ? null : agentOf(said.agent), upTo };
    },
    async money(requestId, signal) {
      const { said, upTo } = await ask(requestMoneyQuery({ id: String(requestId), first: MAX_ROWS }), signal);
      if (said.request !== null && said.request.id !== requestId)
        throw subgraphError(
          "SUBGRAPH_INVALID",
          endpoint,
          `it answers with request ${said.request.id}, not ${requestId}`,
        );
      return { answer: said.request === null ? null : moneyOf(said.request), upTo };
    },
    async faults({ agentId, requestId }, limit, signal) {
      const where = {
        ...(agentId === null ? {} : { agent: String(agentId) }),
        ...(requestId === null ? {} : { request: String(requestId) }),
      };
      const { said, upTo } = await ask(faultsQuery({ first: Math.min(limit, MAX_ROWS), where }), signal);
      return { answer: said.evidences.toSorted(byNewest).map(faultOf), upTo };
    },
    async statistics(days, signal) {
      const { said, upTo } = await ask(statisticsQuery({ days }), signal);
      return { answer: statisticsOf(said), upTo };
    },
  };
}

type Standings = Pick<RequestsAnswer, "_meta" | "deployment">;

function indexedUpTo(endpoint: Endpoint, { _meta: meta, deployment }: Standings): IndexedUpTo {
  if (meta === null) throw subgraphError("SUBGRAPH_INVALID", endpoint, "it does not say up to which block it knows");
  const { number, hash, timestamp } = meta.block;
  if (meta.hasIndexingErrors)
    throw subgraphError("SUBGRAPH_FAILED", endpoint, `it stopped indexing after block ${number}; see its log`, {
      block: number,
    });
  const { oracle = null, registry = null } = deployment ?? {};
  return { block: number, blockHash: hash, time: timestamp, oracle, registry };
}

function numberOf(endpoint: Endpoint, cursor: string): number {
  const [, digits] = CURSOR.exec(cursor) ?? [];
  const number = Number(digits);
  if (number <= MAX_INT) return number;
  const data = { field: "cursor", cursor };
  throw subgraphError("USAGE", endpoint, "this is an unknown cursor; give the one that the page before named", data);
}

function whereOf(filter: HistoryFilter, before: number | null): Where {
  const { agentId, consumer, protocol, statuses, since, until } = filter;
  return {
    ...(before === null ? {} : { number_lt: before }),
    ...(agentId === null ? {} : { seats_: { agent: String(agentId) } }),
    ...(consumer === null ? {} : { consumer }),
    ...(protocol === null ? {} : { protocol }),
    ...(statuses === null ? {} : { status_in: statuses.map(capital) }),
    ...(since === null ? {} : { timestamp_gte: BigInt(since) }),
    ...(until === null ? {} : { timestamp_lte: BigInt(until) }),
  };
}

/** A cursor that does not move would repeat its page for ever. */
function requireDescending(
  endpoint: Endpoint,
  requests: RequestsAnswer["requests"],
  limit: number,
  before: number | null,
): void {
  const numbers = [...(before === null ? [] : [before]), ...requests.map(({ number }) => number)];
  const isOrdered = numbers.every((number, index) => index === 0 || number < (numbers[index - 1] ?? 0));
  if (isOrdered && numbers.every((number) => number > 0) && requests.length <= limit) return;
  throw subgraphError("SUBGRAPH_INVALID", endpoint, "the requests are not in the order, or more than were asked for");
}

function requestOf(said: RequestsAnswer["requests"][number]): PastRequest {
  const { id, timestamp, transaction, consumer, protocol, question, provisional, settled, attempt, fee } = said;
  return {
    requestId: id,
    time: timestamp,
    transaction,
    consumer: consumer as Address,
    protocol,
    kind: said.kind.toLowerCase() as AnswerKind,
    currency: currencyOf(said.currency),
    fee,
    question,
    status: uncapital(said.status),
    provisional,
    settled,
    attempt,
    decision: said.decision === null ? null : pastDecisionOf(said.decision),
  };
}

function pastDecisionOf(said: NonNullable<RequestsAnswer["requests"][number]["decision"]>): PastRequest["decision"] {
  const { status, answer, confidence, transcript, attempt, signers } = said;
  return {
    attempt: attempt.number,
    status: uncapital(status) as DecisionStatus,
    answer,
    confidence: confidence as Ppm,
    transcript,
    signers: signers
      .map(({ number, agent }) => ({ seat: number, agentId: agent.number as AgentId }))
      .toSorted((left, right) => left.seat - right.seat),
  };
}

function agentOf(said: NonNullable<AgentHistoryAnswer["agent"]>): AgentHistory {
  return {
    agentId: said.number as AgentId,
    operator: said.operator.id as Address,
    signer: said.signer as Address,
    model: said.model,
    endpoint: said.endpoint,
    reputation: said.reputation as Ppm,
    active: said.active,
    exited: said.exited,
    services: said.service,
    contested: said.contested,
    agreed: said.agreed,
    bonded: said.bonded,
    unbonding: said.unbonding,
    commission: said.commission as Ppm,
    slashed: said.slashed,
    seatCount: said.seatCount,
    signatureCount: said.signatureCount,
    earned: { token: said.earnedToken, native: said.earnedNative },
    registeredAt: said.registeredAt,
    reputationChanges: said.reputationChanges
      .toSorted(byNewest)
      .map(({ request, steps, before, after, timestamp, transaction }) => ({
        requestId: request.id,
        steps,
        before: before as Ppm,
        after: after as Ppm,
        time: timestamp,
        transaction,
      })),
    seats: said.seats.map(seatOf),
    reliability: said.reliability.map(({ tenth, sureAgreed, sureOutvoted, unsureAgreed, unsureOutvoted }) => ({
      tenth,
      sure: { agreed: sureAgreed, outvoted: sureOutvoted },
      unsure: { agreed: unsureAgreed, outvoted: unsureOutvoted },
    })),
    pay: said.pay.map(({ request, seat, currency, amount, timestamp, transaction }) => ({
      requestId: request.id,
      attempt: seat.attempt.number,
      seat: seat.number,
      currency: currencyOf(currency),
      amount,
      time: timestamp,
      transaction,
    })),
    slashes: said.slashes.map(({ evidence, bonded, unbonding, reporter, timestamp, transaction }) => ({
      requestId: evidence?.request ? evidence.request.id : null,
      attempt: evidence?.attempt ?? null,
      fault: evidence === null ? null : uncapital(evidence.fault),
      bonded,
      unbonding,
      reporter: reporter.id as Address,
      time: timestamp,
      transaction,
    })),
  };
}

function seatOf(said: NonNullable<AgentHistoryAnswer["agent"]>["seats"][number]): AgentHistory["seats"][number] {
  const { number: seat, request, attempt, decision, timestamp } = said;
  return {
    requestId: request.id,
    attempt: attempt.number,
    seat,
    protocol: request.protocol,
    time: timestamp,
    decision: {
      status: uncapital(decision.status) as DecisionStatus,
      signed: decision.signerSeats.includes(seat),
      steps: decision.steps[seat] ?? 0,
      share: shareOf(decision.shares, seat),
    },
  };
}

function moneyOf(said: NonNullable<RequestMoneyAnswer["request"]>): RequestMoney {
  const { id, currency, fee, refund, settled, pay, rounds, callerPay } = said;
  return {
    requestId: id,
    currency: currencyOf(currency),
    fee,
    refund: callerPay.reduce((sum, { rest }) => sum + rest, refund),
    settled,
    seats: pay
      .map(({ seat, agent, amount }) => ({
        attempt: seat.attempt.number,
        seat: seat.number,
        agentId: agent.number as AgentId,
        amount,
      }))
      .toSorted((one, other) => one.attempt - other.attempt || one.seat - other.seat),
    rounds: rounds.map(({ attempt, treasuryPay, relayer, relayerPay }) => ({
      attempt: attempt.number,
      treasury: treasuryPay,
      relayer: relayer as Address,
      relayerPay,
    })),
    callers: callerPay.map(({ caller, amount }) => ({ caller: caller as Address, amount })),
  };
}

interface Placed {
  readonly block: bigint;
  readonly logIndex: bigint;
}

/** Graph-node orders by one field, so events of one block are ordered here. */
function byNewest(left: Placed, right: Placed): number {
  return Number(right.block - left.block) || Number(right.logIndex - left.logIndex);
}

function faultOf(said: FaultsAnswer["evidences"][number]): PastFault {
  const { agent, request, attempt, fault, reporter, slash, timestamp, transaction } = said;
  const [taken] = slash;
  return {
    agentId: agent.number as AgentId,
    requestId: request.id,
    attempt,
    fault: uncapital(fault),
    cost: taken === undefined ? 0n : taken.bonded + taken.unbonding,
    reward: taken?.reward ?? 0n,
    reporter: reporter.id as Address,
    time: timestamp,
    transaction,
  };
}

function statisticsOf({ deployment, all, protocols, days }: StatisticsAnswer): Statistics {
  const [total] = all;
  return {
    agents: deployment?.agents ?? 0,
    activeAgents: deployment?.activeAgents ?? 0,
    all: total === undefined ? null : sumsOf(total),
    protocols: protocols.map((one) => ({ ...sumsOf(one), protocol: one.protocol ?? 0 })),
    days: days.map((one) => ({ ...sumsOf(one), day: one.day ?? 0 })),
  };
}

function sumsOf(said: StatisticsAnswer["all"][number]): Sums {
  const { requests, committees, decided, hung, unanswerable, tooEarly, refunded, settled, appeals } = said;
  const amounts = (token: bigint, native: bigint): Amounts => ({ token, native });
  return {
    requests,
    committees,
    decided,
    hung,
    unanswerable,
    tooEarly,
    refunded,
    settled,
    appeals,
    appealsUpheld: said.appealsUpheld,
    callbacksFailed: said.callbacksFailed,
    evidence: said.evidence,
    fees: amounts(said.feesToken, said.feesNative),
    refunds: amounts(said.refundsToken, said.refundsNative),
    pay: amounts(said.payToken, said.payNative),
    treasury: amounts(said.treasuryToken, said.treasuryNative),
    relayers: amounts(said.relayersToken, said.relayersNative),
  };
}

function currencyOf(said: "Token" | "Native"): Currency {
  return said === "Token" ? "token" : "native";
}

export function capital<Text extends string>(text: Text): Capitalize<Text> {
  return (text.charAt(0).toUpperCase() + text.slice(1)) as Capitalize<Text>;
}

function uncapital<Text extends string>(text: Text): Uncapitalize<Text> {
  return (text.charAt(0).toLowerCase() + text.slice(1)) as Uncapitalize<Text>;
}
