import { expect } from "chai";
import { describe, it } from "node:test";
import { installHooks } from "../../sim/hooks.ts";
import type { Mind } from "../../sim/model.ts";
import type { Question } from "../eval/question.ts";
import type { Run, Trajectory } from "../papers/deepthnkr-claims.ts";
import type { Latency } from "../papers/decentllms-latency.ts";
import type { Claim, Findings, Study } from "../papers/study.ts";
import type { Block, Turns } from "../papers/unanimous-claims.ts";

// As lab/papers/main.ts does, before anything of the core is loaded.
installHooks({ realSignatures: false, mutant: null });
const { createMemoryModel } = await import("../../agents/adapters/memory/model.ts");
const { respond, readPrompt } = await import("../../sim/model.ts");
const { protocolById } = await import("../../agents/core/protocols/index.ts");
const { createUnanimous } = await import("../../agents/core/protocols/unanimous/index.ts");
const { createAnswerBook } = await import("../eval/answer-book.ts");
const { attemptFor } = await import("../eval/attempt.ts");
const { createPanel } = await import("../eval/panel.ts");
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

/** Answers what the mind holds; asked again later the same. */
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
/** Something of every kind, the same for everybody. */
const fixed = (user: string): Mind => {
  const { kind } = kindOf(user).form;
  return minded({ boolean: "yes", choice: "A", number: "7", text: "Refund due.", policies: "A" }[kind]);
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
        expect(comparisons.map(({ questions }) => questions)).to.deep.equal([1, 1, 1, 1, 1, 1, 1]);
        // All agree at once: no turn is needed whatever the ratio.
        expect(claimOf(claims, "the fewer turns").here).to.match(/^mean turns 0.00, 0.00, 0.00, 0.00, 0.00 at/);
        expect(tables.map(({ rows }) => rows.length).slice(0, 3)).to.deep.equal([5, 2, 1]);
        expect(charts).to.have.length(2);
      },
    ],
    [
      hashgraphStudy,
      ({ claims, tables }) => {
        expect(claimOf(claims, "one or two rounds").here).to.equal("two rounds suffice for 100.0 % of the questions");
        expect(claimOf(claims, "1/3 adversaries").here).to.match(/always right up to 2 of 7 bad seats/);
        expect(tables.map(({ rows }) => rows.length)).to.deep.equal([5, 1, 5]);
      },
    ],
    [
      deepthnkrStudy,
      ({ claims, comparisons, tables }) => {
        expect(comparisons).to.have.length(1);
        expect(comparisons[0]).to.include({ questions: 4 });
        expect(tables[1]?.note).to.match(/ 4 of 4 debates have all three readings\.$/);
        expect(claimOf(claims, "exactly n + 1").here).to.equal("6 of 6 decisions made exactly so many");
        expect(claimOf(claims, "basic council 2 L")).to.include({ agrees: "yes" });
        expect(claimOf(claims, "tokens about").here).to.match(/^tokens are 1.00, 1.00 of that/);
        expect(claimOf(claims, "quadratic")).to.include({
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
      ask: (lane: number, { schema }: ReturnType<typeof proposePrompt>) => {
        seen.push(`${lane} ${schema.properties.map(({ name }) => name).join()}`);
        const answered = { fields: { answer: "yes" }, confidencePpm: null, promptTokens: 0, outputTokens: 0 };
        return Promise.resolve({ kind: "answered", ...answered } as const);
      },
    };
    const direct = withDirectSeats(panel, attempt, 500_000 as never);
    const first = proposePrompt(attempt);
    const answers = await Promise.all([0, 1, 2, 3].map(async (lane) => await direct.ask(lane, first)));
    await direct.ask(0, { ...first, user: first.user.replace("task: propose", "task: revise") });
    expect(seen.filter((one) => one.endsWith(" answer"))).to.have.length(2);
    expect(seen.at(-1)).to.match(/proof/);
    const proofs = answers.map((one) => (one.kind === "answered" ? one.fields["proof"] : ""));
    expect(proofs.filter((proof) => proof === "Said at once.")).to.have.length(2);
  });

  it("counts turns, and who is right at the start of each; blocks grow by the utterance", async () => {
    // In the first round every second seed errs; whoever revises knows better.
    const book = bookOf((user, seed) => minded(user.startsWith("task: revise") || seed % 2 === 0 ? "yes" : "no"));
    const asking = { book, protocol, seats: 7, seed: 3 };
    const done = await deliberateOn(question, asking);
    const turns = turnsIn(done, { seats: 7, ratio: 0.5, greedyIsRight: true });
    expect(turns).to.include({ status: "right", turns: 1 });
    expect(turns.accuracy).to.have.length(2);
    expect(turns.accuracy[0]).to.be.within(0.1, 0.9);
    expect(turns.accuracy[1]).to.equal(1);
    expect(accuracyAt([turns], 5)).to.equal(1);
    const blocks = blocksOf([done]);
    expect(blocks.map(({ utterances }) => utterances)).to.deep.equal([0, 1, 5, 10, 14]);
    expect((blocks[1] as Block).bytes - (blocks[0] as Block).bytes).to.be.greaterThan(200);
  });

  it("a line is a line, and half off is half off", () => {
    const at = (utterances: number, bytes: number): Block => ({ utterances, bytes, rootBytes: 1 });
    expect(deviation([at(0, 100), at(5, 150), at(10, 200)])).to.equal(0);
    expect(deviation([at(0, 100), at(5, 225), at(10, 200)])).to.equal(0.5);
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
    expect(claimOf(falling, "the fewer turns").agrees).to.equal("yes");
    expect(claimOf(falling, "one turn").agrees).to.equal("yes");
    expect(claimOf(falling, "are wrong").agrees).to.equal("yes");
    expect(claimOf(falling, "more agents").agrees).to.equal("yes");
    const rising = claims(
      [row(0, 1), row(0.25, 3), row(0.5, 2), row(1, 2, "wrong")],
      [row(1, 2), row(1, 2, "right", 7)],
    );
    expect(claimOf(rising, "the fewer turns").agrees).to.equal("no");
    expect(claimOf(rising, "one turn").agrees).to.equal("no");
    expect(claimOf(rising, "are wrong").agrees).to.equal("no");
    expect(claimOf(rising, "more agents").agrees).to.equal("no");
  });
});

