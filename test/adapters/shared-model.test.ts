import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sharedModel, toyModel } from "../../agents/cli/request/security.ts";

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
    const others = (count: number) => Array.from({ length: count }, (_, at) => agent(`other@${at}`));
    const same = [agent("m@1"), agent("m@1"), agent("m@1"), agent("m@1")];
    assert.match(String(sharedModel([...others(1), ...same])), /^4 of 5 agents .* model m@1:/);
    assert.equal(sharedModel([...others(2), ...same]), null);
    assert.equal(sharedModel([agent("m@1"), agent("m@1", false)]), null);
    assert.equal(sharedModel([]), null);
  });
});

describe("a request whose agents state the repository's small model", () => {
  it("is warned of, with how many can be drawn", () => {
    const toy = agent("conclave-small@0.4 sha256:36e57db8d41d920d");
    assert.match(String(toyModel([toy, agent("m@1"), { ...toy, asleep: true }])), /^1 of 2 agents .* six families/);
    for (const name of ["tiny", "lean", "slim"])
      assert.match(String(toyModel([agent(`conclave-${name}@1`)])), /^1 of 1/);
    assert.equal(toyModel([agent("m@1"), agent("no-conclave-small@1"), { ...toy, active: false }]), null);
  });
});
