import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const ENTRIES = ["sdk/src/index.d.ts", "sdk/src/verify/index.d.ts", "sdk/src/testing/index.d.ts"];
const SPECIFIER = /(from |import\()"(\.[^"]+)\.ts"/g;

/** Writes the declarations that the entries reach, in the folders of their sources, and none beside. */
export async function writeDeclarations(root: string, target: string): Promise<void> {
  const all = join(root, ".cache/sdk-types");
  rmSync(all, { recursive: true, force: true });
  execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", join(root, "sdk/tsconfig.types.json")], {
    stdio: "inherit",
  });
  const waiting = ENTRIES.map((path) => join(all, path));
  const known = new Set(waiting);
  for (const file of waiting) {
    const text = readFileSync(file, "utf8");
    for (const [, , path] of text.matchAll(SPECIFIER)) {
      const imported = resolve(dirname(file), `${path}.d.ts`);
      if (!known.has(imported)) waiting.push(imported);
      known.add(imported);
    }
    const place = join(target, relative(all, file));
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, text.replace(SPECIFIER, '$1"$2.js"'));
  }
}
