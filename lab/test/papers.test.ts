import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { ScriptedAttack } from "../attacks/scripted.ts";
import { mbftClaims, type MbftFigures } from "../papers/mbft-claims.ts";
import {
  calibratedSeats,
  fooledNeeded,
  isOrderBlind,
  missedCommits,
  risingReputations,
  shrinkingWeights,
} from "../papers/mbft-reference.ts";
import { svgOf } from "../papers/plot.ts";
import { findingsText } from "../papers/report.ts";
import { STUDIES } from "../papers/studies.ts";
import type { Chart, Claim, Comparison, Findings } from "../papers/study.ts";
import { provenanceOf } from "../shared/provenance.ts";
import { assertAbove, assertClose, assertIncludes, assertWithin } from "../../test/support/assertions.ts";
import { tool } from "../../test/support/tool.ts";

const root = join(import.meta.dirname, "../..");
const CHART: Chart = {
  file: "calls",
  title: "Calls < 9 & more",
  x: { title: "bad seats", values: [0, 1, 2] },
  y: { title: "calls", most: 4 },
  lines: [
    { name: "flat", points: [0, 1, 2].map((x) => [x, 2] as const) },
    { name: "steep", points: [0, 1, 2].map((x) => [x, 2 * x] as const) },
  ],
};

it("provenance: its command, pasted into a shell, has every argument unchanged", () => {
  const argv = [
    "--models",
    "a b.gguf;echo c",
    "$HOME `id` \\",
    'it\'s "so"',
    "",
    "~",
    "*",
    "#",
    "line\nline",
    "--seed=1,2",
  ];
  const { command } = provenanceOf("papers", argv, [1], null, 1);
  assert.match(command, /^npm run papers -- --models 'a b\.gguf;echo c' /);
  assert.match(command, / --seed=1,2$/);
  const shown = command.replace(/^npm run papers --/, "printf '%s\\0'");
  const read = execFileSync("sh", ["-c", shown], { encoding: "utf8" });
  assert.deepEqual(read.split("\0").slice(0, -1), argv);
});

