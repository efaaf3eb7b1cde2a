import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { tool } from "../../test/support/tool.ts";

const vectorFile = (name: string): string => fileURLToPath(new URL(`../../test/vectors/${name}.json`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "conclave-conformance-"));

interface Case {
  id: string;
  agents: { id: string; answer?: unknown; props: [string, number][]; rho0: number }[];
  maxRounds: unknown;
  hashSeedDependent?: boolean;
  expect: Record<string, unknown> & {
    finalReputation: Record<string, number>;
    history: { logBf: number; posterior: Record<string, number> }[];
  };
}

interface Vectors {
  scenarios: Case[];
  edges: Case[];
  sequences: { tasks: { reputation: Record<string, number> }[] }[];
}

/** A copy of a shared file with changes, in a temporary folder. */
function changed(name: string, change: (vectors: Vectors) => void): string {
  const vectors = JSON.parse(readFileSync(vectorFile(name), "utf8")) as Vectors;
  change(vectors);
  return written(JSON.stringify(vectors));
}

interface HashgraphCase {
  n: number;
  weights?: number[];
  events: { id: string; by: number; sp: string | null; op: string | null; note?: string }[];
  round: Record<string, number>;
  witness: Record<string, boolean>;
  famous: Record<string, boolean | null>;
  decidedBy: Record<string, string>;
  roundReceived: Record<string, number>;
  coinVotes: [string, string][];
}

function changedHashgraph(change: (entry: HashgraphCase) => void): string {
  const vectors = JSON.parse(readFileSync(vectorFile("hashgraph"), "utf8")) as { cases: [HashgraphCase] };
  change(vectors.cases[0]);
  return written(JSON.stringify(vectors));
}

let files = 0;
function written(text: string): string {
  files += 1;
  const path = join(folder, `${files}.json`);
  writeFileSync(path, text);
  return path;
}

const lab = tool("lab/main.ts");
const conformance = (...args: readonly string[]) => lab("conformance", ...args);

