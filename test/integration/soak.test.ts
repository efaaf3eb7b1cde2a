// `npm run soak`: what it breaks, samples and concludes.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { growthOf, type Point } from "../../chaos/soak/growth.ts";
import { mildChaos } from "../../chaos/soak/mild.ts";
import { percentilesOf } from "../../chaos/soak/report.ts";
import { sampleAgent } from "../../chaos/soak/samples.ts";
import { createRandom, type Random } from "../../sim/random.ts";
import { assertAtLeast, assertBelow } from "../support/assertions.ts";

/** Samples of an hour, with noise of one unit each way. */
function life(random: Random, valueAt: (hours: number) => number, count = 60): readonly Point[] {
  return Array.from({ length: count }, (_, index) => {
    const hours = index / count;
    return { hours, value: valueAt(hours) + random.between(-1_000, 1_000) / 1_000 };
  });
}

describe("the growth of a resource", () => {
  it("is found in the lives of several processes, each with a level of its own, and not in noise", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = createRandom(seed, "growth");
      const levels = [200, 350, 300];
      const growing = growthOf(levels.map((level) => life(random, (hours) => level + 10 * hours)));
      assert.ok(growing !== null);
      assertAtLeast(growing.low, 7);
      assertBelow(growing.high, 13);
      const flat = growthOf(levels.map((level) => life(random, () => level)));
      assert.ok(flat !== null);
      assertBelow(Math.abs(flat.perHour), 2);
    }
  });

  it("leaves the first third of each life out, in which a process warms up", () => {
    const warm = life(createRandom(1, "warm"), (hours) => (hours < 0.3 ? 1_000 * hours : 300));
    assertBelow(Math.abs(growthOf([warm])?.perHour ?? Infinity), 3);
  });

  it("has a wider interval where neighbours are alike", () => {
    const waves = life(createRandom(1, "waves"), (hours) => 20 * Math.sin(20 * hours));
    const { low, high } = growthOf([waves]) ?? assert.fail();
    assertBelow(low, 0);
    assertAtLeast(high, 0);
  });

  it("is not told from too few samples", () => {
    assert.equal(growthOf([]), null);
    assert.equal(growthOf([[1, 2, 3, 4, 5, 6].map((value) => ({ hours: value, value }))]), null);
  });
});

describe("a soak", () => {
  it("breaks the same for the same seed, in order, mends all before the end, and lets one process live", () => {
    const HOUR_MS = 3_600_000;
    const kinds = new Set<string>();
    for (let seed = 1; seed <= 50; seed++) {
      const perturbations = mildChaos(seed, HOUR_MS);
      assert.deepEqual(mildChaos(seed, HOUR_MS), perturbations);
      for (const one of perturbations) {
        kinds.add(one.kind);
        assertBelow(one.afterMs + one.forMs, HOUR_MS);
        if (one.kind === "kill" || one.kind === "restart") assert.notEqual(one.agent, 0);
      }
    }
    assert.deepEqual([...kinds].toSorted(), ["kill", "pause", "restart", "rpc"]);
  });

  it("samples a process and its folder, and nothing of one that does not run", async () => {
    const directory = await mkdtemp(join(tmpdir(), "conclave-soak-test-"));
    try {
      const agent = { pids: () => [process.pid], lives: () => 3, directory };
      await mkdir(join(directory, "data", "ipfs"), { recursive: true });
      await mkdir(join(directory, "data", "journals"));
      await writeFile(join(directory, "data", "ipfs", "block"), Buffer.alloc(1_000_000, 1));
      const sample = (await sampleAgent(agent, 2, 0.5)) ?? assert.fail();
      assert.deepEqual([sample.agent, sample.life, sample.hours], [2, 3, 0.5]);
      assertAtLeast(sample.blocksMegabytes, 1);
      assertAtLeast(sample.folderMegabytes, sample.blocksMegabytes);
      assertBelow(sample.journalsMegabytes, 0.1);
      for (const field of ["rssMegabytes", "descriptors", "threads"] as const) assertAtLeast(sample[field], 3);
      assertAtLeast(sample.cpuSeconds, 0.01);
      assert.equal(await sampleAgent({ ...agent, pids: () => [] }, 2, 0.5), null);
      // Above the highest number that the kernel gives.
      assert.equal(await sampleAgent({ ...agent, pids: () => [5_000_000] }, 2, 0.5), null);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it("tells percentiles", () => {
    assert.deepEqual(percentilesOf(Array.from({ length: 101 }, (_, index) => 100 - index)), {
      p50: 50,
      p90: 90,
      p99: 99,
      most: 100,
    });
    assert.equal(percentilesOf([]), null);
  });
});
