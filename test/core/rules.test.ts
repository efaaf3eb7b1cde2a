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
  "chaos",
  "contracts",
  "deploy",
  "devnet",
  "docs",
  "ignition",
  "lab",
  "models",
  "scripts",
  "sim",
  "subgraph",
  "test",
];
const SKIPPED = /(?:^|\/)(?:node_modules|dist|build|generated|cache|\.cache|artifacts)(?:\/|$)/;
const IS_CODE = /\.(?:ts|tsx|mjs|sol|py|cpp)$/;
const INDEX = "docs/spec/README.md";
/** It plants citations of rules that do not exist. */
const SELF = "test/core/rules.test.ts";

/** A row of the index. */
interface Row {
  readonly prefix: string;
  readonly page: string;
  readonly code: readonly string[];
}

interface Text {
  readonly file: string;
  readonly text: string;
}

/** A numbered rule, or a citation of one, with the file it stands in. */
interface Place {
  readonly rule: string;
  readonly file: string;
}

const texts: readonly Text[] = globSync(["*.md", `{${FOLDERS.join()}}/**/*.{ts,tsx,mjs,sol,graphql,md,py,cpp}`], {
  cwd: root,
})
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

const prefixes = rows.map(({ prefix }) => prefix);
const CITATION = new RegExp(`\\b(?:${prefixes.join("|")})\\d+\\b`, "g");

function citationsIn({ file, text }: Text): readonly Place[] {
  return (text.match(CITATION) ?? []).map((rule) => ({ rule, file }));
}

const cited = texts.flatMap(citationsIn);

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
  return text
    .split("\n")
    .flatMap((line) => line.match(/^\s*\/?\*.*$|(?:^|\s)(?:\/\/|#).*$|\/\*\*.*$|^\s*""".*$/) ?? []);
}

/** Words in comments that look like rules. */
const LOOKS_LIKE_A_RULE = /(?<!U\+|-)\b([A-Z]{2})\d{1,3}\b/g;

function unknownPrefixesIn({ file, text }: Text): readonly string[] {
  return commentsOf(text)
    .flatMap((line) => [...line.matchAll(LOOKS_LIKE_A_RULE)])
    .filter(([, prefix]) => !prefixes.includes(prefix as string))
    .map(([word]) => `${word} in ${file}`);
}

/** Decisions by number, one or several: ADR 7, ADRs 10 and 11. */
const ADR = /\bADRs? (\d+(?:(?:, | and | or | to )\d+)*)/g;
const adrs = new Set(globSync("docs/adr/[0-9]*.md", { cwd: root }).map((file) => Number(/(\d+)-/.exec(file)?.[1])));

function unknownAdrsIn({ file, text }: Text): readonly string[] {
  return [...text.matchAll(ADR)]
    .flatMap(([, numbers]) => (numbers as string).match(/\d+/g) ?? [])
    .filter((number) => !adrs.has(Number(number)))
    .map((number) => `ADR ${number} in ${file}`);
}
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

  it("are of the index, wherever a comment seems to cite one", () => {
    assert.deepEqual(texts.filter(({ file }) => IS_CODE.test(file)).flatMap(unknownPrefixesIn), []);
  });

  it("cite decisions that are recorded", () => {
    assertAtLeast(adrs.size, 20);
    assert.deepEqual(texts.flatMap(unknownAdrsIn), []);
  });

  it("are looked for in the pages of the root, and in every language", () => {
    for (const file of [
      "README.md",
      "CONTRIBUTING.md",
      "models/train.py",
      "models/native.cpp",
      "lab/bench/core/reference.py",
    ])
      assert.equal(
        texts.some((one) => one.file === file),
        true,
        file,
      );
  });

  it("would be missed: a citation of no rule or decision, and a rule that nothing cites", () => {
    const unstated = (text: string) => notStated(citationsIn({ file: "F", text }));
    assert.deepEqual(unstated("as CE99 says"), ["CE99 in F"]);
    assert.deepEqual(unstated("`CE100`, PH0 and CE5"), ["CE100 in F", "PH0 in F"]);
    for (const comment of ["// ZZ1 says so", "x = 1  # ZZ1 says so", '"""ZZ1 says so."""', " * ZZ1 says so"])
      assert.deepEqual(unknownPrefixesIn({ file: "F", text: comment }), ["ZZ1 in F"], comment);
    assert.deepEqual(unknownPrefixesIn({ file: "F", text: "// ZZ100" }), ["ZZ100 in F"]);
    const text = "ADR 7, ADR 77, ADRs 10 and 88, ADRs 1, 2 or 99";
    assert.deepEqual(unknownAdrsIn({ file: "F", text }), ["ADR 77 in F", "ADR 88 in F", "ADR 99 in F"]);
    assert.deepEqual(notCited([{ rule: "PH0", file: "a page" }]), ["PH0 of a page"]);
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
