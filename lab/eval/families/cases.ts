import type { Random } from "../../../sim/random.ts";
import { rounded, valueFor, type Bound, type Family, type Level } from "./drawn.ts";

/** Rules and the facts they are applied to: families `policy` and `text` of models/questions.py, and the clauses of `choose`. */

export type Clause = readonly [
  texts: readonly string[],
  bound: Bound | "flag",
  facts: readonly string[],
  range: readonly [number, number],
  /** The fact in an answer; for a flag its opposite. */
  words: string,
];

export interface Domain {
  readonly titles: readonly string[];
  readonly clauses: readonly Clause[];
  readonly asks: readonly string[];
  /** Text that a clerk writes: that all rules hold, or the beginning if one does not. */
  readonly replies: readonly [string, string];
}

function compared(bound: Bound, texts: string, facts: string, low: number, high: number, words: string): Clause {
  return [texts.split("|"), bound, facts.split("|"), [low, high], words];
}

function flag(texts: string, good: string, bad: string): Clause {
  return [texts.split("|"), "flag", [good], [0, 0], bad];
}

export const DOMAINS: readonly Domain[] = [
  {
    titles: ["Policy", "Refund policy", "Shop rules"],
    clauses: [
      compared(
        "max",
        "within {n} days|returned within {n} days|refunds within {n} days",
        "day {n}|after {n} days",
        5,
        90,
        "{n} days",
      ),
      flag("item unused|must be unused", "unused", "used"),
      flag("receipt required|with receipt", "receipt", "no receipt"),
      compared("max", "max {n} EUR|up to {n} EUR|price at most {n} EUR", "{n} EUR|price {n} EUR", 20, 900, "{n} EUR"),
      compared("max", "at most {n} items|max {n} items", "{n} items", 2, 9, "{n} items"),
    ],
    asks: ["Is the refund due?", "Should the refund be paid?", "Is a refund owed?"],
    replies: ["Refund due.", "No refund"],
  },
  {
    titles: ["Policy", "Insurance policy", "Cover"],
    clauses: [
      compared(
        "max",
        "damage up to {n} EUR|max {n} EUR|covers up to {n} EUR",
        "{n} EUR|damage {n} EUR",
        100,
        990,
        "{n} EUR",
      ),
      compared("max", "reported within {n} days|report within {n} days", "reported day {n}|day {n}", 2, 40, "{n} days"),
      flag("police report required|with police report", "police report", "no police report"),
      compared("min", "driver age {n} or more|driver at least {n}", "driver {n}|age {n}", 18, 40, "age {n}"),
      flag("premium paid|only if premium paid", "paid", "unpaid"),
    ],
    asks: ["Is the claim covered?", "Is the damage covered?", "Must the insurer pay?"],
    replies: ["Claim covered.", "Not covered"],
  },
  {
    titles: ["Policy", "Travel rules", "Expense policy"],
    clauses: [
      compared("max", "hotel up to {n} EUR|hotel max {n} EUR", "hotel {n} EUR", 60, 300, "hotel {n} EUR"),
      compared("max", "meals up to {n} EUR|meals max {n} EUR", "meals {n} EUR", 15, 95, "meals {n} EUR"),
      compared("min", "trip over at least {n} km|distance {n} km or more", "{n} km|distance {n} km", 20, 400, "{n} km"),
      flag("receipt required|with receipt", "receipt", "no receipt"),
      flag("approved in advance|prior approval", "approved", "not approved"),
    ],
    asks: ["Is the expense allowed?", "Is the expense compliant?", "May the expense be paid?"],
    replies: ["Expense allowed.", "Not allowed"],
  },
  {
    titles: ["Policy", "Loan rules", "Credit policy"],
    clauses: [
      compared("min", "income at least {n}|income {n} or more", "income {n}", 100, 900, "income {n}"),
      compared("max", "loan up to {n}|loan max {n}", "loan {n}", 100, 900, "loan {n}"),
      compared("min", "score at least {n}|score {n} or more", "score {n}", 300, 800, "score {n}"),
      compared("min", "age {n} or more|at least age {n}", "age {n}", 18, 30, "age {n}"),
      flag("no open debt|debt free", "debt free", "open debt"),
    ],
    asks: ["Is the loan approved?", "Does the applicant qualify?", "May the loan be granted?"],
    replies: ["Loan approved.", "No loan"],
  },
  {
    titles: ["Contract", "Delivery terms", "SLA"],
    clauses: [
      compared(
        "max",
        "delivered within {n} hours|arrives within {n} hours",
        "{n} hours|after {n} hours",
        4,
        96,
        "{n} hours",
      ),
      compared("max", "at most {n} damaged|max {n} damaged", "{n} damaged", 1, 20, "{n} damaged"),
      compared("min", "weight at least {n} kg|weighs {n} kg or more", "weight {n} kg|{n} kg", 5, 90, "{n} kg"),
      compared("min", "at least {n} units|{n} units or more", "{n} units", 20, 500, "{n} units"),
      flag("signature required|with signature", "signed", "not signed"),
    ],
    asks: ["Was the contract met?", "Is the delivery compliant?", "Were the terms kept?"],
    replies: ["Terms kept.", "Terms broken"],
  },
];

