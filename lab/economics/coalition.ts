// What agents gain that act together, by how many seats of a committee they hold: the rare cases are sampled as often as the others.
import { binomialTail } from "../complexity/committee-odds.ts";
import { SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import type { Outcome } from "../../agents/core/types.ts";
import { createRandom, type Random } from "../../sim/random.ts";
import { passDeadline, quorum, refundArgs, type Drawn } from "../../test/support/contracts/course.ts";
import { CLAIM_PART, SEAT_GAS_LEVEL, type Setting } from "./assumptions.ts";
import {
  agentsOf,
  askFor,
  attemptFor,
  commitBy,
  decisionOf,
  drawBy,
  priceGas,
  reputationOf,
  type StudyChain,
} from "./chain.ts";
import type { Stratum } from "./estimate.ts";
import { dollarsOf, rewardsOf } from "./ledger.ts";
import { seatsMissed } from "./lives.ts";
import { deliberate, other, type Mind, type Text } from "./mind.ts";
import { fateOf, finish, honestCast, mindsOf, type Fate } from "./request.ts";

/** How a coalition acts: `copy`: one model call serves all its seats. `rule`: it also takes the pay of committees that it holds, and silences those that decide against it. */
export type Plan = "honest" | "copy" | "rule";

/** The precision of a share. */
const SHARE_ONE = 1_000_000;

/** P(exactly k of n seats are hostile), for a share of a registry that is large beside the committee: in a small one it is less. */
export function odds(n: number, k: number, share: number): number {
  const hostile = { numerator: BigInt(Math.round(share * SHARE_ONE)), denominator: BigInt(SHARE_ONE) };
  const tail = (least: number): number => {
    const { numerator, denominator } = binomialTail(n, least, hostile);
    return Number((numerator * 10n ** 18n) / denominator) / 1e18;
  };
  return tail(k) - tail(k + 1);
}

/** What a coalition has of one request. */
interface Taken {
  /** Dollars paid less model calls. */
  readonly money: number;
  /** Seats that its agents will miss. */
  readonly missed: number;
}

/** Differences between a plan and honest work, by strata of seats held: none of the probability of no seat. */
export async function gainsOf(
  chain: StudyChain,
  setting: Setting,
  {
    plan,
    share,
    samples,
    seed,
    modelDollars,
    seatDollars,
  }: {
    readonly plan: Plan;
    readonly share: number;
    readonly samples: number;
    readonly seed: number;
    readonly modelDollars: number;
    readonly seatDollars: number;
  },
): Promise<readonly Stratum[]> {
  const n = setting.committeeSize;
  const bounds = [1, n - quorum(n) + 1, quorum(n), n + 1];
  const strata: Stratum[] = [];
  for (let index = 0; index + 1 < bounds.length; index++) {
    const held = Array.from({ length: bounds[index + 1]! - bounds[index]! }, (_, offset) => bounds[index]! + offset);
    const weights = held.map((k) => odds(n, k, share));
    const probability = weights.reduce((total, weight) => total + weight, 0);
    const values: number[] = [];
    for (let sample = 0; sample < samples; sample++) {
      const random = createRandom(seed, `coalition, ${setting.name}, ${share}, ${index}, ${sample}`);
      const k = pickBy(held, weights, random.fork("held"));
      const worth = async (one: Plan): Promise<number> => {
        const { money, missed } = await play(chain, setting, one, k, random, modelDollars);
        return money - missed * seatDollars;
      };
      values.push((await worth(plan)) - (await worth("honest")));
    }
    strata.push({ probability, values });
  }
  return strata;
}

function pickBy(items: readonly number[], weights: readonly number[], random: Random): number {
  let left = (random.below(1_000_000) / 1e6) * weights.reduce((total, weight) => total + weight, 0);
  for (const [index, item] of items.entries()) {
    left -= weights[index]!;
    if (left < 0) return item;
  }
  return items[0]!;
}

async function play(
  chain: StudyChain,
  setting: Setting,
  plan: Plan,
  k: number,
  random: Random,
  modelDollars: number,
): Promise<Taken> {
  await chain.restart();
  const { world, studied } = chain;
  const fate = fateOf(random.fork("fate"));
  // The agent with most of the stake belongs to nobody here.
  const asked = await askFor(world, setting, SEAT_GAS_LEVEL);
  const drawn = await drawBy(world, asked, random.fork("draw"), (agents) => !agents.includes(studied));
  const own = new Set(
    random
      .fork("own")
      .shuffled(drawn.committee.map((_, seat) => seat))
      .slice(0, k),
  );
  const agents = agentsOf(drawn).filter((_, seat) => own.has(seat));
  const owed = (): Promise<readonly bigint[]> =>
    Promise.all(agents.map(async (agent) => rewardsOf(world, agent, world.deployer.address)));
  const before = await owed();
  await act(chain, setting, drawn, fate, own, plan);
  const earned = (await owed()).reduce((total, amount, index) => total + amount - before[index]!, 0n);
  const reputations = await Promise.all(agents.map(async (agent) => reputationOf(world, agent)));
  const calls = plan === "honest" ? k : 1;
  return {
    money: dollarsOf({ tokens: earned, coins: 0n }) * (1 - CLAIM_PART) - calls * modelDollars,
    missed: reputations.reduce((total, { reputation }) => total + seatsMissed(reputation), 0),
  };
}

async function act(
  chain: StudyChain,
  setting: Setting,
  drawn: Drawn,
  fate: Fate,
  own: ReadonlySet<number>,
  plan: Plan,
): Promise<void> {
  const { world, relayer } = chain;
  const n = drawn.committee.length;
  const all = mindsOf(drawn, fate, honestCast);
  const shared = all[[...own][0]!]!.belief;
  const minds = all.map((mind, seat): Mind =>
    plan !== "honest" && own.has(seat) ? { ...mind, belief: shared } : mind,
  );
  const everybody = minds.map((_, seat) => seat);
  const lead = async (outcome: Outcome, signers: readonly number[]): Promise<void> => {
    const overrides = await priceGas(world, SEAT_GAS_LEVEL);
    const committed = await commitBy(chain, drawn, decisionOf(drawn, outcome), signers, overrides);
    await finish(chain, committed, setting, fate, SEAT_GAS_LEVEL);
  };
  const outcomeOf = (of: readonly Mind[]): Outcome => deliberate(attemptFor(drawn), fate.question, of);
  if (plan === "rule" && own.size >= quorum(n)) {
    // Nobody can appeal against who is paid: the answer is the coalition's honest one.
    const agreed = outcomeOf(minds.map((mind) => ({ ...mind, belief: shared })));
    const shares = everybody.map((seat) => (own.has(seat) ? SURE_RIGHT : 0));
    return lead({ ...agreed, shares, reputationChanges: [] }, [...own]);
  }
  const others = minds.filter((_, seat) => !own.has(seat));
  const stops = plan === "rule" && own.size > n - quorum(n) && mostAnswered(others) === other(shared.answer);
  if (!stops) return lead(outcomeOf(minds), everybody);
  const outcome = outcomeOf(minds.map((mind, seat): Mind => (own.has(seat) ? { ...mind, policy: "sulk" } : mind)));
  if (outcome.status === "hung") return lead(outcome, everybody);
  // Without its signatures there is no certificate.
  await passDeadline(world, drawn.round);
  await world.oracle.connect(relayer).refund(...refundArgs(drawn), await priceGas(world, SEAT_GAS_LEVEL));
}

function mostAnswered(minds: readonly Mind[]): Text {
  const yes = minds.filter(({ belief }) => belief.answer === "yes").length;
  return 2 * yes >= minds.length ? "yes" : "no";
}
