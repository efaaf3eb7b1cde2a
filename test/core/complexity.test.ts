import { expect } from "chai";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { replaceSection } from "../../scripts/lib/generated-section.ts";
import { oddsTables } from "../../scripts/lib/odds-table.ts";

const document = readFileSync(join(import.meta.dirname, "../../docs/spec/complexity.md"), "utf8");

describe("docs/spec/complexity.md", () => {
  it("holds the committee odds that are computed", () => {
    expect(replaceSection(document, "committee-odds", oddsTables())).to.equal(document);
  });

  it("notices another figure, and a missing mark", () => {
    expect(replaceSection(document.replace("| .181 |", "| .182 |"), "committee-odds", oddsTables())).to.equal(document);
    expect(document).to.contain("| .181 |");
    expect(() => replaceSection(document, "nothing", "")).to.throw(/nothing/);
  });
});
