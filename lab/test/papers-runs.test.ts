import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { installHooks } from "../../sim/hooks.ts";
import type { Mind } from "../../sim/model.ts";
import type { Question } from "../eval/question.ts";
import type { Run, Trajectory } from "../papers/deepthnkr-claims.ts";
import type { Latency } from "../papers/decentllms-latency.ts";
import type { Claim, Findings, Study } from "../papers/study.ts";
import type { Block, Turns } from "../papers/unanimous-claims.ts";
import { assertAbove, assertBelow, assertFields, assertWithin } from "../../test/support/assertions.ts";

// As lab/studies.ts does, before anything of the core is loaded.
installHooks({ realSignatures: false, mutant: null });
const { createMemoryModel } = await import("../../agents/adapters/memory/model.ts");
const { respond, readPrompt } = await import("../../sim/model.ts");
const { protocolById } = await import("../../agents/core/protocols/index.ts");
const { createUnanimous } = await import("../../agents/core/protocols/unanimous/index.ts");
const { createAnswerBook } = await import("../eval/answer-book.ts");
const { attemptFor } = await import("../eval/attempt.ts");
const { createPanel } = await import("../eval/panel.ts");
const { KIND_RULES } = await import("../../agents/core/request/kinds.ts");
const { proposePrompt } = await import("../../agents/core/prompts/task-prompt.ts");
const { deliberateOn } = await import("../papers/deliberations.ts");
const { courseOf, hashgraphStudy } = await import("../papers/hashgraph.ts");
const { deepthnkrStudy, trajectoryOf, unreadText } = await import("../papers/deepthnkr.ts");
const { deepthnkrClaims, meanReadings } = await import("../papers/deepthnkr-claims.ts");
const { accuracyClaim, latencyClaims, resilienceClaim, singleClaim } = await import("../papers/decentllms-claims.ts");
const { latenciesOf } = await import("../papers/decentllms-latency.ts");
const { resilienceAt } = await import("../papers/decentllms-table.ts");
const { blocksOf, turnsIn, unanimousStudy, withDirectSeats } = await import("../papers/unanimous.ts");
const { accuracyAt, deviation, unanimousClaims } = await import("../papers/unanimous-claims.ts");

type AnswerBook = ReturnType<typeof createAnswerBook>;

const question: Question = {
  suite: "policy",
  text: "May it be paid?",
  form: { kind: "boolean", options: 0, decimals: 0 },
  truth: "yes",
  lie: { answer: "no", proof: "c1 720 max 500 fails" },
};

/** Answers with the mind's answer, and with the same when asked again. */
function bookOf(mindOf: (user: string, seed: number) => Mind): AnswerBook {
  const memory = createMemoryModel((request) => {
    const { terms } = attemptFor(kindOf(request.user), 0, 4, "normal").request;
    return respond(request, terms, mindOf(request.user, request.seed));
  });
  const model = {
    ...memory,
    ask: async (...words: Parameters<typeof memory.ask>) => ({
      ...(await memory.ask(...words)),
      promptTokens: 9,
      outputTokens: 1,
    }),
  };
  return createAnswerBook(
    [false, true].map((isGreedy) => ({ label: "scripted", key: `scripted ${isGreedy}`, isGreedy, models: [model] })),
    null,
  );
}

function kindOf(user: string): Question {
  const [kind, rest = ""] = (readPrompt(user).get("kind") ?? "boolean").split(" ");
  const options = rest.includes("-") ? rest.charCodeAt(rest.length - 1) - 64 : 0;
  return { ...question, form: { kind: kind as "boolean", options, decimals: 0 } };
}

const minded = (answer: string): Mind => ({ answer, approves: (other) => other === answer });
/** A mind that answers every task, the same for all seats. */
const fixed = (user: string): Mind => {
  const { kind } = kindOf(user).form;
  return minded(KIND_RULES[kind].samples.valid(() => 7)[0] ?? "");
};
const setting = (book: AnswerBook) => {
  return { isQuick: true, size: 1, seed: 1, tell: () => {}, book: () => Promise.resolve(book) };
};
const claimOf = (claims: readonly Claim[], words: string): Claim =>
  claims.find(({ paper }) => paper.includes(words)) as Claim;

