// The registry's words of each settlement say what every seat earned; the subgraph computes it from the shares.
import { unpackHead } from "../../agents/adapters/chain/settlement.ts";
import { LAYOUTS } from "../../agents/core/encoding/layouts.ts";
import { unpackWord } from "../../agents/core/encoding/words.ts";
import { find, type Entities } from "./entities.ts";
import { compare, lower, rows, type Ledger } from "./ledger.ts";
import type { DecodedLog } from "./logs.ts";

interface Round {
  readonly id: string;
  readonly pay: bigint;
}

export function checkServices(entities: Entities, logs: readonly DecodedLog[], ledger: Ledger): void {
  /** The seats of each round with a decision, and of the latest round of each request. */
  const seats = new Map<string, readonly string[]>();
  const latest = new Map<bigint, string>();
  const operators = new Map<number, string>();
  /** The rounds of the settlement, without those that an appeal overturned. */
  let rounds: Round[] = [];
  let paid = 0;
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
        latest.set(requestId, id);
        seats.set(
          id,
          committee.map((_, seat) => `${id}-${seat}`),
        );
        break;
      }
      case "DecisionSettled":
        rounds = [{ id: latest.get(log.args.requestId) ?? "", pay: log.args.pay }];
        break;
      case "RoundPaid":
        rounds.push({ id: `${log.args.requestId}-${log.args.attempt}`, pay: log.args.pay });
        break;
      case "AppealResolved": {
        const { requestId, attempt, upheld } = log.args;
        if (upheld) rounds = rounds.filter(({ id }) => id !== `${requestId}-${attempt}`);
        break;
      }
      case "ServicesRecorded":
        paid += checkPay(
          entities,
          log,
          standingOf(rounds).flatMap((id) => seats.get(id) ?? []),
          operators,
          ledger,
        );
        rounds = [];
        break;
      default:
    }
  ledger.equal("number of Pay", rows(entities, "Pay").length, paid);
}

/** The rounds that have to pay their seats. One that is overturned though nobody appealed (SE24) is paid nothing, unless all are. */
const standingOf = (rounds: readonly Round[]): readonly string[] =>
  rounds.filter(({ pay }) => pay > 0n || rounds.at(-1)!.pay === 0n).map(({ id }) => id);

/** Compares the words with the seats in their order; returns how many seats earned something. */
function checkPay(
  entities: Entities,
  log: Extract<DecodedLog, { eventName: "ServicesRecorded" }>,
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
