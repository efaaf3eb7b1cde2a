import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { protocols } from "../../agents/core/protocols/index.ts";
import { assertAtLeast } from "../support/assertions.ts";

const root = join(import.meta.dirname, "..", "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** Folders whose texts cite rules. */
const FOLDERS = [
  "agents",
  "contracts",
  "deploy",
  "devnet",
  "docs",
  "ignition",
  "lab",
  "scripts",
  "sim",
  "subgraph",
  "test",
];
const SKIPPED = /(?:^|\/)(?:node_modules|dist|build|generated|cache|\.cache|artifacts)(?:\/|$)/;
const IS_CODE = /\.(?:ts|tsx|mjs|sol)$/;
const INDEX = "docs/spec/README.md";
/** It plants citations of rules that do not exist. */
const SELF = "test/core/rules.test.ts";

/** A row of the index. */
interface Row {
  readonly prefix: string;
  readonly page: string;
  readonly code: readonly string[];
}

/** A numbered rule, or a citation of one, with the file it stands in. */
interface Place {
  readonly rule: string;
  readonly file: string;
}

const texts = [
  "README.md",
  ...FOLDERS.flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx,mjs,sol,graphql,md}`, { cwd: root })),
]
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => !SKIPPED.test(file) && file !== SELF)
  .map((file) => ({ file, text: read(file) }));

const indexed: readonly Row[] = [
  ...read(INDEX).matchAll(/^\| ([A-Z]{1,2}) \| \[([a-z-]+\.md)\]\(\2\) \| .+? \| (.+) \|$/gm),
].map(([, prefix, page, code]) => ({
  prefix: prefix as string,
  page: `docs/spec/${page as string}`,
  code: [...(code as string).matchAll(/`([^`]+)`/g)].map(([, path]) => path as string),
}));

/** Protocols that the index does not list: the prefix stands on the protocol's page, the code where every protocol's is. */
const derived: readonly Row[] = protocols
  .map(({ id }) => ({ id, page: `docs/spec/${id}.md` }))
  .filter(({ page }) => !indexed.some((row) => row.page === page))
  .map(({ id, page }) => {
    const [, prefix = id] = /^\* \*\*([A-Z]{1,2})\d+\b/m.exec(read(page)) ?? [];
    const code = `agents/core/protocols/${id}`;
    return { prefix, page, code: [existsSync(join(root, code)) ? code : `${code}.ts`] };
  });
const rows: readonly Row[] = [...indexed, ...derived];

/** Rules that nothing cites, each with a reason. */
const excused = [...read(INDEX).matchAll(/^\| ([A-Z]{1,2}\d+) \| .+ \|$/gm)].map(([, rule]) => rule as string);

const stated: readonly Place[] = texts
  .filter(({ file }) => file.startsWith("docs/spec/"))
  .flatMap(({ file, text }) =>
    [...text.matchAll(/^\* \*\*([A-Z]{1,2}\d+)\b/gm)].map(([, rule]) => ({ rule: rule as string, file })),
  );

/** An example of a word that is no rule: the name of a planted bug that does not exist. */
const NO_RULE = "CE99";

function citationsIn(text: string, prefixes: readonly string[]): readonly string[] {
  const pattern = new RegExp(`\\b(?:${prefixes.join("|")})\\d{1,2}\\b`, "g");
  return (text.match(pattern) ?? []).filter((rule) => rule !== NO_RULE);
}

const prefixes = rows.map(({ prefix }) => prefix);
const cited: readonly Place[] = texts.flatMap(({ file, text }) =>
  citationsIn(text, prefixes).map((rule) => ({ rule, file })),
);

function notStated(citations: readonly Place[]): readonly string[] {
  const known = new Set(stated.map(({ rule }) => rule));
  return citations.filter(({ rule }) => !known.has(rule)).map(({ rule, file }) => `${rule} in ${file}`);
}

function notCited(rules: readonly Place[]): readonly string[] {
  const known = new Set([...excused, ...cited.filter(({ file }) => IS_CODE.test(file)).map(({ rule }) => rule)]);
  return rules.filter(({ rule }) => !known.has(rule)).map(({ rule, file }) => `${rule} of ${file}`);
}

/** The comments of a source file, line by line. */
function commentsOf(text: string): readonly string[] {
  return text.split("\n").flatMap((line) => line.match(/^\s*\/?\*.*$|(?:^|\s)\/\/.*$|\/\*\*.*$/) ?? []);
}

