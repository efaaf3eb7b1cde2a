// What no product path reaches leaves agents/: knip refuses such files and exports (`knip --production` in `npm run check`), tried
// here on a small product.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";

const root = join(import.meta.dirname, "../..");

const product: Readonly<Record<string, string>> = {
  "package.json": '{ "name": "conclave", "type": "module" }',
  "agents/cli/main.ts": `import { reached } from "../core/rules.ts";
const { later } = await import("../core/later.ts");
new Worker(new URL("../core/worker.ts", import.meta.url)).postMessage(reached() + later());
`,
  "agents/core/rules.ts": "export function reached() { return 1; }\nexport function onlyTested() { return 2; }\n",
  "agents/core/later.ts": "export function later() { return 1; }\n",
  "agents/core/worker.ts": "console.log(1);\n",
  "agents/core/only-studied.ts": "export function studied() { return 3; }\n",
  "agents/adapters/memory/clock.ts": "export function memoryClock() { return 4; }\n",
  "lab/main.ts": 'import { studied } from "../agents/core/only-studied.ts";\nstudied();\n',
  "test/core/rules.test.ts": 'import { onlyTested } from "../../agents/core/rules.ts";\nonlyTested();\n',
};

interface Issue {
  readonly file: string;
  readonly files?: readonly unknown[];
  readonly exports?: readonly { readonly name: string }[];
}

describe("what no product path reaches", () => {
  const folder = mkdtempSync(join(tmpdir(), "conclave-reach-"));
  for (const [path, text] of Object.entries(product)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  copyFileSync(join(root, "knip.json"), join(folder, "knip.json"));
  after(() => rmSync(folder, { recursive: true, force: true }));

  const knip = join(root, "node_modules/knip/bin/knip.js");
  const { stdout, stderr } = spawnSync(process.execPath, [knip, "--production", "--reporter", "json"], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.ok(stdout.startsWith("{"), `knip left no report: ${stderr}`);
  const { issues } = JSON.parse(stdout) as { readonly issues: readonly Issue[] };

  it("is refused: a file that only a study uses, and an export that only a test uses", () => {
    const files = issues.filter((issue) => (issue.files ?? []).length > 0).map(({ file }) => file);
    assert.deepEqual(files, ["agents/core/only-studied.ts"]);
    const exports = issues.flatMap(({ file, exports: names = [] }) => names.map(({ name }) => `${name} of ${file}`));
    assert.deepEqual(exports, ["onlyTested of agents/core/rules.ts"]);
  });

  it("is not what is imported late, what a worker runs, or a memory adapter of the simulator", () => {
    const reported = JSON.stringify(issues);
    for (const name of ["later.ts", "worker.ts", "clock.ts"]) assert.equal(reported.includes(name), false, name);
  });
});
