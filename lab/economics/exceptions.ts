import { GAS_LEVELS, PRICES, SHARES } from "./assumptions.ts";
import type { Exception } from "./rows.ts";
import { BRIBES, BRIBES_LAST, HONEST_APPEAL, KEEPING, POLICIES, coalitionName } from "./study.ts";

const CAP_GWEI = Number(PRICES.token.gasPriceCap) / 1e9;
const aboveCap = GAS_LEVELS.filter((gwei) => gwei > CAP_GWEI);

/** What does not hold. docs/economics.md and every run say it first, with the figures of the run. A figure that is above `most` beyond doubt is a fault all the same. */
export const EXCEPTIONS: readonly Exception[] = [
  {
    strategies: [BRIBES],
    most: 5_000_000,
    says: "**Bribes pay whatever hangs on the answer: against them a request secures 0 dollars unless it is secured (SC1).** Otherwise no wrong answer costs stake, so a seat risks nothing that a cent would not pay. [What a secured one secures](#what-a-secured-request-secures).",
  },
  {
    strategies: [BRIBES_LAST],
    most: 500,
    says: "**The last committee of a secured request is bribed for nothing, too**: nobody can overturn it, so its seats risk no stake. Whoever bribes it pays the bonds of the appeals up to it.",
  },
  {
    strategies: [POLICIES.bold, POLICIES.wait],
    most: 1,
    says: "**In a life of two weeks a seat that always states the top tier gains over one that says how sure it is**, whether it waits for the others' reveals or not: a share cannot be negative, and one fall a week counts (RE4). In a year it gains [little or nothing](#sure-in-every-answer). A deeper fall would cost honest agents more.",
  },
  {
    strategies: [POLICIES.once],
    most: 1.3,
    says: "**A seat that asks its model for its answer alone, and votes without it, gains over an honest one**: what it votes changes no pay, and no rule that looks at votes could tell ([pay](spec/pay.md#limits)). Its answer is taken for a quarter of what a draw costs.",
  },
  {
    strategies: (["copy", "rule"] as const).flatMap((plan) => SHARES.map((share) => coalitionName(plan, share))),
    most: 2.5,
    says: "**An operator of several agents gains by asking one model for all its seats**, since nothing proves that two seats asked twice; and whoever holds more than 2/3 of a committee pays itself.",
  },
  {
    strategies: ["relayer proposes the block, tips itself 1 gwei"],
    most: 55,
    says: "**Whoever relays and proposes the block takes a tip of up to 1 gwei from the asker's reserve** (`MAX_TIP`), on a rollup many times the gas price.",
  },
  {
    strategies: ["relayer tips 1 gwei"],
    most: 7,
    says: "**A relayer gains by a tip**: it is paid for the gas that a commit uses at most (SE13), and most use less.",
  },
  {
    strategies: [HONEST_APPEAL],
    most: 22,
    isOfGas: true,
    says: "**At the quote an honest appeal loses where gas is dear**, above some 0.5 gwei: half of the seats' pay is less than the gas of an appeal. A larger fee mends it (the table of appellants has how large), or an asker that appeals for itself.",
  },
  {
    strategies: KEEPING,
    gwei: aboveCap,
    most: 7_000,
    says: `**Above the cap of ${CAP_GWEI} gwei everybody who relays or keeps loses**, so requests wait or are refunded.`,
  },
];