describe("every study runs from end to end with a scripted model", () => {
  const studies: readonly (readonly [Study, (findings: Findings) => void])[] = [
    [
      unanimousStudy,
      ({ claims, comparisons, tables, charts }) => {
        // Four seats by five ratios, seven seats, and sums; the second size's four seats are those of a ratio.
        assert.deepEqual(
          comparisons.map(({ questions }) => questions),
          [1, 1, 1, 1, 1, 1, 1],
        );
        // All agree at once: no turn is needed at any ratio.
        assert.match(claimOf(claims, "the fewer turns").here, /^mean turns 0.00, 0.00, 0.00, 0.00, 0.00 at/);
        assert.deepEqual(tables.map(({ rows }) => rows.length).slice(0, 3), [5, 2, 1]);
        assert.equal(charts.length, 2);
      },
    ],
    [
      hashgraphStudy,
      ({ claims, tables }) => {
        assert.equal(claimOf(claims, "one or two rounds").here, "two rounds suffice for 100.0 % of the questions");
        assert.match(claimOf(claims, "1/3 adversaries").here, /always right up to 2 of 7 bad seats/);
        assert.deepEqual(
          tables.map(({ rows }) => rows.length),
          [5, 1, 5],
        );
      },
    ],
    [
      deepthnkrStudy,
      ({ claims, comparisons, tables }) => {
        assert.equal(comparisons.length, 1);
        assertFields(comparisons[0], { questions: 4 });
        assert.match(String(tables[1]?.note), / 4 of 4 debates have all three readings\.$/);
        assert.equal(claimOf(claims, "exactly n + 1").here, "6 of 6 decisions made exactly so many");
        assertFields(claimOf(claims, "basic council 2 L"), { agrees: "yes" });
        assert.match(claimOf(claims, "tokens about").here, /^tokens are 1.00, 1.00 of that/);
        assertFields(claimOf(claims, "quadratic"), {
          agrees: "no",
          here: "0.0, 0.0 T beyond that with 4, 7 members",
        });
      },
    ],
  ];
  for (const [study, check] of studies)
    it(study.id, async () => {
      check(await study.run(setting(bookOf(fixed))));
    });
});

describe("the unanimous paper", () => {
  const protocol = createUnanimous({ promptRatio: 500_000 as never, turns: 10 });

  it("seats that are not told to think are asked for the answer alone, in the first round only", async () => {
    const seen: string[] = [];
    const attempt = attemptFor(question, protocol.code, 4, "normal");
    const panel = {
      ...createPanel({ book: bookOf(fixed), question, seed: 1, variantOf: () => 0 }),
      ask: (lane: number, { schema }: ReturnType<typeof proposePrompt>["small"]) => {
        seen.push(`${lane} ${schema.properties.map(({ name }) => name).join()}`);
        const answered = { fields: { answer: "yes" }, confidencePpm: null, promptTokens: 0, outputTokens: 0 };
        return Promise.resolve({ kind: "answered", ...answered } as const);
      },
    };
    const direct = withDirectSeats(panel, attempt, 500_000 as never);
    const first = proposePrompt(attempt).small;
    const answers = await Promise.all([0, 1, 2, 3].map(async (lane) => await direct.ask(lane, first)));
    await direct.ask(0, { ...first, user: first.user.replace("task: propose", "task: revise") });
    assert.equal(seen.filter((one) => one.endsWith(" answer")).length, 2);
    assert.match(String(seen.at(-1)), /proof/);
    const proofs = answers.map((one) => (one.kind === "answered" ? one.fields["proof"] : ""));
    assert.equal(proofs.filter((proof) => proof === "Said at once.").length, 2);
  });

  it("counts turns, and the right seats at the start of each; blocks grow by the utterance", async () => {
    // In the first round every second seed errs; a seat that revises knows better.
    const book = bookOf((user, seed) => minded(user.startsWith("task: revise") || seed % 2 === 0 ? "yes" : "no"));
    const asking = { book, protocol, seats: 7, seed: 3 };
    const done = await deliberateOn(question, asking);
    const turns = turnsIn(done, { seats: 7, ratio: 0.5, greedyIsRight: true });
    assertFields(turns, { status: "right", turns: 1 });
    assert.equal(turns.accuracy.length, 2);
    assertWithin(turns.accuracy[0], 0.1, 0.9);
    assert.equal(turns.accuracy[1], 1);
    assert.equal(accuracyAt([turns], 5), 1);
    const blocks = blocksOf([done]);
    assert.deepEqual(
      blocks.map(({ utterances }) => utterances),
      [0, 1, 5, 10, 14],
    );
    assertAbove((blocks[1] as Block).bytes - (blocks[0] as Block).bytes, 200);
  });

  it("the distance from a line: none for a line, a half for half off", () => {
    const at = (utterances: number, bytes: number): Block => ({ utterances, bytes, rootBytes: 1 });
    assert.equal(deviation([at(0, 100), at(5, 150), at(10, 200)]), 0);
    assert.equal(deviation([at(0, 100), at(5, 225), at(10, 200)]), 0.5);
  });

  it("claims follow the figures", () => {
    const row = (ratio: number, turns: number, status: Turns["status"] = "right", seats = 4): Turns => {
      return { seats, ratio, suite: "wason", status, greedyIsRight: true, turns, accuracy: [0.5, 1] };
    };
    const claims = (ratios: readonly Turns[], bySize: readonly Turns[]): readonly Claim[] =>
      unanimousClaims({ ratios, bySize, arithmetic: bySize, blocks: [{ utterances: 0, bytes: 1, rootBytes: 1 }] });
    const falling = claims(
      [row(0, 4, "wrong"), row(0.25, 3), row(0.5, 2), row(1, 1)],
      [row(1, 1), row(1, 2, "right", 7)],
    );
    assert.equal(claimOf(falling, "the fewer turns").agrees, "yes");
    assert.equal(claimOf(falling, "one turn").agrees, "yes");
    assert.equal(claimOf(falling, "are wrong").agrees, "yes");
    assert.equal(claimOf(falling, "more agents").agrees, "yes");
    const rising = claims(
      [row(0, 1), row(0.25, 3), row(0.5, 2), row(1, 2, "wrong")],
      [row(1, 2), row(1, 2, "right", 7)],
    );
    assert.equal(claimOf(rising, "the fewer turns").agrees, "no");
    assert.equal(claimOf(rising, "one turn").agrees, "no");
    assert.equal(claimOf(rising, "are wrong").agrees, "no");
    assert.equal(claimOf(rising, "more agents").agrees, "no");
  });
});

