import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { utf8 } from "../../agents/core/encoding/bytes.ts";
import { limits } from "../../agents/core/limits.ts";
import { showing } from "../../agents/core/phases/reading-steps.ts";
import { shortened, type Wording } from "../../agents/core/prompts/prompt.ts";
import { citing, withSources } from "../../agents/core/prompts/source-prompt.ts";
import { proposePrompt, revisePrompt } from "../../agents/core/prompts/task-prompt.ts";
import { readText } from "../../agents/core/sources/reading.ts";
import type { Attempt } from "../../agents/core/types.ts";
import { assertAtMost } from "../support/assertions.ts";
import { attemptOf } from "../support/core/committee.ts";

const TOLD = "Drones: licence granted to Acme.";
const LONG = [...Array.from({ length: 3_000 }, (_, at) => `Section ${at}: roads, schools and parks.`), TOLD].join("\n");

/** What is asked first, and after each failure for its length. */
function wordings(texts: readonly string[], task: "propose" | "revise"): readonly Wording[] {
  const asked = attemptOf(4);
  const attempt: Attempt = { ...asked, request: { ...asked.request, question: "Was a licence for drones granted?" } };
  const bare = task === "propose" ? proposePrompt(attempt) : revisePrompt(attempt, null, ["x".repeat(500)]);
  const calls = showing(attempt, texts.map(readText), [{ about: [], prompt: bare }], ({ prompt }, shown) =>
    task === "propose" ? citing(attempt, prompt, shown) : withSources(prompt, shown),
  );
  const all: Wording[] = [];
  for (let one: Wording | null = calls[0]!.prompt.small; one !== null; one = shortened(one, "prompt-too-long"))
    all.push(one);
  return all;
}

const forms = (...asked: Parameters<typeof wordings>): readonly string[] => wordings(...asked).map(({ user }) => user);

describe("sources: what is shown to a model that a prompt does not fit", () => {
  it("SG7: ever less of a long text, the likeliest passage to the last", () => {
    const users = forms([LONG], "propose");
    assert.equal(users.length, limits.shownSourceBytes.length);
    for (const [at, most] of limits.shownSourceBytes.entries()) {
      assert.ok(users[at]!.includes(TOLD));
      assertAtMost(utf8(users[at]!).length, most * 1.05 + 200);
    }
  });

  it("P9: after an answer that was cut off less is shown once, as a loop has no end", () => {
    const [first] = wordings([LONG], "propose");
    const again = shortened(first!, "truncated")!;
    assert.ok(again.user.length < first!.user.length);
    for (const failure of ["truncated", "prompt-too-long"]) assert.equal(shortened(again, failure), null);
  });

  it("SG7: all of what fits into the shortest form, which is asked once", () => {
    assert.equal(forms(["A short text."], "propose").length, 1);
  });

  it("SG7: of several sources each has the same part", () => {
    const users = forms([LONG, LONG, "A short text."], "propose");
    const last = users.at(-1)!;
    assert.equal(last.split(TOLD).length, 3);
    assert.ok(last.includes("A short text."));
    assertAtMost(utf8(last).length, 440);
  });

  it("P9, SG7: peers' texts are cut before the sources are, and stay so", () => {
    const users = forms([LONG], "revise");
    assert.equal(users.length, 1 + limits.shownSourceBytes.length);
    assert.deepEqual(
      users.map((user) => user.includes("x".repeat(500))),
      [true, false, false, false, false],
    );
    for (const [at, user] of users.entries())
      assert.ok(user.length < (users[at - 1]?.length ?? Infinity), `${at}: ${user.length}`);
  });
});
