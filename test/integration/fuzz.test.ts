import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { mutate } from "../../chaos/fuzz/mutate.ts";
import { createTargets, type Target } from "../../chaos/fuzz/targets.ts";
import { createRandom } from "../../sim/random.ts";
import { assertAbove, assertAtMost } from "../support/assertions.ts";

describe("fuzzing", () => {
  let folder: string;
  let targets: Readonly<Record<string, Target>>;
  let close: () => Promise<void>;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "conclave-fuzz-test-"));
    ({ targets, close } = await createTargets(folder));
  });
  after(async () => {
    await close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("changes inputs by the seed alone, in every way, up to a bound", () => {
    const sample = Buffer.from('{"answer":"4","list":[1,2,3]}');
    const inputs = (seed: number): readonly string[] => {
      const random = createRandom(seed);
      return Array.from({ length: 2_000 }, () => Buffer.from(mutate(sample, random, sample)).toString("hex"));
    };
    assert.deepEqual(inputs(1), inputs(1));
    assert.notDeepEqual(inputs(1), inputs(2));
    assertAbove(new Set(inputs(1)).size, 1_800);
    assertAtMost(Math.max(...inputs(1).map(({ length }) => length / 2)), 1 << 16);
  });

  it("begins with inputs that every decoder takes or refuses as it promises", async () => {
    assertAbove(Object.keys(targets).length, 12);
    for (const [name, { samples, run }] of Object.entries(targets)) {
      assertAbove(samples.length, 0, name);
      for (const sample of samples) await run(sample);
    }
  });

  it("keeps inputs that reach new code and begins the next run with them", () => {
    const out = join(folder, "out");
    const play = (inputs: number) => {
      const words = ["chaos/fuzz/main.ts", "--target", "message", "--inputs", String(inputs), "--out", out, "--json"];
      const { executions, characters } = JSON.parse(spawnSync(process.execPath, words, { encoding: "utf8" }).stdout);
      return { ran: executions.message as number, reached: characters.message as number };
    };
    const first = play(400);
    const kept = readdirSync(join(out, "corpus", "message")).length;
    assertAbove(kept, 3);
    assertAbove(first.reached, kept);
    // The sample, what was kept, and one more.
    const second = play(1);
    assertAbove(second.ran, kept + 1);
    assertAbove(second.reached, first.reached * 0.99);
  });

  it("runs one input alone, says how many it ran, and refuses an unknown target", () => {
    const input = join(folder, "input");
    writeFileSync(input, "x");
    const run = (...words: readonly string[]) =>
      spawnSync(process.execPath, ["chaos/fuzz/main.ts", ...words], { encoding: "utf8" });
    const one = run("--target", "message", "--input", input, "--json");
    const { characters, ...report } = JSON.parse(one.stdout);
    assert.deepEqual(report, { seed: 1, executions: { message: 1 }, findings: [] });
    assertAbove(characters.message, 0);
    assert.equal(one.status, 0);
    const unknown = run("--target", "nothing");
    assert.equal(unknown.status, 2);
    assert.match(unknown.stderr, /choose one of frames, message/);
  });
});
