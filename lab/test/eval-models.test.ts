import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "conclave-eval-"));
after(() => rmSync(folder, { recursive: true }));

function run(...words: readonly string[]): {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
} {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["lab/main.ts", "eval", ...words], {
    cwd: root,
    encoding: "utf8",
  });
  return { code: status, out: stdout, err: stderr };
}

describe("npm run eval", () => {
  it("decides two questions with the embedded model, and counts the same when answers are kept", () => {
    const cache = join(folder, "answers.jsonl");
    const words = ["--suite", "arithmetic", "--protocol", "mbft,early-stop", "--byzantine", "0", "--questions", "2"];
    const [first, second] = [1, 2].map(() => {
      const { code, out, err } = run(
        ...words,
        "--models",
        "models/conclave-small.gguf@0.5",
        "--cache",
        cache,
        "--json",
      );
      assert.equal(code, 0, err);
      assert.match(err, /2 questions of each suite; right of 60 others: \d+ sampled, \d+ greedy/);
      return JSON.parse(out) as {
        readonly provenance: { readonly models: readonly string[] };
        readonly summaries: readonly { readonly method: string; readonly questions: number; readonly tokens: number }[];
        readonly cells: readonly unknown[];
      };
    });
    assert.deepEqual(
      first?.summaries.map(({ method, questions }) => [method, questions]),
      [
        ["mbft", 2],
        ["early-stop", 2],
      ],
    );
    for (const { tokens } of first?.summaries ?? []) assert.ok(tokens > 100);
    assert.match(first?.provenance.models[0] ?? "", /conclave-small.*sha256.*temperature=0\.5/);
    assert.deepEqual(second?.cells, first?.cells);
  });

  it("decides with four different models, without a flag that names them", () => {
    const words = [
      "--suite",
      "arithmetic",
      "--protocol",
      "mbft",
      "--byzantine",
      "0",
      "--questions",
      "2",
      "--jobs",
      "1",
    ];
    const { code, out, err } = run(...words, "--no-cache", "--json");
    assert.equal(code, 0, err);
    const { provenance, committees } = JSON.parse(out) as {
      readonly provenance: { readonly models: readonly string[] };
      readonly committees: readonly { readonly condition: { readonly mix: string }; readonly allWrong: object }[];
    };
    const digests = provenance.models.map((one) => /sha256:([0-9a-f]+)/.exec(one)?.[1]);
    assert.equal(new Set(digests).size, 4, provenance.models.join());
    assert.deepEqual(
      committees.map(({ condition }) => condition.mix),
      ["heterogeneous"],
    );
  });

  it("explains a wrong flag or file, with exit code 2", () => {
    const wrong: readonly (readonly [words: readonly string[], says: RegExp])[] = [
      [["--suite", "chess"], /USAGE: Correct --suite: "chess" is unknown; choose .*arithmetic/],
      [["--suite", "wason", "--byzantine", "2"], /USAGE: Correct --byzantine "2": .*0 to 1/],
      [["--suite", "wason", "--seats", "4,3"], /USAGE: Correct --seats "4,3": write one whole number from 4 to/],
      [["--suite", "wason", "--seeds", "x"], /USAGE: Correct --seeds "x": .*0 to 2147483647/],
      [["--suite", "wason", "--seating", "loud"], /USAGE: Correct --seating: "loud" is unknown; choose .*calibrated/],
      [["--suite", "wason", "--leading", "vote"], /USAGE: Correct --leading: "vote" is unknown; choose .*clo/],
      [["--suite", "wason", "--models", "a.gguf@9"], /USAGE: Correct --models/],
      [
        ["--suite", "wason", "--models", "models/conclave-small.gguf,a.gguf"],
        /USAGE: Correct --models "a.gguf": .*ENOENT.*name a GGUF/,
      ],
      [["--suite", "none"], /USAGE: Correct --suite: "none" is unknown; choose all, or some of arithmetic/],
      [["--suite", "wason", "--quick", "--full"], /USAGE: .*not both/],
      [[], /--suite/],
    ];
    for (const [words, says] of wrong) {
      const { code, err } = run(...words);
      assert.equal(code, 2, words.join(" "));
      assert.match(err, says);
    }
  });
});
