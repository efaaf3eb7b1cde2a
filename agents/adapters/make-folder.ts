import { existsSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";

/** Makes a folder step by step, with those above it that are missing: in places without folders, such as /proc, a recursive `mkdir` never ends. */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  if (!existsSync(dirname(path))) await makeFolder(dirname(path), mode);
  await mkdir(path, { mode }).catch((error: unknown) => {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  });
}
