// Which attempts the page says nobody decided, and how many more may come.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { retriesLeft, silentAttempts } from "../../dashboard/src/decision/attempts.ts";

type Asked = Parameters<typeof silentAttempts>[0];
type Round = Asked["past"][number];

/** The request after these rounds: what is not told of them does not matter here. */
function asked(attempt: number, terms: object, ...past: readonly (readonly [number, string, number])[]): Asked {
  const rounds = past.map(
    ([at, status, seats]) =>
      ({ decision: { attempt: at, status }, committee: Array.from({ length: seats }) }) as unknown as Round,
  );
  const whole = { committeeSize: 4, retries: 0, delay: 0, ...terms };
  return { attempt, past: rounds, request: { terms: whole } } as unknown as Asked;
}

describe("page: attempts", () => {
  it("names those that left no round, and no wait", () => {
    assert.deepEqual(silentAttempts(asked(2, { retries: 2 })), [0, 1]);
    assert.deepEqual(silentAttempts(asked(2, { retries: 2 }, [0, "hung", 4])), [1]);
    assert.deepEqual(silentAttempts(asked(1, { retries: 1, delay: 60 })), []);
    assert.deepEqual(silentAttempts(asked(2, { retries: 2 }, [0, "tooEarly", 4])), []);
    assert.deepEqual(silentAttempts(asked(2, { retries: 1, appeals: 1 }, [0, "tooEarly", 4])), [1]);
  });

  it("counts retries: a larger committee follows an appeal, which is none", () => {
    assert.equal(retriesLeft(asked(0, { retries: 2 }), 4), 2);
    assert.equal(retriesLeft(asked(2, { retries: 2 }), 4), 0);
    assert.equal(retriesLeft(asked(1, { retries: 2 }), 9), 2);
    assert.equal(retriesLeft(asked(3, { retries: 2 }), 19), 1);
  });
});
