import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { protocols } from "../../agents/core/protocols/index.ts";
import { assertAbove, assertFields } from "../../test/support/assertions.ts";
import { tool } from "../../test/support/tool.ts";

const lab = tool("lab/main.ts");

describe("bench:committee", () => {
  it("counts the calls and tokens of four seats that share one model", async () => {
    const model = "models/conclave-tiny.gguf";
    const { code, out } = await lab(..."bench committee --seats 4 --questions 2 --json --model".split(" "), model);
    assert.equal(code, 0);
    const report = JSON.parse(out) as { reports: readonly Record<string, number>[] };
    assertFields(report, { protocol: "mbft", model, questions: 2 });
    assert.equal(report.reports.length, 1);
    const { seats, calls = 0, failedCalls, decided, promptTokens = 0, outputTokens = 0 } = report.reports[0] ?? {};
    assert.deepEqual({ seats, failedCalls, decided }, { seats: 4, failedCalls: 0, decided: 2 });
    // Each seat answers each question once at least, and a prompt holds more than its answer.
    assertAbove(calls, 7);
    assertAbove(outputTokens, calls);
    assertAbove(promptTokens, outputTokens);
  });

  it("refuses an unknown protocol with the names of all, and too few seats", async () => {
    const unknown = await lab("bench", "committee", "--protocol", "pbft");
    assert.equal(unknown.code, 2);
    for (const { id } of protocols) assert.match(unknown.err, new RegExp(`\\b${id}\\b`));
    const few = await lab("bench", "committee", "--seats", "4,3");
    assert.equal(few.code, 2);
    assert.match(few.err, /--seats.*from 4 to 64/);
  });
});