describe("what the unanimous paper says of accuracy", () => {
  const row = (accuracy: readonly number[], change: Partial<Turns> = {}): Turns => {
    return { seats: 4, ratio: 1, suite: "wason", status: "right", greedyIsRight: true, turns: 1, accuracy, ...change };
  };
  const claims = (ratios: readonly Turns[], bySize: readonly Turns[], blocks: readonly Block[]): readonly Claim[] =>
    unanimousClaims({ ratios, bySize, arithmetic: [row([1], { suite: "arithmetic" })], blocks });
  const line = [0, 1, 2].map((utterances): Block => ({ utterances, bytes: 100 + 10 * utterances, rootBytes: 1 }));

  it("better from turn to turn: by size and turn, in part where one falls, no where none gains", () => {
    const verdict = (...bySize: readonly Turns[]): Claim => claimOf(claims([row([1])], bySize, line), "Fig. 9");
    const large = (...accuracy: readonly number[]): Turns => row(accuracy, { seats: 7 });
    expect(verdict(row([0.5, 0.5, 1]), large(0.8, 0.9)).agrees).to.equal("yes");
    // The first is below the last, and one turn between them falls.
    expect(verdict(row([0.5, 1]), large(0.857, 0.845, 0.798, 0.917))).to.include({
      agrees: "in part",
      here: "4 agents: 50.0, 100.0 % right, 0 of 1 turns down; 7 agents: 85.7, 84.5, 79.8, 91.7 % right, 2 of 3 turns down",
    });
    expect(verdict(row([0.5, 1]), large(0.8, 0.8)).agrees).to.equal("in part");
    expect(verdict(row([0.5, 0.4]), large(0.8, 0.8)).agrees).to.equal("no");
    expect(verdict(row([1]), large(1)).agrees).to.equal("not redone");
    // Who is right at first has nothing to gain; the other size counts.
    expect(verdict(row([1]), large(0.5, 0.6)).agrees).to.equal("yes");
  });

  it("against one greedy call: yes where some are above and none below", () => {
    const [below, above] = [row([1], { status: "hung" }), row([1], { greedyIsRight: false, seats: 7 })];
    const verdict = (ratio: Turns, size: Turns): Claim => claimOf(claims([ratio], [size], line), "improve accuracy");
    expect(verdict(row([1]), above).agrees).to.equal("yes");
    expect(verdict(below, above)).to.include({
      agrees: "in part",
      here: "of 3 committees 1 decide more questions right than one greedy call of the same model, 1 fewer, the others as many",
    });
    expect(verdict(below, row([1])).agrees).to.equal("no");
    expect(verdict(row([1]), row([1])).agrees).to.equal("no");
  });

  it("linear growth: no if it is crooked or does not grow, nothing to say of two sizes", () => {
    const verdict = (...bytes: readonly number[]): string => {
      const blocks = bytes.map((size, utterances): Block => ({ utterances, bytes: size, rootBytes: 1 }));
      return claimOf(claims([row([1])], [row([1])], blocks), "linearly").agrees;
    };
    expect(verdict(100, 110, 120)).to.equal("yes");
    expect(verdict(100, 200, 120)).to.equal("no");
    expect(verdict(100, 100, 100)).to.equal("no");
    expect(verdict(100, 900)).to.equal("not redone");
  });
});

