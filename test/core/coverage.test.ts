import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { protocols } from "../../agents/core/protocols/index.ts";
import { assertAtLeast, assertIncludesAll } from "../support/assertions.ts";

const root = join(import.meta.dirname, "..", "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** Mechanisms of each paper by their letter. */
const COUNTS = { D: 38, T: 30, L: 25, H: 35, M: 31 } as const;

const all = Object.entries(COUNTS).flatMap(([letter, count]) =>
  Array.from({ length: count }, (_, index) => `${letter}${String(index + 1).padStart(2, "0")}`),
);

/** A row of docs/spec/coverage.md. */
interface Row {
  readonly id: string;
  readonly words: string;
  readonly where: string;
  readonly tested: string;
}

const rows: readonly Row[] = [
  ...read("docs/spec/coverage.md").matchAll(/^\| ([DTLHM]\d\d) \| (.+?) \| (.+?) \| (.+) \|$/gm),
].map(([, id, words, where, tested]) => ({ id, words, where, tested }) as Row);

/** What the last column begins with where no test names the mechanism; the reason follows. */
const UNNAMED = "No test of its own. ";

/** The mechanisms that titles of tests name, with the files of those tests. */
const named = new Map<string, Set<string>>();
for (const file of globSync("{test,lab/test}/**/*.{test,suite}.ts", { cwd: root }))
  for (const [, , title] of read(file).matchAll(/\b(?:it|describe)\(\s*(["'`])(.*?)\1,/gs))
    for (const id of (title as string).match(/\b[DTLHM]\d\d\b/g) ?? [])
      named.set(id, (named.get(id) ?? new Set()).add(file.replaceAll("\\", "/")));

function pathsIn(cell: string): readonly string[] {
  return [...cell.matchAll(/`([\w-]+\/[\w./-]*)`/g)].map(([, path]) => path as string);
}

describe("coverage of the papers' mechanisms", () => {
  it("has all 159, once each, in order, in words", () => {
    assert.equal(all.length, 159);
    assert.deepEqual(
      rows.map(({ id }) => id),
      all,
    );
    for (const { id, words } of rows) assertAtLeast(words.split(" ").length, 5, id);
  });

  it("says of each where it is, by a rule or a file, or that it is not built", () => {
    for (const { id, where } of rows) assert.match(where, /\b[A-Z]{1,2}\d{1,2}\b|`[\w-]+\/|\.md\)|^not built$/, id);
  });

  it("names only files that exist", () => {
    const paths = rows.flatMap(({ id, where, tested }) =>
      [...pathsIn(where), ...pathsIn(tested)].map((path) => ({ id, path })),
    );
    assertAtLeast(paths.length, 300);
    assert.deepEqual(
      paths.filter(({ path }) => !existsSync(join(root, path))),
      [],
    );
  });

  it("names tests whose titles name the mechanism, or a reason where no test does", () => {
    for (const { id, tested } of rows) {
      const files = [...(named.get(id) ?? [])];
      const paths = pathsIn(tested);
      if (files.length === 0) assert.equal(tested.slice(0, UNNAMED.length), UNNAMED, `${id}: a reason`);
      else {
        assertAtLeast(paths.length, 1, `${id}: a test`);
        assertIncludesAll(files, [...paths], id);
      }
    }
  });

  it("knows each mechanism that a title names: lines of Tendermint are spelt out there", () => {
    assert.deepEqual(
      [...named.keys()].filter((id) => !all.includes(id)),
      [],
    );
  });
});

describe("documents of the protocols", () => {
  const table = read("docs/protocols.md");

  for (const { id, code, assurance } of protocols) {
    it(`${id}: a row in docs/protocols.md, a spec, and rules that the code cites`, () => {
      const row = table.split("\n").find((line) => line.includes(`[\`${id}\`](spec/${id}.md)`));
      assertIncludesAll(
        row?.split("|").map((cell) => cell.trim()),
        [String(code), assurance],
      );
      const rules = [...read(`docs/spec/${id}.md`).matchAll(/^\* \*\*([A-Z]{2}\d+)\b/gm)];
      assertAtLeast(rules.length, 5, "numbered rules");
      const numbers = rules.map(([, rule]) => rule);
      assert.equal(new Set(numbers).size, numbers.length);
    });
  }
});
