import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { BACKING_STEPS, BACKING_VERSION } from "../../agents/core/phases/backing-steps.ts";
import type { Ppm } from "../../agents/core/types.ts";
import { certifiedOf, reliabilityOf, stepsOf, type Certified } from "../confidence/fit.ts";
import { readDecisions, type Recorded } from "../confidence/record.ts";
import { confidenceTables, splitOf, stepsModule } from "../confidence/report.ts";

const root = join(import.meta.dirname, "../..");
const DATA = join(root, "lab/confidence/decisions.csv");

/** Decisions about `count` questions, of which every `wrong`-th is wrong. */
function decisions(count: number, backing: number, wrong: number, first = 0): readonly Certified[] {
  return Array.from({ length: count }, (_, index) => ({
    seed: 1,
    question: first + index,
    suite: "rules",
    protocol: "clo",
    seats: 4,
    backing: backing as Ppm,
    right: index % wrong !== 0,
  }));
}

describe("confidence: the table", () => {
  it("CF10: the module and the docs are made of the recorded decisions", () => {
    const recorded = readDecisions(DATA);
    const steps = stepsOf(splitOf(recorded).fitted);
    assert.deepEqual(BACKING_STEPS, steps);
    const module = readFileSync(join(root, "agents/core/phases/backing-steps.ts"), "utf8");
    assert.equal(module, stepsModule(steps, BACKING_VERSION));
    assert.ok(readFileSync(join(root, "docs/spec/confidence.md"), "utf8").includes(confidenceTables(recorded)));
  });

  it("CF10: a question counts once in a step, and what is right of it is rounded down", () => {
    const once = [...decisions(30, 250_000, 2), ...decisions(30, 900_000, 10, 30)];
    const steps = [
      { from: 250_000, right: 15, of: 30 },
      { from: 900_000, right: 27, of: 30 },
    ];
    assert.deepEqual(stepsOf(once), steps);
    assert.deepEqual(stepsOf([...once, ...once, ...once]), steps);
  });

  it("CF10: what is right less often at a greater backing is one step", () => {
    const [step, ...others] = stepsOf([...decisions(30, 250_000, 10), ...decisions(30, 900_000, 2, 30)]);
    assert.deepEqual([step, others], [{ from: 250_000, right: 42, of: 60 }, []]);
  });

  it("CF10: the error is the distance between what is said and what is right", () => {
    const all = [...decisions(100, 250_000, 2), ...decisions(100, 900_000, 10, 100)];
    const said = (backing: Ppm): Ppm => (backing < 500_000 ? 600_000 : 900_000) as Ppm;
    const { error, interval, right, questions } = reliabilityOf(all, said);
    assert.ok(Math.abs(error - 0.05) < 1e-9);
    assert.ok(interval[0] < error && error < interval[1]);
    assert.deepEqual([right, questions], [0.7, 200]);
  });

  it("CF10: decisions of the least seed make the table, all others are held out; hung ones have no backing", () => {
    const hung: Recorded = { ...(decisions(1, 0, 1)[0] as Certified), backing: null, right: false };
    const [first, second] = [decisions(2, 500_000, 2), decisions(2, 500_000, 2).map((one) => ({ ...one, seed: 7 }))];
    const { fitted, heldOut } = splitOf([...second, ...first, hung, { ...hung, seed: 7 }]);
    assert.deepEqual(fitted, first);
    assert.deepEqual(certifiedOf(heldOut), second);
    assert.equal(heldOut.length, 3);
  });

  it("refuses a file of another form", async () => {
    const folder = await mkdtemp(join(tmpdir(), "confidence-"));
    const path = join(folder, "x.csv");
    writeFileSync(path, "a,b\n1,2\n");
    assert.throws(() => readDecisions(path), /its first line is not/);
    await rm(folder, { recursive: true });
  });
});
