import { createHash } from "node:crypto";
import { closeSync, constants, createReadStream, fstatSync, openSync, readSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";

import { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { PromptSet } from "../../core/prompts/prompt.ts";

import { THOUGHT_TAGS } from "./thought-marks.ts";

/** The part of a GGUF file's header that we use. */
export interface GgufHeader {
  readonly name: string;
  /** The version; null if the file has none. */
  readonly version: string | null;
  /** `user-only`: the model knows no roles and gets the bare user text (metadata key `conclave.prompt`). */
  readonly prompt: "user-only" | "chat";
  /** P5: the set of prompts that it was trained on: `small` for a model of this repository. */
  readonly prompts: PromptSet;
  /** Tokens that the model was trained for; null if the file does not say. */
  readonly contextLength: number | null;
  /** e.g. "llama"; null if the file does not say. */
  readonly architecture: string | null;
  /** True if the file says how a chat is written down. Without that a model was not trained to answer. */
  readonly hasTemplate: boolean;
  /** True if the template has a place for thoughts before the answer. */
  readonly thinks: boolean;
  /** Parameters in this file. */
  readonly parameters: number;
  /** Memory of a token of context, of 16-bit keys and values; null if the file does not say. */
  readonly contextBytesPerToken: number | null;
}

const bounds = {
  entries: 4096,
  tensors: 65_536,
  text: 1 << 24,
  arrayItems: 1 << 24,
  dimensions: 4,
  headerBytes: 1 << 28,
} as const;
const MAGIC = 0x46554747;
/** Bytes of the metadata value types 0..12; strings (8) and arrays (9) have their own length. */
const VALUE_BYTES = [1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8] as const;
const STRING = 8;
const ARRAY = 9;
const UINT32 = 4;
const UINT64 = 10;
/** [elements, bytes] of one block of the usual tensor types; for others only the beginning is checked. */
const BLOCKS: Readonly<Record<number, readonly [number, number]>> = {
  0: [1, 4],
  1: [1, 2],
  2: [32, 18],
  3: [32, 20],
  6: [32, 22],
  7: [32, 24],
  8: [32, 34],
  10: [256, 84],
  11: [256, 110],
  12: [256, 144],
  13: [256, 176],
  14: [256, 210],
  30: [1, 2],
};
const TEMPLATE = "tokenizer.chat_template";
const WANTED = new Set([
  "general.architecture",
  "general.name",
  "general.version",
  "conclave.prompt",
  "general.alignment",
  TEMPLATE,
]);
/** What shows beside tags that a template is of a model that thinks: Gemma's and gpt-oss's channels, a switch. */
const CHANNELS = /<\|?channel\|?>|enable_thinking/u;
/** Ends of keys whose beginning is the architecture's name. */
const SIZES = [
  "context_length",
  "block_count",
  "embedding_length",
  "attention.head_count",
  "attention.head_count_kv",
  "attention.key_length",
  "attention.value_length",
] as const;

/**
 * Reads the header and checks it and the extent of every tensor, because the native loader aborts the process on an
 * unexpected file. Throws MODEL_FILE_MISSING or MODEL_FILE_BROKEN.
 */
export function readGgufHeader(path: string): GgufHeader {
  let file: number;
  try {
    // A pipe without a writer must not block the process.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw missingFile(path, cause);
  }
  try {
    if (!fstatSync(file).isFile()) throw missingFile(path, { code: "not a file" });
    return parse(file, path);
  } catch (error) {
    if (error instanceof RangeError) throw brokenFile(path, error.message);
    throw error;
  } finally {
    closeSync(file);
  }
}

const hashes = new Map<string, Promise<string>>();

/** Returns the file's sha256 as 64 hex digits. Throws MODEL_DIGEST_WRONG if `wanted` differs. */
export async function digestGguf(path: string, wanted?: string): Promise<string> {
  const hash = await fileDigest(path);
  if (wanted !== undefined && wanted.toLowerCase() !== hash) {
    const message = `Load model ${path} failed: its sha256 is ${hash}, not ${wanted.toLowerCase()}; download the file again or correct model.sha256 in the config`;
    throw new ConclaveError("MODEL_DIGEST_WRONG", message, { path, found: hash, wanted: wanted.toLowerCase() });
  }
  return hash;
}

/** Returns `name@version sha256:<16 hex>`, for transcripts and the chain. */
export function describeGguf({ name, version }: GgufHeader, sha256: string): string {
  const versioned = version === null ? name : `${name}@${version}`;
  return `${versioned} sha256:${sha256.slice(0, 16)}`;
}

/** Returns a file's sha256; a file that did not change is hashed once per process. */
export async function fileDigest(path: string): Promise<string> {
  const { size, mtimeMs } = await stat(path);
  const key = `${path} ${size} ${mtimeMs}`;
  const hash = hashes.get(key) ?? hashFile(path);
  hashes.set(key, hash);
  hash.catch(() => hashes.delete(key));
  return await hash;
}

/** Longest context that is used without being asked for, but for thoughts: its length costs memory, and no prompt of ours is longer. */
export const MAX_USUAL_CONTEXT = 8192;

/** Fewest tokens that thoughts and answer must leave for a prompt. */
const LEAST_PROMPT_TOKENS = 1024;

interface WantedContext {
  readonly contextSize?: number | undefined;
  readonly thinkingTokens?: number | undefined;
}

/** Throws MODEL_CONTEXT_TOO_SMALL if the model was not trained for that many tokens, or they hold no answer, or thoughts leave no room for prompts. */
export function checkContext(path: string, { contextLength }: GgufHeader, wanted: WantedContext): void {
  const { contextSize = contextLength, thinkingTokens = 0 } = wanted;
  if (contextSize === null) return;
  const fail = (reason: string): ConclaveError =>
    new ConclaveError("MODEL_CONTEXT_TOO_SMALL", `Load model ${path} failed: ${reason}`, {
      path,
      contextSize,
      thinkingTokens,
    });
  if (contextLength !== null && contextSize > contextLength)
    throw fail(
      `it was trained for a context of ${contextLength} tokens, model.contextSize asks for ${contextSize}; lower it or choose a model with a longer context`,
    );
  const raise = `raise model.contextSize, or choose a model with a longer context`;
  if (contextSize < limits.modelOutputTokens)
    throw fail(`of a context of ${contextSize} tokens an answer needs ${limits.modelOutputTokens}; ${raise}`);
  const most = contextSize - LEAST_PROMPT_TOKENS - limits.modelOutputTokens;
  if (thinkingTokens === 0 || thinkingTokens <= most) return;
  const reason = `model.thinkingTokens is ${thinkingTokens}, but of a context of ${contextSize} tokens prompts need ${LEAST_PROMPT_TOKENS} and an answer ${limits.modelOutputTokens}`;
  throw fail(most > 0 ? `${reason}; lower it to at most ${most}, or ${raise}` : `${reason}; ${raise}`);
}

/** Says why a model cannot be asked: its file does not say how; null if it does. */
export function templateLack({ hasTemplate, prompt }: GgufHeader): string | null {
  if (hasTemplate || prompt === "user-only") return null;
  return `it has no chat template (${TEMPLATE}), so it is a base model`;
}

/** Throws MODEL_TEMPLATE_MISSING if the file does not say how its model is asked. */
export function checkTemplate(path: string, header: GgufHeader): void {
  const reason = templateLack(header);
  if (reason === null) return;
  const message = `Check model ${path} failed: ${reason}; choose its instruct or chat version`;
  throw new ConclaveError("MODEL_TEMPLATE_MISSING", message, { path, reason });
}

export function brokenFile(path: string, reason: string, cause?: unknown): ConclaveError {
  const wayOut = "restore or download the GGUF file again, or set another model in the config";
  return new ConclaveError(
    "MODEL_FILE_BROKEN",
    `Load model ${path} failed: ${reason}; ${wayOut}`,
    { path, reason },
    cause,
  );
}

function missingFile(path: string, cause: unknown): ConclaveError {
  const reason = (cause as NodeJS.ErrnoException).code ?? "unknown";
  const message = `Load model ${path} failed: the file cannot be opened (${reason}); correct the path in the config or put the GGUF file there`;
  return new ConclaveError("MODEL_FILE_MISSING", message, { path, reason }, cause);
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}

function parse(file: number, path: string): GgufHeader {
  const { size } = fstatSync(file);
  const read = cursorOver(file, size);
  if (read.u32() !== MAGIC) throw new RangeError("it is not a GGUF file");
  const version = read.u32();
  if (version !== 2 && version !== 3) throw new RangeError(`GGUF version ${version} is not 2 or 3`);
  const tensors = read.count("tensors", bounds.tensors);
  const entries = read.count("metadata entries", bounds.entries);
  const metadata = new Map<string, string | number>();
  for (let i = 0; i < entries; i++) {
    const key = read.text();
    const value = readValue(read, read.u32());
    if (value === null) continue;
    if (WANTED.has(key)) metadata.set(key, value);
    const known = SIZES.find((end) => key.endsWith(`.${end}`));
    if (known !== undefined) metadata.set(known, value);
  }
  if (tensors === 0) throw new RangeError("it has no tensors");
  const extents = Array.from({ length: tensors }, () => tensorExtent(read));
  const alignment = Number(metadata.get("general.alignment") ?? 32);
  if (!(alignment >= 1 && alignment <= 1 << 16)) throw new RangeError(`alignment ${alignment} is not sane`);
  const start = Math.ceil(read.offset() / alignment) * alignment;
  const end = start + extents.reduce((most, one) => Math.max(most, one.end), 0);
  if (end > size) throw new RangeError(`it is cut short: its tensors end at byte ${end}, the file at ${size}`);
  const template = metadata.get(TEMPLATE);
  const sizeOf = (key: (typeof SIZES)[number]): number | null => Number(metadata.get(key) ?? 0) || null;
  const prompt = metadata.get("conclave.prompt") === "user-only" ? "user-only" : "chat";
  return {
    name: label(metadata.get("general.name")) ?? label(basename(path).replace(/\.gguf$/iu, "")) ?? "model",
    version: label(metadata.get("general.version")),
    prompt,
    prompts: prompt === "user-only" ? "small" : "general",
    architecture: label(metadata.get("general.architecture")),
    hasTemplate: template !== undefined,
    thinks:
      typeof template === "string" &&
      (CHANNELS.test(template) || THOUGHT_TAGS.flat().some((tag) => template.includes(tag))),
    contextLength: sizeOf("context_length"),
    contextBytesPerToken: contextBytes(sizeOf),
    parameters: extents.reduce((sum, { elements }) => sum + elements, 0),
  };
}

function contextBytes(sizeOf: (key: (typeof SIZES)[number]) => number | null): number | null {
  const [blocks, width, heads] = [sizeOf("block_count"), sizeOf("embedding_length"), sizeOf("attention.head_count")];
  if (blocks === null || width === null || heads === null) return null;
  const keys = sizeOf("attention.key_length") ?? width / heads;
  const values = sizeOf("attention.value_length") ?? width / heads;
  return 2 * blocks * (sizeOf("attention.head_count_kv") ?? heads) * (keys + values);
}

/** Returns a tensor's size, and where it ends relative to the tensor data. */
function tensorExtent(read: ByteCursor): { readonly elements: number; readonly end: number } {
  read.text();
  const dimensions = read.u32();
  if (dimensions > bounds.dimensions) throw new RangeError(`a tensor has ${dimensions} dimensions`);
  let elements = 1;
  for (let i = 0; i < dimensions; i++) elements *= read.u64();
  const block = BLOCKS[read.u32()];
  const offset = read.u64();
  return { elements, end: block === undefined ? offset + 1 : offset + Math.ceil(elements / block[0]) * block[1] };
}

function readValue(read: ByteCursor, type: number): string | number | null {
  if (type === STRING) return read.text();
  if (type === ARRAY) {
    const itemType = read.u32();
    const items = read.count("items of an array", bounds.arrayItems);
    if (itemType === STRING) for (let i = 0; i < items; i++) read.skip(read.count("bytes of a text", bounds.text));
    else read.skip(items * fixedBytes(itemType));
    return null;
  }
  if (type === UINT32) return read.u32();
  if (type === UINT64) return read.u64();
  read.skip(fixedBytes(type));
  return null;
}

function fixedBytes(type: number): number {
  const bytes = VALUE_BYTES[type] ?? 0;
  if (bytes === 0) throw new RangeError(`metadata type ${type} is not known here`);
  return bytes;
}

/** Makes a label for transcripts and the chain: short, printable ASCII, no spaces. */
function label(value: string | number | undefined): string | null {
  const text = typeof value === "string" ? value.replaceAll(/[^\x21-\x7e]+/gu, "-").slice(0, 64) : "";
  return text === "" ? null : text;
}

interface ByteCursor {
  u32(): number;
  /** Reads an integer. Throws if it is not a safe one. */
  u64(): number;
  count(what: string, most: number): number;
  text(): string;
  skip(bytes: number): void;
  offset(): number;
}

/**
 * Creates a cursor. Synchronous, since a header has some hundred thousand little fields and is read once, at the start.
 */
function cursorOver(file: number, size: number): ByteCursor {
  const piece = Buffer.alloc(1 << 20);
  let start = 0;
  let filled = 0;
  let at = 0;
  if (size === 0) throw new RangeError("it is empty");
  const take = (bytes: number): number => {
    if (at + bytes > Math.min(size, bounds.headerBytes)) throw new RangeError("its header is cut short or too long");
    if (at < start || at + bytes > start + filled) {
      start = at;
      filled = readSync(file, piece, 0, piece.length, at);
      if (bytes > filled) throw new RangeError("its header is cut short");
    }
    at += bytes;
    return at - bytes - start;
  };
  const cursor: ByteCursor = {
    u32: () => piece.readUInt32LE(take(4)),
    u64() {
      const value = Number(piece.readBigUInt64LE(take(8)));
      if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a sane length`);
      return value;
    },
    count(what, most) {
      const count = cursor.u64();
      if (count > most) throw new RangeError(`${count} ${what} are more than the ${most} that are sane`);
      return count;
    },
    text() {
      const bytes = cursor.count("bytes of a text", bounds.text);
      if (bytes > piece.length) {
        cursor.skip(bytes);
        return "";
      }
      const from = take(bytes);
      return piece.toString("utf8", from, from + bytes);
    },
    skip(bytes) {
      if (at + bytes > Math.min(size, bounds.headerBytes)) throw new RangeError("its header is cut short or too long");
      at += bytes;
    },
    offset: () => at,
  };
  return cursor;
}
