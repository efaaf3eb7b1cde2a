// The real Kubo, built from its Go module: one version, every byte of its source pinned.
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");

/** The same as in deploy/docker-compose.yml. */
export const KUBO_VERSION = "v0.39.0";
/** Hash of the module's files. Its go.sum is among them and pins everything that it is made from. */
const KUBO_SUM = "h1:QA9tjxjZFfffZDUnJqbFHCaapxkzEBD2nC5YmYDIkEU=";
const MODULE = "github.com/ipfs/kubo";
/** Oldest Go that its go.mod allows. */
const GO_MINOR = 25;
/**
 * Build tag: one of its libraries lists the Go versions that it was tried on, and this tag makes it accept a newer
 * one.
 */
const TAGS = "nofuse,untested_go_version";

/** Returns the file of `ipfs`. A missing one is built, which takes minutes and needs Go. */
export async function buildKubo(progress: (line: string) => void): Promise<string> {
  const folder = join(root, ".cache", "kubo", KUBO_VERSION);
  const binary = join(folder, "ipfs");
  if (existsSync(binary)) return binary;
  await requireGo();
  progress(`fetching ${MODULE} ${KUBO_VERSION}`);
  const source = await download();
  progress("building it; the first time takes minutes");
  await mkdir(folder, { recursive: true });
  const part = join(folder, `ipfs.${process.pid}`);
  try {
    await go(["build", "-p", "2", "-trimpath", "-tags", TAGS, "-ldflags", "-s -w", "-o", part, "./cmd/ipfs"], source);
    await rename(part, binary);
  } finally {
    await rm(part, { force: true });
  }
  return binary;
}

async function requireGo(): Promise<void> {
  const way = `Install Go 1.${GO_MINOR} or newer (https://go.dev/dl), put its bin folder on the PATH, and run the same command again.`;
  let version: string;
  try {
    version = (await run("go", ["env", "GOVERSION"])).stdout.trim();
  } catch (error) {
    throw new Error(`Build Kubo: there is no Go on this machine. ${way}`, { cause: error });
  }
  const [, minor] = /^go1\.(\d+)/.exec(version) ?? [];
  if (!(Number(minor) >= GO_MINOR)) throw new Error(`Build Kubo: this is ${version}. ${way}`);
}

/** Returns the folder of the module's source. */
async function download(): Promise<string> {
  const { stdout } = await run("go", ["mod", "download", "-json", `${MODULE}@${KUBO_VERSION}`], {
    // A folder without a go.mod. The sum below says more than the public list of sums, which is not reachable
    // everywhere.
    cwd: tmpdir(),
    env: { ...environment(), GONOSUMDB: MODULE },
  });
  const { Sum, Dir } = JSON.parse(stdout) as { readonly Sum: string; readonly Dir: string };
  if (Sum === KUBO_SUM) return Dir;
  throw new Error(
    `Build Kubo: the source of ${KUBO_VERSION} has the sum ${Sum}, not ${KUBO_SUM}; clear Go's module cache`,
  );
}

/** Builds inside the module, so that its own go.sum checks every other module. */
async function go(args: readonly string[], cwd: string): Promise<void> {
  const child = spawn("go", args, { cwd, env: environment(), stdio: ["ignore", 2, 2] });
  const code = await new Promise((settle, reject) => {
    child.on("error", reject);
    child.on("exit", (exitCode, signal) => settle(exitCode ?? signal));
  });
  if (code !== 0) throw new Error(`Build Kubo: go ${args[0] ?? ""} ended with ${String(code)}`);
}

/** The environment without the caller's settings for other builds. */
function environment(): NodeJS.ProcessEnv {
  return { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-mod=readonly -buildvcs=false", GOWORK: "off" };
}
