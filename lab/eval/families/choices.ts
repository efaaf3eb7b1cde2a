import type { Random } from "../../../sim/random.ts";
import type { Drawn, Family, Level } from "./drawn.ts";

/** Families `wason` and `choose` of models/questions.py. */

const LETTERS = "ABCD".split("");

interface Card {
  readonly face: string;
  readonly what: string;
  readonly turns: boolean;
}

/** Which other card has to be turned to test the rule (Wason). */
export function wason(random: Random): Drawn {
  const letter = random.pick(["vowel", "consonant"]);
  const digit = random.pick(["even", "odd"]);
  const [otherLetter, otherDigit] = [letter === "vowel" ? "consonant" : "vowel", digit === "even" ? "odd" : "even"];
  const first: Card = { face: letterOf(random, letter), what: letter, turns: true };
  const rest: readonly Card[] = [
    { face: letterOf(random, otherLetter), what: otherLetter, turns: false },
    { face: digitOf(random, digit), what: digit, turns: false },
    { face: digitOf(random, otherDigit), what: otherDigit, turns: true },
  ];
  const cards = random.shuffled([first, ...rest]);
  const options = random.shuffled(rest);
  const listed = options.map(({ face }, index) => `${face} (${LETTERS[index]})`).join(", ");
  const rule = random.pick([
    `if ${letter} then ${digit}`,
    `a card with a ${letter} has an ${digit} number behind`,
    `every ${letter} has an ${digit} number on its back`,
  ]);
  const ask = random.pick([
    "Which other must be turned?",
    "Which other card tests the rule?",
    "Which other card to turn?",
  ]);
  const faces = cards.map(({ face }) => face).join(", ");
  const traceTo = (at: number): string => {
    const chosen = options[at] as Card;
    const steps = cards.map((card) => `${card.face} ${card.what} ${card === chosen || card === first ? "turn" : "no"}`);
    return `${steps.join("; ")}; ${chosen.face} (${LETTERS[at]})`;
  };
  const right = options.findIndex(({ turns }) => turns);
  const wrong = (right + 1 + random.below(2)) % 3;
  return {
    kind: "choice A-C",
    text: `${random.pick(["Cards", "Four cards"])}: ${faces}. Rule: ${rule}. ${first.face} is turned. ${ask} ${listed}`,
    answer: LETTERS[right] as string,
    proof: traceTo(right),
    lie: { answer: LETTERS[wrong] as string, proof: traceTo(wrong) },
  };
}

function letterOf(random: Random, what: string): string {
  return random.pick((what === "vowel" ? "EIOU" : "FGHJKLMNPRSTVWXZ").split(""));
}

function digitOf(random: Random, what: string): string {
  const odd = what === "even" ? 0 : 1;
  if (random.chance(500_000)) return String(Math.floor(random.between(2, 98) / 2) * 2 + odd);
  return random.pick((what === "even" ? "2468" : "3579").split(""));
}

type Offer = readonly [
  asks: readonly string[],
  wants: "least" | "most",
  unit: string,
  range: readonly [number, number],
];

export const OFFERS: readonly Offer[] = [
  [["Which offer is cheapest?", "Which bid is the lowest?", "Which price is the smallest?"], "least", "{n}", [10, 999]],
  [["Which offer is cheapest?", "Which quote costs least?"], "least", "{n} EUR", [10, 999]],
  [["Which option is largest?", "Which bid is the highest?", "Which value is the greatest?"], "most", "{n}", [10, 999]],
  [["Which supplier is fastest?", "Which delivery is quickest?"], "least", "{n} days", [2, 60]],
  [["Which day is earliest?", "Which date comes first?"], "least", "day {n}", [1, 99]],
  [["Which day is latest?", "Which date comes last?"], "most", "day {n}", [1, 99]],
  [["Which tank holds the most?", "Which parcel is heaviest?"], "most", "{n} kg", [5, 500]],
  [["Which route is shortest?", "Which way is the shortest?"], "least", "{n} km", [5, 500]],
];

/** The one option with the least or greatest number. */
export function choose(level: Level): Family {
  return (random) => drawOffers(random, level);
}

function drawOffers(random: Random, level: Level): Drawn {
  const [asks, wants, unit, [least, most]] = random.pick(OFFERS);
  const count = random.pick(level.sizes);
  const isRound = most > 99 && random.chance(level.roundPpm);
  const step = isRound ? 10 : 1;
  const width = random.chance(level.nearPpm) ? 8 * step : Math.floor((most - least) / 4);
  const start = Math.floor(random.between(least, most - width) / step) * step;
  const places = Array.from({ length: Math.floor(width / step) + 1 }, (_, index) => start + index * step);
  const values = random.shuffled(places.filter((value) => value >= least)).slice(0, count);
  const style = random.pick(["{l}) {v}", "{l}) {v}", "{l}: {v}", "{l} = {v}"]);
  const options = values
    .map((value, index) => {
      const shown = unit.replace("{n}", String(value));
      return style.replace("{l}", LETTERS[index] as string).replace("{v}", shown);
    })
    .join(random.pick([" ", ", "]));
  const ask = random.pick(asks);
  const right = running(values, wants, -1);
  const slip = running(values, wants, random.between(1, count - 1));
  const wrong = slip.best === right.best ? (right.best + random.between(1, count - 1)) % count : slip.best;
  return {
    kind: `choice A-${LETTERS[count - 1] as string}`,
    text: random.chance(700_000) ? `${ask} ${options}` : `Options: ${options}. ${ask}`,
    answer: LETTERS[right.best] as string,
    proof: right.trace,
    lie: { answer: LETTERS[wrong] as string, proof: slip.trace },
  };
}

/** The comparison of each value with the best so far; the one at `slip` goes the wrong way. */
function running(
  values: readonly number[],
  wants: "least" | "most",
  slip: number,
): { readonly trace: string; readonly best: number } {
  let best = 0;
  const steps = [`A ${values[0]}`];
  for (let at = 1; at < values.length; at++) {
    const [value, held] = [values[at] as number, values[best] as number];
    const isBetter = (wants === "least" ? value < held : value > held) !== (at === slip);
    const size = isBetter === (wants === "least") ? "less" : "more";
    if (isBetter) best = at;
    steps.push(`${value} vs ${held} ${size} ${LETTERS[best] as string}`);
  }
  return { trace: steps.join("; "), best };
}
