import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sharedModel } from "../../agents/cli/request/security.ts";

const agent = (model: string, active = true, asleep = false) => ({ model, active, asleep });

describe("a request whose agents all state one model", () => {
  it("is warned of, whoever cannot be drawn", () => {
    assert.match(String(sharedModel([agent("m@1"), agent("m@1")])), /^all 2 agents .* model m@1:/);
    const others = [agent("other", false), agent("other", true, true)];
    assert.match(String(sharedModel([agent("m@1"), agent("m@1"), ...others])), /^all 2 agents/);
    assert.match(String(sharedModel([agent("m\u202e"), agent("m\u202e")])), /model m[^\u202e]*:/);
  });

  it("is not, if two models can be drawn, or fewer than two agents", () => {
    assert.equal(sharedModel([agent("m@1"), agent("m@2")]), null);
    assert.equal(sharedModel([agent("m@1"), agent("m@1", false)]), null);
    assert.equal(sharedModel([]), null);
  });
});
