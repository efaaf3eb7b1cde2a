import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** Replaces the text between `<!-- generated: name -->` and the next `<!-- end -->`; throws if one of the marks is missing. */
export function replaceSection(document: string, name: string, content: string): string {
  const opening = `<!-- generated: ${name} -->`;
  const start = document.indexOf(opening);
  const end = document.indexOf("<!-- end -->", start);
  if (start < 0 || end < 0) throw new Error(`Find the marks of the section "${name}": they are missing`);
  return `${document.slice(0, start + opening.length)}\n\n${content}\n\n${document.slice(end)}`;
}

/**
 * Writes computed sections into a document (a path from the root) and returns the exit code. With `check` it writes nothing and
 * returns 1 if a section differs from what is computed.
 */
export function writeSections(
  file: string,
  sections: Readonly<Record<string, string>>,
  { check, study }: { readonly check: boolean; readonly study: string },
): number {
  const path = join(root, file);
  const before = readFileSync(path, "utf8");
  const after = Object.entries(sections).reduce((text, [name, content]) => replaceSection(text, name, content), before);
  if (before === after) {
    process.stderr.write(`${file} is up to date.\n`);
    return 0;
  }
  if (check) {
    process.stderr.write(`${file} differs from what is computed: run npm run lab -- ${study}\n`);
    return 1;
  }
  writeFileSync(path, after);
  process.stderr.write(`${file} is written.\n`);
  return 0;
}