describe("what the unanimous paper says of accuracy", () => {
  const row = (accuracy: readonly number[], change: Partial<Turns> = {}): Turns => {
    return { seats: 4, ratio: 1, suite: "wason", status: "right", greedyIsRight: true, turns: 1, accuracy, ...change };
  };
  const claims = (ratios: readonly Turns[], bySize: readonly Turns[], blocks: readonly Block[]): readonly Claim[] =>
    unanimousClaims({ ratios, bySize, arithmetic: [row([1], { suite: "arithmetic" })], blocks });
  const line = [0, 1, 2].map((utterances): Block => ({ utterances, bytes: 100 + 10 * utterances, rootBytes: 1 }));

  it("better from turn to turn: by size and turn, in part if one falls, no if none gains", () => {
    const verdict = (...bySize: readonly Turns[]): Claim => claimOf(claims([row([1])], bySize, line), "Fig. 9");
    const large = (...accuracy: readonly number[]): Turns => row(accuracy, { seats: 7 });
    assert.equal(verdict(row([0.5, 0.5, 1]), large(0.8, 0.9)).agrees, "yes");
    // The first is below the last, and one turn between them falls.
    assertFields(verdict(row([0.5, 1]), large(0.857, 0.845, 0.798, 0.917)), {
      agrees: "in part",
      here: "4 agents: 50.0, 100.0 % right, 0 of 1 turns down; 7 agents: 85.7, 84.5, 79.8, 91.7 % right, 2 of 3 turns down",
    });
    assert.equal(verdict(row([0.5, 1]), large(0.8, 0.8)).agrees, "in part");
    assert.equal(verdict(row([0.5, 0.4]), large(0.8, 0.8)).agrees, "no");
    assert.equal(verdict(row([1]), large(1)).agrees, "not redone");
    // A seat that is right at first has nothing to gain; the other size counts.
    assert.equal(verdict(row([1]), large(0.5, 0.6)).agrees, "yes");
  });

  it("against one greedy call: yes if some are above and none below", () => {
    const [below, above] = [row([1], { status: "hung" }), row([1], { greedyIsRight: false, seats: 7 })];
    const verdict = (ratio: Turns, size: Turns): Claim => claimOf(claims([ratio], [size], line), "improve accuracy");
    assert.equal(verdict(row([1]), above).agrees, "yes");
    assertFields(verdict(below, above), {
      agrees: "in part",
      here: "of 3 committees 1 decide more questions right than one greedy call of the same model, 1 fewer, the others as many",
    });
    assert.equal(verdict(below, row([1])).agrees, "no");
    assert.equal(verdict(row([1]), row([1])).agrees, "no");
  });

  it("linear growth: no if it is crooked or does not grow, no verdict with two sizes", () => {
    const verdict = (...bytes: readonly number[]): string => {
      const blocks = bytes.map((size, utterances): Block => ({ utterances, bytes: size, rootBytes: 1 }));
      return claimOf(claims([row([1])], [row([1])], blocks), "linearly").agrees;
    };
    assert.equal(verdict(100, 110, 120), "yes");
    assert.equal(verdict(100, 200, 120), "no");
    assert.equal(verdict(100, 100, 100), "no");
    assert.equal(verdict(100, 900), "not redone");
  });
});

