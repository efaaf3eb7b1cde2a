// The whole study on one chain: every strategy in every setting, at every gas price that matters to it.
import { gainsOf, type Plan } from "./coalition.ts";
import { FALSE_CERTAINTY, GAS_LEVELS, HONEST_CERTAINTY, SEAT_GAS_LEVEL, SHARES, type Setting } from "./assumptions.ts";
import type { StudyChain } from "./chain.ts";
import { play, type Episode, type EpisodeName } from "./episodes.ts";
import { certain, estimateOf, meanOf, scaled, stratified, sum, type Estimate } from "./estimate.ts";
import { playLife, seatsMissed, type Life } from "./lives.ts";
import type { Policy } from "./mind.ts";
import type { Row } from "./rows.ts";
import {
  DRAWS,
  bondsToLast,
  certaintyOf,
  costOfOwn,
  gainOfChange,
  holds,
  securityOf,
  slicesOf,
  type Certainty,
  type Costs,
  type Draw,
  type Security,
  type Spent,
} from "./security.ts";

export interface Size {
  readonly lives: number;
  /** Draws of a life. */
  readonly chances: number;
  /** Committees in each stratum of a coalition's seats. */
  readonly samples: number;
  readonly episodes: number;
}

export const QUICK: Size = { lives: 6, chances: 40, samples: 12, episodes: 2 };
export const LONG: Size = { lives: 12, chances: 50, samples: 40, episodes: 3 };

export interface Options {
  readonly size: Size;
  readonly seed: number;
  readonly settings: readonly Setting[];
  readonly modelDollars: number;
}

export interface Findings {
  readonly rows: readonly Row[];
  readonly security: readonly Security[];
  readonly certainties: readonly (Certainty & Pick<Row, "setting" | "gwei">)[];
  readonly faults: readonly string[];
}

export async function study(chain: StudyChain, options: Options, progress: (line: string) => void): Promise<Findings> {
  const rows: Row[] = [];
  const faults: string[] = [];
  const security: Security[] = [];
  const certainties: Findings["certainties"][number][] = [];
  for (const setting of options.settings) {
    const seats = await seatRows(chain, setting, options, progress);
    rows.push(...seats.rows);
    faults.push(...seats.faults);
    rows.push(...(await coalitionRows(chain, setting, options, seats.dollars, progress)));
    const others = await otherRows(chain, setting, options, progress);
    rows.push(...others.rows);
    certainties.push(...others.certainties);
    security.push(securityOf(setting, others.costs));
  }
  return { rows, security, certainties, faults };
}

const CENTS = 100;

export const POLICIES = {
  honest: "honest",
  timid: "honest model, always unsure",
  bold: "honest model, always sure",
  wait: "honest model, always sure, reveals only what most say",
  once: "honest answer, votes without its model",
  lazy: "guesses, unsure, then echoes",
  sure: "guesses, sure, then echoes",
  withhold: "guesses, sure, reveals only what most say",
  echo: "answers nothing, echoes and signs",
  absent: "absent",
} as const satisfies Partial<Record<Policy, string>>;

/** Lives of one agent among honest ones. `dollars`: what an honest seat has. */
async function seatRows(
  chain: StudyChain,
  setting: Setting,
  { size, seed, modelDollars }: Options,
  progress: (line: string) => void,
): Promise<{ readonly rows: readonly Row[]; readonly dollars: number; readonly faults: readonly string[] }> {
  const lived = new Map<Policy, readonly Life[]>();
  for (const policy of Object.keys(POLICIES) as (keyof typeof POLICIES)[]) {
    const lives: Life[] = [];
    for (let index = 0; index < size.lives; index++) {
      const isAudited = index === 0;
      lives.push(await playLife(chain, setting, policy, seed * 1_000 + index, { chances: size.chances, isAudited }));
    }
    lived.set(policy, lives);
    progress(`${setting.name}: ${POLICIES[policy]}`);
  }
  const money = (life: Life): number => (life.pay - life.asked * modelDollars) / life.chances;
  const honest = lived.get("honest")!;
  const dollars = Math.max(0, meanOf(honest.map(money)));
  const worth = (life: Life): number =>
    CENTS * (money(life) - (seatsMissed(life.isAsleep ? 0 : life.reputation) * dollars) / life.chances);
  const rows = [...lived].map(([policy, lives]): Row => {
    const values = lives.map(worth);
    const gains = values.map((value, index) => value - worth(honest[index]!));
    return {
      kind: "reply",
      group: "seats",
      strategy: POLICIES[policy as keyof typeof POLICIES],
      setting: setting.name,
      gwei: SEAT_GAS_LEVEL,
      profit: estimateOf(values),
      gain: estimateOf(gains),
    };
  });
  return { rows, dollars, faults: [...lived.values()].flat().flatMap((life) => life.faults) };
}

