// docs/spec/certify.qnt and agents/core/seat/certify do the same in many runs, and a fault planted in either is found.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { MODEL } from "../../scripts/spec/quint.ts";
import { mutants } from "../../sim/mutants.ts";
import { differenceIn, refusalOf, simulate, type ModelRun } from "../support/core/certify-runs.ts";

const SEED = 3;
const RUNS = 30;
/** Runs of the core in which the planted faults show, and one more. */
const CORE_SEEDS = [
  [1, 4],
  [10, 85],
  [112, 439],
  [441, 2],
];

/**
 * Planted faults of the core, each with a seeded run of the core that the model does not allow. The model tells nothing of evidence, of
 * signatures that are bad, or of what is handed on.
 */
const plantedInCore: Readonly<Record<string, number>> = {
  CE5: 1,
  CE6: 85,
  "CE7-lock": 441,
  "CE7-valid": 112,
  "CE8-double": 10,
  CE12: 4,
};

interface PlantedInModel {
  readonly fault: string;
  /** Text that occurs once in the model. */
  readonly find: string;
  readonly replace: string;
  /** A run of the core that the model then refuses; null: an invariant notices. */
  readonly seed: number | null;
}

const plantedInModel: readonly PlantedInModel[] = [
  {
    fault: "a third of the seats is a quorum",
    find: "3 * voters.size() > 2 * N",
    replace: "3 * voters.size() > N",
    seed: 1,
  },
  {
    fault: "a seat that has voted votes again once the wait for a proposal ends",
    find: 'if (timer == "propose" and after.step == "propose")',
    replace: 'if (timer == "propose")',
    seed: null,
  },
  {
    fault: "a root that replay refuses is voted for",
    find: 'if (seat.bad.contains(m.root)) prevote(seat, "nil")',
    replace: "if (seat.bad.contains(m.root)) prevote(seat, m.root)",
    seed: null,
  },
  {
    fault: "a seat judges a proposal twice",
    find: 'if (seat.step != "propose" or proposals.length() == 0) seat',
    replace: 'if (seat.step == "precommit" or proposals.length() == 0) seat',
    seed: 1,
  },
  {
    fault: "a locked seat votes for another fresh root",
    find: "if (seat.locked != NO_LOCK and seat.locked.root != root)",
    replace: "if (false)",
    seed: 441,
  },
  {
    fault: "a root that leaves something out is voted for",
    find: 'else if (seat.inTime == "A" and root == "B")',
    replace: "else if (false)",
    seed: 1,
  },
  { fault: "who voted twice counts for the first vote", find: "votes.length() > 1 or (", replace: "(", seed: 10 },
  {
    fault: "a late polka makes nothing valid",
    find: "ballot > one.valid.ballot and isPolka",
    replace: "false and isPolka",
    seed: 439,
  },
  {
    fault: "one seat alone makes others skip a ballot",
    find: "holdsHonest(speakersIn(seat, m.ballot))",
    replace: "true",
    seed: 1,
  },
  {
    fault: "a root is voted for again without its polka",
    find: "isPolka(seat, m.valid, m.root)",
    replace: "true",
    seed: 85,
  },
];

let runs: readonly ModelRun[];

describe("the model of certify in many runs", () => {
  before(async () => {
    const simulated = await simulate(MODEL, { seed: SEED, runs: RUNS });
    assert.equal(simulated.violation, null);
    ({ runs } = simulated);
  });

  it("comes to decisions, in later ballots, too", () => {
    const ends = runs.map((run) => [...run.at(-1)!.seats.values()].filter(({ decided }) => decided.ballot >= 0));
    assert.ok(ends.some((decided) => decided.some(({ decided: { ballot } }) => ballot > 0)));
    assert.ok(ends.filter((decided) => decided.length > 0).length >= RUNS / 10);
  });

  it("is what the core does", () => {
    assert.deepEqual(
      runs.map(differenceIn).filter((one) => one !== null),
      [],
    );
  });

  for (const seeds of CORE_SEEDS)
    it(`allows what the core does with the seeds ${seeds.join()}`, async () => {
      assert.equal(await refusalOf(seeds), null);
    });

  for (const [id, seed] of Object.entries(plantedInCore))
    it(`finds ${id} in the core`, async () => {
      const worker = new Worker(new URL("fixtures/planted-core.ts", import.meta.url), {
        workerData: { mutant: mutants.find((mutant) => mutant.id === id), seed },
      });
      const [refusal] = (await once(worker, "message")) as [string | null];
      assert.notEqual(refusal, null);
    });

  for (const { fault, find, replace, seed } of plantedInModel)
    it(`finds in the model that ${fault}`, async () => {
      const parts = (await readFile(MODEL, "utf8")).split(find);
      assert.equal(parts.length, 2, `the text occurs ${parts.length - 1} times`);
      const folder = await mkdtemp(join(tmpdir(), "conclave-planted-"));
      try {
        const file = join(folder, "certify.qnt");
        await writeFile(file, parts.join(replace));
        if (seed === null) assert.notEqual((await simulate(file, { seed: SEED, runs: RUNS })).violation, null);
        else assert.notEqual(await refusalOf([seed], file), null);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
});
