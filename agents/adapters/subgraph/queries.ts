// Generated from queries/*.graphql and subgraph/schema.graphql by scripts/queries.ts; `npm run check` compares. Do not edit.
import * as z from "zod/mini";
import { bigInt, bytes, day, int, list, requestId, text, time, type Where } from "./scalars.ts";
import type { Hex } from "../../core/types.ts";

const status = z.enum(["Requested", "Decided", "Hung", "Unanswerable", "TooEarly", "Refunded"]);

const currency = z.enum(["Token", "Native"]);

const fault = z.enum(["Messages", "Decisions", "Overturned"]);

const kind = z.enum(["Boolean", "Choice", "Number", "Text", "Policies"]);

const attemptCause = z.enum(["First", "Hung", "Silent", "Unsure", "TooEarly", "Waited", "Appeal"]);

const appealState = z.enum(["Open", "Upheld", "Lost", "Unanswered"]);

const callbackState = z.enum(["NotWanted", "Waiting", "Delivered", "Failed"]);

export type EvidenceFilter = Where<{
  id: Hex;
  agent: string;
  request: string;
  requestHash: Hex;
  attempt: number;
  fault: z.infer<typeof fault>;
  reporter: string;
  timestamp: bigint;
  block: bigint;
  logIndex: bigint;
  transaction: Hex;
}> & {
  readonly slash_?: Where<{
    id: Hex;
    agent: string;
    evidence: string;
    bonded: bigint;
    unbonding: bigint;
    reward: bigint;
    reporter: string;
    timestamp: bigint;
    block: bigint;
    transaction: Hex;
  }>;
};

export type RequestFilter = Where<{
  id: string;
  number: number;
  hash: Hex;
  consumer: Hex;
  subscription: string;
  priceList: string;
  fee: bigint;
  delay: bigint;
  finality: number;
  duration: bigint;
  appeals: number;
  retries: number;
  tolerance: bigint;
  callbackGasLimit: number;
  committeeSize: number;
  assurance: number;
  nonAnswers: number;
  security: number;
  currency: z.infer<typeof currency>;
  decimals: number;
  options: number;
  kind: z.infer<typeof kind>;
  protocol: number;
  question: string;
  questionHash: Hex;
  status: z.infer<typeof status>;
  provisional: boolean;
  settled: boolean;
  cancelled: boolean;
  outcomeStored: boolean;
  callback: z.infer<typeof callbackState>;
  attempt: number;
  deadline: bigint;
  decision: string;
  appeal: string;
  refund: bigint;
  timestamp: bigint;
  block: bigint;
  transaction: Hex;
  settledAt: bigint;
}> & {
  readonly attempts_?: Where<{
    id: string;
    request: string;
    number: number;
    cause: z.infer<typeof attemptCause>;
    appealsBefore: number;
    round: Hex;
    deadline: bigint;
    seedBlock: bigint;
    decision: string;
    timestamp: bigint;
    block: bigint;
    transaction: Hex;
  }>;
  readonly seats_?: Where<{
    id: string;
    attempt: string;
    request: string;
    agent: string;
    decision: string;
    number: number;
    reputation: number;
    skill: number;
    signer: Hex;
    timestamp: bigint;
  }>;
  readonly decisions_?: Where<{
    id: string;
    attempt: string;
    request: string;
    status: z.infer<typeof status>;
    outcome: Hex;
    answer: string;
    confidence: number;
    transcript: string;
    ballot: number;
    committeeSize: number;
    relayer: Hex;
    gasPrice: bigint;
    timestamp: bigint;
    block: bigint;
    logIndex: bigint;
    transaction: Hex;
  }>;
  readonly appealsMade_?: Where<{
    id: string;
    request: string;
    against: string;
    appellant: string;
    bond: bigint;
    state: z.infer<typeof appealState>;
    returned: bigint;
    timestamp: bigint;
    block: bigint;
    transaction: Hex;
    resolvedAt: bigint;
  }>;
  readonly pay_?: Where<{
    id: string;
    seat: string;
    agent: string;
    operator: string;
    request: string;
    currency: z.infer<typeof currency>;
    amount: bigint;
    timestamp: bigint;
    block: bigint;
    transaction: Hex;
  }>;
  readonly rounds_?: Where<{
    id: string;
    request: string;
    attempt: string;
    currency: z.infer<typeof currency>;
    pay: bigint;
    treasuryPay: bigint;
    relayer: Hex;
    relayerPay: bigint;
    timestamp: bigint;
    block: bigint;
    transaction: Hex;
  }>;
  readonly callerPay_?: Where<{
    id: Hex;
    request: string;
    currency: z.infer<typeof currency>;
    caller: Hex;
    amount: bigint;
    rest: bigint;
    timestamp: bigint;
    block: bigint;
    transaction: Hex;
  }>;
  readonly callbacks_?: Where<{
    id: Hex;
    request: string;
    success: boolean;
    timestamp: bigint;
    block: bigint;
    transaction: Hex;
  }>;
  readonly evidence_?: Where<{
    id: Hex;
    agent: string;
    request: string;
    requestHash: Hex;
    attempt: number;
    fault: z.infer<typeof fault>;
    reporter: string;
    timestamp: bigint;
    block: bigint;
    logIndex: bigint;
    transaction: Hex;
  }>;
};

