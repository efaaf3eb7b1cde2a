// The product is what the CLI reaches: a file of agents/ that no import path reaches does not belong there.
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, it } from "node:test";

const root = join(import.meta.dirname, "../..");
const ENTRY = "agents/cli/main.ts";

/** Adapters that stay beside the ports they implement although only the simulator and the tests run them. */
const FOR_THE_SIMULATOR: Readonly<Record<string, string>> = {
  "agents/adapters/memory/clock.ts": "virtual time; one suite checks it and the system's clock",
  "agents/adapters/memory/journal.ts": "a journal that survives a simulated crash; one suite checks it and the folder",
  "agents/adapters/memory/model.ts": "a scripted model; one suite checks it and the real providers",
  "agents/adapters/memory/network.ts": "links with faults; one suite checks it and libp2p",
};

const { imports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly imports: Readonly<Record<string, Readonly<Record<string, string>>>>;
};

/**
 * Files that a file names in imports, types included, and in `new URL(..., import.meta.url)` (worker entry points). An
 * import such as "#secp256k1" names the files of all conditions in package.json.
 */
function namedIn(file: string): readonly string[] {
  const text = readFileSync(join(root, file), "utf8");
  const named = text.matchAll(/(?:\bfrom\s+|\bimport\s+|\bimport\(\s*|\bnew URL\(\s*)"((?:\.{1,2}\/|#)[^"]+)"/g);
  return [...named].flatMap(([, path]) => {
    const name = path as string;
    return name.startsWith("#")
      ? Object.values(imports[name] ?? {}).map((target) => join(target))
      : [relative(root, join(root, dirname(file), name))];
  });
}

function reachedFrom(entry: string): ReadonlySet<string> {
  const reached = new Set([entry]);
  for (const file of reached)
    for (const path of namedIn(file)) if (/\.m?[jt]s$/.test(path) && existsSync(join(root, path))) reached.add(path);
  return reached;
}

describe("what the product reaches", () => {
  const reached = reachedFrom(ENTRY);
  const files = globSync("agents/**/*.ts", { cwd: root, exclude: ["**/node_modules/**"] });

  it("is every file of agents/, except the declared adapters of the simulator", () => {
    const unreached = files.filter((file) => !reached.has(file)).toSorted();
    assert.deepEqual(
      unreached,
      Object.keys(FOR_THE_SIMULATOR).toSorted(),
      `Move a file that ${ENTRY} does not reach to lab/, sim/ or test/support/; take a reached one off the list.`,
    );
  });

  it("lies in agents/ alone, dynamic imports and workers included", () => {
    assert.deepEqual(
      [...reached].filter((file) => !file.startsWith("agents/")),
      [],
    );
  });

  it("includes the workers that it starts by URL", () => {
    assert.ok(reached.has("agents/adapters/models/llama-worker.ts"));
    assert.ok(reached.size > 100, `${reached.size} files are too few: the walk is broken`);
  });
});
