import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { it } from "node:test";

const root = join(import.meta.dirname, "../..");

/** Runs a command as npm does, with nobody at the other end of stdout or stderr. */
async function run(words: readonly string[], lost: "stdout" | "stderr"): Promise<readonly [unknown, string]> {
  const env = { ...process.env, CONCLAVE_SKIP_INSTALL: "1" };
  const stdio = ["ignore", "pipe", "pipe"] as const;
  const child = spawn(process.execPath, ["scripts/bootstrap.mjs", ...words], { cwd: root, env, stdio: [...stdio] });
  child[lost].destroy();
  let said = "";
  const other = lost === "stdout" ? child.stderr : child.stdout;
  other.setEncoding("utf8").on("data", (text: string) => (said += text));
  const [code] = await once(child, "close");
  return [code, said];
}

it("scripts and the command line keep their exit code when the reader of their output has gone", async () => {
  const cli = "agents/cli/main.ts";
  assert.deepEqual(await run([cli, "protocols"], "stdout"), [0, ""]);
  assert.deepEqual(await run([cli, "verify", "zero", "--json"], "stdout"), [2, ""]);
  assert.deepEqual(await run([cli, "verify", "zero"], "stderr"), [2, ""]);
  assert.deepEqual(await run(["lab/main.ts", "conformance", "--help"], "stdout"), [0, ""]);
  assert.deepEqual(await run(["scripts/absent.ts"], "stderr"), [1, ""]);
});
