import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type BuildOptions, type Metafile } from "esbuild";
import { writeDeclarations } from "./declarations.ts";
import { licencesOf } from "./licences.ts";

export interface BuiltFile {
  /** The name in dist. */
  readonly file: string;
  readonly bytes: number;
  readonly gzipBytes: number;
  /** Files in dist that are loaded with it. */
  readonly loads: readonly string[];
}

const root = join(import.meta.dirname, "../..");
const sdk = join(root, "sdk");

/** One set of files for browsers and Node: nothing in it may need either. */
const common = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  platform: "neutral",
  target: "es2024",
  conditions: ["browser"],
  // Libraries look for them, and then compute in another way.
  define: { "globalThis.process": "undefined", "globalThis.Buffer": "undefined" },
  mainFields: ["browser", "module", "main"],
  minify: true,
  // Node prints the line of an error that nobody catches, before its message.
  lineLimit: 200,
  legalComments: "none",
  metafile: true,
} as const satisfies BuildOptions;

/** Empties dist in the package's folder and fills it, and writes the licences beside it. */
export async function buildSdk(folder = sdk): Promise<readonly BuiltFile[]> {
  const dist = join(folder, "dist");
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  const library = await build({
    ...common,
    outdir: dist,
    entryPoints: {
      index: "sdk/src/index.ts",
      verify: "sdk/src/verify/index.ts",
      // It alone uses Node.
      testing: "sdk/src/testing/index.ts",
    },
    external: ["viem", "viem/*", "node:*"],
    splitting: true,
    chunkNames: "chunk-[hash]",
  });
  // In one file, so that a page can serve it from anywhere.
  const worker = await build({ ...common, outdir: dist, entryPoints: { "verify-worker": "sdk/src/verify/worker.ts" } });
  await writeDeclarations(root, join(dist, "types"));
  const inputs = [library, worker].flatMap(({ metafile }) => Object.keys(metafile.inputs));
  writeFileSync(join(folder, "THIRD_PARTY_LICENSES.txt"), licencesOf(root, inputs));
  return [library, worker].flatMap(({ metafile }) => filesOf(metafile));
}

function filesOf({ outputs }: Metafile): readonly BuiltFile[] {
  return Object.entries(outputs).map(([path, { bytes, imports }]) => ({
    file: basename(path),
    bytes,
    gzipBytes: gzipSync(readFileSync(join(root, path)), { level: 9 }).length,
    loads: imports
      .filter(({ kind, external }) => kind === "import-statement" && external !== true)
      .map((one) => basename(one.path)),
  }));
}
