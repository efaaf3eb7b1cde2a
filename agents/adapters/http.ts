/** What every client of a foreign server needs: bounded bodies, bounded waits, and no key in a message. */

import { utf8 } from "../core/encoding/bytes.ts";

const MAX_QUOTE = 200;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Reads a body of at most `maxBytes`. For a longer one it stops and throws what `refuse` returns. */
export async function boundedBody(response: Response, maxBytes: number, refuse: () => Error): Promise<Uint8Array> {
  return gathered(boundedChunks(response, maxBytes, refuse));
}

const FIRST_ROOM = 4096;

/** Copies chunks into one piece of memory that grows: a chunk of one byte, kept, keeps the whole buffer that it came in. */
export async function gathered(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  let room = new Uint8Array(FIRST_ROOM);
  let length = 0;
  for await (const chunk of chunks) {
    const needed = length + chunk.length;
    if (needed > room.length) {
      const larger = new Uint8Array(Math.max(2 * room.length, needed));
      larger.set(room.subarray(0, length));
      room = larger;
    }
    room.set(chunk, length);
    length = needed;
  }
  return room.slice(0, length);
}

/** Reads a body as `boundedBody` does, as UTF-8. */
export async function bodyText(response: Response, maxBytes: number, refuse: () => Error): Promise<string> {
  return decoder.decode(await boundedBody(response, maxBytes, refuse));
}

/** Yields the chunks of a bounded body as they come. */
export async function* boundedChunks(
  response: Response,
  maxBytes: number,
  refuse: () => Error,
): AsyncGenerator<Uint8Array> {
  if (response.body === null) return;
  // Not every browser can iterate over a stream.
  const reader = response.body.getReader();
  try {
    let bytes = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.length;
      if (bytes > maxBytes) throw refuse();
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Moves a user and password from a URL to a header: fetch refuses them in a URL, and its error shows the URL. */
export function credentialsApart(url: string): {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
} {
  const parsed = URL.parse(url);
  if (parsed === null || (parsed.username === "" && parsed.password === "")) return { url, headers: {} };
  const said = [parsed.username, parsed.password].map(decoded).join(":");
  parsed.username = "";
  parsed.password = "";
  const encoded = btoa(String.fromCharCode(...utf8(said)));
  return { url: parsed.href, headers: { authorization: `Basic ${encoded}` } };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns how long the server asks to wait, given as seconds or as a date; 0 if it says nothing readable. */
export function retryAfterMs(headers: Headers): number {
  const value = headers.get("retry-after");
  if (value === null) return 0;
  const seconds = Number(value);
  const waitMs = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(waitMs) ? Math.max(0, waitMs) : 0;
}

/** Quotes what a server says: short, printable, in quotation marks, and without the key, which some servers echo. */
export function quoted(text: string, key = ""): string {
  const hidden = key === "" ? text : text.replaceAll(key, "[key]");
  return JSON.stringify(hidden.slice(0, MAX_QUOTE).replaceAll(/[^\x20-\x7e]+/gu, " "));
}

/** Why a request had no response. It names only the error's code: a message could contain the URL or the headers. */
export function connectionFailure(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { readonly code?: unknown } | undefined) : undefined;
  return typeof cause?.code === "string" ? `the connection failed with ${cause.code}` : "the connection failed";
}
