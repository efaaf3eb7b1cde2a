// Folders of runs: what an earlier run left, or somebody else keeps there, stays.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { makeFolderOf } from "../agents/cli/shared/folder.ts";

/** Makes a new folder in the one that --out names: NAME, or NAME-2, NAME-3, ... where there is one already. Throws CONFIG_INVALID. */
export async function newFolder(out: string, name: string): Promise<string> {
  await makeFolderOf("--out", out);
  for (let count = 1; ; count++) {
    const folder = join(out, count === 1 ? name : `${name}-${count}`);
    try {
      await mkdir(folder);
      return folder;
    } catch (error) {
      // The second attempt fails alike, and says so as for every folder.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") await makeFolderOf("--out", folder);
    }
  }
}