describe("the hashgraph paper", () => {
  it("a minority that knows better is rescued when the others see its answer", async () => {
    const book = bookOf((user, seed) => minded(user.startsWith("task: revise") || seed % 4 === 0 ? "yes" : "no"));
    const asking = { book, protocol: protocolById("hashgraph") as never, seats: 4, seed: 1 };
    const course = courseOf(await deliberateOn(question, asking), { answer: "no", isRight: false });
    expect(course).to.include({ greedyIsRight: false, firsts: 4, status: "right", path: "agreement" });
    expect(course.firstsRight).to.be.lessThan(4);
    expect(course.changed).to.equal(4 - course.firstsRight);
    expect(course.rounds).to.equal(3);
  });
});

describe("the DeepThnkr paper", () => {
  it("a debate has three readings; it is contested when the first answers differ", async () => {
    const asking = { protocol: protocolById("debate") as never, seats: 4, seed: 1 };
    const calm = trajectoryOf(await deliberateOn(question, { ...asking, book: bookOf(fixed) }), true) as Trajectory;
    expect(calm).to.deep.include({ isContested: false, band: "accept", status: "right" });
    const split = bookOf((_, seed) => minded(seed % 2 === 0 ? "yes" : "no"));
    const contested = trajectoryOf(await deliberateOn(question, { ...asking, book: split }), false) as Trajectory;
    expect(contested.isContested).to.equal(true);
    expect(contested.readings[0]).to.be.lessThan(calm.readings[0]);
    expect(meanReadings([])).to.equal(null);
    const middle = meanReadings([calm, contested])?.[0];
    expect(middle).to.equal((calm.readings[0] + contested.readings[0]) / 2);
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
    expect(claims.map(({ agrees }) => agrees)).to.deep.equal([...Array.from({ length: 7 }, () => "yes"), "not redone"]);
    const off = deepthnkrClaims(
      [{ ...run, requests: 6, criticalPath: 3, tokens: 6.3 }, ...others.map((one) => ({ ...one, tokens: 6.36 }))],
      [trajectory(true, 50, 60, 90)],
    );
    expect(off.map(({ agrees }) => agrees)).to.deep.equal([
      "no",
      "no",
      "no",
      "not redone",
      "not redone",
      "no",
      "not redone",
      "not redone",
    ]);
  });

  it("tokens: in part where one mode is near, or where the overhead grows otherwise", () => {
    const council: Run = { mode: "council", seats: 4, requests: 5, criticalPath: 2, virtual: 3, tokens: 5 };
    const adversarial = { ...council, mode: "adversarial", tokens: 8 };
    const debates = (small: number, large: number): readonly Run[] => [
      { ...council, mode: "debate", tokens: 13 + small },
      { ...council, mode: "debate", seats: 7, tokens: 22 + large },
    ];
    const verdict = (words: string, small: number, large: number): string =>
      claimOf(deepthnkrClaims([council, adversarial, ...debates(small, large)], []), words).agrees;
    expect(verdict("tokens about", 1, 1)).to.equal("in part");
    expect(verdict("quadratic", 13, 13)).to.equal("in part");
    expect(verdict("quadratic", 13, 130)).to.equal("in part");
    expect(verdict("quadratic", -1, 13)).to.equal("no");
  });

  it("a reading that tells right from wrong is relied on only as far as the chair is not below one greedy call", () => {
    const debate = (band: "accept" | "read", status: "right" | "wrong", greedyIsRight: boolean): Trajectory => {
      return { suite: "policy", readings: [1, 1, 1], isContested: true, band, status, greedyIsRight };
    };
    const council: Run = { mode: "council", seats: 4, requests: 5, criticalPath: 2, virtual: 3, tokens: 5 };
    const runs = ["council", "adversarial", "debate"].map((mode) => ({ ...council, mode }));
    const verdict = (...all: readonly Trajectory[]): Claim => claimOf(deepthnkrClaims(runs, all), "VII-C");
    const poor = debate("read", "wrong", true);
    expect(verdict(debate("accept", "right", true), poor).agrees).to.equal("yes");
    expect(verdict(debate("accept", "right", true), debate("accept", "wrong", true), poor)).to.include({
      agrees: "in part",
      here: "chair right in 50.0 % of 2 such debates, one greedy call in 100.0 %; chair right in 0.0 % of 1 others, one greedy call in 100.0 %",
    });
    expect(verdict(debate("accept", "wrong", false), poor).agrees).to.equal("no");
    expect(verdict(poor).agrees).to.equal("not redone");
  });

  it("debates that cannot be read are counted and named", () => {
    const debate = { suite: "text", status: "wrong", greedyIsRight: true, trajectory: null } as const;
    const trajectory = { suite: "text", readings: [1, 1, 1], isContested: false, band: "contested" } as const;
    const read = { ...debate, trajectory: { ...trajectory, status: "wrong", greedyIsRight: true } } as const;
    expect(unreadText([read, debate, { ...debate, status: "none" }])).to.equal(
      "1 of 3 debates have all three readings; left out because somebody said nothing that a reading needs: text, chair wrong; text, chair hung.",
    );
  });
});

