import { createReadStream } from "node:fs";
import { ConclaveError } from "../../core/errors.ts";

/**
 * Reads a file or a pipe that an option names; the signal ends it even while a pipe is silent. Throws CONFIG_INVALID that names file and
 * option.
 */
export async function* readFileOf(path: string, option: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const file = createReadStream(path, { signal });
  try {
    yield* file as AsyncIterable<Uint8Array>;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const message = `Read ${path} failed: ${error.message}; correct ${option}`;
    throw new ConclaveError("CONFIG_INVALID", message, { path, option }, error);
  }
}

export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}
