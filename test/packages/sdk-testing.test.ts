// `@conclave/sdk/testing` as an application uses it: from the tarball, beside the package conclave.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { isOpen } from "../../devnet/world/world.ts";
import { until } from "../support/until.ts";
import { installSdk, root, tool, type InstalledSdk } from "./sdk-package.ts";

const readme = readFileSync(join(root, "sdk/README.md"), "utf8");
const snippets = [...readme.matchAll(/^```js\n(.*?)^```$/gms)].map(([, text = ""]) => text);
const snippet = snippets.find((text) => text.includes("startNetwork")) ?? "";

describe("@conclave/sdk/testing", () => {
  let sdk: InstalledSdk;
  before(async () => (sdk = await installSdk()));
  after(() => sdk.remove());

  it("says what is missing where conclave is not installed", async () => {
    const program = `import { startNetwork } from "@conclave/sdk/testing";
await startNetwork().catch(({ code, message }) => console.log(code, message));`;
    await writeFile(join(sdk.folder, "alone.mjs"), program);
    assert.match(
      await tool("node", ["alone.mjs"], sdk.folder),
      /^WORLD_FAILED .*conclave is not installed here; install it \(docs\/integrating\.md .* A local world for tests, says how\)/,
    );
  });

  it("runs the snippet of the README, whose question is answered, and has types", async () => {
    await symlink(root, join(sdk.folder, "node_modules/conclave"));
    await writeFile(join(sdk.folder, "main.mjs"), snippet);
    assert.equal(await tool("node", ["main.mjs"], sdk.folder), "65\n");
    const typed = (answer: string): string => `import { startNetwork, type Network } from "@conclave/sdk/testing";
const network: Network = await startNetwork({ agents: 4 });
const { stage } = await network.ask({ question: "What is 27 plus 38?", kind: "number" });
export const answer: ${answer} = stage.kind === "decided" ? stage.decision.answer : "";`;
    await writeFile(join(sdk.folder, "typed.ts"), typed("string"));
    await writeFile(join(sdk.folder, "wrong.ts"), typed("number"));
    const strict = ["--strict", "--noEmit", "--skipLibCheck", "--target", "es2024", "--types", ""];
    const check = (file: string): Promise<string> =>
      tool("tsc", [...strict, "--module", "esnext", "--moduleResolution", "bundler", file], sdk.folder);
    assert.equal(await check("typed.ts"), "");
    await assert.rejects(check("wrong.ts"), ({ stdout }: { readonly stdout: string }) => /TS2322/.test(stdout));
  });

  it("refuses options by their names before it starts anything, and passes on why conclave does not start", async () => {
    const program = `import { startNetwork } from "@conclave/sdk/testing";
for (const options of [{ agents: "x" }, { agents: 3 }, { blockTimeSeconds: 99 }, { agent: 4 }, { model: "/nowhere" }])
  await startNetwork(options).catch(({ code, field, message }) => console.log(code, field, message));`;
    await writeFile(join(sdk.folder, "few.mjs"), program);
    const lines = (await tool("node", ["few.mjs"], sdk.folder)).split("\n");
    for (const [index, said] of [
      /^USAGE agents .*agents = "x": give a whole number from 4 to 64$/,
      /^USAGE agents .*agents = 3: give a whole number from 4 to 64$/,
      /^USAGE blockTimeSeconds .*give a number of seconds .*at most 60$/,
      /^USAGE agent .*there is no such option; there are program, agents, /,
      /^WORLD_FAILED null .*Load model \/nowhere failed/,
    ].entries())
      assert.match(lines[index] ?? "", said);
  });

  it("leaves nothing behind when the test that started it is killed", async () => {
    const program = `import { startNetwork } from "@conclave/sdk/testing";
const { rpcUrl, gateways, serving } = await startNetwork({ agents: 4 });
await serving();
console.log(JSON.stringify([rpcUrl, ...gateways]));
setInterval(() => undefined, 1_000);`;
    await writeFile(join(sdk.folder, "killed.mjs"), program);
    const child = spawn(process.execPath, ["killed.mjs"], { cwd: sdk.folder, stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
    const ports = (JSON.parse(line) as string[]).map((url) => Number(new URL(url).port));
    assert.deepEqual(new Set(await Promise.all(ports.map(isOpen))), new Set([true]));
    child.kill("SIGKILL");
    await until(async () => !(await Promise.all(ports.map(isOpen))).includes(true));
  });
});
