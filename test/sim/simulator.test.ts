import { expect } from "chai";
import { after, before, describe, it } from "node:test";
import { protocols } from "../../agents/core/protocols/index.ts";
import type { SeedResult } from "../../sim/batch.ts";
import { BYZANTINE_KINDS, FAULTS, type ByzantineKind, type Fault, type SimOptions } from "../../sim/options.ts";
import { createPlan } from "../../sim/plan.ts";
import { createPool, type Pool } from "../../sim/pool.ts";

const options: SimOptions = {
  protocol: "mbft",
  n: 4,
  byzantine: 1,
  faults: FAULTS,
  byzantineKinds: BYZANTINE_KINDS,
  kind: null,
  errorPpm: 0,
};
const seeds = (count: number, first = 1): readonly number[] =>
  Array.from({ length: count }, (_, index) => first + index);
const described = (results: readonly SeedResult[]): readonly string[] =>
  results.flatMap(({ seed, violations }) => violations.map(({ checker, message }) => `${seed} ${checker}: ${message}`));

describe("simulator", () => {
  let pool: Pool;
  before(async () => {
    pool = await createPool(2, { realSignatures: false, mutant: null });
  });
  after(() => pool.close());

  it("SM1: a seed is one world, whatever ran before it and in whichever thread", async () => {
    const first = await pool.run(options, seeds(12));
    const again = await pool.run(options, seeds(12).toReversed());
    const key = ({ seed, hash, frames, virtualMs }: SeedResult) => ({ seed, hash, frames, virtualMs });
    expect(again.map(key)).to.deep.equal(first.map(key));
    expect(new Set(first.map(({ hash }) => hash)).size).to.equal(12);
  });

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
    it(`SM2: ${fault} strikes, alone, and nothing else does`, async () => {
      const results = await pool.run({ ...options, byzantine: 0, faults: [fault] }, seeds(fault === "model" ? 60 : 24));
      const counted = new Set(results.flatMap(({ counts }) => Object.keys(counts)));
      for (const what of struck[fault]) if (what !== "lost tail") expect([...counted], fault).to.include(what);
      expect([...counted].filter((what) => !struck[fault].includes(what))).to.deep.equal([]);
      expect(described(results)).to.deep.equal([]);
      if (fault === "skew") {
        const calm = await pool.run({ ...options, byzantine: 0, faults: [] }, seeds(24));
        expect(results.map(({ hash }) => hash)).not.to.deep.equal(calm.map(({ hash }) => hash));
        expect(new Set(createPlan({ ...options, faults: ["skew"] }, 1).speedPpm).size).to.be.greaterThan(1);
      }
    });

  it("SM2: without faults and Byzantine seats mbft decides; where all are in time, by one call on the critical path", async () => {
    const results = await pool.run({ ...options, byzantine: 0, faults: [], kind: "boolean" }, seeds(20));
    expect(results.map(({ status }) => status)).to.deep.equal(results.map(() => "decided"));
    const punctual = results.filter(({ modelCalls }) => modelCalls === 4);
    expect(punctual.length).to.be.greaterThan(5);
    for (const { criticalPathCalls } of punctual) expect(criticalPathCalls).to.equal(1);
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
    it(`${kind}: does what it is for, and breaks nothing with f = 1`, async () => {
      const bent = { ...options, byzantineKinds: [kind], faults: kind === "censoring-proposer" ? FAULTS : [] };
      const results = await pool.run(bent, seeds(40));
      const counted = new Set(results.flatMap(({ counts }) => Object.keys(counts)));
      for (const what of misdeeds[kind] ?? []) expect([...counted]).to.include(what);
      expect(described(results)).to.deep.equal([]);
      // A bent mind makes others verify, judge or revise.
      const honest = await pool.run({ ...bent, byzantine: 0 }, seeds(40));
      expect(results.map(({ hash }) => hash)).not.to.deep.equal(honest.map(({ hash }) => hash));
    });

  it("forking-gossiper of hashgraph: has two faces or claims what is free to claim; without faults all decide", async () => {
    const bent: SimOptions = { ...options, protocol: "hashgraph", byzantineKinds: ["forking-gossiper"], faults: [] };
    const results = await pool.run(bent, seeds(24));
    const counted = new Set(results.flatMap(({ counts }) => Object.keys(counts)));
    for (const what of ["first twin", "second twin", "free claim"]) expect([...counted]).to.include(what);
    expect(described(results)).to.deep.equal([]);
    expect(new Set(results.map(({ status }) => status))).to.deep.equal(new Set(["decided"]));
  });

  it("more than f liars do break it, and the checkers that promise something for K <= f stay silent", async () => {
    const results = await pool.run({ ...options, byzantine: 3, byzantineKinds: ["lying"], faults: [] }, seeds(10));
    expect(results.map(({ status }) => status)).to.include("decided");
    expect(described(results).filter((text) => /validity|termination/.test(text))).to.deep.equal([]);
  });

  it("real signatures: the same course of events, other bytes", async () => {
    const real = await createPool(1, { realSignatures: true, mutant: null });
    try {
      const [slow] = await real.run({ ...options, faults: ["reorder"] }, [3]);
      const [fast] = await pool.run({ ...options, faults: ["reorder"] }, [3]);
      expect(slow?.violations).to.deep.equal([]);
      expect(slow?.status).to.equal(fast?.status);
    } finally {
      await real.close();
    }
  });

  for (const { id } of protocols)
    for (const n of [4, 7])
      it(`${id}, n = ${n}, K = f, all faults, all kinds: no violation`, { timeout: 240_000 }, async () => {
        const results = await pool.run(
          { ...options, protocol: id, n, byzantine: (n - 1) / 3 },
          seeds(n === 4 ? 25 : 10),
        );
        expect(described(results)).to.deep.equal([]);
      });
});
