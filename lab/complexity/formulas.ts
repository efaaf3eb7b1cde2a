import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { rolesOf } from "../../agents/core/protocols/leaderless/roles.ts";
import { faultTolerance } from "../../agents/core/quorum.ts";
import type { Attempt, SeatIndex } from "../../agents/core/types.ts";
import type { Cost, Leading, Situation } from "./measure.ts";

/** A count as a function of the committee size, with its formula; null if it has no closed form. */
export interface Formula {
  readonly text: string;
  readonly of: (n: number) => number | null;
}

export interface Costs {
  readonly messages: Formula;
  readonly modelCalls: Formula;
  readonly criticalPathCalls: Formula;
}

export interface ProtocolCosts {
  readonly id: string;
  readonly leading: Leading;
  readonly agree: Costs;
  /** The f seats that lead first lie, and are the most confident. */
  readonly liars: Costs;
}

const f = faultTolerance;
const formula = (text: string, of: Formula["of"]): Formula => ({ text, of });
const open = (text: string): Formula => formula(text, () => null);
const constant = (value: number): Formula => formula(String(value), () => value);
const n = formula("n", (seats) => seats);
/**
 * Leaders and chairs take turns in canonical order, which also breaks ties between equally confident seats (MB7, WB3,
 * CH5).
 */
const inTurn = (phase: number | null): Leading => ({ phase, order: canonicalOrder });
const workersFirst = (attempt: Attempt): readonly SeatIndex[] => rolesOf(attempt, 0).workers;
/** AD1: every second seat converges. */
const convergersFirst = (attempt: Attempt): readonly SeatIndex[] =>
  canonicalOrder(attempt).filter((_, rank) => rank % 2 === 1);

/** Every message lists n digests (PH3), so bytes grow with n^2, and with n^3 on the wire. */
export const protocolCosts: readonly ProtocolCosts[] = [
  // MB20: all but f liars agree, and that is counted.
  same("mbft", inTurn(2), {
    messages: formula("4n", (seats) => 4 * seats),
    modelCalls: n,
    criticalPathCalls: constant(1),
  }),
  same("mbft-bayesian", inTurn(null), {
    messages: formula("3n", (seats) => 3 * seats),
    modelCalls: n,
    criticalPathCalls: constant(1),
  }),
  {
    id: "wbft",
    leading: inTurn(30),
    agree: {
      messages: formula("6n + 1", (seats) => 6 * seats + 1),
      modelCalls: formula("2n", (seats) => 2 * seats),
      criticalPathCalls: constant(2),
    },
    liars: {
      messages: formula("6n + 1 + f (3n + 1)", (seats) => 6 * seats + 1 + f(seats) * (3 * seats + 1)),
      modelCalls: formula("3n + f (n - f) + f", (seats) => 3 * seats + f(seats) * (seats - f(seats) + 1)),
      criticalPathCalls: formula("3 + f", (seats) => 3 + f(seats)),
    },
  },
  {
    id: "leaderless",
    leading: { phase: 1, order: workersFirst },
    agree: {
      messages: formula("7n", (seats) => 7 * seats),
      modelCalls: formula("f (n - f) + f", (seats) => f(seats) * (seats - f(seats) + 1)),
      criticalPathCalls: constant(2),
    },
    liars: {
      messages: formula("14n", (seats) => 14 * seats),
      modelCalls: formula("2f (n - f) + 2f", (seats) => 2 * f(seats) * (seats - f(seats) + 1)),
      criticalPathCalls: constant(4),
    },
  },
  {
    id: "unanimous",
    leading: inTurn(null),
    agree: { messages: formula("3n", (seats) => 3 * seats), modelCalls: n, criticalPathCalls: constant(1) },
    liars: {
      messages: formula("9n", (seats) => 9 * seats),
      modelCalls: formula("3n", (seats) => 3 * seats),
      criticalPathCalls: constant(3),
    },
  },
  same("hashgraph", inTurn(null), {
    messages: open("by gossip"),
    modelCalls: formula("2n", (seats) => 2 * seats),
    criticalPathCalls: constant(2),
  }),
  same("council", inTurn(30), {
    messages: formula("3n + 1", (seats) => 3 * seats + 1),
    modelCalls: formula("n + 1", (seats) => seats + 1),
    criticalPathCalls: constant(2),
  }),
  same("debate", inTurn(30), {
    messages: formula("5n + 1", (seats) => 5 * seats + 1),
    modelCalls: formula("3n + 1", (seats) => 3 * seats + 1),
    criticalPathCalls: constant(4),
  }),
  same(
    "adversarial",
    { phase: 12, order: convergersFirst },
    {
      messages: formula("2n", (seats) => 2 * seats),
      modelCalls: n,
      criticalPathCalls: constant(3),
    },
  ),
  {
    id: "escalating",
    leading: inTurn(null),
    agree: { messages: formula("4n", (seats) => 4 * seats), modelCalls: n, criticalPathCalls: constant(1) },
    // The level depends on how far the liars lower the agreement: the answers stand, or go to a debate, or to mbft.
    liars: { messages: open("by level"), modelCalls: open("by level"), criticalPathCalls: open("by level") },
  },
  {
    id: "clo",
    leading: inTurn(2),
    agree: {
      messages: formula("3n", (seats) => 3 * seats),
      modelCalls: formula("3n", (seats) => 3 * seats),
      criticalPathCalls: constant(1),
    },
    liars: {
      messages: formula("3n", (seats) => 3 * seats),
      modelCalls: formula("3n", (seats) => 3 * seats),
      criticalPathCalls: constant(1),
    },
  },
];

/** One PROPOSE; PREVOTE, PRECOMMIT and CERTIFICATE of every seat. */
export const certification: Formula = formula("3n + 1", (seats) => 3 * seats + 1);

/** Returns the differences between a measured cost and the formulas. */
export function differences(costs: ProtocolCosts, seats: number, situation: Situation, cost: Cost): readonly string[] {
  if (situation === "silent leaders") return [];
  const expected = costs[situation];
  const pairs = [
    ["messages", expected.messages, cost.messages],
    ["model calls", expected.modelCalls, cost.modelCalls],
    ["model calls on the critical path", expected.criticalPathCalls, cost.criticalPathCalls],
    ["messages of the certification", certification, cost.certify],
  ] as const;
  return pairs
    .filter(([, { of }, measured]) => of(seats) !== null && of(seats) !== measured)
    .map(
      ([what, { text, of }, measured]) =>
        `${costs.id}, n = ${seats}, ${situation}: ${what} ${text} = ${of(seats)}, measured ${measured}`,
    );
}

/** A protocol whose costs liars do not change. */
function same(id: string, leading: Leading, costs: Costs): ProtocolCosts {
  return { id, leading, agree: costs, liars: costs };
}
