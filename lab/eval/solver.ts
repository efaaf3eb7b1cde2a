import type { AnswerForm } from "../../agents/core/prompts/task-prompt.ts";
import { DOMAINS, type Clause, type Domain } from "./families/cases.ts";
import { OFFERS } from "./families/choices.ts";
import type { Bound } from "./families/drawn.ts";
import { BUDGETS, wordsOf } from "./families/numbers.ts";
import type { Suite } from "./suites.ts";

/**
 * The solver reads a question's text alone, tries every answer that its form allows, and keeps those that fit. It shares
 * the families' vocabulary, and none of their reasoning: where a text can be read in two ways, the answers of both count.
 */
export function solutionsOf(
  suite: Suite,
  text: string,
  form: AnswerForm,
  pages: readonly string[] = [],
): readonly string[] {
  return SOLVERS[suite](text, form, pages);
}

type Solver = (text: string, form: AnswerForm, pages: readonly string[]) => readonly string[];

const LETTERS = "ABCDE".split("");

const rulesKept: Solver = (text) => outcomesOf(interpretations(text));

function outcomesOf(found: readonly Interpretation[]): readonly string[] {
  return ["yes", "no"].filter((answer) =>
    found.some(({ items }) => items.every(({ holds }) => holds) === (answer === "yes")),
  );
}

/** Applies the rules of every page on the matter that is asked about; if there is none, there is no answer. */
const rulesTold: Solver = (text, _, pages) => {
  const [asked = ""] = text.split("\n");
  const found = pages
    .flatMap((page) => interpretations(`Rules: ${RULES.exec(page)?.[0] ?? ""} ${asked}`))
    .filter(({ domain }) => domain.asks.some((ask) => asked.endsWith(ask)));
  return found.length === 0 ? ["unanswerable"] : outcomesOf(found);
};

const SOLVERS: Readonly<Record<Suite, Solver>> = {
  arithmetic: solveSum,
  wason: solveCards,
  policy: rulesKept,
  lookup: rulesKept,
  policies: solveSelection,
  text: solveReply,
  rules: rulesKept,
  replies: solveReply,
  clauses: (text, { options }) =>
    LETTERS.slice(0, options).filter((_, at) => interpretations(text).some(({ items }) => items[at]?.holds === false)),
  offers: solveOffers,
  selections: solveSelection,
  told: rulesTold,
  silent: rulesTold,
};

/** One rule, applied to the fact that it is read with. */
interface Applied {
  readonly holds: boolean;
  /** The words by which a reply blames the rule. */
  readonly reason: string;
}

interface Interpretation {
  readonly domain: Domain;
  readonly items: readonly Applied[];
}

const CASE = /^[^:]+: (.+)\. (?:Claim|Case|Facts): (.+?)\. [A-Z]/;
/** The rules of a page, without its title and notes. */
const RULES = /\(?1[.)] .+?\.(?= [A-Z]|$)/;
const RULE_LABEL = /^\(?[1-5A-E][.)] /;

/** All ways to read rules and facts: in every domain that knows the rules, every pairing of facts with rules. */
function interpretations(text: string): readonly Interpretation[] {
  const [, told = "", claimed = ""] = CASE.exec(text) ?? [];
  const rules = told.split("; ").map((rule) => rule.replace(RULE_LABEL, ""));
  const facts = claimed.split(", ");
  if (facts.length !== rules.length) return [];
  return DOMAINS.flatMap((domain) =>
    orders(facts).flatMap((order) =>
      rules
        .map((rule, index) => applications(domain, rule, order[index] as string))
        .reduce<readonly (readonly Applied[])[]>(
          (all, ways) => all.flatMap((one) => ways.map((way) => [...one, way])),
          [[]],
        )
        .map((items) => ({ domain, items })),
    ),
  );
}

/** All ways to apply a rule to a fact in a domain. */
function applications({ clauses }: Domain, rule: string, fact: string): readonly Applied[] {
  return clauses.flatMap(([texts, bound, facts, , words]: Clause): readonly Applied[] => {
    if (bound === "flag") {
      const isTold = texts.includes(rule) && [...facts, words].includes(fact);
      return isTold ? [{ holds: fact !== words, reason: words }] : [];
    }
    return numbersIn(texts, rule).flatMap((limit) =>
      numbersIn(facts, fact).map((value) => ({
        holds: keeps(bound, value, limit),
        reason: `${words.replace("{n}", String(value))} is ${bound === "max" ? "more" : "less"} than ${limit}`,
      })),
    );
  });
}

function keeps(bound: Bound, value: number, limit: number): boolean {
  return bound === "max" ? value <= limit : value >= limit;
}

