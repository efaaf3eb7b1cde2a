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

/** Words of the tables, with what they mean and where they stand. */
const words = [...page.matchAll(/^\| ([A-Za-z][A-Za-z -]*) \| (.+?) \| (.+?) \| .+ \|$/gm)]
  .filter(([, word]) => word !== "word")
  .map(([, word, meaning, where]) => ({ word: word as string, meaning: meaning as string, where: where as string }));

const COMMENTS_AND_STRINGS =
  /\/\*[\s\S]*?\*\/|\/\/.*$|"""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/gm;

/** True if a text has the form of a second meaning: "also", a place or a class of words with a meaning of its own. */
function hasTwoMeanings(meaning: string): boolean {
  return /\balso\b|(?:^|[.;] )(?:In|On|Of|For) [^.;:,]+[:,]|\((?:noun|verb|\d)\)/i.test(meaning);
}

/** A source file without comments and texts, its identifiers cut into words, in lower case. */
function spelled(source: string): string {
  return source
    .replaceAll(COMMENTS_AND_STRINGS, " ")
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .replaceAll(/[_$]+/g, " ")
    .toLowerCase();
}

/** Names that libraries give, such as a field of a connection of libp2p. */
const FOREIGN = /\bremoteAddr\b/g;

function bannedIn(source: string): readonly string[] {
  const parts = new Set(spelled(source.replaceAll(FOREIGN, "")).match(/[a-z]+/g));
  return [...banned.keys()].filter((word) => parts.has(word));
}

function filesOf(pattern: string): readonly string[] {
  return globSync(pattern, { cwd: root })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => !/(?:^|\/)(?:node_modules|dist|build|generated)\//.test(file));
}

/** The languages whose identifiers have a word, by their letters in the third column. */
const LANGUAGES = { S: "contracts/**/*.sol", T: "agents/**/*.ts", G: "subgraph/schema.graphql" } as const;

/** Words whose one meaning has no place in these files: identifiers of code and texts of docs say something else there. */
const ELSEWHERE = [
  { word: "deadline", say: "time-out", files: "agents/{core/phases,core/protocols,core/seat,node/seat}/**/*.ts" },
  { word: "deadline", say: "time-out", files: "docs/spec/{phases,council,debate,adversarial,leaderless}.md" },
  { word: "deadline", say: "time-out", files: "docs/spec/{hashgraph,wbft,unanimous,mbft,escalating,complexity}.md" },
  { word: "relay", say: "hand on", files: "agents/{core/phases,core/protocols,core/seat,node/seat}/**/*.ts" },
  { word: "relay", say: "hand on", files: "docs/spec/{certify,phases,unanimous,hashgraph}.md" },
  { word: "settle", say: "conclude", files: "agents/core/{phases,protocols,seat}/**/*.ts" },
  { word: "retry", say: "try or reload", files: "agents/core/{phases,protocols,seat}/**/*.ts" },
  { word: "attempt", say: "try", files: "agents/adapters/{ipfs,libp2p,models,model-files}/*.ts" },
  { word: "pause", say: "wait", files: "agents/{core,ports,node}/**/*.ts" },
  { word: "pause", say: "sleep", files: "agents/adapters/{ipfs,models,model-files}/*.ts" },
  { word: "delay", say: "time or sleep", files: "agents/core/{phases,protocols,seat}/**/*.ts" },
  { word: "delay", say: "time or sleep", files: "agents/adapters/{ipfs,libp2p,models,model-files}/*.ts" },
  { word: "outcome", say: "result", files: "agents/adapters/{ipfs,libp2p,models,model-files}/*.ts" },
  { word: "outcome", say: "result", files: "agents/node/{request,seat}/*.ts" },
  { word: "candidate", say: "subject or peer", files: "agents/core/protocols/hashgraph/**/*.ts" },
  { word: "stage", say: "level", files: "agents/core/protocols/{escalating,debate}/**/*.ts" },
  { word: "quote", say: "quotation", files: "agents/core/{request,protocols}/**/*.ts" },
  { word: "evidence", say: "weight", files: "agents/core/protocols/**/*.ts" },
  { word: "twin", say: "equivocation", files: "{agents,sdk,dashboard/src}/**/*.{ts,tsx}" },
  { word: "twin", say: "second process", files: "chaos/**/*.ts" },
  { word: "judge", say: "examine", files: "chaos/**/*.ts" },
  { word: "turn", say: "queue or place", files: "agents/adapters/source-reader/*.ts" },
  { word: "fault", say: "failure", files: "agents/adapters/{ipfs,models,model-files,source-reader}/*.ts" },
  { word: "fault", say: "failure", files: "agents/cli/{pin,verify,doctor}/*.ts" },
  { word: "verdict", say: "check", files: "agents/core/request/*.ts" },
  { word: "verdict", say: "result", files: "contracts/**/*.sol" },
  { word: "verdict", say: "result", files: "lab/eval/{baselines,deliberate,evaluate,methods,vote}.ts" },
  { word: "stage", say: "study chain", files: "lab/economics/*.ts" },
  { word: "world", say: "dashboard", files: "dashboard/src/{agents,decision,history,wallet}/*.tsx" },
  { word: "manifest", say: "package file", files: "scripts/{sdk,cli-package}/**/*.ts" },
] as const;

/** True if a text, cut into words, has the word or a form of it. */
function says(text: string, word: string): boolean {
  const stem = word.replace(/[ey]$/, "");
  return new RegExp(`\\b(?:${word}(?:s|d|r|ed|ing)?|${stem}(?:ies|ied|ing))\\b`, "i").test(text);
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

  it("has one meaning for each word", () => {
    assert.deepEqual(
      words.filter(({ meaning }) => hasTwoMeanings(meaning)).map(({ word }) => word),
      [],
    );
  });

  it("would find a row with two meanings", () => {
    assert.ok(hasTwoMeanings("A place in a committee; also the program that fills it."));
    assert.ok(hasTwoMeanings("Of stake: to take a tenth. Of reputation: to take a fifth."));
    assert.ok(hasTwoMeanings("What a request asks; for a protocol, what it promises."));
    assert.ok(hasTwoMeanings("A part of a pot. In a decision: a seat's part of the pay."));
    assert.ok(hasTwoMeanings("Money (noun). To add stake (verb)."));
    assert.ok(!hasTwoMeanings("How firm a request wants its decision: normal or high."));
  });

  for (const [letter, pattern] of Object.entries(LANGUAGES))
    it(`has the words that it says identifiers of ${pattern} have`, () => {
      const text = filesOf(pattern)
        .map((file) => spelled(read(file)))
        .join("\n");
      const claimed = words.filter(({ where }) => new RegExp(`\\b${letter}\\b`).test(where.replaceAll(/`[^`]*`/g, "")));
      assertAtLeast(claimed.length, 30);
      const absent = claimed.filter(({ word }) => {
        const parts = word.toLowerCase().replaceAll(/[ -]/g, "[ -]?");
        return !new RegExp(`\\b${parts}(?:s|es|d|ed|ing)?\\b`).test(text);
      });
      assert.deepEqual(
        absent.map(({ word }) => word),
        [],
      );
    });

  it("has a row for each noun in the names of GraphQL's entities", () => {
    const names = new Set(words.map(({ word }) => word.toLowerCase()));
    const entities = [...read("subgraph/schema.graphql").matchAll(/^type (\w+) @entity/gm)].map(([, name]) =>
      (name as string).replaceAll(/([a-z])([A-Z])/g, "$1 $2").toLowerCase(),
    );
    assertAtLeast(entities.length, 20);
    assert.deepEqual(
      entities.filter((name) => !names.has(name) && !name.split(" ").every((word) => names.has(word))),
      [],
    );
  });

  it("bans words that no identifier of contracts, agents and subgraph has", () => {
    const files = filesOf("{agents,contracts,subgraph}/**/*.{ts,sol,graphql}");
    assertAtLeast(files.length, 200);
    assertAtLeast(banned.size, 15);
    const found = files.flatMap((file) =>
      bannedIn(read(file)).map((word) => `${file}: ${word}, say ${banned.get(word)}`),
    );
    assert.deepEqual(found, []);
  });

  for (const { word, say, files } of ELSEWHERE)
    it(`does not say ${word} in ${files}, but ${say}`, () => {
      const found = filesOf(files).map((file) => ({ file, text: read(file) }));
      assertAtLeast(found.length, 4);
      const saying = found.filter(({ file, text }) => says(file.endsWith(".md") ? text : spelled(text), word));
      assert.deepEqual(
        saying.map(({ file }) => file),
        [],
      );
    });

  it("would find a form of a word that has no place in a file", () => {
    for (const [text, word] of [
      ["relayed", "relay"],
      ["Settles", "settle"],
      ["retries", "retry"],
      ["two deadlines", "deadline"],
    ] as const)
      assert.ok(says(text, word), text);
    assert.ok(!says("settlement of a staged question", "settle"));
    assert.ok(!says("a settlement", "stage"));
  });

  it("would find a banned word in an identifier, not in a comment, a text or within another word", () => {
    assert.deepEqual(bannedIn("const jurorCount = 1;"), ["juror"]);
    assert.deepEqual(bannedIn('// juror\nconst significant = "juror";'), []);
  });
});
