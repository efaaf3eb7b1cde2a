import { canonicalAnswer, isSameAnswer } from "../../agents/core/request/answer.ts";
import type { AnswerKind, DecisionStatus } from "../../agents/core/types.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import { PAGES, PRICE_TOLERANCE } from "./pages.ts";

/** Questions that the training of conclave-small did not see (models/held-out.json). */
export interface DemoQuestion {
  readonly kind: AnswerKind;
  readonly question: string;
  readonly expected: string;
  /** Options of a choice or of policies. */
  readonly options?: number;
  /** Texts that an answer must cite. */
  readonly documents?: readonly string[];
  /** Pages and values that an answer must cite. */
  readonly sources?: readonly string[];
  /** For a number: its decimals, and by how many units of the last one answers may differ. */
  readonly decimals?: number;
  readonly tolerance?: number;
}

/** The questions of one protocol. */
export interface DemoPlan {
  /** True if the demo serves the pages that the questions name. */
  readonly servesPages: boolean;
  readonly questions: readonly DemoQuestion[];
  readonly assurance: "normal" | "high";
}

const refund: DemoQuestion = {
  kind: "boolean",
  question:
    "Policy: (1) refunds within 60 days; (2) at most 6 items. Facts: after 118 days, 8 items. Is the refund due?",
  expected: "no",
};

const cards: DemoQuestion = {
  kind: "choice",
  question:
    "Four cards: 30, 7, E, N. Rule: a card with a consonant has an odd number behind. N is turned. Which other card to turn? 30 (A), E (B), 7 (C)",
  expected: "A",
  options: 3,
};

const change: DemoQuestion = {
  kind: "number",
  question: "Paul had seventy-six EUR and paid sixty-five EUR. How much is left?",
  expected: "11",
};

const budget: DemoQuestion = {
  kind: "policies",
  question: "Budget 85 EUR. Policies: (A) 87 EUR, (B) 138 EUR, (C) 63 EUR, (D) 84 EUR, (E) 61 EUR. Which fit?",
  expected: "C,D,E",
  options: 5,
};

const deadline: DemoQuestion = {
  kind: "policies",
  question: "Deadline: 20 days. Policies: (A) 38 days, (B) 26 days, (C) 12 days, (D) 19 days. Which are in time?",
  expected: "C,D",
  options: 4,
};

const contract: DemoQuestion = {
  kind: "text",
  question:
    "Contract: (1) arrives within 90 hours; (2) max 12 damaged.\nClaim: 86 hours, 8 damaged.\nWhat does the clerk write?",
  expected: "Terms kept.",
};

const delivery: DemoQuestion = {
  kind: "text",
  question:
    "Delivery terms: 1. signature required; 2. weight at least 25 kg. Case: signed, 8 kg. What does the clerk write?",
  expected: "Terms broken: 8 kg is less than 25.",
};

const cited: DemoQuestion = {
  kind: "boolean",
  question: "Facts: after 118 days, 8 items. Is the refund due?",
  expected: "no",
  documents: ["Policy: (1) refunds within 60 days; (2) at most 6 items."],
};

const standard = [refund, cards, change] as const;
const texts = [contract, delivery, refund] as const;

/** Questions that show what a protocol is for, by its id; other protocols get the standard questions. */
const special: Readonly<Record<string, readonly DemoQuestion[]>> = {
  unanimous: [budget, deadline, refund],
  council: texts,
  debate: texts,
  adversarial: texts,
  escalating: [cited, cards, change],
};

export function planFor(protocolId: string): DemoPlan {
  // At high assurance the liar's dissent is enough to escalate, up to the claims that cite.
  const assurance = protocolId === "escalating" ? "high" : "normal";
  return { questions: special[protocolId] ?? standard, servesPages: false, assurance };
}

/** Questions that only the demo's pages answer. */
export const sourcesPlan: DemoPlan = {
  servesPages: true,
  assurance: "normal",
  questions: [
    {
      kind: "boolean",
      question: "Facts: after 118 days, 8 items. Is the refund due?",
      expected: "no",
      sources: [PAGES.right],
    },
    {
      kind: "boolean",
      question: "Facts: after 30 days, 4 items. Is the refund due?",
      expected: "yes",
      sources: [PAGES.poisoned],
    },
    {
      kind: "boolean",
      question: "Facts: after 25 days, 3 items. Is the refund due?",
      expected: "unanswerable",
      sources: [PAGES.differing],
    },
    {
      kind: "number",
      question: "How many dollars is one token?",
      expected: "31.20",
      decimals: 2,
      tolerance: PRICE_TOLERANCE,
      sources: [PAGES.price],
    },
  ],
};

/** True if a decision is the expected one: its status, or the canonical value of its answer. */
export function isExpected(question: DemoQuestion, status: DecisionStatus, answer: string): boolean {
  const { kind, options = 0, decimals = 0, tolerance = 0, expected } = question;
  if (status !== "decided") return status === expected;
  const terms = defaultTerms({ protocol: 0, kind, options, decimals, tolerance: BigInt(tolerance) });
  const asked = { terms, question: question.question };
  const [wanted, given] = [canonicalAnswer(asked, expected), canonicalAnswer(asked, answer)];
  return wanted !== null && given !== null && isSameAnswer(terms, wanted, given);
}
