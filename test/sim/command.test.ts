import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { optionsOf } from "../../sim/arguments.ts";
import { commandFor } from "../../sim/command.ts";
import { BYZANTINE_KINDS, FAULTS, SOURCE_FAULTS, type SimOptions } from "../../sim/options.ts";
import { createPlan } from "../../sim/plan.ts";
import { buildReport, reportText } from "../../sim/report.ts";
import { shrink } from "../../sim/shrink.ts";
import {
  assertBelow,
  assertFields,
  assertIncludes,
  assertIncludesAll,
  assertSameMembers,
} from "../support/assertions.ts";
import { tool } from "../support/tool.ts";

const sim = tool("sim/main.ts");

const options: SimOptions = {
  protocol: "mbft",
  n: 7,
  byzantine: 2,
  faults: FAULTS,
  byzantineKinds: BYZANTINE_KINDS,
  kind: null,
  errorPpm: 0,
  sources: [],
};

describe("npm run sim", () => {
  it("prints one JSON object with all options and results", async () => {
    const { code, out } = await sim(
      "--protocol",
      "mbft",
      "--n",
      "4",
      "--byzantine",
      "1",
      "--seeds",
      "5",
      "--jobs",
      "1",
      "--json",
    );
    assert.equal(code, 0);
    const report = JSON.parse(out) as { readonly [key: string]: unknown };
    assert.deepEqual(report["checkersOff"], []);
    assertFields(report, { beyondF: false, protocol: "mbft", n: 4, byzantine: 1, seeds: 5, firstSeed: 1 });
    assertSameMembers(Object.keys(report["criticalPathCalls"] as object), ["min", "mean", "max"]);
    for (const key of [
      "decided",
      "hung",
      "stalled",
      "decisionsPerSecondPerCore",
      "elapsedMs",
      "messages",
      "bytes",
      "modelCalls",
    ])
      assert.equal(typeof report[key], "number", key);
    assert.deepEqual(report["violations"], []);
  });

  it("prints an error as one JSON object with --json", async () => {
    const { code, out, err } = await sim("--protocol", "mbft", "--n", "4", "--byzantine", "4", "--json");
    assert.deepEqual({ code, err }, { code: 2, err: "" });
    const { error } = JSON.parse(out) as { readonly error: object };
    assertFields(error, { code: "TERMS_INVALID", data: { field: "byzantine", value: 4 } });
  });

  const bad: readonly (readonly [string, readonly string[], RegExp])[] = [
    ["an unknown protocol", ["--protocol", "mbtf", "--n", "4"], /PROTOCOL_UNKNOWN.*mbtf.*mbft/s],
    ["an empty committee", ["--protocol", "mbft", "--n", "0"], /TERMS_INVALID.*--n 0.*empty/s],
    ["n below the protocol's minimum", ["--protocol", "mbft", "--n", "3"], /TERMS_INVALID.*--n 3/s],
    ["n above 64", ["--protocol", "mbft", "--n", "65"], /TERMS_INVALID.*--n 65.*64/s],
    ["nobody honest", ["--protocol", "mbft", "--n", "4", "--byzantine", "4"], /TERMS_INVALID.*--byzantine 4/s],
    ["an unknown fault", ["--protocol", "mbft", "--n", "4", "--faults", "rain"], /USAGE.*rain.*drop/s],
    ["an unknown kind", ["--protocol", "mbft", "--n", "4", "--byzantine-kinds", "nice"], /USAGE.*nice.*silent/s],
    [
      "no kind for somebody",
      ["--protocol", "mbft", "--n", "4", "--byzantine", "1", "--byzantine-kinds", "none"],
      /TERMS_INVALID.*--byzantine-kinds none: name at least one kind/s,
    ],
    ["an unknown source", ["--protocol", "mbft", "--n", "4", "--sources", "rain"], /USAGE.*--sources.*rain.*poisoned/s],
    [
      "sources of a protocol that reads none",
      ["--protocol", "council", "--n", "4", "--sources", "right"],
      /USAGE.*--sources: council reads none.*mbft/s,
    ],
    ["an unknown mutant", ["--protocol", "mbft", "--n", "4", "--mutant", "XY1"], /USAGE.*XY1.*CE5/s],
    [
      "an empty list of faults",
      ["--protocol", "mbft", "--n", "4", "--faults", ""],
      /USAGE.*--faults: "" is unknown; choose all, none/s,
    ],
    [
      "all among others",
      ["--protocol", "mbft", "--n", "4", "--faults", "all,none"],
      /USAGE.*--faults "all.*": name all alone/,
    ],
    ["a negative number", ["--protocol", "mbft", "--n", "-7"], /--n.*-7.*0 or more/],
    ["three seats of a council", ["--protocol", "council", "--n", "3"], /TERMS_INVALID.*outside 4\.\.26/],
    [
      "kinds of nobody",
      ["--protocol", "mbft", "--n", "4", "--byzantine", "0", "--byzantine-kinds", "twin"],
      /USAGE.*twin: no seat misbehaves/,
    ],
    ["a flag given twice", ["--protocol", "mbft", "--n", "4", "--seed", "1", "--seed=2"], /USAGE.*--seed: .*once/],
    [
      "an unknown flag",
      ["--protocol", "mbft", "--n", "4", "--bogus"],
      /^error USAGE: unknown option '--bogus'\nway out: .+\n$/,
    ],
    [
      "an unknown flag before it asks for a missing one",
      ["--bogus"],
      /^error USAGE: unknown option '--bogus'\nway out: see `node sim\/main\.ts --help`\n$/,
    ],
    ["an unknown fault before it asks for a missing flag", ["--faults", "rain"], /USAGE.*rain/],
    ["a missing flag", ["--n", "4"], /^error USAGE: required option '--protocol <id>' not specified\n/],
    ["no seeds", ["--protocol", "mbft", "--n", "4", "--seeds", "0"], /USAGE.*--seeds 0/s],
    ["a flag of another program", ["--protocol", "mbft", "--n", "4", "--fast"], /unknown option/],
  ];
  for (const [what, words, message] of bad)
    it(`refuses ${what}`, async () => {
      const { code, err } = await sim(...words);
      assert.equal(code, 2);
      assert.match(err, message);
    });

  it("allows K > f, and names the checkers that are off on stderr, in the summary and in JSON", async () => {
    const words = "--protocol mbft --n 4 --byzantine 2 --seeds 2 --jobs 1 --faults none --byzantine-kinds silent".split(
      " ",
    );
    const { code, out, err } = await sim(...words);
    assertIncludes([0, 1], code);
    assertIncludes(err, "expect violations, or hung decisions");
    assertIncludes(out, "more than f seats misbehave: validity, no-honest-slash, termination, omission are off");
    const report = JSON.parse((await sim(...words, "--json")).out) as { readonly [key: string]: unknown };
    assertFields(report, { beyondF: true });
    assert.deepEqual(report["checkersOff"], ["validity", "no-honest-slash", "termination", "omission"]);
  });

  it('explains every name after "struck:" in --help', async () => {
    const sources = globSync("sim/**/*.ts").map((path) => readFileSync(path, "utf8"));
    const names = sources.flatMap((text) =>
      [...text.matchAll(/recorder\.count\(([^;`]*)\)/g)].flatMap(([, inside]) =>
        [...(inside as string).matchAll(/"([^"]+)"/g)].map(([, name]) => name as string),
      ),
    );
    assertIncludesAll(names, ["drop", "delay", "second twin"]);
    const { out } = await sim("--help");
    const struck = out.slice(out.indexOf("struck"));
    for (const name of names) assert.match(struck, new RegExp(`\\b${name}\\b`), name);
  });

  it("prints one command per seed, after all its violations", () => {
    const found = (seed: number, checker: "agreement" | "replay") => ({
      seed,
      checker,
      message: "bad",
      command: `run ${seed}`,
    });
    const text = reportText({
      ...buildReport(options, 1, [], { elapsedMs: 1, cpuMs: 1 }, { mutant: null, shrunk: null }),
      violations: [found(1, "agreement"), found(1, "replay"), found(2, "replay")],
    });
    assert.deepEqual(text.split("\n").slice(0, 5), [
      "seed 1: agreement: bad",
      "seed 1: replay: bad",
      "  run 1",
      "seed 2: replay: bad",
      "  run 2",
    ]);
  });

  it("finds a planted fault: exit code 1, a command that repeats it, and a shrunk one", async () => {
    const words = "--protocol mbft --n 4 --byzantine 1 --seeds 20 --jobs 1 --mutant PY4 --json".split(" ");
    const { code, out } = await sim(...words);
    assert.equal(code, 1);
    const { violations, shrunk } = JSON.parse(out) as {
      readonly violations: readonly { readonly checker: string; readonly command: string }[];
      readonly shrunk: string;
    };
    const checkers = new Set(violations.map(({ checker }) => checker));
    for (const command of [violations[0]!.command, shrunk]) {
      assertIncludes(command, "--mutant PY4");
      assertIncludes(command, "--seeds 1 ");
      const again = await sim(...command.replace("npm run sim -- ", "").split(" "), "--json");
      assert.equal(again.code, 1);
      const found = (JSON.parse(again.out) as { readonly violations: readonly { readonly checker: string }[] })
        .violations;
      assert.equal(
        found.some(({ checker }) => checkers.has(checker)),
        true,
      );
    }
    assertIncludes(shrunk, "--faults none");
  });
});

describe("commands and shrinking", () => {
  it("state all options in the command", () => {
    const odd: SimOptions = {
      ...options,
      faults: ["crash", "skew"],
      byzantineKinds: ["twin"],
      kind: "number",
      errorPpm: 7,
      sources: ["gone", "slow"],
    };
    for (const one of [options, odd, { ...options, byzantine: 0, faults: [] }]) {
      const text = commandFor(one, 42);
      assertIncludes(text, "--seed 42");
      assert.deepEqual({ ...optionsOf(text), byzantineKinds: one.byzantineKinds }, one);
    }
  });

  it("remove what the failure does not need, in a bounded number of tries", async () => {
    let tries = 0;
    const shrunk = await shrink(options, 5, async (one) => {
      tries++;
      return one.faults.includes("crash") && one.byzantine > 0 && one.byzantineKinds.includes("twin");
    });
    assertFields(shrunk.options, { n: 4, byzantine: 1, faults: ["crash"], byzantineKinds: ["twin"] });
    assertBelow(tries, 151);
  });

  it("remove the sources, or all but one, if the failure does not need them", async () => {
    const asked: SimOptions = { ...options, sources: SOURCE_FAULTS };
    const without = await shrink(asked, 5, async ({ faults }) => faults.includes("crash"));
    assert.deepEqual(without.options.sources, []);
    const one = await shrink(asked, 5, async ({ sources }) => sources.includes("moving"));
    assert.deepEqual(one.options.sources, ["moving"]);
  });

  it("draw the same world of a seed with sources as without, but for the sources", () => {
    for (let seed = 1; seed <= 50; seed++) {
      const { attempt, links: _, sources, ...world } = createPlan({ ...options, sources: SOURCE_FAULTS }, seed);
      const { attempt: plain, links: __, ...other } = createPlan(options, seed);
      assert.deepEqual(world, other);
      const { question, ...request } = attempt.request;
      const { question: bare, ...asked } = plain.request;
      assert.deepEqual(request, asked);
      assert.equal(question, [bare, ...sources!.pages.map(({ name }) => `source: ${name}`)].join("\n"));
      assert.equal(plain.request.question, "What holds?");
    }
  });

  it("leave the world as it is when a fault is forbidden that does not strike", () => {
    for (let seed = 1; seed <= 50; seed++) {
      const world = createPlan(options, seed);
      const kinds = [...world.byzantine.values()];
      const forbidden = { ...options, byzantineKinds: kinds, kind: world.attempt.request.terms.kind };
      // A fault that is the only one allowed always strikes.
      const faults = world.faults.length === 1 ? options.faults : world.faults;
      assert.deepEqual(createPlan({ ...forbidden, faults }, seed), world);
    }
  });

  it("keep what cannot be removed", async () => {
    const shrunk = await shrink(options, 5, async () => false);
    assert.deepEqual({ options: shrunk.options, seed: shrunk.seed }, { options, seed: 5 });
  });
});