describe("the hashgraph paper", () => {
  it("a minority that knows better is rescued when the others see its answer", async () => {
    const book = bookOf((user, seed) => minded(user.startsWith("task: revise") || seed % 4 === 0 ? "yes" : "no"));
    const asking = { book, protocol: protocolById("hashgraph") as never, seats: 4, seed: 1 };
    const course = courseOf(await deliberateOn(question, asking), { answer: "no", isRight: false });
    assertFields(course, { greedyIsRight: false, firsts: 4, status: "right", path: "agreement" });
    assertBelow(course.firstsRight, 4);
    assert.equal(course.changed, 4 - course.firstsRight);
    assert.equal(course.rounds, 3);
  });
});

describe("the DeepThnkr paper", () => {
  it("a debate has three readings; it is contested when the first answers differ", async () => {
    const asking = { protocol: protocolById("debate") as never, seats: 4, seed: 1 };
    const calm = trajectoryOf(await deliberateOn(question, { ...asking, book: bookOf(fixed) }), true) as Trajectory;
    assertFields(calm, { isContested: false, band: "accept", status: "right" });
    const split = bookOf((_, seed) => minded(seed % 2 === 0 ? "yes" : "no"));
    const contested = trajectoryOf(await deliberateOn(question, { ...asking, book: split }), false) as Trajectory;
    assert.equal(contested.isContested, true);
    assertBelow(contested.readings[0], calm.readings[0]);
    assert.equal(meanReadings([]), null);
    const middle = meanReadings([calm, contested])?.[0];
    assert.equal(middle, (calm.readings[0] + contested.readings[0]) / 2);
  });

  it("claims follow the figures", () => {
    const run: Run = { mode: "council", seats: 4, requests: 5, criticalPath: 2, virtual: 3, tokens: 5 };
    const others: readonly Run[] = [
      { ...run, mode: "adversarial", requests: 4, criticalPath: 3, tokens: 4 },
      { ...run, mode: "debate", requests: 13, criticalPath: 4, tokens: 26 },
    ];
    const trajectory = (isContested: boolean, ...readings: Trajectory["readings"]): Trajectory => {
      const [band, status] = readings[2] > 70 ? (["accept", "right"] as const) : (["read", "wrong"] as const);
      return { suite: "policy", readings, isContested, band, status, greedyIsRight: true };
    };
    const larger: Run = { ...run, mode: "debate", seats: 7, requests: 22, criticalPath: 4, tokens: 61.8125 };
    const claims = deepthnkrClaims(
      [run, ...others, larger],
      [trajectory(false, 90, 95, 92), trajectory(true, 30, 20, 35)],
    );
    // 26 of 13 T and 61.8 of 22 T: 13 beyond with 4 members, (7/4)^2 times as many with 7.
    assert.deepEqual(
      claims.map(({ agrees }) => agrees),
      [...Array.from({ length: 7 }, () => "yes"), "not redone"],
    );
    const off = deepthnkrClaims(
      [{ ...run, requests: 6, criticalPath: 3, tokens: 6.3 }, ...others.map((one) => ({ ...one, tokens: 6.36 }))],
      [trajectory(true, 50, 60, 90)],
    );
    assert.deepEqual(
      off.map(({ agrees }) => agrees),
      ["no", "no", "no", "not redone", "not redone", "no", "not redone", "not redone"],
    );
  });

  it("tokens: in part if one mode is near, or if the overhead grows otherwise", () => {
    const council: Run = { mode: "council", seats: 4, requests: 5, criticalPath: 2, virtual: 3, tokens: 5 };
    const adversarial = { ...council, mode: "adversarial", tokens: 8 };
    const debates = (small: number, large: number): readonly Run[] => [
      { ...council, mode: "debate", tokens: 13 + small },
      { ...council, mode: "debate", seats: 7, tokens: 22 + large },
    ];
    const verdict = (words: string, small: number, large: number): string =>
      claimOf(deepthnkrClaims([council, adversarial, ...debates(small, large)], []), words).agrees;
    assert.equal(verdict("tokens about", 1, 1), "in part");
    assert.equal(verdict("quadratic", 13, 13), "in part");
    assert.equal(verdict("quadratic", 13, 130), "in part");
    assert.equal(verdict("quadratic", -1, 13), "no");
  });

  it("a reading that tells right from wrong counts only if the chair is not below one greedy call", () => {
    const debate = (band: "accept" | "read", status: "right" | "wrong", greedyIsRight: boolean): Trajectory => {
      return { suite: "policy", readings: [1, 1, 1], isContested: true, band, status, greedyIsRight };
    };
    const council: Run = { mode: "council", seats: 4, requests: 5, criticalPath: 2, virtual: 3, tokens: 5 };
    const runs = ["council", "adversarial", "debate"].map((mode) => ({ ...council, mode }));
    const verdict = (...all: readonly Trajectory[]): Claim => claimOf(deepthnkrClaims(runs, all), "VII-C");
    const poor = debate("read", "wrong", true);
    assert.equal(verdict(debate("accept", "right", true), poor).agrees, "yes");
    assertFields(verdict(debate("accept", "right", true), debate("accept", "wrong", true), poor), {
      agrees: "in part",
      here: "chair right in 50.0 % of 2 such debates, one greedy call in 100.0 %; chair right in 0.0 % of 1 others, one greedy call in 100.0 %",
    });
    assert.equal(verdict(debate("accept", "wrong", false), poor).agrees, "no");
    assert.equal(verdict(poor).agrees, "not redone");
  });

  it("counts and names debates that cannot be read", () => {
    const debate = { suite: "text", status: "wrong", greedyIsRight: true, trajectory: null } as const;
    const trajectory = { suite: "text", readings: [1, 1, 1], isContested: false, band: "contested" } as const;
    const read = { ...debate, trajectory: { ...trajectory, status: "wrong", greedyIsRight: true } } as const;
    assert.equal(
      unreadText([read, debate, { ...debate, status: "none" }]),
      "1 of 3 debates have all three readings; left out because somebody said nothing that a reading needs: text, chair wrong; text, chair hung.",
    );
  });
});

