import { ReadingError } from "./failure.ts";

/** Bytes at the beginning of a page in which its own word on its charset stands, as HTML has it. */
const META_BYTES = 1024;
const META = /<meta[^>]*?\bcharset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{1,40})/i;
const MARKS: readonly (readonly [string, readonly number[]])[] = [
  ["utf-8", [0xef, 0xbb, 0xbf]],
  ["utf-16be", [0xfe, 0xff]],
  ["utf-16le", [0xff, 0xfe]],
];
/** What text files do not have: all controls but tab, line breaks, form feed and escape. */
// eslint-disable-next-line no-control-regex
const BINARY = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f]/;

/** EV11: decodes a body by the charset of the header, else of its byte order mark, else of the page itself, else as UTF-8. */
export function textOf(body: Uint8Array, stated: string | null, isHtml: boolean): string {
  const charset = stated ?? markOf(body) ?? (isHtml ? metaOf(body) : null) ?? "utf-8";
  const text = decoded(body, charset);
  const control = BINARY.exec(text)?.[0];
  if (control === undefined) return text;
  const code = control.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  throw new ReadingError("not-text", `the body has the control character U+${code}, as no text has`);
}

function decoded(body: Uint8Array, charset: string): string {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(body);
  } catch {
    throw new ReadingError("undecodable", `the body is no ${charset.slice(0, 40)}`);
  }
}

function markOf(body: Uint8Array): string | null {
  return MARKS.find(([, mark]) => mark.every((byte, at) => body[at] === byte))?.[0] ?? null;
}

function metaOf(body: Uint8Array): string | null {
  const head = Buffer.from(body.subarray(0, META_BYTES)).toString("latin1");
  const charset = META.exec(head)?.[1] ?? null;
  // It was read as ASCII, so that it cannot be true.
  return charset !== null && /^utf-?16/i.test(charset) ? "utf-8" : charset;
}
