import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { withLock } from "../../agents/adapters/artifacts/lock.ts";

const timing = { beatMs: 50, staleMs: 1_000, pollMs: 20 };

describe("lock of the build", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "conclave-lock-"));
  });
  after(() => rm(folder, { recursive: true }));

  it("is not taken from a live owner, even if it works longer than the limit for a dead one", async () => {
    const path = join(folder, "working");
    const order: string[] = [];
    const begun = Promise.withResolvers<void>();
    const first = withLock(
      path,
      async () => {
        order.push("first begins");
        begun.resolve();
        await sleep(2 * timing.staleMs);
        order.push("first ends");
      },
      timing,
    );
    await begun.promise;
    const second = withLock(path, () => Promise.resolve(order.push("second")), timing);
    await Promise.all([first, second]);
    assert.deepEqual(order, ["first begins", "first ends", "second"]);
    await assert.rejects(stat(path), { code: "ENOENT" });
  });

  it("is taken from a dead owner, and given back after a failure", async () => {
    const path = join(folder, "dead");
    await mkdir(path);
    const long = new Date(Date.now() - 2 * timing.staleMs);
    await utimes(path, long, long);
    await assert.rejects(
      withLock(path, () => Promise.reject(new Error("the build failed")), timing),
      /the build failed/,
    );
    await assert.rejects(stat(path), { code: "ENOENT" });
  });
});
