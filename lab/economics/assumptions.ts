// What the study assumes, and does not measure. docs/economics.md states each of these.
import { DEFAULT_PRICES, type PriceTerms } from "../../scripts/deploy/prices.ts";

/** Terms that the docs recommend to askers (docs/asking.md). */
export interface Setting {
  readonly name: string;
  readonly committeeSize: number;
  readonly appeals: number;
  /** Most dollars that may hang on the answer. */
  readonly limit: number;
}

export const SETTINGS: readonly Setting[] = [
  { name: "n = 4, K = 0", committeeSize: 4, appeals: 0, limit: 2 },
  { name: "n = 7, K = 1", committeeSize: 7, appeals: 1, limit: 15 },
  { name: "n = 13, K = 1", committeeSize: 13, appeals: 1, limit: 600 },
  { name: "n = 4, K = 2", committeeSize: 4, appeals: 2, limit: 2 },
];

/** The assurance of all these terms: at normal assurance a majority decides, and holding one is far less rare. */
export const ASSURANCE = "high";

/** Terms that may ask for stake behind the first answer (SC1); the assurance is high. */
export const SECURABLE: readonly Pick<Setting, "committeeSize" | "appeals">[] = [
  { committeeSize: 4, appeals: 2 },
  { committeeSize: 7, appeals: 2 },
  { committeeSize: 13, appeals: 2 },
  { committeeSize: 4, appeals: 3 },
  { committeeSize: 7, appeals: 3 },
];

/** Agents in the registry: enough for the largest setting and its appeals. */
export const AGENTS = 60;

/** The prices that `npm run deploy` begins with: a token is worth a dollar, a coin 3,000. */
export const PRICES: { readonly token: PriceTerms; readonly native: PriceTerms } = DEFAULT_PRICES;
export const COIN_DOLLARS = 3_000;

/** Gas prices in gwei: a rollup, a quiet and a usual mainnet, and one above the cap of the price list. */
export const GAS_LEVELS = [0.01, 0.5, 5, 30] as const;
/** The level at which seats are compared; none of their gas depends on it but that of claims. */
export const SEAT_GAS_LEVEL = 0.5;

/** The dearest protocol's model calls of a seat, in dollars (docs/deploying.md). */
export const MODEL_DOLLARS = 0.0134;
/** A seat claims when the gas of the claim is this part of what it is owed. */
export const CLAIM_PART = 0.05;

/** Seats that a proven agent of full reputation is drawn for in a week; ADR 12 reckons with the same. */
export const SEATS_A_WEEK = 20;
export const WEEK_SECONDS = 7 * 24 * 3600;
/** Stake of an agent, in tokens: the example of docs/operating.md. */
export const STAKE_TOKENS = 1_000;
/** The least stake of an agent, in tokens (docs/deploying.md). */
export const LEAST_STAKE_TOKENS = 100;

/** An honest model: right in 85 of 100 questions, with a stated confidence that is nearly what it is worth. */
export const MODEL = {
  /** Parts per million of the questions that fool models: each is right with `fooled`, whatever it states. */
  trap: 50_000,
  fooled: 400_000,
  /** Parts per million of the other answers that are stated as sure, and how often these and the others are right. */
  sure: 700_000,
  sureRight: 950_000,
  unsureRight: 700_000,
  /** A seat that verifies another answer: rejects a wrong one, accepts a right one, or accepts a wrong one. */
  rejectsWrong: 800_000,
  acceptsRight: 700_000,
  acceptsWrong: 100_000,
  /** A judge of a counter-proof: upholds it against a wrong answer, refutes it against a right one. */
  upholds: 850_000,
  refutes: 800_000,
  /** A seat in the minority that answers with the majority in the next round. */
  revises: 700_000,
} as const;

/** The first answer's part of what a draw's model calls cost; the votes and judgements are the rest. */
export const ANSWER_PART = 0.25;

/** How sure an honest appellant is that the decision is wrong, and a false one. */
export const HONEST_CERTAINTY = 0.95;
export const FALSE_CERTAINTY = 0.05;

/** Parts of the stake that coalitions hold. */
export const SHARES = [0.2, 1 / 3, 0.4] as const;
