import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { runReference } from "../references/mbft.ts";
import { emptyTally } from "../../agents/core/seat/tally.ts";
import { addRound, attemptFor } from "../../test/support/message-set.ts";
import { checkPort, measurePython } from "../bench/core/processes.ts";
import { referenceScenario, soundActs, steppedWorkload, workloads } from "../bench/core/workloads.ts";
import { stepDecision } from "../../sim/step-decision.ts";
import { assertAbove, assertFields } from "../../test/support/assertions.ts";

const vectors = join(import.meta.dirname, "../../test/vectors/mbft-reference.json");
const hasPython = spawnSync("python3", ["--version"]).status === 0;

describe("bench of the core", () => {
  it(
    hasPython ? "the Python port gets every mock case of the vectors right" : "says that Python is missing",
    async () => {
      if (hasPython) {
        const { right, cases } = await checkPort(vectors);
        assertAbove(cases, 90);
        assert.equal(right, cases);
      } else {
        const error = await checkPort(vectors).then(
          () => "",
          (reason: Error) => reason.message,
        );
        assert.match(error, /^Install python3/);
      }
    },
  );

  it("refuses a folder that is no checkout of the published repository", async () => {
    const scenario = referenceScenario(workloads[0]!);
    const error = await measurePython(scenario, 1, "/nope").then(
      () => "",
      (reason: Error) => reason.message,
    );
    assert.match(error, /--published .*\/nope\/src\/core\/protocol\.py is not there/);
  });

  for (const workload of workloads) {
    it(`"${workload.title}": every engine gets the same input, and the port and the reference mode agree`, async () => {
      const scenario = referenceScenario(workload);
      const { value, rounds } = runReference(scenario);
      if (hasPython) assertFields(await measurePython(scenario, 0.06, null), { value, rounds, engine: "port" });
      const attempt = attemptFor(mbft.code, 10, "normal");
      const conclusion = mbft.conclude(attempt, addRound(emptyTally, attempt, 0, soundActs(workload)));
      assert.equal(conclusion.kind === "final" && conclusion.outcome.answer, "yes");
    });

    it(`"${workload.title}": stepped seats decide as the built message set does`, () => {
      const attempt = attemptFor(mbft.code, 10, "normal");
      const built = mbft.conclude(attempt, addRound(emptyTally, attempt, 0, soundActs(workload)));
      const { certified } = stepDecision(steppedWorkload(workload, "certified", false));
      assert.equal(certified.length, 10);
      for (const { certificate } of certified) {
        const { answer, confidence, shares, reputationChanges } = certificate.decision;
        assertFields(built, {
          outcome: { ...(built.kind === "final" ? built.outcome : {}), answer, confidence, shares, reputationChanges },
        });
      }
    });
  }

  it("a bad signature stops a run that verifies", () => {
    const options = steppedWorkload(workloads[0]!, "deliberated", true);
    const [first, ...others] = options.attempt.committee;
    const committee = [{ ...first!, signer: others[0]!.signer }, ...others];
    assert.throws(() => stepDecision({ ...options, attempt: { ...options.attempt, committee } }), /signature/);
  });
});