const agentHistoryAnswer = z.object({
  _meta: z.nullable(
    z.object({
      block: z.object({ number: int, hash: z.nullable(bytes), timestamp: z.nullable(int) }),
      hasIndexingErrors: z.boolean(),
    }),
  ),
  deployment: z.nullable(
    z.object({ oracle: z.nullable(bytes), registry: z.nullable(bytes), requests: int, agents: int, activeAgents: int }),
  ),
  agent: z.nullable(
    z.object({
      number: int,
      operator: z.object({ id: bytes }),
      signer: bytes,
      model: text,
      endpoint: text,
      reputation: int,
      active: z.boolean(),
      exited: z.boolean(),
      service: int,
      contested: int,
      agreed: int,
      bonded: bigInt,
      unbonding: bigInt,
      commission: int,
      slashed: bigInt,
      seatCount: int,
      signatureCount: int,
      earnedToken: bigInt,
      earnedNative: bigInt,
      registeredAt: time,
      reputationChanges: list(
        z.object({
          request: z.object({ id: requestId }),
          steps: int,
          before: int,
          after: int,
          timestamp: time,
          block: bigInt,
          logIndex: bigInt,
          transaction: bytes,
        }),
      ),
      seats: list(
        z.object({
          number: int,
          request: z.object({ id: requestId, protocol: int }),
          attempt: z.object({ number: int }),
          decision: z.object({ status: status, signerSeats: list(int), steps: list(int), shares: list(int) }),
          timestamp: time,
        }),
      ),
      pay: list(
        z.object({
          request: z.object({ id: requestId }),
          seat: z.object({ number: int, attempt: z.object({ number: int }) }),
          currency: currency,
          amount: bigInt,
          timestamp: time,
          transaction: bytes,
        }),
      ),
      reliability: list(
        z.object({ tenth: int, sureAgreed: int, sureOutvoted: int, unsureAgreed: int, unsureOutvoted: int }),
      ),
      slashes: list(
        z.object({
          bonded: bigInt,
          unbonding: bigInt,
          reporter: z.object({ id: bytes }),
          evidence: z.nullable(z.object({ fault: fault, attempt: int, request: z.object({ id: requestId }) })),
          timestamp: time,
          transaction: bytes,
        }),
      ),
    }),
  ),
});
/** All that the query AgentHistory tells. */
export type AgentHistoryAnswer = z.infer<typeof agentHistoryAnswer>;

const agentHistoryText =
  'query AgentHistory($id:ID!$first:Int!){...Standing agent(id:$id){number operator{id}signer model endpoint reputation active exited service contested agreed bonded unbonding commission slashed seatCount signatureCount earnedToken earnedNative registeredAt reputationChanges(first:$first orderBy:block orderDirection:desc){request{id}steps before after timestamp block logIndex transaction}seats(first:$first orderBy:timestamp orderDirection:desc){number request{id protocol}attempt{number}decision{status signerSeats steps shares}timestamp}pay(first:$first orderBy:timestamp orderDirection:desc){request{id}seat{number attempt{number}}currency amount timestamp transaction}reliability(first:10 orderBy:tenth){tenth sureAgreed sureOutvoted unsureAgreed unsureOutvoted}slashes(first:$first orderBy:block orderDirection:desc){bonded unbonding reporter{id}evidence{fault attempt request{id}}timestamp transaction}}}fragment Standing on Query{_meta{block{number hash timestamp}hasIndexingErrors}deployment(id:"conclave"){oracle registry requests agents activeAgents}}';

