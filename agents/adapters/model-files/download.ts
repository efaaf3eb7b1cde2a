import { createWriteStream } from "node:fs";
import { readFile, rm, stat, statfs, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";

import { ConclaveError } from "../../core/errors.ts";
import { backoffMs, sleep } from "../chain/backoff.ts";
import { retryAfterMs } from "../http.ts";
import { Interrupted, openFile, pullFailed, type OpenedFile } from "./server-file.ts";

/** A file to download. */
export interface Wanted {
  readonly url: string;
  readonly authorization?: string | undefined;
  readonly format: keyof typeof MAGIC;
  /** The sha256 that it must have, as 64 lower-case hex digits; any if absent. */
  readonly sha256?: string | undefined;
}

export interface Watch {
  readonly signal: AbortSignal;
  /** Receives the bytes that are here and those of the whole file; null if the server does not say. */
  readonly onProgress: (bytes: number, of: number | null) => void;
  /** Receives why a try broke off and another follows. */
  readonly onRetry: (reason: string) => void;
  /** Free bytes of the disk that a folder is on. */
  readonly freeBytes?: (folder: string) => Promise<number>;
}

/** What a file of each format begins with. */
const MAGIC = { GGUF: "GGUF", zip: "PK\x03\x04" } as const;
/** Tries in a row that may break off without much progress. */
const TRIES = 4;
const PROGRESS_BYTES = 1 << 20;
const LONGEST_SLEEP_MS = 30_000;
/** A server that sends nothing for this long is asked again. */
const IDLE_MS = 60_000;
const REPEAT = "repeat the command: it goes on where this one stopped";

/**
 * Downloads to `path`, or goes on where an earlier call stopped, and returns the sha256 that the server states. The
 * digest is not checked here. Own code, because node-llama-cpp's downloader (ipull 3.9) checks neither a digest nor free
 * space, follows a redirect from https to http, and joins the parts of a file that changed on the server meanwhile.
 * Here If-Range makes the server send a changed file from its beginning. Throws MODEL_PULL_FAILED, DISK_FULL, or
 * MODEL_DIGEST_WRONG if the server states another digest than the wanted one.
 */
export async function download(wanted: Wanted, path: string, watch: Watch): Promise<string | null> {
  for (let failures = 0; ;) {
    const before = await sizeOf(path);
    try {
      return await tryOnce(wanted, path, watch);
    } catch (error) {
      watch.signal.throwIfAborted();
      if (!(error instanceof Interrupted)) throw error;
      failures = (await sizeOf(path)) - before >= PROGRESS_BYTES ? 1 : failures + 1;
      if (failures >= TRIES) throw pullFailed(wanted.url, error.message, REPEAT, error);
      watch.onRetry(error.message);
      await sleep(Math.min(LONGEST_SLEEP_MS, Math.max(error.retryAfterMs, backoffMs(failures))), watch.signal);
    }
  }
}

/** What a server says of a file before it sends it; null where it does not say. */
export interface Stated {
  readonly sha256: string | null;
  readonly bytes: number | null;
}

/** Asks a server what it would send. `way`: what to do if it does not say. Throws MODEL_PULL_FAILED. */
export async function askFor(
  { url, authorization }: Pick<Wanted, "url" | "authorization">,
  way: string,
  signal: AbortSignal,
): Promise<Stated> {
  try {
    const idle = AbortSignal.timeout(IDLE_MS);
    const { response, stated } = await openFile(url, authorization, {}, AbortSignal.any([signal, idle]));
    await response.body?.cancel();
    if (!response.ok) throw pullFailed(url, `the server answers ${response.status}`, way);
    if (stated === null) refuseCompressed(url, response);
    return { sha256: stated, bytes: totalOf(response, 0) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Interrupted) throw pullFailed(url, error.message, way, error);
    throw error;
  }
}

/** Removes what is left of a download. */
export async function forget(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(validatorOf(path), { force: true });
}

/** Refuses a file of another digest. */
export function checkDigest(path: string, found: string, wanted: string, way: string): void {
  if (found === wanted) return;
  const message = `Check ${path} failed: its sha256 is ${found}, not ${wanted}; ${way}`;
  throw new ConclaveError("MODEL_DIGEST_WRONG", message, { path, found, wanted });
}

async function tryOnce(wanted: Wanted, path: string, watch: Watch): Promise<string | null> {
  const have = await sizeOf(path);
  const validator = await readFile(validatorOf(path), "utf8").catch(() => null);
  // Without either, a file that changed meanwhile would go unnoticed.
  const resumes = have > 0 && (validator !== null || wanted.sha256 !== undefined);
  const range = resumes ? { range: `bytes=${have}-`, ...(validator !== null && { "if-range": validator }) } : {};
  const idle = new AbortController();
  const timer = setTimeout(() => idle.abort(), IDLE_MS);
  try {
    const opened = await openFile(
      wanted.url,
      wanted.authorization,
      range,
      AbortSignal.any([watch.signal, idle.signal]),
    );
    const { response, stated } = opened;
    if (stated !== null && wanted.sha256 !== undefined) {
      const way = "give the sha256 of this file, or the reference of the right one; nothing was downloaded";
      checkDigest(basename(wanted.url), stated, wanted.sha256, way);
    }
    const start = await startOf(opened, wanted.url, path, have);
    if (start !== null) await receive(response, start, wanted, path, watch, () => timer.refresh());
    else await response.body?.cancel();
    return stated;
  } catch (error) {
    if (idle.signal.aborted) throw new Interrupted(`the server sent nothing for ${IDLE_MS / 1000} s`);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the byte at which the response's body begins; null if all of the file is here already. */
async function startOf({ response }: OpenedFile, url: string, path: string, have: number): Promise<number | null> {
  const { status, headers } = response;
  const { first, total } = rangeIn(headers);
  if (status === 200) return 0;
  if (status === 206 && Number(first) === have) return have;
  if (status === 416 && Number(total) === have) return null;
  await response.body?.cancel();
  if (status === 206 || status === 416) {
    await forget(path);
    throw new Interrupted("the server's file is another one than that of which a part is here");
  }
  if (status === 429 || status >= 500) throw new Interrupted(`the server answers ${status}`, retryAfterMs(headers));
  const way =
    status === 401 || status === 403
      ? "the file wants a key: for hf: references set HF_TOKEN, and accept the model's terms on its page"
      : "correct the reference";
  throw pullFailed(url, `the server answers ${status}`, way);
}

function rangeIn(headers: Headers): { readonly first?: string | undefined; readonly total?: string | undefined } {
  const [, first, total] = /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/u.exec(headers.get("content-range") ?? "") ?? [];
  return { first, total };
}

/** Returns how long the whole file is; null if the server does not say. A range may end before the file does. */
function totalOf({ status, headers }: Response, start: number): number | null {
  const total = status === 206 ? Number(rangeIn(headers).total) : NaN;
  if (Number.isSafeInteger(total)) return total;
  const length = headers.get("content-length");
  return length === null ? null : start + Number(length);
}

/** Neither length nor parts of a compressed answer are those of the file. */
function refuseCompressed(url: string, { headers }: Response): void {
  if ((headers.get("content-encoding") ?? "identity") !== "identity")
    throw pullFailed(url, "the server compresses the file on the way", "give the URL of another server");
}

async function receive(
  response: Response,
  start: number,
  { url, format }: Wanted,
  path: string,
  { onProgress, freeBytes = freeOn }: Watch,
  onBytes: () => void,
): Promise<void> {
  const { headers, body } = response;
  refuseCompressed(url, response);
  const total = totalOf(response, start);
  const free = await freeBytes(dirname(path));
  if (total !== null && total - start > free) {
    await body?.cancel();
    throw diskFull(dirname(path), { needed: total - start, free });
  }
  if (start === 0) await keepValidator(path, headers);
  let at = start;
  const counted = new Transform({
    transform(chunk: Buffer, _, done) {
      onBytes();
      if (at === 0 && !MAGIC[format].startsWith(chunk.toString("latin1", 0, MAGIC[format].length))) {
        const type = headers.get("content-type") ?? "of an unknown type";
        const way = "give the URL of the file itself, not of a page about it";
        return done(pullFailed(url, `what the server sends (${type}) is no ${format} file`, way));
      }
      at += chunk.length;
      onProgress(at, total);
      return done(null, chunk);
    },
  });
  const file = createWriteStream(path, { flags: start === 0 ? "w" : "a" });
  try {
    await pipeline(body === null ? Readable.from([]) : Readable.fromWeb(body), counted, file);
  } catch (error) {
    if (at === 0) await forget(path);
    // The network's errors have no code of the file system.
    if (error instanceof ConclaveError || isOfFile(error)) throw error;
    throw new Interrupted(`the connection broke off at byte ${at}${total === null ? "" : ` of ${total}`}`);
  }
  if (total !== null && at !== total) throw new Interrupted(`the connection ended at byte ${at} of ${total}`);
}

/** Writes down which version of the server's file begins to come; what goes on is of the same one. */
async function keepValidator(path: string, headers: Headers): Promise<void> {
  const validator = headers.get("etag")?.startsWith('"') ? headers.get("etag") : headers.get("last-modified");
  if (validator === null) await rm(validatorOf(path), { force: true });
  else await writeFile(validatorOf(path), validator);
}

function isOfFile(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall === "write" || (error as NodeJS.ErrnoException).syscall === "open";
}

/** The file that says which version of the server's file a part is of. */
function validatorOf(path: string): string {
  return `${path}.etag`;
}

/** Returns the bytes of a file; 0 if none is there, or where a link leads nowhere. */
export async function sizeOf(path: string): Promise<number> {
  return await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

async function freeOn(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

export function diskFull(
  folder: string,
  room: { readonly needed: number; readonly free: number } | null,
  cause?: unknown,
): ConclaveError {
  const size = room === null ? "" : `: ${room.needed} bytes are to come, ${room.free} are free`;
  const message = `Pull into ${folder} failed: the disk is full${size}; free some space, then repeat the command, which goes on with what is here, or name another folder with --dir`;
  return new ConclaveError("DISK_FULL", message, { path: folder, ...room }, cause);
}
