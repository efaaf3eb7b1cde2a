// The folder of `conclave dev --dir`: taken by one process, and keeping one world.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { parseJson } from "../../agents/adapters/json.ts";
import { lockFile } from "../../agents/adapters/lock.ts";
import { makeFolderOf } from "../../agents/cli/shared/folder.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { deploymentFileIn } from "../world/world.ts";
import { word } from "./shell-word.ts";

export const STATE_FILE = "chain.json";
const WORLD_FILE = "world.json";
const LOCK_FILE = "dev.lock";
/** Holds the process id of who has the lock, or had it last. */
const PROCESS_FILE = "dev.pid";
/** All that a first start makes; an agent's data belongs to its process. */
const MADE =
  /^(?:(?:chain|world|deployment)\.json|world\.json\.tmp|dev\.(?:lock|pid)|password|asker\.json(?:\.[\w-]+\.tmp)?|agent-\d+(?:\/(?:conclave\.json|agent\.log|keystore\.json(?:\.[\w-]+\.tmp)?|data(?:\/.*)?))?)$/s;

/** What the world's file says once the first start is done. */
const keptSchema = z.object({
  agents: z.int().min(1).max(64),
  liar: z.boolean(),
  /** The path of the agents' model; null for the repository's. */
  model: z.string().nullable().default(null),
});
export type Kept = z.infer<typeof keptSchema>;
/** What it says until then. */
const begunSchema = z.object({ isBegun: z.literal(true) });

/**
 * Makes the folder, takes it for this process and returns what gives it back. Throws CONFIG_INVALID if it is a file, holds
 * something that no world made, or is another process's.
 */
export async function takeFolder(directory: string): Promise<() => Promise<void>> {
  await makeFolderOf("--dir", directory, 0o700);
  const names = await readdir(directory);
  const isOurs = [WORLD_FILE, STATE_FILE, LOCK_FILE, deploymentFileIn("")].some((name) => names.includes(name));
  if (names.length > 0 && !isOurs)
    throw invalid(directory, `it holds other files, such as ${names[0]}; name a new folder, or an empty one`);
  const processFile = join(directory, PROCESS_FILE);
  const release = lockFile(join(directory, LOCK_FILE), () => {
    const owner = ownerIn(processFile);
    const [who, way] = owner === null ? ["", "end it"] : [` (process ${owner})`, `end it with \`kill ${owner}\``];
    return invalid(directory, `another \`conclave dev\` runs there${who}; ${way}, or name another --dir`);
  });
  try {
    writeFileSync(processFile, String(process.pid));
  } catch (error) {
    release();
    throw error;
  }
  return () => rm(processFile, { force: true }).finally(release);
}

/** Returns the process id in the file; null if it holds none. */
function ownerIn(processFile: string): string | null {
  try {
    return /^\d+$/.exec(readFileSync(processFile, "utf8"))?.[0] ?? null;
  } catch {
    return null;
  }
}

/** Reads what a directory keeps; null if it keeps nothing, or what a first start left that did not end. Throws CONFIG_INVALID. */
export async function readKept(directory: string): Promise<Kept | null> {
  const world = await readWorld(directory);
  const begun = [STATE_FILE, deploymentFileIn("")].filter((name) => existsSync(join(directory, name)));
  if (begunSchema.safeParse(world).success || (world === null && begun.length === 0)) return null;
  const kept = keptSchema.safeParse(world).data;
  if (kept !== undefined && begun.length === 2) return kept;
  const other = await foreignIn(directory);
  const way =
    other === undefined
      ? `restore it, or remove the folder with \`rm -r ${word(directory)}\``
      : `it holds other files, too, such as ${other}; name another --dir`;
  throw invalid(directory, `it keeps no whole world: a file is gone or damaged; ${way}`);
}

/** Notes that a first start begins. Removes what an earlier one left that did not end, after it has said so. Throws CONFIG_INVALID. */
export async function beginWorld(directory: string, progress: (line: string) => void): Promise<void> {
  if ((await readWorld(directory)) !== null) await removeBegun(directory, progress);
  await writeWorld(directory, { isBegun: true });
}

/** Notes that the world is whole. */
export async function keepWorld(directory: string, kept: Kept): Promise<void> {
  await writeWorld(directory, kept);
}

/** Writes it whole or not at all. */
async function writeWorld(directory: string, world: object): Promise<void> {
  const path = join(directory, WORLD_FILE);
  await writeFile(`${path}.tmp`, `${JSON.stringify(world)}\n`);
  await rename(`${path}.tmp`, path);
}

/** Returns a file of the folder that no first start made; undefined without one. */
async function foreignIn(directory: string): Promise<string | undefined> {
  const entries = await readdir(directory, { recursive: true });
  return entries.find((path) => !MADE.test(path));
}

async function removeBegun(directory: string, progress: (line: string) => void): Promise<void> {
  const other = await foreignIn(directory);
  if (other !== undefined)
    throw invalid(
      directory,
      `its first start did not end, and it holds other files, such as ${other}; move them away and start again, or name another --dir`,
    );
  progress(`the first start in ${directory} did not end: it begins anew`);
  // The lock is this process's. The world's file tells of the rest as long as there is any.
  const kept = [LOCK_FILE, PROCESS_FILE, WORLD_FILE];
  for (const name of await readdir(directory))
    if (!kept.includes(name)) await rm(join(directory, name), { recursive: true, maxRetries: 3 });
}

/** The content of the world's file; null without one, undefined if it is no JSON. */
async function readWorld(directory: string): Promise<unknown> {
  const text = await readFile(join(directory, WORLD_FILE), "utf8").catch(() => null);
  return text === null ? null : (parseJson(text) ?? undefined);
}

export function invalid(directory: string, why: string): ConclaveError {
  return new ConclaveError("CONFIG_INVALID", `Open the world in ${directory}: ${why}`, { option: "--dir", directory });
}
