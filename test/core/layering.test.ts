// The linter refuses an import against the layers: each rule of .oxlintrc.json is tried on a file that breaks it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { after, before, describe, it } from "node:test";

const root = join(import.meta.dirname, "../..");
const PRODUCT = ["agents/core", "agents/ports", "agents/adapters", "agents/node", "agents/cli"] as const;
const OUTSIDE = ["scripts", "sim", "devnet", "lab", "test"] as const;

/** Folders that a layer must not import from. */
const refused: readonly (readonly [folder: string, from: readonly string[]])[] = [
  ["agents/core", ["agents/ports", "agents/adapters", "agents/node", "agents/cli", ...OUTSIDE]],
  ["agents/ports", ["agents/adapters", "agents/node", "agents/cli", ...OUTSIDE]],
  ["agents/adapters", ["agents/node", "agents/cli", ...OUTSIDE]],
  ["agents/node", ["agents/adapters", "agents/cli", ...OUTSIDE]],
  ["agents/cli", OUTSIDE],
  ["subgraph/src", OUTSIDE],
  ["models", OUTSIDE],
  ["sim", ["agents/adapters/libp2p", "agents/cli", "devnet", "lab", "test"]],
  ["scripts/solidity", ["sim", "devnet", "lab", "test"]],
  ["devnet", ["lab", "test"]],
  ["test/support", ["lab"]],
  ["lab", ["test/core"]],
];

/** Folders that a layer builds on. */
const allowed: readonly (readonly [folder: string, from: readonly string[]])[] = [
  ["agents/core/seat", ["agents/core/encoding"]],
  ["agents/ports", ["agents/core"]],
  ["agents/adapters", ["agents/core", "agents/ports"]],
  ["agents/node", ["agents/core", "agents/ports"]],
  ["agents/cli", ["agents/core", "agents/ports", "agents/adapters", "agents/node"]],
  ["sim", ["agents/core", "agents/ports", "agents/node", "agents/adapters/memory", "scripts/shared"]],
  ["scripts/solidity", PRODUCT],
  ["devnet", [...PRODUCT, "scripts", "sim"]],
  ["test/support", [...PRODUCT, "scripts", "sim", "devnet"]],
  ["lab", [...PRODUCT, "scripts", "sim", "devnet", "test/support"]],
];

interface Diagnostic {
  readonly code: string;
  readonly filename: string;
}

describe("the layers", () => {
  const folder = mkdtempSync(join(tmpdir(), "conclave-layers-"));
  const faults = new Map<string, string[]>();

  before(async () => {
    const { options: _, ...rules } = JSON.parse(readFileSync(join(root, ".oxlintrc.json"), "utf8")) as {
      readonly options: object;
    };
    // Without the options: type-aware rules need a project, and here a warning is as good as an error.
    write(".oxlintrc.json", JSON.stringify(rules));
    for (const [at, from] of [...refused, ...allowed])
      for (const other of from) write(fileFor(at, other), importing(`${posix.relative(at, other)}/x.ts`));
    for (const at of PRODUCT) write(fileFor(at, "a roundabout way"), importing(`./${posix.relative(at, "sim")}/x.ts`));
    for (const at of PRODUCT) {
      write(`${at}/circle-a.ts`, 'import type { B } from "./circle-b.ts";\n\nexport type A = B | null;\n');
      write(`${at}/circle-b.ts`, 'import type { A } from "./circle-a.ts";\n\nexport type B = A | 1;\n');
    }
    for (const { code, filename } of await lint()) faults.set(filename, [...(faults.get(filename) ?? []), code]);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const [at, from] of refused)
    for (const other of from)
      it(`refuse an import of ${at} from ${other}`, () => {
        assert.match(codesOf(fileFor(at, other)), /no-restricted-imports/);
      });

  for (const [at, from] of allowed)
    it(`let ${at} import from ${from.join(", ")}`, () => {
      for (const other of from) assert.doesNotMatch(codesOf(fileFor(at, other)), /no-restricted-imports/);
    });

  for (const at of PRODUCT)
    it(`refuse an import of ${at} that begins with ./ and leaves it`, () => {
      assert.match(codesOf(fileFor(at, "a roundabout way")), /no-restricted-imports/);
    });

  for (const at of PRODUCT)
    it(`refuse a circle of type imports in ${at}`, () => {
      assert.match(codesOf(`${at}/circle-a.ts`), /no-cycle/);
    });

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }

  function codesOf(path: string): string {
    return (faults.get(path) ?? []).join(" ");
  }

  function lint(): Promise<readonly Diagnostic[]> {
    const linter = join(root, "node_modules/.bin/oxlint");
    return new Promise((settle, reject) => {
      execFile(linter, ["--format", "json"], { cwd: folder, maxBuffer: 2 ** 26 }, (_error, stdout) => {
        // It ends with an exit code, since it finds what it has to find.
        if (!stdout.startsWith("{")) reject(new Error(`oxlint left no report: ${stdout}`));
        else settle((JSON.parse(stdout) as { readonly diagnostics: readonly Diagnostic[] }).diagnostics);
      });
    });
  }
});

function importing(path: string): string {
  return `import { x } from "${path}";\nx();\n`;
}

/** The file of a folder that imports from another. */
function fileFor(at: string, other: string): string {
  return `${at}/from-${other.replaceAll(/[/ ]/g, "-")}.ts`;
}
