import type { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { gathered } from "../http.ts";
import { ReadingError } from "./failure.ts";

/** EV5: one layer of these is taken off. */
const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  br: createBrotliDecompress,
  deflate: createInflate,
};

export const ACCEPTED_ENCODINGS = "gzip, br, deflate";

/** EV5: the whole body without its compression; stops at the first byte that is too much, before or behind the decoder. */
export async function readBody(
  body: Readable,
  encoding: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const name = encoding.trim().toLowerCase();
  const collect = (source: AsyncIterable<Uint8Array>): Promise<Uint8Array> => gathered(counted(source, maxBytes));
  if (name === "" || name === "identity") return pipeline(body, collect, { signal });
  const decoder = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
  if (decoder === undefined)
    throw new ReadingError("undecodable", `the server compresses as ${JSON.stringify(name.slice(0, 40))}`);
  try {
    const compressed = (source: AsyncIterable<Uint8Array>) => counted(source, maxBytes);
    return await pipeline(body, compressed, decoder(), collect, { signal });
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!/^(?:Z_|ERR__|ERR_BROTLI)/.test(code)) throw error;
    throw new ReadingError("undecodable", `the body is no ${name} (${code})`);
  }
}

async function* counted(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new ReadingError("too-large", `the body has more than ${maxBytes} bytes`);
    yield chunk;
  }
}
