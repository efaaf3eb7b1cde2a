import { LAYOUTS, greatestOf } from "../encoding/layouts.ts";
import { limits } from "../limits.ts";
import type { Terms } from "../types.ts";
import { KIND_RULES, usesTerm } from "./kinds.ts";
import { committeeSizeAfter, seatsOfAll } from "./rounds.ts";

/** Least and greatest value of a term by itself. */
type Bounds = readonly [least: number, most: number];

/** The bounds of every term that is a small number, as contracts/libraries/RequestTermsLib.sol has them. Seconds for times. */
export const TERM_BOUNDS = {
  committeeSize: [limits.minCommittee, limits.maxCommittee],
  duration: [limits.minDurationSeconds, limits.maxDurationSeconds],
  delay: [0, limits.maxDelaySeconds],
  appeals: [0, limits.maxAppeals],
  retries: [0, limits.maxRetries],
  finality: [0, limits.maxFinality],
  callbackGasLimit: [0, limits.callbackGas],
  options: [limits.minOptions, limits.maxOptions],
  decimals: [0, limits.decimals],
} as const satisfies Partial<Record<keyof Terms, Bounds>>;

/** The largest tolerance that the bits of the terms hold. */
export const MAX_TOLERANCE = greatestOf(LAYOUTS.requestTerms, "tolerance");

/** How whoever asks is spoken to: options of a command, fields of a form. */
export interface TermWords {
  /** Names a term with a value to give. */
  readonly give: (term: keyof Terms, value: string | number) => string;
  readonly time: (seconds: number) => string;
}

/** A term that the contract refuses, and what to give instead. */
export interface TermFlaw {
  readonly term: keyof Terms;
  readonly way: string;
}

/** Returns the first flaw of the terms; null if the contract takes them, as far as it looks at no protocol, fee and agents. */
export function termFlaw(terms: Terms, words: TermWords): TermFlaw | null {
  for (const rule of RULES) {
    const flaw = rule(terms, words);
    if (flaw !== null) return flaw;
  }
  return null;
}

type Rule = (terms: Terms, words: TermWords) => TermFlaw | null;

const RULES: readonly Rule[] = [bounds, kind, committees, delay, finality, security];

function bounds(terms: Terms, { time }: TermWords): TermFlaw | null {
  for (const [name, [least, most]] of Object.entries(TERM_BOUNDS)) {
    const term = name as keyof typeof TERM_BOUNDS;
    if (term === "options" && !usesTerm(terms.kind, term)) continue;
    const value = terms[term];
    if (Number.isSafeInteger(value) && least <= value && value <= most) continue;
    const isTime = term === "duration" || term === "delay";
    return {
      term,
      way: isTime ? `give ${time(least)} to ${time(most)}` : `give a whole number, ${least} to ${most}`,
    };
  }
  if (terms.tolerance < 0n || terms.tolerance > MAX_TOLERANCE)
    return { term: "tolerance", way: `at most ${MAX_TOLERANCE} units of the last decimal` };
  return null;
}

function kind({ kind: asked, appeals }: Terms): TermFlaw | null {
  if (appeals === 0 || KIND_RULES[asked].appealable) return null;
  return { term: "appeals", way: "no contract can tell whether two texts agree; ask a question of another kind" };
}

function committees(terms: Terms): TermFlaw | null {
  const { appeals, committeeSize } = terms;
  const largest = committeeSizeAfter(committeeSize, appeals);
  if (largest > limits.maxCommittee) {
    const way = `the last appeal would call ${largest} seats, at most ${limits.maxCommittee} are allowed; take fewer seats or appeals`;
    return { term: "committeeSize", way };
  }
  const all = seatsOfAll(terms);
  if (all <= limits.requestSeats) return null;
  const way = `all appeals and retries together would call ${all} seats, at most ${limits.requestSeats} are allowed; take fewer of them`;
  return { term: "committeeSize", way };
}

/** SE25: the wait is an attempt, and what replaces an attempt is a retry. */
function delay({ delay: wait, retries }: Terms, { give }: TermWords): TermFlaw | null {
  if (wait === 0 || retries > 0) return null;
  const way = `the committee after the wait is a retry; allow it with ${give("retries", 1)} or more`;
  return { term: "delay", way };
}

/**
 * SE24: whoever wants a larger committee after an unsure one must allow an appeal for it. Nobody can appeal against such decisions, so a
 * secured request takes no finality.
 */
function finality(terms: Terms, { give }: TermWords): TermFlaw | null {
  if (terms.finality === 0) return null;
  if (terms.appeals === 0) {
    const way = `a larger committee follows an unsure one; allow it with ${give("appeals", 1)} or more`;
    return { term: "finality", way };
  }
  if (terms.security === "none") return null;
  const way = `${give("security", "secured")} needs appeals that somebody pays; leave one of the two out`;
  return { term: "finality", way };
}

/**
 * SC1: who puts the stake of others at risk must hold a quorum, and two larger committees must be able to overturn the first, before
 * stake that leaves is gone.
 */
function security(terms: Terms, { give, time }: TermWords): TermFlaw | null {
  const { kind: asked, duration, assurance, appeals, retries, currency } = terms;
  const flaw = (way: string): TermFlaw => ({ term: "security", way });
  if (terms.security === "none") return null;
  if (assurance !== "high")
    return flaw(`it needs ${give("assurance", "high")}: otherwise fewer than a quorum decide for all seats`);
  if (KIND_RULES[asked].agreement !== undefined)
    return flaw(
      `answers of ${give("kind", asked)} agree in part, so nothing shows who knew; ask a question of another kind`,
    );
  if (currency !== "token")
    return flaw(`it needs a fee in the stake token: pay compares with stake; choose ${give("currency", "token")}`);
  if (appeals < limits.minSecuredAppeals) {
    const way = `${give("security", "secured")} needs at least ${give("appeals", limits.minSecuredAppeals)}`;
    return { term: "appeals", way };
  }
  const periods = 2 * appeals + retries + 1;
  const most = limits.maxDurationSeconds;
  if (duration * periods <= most) return null;
  const way = `the ${periods} periods of a secured request may last ${time(most)} together; take at most ${time(Math.floor(most / periods))}`;
  return { term: "duration", way };
}
