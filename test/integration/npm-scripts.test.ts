import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { EXIT_INTERRUPTED } from "../../scripts/shared/interrupt.ts";

const root = join(import.meta.dirname, "../..");
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const BEGINNING = "node scripts/bootstrap.mjs scripts/steps.ts ";
const ofSteps = Object.entries(scripts).filter(([, script]) => script.startsWith(BEGINNING));

/** Runs the script as npm does: it appends what the script is given. */
const npmRun = (name: string, script: string, ...given: readonly string[]) =>
  spawnSync([script, ...given].join(" "), {
    cwd: root,
    shell: true,
    encoding: "utf8",
    timeout: 60_000,
    env: { ...process.env, npm_lifecycle_event: name, npm_lifecycle_script: script },
  });

describe("an npm script of several commands", () => {
  it("is no shell list, whose last command alone would get what the script is given", () => {
    for (const [name, script] of Object.entries(scripts)) assert.doesNotMatch(script, /&&|;|\|/, name);
    assert.ok(ofSteps.length >= 8);
  });

  for (const [name, script] of ofSteps)
    it(`refuses what it cannot take before it starts any: ${name}`, () => {
      const { status, stdout, stderr } = npmRun(name, script, "--bogus");
      assert.deepEqual([status, stdout], [2, ""], stderr);
      assert.equal(stderr, `error USAGE: unknown option '--bogus'\nway out: see \`npm run ${name} -- --help\`\n`);
    });

  it("refuses arguments, too", () => {
    const { status, stderr } = npmRun("lint", scripts["lint"] ?? "", "core");
    assert.deepEqual([status, /too many arguments/.test(stderr)], [2, true], stderr);
  });

  it("ends with the exit code of the first command that fails", () => {
    const steps = (...commands: readonly string[]) => npmRun("", `${BEGINNING}${commands.join(" ")} --`);
    const failed = steps('"echo one"', '"node -e process.exit(3)"', '"echo two"');
    assert.deepEqual([failed.status, failed.stdout], [3, "one\n"]);
    const passed = steps('"echo one"', '"echo two"');
    assert.deepEqual([passed.status, passed.stdout], [0, "one\ntwo\n"]);
  });

  it("passes a signal on to the command that runs, and starts no other", async () => {
    const wait = "node -e console.log(process.pid);setInterval(Boolean,1e5)";
    const script = join(root, "scripts/steps.ts");
    const child = spawn(process.execPath, [script, wait, "echo two", "--"], { stdio: ["ignore", "pipe", "inherit"] });
    const said: string[] = [];
    child.stdout.on("data", (text: Buffer) => {
      said.push(text.toString());
      child.kill("SIGTERM");
    });
    // The pipe closes when the command has ended, too.
    const [code] = (await once(child, "close")) as [number | null];
    assert.deepEqual([code, said.length], [EXIT_INTERRUPTED, 1], said.join(""));
  });

  it("says in its help what it runs", () => {
    const { status, stdout } = npmRun("lint", scripts["lint"] ?? "", "--help");
    assert.equal(status, 0);
    assert.match(stdout, /Takes no options and no arguments\.[^]*npm run -s lint:ts\s+npm run -s lint:sol/);
  });
});
