// A child goes with its parent, and takes its folder along.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { spawnGuarded } from "../../scripts/shared/guarded-child.ts";
import { until } from "../support/until.ts";

const module = new URL("../../scripts/shared/guarded-child.ts", import.meta.url);

async function scratchFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "conclave test "));
  await writeFile(join(folder, "state"), "x");
  return folder;
}

describe("a guarded child", () => {
  it("is stopped by its parent, and its folder is gone", async () => {
    const scratch = await scratchFolder();
    const child = spawnGuarded("/bin/sleep", ["600"], { signal: "TERM", output: ["ignore", "ignore"], scratch });
    await child.stop();
    assert.equal(existsSync(scratch), false);
    await child.stop();
  });

  it("ends when its parent is killed, and its folder is gone", async () => {
    const scratch = await scratchFolder();
    const options = JSON.stringify({ signal: "TERM", output: ["ignore", "ignore"], scratch });
    const parent = spawn(
      process.execPath,
      [
        "--input-type=module",
        "--eval",
        `import { spawnGuarded } from ${JSON.stringify(module.href)};
         spawnGuarded("/bin/sleep", ["600"], ${options});
         process.stdout.write("started");`,
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    await once(parent.stdout, "data");
    assert.equal(existsSync(scratch), true);
    parent.kill("SIGKILL");
    await until(() => !existsSync(scratch));
  });
});
