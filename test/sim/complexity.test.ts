import { expect } from "chai";
import { after, before, describe, it } from "node:test";
import { createPool, type Pool } from "../../agents/sim/pool.ts";
import { protocolCosts } from "../../scripts/lib/complexity/formulas.ts";

const SIZES = [4, 7, 10, 13];
const SEEDS = [1, 2, 3];

/** Certification of a proposal that everybody holds: one PROPOSE, then PREVOTE, PRECOMMIT and CERTIFICATE of every seat. */
const certification = (n: number): number => 3 * n + 1;

describe("complexity: what the simulator counts is what docs/spec/complexity.md says", () => {
  let pool: Pool;
  before(async () => {
    pool = await createPool(2, { realSignatures: false, mutant: null });
  });
  after(() => pool.close());

  for (const { id, agree } of protocolCosts) {
    it(`${id}: model calls, critical path and messages when nobody misbehaves`, async () => {
      for (const n of SIZES) {
        const options = {
          protocol: id,
          n,
          byzantine: 0,
          faults: [],
          byzantineKinds: [],
          kind: "boolean",
          errorPpm: 0,
        } as const;
        for (const result of await pool.run(options, SEEDS)) {
          const counted = {
            modelCalls: result.modelCalls,
            criticalPathCalls: result.criticalPathCalls,
            messages: result.frames / (n - 1) - certification(n),
          };
          const stated = {
            modelCalls: agree.modelCalls.of(n) ?? counted.modelCalls,
            criticalPathCalls: agree.criticalPathCalls.of(n) ?? counted.criticalPathCalls,
            messages: agree.messages.of(n) ?? counted.messages,
          };
          expect(counted, `n = ${n}, seed ${result.seed}`).to.deep.equal(stated);
        }
      }
    });
  }
});
