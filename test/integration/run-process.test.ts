// How a command that runs until it is stopped ends, also under npm, which passes a signal to its shell only.
import assert from "node:assert/strict";
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";

const root = join(import.meta.dirname, "../..");
const main = join(root, "agents/cli/main.ts");
const SERVE = [main, "serve", "--from", ".", "--listen", "127.0.0.1:0", "--json"];
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "conclave-process-"));
  for (const name of ["blocks", "pins"]) await mkdir(join(folder, name));
});
after(() => rm(folder, { recursive: true }));

interface Serving {
  readonly started: ChildProcessByStdio<null, Readable, null>;
  /** Resolves with all that was printed, once no process can print any more. */
  readonly printed: Promise<string>;
}

/** Starts `conclave serve`, and resolves once it is ready. */
async function serve(
  context: TestContext,
  file: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<Serving> {
  const started = spawn(file, args, {
    cwd: folder,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  context.after(() => {
    try {
      process.kill(-(started.pid ?? assert.fail("it did not start")), "SIGKILL");
    } catch {
      // All of its processes have ended.
    }
  });
  const printed = text(started.stdout);
  await once(started.stdout, "data");
  return { started, printed };
}

it("tells its version", async () => {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { readonly version: string };
  const started = spawn(process.execPath, [main, "--version"], { stdio: ["ignore", "pipe", "inherit"] });
  assert.equal(await text(started.stdout), `${version}\n`);
});

describe("a command that runs until it is stopped", () => {
  it("ends in order under npm when npm's shell is gone", async (context) => {
    // The second command keeps the shell from becoming the first one.
    const shell = ["-c", '"$0" "$@"; true', process.execPath, ...SERVE];
    const { started, printed } = await serve(context, "sh", shell, { npm_lifecycle_event: "npx" });
    started.kill("SIGKILL");
    assert.match(await printed, /"event":"stopped"/);
  });

  it("goes on without npm when its parent is gone, as nohup and service managers want", async (context) => {
    const shell = ["-c", '"$0" "$@"; true', process.execPath, ...SERVE];
    const { started, printed } = await serve(context, "sh", shell, { npm_lifecycle_event: undefined });
    started.kill("SIGKILL");
    const waited = new Promise((resolve) => setTimeout(resolve, 1_500, "it runs"));
    assert.equal(await Promise.race([printed, waited]), "it runs");
  });

  it("ends in order when two signals reach it at once, as under npx", async (context) => {
    const { started, printed } = await serve(context, process.execPath, SERVE, { npm_lifecycle_event: undefined });
    const exited = once(started, "exit");
    // While it is stopped both wait for it: a second one that came later could find it at its very end, which nothing handles.
    started.kill("SIGSTOP");
    started.kill("SIGINT");
    // Two signals of one kind could arrive as one, so this one is of another kind.
    started.kill("SIGTERM");
    started.kill("SIGCONT");
    assert.match(await printed, /"event":"stopped"/);
    assert.deepEqual(await exited, [0, null]);
  });
});
