import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** Writes generated files (text by path from the root). With --check it writes nothing and ends with 1 if a file differs. */
export function writeOrCheck(files: Readonly<Record<string, string>>, script: string): void {
  const check = process.argv.includes("--check");
  for (const [path, text] of Object.entries(files)) {
    const target = join(root, path);
    if (!check) writeFileSync(target, text);
    else if (!existsSync(target) || readFileSync(target, "utf8") !== text) {
      console.error(`${path} is out of date: run \`node ${script}\`.`);
      process.exitCode = 1;
    }
  }
}