/** The numbers that some template has where the text has digits. */
function numbersIn(templates: readonly string[], text: string): readonly number[] {
  const found = templates.flatMap((template) => {
    const [before = "", after = ""] = template.split("{n}");
    const middle = text.slice(before.length, text.length - after.length);
    return text.startsWith(before) && text.endsWith(after) && /^\d+$/.test(middle) ? [Number(middle)] : [];
  });
  return [...new Set(found)];
}

function orders<T>(all: readonly T[]): readonly (readonly T[])[] {
  if (all.length < 2) return [all];
  return all.flatMap((one, index) => orders(all.toSpliced(index, 1)).map((rest) => [one, ...rest]));
}

/** Tries the reply that all is kept, and one that blames each rule. */
function solveReply(text: string): readonly string[] {
  const fitting = interpretations(text).flatMap(({ domain: { replies }, items }) => {
    const broken = items.filter(({ holds }) => !holds);
    return broken.length === 0 ? [replies[0]] : broken.map(({ reason }) => `${replies[1]}: ${reason}.`);
  });
  return [...new Set(fitting)];
}

/** Tries every set of options but the empty one. */
function solveSelection(text: string, { options }: AnswerForm): readonly string[] {
  const conditions = BUDGETS.flatMap(([condition, , , bound]) =>
    numbersIn([condition], text.slice(0, text.indexOf(".") + 1)).map((limit) => ({ bound, limit })),
  );
  const values = [...text.matchAll(/\(?([A-E])\) (\d+) /g)].map(([, , value]) => Number(value));
  const sets = Array.from({ length: 2 ** options - 1 }, (_, index) => index + 1);
  return conditions.flatMap(({ bound, limit }) =>
    sets
      .filter(
        (set) =>
          values.length === options &&
          values.every((value, at) => keeps(bound, value, limit) === ((set >> at) % 2 === 1)),
      )
      .map((set) => LETTERS.filter((_, at) => (set >> at) % 2 === 1).join(",")),
  );
}

/** Tries every option: one fits if it beats all others. */
function solveOffers(text: string, { options }: AnswerForm): readonly string[] {
  const wants = OFFERS.find(([asks]) => asks.some((ask) => text.includes(ask)))?.[1];
  const values = [...text.matchAll(/\b([A-D])(?:\)|:| =) (?:day )?(\d+)/g)].map(([, , value]) => Number(value));
  const beats = (one: number, other: number): boolean => (wants === "least" ? one < other : one > other);
  return LETTERS.slice(0, options).filter((_, at) =>
    values.every((value, other) => other === at || beats(values[at] as number, value)),
  );
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ".split("");
const DIGITS = "0123456789".split("");

/** Tries every card: one has to be turned if something that it may hide breaks the rule. */
function solveCards(text: string, { options }: AnswerForm): readonly string[] {
  const [, first] = /\b(vowel|consonant)\b/.exec(text) ?? [];
  const [, second] = /\b(even|odd)\b/.exec(text) ?? [];
  const breaks = (letter: string, digit: string): boolean =>
    (/[AEIOU]/.test(letter) ? "vowel" : "consonant") === first && (Number(digit) % 2 === 0 ? "even" : "odd") !== second;
  const faces = new Map([...text.matchAll(/(\w+) \(([A-C])\)/g)].map(([, face = "", letter]) => [letter, face]));
  return LETTERS.slice(0, options).filter((letter) => {
    const face = faces.get(letter) ?? "";
    return /\d/.test(face)
      ? ALPHABET.some((hidden) => breaks(hidden, face))
      : DIGITS.some((hidden) => breaks(face, hidden));
  });
}

const MOST_SUM = 198;
const WORDS = new Map(Array.from({ length: 100 }, (_, number) => [wordsOf(number), number]));

/** Tries every number: a sum's terms add to it; with what is taken away it makes the whole. */
function solveSum(text: string): readonly string[] {
  const words = text.toLowerCase().match(/\d+|[a-z]+(?:-[a-z]+)?/g) ?? [];
  const [x, y, ...more] = words
    .map((word) => (/\d/.test(word) ? Number(word) : WORDS.get(word)))
    .filter((one) => one !== undefined);
  if (x === undefined || y === undefined || more.length > 0) return [];
  const isSum = /plus|\+|^Add|sum of|together|in all|more\.|total|votes/.test(text);
  const [whole, part] = text.startsWith("Take") ? [y, x] : [x, y];
  const fits = (answer: number): boolean => (isSum ? x + y === answer : answer + part === whole);
  return Array.from({ length: MOST_SUM + 1 }, (_, answer) => answer)
    .filter(fits)
    .map(String);
}
