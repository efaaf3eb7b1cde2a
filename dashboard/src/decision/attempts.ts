import type { RequestUpdate } from "../../../sdk/src/index.ts";

type Asked = Pick<RequestUpdate, "attempt" | "past" | "request">;

/** How many more committees may be called in place of the one that sits: each appeal doubles the seats and adds one, and costs no retry. */
export function retriesLeft({ attempt, request: { terms } }: Omit<Asked, "past">, seats: number): number {
  const appeals = Math.log2((seats + 1) / (terms.committeeSize + 1));
  return Math.max(0, terms.retries - (attempt - Math.round(appeals)));
}

/** Attempts before the running one whose committee decided nothing in its time: they leave no round. Waits are attempts, too. */
export function silentAttempts({ attempt, past, request: { terms } }: Asked): readonly number[] {
  const decided = new Set(past.map(({ decision }) => decision.attempt));
  const waits = new Set(
    past.flatMap(({ decision, committee }) => {
      // Too early in the first size: the next attempt waits, if a retry is left for the committee after it.
      const isWait = decision.status === "tooEarly" && committee.length === terms.committeeSize;
      return isWait && decision.attempt + 1 < terms.retries ? [decision.attempt + 1] : [];
    }),
  );
  if (terms.delay > 0) waits.add(0);
  return Array.from({ length: attempt }, (_, index) => index).filter((one) => !decided.has(one) && !waits.has(one));
}
