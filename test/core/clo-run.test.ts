import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { revealForm } from "../../agents/core/phases/proposals.ts";
import { clo } from "../../agents/core/protocols/clo/index.ts";
import type { PayloadMap } from "../../agents/core/protocol.ts";
import type { Attempt, Digest, Terms } from "../../agents/core/types.ts";
import { bytesToHex } from "../../agents/core/encoding/bytes.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { attemptOf, type SeatScript } from "../support/core/committee.ts";
import { decisionOf, fieldOf, taskOf, watched } from "../support/core/council-scripts.ts";
import { LICENCE, RULES, line, standing } from "../support/core/sources-scripts.ts";

const number: Partial<Terms> = { kind: "number", decimals: 0 };
const asking = (terms: Partial<Terms>): Attempt => attemptOf(4, { protocol: clo.code, ...terms });

/** A seat whose model gives these answers in turn, and accepts the first alone. */
function giving(...answers: readonly string[]): SeatScript {
  let calls = 0;
  return {
    answer: ({ prompt }) => {
      const task = taskOf(prompt);
      if (task === "verify")
        return { fields: { check: "c", verdict: fieldOf(prompt, "answer") === answers[0] ? "accept" : "reject" } };
      if (task === "match") return { fields: { same: "no" } };
      const answer = answers[calls++ % answers.length] as string;
      return { fields: { quote: LICENCE, source: "A", proof: "p", answer } };
    },
  };
}

/** What each seat reveals, round by round. */
function revealsOf({ effects }: ReturnType<typeof watched>): readonly (readonly (PayloadMap | null)[])[] {
  const said = effects.map((all) =>
    all.flatMap((effect) => {
      const isReveal = effect.kind === "send" && effect.phase === revealForm.phase;
      return isReveal ? [effect.payload["proposal"] as PayloadMap | null] : [];
    }),
  );
  return (said[0] ?? []).map((_, round) => said.map((all) => all[round] ?? null));
}

describe("clo: over a committee", () => {
  it("CL2: a seat tells what its other samples gave", () => {
    const attempt = asking(number);
    const torn = giving("4", "9", "9");
    const done = watched(clo, attempt, [torn, giving("9", "4", "4"), giving("4", "4", "7"), giving("9")]);
    const [first] = revealsOf(done);
    const told = first?.map((proposal) =>
      (proposal?.["others"] as readonly Uint8Array[] | undefined)?.map((one) => bytesToHex(one)),
    );
    const outcome = (text: string): Digest | undefined => canonicalAnswer(attempt.request, text)?.outcome;
    assert.deepEqual(told, [[outcome("4")], [outcome("9")], [outcome("7")], undefined]);
    assert.deepEqual(
      first?.map((proposal) => proposal?.["tier"]),
      [700_000, 700_000, 700_000, 900_000],
    );
    // In each round 9 has 2 + 1 + 3 samples, 4 has 1 + 2 + 2.
    assert.equal(decisionOf(done).answer, "9");
  });

  it("CL4, CL5: where more than 2/3 of the seats agree nobody is asked again; else each takes three samples more, and reads nobody's", () => {
    const asked = (scripts: readonly SeatScript[]) => watched(clo, asking(number), scripts).asked;
    assert.equal(asked([giving("4"), giving("4"), giving("4"), giving("9")]).length, 12);
    const again = asked([giving("4"), giving("4"), giving("9"), giving("9", "9", "4")]);
    assert.equal(again.length, 24);
    assert.equal(new Set(again.map(({ prompt }) => prompt.small.user)).size, 1);
    assert.equal(taskOf((again[0] as (typeof again)[0]).prompt), "propose");
    assert.ok(again.every(({ prompt: { small, general } }) => small.isSampled === true && general.isSampled === true));
    // An ask names the seed: were two of a seat the same, its samples would be.
    assert.equal(new Set(again.map(({ seat, ask }) => `${seat} ${ask}`)).size, 24);
  });

  it("CL5: what the second round samples counts with what the first one did", () => {
    // Round 1: 4 has 3 + 3 samples, 9 has 3 and 7 has 3. Round 2: 9 has 3 + 2 + 2 and 4 has 3, so 9 has 10 and 4 has 9.
    const done = watched(clo, asking(number), [
      giving("4", "4", "4", "9", "9", "9"),
      giving("4"),
      giving("9", "9", "9", "9", "9", "1"),
      giving("7", "7", "7", "9", "9", "1"),
    ]);
    assert.equal(decisionOf(done).answer, "9");
    assert.equal(revealsOf(done).length, 2);
  });

  it("EQ3, CL10: texts that seats find alike are compared, counted and paid as one answer", () => {
    const alike = (seat: string): SeatScript => {
      const { answer } = giving(seat);
      return {
        answer: (call) => {
          const same = !call.prompt.small.user.includes("never");
          return taskOf(call.prompt) === "match" ? { fields: { verdict: same ? "same" : "different" } } : answer(call);
        },
      };
    };
    const seats = [alike("it is so"), alike("so it is"), alike("indeed it is so"), alike("never")];
    const done = watched(clo, asking({ kind: "text" }), seats);
    const decision = decisionOf(done);
    assert.equal(decision.status, "decided");
    const comparing = done.asked.filter(({ prompt }) => taskOf(prompt) === "match");
    assert.equal(new Set(comparing.map(({ seat }) => seat)).size, 4);
    assert.deepEqual(
      decision.shares.map((share) => share > 0),
      [true, true, true, false],
    );
  });

  it("CL2: of a text, and where the question names sources, no seat tells others, and what decides is counted", () => {
    const texts = watched(clo, asking({ kind: "text" }), [
      giving("it is so"),
      giving("it is so", "so it is", "yes"),
      giving("it is so", "yes", "indeed"),
      giving("no"),
    ]);
    assert.equal(decisionOf(texts).answer, "it is so");
    const plain = asking(number);
    const question = ["Above how many does an export need a licence?", line(RULES)].join("\n");
    const sourced: Attempt = { ...plain, request: { ...plain.request, question } };
    const scripts = [giving("500"), giving("500", "9", "8"), giving("500", "7", "6"), giving("9")];
    const read = watched(clo, sourced, scripts, 1, standing(RULES));
    assert.equal(decisionOf(read).answer, "500");
    for (const proposal of [...revealsOf(texts), ...revealsOf(read)].flat()) {
      assert.notEqual(proposal, null);
      assert.equal(proposal?.["others"], undefined);
    }
  });
});
