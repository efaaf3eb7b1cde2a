import { appendFileSync, closeSync, existsSync, mkdirSync, openSync, readSync } from "node:fs";
import { dirname } from "node:path";
import { StringDecoder } from "node:string_decoder";

/** Values by key, kept in a file of JSON lines that grows by a line for each; `path` null: in memory alone. */
export interface JsonLines<Value> {
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
}

export function openJsonLines<Value>(path: string | null): JsonLines<Value> {
  const values = new Map<string, Value>();
  if (path !== null) {
    mkdirSync(dirname(path), { recursive: true });
    for (const line of linesOf(path)) {
      const entry = parsed(line);
      if (entry !== null) values.set(entry.key, entry.value as Value);
    }
    // A line that was cut when the process died must not swallow the next one.
    if (existsSync(path)) appendFileSync(path, "\n");
  }
  return {
    get: (key) => values.get(key),
    set(key, value) {
      values.set(key, value);
      if (path !== null) appendFileSync(path, `${JSON.stringify({ key, value })}\n`);
    },
  };
}

/** Returns null for a line that was cut when the process died. */
function parsed(line: string): { readonly key: string; readonly value: unknown } | null {
  try {
    const { key, value } = JSON.parse(line) as { readonly key?: string; readonly value?: unknown };
    return key === undefined || value === undefined ? null : { key, value };
  } catch {
    return null;
  }
}

const CHUNK_BYTES = 1 << 20;

/** Lines of a file that may be longer than a string can be. A cut last line counts. */
function* linesOf(path: string): Generator<string> {
  if (!existsSync(path)) return;
  const file = openSync(path, "r");
  const decoder = new StringDecoder("utf8");
  const chunk = Buffer.alloc(CHUNK_BYTES);
  try {
    let rest = "";
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      const lines = (rest + decoder.write(chunk.subarray(0, read))).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
    yield rest;
  } finally {
    closeSync(file);
  }
}