describe("the DecentLLMs paper", () => {
  it("latency: two calls until all first workers are bad; each bad leader adds calls in sequence", async () => {
    const latencies = await latenciesOf({ seats: 7 }, { seats: 4, question, seed: 1 });
    const callsOf = (method: string): readonly number[] =>
      latencies.filter((one) => one.method === method).map(({ calls }) => calls);
    assert.deepEqual(callsOf("leaderless"), [2, 2, 4]);
    assert.deepEqual(callsOf("wbft"), [2, 4, 5]);
    assert.deepEqual(callsOf("mbft"), [1, 1, 1]);
    assert.equal(callsOf("fixed-leader-debate")[0], 2);
    const timed = latencies.filter(({ virtualMs }) => virtualMs !== null);
    assert.deepEqual(
      timed.map(({ method, bad }) => `${method} ${bad}`),
      [0, 1].flatMap((bad) => ["leaderless", "wbft", "mbft"].map((method) => `${method} ${bad}`)),
    );
    assert.deepEqual(
      latencyClaims(latencies).map(({ agrees }) => agrees),
      ["in part", "yes"],
    );
  });

  it("claims follow the figures", () => {
    const right = (best: number, twoThirds: number, majority: number) => {
      const counts = { "decentllms-best": best, "decentllms-two-thirds": twoThirds, "decentllms-majority": majority };
      return accuracyClaim({ questions: 10, right: counts, greedyRight: 10 }).agrees;
    };
    assert.deepEqual([right(7, 6, 5), right(7, 7, 7), right(5, 6, 5)], ["yes", "in part", "no"]);
    const single = (leaderless: number, best: number) =>
      singleClaim({ questions: 10, right: { leaderless, "decentllms-best": best }, greedyRight: 9 });
    assert.deepEqual(
      [single(10, 10), single(9, 10), single(9, 8)].map(({ agrees }) => agrees),
      ["yes", "in part", "no"],
    );
    assert.equal(
      single(7, 8).here,
      "`leaderless` 70.0 %, `decentllms-best` 80.0 %, one greedy call of the same model 90.0 % of the same 10 questions",
    );
    const flat = [0, 1].flatMap((bad): readonly Latency[] =>
      ["leaderless", "wbft", "fixed-leader-debate"].map((method) => ({ method, bad, calls: 2, virtualMs: null })),
    );
    assert.deepEqual(
      latencyClaims(flat).map(({ agrees }) => agrees),
      ["yes", "no"],
    );
    const rows = [0, 6, 7, 8].map(resilienceAt);
    assertFields(resilienceClaim(rows), { agrees: "in part" });
    assert.match(resilienceClaim(rows).here, /^right up to 6; the Byzantine answer is first at 8,/);
  });
});
