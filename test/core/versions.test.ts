import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CHAIR_VERSION } from "../../agents/core/phases/chair.ts";
import { BACKING_VERSION } from "../../agents/core/phases/backing-steps.ts";
import { SOURCES_VERSION } from "../../agents/core/phases/gather.ts";
import { PAY_VERSION } from "../../agents/core/phases/pay.ts";
import { SCORES_VERSION } from "../../agents/core/phases/scores.ts";
import { PROMPT_VERSIONS } from "../../agents/core/prompts/prompt.ts";
import { TASKS_VERSION } from "../../agents/core/prompts/task-prompt.ts";
import { protocolById, protocols } from "../../agents/core/protocols/index.ts";

/**
 * The versions in force: [what it is, its version, the versions it builds on]. Raise a version, then this table. A
 * protocol of version 1 needs no row: it counts as built on all that protocols share.
 */
const TASKS = { tasks: 3, "small prompts": 2, "general prompts": 1, pay: 4 };
const READING = { ...TASKS, sources: 3 };
const BACKED = { ...READING, backing: 1 };
const SCORES = { ...READING, scores: 3 };
const CHAIR = { ...TASKS, chair: 7 };
const TABLE: readonly (readonly [id: string, version: number, buildsOn: Readonly<Record<string, number>>])[] = [
  ["mbft", 14, BACKED],
  ["mbft-bayesian", 12, BACKED],
  ["wbft", 12, { ...SCORES, backing: 1 }],
  ["leaderless", 11, SCORES],
  ["hashgraph", 13, TASKS],
  ["unanimous", 11, READING],
  ["council", 7, CHAIR],
  ["debate", 7, CHAIR],
  ["adversarial", 7, CHAIR],
  ["escalating", 16, { ...READING, ...CHAIR, mbft: 14, backing: 1 }],
  ["clo", 5, { ...BACKED, mbft: 14 }],
];

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

const unlisted = protocols.filter(({ id }) => !TABLE.some(([listed]) => listed === id));
const rows: typeof TABLE = [...TABLE, ...unlisted.map(({ id }) => [id, 1, { ...SCORES, ...CHAIR }] as const)];

describe("protocol versions", () => {
  it("the table names no protocol that does not exist", () => {
    assert.deepEqual(
      TABLE.map(([id]) => id).filter((id) => protocolById(id) === null),
      [],
    );
  });

  for (const [id, version, buildsOn] of rows)
    it(`${id} records version ${version}, and no version that it builds on has moved without it`, () => {
      assert.equal(protocolById(id)?.version, version);
      for (const [name, pinned] of Object.entries(buildsOn))
        assert.equal(current(name), pinned, `${name} moved: raise the version of ${id}, then pin both here`);
    });
});