const ENDINGS = [
  "What does the clerk write?",
  "What does the clerk write?",
  "What is the reply?",
  "What should the clerk write?",
];

/** Titles and questions of cases that ask for the rule that is broken. */
const BROKEN_TITLES = ["Rules", "Policy", "Clauses"];
const BROKEN_ASKS = ["Which rule is broken?", "Which clause is violated?", "Which clause fails?"];
const LETTERS = "ABCDE".split("");

/** One clause with its fact. */
interface Item {
  readonly clause: string;
  readonly fact: string;
  /** The comparison, e.g. "12 max 30 ok", and the same judged wrongly. */
  readonly trace: string;
  readonly lie: string;
  /** Why the clause fails, in words. */
  readonly reason: string;
}

export interface Case {
  readonly domain: Domain;
  readonly items: readonly Item[];
  /** Indices of rules that do not hold, ascending. */
  readonly broken: readonly number[];
  /** Names of the rules in a trace. */
  readonly names: readonly string[];
  /** "(1) refunds within 30 days; (2) item unused." */
  readonly rules: string;
  /** "Claim: day 12, unused." */
  readonly facts: string;
}

/** A case of which half keep all rules. */
export function yesNoCase(random: Random, level: Level): Case {
  return drawCase(random, level, brokenRules(150_000), NUMBERS);
}

/** The question whether it may be paid. */
export function policy(level: Level): Family {
  return (random) => {
    const drawn = yesNoCase(random, level);
    const { domain, broken } = drawn;
    const isRight = broken.length === 0;
    return {
      kind: "boolean",
      text: `${random.pick(domain.titles)}: ${drawn.rules} ${drawn.facts} ${random.pick(domain.asks)}`,
      answer: isRight ? "yes" : "no",
      proof: proofOf(drawn),
      lie: { answer: isRight ? "no" : "yes", proof: liedOn(random, drawn).proof },
    };
  };
}

/** The text that is written to the customer, with the failing rule. */
export function reply(level: Level): Family {
  return (random) => {
    const drawn = drawCase(random, level, brokenRules(0), NUMBERS);
    const { domain, broken } = drawn;
    const title = random.pick(domain.titles);
    const ending = random.pick(ENDINGS);
    const lied = liedOn(random, drawn);
    return {
      kind: "text",
      text: `${title}: ${drawn.rules} ${drawn.facts} ${random.chance(400_000) ? `${random.pick(domain.asks)} ` : ""}${ending}`,
      answer: replyOf(drawn, broken[0] ?? null),
      proof: proofOf(drawn),
      lie: { answer: replyOf(drawn, lied.at), proof: lied.proof },
    };
  };
}

/** Which of the rules is broken. */
export function clause(level: Level): Family {
  return (random) => {
    const drawn = drawCase(random, level, () => 1, CLAUSE_LETTERS);
    const { items, broken, names } = drawn;
    const at = broken[0] as number;
    const other = random.pick(items.map((_, index) => index).filter((index) => index !== at));
    return {
      kind: `choice A-${names[items.length - 1] as string}`,
      text: `${random.pick(BROKEN_TITLES)}: ${drawn.rules} ${drawn.facts} ${random.pick(BROKEN_ASKS)}`,
      answer: names[at] as string,
      proof: proofOf(drawn),
      lie: { answer: names[other] as string, proof: traceOf(drawn, other, [at, other]) },
    };
  };
}

