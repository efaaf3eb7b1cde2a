// Strangers' texts on the terminal: they neither steer it nor hide or cover anything.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { printable, toJson } from "../../agents/cli/shared/output.ts";

/** Invisible, and no format character of Unicode's: fillers, a joiner of graphemes, selectors of forms, an empty Braille cell. */
const FILLERS = "\u3164\u115f\u1160\uffa0\u034f\u17b4\u180b\ufe0f\u{e0100}\u2800";

describe("printable text", () => {
  it("shows what is invisible, and leaves what is not", () => {
    const named = "\\u3164\\u115f\\u1160\\uffa0\\u034f\\u17b4\\u180b\\ufe0f\\u{e0100}\\u2800";
    assert.equal(printable(`a${FILLERS}b`), `a${named}b`);
    for (const text of ["Ist 7 größer?", "안녕", "क्षि", "שָׁלוֹם", "e\u0301", "中　文"])
      assert.equal(printable(text), text);
  });

  it("shows no more than 30 marks on a character, and names the others", () => {
    const pile = "\u0301".repeat(1_000);
    assert.equal(printable(`a${pile}b`), `a${pile.slice(0, 30)}${"\\u0301".repeat(970)}b`);
  });

  it("writes JSON that says the same", () => {
    const text = `a${FILLERS}${"\u0301".repeat(40)}\u{1e8d0}"`;
    const json = toJson({ text });
    assert.deepEqual(JSON.parse(json), { text });
    assert.doesNotMatch(json, /\u3164|\p{M}{31}/u);
  });
});
