import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The packages of whose files a bundle was made: the innermost one of each path. */
const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;

interface PackageFile {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly homepage?: string;
}

/** Returns the licences of the packages that a bundle holds. Throws if a package names none. */
export function licencesOf(root: string, inputs: readonly string[]): string {
  const folders = [...new Set(inputs.flatMap((path) => PACKAGE.exec(path)?.[0] ?? []))].toSorted();
  const parts = folders.map((folder) => {
    const own = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as PackageFile;
    const { name, version, license, homepage = "" } = own;
    if (license === undefined) throw new Error(`Find the licence of ${name}: its package names none`);
    const [file] = globSync("{LICENSE,LICENCE,License,license}*", { cwd: join(root, folder) }).toSorted();
    const text =
      file === undefined
        ? `Its package has no licence file: ${homepage}`
        : readFileSync(join(root, folder, file), "utf8");
    return `${name} ${version} (${license})\n\n${text.trim()}\n`;
  });
  return `The files in dist contain these packages.\n\n${parts.join(`\n${"-".repeat(80)}\n\n`)}`;
}