export function agentHistoryQuery(variables: { readonly id: string; readonly first: number }) {
  return { name: "AgentHistory", text: agentHistoryText, variables, answer: agentHistoryAnswer };
}

const faultsAnswer = z.object({
  _meta: z.nullable(
    z.object({
      block: z.object({ number: int, hash: z.nullable(bytes), timestamp: z.nullable(int) }),
      hasIndexingErrors: z.boolean(),
    }),
  ),
  deployment: z.nullable(
    z.object({ oracle: z.nullable(bytes), registry: z.nullable(bytes), requests: int, agents: int, activeAgents: int }),
  ),
  evidences: list(
    z.object({
      agent: z.object({ number: int }),
      request: z.object({ id: requestId }),
      attempt: int,
      fault: fault,
      reporter: z.object({ id: bytes }),
      slash: list(z.object({ bonded: bigInt, unbonding: bigInt, reward: bigInt })),
      timestamp: time,
      block: bigInt,
      logIndex: bigInt,
      transaction: bytes,
    }),
  ),
});
/** All that the query Faults tells. */
export type FaultsAnswer = z.infer<typeof faultsAnswer>;

const faultsText =
  'query Faults($first:Int!$where:Evidence_filter!){...Standing evidences(first:$first orderBy:timestamp orderDirection:desc where:$where){agent{number}request{id}attempt fault reporter{id}slash(first:1){bonded unbonding reward}timestamp block logIndex transaction}}fragment Standing on Query{_meta{block{number hash timestamp}hasIndexingErrors}deployment(id:"conclave"){oracle registry requests agents activeAgents}}';

export function faultsQuery(variables: { readonly first: number; readonly where: EvidenceFilter }) {
  return { name: "Faults", text: faultsText, variables, answer: faultsAnswer };
}

const requestMoneyAnswer = z.object({
  _meta: z.nullable(
    z.object({
      block: z.object({ number: int, hash: z.nullable(bytes), timestamp: z.nullable(int) }),
      hasIndexingErrors: z.boolean(),
    }),
  ),
  deployment: z.nullable(
    z.object({ oracle: z.nullable(bytes), registry: z.nullable(bytes), requests: int, agents: int, activeAgents: int }),
  ),
  request: z.nullable(
    z.object({
      id: requestId,
      currency: currency,
      fee: bigInt,
      refund: bigInt,
      settled: z.boolean(),
      pay: list(
        z.object({
          seat: z.object({ number: int, attempt: z.object({ number: int }) }),
          agent: z.object({ number: int }),
          amount: bigInt,
        }),
      ),
      rounds: list(
        z.object({ attempt: z.object({ number: int }), treasuryPay: bigInt, relayer: bytes, relayerPay: bigInt }),
      ),
      callerPay: list(z.object({ caller: bytes, amount: bigInt, rest: bigInt })),
    }),
  ),
});
/** All that the query RequestMoney tells. */
export type RequestMoneyAnswer = z.infer<typeof requestMoneyAnswer>;

const requestMoneyText =
  'query RequestMoney($id:ID!$first:Int!){...Standing request(id:$id){id currency fee refund settled pay(first:$first orderBy:timestamp){seat{number attempt{number}}agent{number}amount}rounds(first:$first orderBy:timestamp){attempt{number}treasuryPay relayer relayerPay}callerPay(first:$first orderBy:timestamp){caller amount rest}}}fragment Standing on Query{_meta{block{number hash timestamp}hasIndexingErrors}deployment(id:"conclave"){oracle registry requests agents activeAgents}}';

export function requestMoneyQuery(variables: { readonly id: string; readonly first: number }) {
  return { name: "RequestMoney", text: requestMoneyText, variables, answer: requestMoneyAnswer };
}

const requestsAnswer = z.object({
  _meta: z.nullable(
    z.object({
      block: z.object({ number: int, hash: z.nullable(bytes), timestamp: z.nullable(int) }),
      hasIndexingErrors: z.boolean(),
    }),
  ),
  deployment: z.nullable(
    z.object({ oracle: z.nullable(bytes), registry: z.nullable(bytes), requests: int, agents: int, activeAgents: int }),
  ),
  requests: list(
    z.object({
      id: requestId,
      number: int,
      consumer: bytes,
      protocol: int,
      kind: kind,
      currency: currency,
      fee: bigInt,
      question: text,
      status: status,
      provisional: z.boolean(),
      settled: z.boolean(),
      attempt: int,
      timestamp: time,
      transaction: bytes,
      refund: bigInt,
      decision: z.nullable(
        z.object({
          status: status,
          answer: text,
          confidence: int,
          transcript: text,
          attempt: z.object({ number: int }),
          signers: list(z.object({ number: int, agent: z.object({ number: int }) })),
        }),
      ),
    }),
  ),
});
/** All that the query Requests tells. */
export type RequestsAnswer = z.infer<typeof requestsAnswer>;

