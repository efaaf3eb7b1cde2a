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
      "Policy: (1) income at least 650; (2) no open debt. Facts: income 688, debt free. May the loan be granted?",
    expected: "yes",
  },
  {
    kind: "choice",
    question: "Which supplier is fastest? A: 12 days, B: 40 days, C: 49 days",
    expected: "A",
    options: 3,
  },
  { kind: "number", question: "37 votes came in before noon and 64 after. How many votes?", expected: "101" },
];
