import type { SeatScript } from "./committee.ts";

/** Script that knows the truth: answers it, accepts it, rejects everything else, judges by it. */
export function honest(truth: string, confidence = 900_000): SeatScript {
  return {
    answer: ({ ask, prompt }) => {
      const right = prompt.small.user.includes(`\nanswer: ${JSON.stringify(truth)}`);
      if (ask.includes("propose")) return { fields: { proof: "computed", answer: truth }, confidence };
      if (ask.includes("verify"))
        return { fields: { check: right ? "ok" : `it is ${truth}`, verdict: right ? "accept" : "reject" }, confidence };
      return { fields: { check: "computed", verdict: right ? "refute" : "uphold" }, confidence };
    },
  };
}

/** Script that answers the opposite with full confidence, vetoes the truth and upholds every lie. */
export const liar: SeatScript = {
  answer: ({ ask, prompt }) => {
    const right = prompt.small.user.includes('\nanswer: "yes"');
    if (ask.includes("propose")) return { fields: { proof: "certain", answer: "no" }, confidence: 1_000_000 };
    if (ask.includes("verify"))
      return {
        fields: { check: "the limit is exceeded", verdict: right ? "reject" : "accept" },
        confidence: 1_000_000,
      };
    return { fields: { check: "certain", verdict: right ? "uphold" : "refute" }, confidence: 1_000_000 };
  },
};
