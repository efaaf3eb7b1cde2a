import { expect } from "chai";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  fooledNeeded,
  isOrderBlind,
  missedEqualities,
  risingReputations,
  shrinkingWeights,
} from "../../scripts/lib/papers/mbft-reference.ts";
import { svgOf } from "../../scripts/lib/papers/plot.ts";
import { findingsText } from "../../scripts/lib/papers/report.ts";
import { STUDIES } from "../../scripts/lib/papers/studies.ts";
import type { Chart, Claim, Findings } from "../../scripts/lib/papers/study.ts";

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

describe("plots", () => {
  it("have light colours as attributes and dark ones in the style sheet, and a title", async () => {
    const svg = await svgOf(CHART);
    expect(svg).to.match(
      /^<svg [^>]*><title>Calls &lt; 9 &amp; more<\/title><style>svg\{color:#1f2328\}@media \(prefers-color-scheme: dark\)/,
    );
    expect(svg).to.include('stroke="#0969da"').and.to.include('[stroke="#0969da"]{stroke:#58a6ff}');
    expect(svg)
      .to.include('fill="currentColor"')
      .and.not.to.match(/fill="(black|white|#000|#fff)/);
    for (const word of ["bad seats", "calls", "flat", "steep"]) expect(svg).to.include(`>${word}<`);
  });

  it("draw a value at its height", async () => {
    const svg = await svgOf(CHART);
    // 260 points high for 4 calls: 2 of them are 130 from either end.
    expect(svg).to.match(/d="M0,130L230,130L460,130"[^>]*stroke="#0969da"/);
    expect(svg).to.match(/d="M0,260L230,130L460,0"[^>]*stroke="#bc4c00"/);
  });

  it("refuse more lines than there are colours", async () => {
    const lines = Array.from({ length: 7 }, (_, index) => ({ name: `line ${index}`, points: [] }));
    const error = await svgOf({ ...CHART, lines }).catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(RangeError);
  });
});

describe("a study's text", () => {
  it("begins with what does not agree and ends with how it was run", () => {
    const claim = (agrees: Claim["agrees"]): Claim => ({ paper: `says ${agrees}`, here: "seen", agrees, why: "so" });
    const findings: Findings = {
      claims: [claim("yes"), claim("in part"), claim("not redone"), claim("no")],
      tables: [{ title: "T", note: "Noted.", head: ["a", "b"], rows: [["1", "2"]] }],
      charts: [CHART],
    };
    const provenance = { command: "npm run papers -- x", commit: "abc", machine: "m", models: ["q"], seconds: 1.4 };
    expect(findingsText(findings, provenance)).to.equal(
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
        "* commit abc, m, 1 s\n* model: q",
      ].join("\n"),
    );
  });
});

describe("MBFT's propositions", () => {
  it("1: one fooled verifier commits the liars' answer, whatever the size; none without", () => {
    expect([4, 7, 10, 13].map(fooledNeeded)).to.deep.equal([1, 1, 1, 1]);
    // With a single agent f is 0, and nobody lies.
    expect(fooledNeeded(1)).to.equal(null);
  });

  it("2: misses equality where doubles do not add up; 3 and 4 hold", () => {
    const { missed, of } = missedEqualities();
    expect(of).to.equal(310);
    expect(missed).to.be.within(1, 309);
    expect(risingReputations()).to.equal(0);
    expect(shrinkingWeights()).to.equal(0);
  });

  it("the order of the list decides between two that are equally sure", () => {
    expect(isOrderBlind()).to.equal(false);
  });
});

describe("npm run papers", () => {
  const run = (
    ...words: readonly string[]
  ): { readonly code: number | null; readonly out: string; readonly err: string } => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/papers.ts", ...words], {
      cwd: root,
      encoding: "utf8",
    });
    return { code: status, out: stdout, err: stderr };
  };

  it("mbft: prints claims, tables and charts as JSON", () => {
    const { code, out, err } = run("mbft", "--size", "40", "--json");
    expect(code, err).to.equal(0);
    const { claims, tables, charts } = JSON.parse(out) as Findings;
    expect(claims.filter(({ agrees }) => agrees === "no")).to.have.length(5);
    expect(tables.map(({ rows }) => rows.length)).to.deep.equal([4, 6]);
    const reference = charts[0]?.lines.find(({ name }) => name === "reference")?.points.map(([, wrong]) => wrong) ?? [];
    expect(reference.at(-1)).to.be.greaterThan(reference[0] as number);
    // Every claim names a test that exists, by rule or mechanism.
    for (const { why } of claims) {
      const [, file = "", mechanism = ""] = /\((?:.*; )?(test\/core\/[\w-]+\.test\.ts), (\w+)/.exec(why) ?? [];
      expect(file, why).not.to.equal("");
      expect(readFileSync(join(root, file), "utf8"), why).to.include(mechanism);
    }
  });

  it("says what is wrong with a command line, with exit code 2", () => {
    for (const words of [[], ["chess"], ["mbft", "--seed", "x"], ["mbft", "--model", "a@9"]])
      expect(run(...words).code, words.join(" ")).to.equal(2);
  });

  it("docs/results.md has a section for every paper", () => {
    const results = readFileSync(join(root, "docs/results.md"), "utf8");
    for (const { id } of STUDIES) expect(results).to.include(`<!-- generated: papers ${id} -->`);
  });
});
