// The best reply of one agent: lives in which all others are honest and it follows a policy, paired by seed.
import { createRandom } from "../../sim/random.ts";
import { CLAIM_PART, SEATS_A_WEEK, SEAT_GAS_LEVEL, WEEK_SECONDS, type Setting } from "./assumptions.ts";
import { agentsOf, askFor, drawBy, passTime, reputationOf, type StudyChain } from "./chain.ts";
import { dollarsOf, faultsBetween, readLedger, rewardsOf } from "./ledger.ts";
import { callsOf, type Policy } from "./mind.ts";
import { decideBy, fateOf, finish, type Cast } from "./request.ts";

/** What an agent had of a life. */
export interface Life {
  /** Times at which an agent of full reputation would have been drawn. */
  readonly chances: number;
  readonly seats: number;
  /** Dollars paid, for all seats. */
  readonly pay: number;
  /** Seats whose model calls it paid for; a part of one where it paid for a part. */
  readonly asked: number;
  /** Reputation in the end, from 0 to 1. */
  readonly reputation: number;
  readonly isAsleep: boolean;
  /** Errors in words. */
  readonly faults: readonly string[];
}

/**
 * Lives through `chances` draws. An agent whose reputation is r sits in r of the committees that one of full reputation would sit
 * in; one that sleeps sits in none. `isAudited`: every coin is counted.
 */
export async function playLife(
  chain: StudyChain,
  setting: Setting,
  policy: Policy,
  seed: number,
  { chances, isAudited }: { readonly chances: number; readonly isAudited: boolean },
): Promise<Life> {
  await chain.restart();
  const { world, studied } = chain;
  const random = createRandom(seed, `life, ${setting.name}`);
  const cast: Cast = { policyOf: (agent) => (agent === studied ? policy : "honest") };
  const before = isAudited ? await readLedger(chain) : null;
  const owed = await rewardsOf(world, studied, world.deployer.address);
  let [seats, asked] = [0, 0];
  for (let chance = 0; chance < chances; chance++) {
    const fate = fateOf(random.fork(`chance ${chance}`));
    await passTime(world, WEEK_SECONDS / SEATS_A_WEEK);
    const { reputation, asleep } = await reputationOf(world, studied);
    if (asleep || !fate.random.fork("drawn").chance(Math.round(reputation * 1e6))) continue;
    const waiting = await askFor(world, setting, SEAT_GAS_LEVEL);
    const drawn = await drawBy(world, waiting, fate.random.fork("draw"), (agents) => agents.includes(studied));
    const committed = await decideBy(chain, drawn, fate, cast, SEAT_GAS_LEVEL);
    const { rounds } = await finish(chain, committed, setting, fate, SEAT_GAS_LEVEL, cast);
    const sat = rounds.filter(({ committee }) => agentsOf({ committee }).includes(studied)).length;
    seats += sat;
    asked += callsOf(policy) * sat;
  }
  const { reputation, asleep } = await reputationOf(world, studied);
  const earned = (await rewardsOf(world, studied, world.deployer.address)) - owed;
  const faults = before === null ? [] : await faultsBetween(world, before, await readLedger(chain));
  const pay = dollarsOf({ tokens: earned, coins: 0n }) * (1 - CLAIM_PART);
  return { chances, seats, pay, asked, reputation, isAsleep: asleep, faults };
}

/** Seats that a proven agent of full reputation sits in for each recovery; each paid one gives back a hundredth. */
const PAID = 0.85;
/** An agent that begins again weighs half until it was paid sixteen times (ADR 10): no reputation is worth more than that. */
const FRESH_SEATS = 16;

/** Seats that an agent of this reputation will miss until it has recovered, at the draw's weights. */
export function seatsMissed(reputation: number): number {
  let missed = 0;
  for (let steps = Math.round((1 - reputation) * 100); steps > 0; steps--)
    missed += steps / 100 / ((1 - steps / 100) * PAID);
  return Math.min(missed, FRESH_SEATS);
}
