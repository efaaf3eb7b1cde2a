// Packs packages of this repository and installs them into an empty project outside of it, as their users do.
import { execFile } from "node:child_process";
import { globSync, lstatSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);
/** An install on two shared cores with an empty cache of npm takes one minute. */
const timeout = 240_000;

export interface Packed {
  /** The tarball. */
  readonly file: string;
  /** Paths in the package, sorted. */
  readonly paths: readonly string[];
  /** Bytes of the tarball. */
  readonly packedBytes: number;
  /** Bytes of its files. */
  readonly unpackedBytes: number;
}

export interface Project {
  readonly folder: string;
  /** Installs tarballs, and packages of the configured registry. */
  install(...packages: readonly string[]): Promise<void>;
  write(path: string, text: string): Promise<void>;
  /** Runs a program of the project's dependencies on this Node; rejects with its output unless it ends with 0. */
  run(program: string, ...args: readonly string[]): Promise<string>;
  /** Runs a line of a shell, as a README prints it. */
  shell(line: string): Promise<void>;
  /** Bytes of everything that is installed. */
  installedBytes(): number;
  remove(): Promise<void>;
}

/** Packs the package in a folder, which is named from the root of the repository. */
export async function pack(folder: string, into: string): Promise<Packed> {
  const { stdout } = await npm(resolve(root, folder), "pack", "--json", "--pack-destination", into);
  const [packed] = JSON.parse(stdout) as [
    { filename: string; size: number; unpackedSize: number; files: readonly { path: string }[] },
  ];
  return {
    file: join(into, packed.filename),
    paths: packed.files.map(({ path }) => path).toSorted(),
    packedBytes: packed.size,
    unpackedBytes: packed.unpackedSize,
  };
}

/** Creates an empty project outside the repository. */
export async function createProject(): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), "conclave-project-"));
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  await write("package.json", JSON.stringify({ name: "empty", private: true, type: "module" }));
  return {
    folder,
    write,
    install: async (...packages) => {
      await npm(folder, "install", ...packages, "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline");
    },
    run: async (program, ...args) => {
      const { stdout } = await execute(
        program === process.execPath ? program : join(folder, "node_modules/.bin", program),
        args,
        folder,
      );
      return stdout;
    },
    shell: async (line) => void (await execute("sh", ["-c", line], folder)),
    installedBytes: () =>
      globSync("node_modules/**/*", { cwd: folder }).reduce((sum, path) => {
        const stat = lstatSync(join(folder, path));
        return sum + (stat.isFile() ? stat.size : 0);
      }, 0),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The code blocks of a Markdown text in a language, in order. */
export function snippetsOf(markdown: string, language: string): readonly string[] {
  const blocks = markdown.matchAll(/^```(\w*)\n(.*?)^```$/gms);
  return [...blocks].filter(([, name]) => name === language).map(([, , code = ""]) => code);
}

function npm(folder: string, ...args: readonly string[]): Promise<{ stdout: string }> {
  return execute("npm", args, folder);
}

async function execute(file: string, args: readonly string[], cwd: string): Promise<{ stdout: string }> {
  // The settings that npm gives to the scripts of this repository must not reach the project's.
  const outside = Object.entries(process.env).filter(([name]) => !/^(npm_(?!config_)|INIT_CWD|NODE_TEST)/.test(name));
  const path = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
  const env = { ...Object.fromEntries(outside), PATH: path, CI: "1", NO_COLOR: "1" };
  try {
    return await run(file, args, { cwd, env, timeout, maxBuffer: 2 ** 24 });
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${file} ${args.join(" ")} failed in ${cwd}:\n${stdout}\n${stderr}`, { cause: error });
  }
}
