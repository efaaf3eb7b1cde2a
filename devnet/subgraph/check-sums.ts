// Checks of what follows from other entities: statistics, earnings of agents and operators, and that no unit of an
// escrow is lost.
import { SAFE_RIGHT, SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { isSupermajority } from "../../agents/core/quorum.ts";
import { NO_SEED_BLOCK } from "../../agents/core/request/rounds.ts";
import { find, type Entities, type Entity } from "./entities.ts";
import { compare, rows, type Ledger } from "./ledger.ts";

const CURRENCIES = ["Token", "Native"] as const;
const DAY_SECONDS = 86_400;

export function checkSums(entities: Entities, ledger: Ledger): void {
  checkEscrow(entities, ledger);
  checkEarnings(entities, ledger);
  checkStatistics(entities, ledger);
  checkReliability(entities, ledger);
}

const AGREED = ["sureAgreed", "unsureAgreed"] as const;
const OUTVOTED = ["sureOutvoted", "unsureOutvoted"] as const;

/** Counts each agent's answers again, from the last decisions of settled requests. */
function checkReliability(entities: Entities, ledger: Ledger): void {
  const expected = new Map<string, Record<string, number>>();
  const settled = rows(entities, "Request").filter((one) => one["settled"] === true && one["status"] === "Decided");
  for (const request of settled) {
    const decision = entities["Decision"]?.get(String(request["decision"]));
    const [shares, steps, answered, agreed] = (["shares", "steps", "answered", "agreed"] as const).map(
      (field) => decision?.[field] as readonly number[],
    ) as [readonly number[], readonly number[], readonly number[], readonly number[]];
    const behind = shares.map((share) => share >= SAFE_RIGHT / 2 && share <= SURE_RIGHT);
    if (!isSupermajority(behind.filter(Boolean).length, shares.length)) continue;
    const tenth = Math.min(9, Math.floor(Number(decision?.["confidence"]) / 100_000));
    for (const seat of rows(entities, "Seat").filter((one) => one["decision"] === decision?.id)) {
      const number = Number(seat["number"]);
      const isOutvoted = answered.includes(number) && !agreed.includes(number);
      if (!isOutvoted && behind[number] !== true) continue;
      const isSure = isOutvoted ? (steps[number] as number) < 0 : shares[number] === SURE_RIGHT;
      const id = `${String(seat["agent"])}-${tenth}`;
      const point = expected.get(id) ?? { sureAgreed: 0, sureOutvoted: 0, unsureAgreed: 0, unsureOutvoted: 0 };
      const field = (isOutvoted ? OUTVOTED : AGREED)[isSure ? 0 : 1] as string;
      expected.set(id, { ...point, [field]: (point[field] as number) + 1 });
    }
  }
  ledger.equal("number of Reliability", rows(entities, "Reliability").length, expected.size);
  for (const [id, counts] of expected) compare(ledger, `reliability ${id}`, find(entities, "Reliability", id), counts);
}

/** SE15: a settled request pays out exactly what it took in. */
function checkEscrow(entities: Entities, ledger: Ledger): void {
  for (const request of rows(entities, "Request")) {
    if (request["settled"] !== true) continue;
    const own = (type: string): readonly Entity[] =>
      rows(entities, type).filter((one) => one["request"] === request.id);
    const paidIn = amount(request["fee"]) + sum(own("Appeal"), "bond");
    const rounds = sum(own("RoundPay"), "treasuryPay") + sum(own("RoundPay"), "relayerPay");
    const callers = sum(own("CallerPay"), "amount") + sum(own("CallerPay"), "rest");
    const returned = sum(own("Appeal"), "returned") + amount(request["refund"]);
    const paidOut = sum(own("Pay"), "amount") + rounds + callers + returned;
    ledger.equal(`request ${request.id}: paid out`, paidOut, paidIn);
  }
}

function checkEarnings(entities: Entities, ledger: Ledger): void {
  for (const [type, field] of [
    ["Agent", "agent"],
    ["Operator", "operator"],
  ] as const)
    for (const owner of rows(entities, type))
      for (const currency of CURRENCIES) {
        const pay = rows(entities, "Pay").filter((one) => one[field] === owner.id && one["currency"] === currency);
        ledger.equal(`${field} ${owner.id}.earned${currency}`, owner[`earned${currency}`], sum(pay, "amount"));
      }
  for (const agent of rows(entities, "Agent")) {
    const seats = rows(entities, "Seat").filter((seat) => seat["agent"] === agent.id);
    ledger.equal(`agent ${agent.id}.seatCount`, agent["seatCount"], seats.length);
    const ids = new Set(seats.map(({ id }) => id));
    const signatures = rows(entities, "Decision").flatMap((decision) =>
      (decision["signers"] as string[]).filter((id) => ids.has(id)),
    );
    ledger.equal(`agent ${agent.id}.signatureCount`, agent["signatureCount"], signatures.length);
    ledger.equal(`agent ${agent.id}: pay of other seats`, strangers(entities, agent.id, ids), 0);
    const slashes = rows(entities, "Slash").filter((slash) => slash["agent"] === agent.id);
    ledger.equal(`agent ${agent.id}.slashed`, agent["slashed"], sum(slashes, "bonded") + sum(slashes, "unbonding"));
  }
}

/** Number of payments for a seat that is not its own. */
function strangers(entities: Entities, agent: string, seats: ReadonlySet<string>): number {
  return rows(entities, "Pay").filter((pay) => pay["agent"] === agent && !seats.has(String(pay["seat"]))).length;
}

/** What a statistic counts of decisions, with the status of each. */
const DECIDED = { decided: "Decided", hung: "Hung", unanswerable: "Unanswerable", tooEarly: "TooEarly" } as const;

/** Computes each sum again from the entities that it counts. */
function checkStatistics(entities: Entities, ledger: Ledger): void {
  const requestOf = (one: Entity): Entity | undefined => entities["Request"]?.get(String(one["request"]));
  for (const statistic of rows(entities, "Statistic")) {
    const isIn = (request: Entity | undefined, time: unknown): boolean =>
      (statistic["protocol"] === null || request?.["protocol"] === statistic["protocol"]) &&
      (statistic["day"] === null || Math.floor(Number(time) / DAY_SECONDS) === statistic["day"]);
    const within = (type: string, time = "timestamp"): readonly Entity[] =>
      rows(entities, type).filter(
        (one) => one[time] !== null && isIn(type === "Request" ? one : requestOf(one), one[time]),
      );
    const equal = (field: string, expected: number | bigint): void =>
      ledger.equal(`statistic ${statistic.id}.${field}`, statistic[field], expected);
    const requests = within("Request");
    const settled = within("Request", "settledAt");
    equal("requests", requests.length);
    equal("committees", within("Attempt").filter((one) => one["seedBlock"] !== String(NO_SEED_BLOCK)).length);
    for (const [field, status] of Object.entries(DECIDED))
      equal(field, within("Decision").filter((one) => one["status"] === status).length);
    equal("refunded", settled.filter((one) => one["status"] === "Refunded").length);
    equal("settled", settled.length);
    equal("appeals", within("Appeal").length);
    equal("appealsUpheld", within("Appeal", "resolvedAt").filter((one) => one["state"] === "Upheld").length);
    equal("callbacksFailed", within("Callback").filter((one) => one["success"] === false).length);
    equal("evidence", within("Evidence").length);
    for (const currency of CURRENCIES) {
      const of = (all: readonly Entity[]): readonly Entity[] => all.filter((one) => one["currency"] === currency);
      equal(`fees${currency}`, sum(of(requests), "fee"));
      const callers = of(within("CallerPay"));
      equal(`refunds${currency}`, sum(of(settled), "refund") + sum(callers, "rest"));
      equal(`pay${currency}`, sum(of(within("Pay")), "amount"));
      const rounds = of(within("RoundPay"));
      equal(`treasury${currency}`, sum(rounds, "treasuryPay"));
      equal(`relayers${currency}`, sum(rounds, "relayerPay") + sum(callers, "amount"));
    }
  }
}

function sum(all: readonly Entity[], field: string): bigint {
  return all.reduce((total, one) => total + amount(one[field]), 0n);
}

function amount(value: unknown): bigint {
  return BigInt(String(value));
}
