import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { utf8 } from "../../agents/core/encoding/bytes.ts";
import { excerptsOf } from "../../agents/core/sources/excerpt.ts";
import { readText } from "../../agents/core/sources/reading.ts";
import { passagesOf } from "../../agents/core/sources/passages.ts";
import { assertAtMost } from "../support/assertions.ts";

const page = Array.from(
  { length: 300 },
  (_, index) =>
    `Section ${index}. The council met in room ${index % 9} and heard reports about roads, schools and parks.`,
);

describe("sources: what a model is shown of a long text", () => {
  it("SG7: a text that fits is shown whole", () => {
    assert.equal(excerptsOf(readText("One.\nTwo."), "one?")(9), "One.\nTwo.");
  });

  it("SG7: of a longer one the passages that rank highest for the question are shown, in their order", () => {
    const told = "The licence for the export of drones was granted to Acme on 4 May.";
    for (const at of [0, 150, 299]) {
      const text = page.with(at, told).join("\n");
      const shown = excerptsOf(readText(text), "When was Acme granted a licence for drones?")(4_096);
      assert.ok(shown.includes(told), `${at}`);
      assertAtMost(utf8(shown).length, 4_096);
      const parts = shown.split("[...]\n").filter((part) => part !== "");
      const places = parts.map((part) => text.indexOf(part.trimEnd()));
      assert.ok(
        places.every((place, index) => place >= 0 && place > (places[index - 1] ?? -1)),
        String(places),
      );
    }
  });

  it("SG7: a question that says one word thousands of times takes no longer than one that says it once", () => {
    const text = readText(Array.from({ length: 5_000 }, (_, at) => `A line ${at} says a thing.`).join("\n"));
    const [once, often] = [1, 4_000].map((times) => {
      const before = process.memoryUsage().heapUsed;
      const shown = excerptsOf(text, "a ".repeat(times))(4_096);
      return { shown, bytes: process.memoryUsage().heapUsed - before };
    });
    assert.equal(often?.shown, once?.shown);
    assertAtMost(often?.bytes ?? Infinity, 200_000_000);
  });

  it("SG7: a question without a word of the text is shown the beginning", () => {
    const shown = excerptsOf(readText(page.join("\n")), "???")(4_096);
    assert.ok(shown.startsWith(passagesOf(page.join("\n"))[0] as string));
  });

  it("SG7: where no passage fits, the likeliest line of the likeliest one is shown, or its beginning", () => {
    const told = `The licence for drones ${"was granted to Acme ".repeat(20)}`.trim();
    const shown = excerptsOf(readText(page.with(200, told).join("\n")), "Who has the licence for drones?");
    const [before, line = "", after] = shown(240).split("[...]\n");
    assert.deepEqual([before, after], ["", ""]);
    assert.ok(told.startsWith(`${line.trimEnd()} `), line);
    assertAtMost(200, line.length);
    const number = excerptsOf(
      readText(page.with(200, `The drones cost ${"very ".repeat(100)}7654321 EUR.`).join("\n")),
      "Drones?",
    );
    for (let most = 60; most < 600; most += 1)
      assert.ok(!number(most).replace("7654321", "").includes("76"), `${most}`);
  });

  it("SG7: whatever the text and the question, what is shown fits", () => {
    const line = fc.string({ unit: "grapheme", maxLength: 400 });
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 60 }),
        fc.string(),
        fc.integer({ min: 16, max: 4_096 }),
        (lines, question, most) => {
          assertAtMost(utf8(excerptsOf(readText(lines.join("\n")), question)(most)).length, most);
        },
      ),
    );
  });
});
