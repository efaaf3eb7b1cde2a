import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { CHAIR_VERSION } from "../../agents/core/phases/chair.ts";
import { BACKING_VERSION } from "../../agents/core/phases/backing-steps.ts";
import { SOURCES_VERSION } from "../../agents/core/phases/gather.ts";
import { PAY_VERSION } from "../../agents/core/phases/pay.ts";
import { SCORES_VERSION } from "../../agents/core/phases/scores.ts";
import { PROMPT_VERSIONS } from "../../agents/core/prompts/prompt.ts";
import { TASKS_VERSION } from "../../agents/core/prompts/task-prompt.ts";
import { protocolById, protocols } from "../../agents/core/protocols/index.ts";

const SPECS = new URL("../../docs/spec/", import.meta.url);
/** The versions that every protocol builds on. */
const SHARED = ["tasks", "small prompts", "general prompts", "pay"];

function current(name: string): number | undefined {
  const shared: Readonly<Record<string, number>> = {
    tasks: TASKS_VERSION,
    "small prompts": PROMPT_VERSIONS.small,
    "general prompts": PROMPT_VERSIONS.general,
    pay: PAY_VERSION,
    sources: SOURCES_VERSION,
    scores: SCORES_VERSION,
    chair: CHAIR_VERSION,
    backing: BACKING_VERSION,
  };
  return shared[name] ?? protocolById(name)?.version;
}

/** What the first lines of a page of the spec say of a protocol. */
function specOf(page: string) {
  const text = readFileSync(new URL(page, SPECS), "utf8");
  const [, id, code] = /^Protocol id `([^`]+)`, on-chain code (\d+)\b/m.exec(text) ?? [];
  const [, version, others = ""] = /^Version (\d+), with (.+)\.$/m.exec(text) ?? [];
  const buildsOn = others.split(", ").map((other) => {
    const [, name = other, pinned] = /^(.+) (\d+)$/.exec(other) ?? [];
    return [name, Number(pinned)] as const;
  });
  return { id, code: Number(code), version: Number(version), buildsOn };
}

describe("protocol versions", () => {
  it("a page of the spec describes each protocol, and no other", () => {
    const described = readdirSync(SPECS).flatMap((page) => specOf(page).id ?? []);
    assert.deepEqual(described.toSorted(), protocols.map(({ id }) => id).toSorted());
  });

  for (const { id, code, version, readsSources } of protocols)
    it(`${id} records the version that docs/spec/${id}.md says, and none that it builds on has moved without it`, () => {
      const spec = specOf(`${id}.md`);
      assert.deepEqual([spec.id, spec.code, spec.version], [id, code, version]);
      for (const name of readsSources ? [...SHARED, "sources"] : SHARED)
        assert.ok(
          spec.buildsOn.some(([other]) => other === name),
          `${id} builds on ${name}`,
        );
      for (const [name, pinned] of spec.buildsOn)
        assert.equal(current(name), pinned, `${name} moved: raise the version of ${id}, then say both in its page`);
    });
});
