import { expect } from "chai";
import { describe, it } from "node:test";
import { installHooks } from "../../agents/sim/hooks.ts";
import type { Mind } from "../../agents/sim/model.ts";
import type { Question } from "../../scripts/lib/eval/question.ts";
import type { Run, Trajectory } from "../../scripts/lib/papers/deepthnkr-claims.ts";
import type { Latency } from "../../scripts/lib/papers/decentllms-latency.ts";
import type { Claim, Findings, Study } from "../../scripts/lib/papers/study.ts";
import type { Block, Turns } from "../../scripts/lib/papers/unanimous-claims.ts";

// As scripts/papers.ts does, before anything of the core is loaded.
installHooks({ realSignatures: false, mutant: null });
const { createMemoryModel } = await import("../../agents/adapters/memory/model.ts");
const { respond, readPrompt } = await import("../../agents/sim/model.ts");
const { protocolById } = await import("../../agents/core/protocols/index.ts");
const { createUnanimous } = await import("../../agents/core/protocols/unanimous/index.ts");
const { createAnswerBook } = await import("../../scripts/lib/eval/answer-book.ts");
const { attemptFor } = await import("../../scripts/lib/eval/attempt.ts");
const { createPanel } = await import("../../scripts/lib/eval/panel.ts");
const { proposePrompt } = await import("../../agents/core/task-prompt.ts");
const { deliberateOn } = await import("../../scripts/lib/papers/deliberations.ts");
const { courseOf, hashgraphStudy } = await import("../../scripts/lib/papers/hashgraph.ts");
const { deepthnkrStudy, trajectoryOf } = await import("../../scripts/lib/papers/deepthnkr.ts");
const { deepthnkrClaims, meanReadings } = await import("../../scripts/lib/papers/deepthnkr-claims.ts");
const { accuracyClaim, latencyClaims, resilienceClaim } = await import("../../scripts/lib/papers/decentllms-claims.ts");
const { latenciesOf } = await import("../../scripts/lib/papers/decentllms-latency.ts");
const { resilienceAt } = await import("../../scripts/lib/papers/decentllms-table.ts");
const { blocksOf, turnsIn, unanimousStudy, withDirectSeats } = await import("../../scripts/lib/papers/unanimous.ts");
const { accuracyAt, deviation, unanimousClaims } = await import("../../scripts/lib/papers/unanimous-claims.ts");

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
  return createAnswerBook([{ label: "scripted", key: "scripted", isGreedy: false, models: [model] }], null);
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
      ({ claims, tables, charts }) => {
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
      ({ claims }) => {
        expect(claimOf(claims, "exactly n + 1").here).to.equal("6 of 6 decisions made exactly so many");
        expect(claimOf(claims, "basic council 2 L")).to.include({ agrees: "yes" });
        expect(claimOf(claims, "tokens about").here).to.match(/^tokens are 1.00, 1.00, 1.00 of that/);
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
    const turns = turnsIn(done, 7, 0.5);
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
      return { seats, ratio, suite: "wason", status, turns, accuracy: [0.5, 1] };
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

describe("the hashgraph paper", () => {
  it("a minority that knows better is rescued when the others see its answer", async () => {
    const book = bookOf((user, seed) => minded(user.startsWith("task: revise") || seed % 4 === 0 ? "yes" : "no"));
    const asking = { book, protocol: protocolById("hashgraph") as never, seats: 4, seed: 1 };
    const course = courseOf(await deliberateOn(question, asking));
    expect(course).to.include({ firsts: 4, status: "right", path: "agreement" });
    expect(course.firstsRight).to.be.lessThan(4);
    expect(course.changed).to.equal(4 - course.firstsRight);
    expect(course.rounds).to.equal(3);
  });
});

describe("the DeepThnkr paper", () => {
  it("a debate has three readings; it is contested when the first answers differ", async () => {
    const asking = { protocol: protocolById("debate") as never, seats: 4, seed: 1 };
    const calm = trajectoryOf(await deliberateOn(question, { ...asking, book: bookOf(fixed) })) as Trajectory;
    expect(calm).to.deep.include({ isContested: false, band: "accept", status: "right" });
    const split = bookOf((_, seed) => minded(seed % 2 === 0 ? "yes" : "no"));
    const contested = trajectoryOf(await deliberateOn(question, { ...asking, book: split })) as Trajectory;
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
      const band = readings[2] > 70 ? "accept" : "read";
      return { suite: "policy", readings, isContested, band, status: band === "accept" ? "right" : "wrong" };
    };
    const claims = deepthnkrClaims([run, ...others], [trajectory(false, 90, 95, 92), trajectory(true, 30, 20, 35)]);
    expect(claims.map(({ agrees }) => agrees)).to.deep.equal([
      "yes",
      "yes",
      "in part",
      "yes",
      "yes",
      "yes",
      "not redone",
    ]);
    const off = deepthnkrClaims([{ ...run, requests: 6, criticalPath: 3 }, ...others], [trajectory(true, 50, 60, 90)]);
    expect(off.map(({ agrees }) => agrees)).to.deep.equal([
      "no",
      "no",
      "in part",
      "not redone",
      "no",
      "not redone",
      "not redone",
    ]);
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
      return accuracyClaim({ questions: 10, right: counts }).agrees;
    };
    expect([right(7, 6, 5), right(7, 7, 7), right(5, 6, 5)]).to.deep.equal(["yes", "in part", "no"]);
    const flat = [0, 1].flatMap((bad): readonly Latency[] =>
      ["leaderless", "wbft", "fixed-leader-debate"].map((method) => ({ method, bad, calls: 2, virtualMs: null })),
    );
    expect(latencyClaims(flat).map(({ agrees }) => agrees)).to.deep.equal(["yes", "no"]);
    const rows = [0, 6, 7, 8].map(resilienceAt);
    expect(resilienceClaim(rows)).to.include({ agrees: "in part" });
    expect(resilienceClaim(rows).here).to.match(/^right up to 6; the Byzantine answer is first at 8,/);
  });
});