const requestsText =
  'query Requests($first:Int!$where:Request_filter!){...Standing requests(first:$first orderBy:number orderDirection:desc where:$where){id number consumer protocol kind currency fee question status provisional settled attempt timestamp transaction refund decision{status answer confidence transcript attempt{number}signers{number agent{number}}}}}fragment Standing on Query{_meta{block{number hash timestamp}hasIndexingErrors}deployment(id:"conclave"){oracle registry requests agents activeAgents}}';

export function requestsQuery(variables: { readonly first: number; readonly where: RequestFilter }) {
  return { name: "Requests", text: requestsText, variables, answer: requestsAnswer };
}

const statisticsAnswer = z.object({
  _meta: z.nullable(
    z.object({
      block: z.object({ number: int, hash: z.nullable(bytes), timestamp: z.nullable(int) }),
      hasIndexingErrors: z.boolean(),
    }),
  ),
  deployment: z.nullable(
    z.object({ oracle: z.nullable(bytes), registry: z.nullable(bytes), requests: int, agents: int, activeAgents: int }),
  ),
  all: list(
    z.object({
      requests: int,
      committees: int,
      decided: int,
      hung: int,
      unanswerable: int,
      tooEarly: int,
      refunded: int,
      settled: int,
      appeals: int,
      appealsUpheld: int,
      callbacksFailed: int,
      evidence: int,
      feesToken: bigInt,
      feesNative: bigInt,
      refundsToken: bigInt,
      refundsNative: bigInt,
      payToken: bigInt,
      payNative: bigInt,
      treasuryToken: bigInt,
      treasuryNative: bigInt,
      relayersToken: bigInt,
      relayersNative: bigInt,
    }),
  ),
  protocols: list(
    z.object({
      requests: int,
      committees: int,
      decided: int,
      hung: int,
      unanswerable: int,
      tooEarly: int,
      refunded: int,
      settled: int,
      appeals: int,
      appealsUpheld: int,
      callbacksFailed: int,
      evidence: int,
      feesToken: bigInt,
      feesNative: bigInt,
      refundsToken: bigInt,
      refundsNative: bigInt,
      payToken: bigInt,
      payNative: bigInt,
      treasuryToken: bigInt,
      treasuryNative: bigInt,
      relayersToken: bigInt,
      relayersNative: bigInt,
      protocol: z.nullable(int),
    }),
  ),
  days: list(
    z.object({
      requests: int,
      committees: int,
      decided: int,
      hung: int,
      unanswerable: int,
      tooEarly: int,
      refunded: int,
      settled: int,
      appeals: int,
      appealsUpheld: int,
      callbacksFailed: int,
      evidence: int,
      feesToken: bigInt,
      feesNative: bigInt,
      refundsToken: bigInt,
      refundsNative: bigInt,
      payToken: bigInt,
      payNative: bigInt,
      treasuryToken: bigInt,
      treasuryNative: bigInt,
      relayersToken: bigInt,
      relayersNative: bigInt,
      day: z.nullable(day),
    }),
  ),
});
/** All that the query Statistics tells. */
export type StatisticsAnswer = z.infer<typeof statisticsAnswer>;

const statisticsText =
  'fragment Standing on Query{_meta{block{number hash timestamp}hasIndexingErrors}deployment(id:"conclave"){oracle registry requests agents activeAgents}}query Statistics($days:Int!){...Standing all:statistics(first:1 where:{scope:All}){...Sums}protocols:statistics(first:256 where:{scope:Protocol}orderBy:protocol){...Sums protocol}days:statistics(first:$days where:{scope:Day}orderBy:day orderDirection:desc){...Sums day}}fragment Sums on Statistic{requests committees decided hung unanswerable tooEarly refunded settled appeals appealsUpheld callbacksFailed evidence feesToken feesNative refundsToken refundsNative payToken payNative treasuryToken treasuryNative relayersToken relayersNative}';

export function statisticsQuery(variables: { readonly days: number }) {
  return { name: "Statistics", text: statisticsText, variables, answer: statisticsAnswer };
}