/** How rules are named in the text and in a trace. */
interface Naming {
  readonly styles: readonly string[];
  readonly inText: readonly string[];
  readonly inTrace: readonly string[];
}

const NUMBERS: Naming = {
  styles: ["({}) ", "{}. ", "{}) "],
  inText: "12345".split(""),
  inTrace: ["c1", "c2", "c3", "c4", "c5"],
};
const CLAUSE_LETTERS: Naming = { styles: ["{}) ", "{}) ", "({}) "], inText: LETTERS, inTrace: LETTERS };

/** Half of the cases keep all rules. */
function brokenRules(twoPpm: number): (random: Random) => number {
  return (random) => (random.chance(500_000) ? (random.chance(twoPpm) ? 2 : 1) : 0);
}

function drawCase(random: Random, level: Level, breaksOf: (random: Random) => number, naming: Naming): Case {
  const count = random.pick(level.sizes);
  const order = random.shuffled(Array.from({ length: count }, (_, index) => index));
  const broken = order.slice(0, breaksOf(random)).toSorted((a, b) => a - b);
  const domain = random.pick(DOMAINS);
  const clauses = random.shuffled(domain.clauses).slice(0, count);
  const items = clauses.map((one, index) => itemOf(random, level, one, !broken.includes(index)));
  const style = random.pick(naming.styles);
  const rules = items.map((item, index) => `${style.replace("{}", naming.inText[index] as string)}${item.clause}`);
  const facts = items.map(({ fact }) => fact);
  const told = (random.chance(350_000) ? random.shuffled(facts) : facts).join(", ");
  const claim = random.pick(["Claim", "Case", "Facts"]);
  return { domain, items, broken, names: naming.inTrace, rules: `${rules.join("; ")}.`, facts: `${claim}: ${told}.` };
}

function itemOf(random: Random, level: Level, [texts, bound, facts, [low, high], words]: Clause, holds: boolean): Item {
  const [rule, fact] = [random.pick(texts), random.pick(facts)];
  const ending = (ok: boolean): string => (ok ? "ok" : "fails");
  if (bound === "flag") {
    const word = holds ? fact : words;
    const lie = `${random.pick([fact, words])} ${ending(!holds)}`;
    return { clause: rule, fact: word, trace: `${word} ${ending(holds)}`, lie, reason: words };
  }
  const limit = rounded(random, random.between(low, high));
  const value = valueFor(random, level, limit, bound, holds);
  const lied = random.pick([value, valueFor(random, level, limit, bound, !holds)]);
  const put = (template: string, number: number): string => template.replace("{n}", String(number));
  const size = bound === "max" ? "more" : "less";
  return {
    clause: put(rule, limit),
    fact: put(fact, value),
    trace: `${value} ${bound} ${limit} ${ending(holds)}`,
    lie: `${lied} ${bound} ${limit} ${ending(!holds)}`,
    reason: `${put(words, holds ? lied : value)} is ${size} than ${limit}`,
  };
}

/** The trace up to the first rule that fails. */
export function proofOf(drawn: Case): string {
  return traceOf(drawn, drawn.broken[0] ?? drawn.items.length - 1, []);
}

/** Returns a trace that ends in the wrong judgement, and the rule that it claims to be broken; null if it has none. */
export function liedOn(random: Random, drawn: Case): { readonly at: number | null; readonly proof: string } {
  const { items, broken } = drawn;
  if (broken.length > 0) return { at: null, proof: traceOf(drawn, items.length - 1, broken) };
  const at = random.below(items.length);
  return { at, proof: traceOf(drawn, at, [at]) };
}

function traceOf({ items, names }: Case, upto: number, lies: readonly number[]): string {
  return items
    .slice(0, upto + 1)
    .map(({ trace, lie }, index) => `${names[index] as string} ${lies.includes(index) ? lie : trace}`)
    .join("; ");
}

function replyOf({ domain, items }: Case, at: number | null): string {
  const [yes, no] = domain.replies;
  return at === null ? yes : `${no}: ${(items[at] as Item).reason}.`;
}