describe("the DecentLLMs paper", () => {
  it("latency: two calls until all first workers are bad; leaders cost calls one after the other", async () => {
    const latencies = await latenciesOf({ seats: 7 }, { seats: 4, question, seed: 1 });
    const callsOf = (method: string): readonly number[] =>
      latencies.filter((one) => one.method === method).map(({ calls }) => calls);
    expect(callsOf("leaderless")).to.deep.equal([2, 2, 4]);
    expect(callsOf("wbft")).to.deep.equal([2, 4, 5]);
    expect(callsOf("mbft")).to.deep.equal([1, 3, 3]);
    expect(callsOf("fixed-leader-debate")[0]).to.equal(2);
    const timed = latencies.filter(({ virtualMs }) => virtualMs !== null);
    expect(timed.map(({ method, bad }) => `${method} ${bad}`)).to.deep.equal(
      [0, 1].flatMap((bad) => ["leaderless", "wbft", "mbft"].map((method) => `${method} ${bad}`)),
    );
    expect(latencyClaims(latencies).map(({ agrees }) => agrees)).to.deep.equal(["in part", "yes"]);
  });

  it("claims follow the figures", () => {
    const right = (best: number, twoThirds: number, majority: number) => {
      const counts = { "decentllms-best": best, "decentllms-two-thirds": twoThirds, "decentllms-majority": majority };
      return accuracyClaim({ questions: 10, right: counts, greedyRight: 10 }).agrees;
    };
    expect([right(7, 6, 5), right(7, 7, 7), right(5, 6, 5)]).to.deep.equal(["yes", "in part", "no"]);
    const single = (leaderless: number, best: number) =>
      singleClaim({ questions: 10, right: { leaderless, "decentllms-best": best }, greedyRight: 9 });
    expect([single(10, 10), single(9, 10), single(9, 8)].map(({ agrees }) => agrees)).to.deep.equal([
      "yes",
      "in part",
      "no",
    ]);
    expect(single(7, 8).here).to.equal(
      "`leaderless` 70.0 %, `decentllms-best` 80.0 %, one greedy call of the same model 90.0 % of the same 10 questions",
    );
    const flat = [0, 1].flatMap((bad): readonly Latency[] =>
      ["leaderless", "wbft", "fixed-leader-debate"].map((method) => ({ method, bad, calls: 2, virtualMs: null })),
    );
    expect(latencyClaims(flat).map(({ agrees }) => agrees)).to.deep.equal(["yes", "no"]);
    const rows = [0, 6, 7, 8].map(resilienceAt);
    expect(resilienceClaim(rows)).to.include({ agrees: "in part" });
    expect(resilienceClaim(rows).here).to.match(/^right up to 6; the Byzantine answer is first at 8,/);
  });
});
