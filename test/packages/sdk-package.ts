// The package @conclave/sdk as npm packs it, installed into an empty folder outside the repository.
import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildSdk, type BuiltFile } from "../../scripts/sdk/build.ts";

export const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);

export interface InstalledSdk {
  /** A project of its own, which has the package and viem. */
  readonly folder: string;
  readonly built: readonly BuiltFile[];
  /** Paths in the tarball. */
  readonly files: readonly string[];
  readonly tarballBytes: number;
  remove(): Promise<void>;
}

export async function installSdk(): Promise<InstalledSdk> {
  const folder = await mkdtemp(join(tmpdir(), "conclave-sdk-"));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    // A copy of the package: another test file builds its own at the same time.
    const source = join(folder, "source");
    for (const name of ["package.json", "README.md", "LICENSE"]) await cp(join(root, "sdk", name), join(source, name));
    const built = await buildSdk(source);
    const packed = await npm(["pack", "--json", "--pack-destination", folder], source);
    const [said] = Object.values(JSON.parse(packed) as Readonly<Record<string, Packed>>);
    if (said === undefined) throw new Error("npm packed nothing");
    await writeFile(join(folder, "package.json"), JSON.stringify({ name: "page", private: true, type: "module" }));
    // The peer comes from this repository, so that the test needs no network.
    await npm(
      ["install", "--offline", "--legacy-peer-deps", "--ignore-scripts", "--no-audit", `./${said.filename}`],
      folder,
    );
    await symlink(join(root, "node_modules/viem"), join(folder, "node_modules/viem"));
    return { folder, built, files: said.files.map(({ path }) => path), tarballBytes: said.size, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Runs a tool of the repository in a folder. */
export async function tool(name: string, args: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await run(join(root, "node_modules/.bin", name), args, { cwd, maxBuffer: 1 << 26 });
  return stdout;
}

/** Names what a folder of packages holds, scopes opened. */
export async function packagesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(join(folder, "node_modules"));
  return names.filter((name) => !name.startsWith("."));
}

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

async function npm(args: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await run("npm", args, { cwd });
  return stdout;
}
