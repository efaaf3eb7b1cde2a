import type { Random } from "../../../sim/random.ts";
import { rounded, valueFor, type Bound, type Drawn, type Family, type Level } from "./drawn.ts";

/** Families `sum` and `policies` of models/questions.py. */

const ONES =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(
    " ",
  );
const TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const NAMES = "Ann Ben Cara Dan Eva Finn Gina Hugo Ida Jan Kim Leo Mia Nils Olga Paul".split(" ");
const GOODS = "apples books cards coins eggs files keys pens seats stamps tickets tokens".split(" ");
const LETTERS = "ABCDE".split("");

/** x, y: the numbers; X: the first as a beginning; p, q: names; g: goods. */
const ADDITIONS = [
  "What is {x} plus {y}?",
  "What is {x} + {y}?",
  "How much is {x} plus {y}?",
  "Add {x} and {y}.",
  "What is the sum of {x} and {y}?",
  "{p} pays {x} EUR and {q} {y} EUR. How much together?",
  "{p} has {x} {g} and {q} has {y}. How many {g} in all?",
  "{p} had {x} {g} and got {y} more. How many now?",
  "A bill of {x} EUR and a fee of {y} EUR: what is the total in EUR?",
  "{X} votes came in before noon and {y} after. How many votes?",
];
const SUBTRACTIONS = [
  "What is {x} minus {y}?",
  "What is {x} - {y}?",
  "How much is {x} minus {y}?",
  "Take {y} from {x}. What is left?",
  "What is the difference of {x} and {y}?",
  "{p} has {x} {g} and gives {q} {y}. How many are left?",
  "{p} had {x} EUR and paid {y} EUR. How much is left?",
  "Of {x} {g}, {y} are sold. How many remain?",
  "A budget of {x} EUR, {y} EUR spent: what remains in EUR?",
];

/** Two numbers below 100, in digits or words. */
export function sum(random: Random): Drawn {
  const isSum = random.chance(600_000);
  const low = random.chance(150_000) ? 1 : 10;
  const drawn = [random.between(low, 99), random.between(low, 99)] as const;
  const [a, b] = isSum || drawn[0] >= drawn[1] ? drawn : [drawn[1], drawn[0]];
  const { proof, value } = isSum ? addition(a, b, false) : subtraction(a, b, false);
  const slip = isSum ? addition(a, b, true) : subtraction(a, b, true);
  const off = Math.abs(value + random.pick([-10, 10, -1, 1, 2, -2, 9, -9, 20]));
  // Without a carry to forget, the lie makes another slip.
  const other = off === value ? value + 10 : off;
  const lie =
    slip.value === value
      ? { answer: String(other), proof: proof.replace(/\d+$/, String(other)) }
      : {
          answer: String(slip.value),
          proof: slip.proof,
        };
  return { kind: "number 0", text: sumText(random, a, b, isSum), answer: String(value), proof, lie };
}

interface Reckoned {
  readonly proof: string;
  readonly value: number;
}

function addition(a: number, b: number, forgets: boolean): Reckoned {
  const units = (a % 10) + (b % 10);
  const carries = units > 9 && !forgets;
  const tens = tensOf(a) + tensOf(b) + (carries ? 1 : 0);
  const value = tens * 10 + (units % 10);
  const shown = `${tensOf(a)}+${tensOf(b)}${carries ? "+1" : ""}`;
  return { value, proof: `${a}+${b}: ${a % 10}+${b % 10}=${units}; ${shown}=${tens}; ${value}` };
}

function subtraction(a: number, b: number, forgets: boolean): Reckoned {
  const borrows = a % 10 < b % 10;
  const units = (a % 10) - (b % 10) + (borrows ? 10 : 0);
  const takes = borrows && !forgets;
  const tens = tensOf(a) - tensOf(b) - (takes ? 1 : 0);
  const value = tens * 10 + units;
  const shown = `${tensOf(a)}-${tensOf(b)}${takes ? "-1" : ""}`;
  return { value, proof: `${a}-${b}: ${borrows ? "1" : ""}${a % 10}-${b % 10}=${units}; ${shown}=${tens}; ${value}` };
}

function tensOf(number: number): number {
  return Math.floor(number / 10);
}

function sumText(random: Random, a: number, b: number, isSum: boolean): string {
  const [p, q] = random.shuffled(NAMES) as [string, string];
  const [x, y] = random.chance(350_000) ? [wordsOf(a), wordsOf(b)] : [String(a), String(b)];
  const X = `${x.slice(0, 1).toUpperCase()}${x.slice(1)}`;
  const fields: Readonly<Record<string, string>> = { x, y, X, p, q, g: random.pick(GOODS) };
  const template = random.pick(isSum ? ADDITIONS : SUBTRACTIONS);
  return template.replaceAll(/\{(\w)\}/g, (_, name: string) => fields[name] as string);
}

/** A number below 100 in words. */
export function wordsOf(number: number): string {
  if (number < 20) return ONES[number] as string;
  const one = number % 10;
  return `${TENS[tensOf(number)]}${one === 0 ? "" : `-${ONES[one]}`}`;
}

type Budget = readonly [
  condition: string,
  asks: readonly string[],
  unit: string,
  bound: Bound,
  range: readonly [number, number],
];
export const BUDGETS: readonly Budget[] = [
  ["Budget {n} EUR.", ["Which fit?", "Which fit the budget?", "Which can be paid?"], "{n} EUR", "max", [20, 900]],
  ["Deadline: {n} days.", ["Which fit?", "Which are in time?"], "{n} days", "max", [5, 90]],
  ["At most {n} kg.", ["Which fit?", "Which are allowed?"], "{n} kg", "max", [5, 90]],
  ["At least {n} units required.", ["Which fit?", "Which are allowed?"], "{n} units", "min", [20, 500]],
];

/** The set of options that keep a limit; never empty. */
export function policies(level: Level): Family {
  return (random) => drawPolicies(random, level);
}

function drawPolicies(random: Random, level: Level): Drawn {
  const [condition, asks, unit, bound, [low, high]] = random.pick(BUDGETS);
  const limit = rounded(random, random.between(low, high));
  const count = random.pick(level.sizes);
  const sides = Array.from({ length: count }, () => random.chance(500_000));
  if (!sides.includes(true)) sides[random.below(count)] = true;
  const values = sides.map((side) => valueFor(random, level, limit, bound, side));
  const put = (template: string, number: number): string => template.replace("{n}", String(number));
  const style = random.pick(["({}) ", "({}) ", "{}) "]);
  const options = values
    .map((value, index) => `${style.replace("{}", LETTERS[index] as string)}${put(unit, value)}`)
    .join(random.pick([" ", ", "]));
  const fitting = (flipped: number): { readonly answer: string; readonly proof: string } => {
    const holds = sides.map((side, index) => side !== (index === flipped));
    const answer = LETTERS.filter((_, index) => holds[index] === true).join(",");
    const steps = values.map(
      (value, index) => `${LETTERS[index]} ${value} ${bound} ${limit} ${holds[index] === true ? "ok" : "fails"}`,
    );
    return { answer, proof: steps.join("; ") };
  };
  const lies = sides.map((_, index) => fitting(index)).filter(({ answer }) => answer !== "");
  return {
    kind: `policies A-${LETTERS[count - 1]}`,
    text: `${put(condition, limit)} ${random.pick(["Policies", "Options"])}: ${options}. ${random.pick(asks)}`,
    ...fitting(-1),
    lie: random.pick(lies),
  };
}
