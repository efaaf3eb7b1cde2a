import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assertAtLeast } from "../support/assertions.ts";

const root = join(import.meta.dirname, "..", "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const page = read("docs/vocabulary.md");

/** Words that identifiers do not use, with what they use. */
const banned = new Map(
  [...page.slice(page.indexOf("## Words that identifiers do not use")).matchAll(/^\| ([a-z]+) \| (.+) \|$/gm)]
    .filter(([, word]) => word !== "not")
    .map(([, word, instead]) => [word as string, instead as string]),
);

/** Words of the tables, with what they mean. */
const words = [...page.matchAll(/^\| ([A-Za-z][A-Za-z -]*) \| (.+?) \| .+? \| .+ \|$/gm)]
  .filter(([, word]) => word !== "word")
  .map(([, word, meaning]) => ({ word: word as string, meaning: meaning as string }));

const COMMENTS_AND_STRINGS =
  /\/\*[\s\S]*?\*\/|\/\/.*$|"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/gm;

/** The words that the identifiers of a source file are made of, in lower case. */
function partsOf(source: string): ReadonlySet<string> {
  const identifiers = source.replaceAll(COMMENTS_AND_STRINGS, " ").match(/[A-Za-z_$][\w$]*/g) ?? [];
  return new Set(
    identifiers.flatMap((name) =>
      name
        .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
        .split(/[\s_$]+/)
        .map((part) => part.toLowerCase()),
    ),
  );
}

function bannedIn(source: string): readonly string[] {
  const parts = partsOf(source);
  return [...banned.keys()].filter((word) => parts.has(word));
}

describe("vocabulary", () => {
  it("has one row for each word, with a sentence", () => {
    const names = words.map(({ word }) => word);
    assertAtLeast(names.length, 100);
    assert.deepEqual(
      names.filter((name, at) => names.indexOf(name) !== at),
      [],
    );
    assert.deepEqual(
      words.filter(({ meaning }) => !meaning.endsWith(".")).map(({ word }) => word),
      [],
    );
  });

  it("bans words that no identifier of contracts, agents, SDK and subgraph has", () => {
    const files = globSync("{agents,contracts,sdk,subgraph}/**/*.{ts,sol,graphql}", { cwd: root })
      .map((file) => file.replaceAll("\\", "/"))
      .filter((file) => !/(?:^|\/)(?:node_modules|dist|build|generated)\//.test(file));
    assertAtLeast(files.length, 200);
    assertAtLeast(banned.size, 15);
    const found = files.flatMap((file) =>
      bannedIn(read(file)).map((word) => `${file}: ${word}, say ${banned.get(word)}`),
    );
    assert.deepEqual(found, []);
  });

  it("would find a banned word in an identifier, not in a comment, a text or within another word", () => {
    assert.deepEqual(bannedIn("const jurorCount = 1;"), ["juror"]);
    assert.deepEqual(bannedIn('// juror\nconst significant = "juror";'), []);
  });
});
