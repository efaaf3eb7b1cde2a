// The registry's words of each settlement say what every seat earned and how its agent's reputation moves; the subgraph
// computes both from the decisions.
import { unpackHead } from "../../agents/adapters/chain/settlement.ts";
import { LAYOUTS } from "../../agents/core/encoding/layouts.ts";
import { unpackSeat, unpackWord } from "../../agents/core/encoding/words.ts";
import { find, type Entities } from "./entities.ts";
import { compare, lower, rows, type Ledger } from "./ledger.ts";
import type { DecodedLog } from "./logs.ts";

const WEEK_SECONDS = 7 * 86_400;

/** A round that brought a decision. */
interface Round {
  readonly id: string;
  readonly agents: readonly (number | undefined)[];
}

type LogOf<Name extends DecodedLog["eventName"]> = Extract<DecodedLog, { eventName: Name }>;

export function checkServices(entities: Entities, logs: readonly DecodedLog[], ledger: Ledger): void {
  const rounds = new Map<bigint, Round[]>();
  const operators = new Map<number, string>();
  const falls = new Map<string, number>();
  let paid = 0;
  /** The request that is being settled, and the reputations that it has changed. */
  let request = 0n;
  let changes: LogOf<"ReputationChanged">[] = [];
  for (const log of logs)
    switch (log.eventName) {
      case "AgentRegistered":
      case "OperatorTransferred":
        operators.set(log.args.agentId, lower(log.args.operator));
        break;
      case "DecisionCommitted": {
        const { requestId, committee } = log.args;
        const head = unpackHead(log.args.head);
        const id = `${requestId}-${typeof head === "string" ? head : head.attempt}`;
        const agents = committee.map((word) => unpackSeat(word)?.agentId);
        rounds.set(requestId, [...(rounds.get(requestId) ?? []), { id, agents }]);
        break;
      }
      case "DecisionSettled":
      case "FeeRefunded":
        request = log.args.requestId;
        break;
      case "ReputationChanged":
        changes.push(log);
        break;
      case "ServicesRecorded": {
        const seats = servedSeats(rounds.get(request) ?? [], agentsOf(log)) ?? [];
        paid += checkPay(entities, log, seats, operators, ledger);
        const week = Math.floor(Number(find(entities, "Request", String(request))["settledAt"]) / WEEK_SECONDS);
        const moves = movesOf(log, seats, week, falls);
        ledger.equal(`reputation changes of ${log.transactionHash}`, changes.length, moves.length);
        for (const [index, change] of changes.entries()) checkChange(entities, change, request, moves[index], ledger);
        changes = [];
        break;
      }
      default:
    }
  ledger.equal("number of Pay", rows(entities, "Pay").length, paid);
}

const agentsOf = ({ args }: LogOf<"ServicesRecorded">): readonly number[] =>
  args.services.map((word) => Number(unpackWord(LAYOUTS.service, word).agentId));

/**
 * Returns the seats of these services: those of the rounds that stand, in order. Null if no such rounds have these agents. Of rounds with
 * the same agents the earlier one stands: only the last committee of a size can be overturned (SE10).
 */
function servedSeats([first, ...others]: readonly Round[], agents: readonly number[]): readonly string[] | null {
  if (first === undefined) return agents.length === 0 ? [] : null;
  const { id, agents: own } = first;
  if (own.every((agent, seat) => agent === agents[seat])) {
    const after = servedSeats(others, agents.slice(own.length));
    if (after !== null) return [...own.map((_, seat) => `${id}-${seat}`), ...after];
  }
  return servedSeats(others, agents);
}

/** Compares the words with the seats in their order; returns how many seats earned something. */
function checkPay(
  entities: Entities,
  log: LogOf<"ServicesRecorded">,
  seats: readonly string[],
  operators: ReadonlyMap<number, string>,
  ledger: Ledger,
): number {
  const { currency, services } = log.args;
  ledger.equal(`services of ${log.transactionHash}`, services.length, seats.length);
  const earning = services
    .map((word, index) => ({ ...unpackWord(LAYOUTS.service, word), seat: seats[index] ?? "" }))
    .filter(({ earned }) => earned > 0n);
  for (const { agentId, earned, seat } of earning)
    compare(ledger, `pay ${seat}`, find(entities, "Pay", seat), {
      agent: agentId,
      operator: operators.get(Number(agentId)),
      amount: earned,
      seat,
      currency: ["Token", "Native"][currency],
      transaction: log.transactionHash,
    });
  return earning.length;
}

interface Move {
  readonly seat: string;
  readonly steps: number;
}

/**
 * Returns which seats change a reputation, and by how many steps, in the order in which they do. A missed seat is a fall, and only the
 * deepest fall of an agent's week counts (RE4).
 * @param falls the deepest fall of each agent and week so far
 */
function movesOf(
  { args }: LogOf<"ServicesRecorded">,
  seats: readonly string[],
  week: number,
  falls: Map<string, number>,
): readonly Move[] {
  return args.services.flatMap((word, index) => {
    const { agentId, steps: said, missed } = unpackWord(LAYOUTS.service, word);
    const signed = Number(BigInt.asIntN(8, said));
    const steps = missed === 0n ? signed : Math.min(signed, -1);
    const seat = seats[index] ?? "";
    if (steps > 0) return [{ seat, steps }];
    const key = `${agentId} ${week}`;
    const before = falls.get(key) ?? 0;
    if (-steps <= before) return [];
    falls.set(key, -steps);
    return [{ seat, steps: steps + before }];
  });
}

function checkChange(
  entities: Entities,
  { args, transactionHash, logIndex }: LogOf<"ReputationChanged">,
  request: bigint,
  move: Move | undefined,
  ledger: Ledger,
): void {
  const seat = move?.seat ?? "";
  compare(ledger, `reputation change ${seat}`, find(entities, "ReputationChange", seat), {
    agent: args.agentId,
    request,
    seat,
    steps: args.steps,
    after: args.reputation,
    transaction: transactionHash,
    logIndex,
  });
  ledger.equal(`steps of ${seat}`, move?.steps, args.steps);
}