export const PLANS = {
  copy: "one model call for all its seats",
  rule: "that, and it takes or stops what its seats can",
} as const satisfies Partial<Record<Plan, string>>;
export const coalitionName = (plan: keyof typeof PLANS, share: number): string =>
  `${Math.round(share * 100)} % of the stake: ${PLANS[plan]}`;

/** Gains of a coalition for each seat that it holds on average. */
async function coalitionRows(
  chain: StudyChain,
  setting: Setting,
  { size: { samples }, seed, modelDollars }: Options,
  seatDollars: number,
  progress: (line: string) => void,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const plan of Object.keys(PLANS) as (keyof typeof PLANS)[])
    for (const share of SHARES) {
      const strata = await gainsOf(chain, setting, { plan, share, samples, seed, modelDollars, seatDollars });
      const gain = scaled(stratified(strata), CENTS / (setting.committeeSize * share));
      const strategy = coalitionName(plan, share);
      const honest = CENTS * seatDollars;
      const profit = { mean: gain.mean + honest, low: gain.low + honest, high: gain.high + honest };
      rows.push({
        kind: "reply",
        group: "coalitions",
        strategy,
        setting: setting.name,
        gwei: SEAT_GAS_LEVEL,
        profit,
        gain,
      });
      progress(`${setting.name}: ${strategy}`);
    }
  return rows;
}

interface Others {
  readonly rows: readonly Row[];
  readonly certainties: Findings["certainties"];
  /** At the gas price of seats. */
  readonly costs: Costs;
}

/** The parties whose gain is the row's, of an episode; above that of another episode, if one is named. */
interface Judged {
  readonly kind: Row["kind"];
  readonly strategy: string;
  readonly episode: EpisodeName;
  readonly of: readonly (keyof Episode)[];
  readonly above?: EpisodeName;
}

const JUDGED: readonly Judged[] = [
  { kind: "duty", strategy: "relays and keeps a request", episode: "relay", of: ["relayer"] },
  { kind: "duty", strategy: "relays and keeps a request that hung", episode: "hang", of: ["relayer"] },
  { kind: "duty", strategy: "refunds a request that nobody answered", episode: "refund", of: ["relayer"] },
  { kind: "duty", strategy: "replaces a silent committee, then refunds", episode: "replace", of: ["relayer"] },
  { kind: "duty", strategy: "relays to a consumer that burns 500,000 gas", episode: "burn", of: ["relayer"] },
  { kind: "duty", strategy: "relays a text of 1,024 bytes", episode: "text", of: ["relayer"] },
  { kind: "duty", strategy: "relays and keeps a request with an upheld appeal", episode: "upheld", of: ["relayer"] },
  { kind: "duty", strategy: "relays and keeps a request with a lost appeal", episode: "lost", of: ["relayer"] },
  { kind: "attack", strategy: "relayer adds 1,000 useless bytes", episode: "pad", of: ["relayer"], above: "relay" },
  { kind: "attack", strategy: "relayer tips 1 gwei", episode: "tip", of: ["relayer"], above: "relay" },
  { kind: "attack", strategy: "relayer tips 3 gwei", episode: "overbid", of: ["relayer"], above: "relay" },
  {
    kind: "attack",
    strategy: "relayer proposes the block, tips itself 1 gwei",
    episode: "tip",
    of: ["relayer", "proposer"],
    above: "relay",
  },
  { kind: "attack", strategy: "asker whose request hangs", episode: "hang", of: ["asker"] },
  { kind: "attack", strategy: "asker that nobody answers", episode: "refund", of: ["asker"] },
  { kind: "attack", strategy: "asker whose callback burns 500,000 gas", episode: "burn", of: ["asker"] },
  { kind: "attack", strategy: "late stake, bonded before a settlement", episode: "late", of: ["latecomer"] },
];

/** For the most that may hang on the answer, by docs/asking.md. */
export const BUYS = {
  decided: "a fifth of the stake asks until a committee is its own",
  hung: "the same, by questions that every honest agent refuses",
  unsure: "the same, by questions whose answer it alone knows",
  shown: "the same, by a source that it serves to a third of the seats",
} as const satisfies Record<Draw, string>;
export const BRIBES = "bribes a quorum at what it risks";
/** SC1: of requests with two appeals. */
export const BRIBES_SECURED = "bribes the first committee of a secured request";
export const BRIBES_LAST = "bribes the last committee of a secured request, and appeals up to it";
/** SC4: of requests with two appeals; the larger share is that of whoever makes them. */
export const CHANGES = [
  { strategy: "asks a secured question whose answer changes, and makes both appeals", share: 0 },
  { strategy: "the same, with half of the stake in the committees that it calls", share: 0.5 },
] as const;
/** SC1. */
const SECURABLE_APPEALS = 2;

/** What relayers and keepers do for others. */
export const KEEPING = JUDGED.filter(({ kind }) => kind === "duty").map(({ strategy }) => strategy);