describe("conformance command", () => {
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it("matches all shared files", async () => {
    const result = await conformance(
      ...["mbft-reference", "mbft-bayesian-reference", "hashgraph"].map((name) => vectorFile(name)),
    );
    assert.deepEqual(result, { code: 0, out: "matched 239, differed 0\n", err: "" });
  });

  it("compares every field of a hashgraph case", async () => {
    const changes: readonly (readonly [string, (entry: HashgraphCase) => void])[] = [
      ["round.w13", ({ round }) => (round["w13"] = 2)],
      ["witness.a23", ({ witness }) => (witness["a23"] = true)],
      ["famous.w00", ({ famous }) => (famous["w00"] = true)],
      ["decidedBy.w13", ({ decidedBy }) => delete decidedBy["w13"]],
      ["roundReceived.w01", ({ roundReceived }) => (roundReceived["w01"] = 1)],
      [`coinVotes.["w41","w00"]`, ({ coinVotes }) => coinVotes.pop()],
    ];
    for (const [field, change] of changes) {
      const { code, out } = await conformance(changedHashgraph(change));
      assert.equal(code, 1, field);
      assert.ok(out.includes(`: babble-funky: ${field}: expected `), out);
      assert.ok(out.endsWith("matched 2, differed 1\n"), out);
    }
    // A file may also list the events that are no witnesses; the order of coin votes has no meaning.
    const same = changedHashgraph(({ witness, coinVotes }) => {
      witness["a23"] = false;
      coinVotes.reverse();
    });
    assert.equal((await conformance(same)).code, 0);
  });

  it("prints each difference with scenario, field, expected and got, and exits 1", async () => {
    const path = changed("mbft-reference", ({ scenarios: [first], edges: [edge], sequences: [sequence] }) => {
      assert.ok(first && edge && sequence?.tasks[2]);
      Object.assign(first.expect, { leader: "zz" });
      edge.expect.history.pop();
      sequence.tasks[2].reputation["b"] = 0.9;
    });
    const { code, out } = await conformance(path);
    assert.equal(code, 1);
    const lines = out.trimEnd().split("\n");
    assert.equal(lines[0], `${path}: m529: leader: expected "zz", got "a0"`);
    assert.match(lines[1] ?? "", /: readme-demo: history\[3\]: expected nothing, got \{"round":3/);
    assert.equal(lines[2], `${path}: reputation-capture-n4: tasks[2].reputation.b: expected 0.9, got 1`);
    assert.deepEqual(lines.slice(3), ["matched 128, differed 3"]);
  });

  it("shows twenty differences, then a count; as JSON, too", async () => {
    const path = changed("mbft-reference", ({ scenarios }) => {
      for (const { expect } of scenarios) expect["value"] = "another";
    });
    const lines = (await conformance(path)).out.trimEnd().split("\n");
    assert.deepEqual(lines.slice(20), ["... and 100 more differences", "matched 11, differed 120"]);
    const { code, out } = await conformance("--json", path, vectorFile("mbft-bayesian-reference"));
    const report = JSON.parse(out) as {
      matched: number;
      differed: number;
      files: { format: string; differenceCount: number; differences: object[] }[];
    };
    assert.equal(code, 1);
    assert.deepEqual([report.matched, report.differed], [116, 120]);
    assert.deepEqual(
      report.files.map(({ format, differenceCount, differences }) => [format, differenceCount, differences.length]),
      [
        ["mbft-reference", 120, 20],
        ["mbft-bayesian-reference", 0, 0],
      ],
    );
  });

  it("tolerates differences in the last bits of posteriors only", async () => {
    const nudge = async (field: "posterior" | "logBf", amount: number): Promise<number> => {
      const path = changed("mbft-bayesian-reference", ({ scenarios: [first] }) => {
        const [round] = first?.expect.history ?? [];
        assert.ok(round);
        if (field === "posterior") round.posterior["FALSE"] = (round.posterior["FALSE"] ?? 0) * (1 + amount);
        else round.logBf += amount;
      });
      return (await conformance(path)).code;
    };
    assert.deepEqual([await nudge("posterior", 5e-16), await nudge("posterior", 2e-15)], [0, 1]);
    assert.deepEqual([await nudge("logBf", 2e-15), await nudge("logBf", 1e-14)], [0, 1]);
    const reputation = changed("mbft-bayesian-reference", ({ scenarios: [first] }) => {
      assert.ok(first);
      first.expect.finalReputation["a5"] = 0.045;
    });
    assert.equal((await conformance(reputation)).code, 1);
  });

  it("accepts either order of tied hypotheses, but no third result", async () => {
    const tie = async (finalReputation: Record<string, number>): Promise<number> => {
      const path = changed("mbft-bayesian-reference", (vectors) => {
        const [first] = vectors.scenarios;
        assert.ok(first);
        const posterior = { FALSE: 0.5, TRUE: 0.5 };
        first.agents = ["TRUE", "FALSE"].map((answer, index) => ({ id: `a${index}`, props: [[answer, 0.6]], rho0: 1 }));
        Object.assign(first, { n: 2, sigma: 0.5, maxRounds: 1, thetaPost: 0.85 });
        const history = [{ round: 0, posterior, logBf: 0, committed: null }];
        Object.assign(first.expect, {
          committed: false,
          value: null,
          rounds: 1,
          logBayesFactor: 0,
          posterior,
          finalReputation,
          history,
        });
        vectors.scenarios = [first];
      });
      return (await conformance(path)).code;
    };
    assert.deepEqual(
      [await tie({ a0: 1, a1: 0.5 }), await tie({ a0: 0.5, a1: 1 }), await tie({ a0: 1, a1: 1 })],
      [0, 0, 1],
    );
  });

  it("names the file and field that it cannot use, and exits 2", async () => {
    const unusable: readonly (readonly [string, RegExp])[] = [
      [join(folder, "absent.json"), /absent\.json": the file cannot be read: ENOENT/],
      [written("{"), /the file is not JSON/],
      [written("[]"), /the file has an unknown format: top level/],
      [written('{"a": 1}'), /the file has an unknown format: scenarios/],
      [written('{"scenarios": []}'), /the file has an unknown format: scenarios, edges and sequences are empty/],
      [
        written('{"scenarios": [{"id": "s1"}]}'),
        /its first case, with the id "s1", has neither theta .* nor thetaPost/,
      ],
      [written('{"meta": {}, "cases": []}'), /not a valid hashgraph file: cases: /],
      [
        changedHashgraph((entry) => (entry.n = 3)),
        /hashgraph file: cases\[0\]\.events\[3\]\.by: names member 3, but members are 0 to 2/,
      ],
      [
        changedHashgraph((entry) => (entry.weights = [1])),
        /cases\[0\]\.weights: has 1 weights, but there are 4 members/,
      ],
      [changedHashgraph(({ events }) => (events[4]!.op = "z")), /events\[4\]\.op: z is not an earlier event/],
      [changedHashgraph(({ events }) => (events[4]!.sp = "w01")), /\.sp: w01 is not an earlier event of member 2/],
      [
        changedHashgraph(({ events }) => (events[1]!.id = "w00")),
        /events\[1\]\.id: is the id of an earlier event, too: w00/,
      ],
      [changedHashgraph(({ events }) => (events[1]!.note = "x")), /events\[1\]: .*"note"/],
      [
        changed("mbft-reference", ({ scenarios }) => Object.assign(scenarios[2] ?? {}, { forcedLeader: "a0" })),
        /not a valid mbft-reference file: scenarios\[2\]: .*"forcedLeader"/,
      ],
      [
        changed("mbft-bayesian-reference", ({ scenarios }) => Object.assign(scenarios[0]?.expect ?? {}, { map: "T" })),
        /not a valid mbft-bayesian-reference file: scenarios\[0\]\.expect: .*"map"/,
      ],
      [
        changed("mbft-bayesian-reference", ({ scenarios }) => Object.assign(scenarios[0] ?? {}, { n: 3 })),
        /scenarios\[0\]\.n: must be the number of agents/,
      ],
      [
        changed("mbft-reference", ({ scenarios }) => Object.assign(scenarios[2] ?? {}, { maxRounds: null })),
        /not a valid mbft-reference file: scenarios\[2\]\.maxRounds: /,
      ],
      [
        changed("mbft-reference", ({ scenarios }) => Object.assign(scenarios[0]?.agents[1] ?? {}, { answer: 5 })),
        /not a valid mbft-reference file: scenarios\[0\]\.agents\[1\]\.answer: /,
      ],
      [
        changed("mbft-bayesian-reference", ({ edges }) =>
          Object.assign(edges[0]?.expect ?? {}, { posterior: { T: "1" } }),
        ),
        /not a valid mbft-bayesian-reference file: edges\[0\]\.expect\.posterior\.T: /,
      ],
      [
        changed("mbft-bayesian-reference", ({ sequences }) => sequences.push({ tasks: [] })),
        /sequences: must be empty: only mbft-reference files have sequences/,
      ],
    ];
    for (const [path, reason] of unusable) {
      const { code, out, err } = await conformance(path);
      assert.deepEqual([code, out], [2, ""], path);
      assert.match(err, reason);
      assert.ok(err.startsWith(`error USAGE: Correct <files> ${JSON.stringify(path)}: the file `));
      assert.match(err, /; name files in a format of test\/vectors\nway out: see `.+ --help`\n$/);
    }
  });

  it("explains itself", async () => {
    const help = await conformance("--help");
    assert.equal(help.code, 0);
    assert.match(help.out, /Example:\n {2}npm run conformance -- test\/vectors/);
    assert.equal((await conformance()).code, 2);
    assert.equal((await conformance("--unknown", "x")).code, 2);
  });
});
