import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { wayOut } from "../../agents/cli/shared/reasons.ts";

const root = join(import.meta.dirname, "../..");

describe("docs/reasons.md", () => {
  it("explains every error code, and no other", async () => {
    const source = await readFile(join(root, "agents/core/errors.ts"), "utf8");
    const union = [...source.matchAll(/^ {2}\| "([A-Z_]+)"/gm)].map(([, code]) => code);
    const text = await readFile(join(root, "docs/reasons.md"), "utf8");
    const sections = text.split(/^### /m).slice(1);
    const documented = sections.map((section) => section.split("\n")[0]);
    assert.ok(union.length > 25);
    assert.deepEqual(
      documented.toSorted((a = "", b = "") => (a < b ? -1 : 1)),
      union.toSorted((a = "", b = "") => (a < b ? -1 : 1)),
    );
    for (const section of sections) assert.ok(section.split("\n").slice(1).join(" ").trim().length > 60, section);
  });

  it("the command line knows a way out of each", async () => {
    const source = await readFile(join(root, "agents/core/errors.ts"), "utf8");
    const union = [...source.matchAll(/^ {2}\| "([A-Z_]+)"/gm)].map(([, code]) => code);
    assert.deepEqual(
      Object.keys(wayOut).toSorted((a = "", b = "") => (a < b ? -1 : 1)),
      union.toSorted((a = "", b = "") => (a < b ? -1 : 1)),
    );
  });
});
