import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { silenceIn } from "../../agents/node/audit/argument.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import { ABSENT } from "../../agents/core/types.ts";
import { attemptOf, runCommittee, timing, type SeatScript } from "../support/core/committee.ts";
import { believing } from "../support/core/council-scripts.ts";
import { asking, LICENCE, quoting, RULES, standing } from "../support/core/sources-scripts.ts";

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

  for (const protocol of protocols.filter(({ id, readsSources }) => readsSources && id !== hashgraph.id))
    it(`${protocol.id}: a seat that reads longer than the others wait reads to its end, and answers by what it read`, () => {
      const attempt = asking(4, [RULES], { protocol: protocol.code });
      const scripts = attempt.committee.map((_, seat): SeatScript => ({
        ...quoting(LICENCE, "yes"),
        thinkMs: 1.5 * timing.graceMs,
        ...(seat === SLOW && { readMs: 2.2 * timing.graceMs }),
      }));
      const run = runCommittee(protocol, attempt, scripts, { texts: standing(RULES), latencyOf: () => 10, readMs: 5 });
      const silences = run.effects[SLOW]?.flatMap((effect) =>
        effect.kind === "send" ? (silenceIn(effect.payload) ?? []) : [],
      );
      assert.deepEqual(silences, []);
      assert.ok((run.certificates[0]?.decision.shares[SLOW] ?? 0) > 0);
    });
});
