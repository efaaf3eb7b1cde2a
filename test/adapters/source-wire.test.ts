import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { AUTHORITY, configFor, failureOf, readOnce, withPages, type Handler } from "../support/pages.ts";
import { withProxy } from "../support/proxy.ts";

const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";

/** Sends `first`, then `piece` for as long as anybody reads. */
const endless =
  (first: string, piece: string): Handler =>
  ({ socket }) => {
    socket.on("error", () => undefined);
    socket.write(first);
    const more = (): void => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on("drain", more);
    more();
  };

/** A chunk of one byte behind an extension that is as long as the reader takes at a time. */
const EXTENDED = `1;${"x".repeat(15_000)}\r\na\r\n`;
const floods: readonly (readonly [string, Handler, string])[] = [
  ["chunks of one byte behind long extensions", endless(HEAD, EXTENDED), "too-large"],
  ["a chunk extension without an end", endless(`${HEAD}5;`, "x".repeat(60_000)), "too-large"],
  ["chunks of one byte without an end", endless(HEAD, "1\r\na\r\n".repeat(10_000)), "too-large"],
  ["early hints without an end", endless("", "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n".repeat(1000)), "too-large"],
];

/** The reason for which a page that comes through a proxy is not read; null if it is read. */
async function failureByProxy(handler: Handler): Promise<string | null> {
  const usual = getCACertificates("default");
  setDefaultCACertificates([...usual, readFileSync(AUTHORITY, "utf8")]);
  try {
    const reading = await withPages(handler, (port) =>
      withProxy(port, (proxyUrl) => readOnce("https://pages.test/", { ...configFor(port), hosts: {}, proxyUrl })),
    );
    return reading.kind === "failed" ? reading.reason : null;
  } finally {
    setDefaultCACertificates(usual);
  }
}

describe("the bytes that a page's server sends beside the body", () => {
  for (const [what, handler, reason] of floods)
    it(`EV5: ${what} end as ${reason}, by a proxy, too`, async () => {
      assert.equal(await failureOf(handler), reason);
      assert.equal(await failureByProxy(handler), reason);
    });

  it("EV5: twice the bytes of a body and 65,536 more may come in, and not one more", async () => {
    const maxBytes = 100_000;
    const mostOfWire = 2 * maxBytes + 65_536;
    const last = "1\r\na\r\n0\r\n\r\n";
    const sending =
      (bytes: number): Handler =>
      ({ socket }) => {
        const room = bytes - HEAD.length - last.length - "1;\r\na\r\n".length;
        socket.write(`${HEAD}1;${"x".repeat(room)}\r\na\r\n${last}`);
      };
    assert.equal(await failureOf(sending(mostOfWire), { more: { maxBytes } }), null);
    assert.equal(await failureOf(sending(mostOfWire + 1), { more: { maxBytes } }), "too-large");
  });

  it("EV5: a page by a proxy is read", async () => {
    const handler: Handler = (_, response) => void response.writeHead(200, { "content-type": "text/plain" }).end("5");
    assert.equal(await failureByProxy(handler), null);
  });
});
