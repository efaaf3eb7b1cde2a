import { readdir } from "node:fs/promises";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

import { ConclaveError } from "../../core/errors.ts";
import { digestGguf, readGgufHeader, type GgufHeader } from "../models/gguf.ts";
import { sizeOf } from "./download.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface ListedModel {
  /** The file's name without its ending, as commands take it. */
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
  /** What is known of a whole file; for another one, why it is not usable. */
  readonly model: (GgufHeader & { readonly sha256: string }) | ConclaveError;
}

const ENDING = ".gguf";
const UNFINISHED = ".part";

/** Returns the folder of models: the variable CONCLAVE_MODELS, or `.conclave/models` in the home folder. */
export function modelsFolder(environment: Environment): string {
  const named = environment["CONCLAVE_MODELS"] ?? "";
  return named === "" ? join(homedir(), ".conclave", "models") : resolve(named);
}

/**
 * Returns the file that a text means: a path, if it ends in `.gguf` or names a folder, else the name of a model in the
 * folder of models. Throws MODEL_FILE_MISSING if there is no model of that name.
 */
export function modelFile(text: string, cwd: string, environment: Environment): string {
  if (text.endsWith(ENDING) || /[/\\]/u.test(text)) return resolve(cwd, text);
  const folder = modelsFolder(environment);
  const path = join(folder, `${text}${ENDING}`);
  if (existsSync(path)) return path;
  const message = `Find the model ${JSON.stringify(text)} failed: ${folder} holds no file ${text}${ENDING}; look with \`conclave model list\`, get it with \`conclave model pull\`, or give the path of a GGUF file`;
  throw new ConclaveError("MODEL_FILE_MISSING", message, { path, reason: "ENOENT" });
}

/** Returns what the folder holds, by name; it hashes every file. An absent folder holds nothing. Throws CONFIG_INVALID for what is no folder. */
export async function listModels(folder: string): Promise<readonly ListedModel[]> {
  const listed: ListedModel[] = [];
  for (const file of await filesOf(folder, ENDING)) {
    const path = join(folder, file);
    listed.push({ name: file.slice(0, -ENDING.length), path, bytes: await sizeOf(path), model: await describe(path) });
  }
  return listed;
}

/** Returns the downloads that stopped before their end. */
export async function listUnfinished(
  folder: string,
): Promise<readonly { readonly path: string; readonly bytes: number }[]> {
  const paths = (await filesOf(folder, UNFINISHED)).map((file) => join(folder, file));
  return await Promise.all(paths.map(async (path) => ({ path, bytes: await sizeOf(path) })));
}

async function describe(path: string): Promise<ListedModel["model"]> {
  try {
    return { ...readGgufHeader(path), sha256: await digestGguf(path) };
  } catch (error) {
    if (error instanceof ConclaveError) return error;
    throw error;
  }
}

async function filesOf(folder: string, ending: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    const message = `Read the folder of models ${folder} failed: ${error.message}; name another folder with --dir, or in the variable CONCLAVE_MODELS`;
    throw new ConclaveError("CONFIG_INVALID", message, { path: folder, option: "--dir" }, error);
  });
  return names.filter((name) => name.endsWith(ending)).toSorted();
}
