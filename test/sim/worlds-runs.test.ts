// Seeded worlds of every fault, misdeed and protocol.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { protocols } from "../../agents/core/protocols/index.ts";
import {
  BYZANTINE_KINDS,
  FAULTS,
  SOURCE_FAULTS,
  type ByzantineKind,
  type Fault,
  type SimOptions,
} from "../../sim/options.ts";
import { createPlan } from "../../sim/plan.ts";
import { createPool, type Pool } from "../../sim/pool.ts";
import { assertAbove, assertIncludes } from "../support/assertions.ts";
import { described, options, seeds } from "./worlds.ts";

/** How many seeds are played. Every run plays the same ones; `npm run sim` plays others. */
const SEEDS = {
  fault: 12,
  modelFault: 60,
  misdeed: 20,
  gossip: 12,
  erring: 10,
  ofFour: 10,
  ofSeven: 5,
  readingOfFour: 20,
  readingOfSeven: 5,
} as const;

describe("simulator, many worlds", () => {
  let pool: Pool;
  before(async () => {
    pool = await createPool(2, { realSignatures: false, mutant: null });
  });
  after(() => pool.close());

  const struck: Readonly<Record<Fault, readonly string[]>> = {
    drop: ["drop", "targeted drop"],
    delay: ["delay"],
    reorder: ["reorder"],
    duplicate: ["duplicate"],
    partition: ["cut"],
    crash: ["crash", "lost tail"],
    skew: [],
    model: ["model rate-limit", "model timeout", "model unparsable", "model crashed"],
    storm: ["targeted drop"],
  };
  for (const fault of FAULTS)
    it(`SM2: ${fault} strikes alone`, async () => {
      const results = await pool.run(
        { ...options, byzantine: 0, faults: [fault] },
        seeds(fault === "model" ? SEEDS.modelFault : SEEDS.fault),
      );
      const counted = new Set(results.flatMap(({ counts }) => Object.keys(counts)));
      for (const what of struck[fault]) if (what !== "lost tail") assertIncludes([...counted], what, fault);
      assert.deepEqual(
        [...counted].filter((what) => !struck[fault].includes(what)),
        [],
      );
      assert.deepEqual(described(results), []);
      if (fault === "skew") {
        const calm = await pool.run({ ...options, byzantine: 0, faults: [] }, seeds(SEEDS.fault));
        assert.notDeepEqual(
          results.map(({ hash }) => hash),
          calm.map(({ hash }) => hash),
        );
        assertAbove(new Set(createPlan({ ...options, faults: ["skew"] }, 1).speedPpm).size, 1);
      }
    });

  const misdeeds: Partial<Record<ByzantineKind, readonly string[]>> = {
    silent: ["silent"],
    equivocating: ["equivocation"],
    twin: ["first twin", "second twin"],
    "forking-gossiper": ["first twin", "second twin"],
    "double-voter": ["double vote"],
    "late-revealer": ["late"],
    "censoring-proposer": ["censored", "not relayed"],
    replayer: ["replay", "replay elsewhere"],
    malformed: ["malformed"],
  };
  for (const kind of BYZANTINE_KINDS)
    it(`${kind}: does its misdeed, and breaks nothing with f = 1`, async () => {
      const bent = { ...options, byzantineKinds: [kind], faults: kind === "censoring-proposer" ? FAULTS : [] };
      const results = await pool.run(bent, seeds(SEEDS.misdeed));
      const counted = new Set(results.flatMap(({ counts }) => Object.keys(counts)));
      for (const what of misdeeds[kind] ?? []) assertIncludes([...counted], what);
      assert.deepEqual(described(results), []);
      // A Byzantine mind makes others verify, judge or revise.
      const honest = await pool.run({ ...bent, byzantine: 0 }, seeds(SEEDS.misdeed));
      assert.notDeepEqual(
        results.map(({ hash }) => hash),
        honest.map(({ hash }) => hash),
      );
    });

  it("forking-gossiper of hashgraph: forks or makes free claims; without faults all decide", async () => {
    const bent: SimOptions = { ...options, protocol: "hashgraph", byzantineKinds: ["forking-gossiper"], faults: [] };
    const results = await pool.run(bent, seeds(SEEDS.gossip));
    const counted = new Set(results.flatMap(({ counts }) => Object.keys(counts)));
    for (const what of ["first twin", "second twin", "free claim"]) assertIncludes([...counted], what);
    assert.deepEqual(described(results), []);
    assert.deepEqual(new Set(results.map(({ status }) => status)), new Set(["decided"]));
  });

  for (const { id } of protocols)
    for (const n of [4, 7])
      it(`${id}, n = ${n}, K = f, all faults, all kinds: no violation`, async () => {
        const results = await pool.run(
          { ...options, protocol: id, n, byzantine: (n - 1) / 3 },
          seeds(n === 4 ? SEEDS.ofFour : SEEDS.ofSeven),
        );
        assert.deepEqual(described(results), []);
      });

  for (const { id } of protocols)
    it(`${id}, n = 4, K = 1, honest models err in two of five answers: no violation`, async () => {
      const erring = { ...options, protocol: id, byzantine: 1, errorPpm: 400_000 };
      assert.deepEqual(described(await pool.run(erring, seeds(SEEDS.erring))), []);
    });

  for (const fault of SOURCE_FAULTS)
    it(`SM8: ${fault}: pages show themselves so, and nothing is decided but what they tell`, async () => {
      const reading: SimOptions = { ...options, byzantine: 0, faults: [], sources: [fault] };
      const results = await pool.run(reading, seeds(SEEDS.fault));
      assert.deepEqual(described(results), []);
      const counted = new Set(results.flatMap(({ counts }) => Object.keys(counts)));
      assertIncludes([...counted], `page ${fault}`);
      const statuses = new Set(results.map(({ status }) => status));
      // What is told to all but f seats is decided; what differs, is gone or comes too late is not, in some worlds.
      if (fault === "right" || fault === "poisoned") assert.deepEqual([...statuses], ["decided"]);
      else assert.ok(statuses.has("hung") || statuses.has("unanswerable"), [...statuses].join(", "));
      if (fault === "gone") {
        assertIncludes([...statuses], "tooEarly");
        assertIncludes([...counted], "page early");
      }
    });

  it("SM9: Byzantine seats lie of sources in every way", async () => {
    const reading: SimOptions = { ...options, faults: [], byzantineKinds: ["lying"], sources: SOURCE_FAULTS };
    const results = await pool.run(reading, seeds(SEEDS.misdeed));
    const counted = new Set(results.flatMap(({ counts }) => Object.keys(counts)));
    for (const what of ["false reading", "deaf", "false citation", "changed citation"])
      assertIncludes([...counted], what);
    assert.deepEqual(described(results), []);
  });

  for (const { id } of protocols.filter(({ readsSources }) => readsSources))
    for (const n of [4, 7])
      it(`${id}, n = ${n}, K = f, questions with sources: no violation`, async () => {
        const results = await pool.run(
          { ...options, protocol: id, n, byzantine: (n - 1) / 3, sources: SOURCE_FAULTS },
          seeds(n === 4 ? SEEDS.readingOfFour : SEEDS.readingOfSeven),
        );
        assert.deepEqual(described(results), []);
      });
});
