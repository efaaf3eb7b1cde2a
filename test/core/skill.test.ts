import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { outcomeFrom } from "../../agents/core/phases/outcome.ts";
import type { BlindAnswer, Overdue } from "../../agents/core/phases/pay.ts";
import { TIERS, TIER_MAX } from "../../agents/core/phases/tiers.ts";
import { isSupermajority } from "../../agents/core/quorum.ts";
import { skillOf } from "../../agents/core/skill.ts";
import { learned } from "../../lab/references/skill-counters.ts";
import { ONE_PPM, type Attempt, type Outcome, type Ppm, type SeatIndex, type Terms } from "../../agents/core/types.ts";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import type { Hex } from "../../agents/core/types.ts";
import { assertFields } from "../support/assertions.ts";
import { attemptOf } from "../support/core/committee.ts";

const vectors = JSON.parse(readFileSync(new URL("../vectors/skill.json", import.meta.url), "utf8")) as {
  readonly walks: readonly Readonly<Record<"name" | "lessons" | "agreed" | "contested" | "skills", string>>[];
};

describe("skill: the counters", () => {
  for (const { name, lessons, ...expected } of vectors.walks)
    it(`SK4, SK6: they follow the vectors that Solidity reads: ${name}`, () => {
      let counters = { agreed: 0, contested: 0 };
      const states = [...hexToBytes(lessons as Hex)].map((lesson) => (counters = learned(counters, lesson === 1)));
      const bytes = (values: readonly number[]): string => `0x${Buffer.from(values).toString("hex")}`;
      assert.deepEqual(expected, {
        agreed: bytes(states.map(({ agreed }) => agreed)),
        contested: bytes(states.map(({ contested }) => contested)),
        skills: bytes(states.map(skillOf)),
      });
    });

  it("SK4, SK6: whatever is learned, the counters stay within 7 bits, and one more agreement never lowers a skill", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { maxLength: 400 }), (walk) => {
        let counters = { agreed: 0, contested: 0 };
        for (const agrees of walk) {
          counters = learned(counters, agrees);
          assert.ok(counters.agreed <= counters.contested && counters.contested < 128);
        }
        assert.ok(skillOf(learned(counters, true)) >= skillOf(learned(counters, false)));
      }),
    );
  });
});

const none = { answered: [], agreed: [] };

/** What a decision for `decided` teaches, if every seat did what was asked. */
function taught(
  attempt: Attempt,
  said: readonly (string | null)[],
  decided: string | null,
  {
    overdue = [],
    slashed = [],
    tier = TIER_MAX,
    alike = [],
  }: {
    readonly overdue?: readonly Overdue[];
    readonly slashed?: readonly number[];
    readonly tier?: Ppm;
    readonly alike?: readonly [] | null;
  } = {},
): Pick<Outcome, "answered" | "agreed"> {
  const seats = attempt.committee.map((_, seat) => seat as SeatIndex);
  const answers = said.flatMap((text, seat): readonly BlindAnswer[] =>
    text === null ? [] : [{ seat: seat as SeatIndex, answer: canonicalAnswer(attempt.request, text)!, tier }],
  );
  const answer = decided === null ? null : canonicalAnswer(attempt.request, decided)!;
  const { answered, agreed } = outcomeFrom(attempt, {
    winner: answer && { answer, alike, confidence: ONE_PPM },
    blind: { answers, overdue },
    slashes: seats.map((seat) => (slashed.includes(seat) ? 1 : 0)),
    completed: seats,
  });
  return { answered, agreed };
}

