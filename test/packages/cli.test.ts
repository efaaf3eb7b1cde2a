// The package `conclave` as an operator or a developer installs it: in an empty project, with nothing of the repository.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { buildCliPackage, CLI_PACKAGE } from "../../scripts/cli-package/build.ts";
import { createProject, pack, type Packed, type Project } from "./project.ts";

const run = promisify(execFile);
/** The engine for the CPU of two architectures, anvil, the bundle and small packages. */
const MAX_INSTALLED = 180_000_000;
const MAX_PACKED = 8_000_000;

interface Ready {
  readonly event: string;
  readonly deploymentFile: string;
  readonly pageUrl: string;
  readonly asker: { readonly keystore: string; readonly passwordFile: string };
}

let folder: string;
let packed: Packed;
let project: Project;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "conclave-cli-"));
  await buildCliPackage();
  packed = await pack(CLI_PACKAGE, folder);
  project = await createProject();
  await project.install(packed.file);
});
after(async () => {
  await project.remove();
  await rm(folder, { recursive: true, force: true });
});

describe("the package conclave", () => {
  it("brings no build of the engine for CUDA or Vulkan, and stays small", () => {
    const installed = globSync("node_modules/**/@node-llama-cpp/*", { cwd: project.folder });
    assert.ok(installed.some((path) => path.endsWith("/linux-x64")) || process.platform !== "linux");
    for (const path of installed) assert.doesNotMatch(path, /cuda|vulkan/);
    const bytes = project.installedBytes();
    console.log(`packed ${packed.packedBytes} bytes, installed ${bytes} bytes`);
    assert.ok(packed.packedBytes < MAX_PACKED, `${packed.packedBytes} bytes`);
    assert.ok(bytes < MAX_INSTALLED, `${bytes} bytes`);
  });

  it("names the licence of each package that it bundles, and holds no source of ours", async () => {
    const licences = await readFile(join(project.folder, "node_modules/conclave/THIRD_PARTY_LICENSES.txt"), "utf8");
    for (const name of ["libp2p", "helia", "viem", "zod", "commander", "undici"])
      assert.match(licences, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(.+\\)$`, "m"));
    assert.deepEqual(
      packed.paths.filter((path) => path.endsWith(".ts") && !path.startsWith("node_modules/")),
      [],
    );
  });

  it("says which Node it needs where that is too old", async () => {
    const start = join(project.folder, "node_modules/conclave/dist/start.mjs");
    const old = `Object.defineProperty(process.versions, "node", { value: "20.18.0" }); await import(${JSON.stringify(start)});`;
    await assert.rejects(
      run(process.execPath, ["--input-type=module", "-e", old]),
      /Node 22\.19 or newer is needed, this is 20\.18\.0/,
    );
  });

  it("lists its commands, and names what is wrong", async () => {
    assert.match(
      await project.run("conclave", "--help"),
      /^Try:\n {2}dev .+\n\nAsk:\n[^]*\nOperate an agent:\n {2}agent /m,
    );
    await assert.rejects(project.run("conclave", "agent", "run", "--dir", "nowhere"), /CONFIG_INVALID|CONFIG_MISSING/);
  });

  it("keeps its exit code when the reader of its output has gone", async () => {
    const start = join(project.folder, "node_modules/conclave/dist/start.mjs");
    for (const words of ["--help", "protocols"]) {
      const child = spawn(process.execPath, [start, words], { stdio: ["ignore", "pipe", "pipe"] });
      child.stdout.destroy();
      const said = text(child.stderr);
      const [code] = await once(child, "close");
      assert.deepEqual([code, await said], [0, ""], words);
    }
  });

  it("checks a model in its own process of the engine", async () => {
    const model = "node_modules/conclave/models/conclave-small.gguf";
    assert.match(await project.run("conclave", "model", "check", model), /answers +5 of 5 kinds are valid/);
  });

  for (const [shell, name] of [
    ["/bin/sh", "the shell of the system"],
    ["/bin/bash", "a shell that becomes the command"],
  ] as const)
    for (const [wish, tell] of [
      ["SIGTERM to npx alone", (npx: number) => process.kill(npx, "SIGTERM")],
      ["Ctrl-C, which reaches the whole terminal", (npx: number) => process.kill(-npx, "SIGINT")],
    ] as const)
      it(`ends in order under npx with ${name}, at ${wish}`, async () => {
        for (const kept of ["blocks", "pins"]) await project.write(`kept/${kept}/.keep`, "");
        const serve = ["conclave", "serve", "--from", "kept", "--listen", "127.0.0.1:0", "--json"];
        const npx = spawn("npx", ["--no", `--script-shell=${shell}`, ...serve], {
          cwd: project.folder,
          env: { ...process.env, PATH: `${join(process.execPath, "..")}:${process.env["PATH"]}` },
          stdio: ["ignore", "pipe", "inherit"],
          detached: true,
        });
        const printed = text(npx.stdout);
        await once(npx.stdout, "data");
        tell(npx.pid ?? assert.fail("npx did not start"));
        // It ends once no process is left that could print.
        assert.match(await printed, /"event":"ready".*\n.*"event":"stopped"/);
      });

  it("starts a local world whose five agents decide a question, and proves the decision", async () => {
    const world = spawn(
      join(project.folder, "node_modules/.bin/conclave"),
      ["dev", "--json", "--port", "0", "--dir", "world"],
      {
        cwd: project.folder,
        env: { ...process.env, PATH: `${join(process.execPath, "..")}:${process.env["PATH"]}` },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const ended = new Promise((resolve) => world.once("exit", resolve));
    try {
      const lines = createInterface({ input: world.stdout })[Symbol.asyncIterator]();
      const { value } = await lines.next();
      const { event, deploymentFile, asker } = JSON.parse(value as string) as Ready;
      assert.equal(event, "ready");
      const account = ["--keystore", asker.keystore, "--password-file", asker.passwordFile];
      const asked = ["--question", "What is 27 plus 38?", "--kind", "number", "--wait"];
      const answered = await project.run("conclave", "request", ...asked, "--deployment", deploymentFile, ...account);
      assert.match(answered, /\nanswer +65\n/);
      const proven = await project.run("conclave", "verify", "--since", "0", "--deployment", deploymentFile);
      assert.match(proven, /\nproven +1\n|^proven +1\n/m);
    } finally {
      world.kill("SIGINT");
      await ended;
    }
  });
});
