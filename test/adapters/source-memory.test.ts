import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { constants, deflateRawSync, gzipSync } from "node:zlib";
import { pdfAround, pdfInFont } from "../support/pdf.ts";
import { withPages, type Handler } from "../support/pages.ts";

const MAX_MEGABYTES = 300;
const script = join(import.meta.dirname, "fixtures", "source-memory.ts");
const HTML = { "content-type": "text/html" };
const PDF = { "content-type": "application/pdf" };
const JSON_TYPE = { "content-type": "application/json" };
/** As long as a body may be. */
const FULL = 4_900_000;

/** Sends a chunk for as long as anybody reads. */
function endless(stream: Writable, chunk: Uint8Array): void {
  const more = (): void => {
    while (!stream.destroyed && stream.write(chunk));
  };
  stream.on("drain", more);
  more();
}

/** A PDF of which the words of a page are 4 GB of white space. */
const bomb = pdfAround(deflated(4_000_000_000));

/** What deflates to so many spaces: a full flush makes equal blocks, of which one is enough. */
function deflated(bytes: number): Buffer {
  const piece = 10_000_000;
  const block = deflateRawSync(Buffer.alloc(piece, " "), { finishFlush: constants.Z_FULL_FLUSH });
  const blocks = Array.from({ length: bytes / piece }, () => block);
  return Buffer.concat([Buffer.of(0x78, 0x9c), ...blocks]);
}

const attributes = (count: number): string => Array.from({ length: count }, (_, at) => `a${at}=1`).join(" ");

const pages: Readonly<Record<string, (response: ServerResponse) => void>> = {
  "/small": (response) => response.writeHead(200, HTML).end("<p>small</p>"),
  "/gzip": (response) =>
    endless(
      response.writeHead(200, { ...HTML, "content-encoding": "gzip" }),
      gzipSync(Buffer.alloc(10_000_000, "<p>")),
    ),
  "/endless": (response) => endless(response.writeHead(200, HTML), Buffer.alloc(65_536, "a")),
  "/extensions": ({ socket }) => {
    assert.ok(socket !== null);
    socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n");
    endless(socket, Buffer.from(`1;${"x".repeat(15_000)}\r\na\r\n`.repeat(4)));
  },
  "/tags": (response) => endless(response.writeHead(200, HTML), Buffer.alloc(65_536, "<div>")),
  "/deep": (response) => response.writeHead(200, HTML).end("<div>".repeat(FULL / 5)),
  "/unclosed": (response) => response.writeHead(200, HTML).end("<".repeat(FULL)),
  "/attributes": (response) => response.writeHead(200, HTML).end(`<p ${attributes(FULL / 10)}>x</p>`),
  "/most-attributes": (response) => response.writeHead(200, HTML).end(`<p ${attributes(50_000)}>x</p>`),
  // Readability's time grows with the depth times the text, so a machine must be fast to read it in time.
  "/deep-text": (response) =>
    response
      .writeHead(200, HTML)
      .end(`<body>${"<div>".repeat(120)}${`<p>${"abc, ".repeat(FULL / 100_000 - 3)}</p>`.repeat(19_000)}`),
  "/words": (response) => response.writeHead(200, HTML).end(`<p>${"word ".repeat(FULL / 5)}</p>`),
  "/marks": (response) =>
    response.writeHead(200, { "content-type": "text/plain" }).end(`q${"\u0301\u0323".repeat(FULL / 4)}`),
  "/brackets": (response) => response.writeHead(200, JSON_TYPE).end("[".repeat(FULL)),
  "/keys": (response) => response.writeHead(200, JSON_TYPE).end(`[${"{},".repeat(FULL / 3)}0]`),
  "/values": (response) =>
    response.writeHead(200, JSON_TYPE).end(`[${Array.from({ length: 99_000 }, (_, at) => `{"a":${at}}`).join(",")}]`),
  "/pdf-bomb": (response) => response.writeHead(200, PDF).end(bomb),
  // V8 ends a process whose array has no room for so many widths.
  "/pdf-widths": (response) => response.writeHead(200, PDF).end(pdfInFont("[0 1000000000 500]", "<00> <01> <0041>")),
  "/pdf-meanings": (response) =>
    response.writeHead(200, PDF).end(pdfInFont("[0 [500]]", "<00000000> <00fffffe> <0041>")),
  "/pdf": (response) => response.writeHead(200, PDF).end(`%PDF-1.4\n${"1 0 obj\n".repeat(FULL / 8)}`),
};
const handler: Handler = ({ url = "" }, response) => pages[url]?.(response);

/** Reads a source in a process of its own, and checks what came of it and what it took. */
async function checkMemory(context: TestContext, args: readonly string[], result: string): Promise<void> {
  const { stdout } = await withPages(handler, (port) =>
    promisify(execFile)(process.execPath, [script, String(port), ...args]),
  );
  const found = JSON.parse(stdout) as { readonly result: string; readonly megabytes: number };
  context.diagnostic(`${found.megabytes} MB more`);
  assert.equal(found.result, result);
  assert.ok(found.megabytes < MAX_MEGABYTES, `${found.megabytes} MB more`);
}

describe("memory of reading", () => {
  for (const [path, result] of [
    ["/gzip", "too-large"],
    ["/endless", "too-large"],
    ["/extensions", "too-large"],
    ["/tags", "too-large"],
    ["/deep", "too-large"],
    ["/unclosed", "too-large"],
    ["/attributes", "too-large"],
    ["/most-attributes", "read"],
    ["/deep-text", "timeout"],
    ["/words", "read"],
    ["/marks", "read"],
    ["/brackets", "too-large"],
    ["/keys", "too-large"],
    ["/values", "read"],
    ["/pdf", "undecodable"],
    ["/pdf-bomb", "too-large"],
    ["/pdf-widths", "too-large"],
    ["/pdf-meanings", "too-large"],
  ] as const)
    it(`EV14: ${path} ends as ${result} and takes less than ${MAX_MEGABYTES} MB more`, (context) =>
      checkMemory(context, [path], result));

  for (const [mode, result] of [
    ["huge", "tool-error"],
    ["notifications", "tool-error"],
    ["brackets", "tool-error"],
    ["stderr", "read"],
  ] as const)
    it(`EV14, EV16: a search server in the mode ${mode} ends as ${result} and takes less than ${MAX_MEGABYTES} MB more`, (context) =>
      checkMemory(context, ["search: words", mode], result));
});
