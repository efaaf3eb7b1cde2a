import { makeFolder } from "../../adapters/make-folder.ts";
import { ConclaveError, messageOf } from "../../core/errors.ts";

/** Makes the folder that an option names, or that one holds what it names. Throws CONFIG_INVALID. */
export async function makeFolderOf(option: string, path: string, mode?: number): Promise<void> {
  await makeFolder(path, mode).catch((error: unknown) => {
    const message = `Make the folder "${path}" failed: ${messageOf(error)}; name another place with ${option}`;
    throw new ConclaveError("CONFIG_INVALID", message, { option, path }, error);
  });
}
