import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConclaveError } from "../core/errors.ts";
import { parseFolder } from "./arguments.ts";

/** Where `conclave pin` keeps what it is told to keep. */
export const DEFAULT_PINS = "conclave-pins";

/** A folder of `conclave pin`, and no other: what nobody pinned elsewhere is not ours to remove. Throws USAGE or CONFIG_INVALID. */
export function pinsFolder(from: string, cwd: string): string {
  return keptFolder(from, cwd, ["pins"]);
}

/** Or the one of an agent, to read. */
export function anyFolder(from: string, cwd: string): string {
  return keptFolder(from, cwd, ["pins", "seat-pins"]);
}

function keptFolder(from: string, cwd: string, pins: readonly string[]): string {
  const path = resolve(cwd, parseFolder(from, "--from"));
  const has = (name: string): boolean => existsSync(join(path, name));
  if (has("blocks") && pins.some(has)) return path;
  throw new ConclaveError("CONFIG_INVALID", `Open ${path} failed: nothing is kept there; correct --from`, {
    path,
    option: "--from",
  });
}