export const HONEST_APPEAL = `appellant that is ${HONEST_CERTAINTY * 100} % sure`;
export const FALSE_APPEAL = `appellant that is ${FALSE_CERTAINTY * 100} % sure`;

/** What a fifth of the stake gains by a request on average, in cents, if the most hangs on it that docs/asking.md allows. */
function gainOfBuyer({ committeeSize, limit }: Setting, draw: Draw, spent: readonly Spent[]): Estimate {
  const [fifth] = SHARES;
  const often = holds(committeeSize, fifth);
  return estimateOf(spent.map((costs) => CENTS * often * (limit - costOfOwn(committeeSize, fifth, draw, costs))));
}

async function otherRows(
  chain: StudyChain,
  setting: Setting,
  { size, seed }: Options,
  progress: (line: string) => void,
): Promise<Others> {
  const rows: Row[] = [];
  const certainties: Findings["certainties"][number][] = [];
  let costs: Costs = { decided: 0, hung: 0, unanswered: 0, appealed: 0 };
  for (const gwei of GAS_LEVELS) {
    const known = new Map<EpisodeName, readonly Episode[]>();
    const played = async (name: EpisodeName): Promise<readonly Episode[]> => {
      const found = known.get(name);
      if (found !== undefined) return found;
      const episodes: Episode[] = [];
      for (let index = 0; index < size.episodes; index++)
        episodes.push(await play(chain, setting, name, gwei, seed * 1_000 + index));
      known.set(name, episodes);
      return episodes;
    };
    const centsOf = async (name: EpisodeName, of: Judged["of"]): Promise<readonly number[]> =>
      (await played(name)).map((episode) => CENTS * sum(of.map((party) => episode[party])));
    /** Dollars. */
    const costsOf = async (name: EpisodeName, of: Judged["of"]): Promise<readonly number[]> =>
      (await centsOf(name, of)).map((cents) => -cents / CENTS);
    const add = (kind: Row["kind"], strategy: string, profit: Estimate, gain: Estimate): void =>
      void rows.push({ kind, group: "others", strategy, setting: setting.name, gwei, profit, gain });
    for (const { kind, strategy, episode, of, above } of JUDGED) {
      if (setting.appeals === 0 && (episode === "upheld" || episode === "lost")) continue;
      const values = await centsOf(episode, of);
      const base = above === undefined ? values.map(() => 0) : await centsOf(above, of);
      add(kind, strategy, estimateOf(values), estimateOf(values.map((value, index) => value - base[index]!)));
    }
    const decided = await costsOf("relay", ["asker"]);
    const hung = await costsOf("hang", ["asker"]);
    const unanswered = await costsOf("refund", ["asker"]);
    const spent = decided.map((cost, at) => ({ decided: cost, hung: hung[at]!, unanswered: unanswered[at]! }));
    for (const draw of DRAWS) {
      const bought = gainOfBuyer(setting, draw, spent);
      add("attack", BUYS[draw], bought, bought);
    }
    const bribe = (strategy: string, cost: number): void => {
      const bribed = certain(CENTS * (setting.limit - cost));
      add("attack", strategy, bribed, bribed);
    };
    bribe(BRIBES, 0);
    if (setting.appeals >= SECURABLE_APPEALS) {
      bribe(BRIBES_SECURED, slicesOf(setting.committeeSize));
      bribe(BRIBES_LAST, bondsToLast(setting));
      const cents = await centsOf("overturned", ["asker", "appellant"]);
      for (const { strategy, share } of CHANGES) {
        const gain = estimateOf(cents.map((one) => CENTS * gainOfChange(-one / CENTS, setting, share)));
        add("attack", strategy, gain, gain);
      }
    }
    let appealed = 0;
    if (setting.appeals > 0) {
      const [wins, losses] = [await centsOf("upheld", ["appellant"]), await centsOf("lost", ["appellant"])];
      for (const [kind, strategy, sure] of [
        ["duty", HONEST_APPEAL, HONEST_CERTAINTY],
        ["attack", FALSE_APPEAL, FALSE_CERTAINTY],
      ] as const) {
        const gain = estimateOf(wins.map((win, index) => sure * win + (1 - sure) * losses[index]!));
        add(kind, strategy, gain, gain);
      }
      certainties.push({
        setting: setting.name,
        gwei,
        ...certaintyOf(estimateOf(wins).mean, estimateOf(losses).mean, setting),
      });
      appealed = meanOf(await costsOf("lost", ["asker", "appellant"]));
    }
    if (gwei === SEAT_GAS_LEVEL)
      costs = { decided: meanOf(decided), hung: meanOf(hung), unanswered: meanOf(unanswered), appealed };
    progress(`${setting.name}: relayers, keepers, askers, appellants and late stake at ${gwei} gwei`);
  }
  return { rows, certainties, costs };
}