describe("skill: what a decision teaches", () => {
  const four = attemptOf(4);

  it("SK1: a contested decision with more than 2/3 of the seats behind it teaches about all that answered blind", () => {
    assert.deepEqual(taught(four, ["yes", "no", "yes", "yes"], "yes"), { answered: [0, 1, 2, 3], agreed: [0, 2, 3] });
    const seven = attemptOf(7);
    assert.deepEqual(taught(seven, ["yes", "yes", "yes", "yes", "yes", null, "no"], "yes"), {
      answered: [0, 1, 2, 3, 4, 6],
      agreed: [0, 1, 2, 3, 4],
    });
  });

  it("SK1: one that all agree with teaches nothing, nor does one that at most 2/3 answered, nor a hung one", () => {
    assert.deepEqual(taught(four, ["yes", "yes", "yes", "yes"], "yes"), none);
    assert.deepEqual(taught(attemptOf(6), ["yes", "yes", "yes", "yes", "no", "no"], "yes"), none);
    assert.deepEqual(taught(four, ["yes", "yes", "no", null], "yes"), none);
    assert.deepEqual(taught(four, ["yes", "yes", "yes", "no"], "no"), none);
    assert.deepEqual(taught(four, ["yes", "yes", "yes", "no"], null), none);
  });

  it("SK1: neither tier nor skill nor reputation matters", () => {
    const lesson = { answered: [0, 1, 2, 3], agreed: [1, 2, 3] };
    for (const tier of TIERS) assert.deepEqual(taught(four, ["no", "yes", "yes", "yes"], "yes", { tier }), lesson);
    const weighed = attemptOf(4, {}, [10_000, 10_000, 10_000, 1_000_000]);
    const skilled = {
      ...weighed,
      committee: weighed.committee.map((seat, index) => ({
        ...seat,
        skill: index === 0 ? (3 as const) : (1 as const),
      })),
    };
    assert.deepEqual(taught(skilled, ["no", "yes", "yes", "yes"], "yes"), lesson);
  });

  it("SK1: a commit that nobody opened is outvoted; one that was opened late counts as its answer says", () => {
    const seat = 3 as SeatIndex;
    const opened = (text: string) => ({
      overdue: [{ seat, late: { answer: canonicalAnswer(four.request, text)!, tier: TIER_MAX } }],
    });
    const said = ["yes", "yes", "yes", null];
    const outvoted = { answered: [0, 1, 2, 3], agreed: [0, 1, 2] };
    assert.deepEqual(taught(four, said, "yes", { overdue: [{ seat, late: null }] }), outvoted);
    assert.deepEqual(taught(four, said, "yes", opened("no")), outvoted);
    assert.deepEqual(taught(four, said, "yes", opened("yes")), none);
    // It gives no decision the 2/3 that it lacks.
    assert.deepEqual(taught(four, ["yes", "yes", "no", null], "yes", opened("yes")), none);
  });

  it("SK1: a slashed seat is taught nothing", () => {
    assert.deepEqual(taught(four, ["yes", "yes", "yes", "no"], "yes", { slashed: [3] }), none);
    assert.deepEqual(taught(attemptOf(5), ["yes", "yes", "yes", "yes", "no"], "yes", { slashed: [0] }), none);
    const seven = ["yes", "yes", "yes", "yes", "yes", "no", "no"];
    assert.deepEqual(taught(attemptOf(7), seven, "yes", { slashed: [6] }), {
      answered: [0, 1, 2, 3, 4, 5],
      agreed: [0, 1, 2, 3, 4],
    });
  });

  it("SK1: a decision at the edge of the tolerance outvotes no seat that the others agree with", () => {
    const attempt = attemptOf(4, { kind: "number", tolerance: 1n });
    assert.deepEqual(taught(attempt, ["10", "11", "11", "12"], "12"), none);
    assert.deepEqual(taught(attempt, ["9", "11", "11", "12"], "12"), { answered: [0, 1, 2, 3], agreed: [1, 2, 3] });
  });

  it("SK1: sets of policies agree by half; texts that nobody compared teach nothing", () => {
    const policies = attemptOf(4, { kind: "policies", options: 4 });
    assert.deepEqual(taught(policies, ["A,B", "A", "A,B", "C"], "A,B"), { answered: [0, 1, 2, 3], agreed: [0, 1, 2] });
    const texts = attemptOf(4, { kind: "text" });
    const said = ["Rome", "Rome", "Rome", "Paris"];
    assert.deepEqual(taught(texts, said, "Rome"), { answered: [0, 1, 2, 3], agreed: [0, 1, 2] });
    assert.deepEqual(taught(texts, said, "Rome", { alike: null }), none);
  });

  it("SK1: at most f seats outvote nobody, and whoever is outvoted differs from more than 2/3", () => {
    const kinds = fc.constantFrom<Partial<Terms>>({ kind: "boolean" }, { kind: "choice", options: 3 });
    const world = kinds.chain((terms) => {
      const texts = terms.kind === "boolean" ? ["yes", "no"] : ["A", "B", "C"];
      return fc.record({
        terms: fc.constant(terms),
        decided: fc.constantFrom(...texts),
        said: fc.array(fc.option(fc.constantFrom(...texts)), { minLength: 4, maxLength: 13 }),
      });
    });
    fc.assert(
      fc.property(world, ({ terms, decided, said }) => {
        const { answered, agreed } = taught(attemptOf(said.length, terms), said, decided);
        for (const seat of agreed) assert.equal(said[seat], decided);
        for (const seat of answered) assert.notEqual(said[seat], null);
        const behind = said.filter((text) => text === decided).length;
        const isContested =
          isSupermajority(behind, said.length) && said.some((text) => text !== null && text !== decided);
        assertFields(
          { answered: answered.length, agreed: agreed.length },
          {
            answered: isContested ? said.filter((text) => text !== null).length : 0,
            agreed: isContested ? behind : 0,
          },
        );
      }),
    );
  });
});