/** Words in comments that look like rules. */
const LOOKS_LIKE_A_RULE = /(?<!U\+)\b([A-Z]{2})\d{1,2}\b/g;
/** Mechanisms of the papers, as in the titles of tests: rows of docs/spec/coverage.md. */
const MECHANISM = /\b[DTLHM]\d\d\b/g;

describe("rules that can be looked up", () => {
  it("stand once, on the page that the index names for their prefix", () => {
    const strays = stated.filter(
      ({ rule, file }) => !rows.some(({ prefix, page }) => page === file && prefix === rule.replace(/\d+$/, "")),
    );
    assert.deepEqual(strays, []);
    const names = stated.map(({ rule }) => rule);
    assert.deepEqual(
      names.filter((rule, at) => names.indexOf(rule) !== at),
      [],
    );
    assertAtLeast(names.length, 280);
  });

  it("have a row for each prefix, whose page and code exist", () => {
    assert.equal(new Set(prefixes).size, prefixes.length);
    for (const { prefix, page, code } of rows) {
      assert.equal(existsSync(join(root, page)), true, page);
      assertAtLeast(code.length, 1, prefix);
      for (const path of code) assert.equal(existsSync(join(root, path)), true, `${prefix}: ${path}`);
      assert.equal(
        stated.some(({ rule }) => rule.replace(/\d+$/, "") === prefix),
        true,
        `${prefix} has rules`,
      );
    }
  });

  it("are numbered without gaps from 1, answers from 0", () => {
    for (const { prefix } of rows) {
      const numbers = stated
        .filter(({ rule }) => rule.replace(/\d+$/, "") === prefix)
        .map(({ rule }) => Number(rule.slice(prefix.length)))
        .toSorted((a, b) => a - b);
      const first = prefix === "EQ" ? 0 : 1;
      assert.deepEqual(
        numbers,
        numbers.map((_, at) => first + at),
        prefix,
      );
    }
  });

  it("exist, where code, a test or a document cites them", () => {
    assert.deepEqual(notStated(cited), []);
  });

  it("are cited by code or a test, or excused with a reason", () => {
    assert.deepEqual(notCited(stated), []);
    assert.deepEqual(
      excused.filter((rule) => cited.some((place) => place.rule === rule && IS_CODE.test(place.file))),
      [],
    );
    assert.deepEqual(notStated(excused.map((rule) => ({ rule, file: INDEX }))), []);
  });

  it("would be missed: a citation of nothing, and a rule that nothing cites", () => {
    const [invented] = citationsIn("as CE98 says", prefixes);
    assert.deepEqual(notStated([{ rule: invented as string, file: "a comment" }]), ["CE98 in a comment"]);
    assert.deepEqual(notCited([{ rule: "PH0", file: "a page" }]), ["PH0 of a page"]);
  });

  it("are of the index, wherever a comment seems to cite one", () => {
    const unknown = texts
      .filter(({ file }) => IS_CODE.test(file))
      .flatMap(({ file, text }) =>
        commentsOf(text)
          .flatMap((line) => [...line.matchAll(LOOKS_LIKE_A_RULE)])
          .filter(([, prefix]) => !prefixes.includes(prefix as string))
          .map(([word]) => `${word} in ${file}`),
      );
    assert.deepEqual(unknown, []);
  });

  it("are what comments cite, not lines of notes that are elsewhere", () => {
    const foreign = texts
      .filter(({ file }) => IS_CODE.test(file))
      .flatMap(({ file, text }) =>
        commentsOf(text)
          .flatMap((line) => line.match(MECHANISM) ?? [])
          // Lines of Tendermint's Algorithm 1, as docs/spec/certify.md says.
          .filter((word) => !(file.startsWith("agents/core/seat/certify/") && word.startsWith("L")))
          .map((word) => `${word} in ${file}`),
      );
    assert.deepEqual(foreign, []);
  });

  it("name code that exists", () => {
    const paths = texts
      .filter(({ file }) => file.startsWith("docs/spec/") || file.startsWith("docs/adr/"))
      .flatMap(({ file, text }) =>
        [...text.matchAll(/`((?:agents|contracts|devnet|lab|scripts|sim|subgraph|test)\/[\w./-]+)`/g)].map(
          ([, path]) => ({ path: path as string, file }),
        ),
      );
    assertAtLeast(paths.length, 50);
    assert.deepEqual(
      paths.filter(({ path }) => !existsSync(join(root, path))).map(({ path, file }) => `${path} in ${file}`),
      [],
    );
  });
});
