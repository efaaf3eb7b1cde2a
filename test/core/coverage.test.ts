import { expect } from "chai";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { protocols } from "../../agents/core/protocols/index.ts";

const root = join(import.meta.dirname, "..", "..");

/** Lines of the design notes' mechanisms.md by letter. */
const LINES = { D: 38, T: 30, L: 25, H: 35, M: 31 } as const;

const all = Object.entries(LINES).flatMap(([letter, count]) =>
  Array.from({ length: count }, (_, index) => `${letter}${String(index + 1).padStart(2, "0")}`),
);

/** Mechanisms named in titles of tests. */
function named(): ReadonlySet<string> {
  const files = ["test", "lab/test"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.(test|suite)\.ts$/.test(file))
      .map((file) => join(folder, file)),
  );
  const titles = files.flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/\b(?:it|describe)\(\s*(["'`])(.*?)\1,/gs)].map(
      ([, , title]) => title as string,
    ),
  );
  return new Set(titles.flatMap((title) => title.match(/\b[DTLHM]\d\d\b/g) ?? []));
}

function excepted(): readonly string[] {
  const text = readFileSync(join(root, "docs", "spec", "coverage.md"), "utf8");
  return [...text.matchAll(/^\| ([DTLHM]\d\d) \| .+ \| .+ \|$/gm)].map(([, id]) => id as string);
}

describe("coverage of the papers' mechanisms", () => {
  it("every line is named by a test or excepted with a reason", () => {
    const covered = new Set([...named(), ...excepted()]);
    expect(all.length).to.equal(159);
    expect(all.filter((id) => !covered.has(id))).to.deep.equal([]);
  });

  it("no title names a line that there is not: Tendermint's are spelt out", () => {
    expect([...named()].filter((id) => !all.includes(id))).to.deep.equal([]);
  });

  it("no exception is stale", () => {
    const tested = named();
    expect(excepted().filter((id) => tested.has(id) || !all.includes(id))).to.deep.equal([]);
  });
});

describe("documents of the protocols", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");

  for (const { id, code, assurance } of protocols) {
    it(`${id}: a row in the README, a spec, and rules that the code cites`, () => {
      const row = readme.split("\n").find((line) => line.includes(`[\`${id}\`](docs/spec/${id}.md)`));
      expect(row?.split("|").map((cell) => cell.trim())).to.include.members([String(code), assurance]);
      const rules = [
        ...readFileSync(join(root, "docs", "spec", `${id}.md`), "utf8").matchAll(/^\* \*\*([A-Z]{2}\d+)\b/gm),
      ];
      expect(rules.length, "numbered rules").to.be.at.least(5);
      const numbers = rules.map(([, rule]) => rule);
      expect(new Set(numbers).size).to.equal(numbers.length);
    });
  }
});
