import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { asDigest } from "../../agents/core/encoding/payload.ts";
import type { PayloadMap } from "../../agents/core/protocol.ts";
import type { Attempt, Digest } from "../../agents/core/types.ts";
import { attemptOf } from "../support/core/committee.ts";
import { until } from "../support/until.ts";
import { openSeatOf } from "./seat.ts";

const attempt = attemptOf(4);
const { domain } = attempt;

/** What the seat commits to; it always answers the same. */
async function commitmentIn(of: Attempt): Promise<Digest | null> {
  const seat = await openSeatOf(of, 0);
  const { payload } = await until(() => seat.sent[0] ?? null);
  await seat.session.close();
  return asDigest((payload as PayloadMap)["commitment"]);
}

describe("what a seat keeps secret", () => {
  for (const [title, other] of [
    ["chain", { ...domain, chainId: domain.chainId + 1 }],
    ["oracle", { ...domain, oracle: attempt.request.consumer }],
  ] as const) {
    // A test chain may ask what a real one asks, under the same number: its reveals must not open the real commitments.
    it(`PH1: is another for the same request on another ${title}`, async () => {
      const here = await commitmentIn(attempt);
      assert.equal(await commitmentIn(attempt), here);
      assert.notEqual(await commitmentIn({ ...attempt, domain: other }), here);
    });

    it(`a journal is not replayed into the same request on another ${title}`, async () => {
      const seat = await openSeatOf(attempt, 0);
      await until(() => seat.sent.length > 0);
      await seat.session.close();
      const records = await seat.journal();
      await assert.rejects(openSeatOf({ ...attempt, domain: other }, 0, { records }), { code: "JOURNAL_CONFLICT" });
    });
  }
});
