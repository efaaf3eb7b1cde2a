import { existsSync } from "node:fs";
import { rename, stat } from "node:fs/promises";
import { join } from "node:path";

import { ConclaveError } from "../../core/errors.ts";
import { lockDirectory, unwritable } from "../lock.ts";
import { makeFolder } from "../make-folder.ts";
import { digestGguf, readGgufHeader } from "../models/gguf.ts";
import { askFor, checkDigest, diskFull, download, forget, sizeOf, type Watch } from "./download.ts";
import type { ModelPlace } from "./reference.ts";
import { pullFailed } from "./server-file.ts";

/** A model file in a folder of models. */
export interface PulledModel {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  /** False if it was there before. */
  readonly isNew: boolean;
}

/** What makes the file `path`, whole or not; it is checked afterwards. Returns the sha256 that it must have, if any. */
type Make = (path: string) => Promise<string | undefined>;

/** What the system says of a folder, or a file in it, that this account may not write. */
const NOT_ALLOWED = ["EACCES", "EPERM", "EROFS"];

const OTHER_FILE = "another file of that name is there: remove it, or name another folder with --dir";
const NOT_COMPARED = "give --sha256 to take the file that is there, or remove it";

/**
 * Downloads a GGUF file into a folder. A file of its name that is there must have the wanted digest; without one, what the server states.
 * Throws what `download` and `keepModel` throw, and MODEL_PULL_FAILED if that file is another one, or the server does not answer.
 */
export async function pullModel(
  place: ModelPlace,
  folder: string,
  wanted: string | undefined,
  watch: Watch,
): Promise<PulledModel> {
  const { url, file, authorization } = place;
  const sha256 = wanted ?? (await statedOf(place, join(folder, file), watch.signal));
  return await keepModel(folder, file, sha256, async (path) => {
    const stated = await download({ url, authorization, format: "GGUF", sha256 }, path, watch);
    return sha256 ?? stated ?? undefined;
  });
}

/** Returns the digest that the server states of a file that is there; undefined if none is there, or if just its length agrees. */
async function statedOf(place: ModelPlace, path: string, signal: AbortSignal): Promise<string | undefined> {
  if (!existsSync(path)) return undefined;
  const way = `repeat the command, or give --sha256 to take ${path}, which is there, without asking the server`;
  const stated = await askFor(place, way, signal);
  if (stated.sha256 !== null) return stated.sha256;
  const bytes = await sizeOf(path);
  if (stated.bytes === null)
    throw pullFailed(place.url, `the server states neither digest nor length to compare ${path} with`, NOT_COMPARED);
  if (stated.bytes !== bytes)
    throw pullFailed(place.url, `${path} has ${bytes} bytes, the server's file ${stated.bytes}`, OTHER_FILE);
  return undefined;
}

/**
 * Makes a model file unless it is there, and gives it its name once its digest and header are right; until then it is
 * called `FILE.part`. Throws MODEL_PULL_FAILED if another process pulls into the folder, MODEL_DIGEST_WRONG,
 * MODEL_FILE_BROKEN, DISK_FULL, CONFIG_INVALID if this account may not write there, and what `make` throws.
 */
export async function keepModel(
  folder: string,
  file: string,
  sha256: string | undefined,
  make: Make,
): Promise<PulledModel> {
  await makeFolder(folder);
  const release = lockDirectory(folder, (cause) => busy(folder, cause), "--dir");
  try {
    const path = join(folder, file);
    if (existsSync(path)) return await present(path, sha256);
    const part = `${path}.part`;
    const wanted = await make(part);
    const found = await digestGguf(part);
    if (wanted !== undefined) {
      const way = `if ${wanted} is wrong, repeat with the right one: nothing is downloaded again; if the file is, remove it and repeat`;
      checkDigest(part, found, wanted, way);
    }
    try {
      readGgufHeader(part);
    } catch (error) {
      // Another try would end here again.
      await forget(part);
      throw error instanceof ConclaveError ? broken(path, error) : error;
    }
    await rename(part, path);
    await forget(part);
    return { path, bytes: (await stat(path)).size, sha256: found, isNew: true };
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOSPC") throw diskFull(folder, null, error);
    if (NOT_ALLOWED.includes(code)) throw unwritable(folder, "--dir", error);
    throw error;
  } finally {
    release();
  }
}

async function present(path: string, wanted: string | undefined): Promise<PulledModel> {
  const sha256 = await digestGguf(path);
  if (wanted !== undefined) checkDigest(path, sha256, wanted, OTHER_FILE);
  readGgufHeader(path);
  return { path, bytes: (await stat(path)).size, sha256, isNew: false };
}

/** The error for what came for a file and is removed again. */
function broken(path: string, error: ConclaveError): ConclaveError {
  const reason = String(error.data["reason"]);
  const message = `Check what came for ${path} failed: ${reason}; it is removed: repeat the command, or name another file`;
  return new ConclaveError(error.code, message, { path, reason }, error);
}

function busy(folder: string, cause: unknown): ConclaveError {
  const message = `Pull into ${folder} failed: another process pulls into it; wait until it has ended, or name another folder with --dir`;
  return new ConclaveError("MODEL_PULL_FAILED", message, { path: folder }, cause);
}
