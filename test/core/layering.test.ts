// The linter refuses what goes against the layers (scripts/lint/layers.ts): each rule is tried on a file that breaks it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { after, before, describe, it } from "node:test";

const root = join(import.meta.dirname, "../..");
/** The code of a fault against the layers. */
const LAYERS = /conclave\(layers\)/;
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
  ["sdk/src", OUTSIDE],
  ["contracts/abi", ["agents/core", "sdk", ...OUTSIDE]],
  ["ignition/modules", ["agents/adapters", "agents/cli", "sdk", ...OUTSIDE]],
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
  ["ignition/modules", ["agents/ports"]],
  ["devnet", [...PRODUCT, "ignition", "scripts", "sim"]],
  ["test/support", [...PRODUCT, "scripts", "sim", "devnet"]],
  ["lab", [...PRODUCT, "scripts", "sim", "devnet", "test/support"]],
];

/** Where detours are planted: two folders below the root. */
const STRICT = [...PRODUCT, "sdk/src", "subgraph/src", "contracts/abi", "ignition/modules"] as const;

/** Ways out of a/b/ into sim/, besides a plain import: "a path that ...". */
const detours: Readonly<Record<string, string>> = {
  "begins with ./": 'import "./../../sim/x.ts";',
  "goes through a sibling": 'import "../core/../../sim/x.ts";',
  "is exported again": 'export { x } from "../../sim/x.ts";',
  "is of a type": 'export type X = import("../../sim/x.ts").X;',
  "is dynamic": 'export const x = import("../../sim/x.ts");',
  "is a template": "export const x = import(`../../sim/x.ts`);",
  "is a template with holes": "export const of = (name: string) => import(`../../sim/${name}.ts`);",
  "is computed from a template": "export const of = (name: string) => import(`../../${name}/x.ts`);",
  "is computed": 'export const of = (name: string) => import(["..", "..", name].join("/"));',
  "is a URL": 'export const x = new URL("../../sim/x.ts", import.meta.url);',
  "is a computed URL": "export const of = (name: string) => new URL(name, import.meta.url);",
  "is required": 'export const x = createRequire(import.meta.url)("../../sim/x.ts");',
  "is a computed require": "export const of = (name: string) => createRequire(import.meta.url)(name);",
  "is required later": "export const load = createRequire(import.meta.url);",
  "is a path from the root": 'export const x = join(root, "sim/x.ts");',
  "is a folder": 'export const x = join(import.meta.dirname, "../../sim");',
  "leads through the packages of others": 'import "../../vendor/x.js";',
  "leads through the settings of Hardhat": 'import "../../hardhat.config.ts";',
  "is read": 'export const x = readFileSync(join(import.meta.dirname, "../../sim/x.json"));',
  "is read from the root": 'export const x = readFileSync(join(root, "sim/x.json"));',
  "is read from the working folder": 'export const x = readFileSync("sim/x.json");',
  "is read in parts": 'export const x = readFileSync(join(import.meta.dirname, "..", "..", "sim", "x.json"));',
  "is read in parts from the root": 'export const x = readFileSync(path.resolve(root, "sim", "x.json"));',
  "is read in parts from an array": 'export const x = readFileSync([root, "sim", "x.json"].join("/"));',
  "is read by the end of a template": "export const x = readFileSync(`${root}/sim/x.json`);",
  "is read by the end of a sum": 'export const x = readFileSync(root + "/sim/x.json");',
};

/** What the product loads in such ways of its own. */
const ways = [
  'export const x = import("../core/x.ts");',
  'export const x = new URL("./worker.ts", import.meta.url);',
  'export const x = createRequire(import.meta.url)("secp256k1/bindings.js");',
  "export const of = (endpoint: string) => new URL(endpoint);",
  'export const root = join(import.meta.dirname, "../../..");',
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
      readonly jsPlugins: readonly string[];
    };
    // Without the options: type-aware rules need a project, and here a warning is as good as an error.
    const jsPlugins = rules.jsPlugins.map((path) => join(root, path));
    write(".oxlintrc.json", JSON.stringify({ ...rules, jsPlugins }));
    for (const [at, from] of [...refused, ...allowed])
      for (const other of from) write(fileFor(at, other), importing(`${posix.relative(at, other)}/x.ts`));
    const subgraph = readFileSync(join(root, "subgraph/src/.oxlintrc.json"), "utf8");
    write("subgraph/src/.oxlintrc.json", subgraph.replace("../..", root));
    for (const at of STRICT) {
      for (const [way, text] of Object.entries(detours)) write(fileFor(at, way), `${text}\n`);
      ways.forEach((text, index) => write(fileFor(at, `way ${index}`), `${text}\n`));
    }
    write("agents/core/from-a-package.ts", 'import { x } from "node:fs";\nx();\n');
    write("agents/ports/from-a-package.ts", 'import { x } from "viem";\nx();\n');
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
        assert.match(codesOf(fileFor(at, other)), LAYERS);
      });

  for (const [at, from] of allowed)
    it(`let ${at} import from ${from.join(", ")}`, () => {
      for (const other of from) assert.doesNotMatch(codesOf(fileFor(at, other)), LAYERS);
    });

  for (const [way] of Object.entries(detours))
    it(`refuse a path out of the product that ${way}`, () => {
      for (const at of STRICT) assert.match(codesOf(fileFor(at, way)), LAYERS, at);
    });

  it("let the product load its own files in such ways", () => {
    for (const at of PRODUCT)
      for (const index of ways.keys()) {
        const file = fileFor(at, `way ${index}`);
        assert.doesNotMatch(codesOf(file), LAYERS, `${file}: ${ways[index]}`);
      }
  });

  it("give no name in package.json to a file outside the product", () => {
    const { imports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      readonly imports: Readonly<Record<string, Readonly<Record<string, string>>>>;
    };
    for (const path of Object.values(imports).flatMap((places) => Object.values(places)))
      assert.match(path, /^\.\/agents\/(?:core|adapters)\//);
  });

  for (const at of ["agents/core", "agents/ports"])
    it(`refuse a package in ${at}`, () => {
      assert.match(codesOf(`${at}/from-a-package.ts`), /no-restricted-imports/);
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
      // A linter that starts with this Node can load the plugin as it is.
      execFile(
        process.execPath,
        [linter, "--format", "json"],
        { cwd: folder, maxBuffer: 2 ** 26 },
        (_error, stdout) => {
          // It ends with an exit code, since it finds what it has to find.
          if (!stdout.startsWith("{")) reject(new Error(`oxlint left no report: ${stdout}`));
          else settle((JSON.parse(stdout) as { readonly diagnostics: readonly Diagnostic[] }).diagnostics);
        },
      );
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