describe("plots", () => {
  it("have light colours as attributes and dark ones in the style sheet, and a title", async () => {
    const svg = await svgOf(CHART);
    assert.match(
      svg,
      /^<svg [^>]*><title>Calls &lt; 9 &amp; more<\/title><style>svg\{color:#1f2328\}@media \(prefers-color-scheme: dark\)/,
    );
    assertIncludes(svg, 'stroke="#0969da"');
    assertIncludes(svg, '[stroke="#0969da"]{stroke:#58a6ff}');
    assertIncludes(svg, 'fill="currentColor"');
    assert.doesNotMatch(svg, /fill="(black|white|#000|#fff)/);
    for (const word of ["bad seats", "calls", "flat", "steep"]) assertIncludes(svg, `>${word}<`);
  });

  it("draw each point as high as its value", async () => {
    const svg = await svgOf(CHART);
    // 260 points high for 4 calls: 2 of them are 130 from either end.
    assert.match(svg, /d="M0,130L230,130L460,130"[^>]*stroke="#0969da"/);
    assert.match(svg, /d="M0,260L230,130L460,0"[^>]*stroke="#bc4c00"/);
  });

  it("refuse more lines than there are colours", async () => {
    const lines = Array.from({ length: 7 }, (_, index) => ({ name: `line ${index}`, points: [] }));
    const error = await svgOf({ ...CHART, lines }).catch((reason: unknown) => reason);
    assert.ok(error instanceof RangeError);
  });
});

describe("a study's text", () => {
  it("begins with what does not agree and ends with how it was run", () => {
    const claim = (agrees: Claim["agrees"]): Claim => ({ paper: `says ${agrees}`, here: "seen", agrees, why: "so" });
    const findings: Findings = {
      claims: [claim("yes"), claim("in part"), claim("not redone"), claim("no")],
      comparisons: [],
      tables: [{ title: "T", note: "Noted.", head: ["a", "b"], rows: [["1", "2"]] }],
      charts: [CHART],
    };
    const provenance = {
      command: "npm run papers -- x",
      seeds: [1],
      commit: "abc",
      machine: "m",
      models: ["q"],
      seconds: 1.4,
      asked: 3,
    };
    assert.equal(
      findingsText(findings, provenance),
      [
        "| the paper | here | agrees | why |\n| --- | --- | --- | --- |",
        "| says no | seen | **no** | so |",
        "| says in part | seen | **in part** | so |",
        "| says yes | seen | yes | so |",
        "| says not redone | seen | **not redone** | so |",
        "",
        "#### T",
        "",
        "Noted.",
        "",
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
        "",
        "![Calls < 9 & more](plots/calls.svg)",
        "",
        "`npm run papers -- x`",
        "",
        "* seed 1, commit abc, m, 1 s\n* model: q\n* 3 answers of models were made in these seconds; others, if any, were kept by earlier runs",
      ].join("\n"),
    );
  });
});

describe("one greedy call of the same model", () => {
  const before = (...comparisons: readonly Comparison[]): string => {
    const provenance = { command: "c", seeds: [1], commit: "abc", machine: "m", models: [], seconds: 1 };
    const text = findingsText({ claims: [], comparisons, tables: [], charts: [] }, provenance);
    return text.slice(0, text.indexOf("| the paper |"));
  };
  const comparison = (who: string, right: number, greedyRight: number): Comparison => {
    return { who, questions: 10, right, greedyRight };
  };

  it("is named before all tables with every committee that is right less often", () => {
    assert.equal(
      before(comparison("`a`", 5, 9), comparison("`b`", 9, 9), comparison("`c`", 0, 1)),
      "**Less often right than one greedy call of the same model (the same file at temperature 0) on the same questions** are 2 of 3 committees here: `a` 50.0 against 90.0 % (10 questions); `c` 0.0 against 10.0 % (10 questions).\n\n",
    );
  });

  it("names no committee if none is below it, and says nothing without a greedy call", () => {
    assert.match(before(comparison("`a`", 9, 9), comparison("`b`", 10, 9)), /^No committee here is right less often/);
    assert.equal(before(), "");
  });
});

describe("MBFT's propositions", () => {
  it("1: one fooled verifier commits the liars' answer, whatever the size; none without", () => {
    assert.deepEqual([4, 7, 10, 13].map(fooledNeeded), [1, 1, 1, 1]);
    // With a single agent f is 0, and nobody lies.
    assert.equal(fooledNeeded(1), null);
  });

  it("2: with theta = n tau some unanimous committees do not commit, because doubles round their sum down; with a lower theta all do; 3 and 4 hold", () => {
    const { missed, of } = missedCommits(0);
    assert.equal(of, 310);
    assertWithin(missed, 1, 309);
    assert.deepEqual(missedCommits(1e-9), { missed: 0, of: 310 });
    // Above it none can commit.
    assert.equal(missedCommits(-1e-3).missed, 310);
    assert.deepEqual(risingReputations(), { missed: 0, of: 120 });
    assert.deepEqual(shrinkingWeights(), { missed: 0, of: 63 });
  });

  it("VI: weighs outcomes of calibrated seats by their odds", () => {
    const { bayesian, discrete, promised } = calibratedSeats([0.9]);
    // One seat of .9 passes .85 at once, right or wrong; the discrete rules commit any answer of it.
    for (const { right, wrong, hung } of [bayesian, discrete]) {
      assertClose(right, 0.9, 1e-12);
      assertClose(wrong, 0.1, 1e-12);
      assert.equal(hung, 0);
    }
    assertClose(promised, 0.15, 1e-12);
    const weak = calibratedSeats([0.55, 0.6, 0.6, 0.7]).bayesian;
    assertClose(weak.right + weak.wrong + weak.hung, 1, 1e-12);
    // It promises at most .15, and counts the same reports again until it is sure.
    assertAbove(weak.wrong, 0.15);
  });

  it("the order of the list decides between two equally confident agents", () => {
    assert.equal(isOrderBlind(), false);
  });
});

describe("claims about MBFT follow the figures", () => {
  const side = (value: string | null, ...reputations: readonly number[]) => {
    return { summary: "s", value, rounds: 1, reputations };
  };
  const attack = (id: string, reference: ScriptedAttack["reference"]): ScriptedAttack => {
    return { id, title: id, seats: 4, reference, sound: side("yes", 1) };
  };
  const odds = (right: number, wrong: number) => ({ right, wrong, hung: 1 - right - wrong });
  const held: MbftFigures = {
    sizes: [4, 7],
    fooled: [null, null],
    atEquality: { missed: 0, of: 9 },
    belowEquality: { missed: 0, of: 9 },
    rising: { missed: 0, of: 9 },
    shrinking: { missed: 0, of: 9 },
    isOrderBlind: true,
    attacks: [
      attack("coordinated-vetoers", side("yes", 1, 1)),
      attack("reputation-capture", side("yes", 1, 0.5)),
      attack("honest-veto", side("yes", 0.5, 1, 1)),
      attack("certain-liar", side("no", 1, 1)),
    ],
    calibrated: [{ taus: [0.8], bayesian: odds(0.9, 0.1), discrete: odds(0.8, 0.1), promised: 0.15 }],
    recordings: { missed: 0, of: 236 },
  };
  const refuted: MbftFigures = {
    ...held,
    fooled: [null, 1],
    atEquality: { missed: 3, of: 9 },
    belowEquality: { missed: 1, of: 9 },
    rising: { missed: 1, of: 9 },
    shrinking: { missed: 1, of: 9 },
    isOrderBlind: false,
    attacks: [
      attack("coordinated-vetoers", side(null, 1, 1)),
      attack("reputation-capture", side("yes", 1, 1)),
      attack("honest-veto", side("yes", 1, 0.5, 1)),
      attack("certain-liar", side("yes", 1, 1)),
    ],
    calibrated: [{ taus: [0.8], bayesian: odds(0.7, 0.1), discrete: odds(0.8, 0.1), promised: 0.15 }],
  };
  const verdicts = (figures: MbftFigures): readonly string[] => mbftClaims(figures).map(({ agrees }) => agrees);

  it("each claim can be yes and no, except the one about the suite that is not run", () => {
    assert.deepEqual(verdicts(held), [...Array.from({ length: 10 }, () => "yes"), "not redone"]);
    assert.deepEqual(verdicts(refuted), [...Array.from({ length: 10 }, () => "no"), "not redone"]);
  });

  it("in part: equality alone, and a posterior that promises too much in one of two committees", () => {
    const [good] = held.calibrated as [MbftFigures["calibrated"][number]];
    // 20 of 90 commits are wrong, though it is right more often than the discrete rules.
    const rash = { ...good, bayesian: odds(0.8, 0.2), discrete: odds(0.7, 0.1) };
    const figures = { ...held, atEquality: { missed: 1, of: 9 }, calibrated: [good, rash] };
    const partly = mbftClaims(figures).filter(({ agrees }) => agrees === "in part");
    assert.deepEqual(
      partly.map(({ paper }) => paper.split(":")[0]),
      ["Proposition 2", "VI"],
    );
    assert.equal(verdicts({ ...held, calibrated: [rash] })[8], "no");
  });

  it("recordings show that our reference is the published code, not that the code keeps its promises", () => {
    const claim = mbftClaims({ ...held, recordings: { missed: 6, of: 236 } }).at(-1) as Claim;
    assertIncludes(claim.here, "230 of 236 recorded runs");
    assert.equal(claim.agrees, "not redone");
  });
});

describe("npm run papers", () => {
  const lab = tool("lab/main.ts");
  const run = (...words: readonly string[]) => lab("papers", ...words);

  it("mbft: prints claims, tables and charts as JSON", async () => {
    const { code, out, err } = await run("mbft", "--size", "40", "--json");
    assert.equal(code, 0, err);
    const { claims, tables, charts } = JSON.parse(out) as Findings;
    assert.equal(claims.filter(({ agrees }) => agrees === "no").length, 5);
    assert.deepEqual(
      tables.map(({ rows }) => rows.length),
      [4, 6],
    );
    const reference = charts[0]?.lines.find(({ name }) => name === "reference")?.points.map(([, wrong]) => wrong) ?? [];
    assertAbove(reference.at(-1), reference[0] as number);
    // Every claim names a test that exists, by rule or mechanism.
    for (const { why } of claims) {
      const [, file = "", mechanism = ""] =
        /\((?:.*; )?((?:lab\/test|test\/core)\/[\w-]+\.test\.ts), (\w+)/.exec(why) ?? [];
      assert.notEqual(file, "", why);
      assertIncludes(readFileSync(join(root, file), "utf8"), mechanism, why);
    }
  });

  it("explains a wrong command line, with exit code 2", async () => {
    for (const words of [[], ["chess"], ["mbft", "--seed", "x"], ["mbft", "--model", "a@9"]])
      assert.equal((await run(...words)).code, 2, words.join(" "));
  });

  it("refuses a model file that is not there before any work, also where the study asks no model", async () => {
    for (const id of ["mbft", "decentllms"]) {
      const { code, out, err } = await run(id, "--model", "nope.gguf");
      assert.deepEqual([code, out], [2, ""], id);
      // Nothing but the error: no line of progress.
      assert.match(
        err,
        /^error USAGE: Correct --model "nope\.gguf": nope\.gguf cannot be used \(ENOENT\); name a GGUF file\nway out: .+\n$/,
      );
    }
  });

  it("lab/results.md has a section for every paper", () => {
    const results = readFileSync(join(root, "lab/results.md"), "utf8");
    for (const { id } of STUDIES) assertIncludes(results, `<!-- generated: papers ${id} -->`);
  });
});
