/** Held out from the training of conclave-small (models/held-out.json). */
export interface DemoQuestion {
  readonly kind: "boolean" | "choice" | "number";
  readonly question: string;
  readonly expected: string;
  /** Of a choice. */
  readonly options?: number;
}

export const questions: readonly DemoQuestion[] = [
  {
    kind: "boolean",
    question:
      "Policy: (1) refunds within 60 days; (2) at most 6 items. Facts: after 118 days, 8 items. Is the refund due?",
    expected: "no",
  },
  {
    kind: "choice",
    question:
      "Four cards: 30, 7, E, N. Rule: a card with a consonant has an odd number behind. N is turned. Which other card to turn? 30 (A), E (B), 7 (C)",
    expected: "A",
    options: 3,
  },
  {
    kind: "number",
    question: "Paul had seventy-six EUR and paid sixty-five EUR. How much is left?",
    expected: "11",
  },
];
