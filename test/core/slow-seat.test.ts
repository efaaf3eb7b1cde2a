import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silenceIn } from "../../agents/node/audit/argument.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import { ABSENT } from "../../agents/core/types.ts";
import { attemptOf, runCommittee, timing, type SeatScript } from "../support/core/committee.ts";
import { believing } from "../support/core/council-scripts.ts";

const SLOW = 3;

describe("PH5: a seat whose model takes longer than the others wait", () => {
  for (const protocol of protocols.filter(({ id }) => id !== hashgraph.id))
    it(`${protocol.id}: is not absent from what they decide, and says why it has no answer if it was asked for one`, () => {
      const attempt = attemptOf(4, { protocol: protocol.code });
      const quick = believing("yes");
      const scripts = attempt.committee.map((_, seat): SeatScript =>
        seat === SLOW ? { ...quick, thinkMs: timing.phaseMs - 1 } : quick,
      );
      const run = runCommittee(protocol, attempt, scripts);
      const [first] = run.certificates;
      assert.equal(first?.decision.status, "decided");
      assert.notEqual(first.decision.shares[SLOW], ABSENT);
      // Not every seat is asked for an answer under leaderless and adversarial.
      const said = run.effects[SLOW]?.flatMap((effect) =>
        effect.kind === "send" ? (silenceIn(effect.payload) ?? []) : [],
      );
      if (["leaderless", "adversarial"].includes(protocol.id)) return;
      assert.deepEqual(said, ["the model gave no answer in time"]);
    });
});
