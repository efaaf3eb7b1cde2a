import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { isPayloadMap } from "../../agents/core/encoding/payload.ts";
import { revealForm } from "../../agents/core/phases/proposals.ts";
import { VOTE } from "../../agents/core/phases/votes.ts";
import { escalating } from "../../agents/core/protocols/escalating/index.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { emptyTally } from "../../agents/core/seat/tally.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import type { Digest } from "../../agents/core/types.ts";
import { attemptOf, runCommittee, type SeatScript } from "../support/core/committee.ts";
import { fieldOf, taskOf } from "../support/core/council-scripts.ts";

const ANSWERS = ["1", "1", "300", "4000"];
const LIAR = 3;

/** A seat whose model finds 1 right and all else wrong, whatever it answered itself. */
const honest = (seat: number): SeatScript => ({
  answer: ({ prompt }) => {
    const isRight = fieldOf(prompt, "answer") === "1";
    switch (taskOf(prompt)) {
      case "verify":
        return { fields: { check: "1 is right", verdict: isRight ? "accept" : "reject" } };
      case "adjudicate":
        return { fields: { check: "", verdict: isRight ? "refute" : "uphold" } };
      default:
        return { fields: { proof: "p", answer: ANSWERS[seat] as string } };
    }
  },
});

describe("MB10: a counter-proof that shows judges a reveal and names another answer", () => {
  for (const protocol of [mbft, escalating])
    it(`${protocol.id}: slashes nobody but the liar whose void slot it names`, () => {
      const attempt = attemptOf(4, { protocol: protocol.code, kind: "number", decimals: 0 });
      const right = canonicalAnswer(attempt.request, "1")?.outcome;
      assert.ok(right !== undefined);
      const named = new Map<number, Digest>();
      /** Reveals 4000 and 4001, and rejects 1 by a counter-proof of its own 4000. */
      const liar: SeatScript = {
        ...honest(LIAR),
        say: (effect) => {
          const { phase, round, payload } = effect;
          if (phase === revealForm.phase && isPayloadMap(payload) && isPayloadMap(payload["proposal"])) {
            named.set(round, digestOf(payload));
            const proposal = { ...payload["proposal"], answer: "4001" };
            return [effect, { ...effect, payload: { ...payload, proposal } }];
          }
          const target = named.get(round);
          if (phase !== VOTE || target === undefined || !isPayloadMap(payload)) return [effect];
          const vote = {
            target: hexToBytes(target),
            outcome: hexToBytes(right),
            verdict: "reject",
            tier: 900_000,
            counterProof: "4000 is wrong",
          };
          return [{ ...effect, payload: { ...payload, votes: [vote] } }];
        },
      };
      const run = runCommittee(protocol, attempt, [honest(0), honest(1), honest(2), liar], { latencyOf: () => 10 });
      const decision = run.certificates[0]?.decision;
      assert.equal(decision?.answer, "1");
      const fallen = decision.reputationChanges.filter(({ steps }) => steps < 0).map(({ seat }) => seat);
      assert.deepEqual(fallen, [LIAR]);
      assert.ok((decision.shares[0] ?? 0) > 1 && decision.shares[0] === decision.shares[1]);
      assert.ok(named.size > 0);
      const why = protocol.explain?.(attempt, run.states[0]?.tally ?? emptyTally) ?? [];
      assert.ok(why.includes("seat 3: it signed two different messages where one is due: neither counts"), String(why));
    });
});
