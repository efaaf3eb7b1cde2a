import { readFileSync } from "node:fs";
import { join } from "node:path";

const source = readFileSync(join(import.meta.dirname, "../../contracts/types/Limits.sol"), "utf8");

/** A file-level constant of contracts/types/Limits.sol, times in seconds. Throws if there is none that is a plain number. */
export function constant(name: string): number {
  const [, value, unit] = new RegExp(`constant ${name} = ([0-9_]+)(?: (minutes|days))?;`).exec(source) ?? [];
  if (value === undefined) throw new Error(`no constant ${name}`);
  return Number(value.replaceAll("_", "")) * (unit === "days" ? 86_400 : unit === "minutes" ? 60 : 1);
}
