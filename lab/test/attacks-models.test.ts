import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { READ } from "../attacks/injected.ts";
import { injectedText, injections } from "../attacks/injections.ts";

const root = join(import.meta.dirname, "../..");

function attacks(...words: readonly string[]): {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
} {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["lab/main.ts", "attacks", ...words], {
    cwd: root,
    encoding: "utf8",
  });
  return { code: status, out: stdout, err: stderr };
}

describe("npm run attacks -- --suite injections", () => {
  it("tries texts on the embedded model, alone and in a committee, in every place where they can meet one", () => {
    const words = [
      "--suite",
      "injections",
      "--texts",
      "2",
      "--protocol",
      "one model,escalating",
      "--jobs",
      "1",
      "--no-cache",
    ];
    const { code, out, err } = attacks(...words, "--json");
    assert.equal(code, 0, err);
    const report = JSON.parse(out) as {
      readonly provenance: { readonly models: readonly string[] };
      readonly deciders: readonly { readonly group: string; readonly tried: number }[];
      readonly trials: readonly {
        readonly place: string;
        readonly injection: string;
        readonly without: string | null;
      }[];
    };
    assert.deepEqual(
      report.deciders.map(({ group, tried }) => [group, tried]),
      [
        ["one model", 4],
        ["escalating", 10],
      ],
    );
    assert.deepEqual(
      new Set(report.trials.map(({ place }) => place)),
      new Set(["question", "context", "page", "json", "peer"]),
    );
    assert.match(report.provenance.models[0] ?? "", /conclave-small.*sha256.*temperature=0/);
    // Without a text the model knows these questions.
    assert.ok(report.trials.every(({ without }) => without !== null));
    assert.match(err, /escalating, page: 2\/2/);
  });

  it("agents' code reads every text of the corpus from a page, and from a value of JSON", () => {
    for (const injection of injections)
      for (const read of Object.values(READ)) assert.notEqual(read(injectedText(injection, "no")), "", injection.id);
  });

  it("explains a wrong flag, with exit code 2", () => {
    const wrong: readonly (readonly [words: readonly string[], says: RegExp])[] = [
      [["--suite", "chess"], /rules, coalitions, injections/],
      [["--suite", "injections", "--protocol", "chess"], /USAGE: .*"chess" is unknown; choose .*mbft/],
      [["--suite", "injections", "--protocol", "none"], /USAGE: .*"none" is unknown; choose all, or some of/],
      [["--suite", "injections", "--texts", "0"], /whole number from 1 to/],
      [["--suite", "injections", "--models", "no.gguf"], /USAGE: Correct --models "no\.gguf": .*ENOENT/],
    ];
    for (const [words, says] of wrong) {
      const { code, err } = attacks(...words);
      assert.equal(code, 2, words.join(" "));
      assert.match(err, says);
    }
  });
});
