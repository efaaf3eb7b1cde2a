// The pure parts of coverage, mutation and static analysis of the contracts (scripts/coverage.ts, mutate.ts, slither.ts).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { parse } from "../../scripts/solidity/ast.ts";
import { readContracts } from "../../scripts/solidity/compiler.ts";
import { diff, findMutants, plant, sample, switchLibrary, switchSource } from "../../scripts/solidity/mutants.ts";
import { reportOf, staleExplanations } from "../../scripts/solidity/mutation-report.ts";
import { mutantsOf, type Fault } from "../../scripts/solidity/planted.ts";
import { addProbes, percent, probeLibrary, probeSource, sum, summarize } from "../../scripts/solidity/probes.ts";
import { rewrite } from "../../scripts/solidity/rewrite.ts";
import { findSuppressions, problemsIn, readFindings } from "../../scripts/solidity/slither-findings.ts";

const file = "contracts/A.sol";
const contract = (body: string): Record<string, string> => ({
  [file]: `// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;
uint64 constant LIMIT = 5;
contract A {
    error Bad();
    event Done();
    uint256 private _sum;
${body}
}
`,
});

describe("probes", () => {
  const sources = contract(`    function f(uint256 a) external pure returns (uint256) {
        require(a != 7, Bad());
        if (a > 1 && a < 9) return 1;
        else return a == 0 ? 2 : 3;
    }`);

  it("stand before every statement and in every condition, on the lines of the original", () => {
    const { probes } = addProbes(sources);
    assert.deepEqual(
      probes.map(({ line, kind, text }) => `${line} ${kind} ${text}`),
      [
        "9 statement require(a != 7, Bad())",
        "9 true a != 7",
        "9 false a != 7",
        "10 statement if (a > 1 && a < 9) return 1; else return a == 0 ? 2 : 3",
        "10 true a > 1 && a < 9",
        "10 false a > 1 && a < 9",
        "10 true a > 1",
        "10 false a > 1",
        "10 statement return 1",
        "11 statement return a == 0 ? 2 : 3",
        "11 true a == 0",
        "11 false a == 0",
      ],
    );
  });

  it("leave contracts that compile, with as many lines", () => {
    const probed = addProbes(sources).sources;
    parse({ ...probed, [probeLibrary.file]: probeSource });
    assert.equal(probed[file]!.split("\n").length, sources[file]!.split("\n").length);
    assert.equal([...probed[file]!.matchAll(/__ConclaveProbe\.hit\(/g)].length, 12);
  });

  it("count a line as covered only when every statement on it ran", () => {
    const { probes } = addProbes(sources);
    const all = probes.map(({ id }) => id);
    const withoutReturn = new Set(all.filter((id) => probes[id - 1]!.text !== "return 1"));
    const [summary] = summarize(probes, withoutReturn);
    assert.deepEqual(summary!.lines, { covered: 2, total: 3 });
    assert.deepEqual(summary!.branches, { covered: 8, total: 8 });
    assert.deepEqual(summary!.uncovered, [`${file}:10 return 1`]);
    const branch = new Set(all.filter((id) => id !== 3));
    assert.deepEqual(summarize(probes, branch)[0]!.uncovered, [`${file}:9 never false: a != 7`]);
    assert.equal(percent(sum([summary!.branches, { covered: 0, total: 8 }])), 50);
    assert.equal(percent({ covered: 0, total: 0 }), 100);
  });
});

describe("mutants", () => {
  const sources = contract(`    function f(uint256 a, bool b) external returns (uint256) {
        if (!b || a >= LIMIT) revert Bad();
        _sum += a * 2;
        emit Done();
        assembly {
            a := shl(5, a)
        }
        return a;
    }`);
  const mutants = findMutants(sources);

  it("change one place each", () => {
    const changes = mutants.map(
      (mutant) => `${mutant.line} ${mutant.operator}: ${diff(sources[file]!, mutant).split("\n+ ")[1]}`,
    );
    assert.deepEqual(changes, [
      "9 binary: if (!b && a >= LIMIT) revert Bad();",
      "9 side: if (!b) revert Bad();",
      "9 side: if (a >= LIMIT) revert Bad();",
      "9 negate: if (b || a >= LIMIT) revert Bad();",
      "9 binary: if (!b || a > LIMIT) revert Bad();",
      "9 binary: if (!b || a < LIMIT) revert Bad();",
      "9 constant: if (!b || a >= LIMIT + 1) revert Bad();",
      "9 drop: if (!b || a >= LIMIT)",
      "10 drop: ",
      "10 assign: _sum -= a * 2;",
      "10 binary: _sum += a / 2;",
      "10 literal: _sum += a * 3;",
      "10 literal: _sum += a * 1;",
      "11 drop: ",
      "13 yul-drop: ",
      "13 yul-call: a := shr(5, a)",
      "13 yul-literal: a := shl(6, a)",
      "15 drop: ",
    ]);
    assert.deepEqual(
      mutants.map(({ id }) => id),
      mutants.map((_, index) => index + 1),
    );
  });

  it("compile together behind their switches", () => {
    const planted = plant(sources, mutants);
    parse({ ...planted, [switchLibrary.file]: switchSource });
    for (const { id } of mutants) assert.equal(planted[file]!.split(`.on(${id})`).length, 2, `mutant ${id}`);
  });

  it("that are planted compile together", () => {
    const contracts = readContracts();
    const list = join(import.meta.dirname, "../contracts/planted.json");
    const { faults } = JSON.parse(readFileSync(list, "utf8")) as { readonly faults: readonly Fault[] };
    parse({ ...plant(contracts, mutantsOf(contracts, faults)), [switchLibrary.file]: switchSource });
  });

  it("are sampled by the seed alone", () => {
    const items = Array.from({ length: 100 }, (_, index) => index);
    const drawn = sample(items, 10, 1);
    assert.deepEqual(sample(items, 10, 1), drawn);
    assert.notDeepEqual(sample(items, 10, 2), drawn);
    assert.equal(new Set(drawn).size, 10);
    assert.deepEqual(
      drawn.toSorted((one, other) => one - other),
      drawn,
    );
  });

  it("are scored by those that compile, survivors with what is known of them", () => {
    const lines = diff(sources[file]!, mutants[1]!).split("\n") as [string, string];
    const known = { file, diff: lines, why: "because" };
    const old = { file, diff: ["- gone", "+ too"] as const, why: "because" };
    const results = [
      { id: 1, verdict: "killed", by: "a test", seconds: 1 },
      { id: 2, verdict: "survived", by: "nothing", seconds: 1 },
      { id: 3, verdict: "killed", by: "another", seconds: 1 },
      { id: 4, verdict: "invalid", by: "the compiler", seconds: 0 },
      { id: 6, verdict: "open", by: "nothing yet", seconds: 1 },
    ] as const;
    const report = reportOf(sources, mutants, results, [known]);
    const { survivors, files, ...score } = report;
    assert.deepEqual(score, { tried: 5, killed: 2, survived: 1, open: 1, invalid: 1, score: 50 });
    assert.deepEqual(files, [{ file, ...score }]);
    assert.deepEqual(
      survivors.map(({ at, why }) => [at, why]),
      [
        [`${file}:9`, "because"],
        [`${file}:9`, undefined],
      ],
    );
    assert.deepEqual(staleExplanations(sources, mutants, [known, old]), [old]);
  });
});

describe("rewrite", () => {
  const mark = (start: number, end: number, name: string) => ({
    start,
    end,
    wrap: (inner: string) => `${name}(${inner})`,
  });

  it("puts nested wraps inside", () => {
    const wraps = [mark(2, 3, "c"), mark(0, 4, "a"), mark(0, 4, "b"), mark(4, 5, "d")];
    assert.equal(rewrite("01234", wraps), "a(b(01c(2)3))d(4)");
  });

  it("refuses wraps that overlap", () => {
    assert.throws(() => rewrite("01234", [mark(0, 3, "a"), mark(2, 5, "b")]), /Cannot rewrite 2\.\.5/);
  });
});

describe("slither", () => {
  const detector = (impact: string, check: string) => ({
    impact,
    check,
    description: `${check} there\n`,
    elements: [{ source_mapping: { filename_relative: file, lines: [3, 4] } }],
  });
  const report = {
    success: true,
    error: null,
    results: { detectors: [detector("Low", "timestamp"), detector("High", "steal")] },
  };

  it("findings come in the order of their impact", () => {
    assert.deepEqual(readFindings(JSON.stringify(report)), [
      { impact: "High", check: "steal", at: `${file}:3`, text: "steal there" },
      { impact: "Low", check: "timestamp", at: `${file}:3`, text: "timestamp there" },
    ]);
    assert.deepEqual(readFindings(JSON.stringify({ ...report, results: {} })), []);
  });

  it("an analysis that failed is not an empty one", () => {
    assert.throws(
      () => readFindings(JSON.stringify({ ...report, success: false, error: "no compiler" })),
      /no compiler/,
    );
    assert.throws(() => readFindings("{}"));
  });

  it("high and medium findings and suppressions without an argument are problems", () => {
    const suppressions = findSuppressions({
      [file]: [
        "// slither-disable-next-line timestamp: minutes are enough here",
        "// slither-disable-next-line timestamp",
        "// slither-disable-next-line timestamp: false positive",
        "// slither-disable-start unused-return",
        "// slither-disable-end unused-return",
        "uint256 a; // an ordinary line",
      ].join("\n"),
    });
    assert.deepEqual(
      suppressions.map(({ at, checks }) => `${at} ${checks}`),
      [1, 2, 3].map((line) => `${file}:${line} timestamp`).concat(`${file}:4 unused-return`),
    );
    const problems = problemsIn(readFindings(JSON.stringify(report)), suppressions);
    assert.deepEqual(
      problems.map((problem) => problem.split(/[\n;]/)[0]),
      [`High steal ${file}:3`, ...[2, 3, 4].map((line) => `${file}:${line}: a suppression without an argument`)],
    );
  });
});
