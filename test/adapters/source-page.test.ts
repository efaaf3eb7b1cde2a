import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { isPublicAddress } from "../../agents/adapters/source-reader/address.ts";
import { addressesOf } from "../../agents/adapters/source-reader/connect.ts";
import { sha256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { openSourceReader } from "../../agents/adapters/source-reader/reader.ts";
import type { Reading } from "../../agents/core/sources/snapshot.ts";
import { configFor, failureOf, guardedDialler, readOnce, sourceOf, withPages, type Handler } from "../support/pages.ts";
import { withProxy } from "../support/proxy.ts";

const TEXT = { "content-type": "text/plain" };
const page =
  (body: string | Uint8Array, headers: Readonly<Record<string, string | string[]>> = TEXT): Handler =>
  (_, response) => {
    response.writeHead(200, headers).end(body);
  };
const redirect =
  (location: string): Handler =>
  (_, response) => {
    response.writeHead(302, { location }).end();
  };
/** Answers with a status and an upgrade. */
const statusLine =
  (status: string): Handler =>
  ({ socket }) => {
    socket.end(`HTTP/1.1 ${status}\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n`);
  };
/** Sends a chunk for as long as anybody reads. */
const endless =
  (chunk: Uint8Array, headers: Readonly<Record<string, string>>): Handler =>
  (_, response) => {
    response.writeHead(200, headers);
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on("drain", more);
    more();
  };

describe("reading a page", () => {
  it("EV5, EV7: brings what the server sends, and where it was found", async () => {
    const handler: Handler = (request, response) => {
      if (request.headers.host === "pages.test") return redirect("https://moved.test/end#top")(request, response);
      return page("The total\r\n is 5.")(request, response);
    };
    const reading = await withPages(handler, (port) => readOnce("https://pages.test/start", configFor(port)));
    assert.equal(reading.kind, "read");
    assert.deepEqual(reading.snapshot, {
      source: "https://pages.test/start",
      finalUrl: "https://moved.test/end",
      status: 200,
      mediaType: "text/plain",
      raw: sha256(utf8("The total\r\n is 5.")),
      title: "",
      text: "The total\nis 5.",
      isCut: false,
      extractor: { name: "plain", version: "1" },
    });
  });

  it("EV7: the same body gives the same snapshot, however it is compressed", async () => {
    const body = "word ".repeat(1000);
    const digests: string[] = [];
    for (const [encoding, compressed] of [
      ["identity", body],
      ["gzip", gzipSync(body)],
      ["br", brotliCompressSync(body)],
      ["deflate", deflateSync(body)],
    ] as const) {
      const handler = page(compressed, { ...TEXT, "content-encoding": encoding });
      const reading = await withPages(handler, (port) => readOnce("https://pages.test/", configFor(port)));
      assert.equal(reading.kind, "read", encoding);
      digests.push(reading.digest);
    }
    assert.equal(new Set(digests).size, 1);
  });

  it("EV5: sends no cookie back, no credentials, and the same headers to everybody", async () => {
    const seen: object[] = [];
    const handler: Handler = (request, response) => {
      const { host: _, ...headers } = request.headers;
      seen.push(headers);
      const headers302 = { location: "/again", "set-cookie": ["a=1; Path=/", "b=2; Domain=pages.test"] };
      if (request.url === "/") response.writeHead(302, headers302).end();
      else page("in", { ...TEXT, "set-cookie": "c=3" })(request, response);
    };
    assert.equal(await failureOf(handler), null);
    assert.equal(seen.length, 2);
    assert.deepEqual(seen[0], seen[1]);
    assert.deepEqual(Object.keys(seen[0] as object).toSorted(), [
      "accept",
      "accept-encoding",
      "accept-language",
      "connection",
      "user-agent",
    ]);
  });

  it("EV5: follows three redirects, and not a fourth nor the first of 50", async () => {
    const hops =
      (count: number): Handler =>
      (request, response) => {
        const hop = Number(request.url?.slice(1));
        if (hop < count) redirect(`/${hop + 1}`)(request, response);
        else page("end")(request, response);
      };
    assert.equal(await failureOf(hops(3), { path: "/0" }), null);
    assert.equal(await failureOf(hops(4), { path: "/0" }), "too-many-redirects");
    assert.equal(await failureOf(hops(50), { path: "/0" }), "too-many-redirects");
  });

  for (const [location, reason] of [
    ["https://169.254.169.254/latest/meta-data", "blocked-address"],
    ["https://127.0.0.1/", "blocked-address"],
    ["https://[::ffff:127.0.0.1]/", "blocked-address"],
    ["https://[::ffff:7f00:1]/", "blocked-address"],
    ["https://[::1]/", "blocked-address"],
    ["https://[::127.0.0.1]/", "blocked-address"],
    ["https://[64:ff9b::7f00:1]/", "blocked-address"],
    ["https://[2002:7f00:1::]/", "blocked-address"],
    ["https://[fd00::1]/", "blocked-address"],
    ["https://2130706433/", "blocked-address"],
    ["https://0x7f.1/", "blocked-address"],
    ["https://0177.0.0.1/", "blocked-address"],
    ["https://0/", "blocked-address"],
    ["https://10.0.0.1/", "blocked-address"],
    ["https://inner.test/", "blocked-address"],
    ["https://half.test/", "blocked-address"],
    ["https://localhost/", "blocked-address"],
    ["https://localhost./", "blocked-address"],
    ["http://pages.test/", "refused"],
    ["file:///etc/passwd", "refused"],
    ["data:text/plain,hello", "refused"],
    ["https://user:secret@pages.test/", "refused"],
    ["https://pages.test:8443/", "refused"],
    ["https://denied.test/", "refused"],
    ["https://deep.denied.test./", "refused"],
    ["https://no-such-name.test/", "unreachable"],
    ["https://empty.test/", "unreachable"],
    ["https://", "server-error"],
    [`https://pages.test/${"a".repeat(3000)}`, "server-error"],
  ] as const)
    it(`EV5, EV6: a redirect to ${location.slice(0, 60)} ends as ${reason}, before a packet is sent`, async () => {
      const dialler = guardedDialler({
        "inner.test": [["192.168.1.1"]],
        "half.test": [["93.184.216.34", "10.1.2.3"]],
        "empty.test": [[]],
        localhost: [["127.0.0.1", "::1"]],
        "localhost.": [["127.0.0.1"]],
        "denied.test": [["93.184.216.34"]],
      });
      const more = { deny: ["denied.test"] };
      assert.equal(await failureOf(redirect(location), { dialler, more }), reason);
      assert.deepEqual(dialler.dialled, ["127.0.0.1"]);
    });

  it("EV6: a name has the addresses that its name servers tell, and those of one kind if they tell no others", async () => {
    const none = (): Promise<never> => Promise.reject(new Error("ENODATA"));
    const [four, six] = [async () => ["93.184.216.34"], async () => ["2606:2800::1"]];
    assert.deepEqual(await addressesOf("a.test", { resolve4: four, resolve6: six }), ["93.184.216.34", "2606:2800::1"]);
    assert.deepEqual(await addressesOf("a.test", { resolve4: none, resolve6: six }), ["2606:2800::1"]);
    assert.deepEqual(await addressesOf("a.test", { resolve4: four, resolve6: none }), ["93.184.216.34"]);
    await assert.rejects(addressesOf("a.test", { resolve4: none, resolve6: none }), /ENODATA/);
  });

  it("EV6: a name that changes between check and use is connected to where it was checked", async () => {
    const dialler = guardedDialler({ "rebound.test": [["93.184.216.34"], ["127.0.0.1"]] });
    const reading = await withPages(page("in"), (port) => readOnce("https://rebound.test/", configFor(port), dialler));
    assert.equal(reading.kind === "failed" && reading.reason, "unreachable");
    assert.deepEqual([dialler.resolved, dialler.dialled], [["rebound.test"], ["93.184.216.34"]]);
  });

  it("EV6: a name is looked up and checked again after a redirect to it", async () => {
    const dialler = guardedDialler({ "rebound.test": [["127.0.0.1"]] });
    const reading = await withPages(redirect("https://rebound.test/"), (port) =>
      readOnce("https://pages.test/", configFor(port), dialler),
    );
    assert.equal(reading.kind === "failed" && reading.reason, "blocked-address");
    assert.deepEqual(dialler.resolved, ["rebound.test"]);
  });

  it("EV6: tries the next address of a name, three at most", async () => {
    const addresses = ["93.184.216.34", "93.184.216.35", "93.184.216.36", "93.184.216.37"];
    const dialler = guardedDialler({ "many.test": [addresses] });
    const reading = await readOnce("https://many.test/", configFor(1), dialler);
    assert.equal(reading.kind === "failed" && reading.reason, "unreachable");
    assert.deepEqual(dialler.dialled, addresses.slice(0, 3));
  });

  it("EV6: only unicast addresses of the public are public", () => {
    for (const address of ["8.8.8.8", "93.184.216.34", "2606:2800:220:1::1", "2001:4860:4860::8888"])
      assert.ok(isPublicAddress(address), address);
    const special =
      "0.0.0.0 0.1.2.3 10.0.0.0 100.64.0.1 168.63.129.16 127.255.255.255 169.254.0.1 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1 255.255.255.255 :: ::1 ::7f00:1 ::ffff:8.8.8.8 64:ff9b::808:808 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:808:808:: 3fff::1 5f00::1 fc00::1 fdff::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 4000::1 e000::1 127.1 0177.0.0.1 2130706433 example.com";
    for (const address of special.split(" ")) assert.ok(!isPublicAddress(address), address);
    const inner = fc.tuple(fc.constantFrom("10", "127", "0", "224", "255"), fc.nat(255), fc.nat(255), fc.nat(255));
    fc.assert(
      fc.property(inner, (parts) => {
        assert.ok(!isPublicAddress(parts.join(".")));
        assert.ok(!isPublicAddress(`::ffff:${parts.join(".")}`));
      }),
      { seed: 1 },
    );
  });

  const hostile: readonly (readonly [string, Handler, string])[] = [
    ["a status 404", (_, response) => void response.writeHead(404, TEXT).end("x"), "not-found"],
    ["a status 410", (_, response) => void response.writeHead(410, TEXT).end("x"), "not-found"],
    ["a status 403", (_, response) => void response.writeHead(403, TEXT).end("x"), "server-error"],
    ["a status 503", (_, response) => void response.writeHead(503, TEXT).end("x"), "server-error"],
    ["a status 206", (_, response) => void response.writeHead(206, TEXT).end("x"), "server-error"],
    ["a redirect without a place", (_, response) => void response.writeHead(302).end(), "server-error"],
    ["no HTTP", (request) => void request.socket.end("hello\r\n\r\n"), "server-error"],
    ["status 099", statusLine("099 None"), "server-error"],
    ["status 100", statusLine("100 Continue"), "server-error"],
    ["status 101", statusLine("101 Switching Protocols"), "server-error"],
    ["a connection that breaks", (request) => void request.socket.destroy(), "unreachable"],
    [
      "a body that breaks off",
      (request, response) => {
        response.writeHead(200, { ...TEXT, "content-length": "100" }).write("half");
        setImmediate(() => request.socket.destroy());
      },
      "unreachable",
    ],
    ["headers of 100 kB", page("x", { ...TEXT, "x-long": "a".repeat(100_000) }), "too-large"],
    ["no media type", page("x", {}), "not-text"],
    ["a malformed media type", page("x", { "content-type": "text" }), "not-text"],
    ["two media types", page("x", { "content-type": ["text/plain", "text/html"] }), "not-text"],
    ["a picture", page("x", { "content-type": "image/png" }), "not-text"],
    ["bytes", page("x", { "content-type": "application/octet-stream" }), "not-text"],
    ["a binary body that calls itself text", page(Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0, 1)), "not-text"],
    [
      "a body that is not in its charset",
      page(Uint8Array.of(0xff, 0x41), { "content-type": "text/plain; charset=utf-8" }),
      "undecodable",
    ],
    ["an unknown charset", page("x", { "content-type": "text/plain; charset=klingon" }), "undecodable"],
    ["an unknown compression", page("x", { ...TEXT, "content-encoding": "zstd" }), "undecodable"],
    [
      "two layers of compression",
      page(gzipSync(gzipSync("x")), { ...TEXT, "content-encoding": "gzip, gzip" }),
      "undecodable",
    ],
    ["a body that is not compressed as it says", page("x", { ...TEXT, "content-encoding": "gzip" }), "undecodable"],
    ["no brotli", page("xxxxxxxxxxxxxxxxxxxx", { ...TEXT, "content-encoding": "br" }), "undecodable"],
    [
      "gzip that breaks off",
      page(gzipSync("x".repeat(1e5)).subarray(0, 60), { ...TEXT, "content-encoding": "gzip" }),
      "undecodable",
    ],
    [
      "10 GB of gzip",
      endless(gzipSync(Buffer.alloc(10_000_000)), { ...TEXT, "content-encoding": "gzip" }),
      "too-large",
    ],
    [
      "a gzip header without an end",
      endless(Buffer.alloc(65_536, "a"), { ...TEXT, "content-encoding": "gzip", "x-head": "1" }),
      "undecodable",
    ],
    ["a body without an end", endless(Buffer.alloc(65_536, "a"), TEXT), "too-large"],
    [
      "300 MB of nested tags",
      endless(Buffer.from("<div>".repeat(10_000)), { "content-type": "text/html" }),
      "too-large",
    ],
  ];
  for (const [what, handler, reason] of hostile)
    it(`EV5, EV12: ${what} ends as ${reason}`, async () => {
      assert.equal(await failureOf(handler), reason);
    });

  it("EV12, EV14: a reader that meets all of these at one time reads on", async () => {
    const handler: Handler = (request, response) => {
      const [, one] = hostile[Number(request.url?.slice(1))] ?? ["", page("The total is 5.")];
      one(request, response);
    };
    await withPages(handler, async (port) => {
      const get = (): Promise<Uint8Array> => Promise.reject(new Error("there are no documents here"));
      const reader = await openSourceReader({ config: configFor(port), dialler: guardedDialler(), store: { get } });
      const { signal } = new AbortController();
      const read = (path: string): Promise<Reading> => reader.read(sourceOf(`https://pages.test/${path}`), signal);
      const ended = await Promise.all(hostile.map((_, at) => read(String(at))));
      assert.deepEqual(
        ended.map((reading) => reading.kind === "failed" && reading.reason),
        hostile.map(([, , reason]) => reason),
      );
      const good = await read("good");
      assert.equal(good.kind === "read" && good.snapshot.text, "The total is 5.");
    });
  });

  it("EV5: a gzip stream that never gives a byte ends at the bound of what comes", async () => {
    // A header whose file name does not end.
    const head = Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]);
    const handler: Handler = (request, response) => {
      response.writeHead(200, { ...TEXT, "content-encoding": "gzip" }).write(head);
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, "a")));
      };
      response.on("drain", more);
      more();
    };
    assert.equal(await failureOf(handler), "too-large");
  });

  for (const [what, handler] of [
    ["a server that says nothing", () => undefined],
    ["headers without an end", (request) => void request.socket.write("HTTP/1.1 200 OK\r\nx: ")],
    [
      "a body that comes a byte at a time",
      (_, response) => {
        response.writeHead(200, TEXT);
        const timer = setInterval(() => response.write("a"), 20);
        response.on("close", () => clearInterval(timer));
      },
    ],
  ] as readonly (readonly [string, Handler])[])
    it(`EV5: ${what} ends as timeout`, async () => {
      assert.equal(await failureOf(handler, { more: { timeoutMs: 500 } }), "timeout");
    });

  it("EV5: the time is for all redirects together", async () => {
    let answered = 0;
    const handler: Handler = (request, response) => {
      answered += 1;
      if (answered === 1) setTimeout(() => redirect("/next")(request, response), 400);
    };
    assert.equal(await failureOf(handler, { more: { timeoutMs: 700 } }), "timeout");
  });

  it("EV6: a certificate of nobody's, or for another name, ends as tls", async () => {
    const untrusted = await withPages(page("x"), async (port) => {
      const { hosts, ...config } = configFor(port);
      const { ca: _, ...place } = hosts["pages.test"] as { address: string; port: number; ca: string };
      return readOnce("https://pages.test/", { ...config, hosts: { "pages.test": place } });
    });
    assert.equal(untrusted.kind === "failed" && untrusted.reason, "tls");
    const other = await withPages(page("x"), (port) => {
      const config = configFor(port);
      return readOnce("https://other.test/", {
        ...config,
        hosts: { "other.test": config.hosts["pages.test"] as never },
      });
    });
    assert.equal(other.kind === "failed" && other.reason, "tls");
  });

  it("EV6: by a proxy the names go to the proxy, private addresses are refused before, and fixed hosts go past it", async () => {
    const asked: string[] = [];
    const proxy = createServer();
    proxy.on("connect", (request, socket) => {
      asked.push(request.url ?? "");
      socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    try {
      const dialler = guardedDialler();
      const hosts: (string | undefined)[] = [];
      const noted =
        (handler: Handler): Handler =>
        (request, response) => {
          hosts.push(request.headers.host);
          handler(request, response);
        };
      assert.equal(
        await failureOf(noted(redirect("https://elsewhere.test/")), { dialler, more: { proxyUrl } }),
        "unreachable",
      );
      assert.deepEqual([asked, dialler.resolved, dialler.dialled], [["elsewhere.test:443"], [], ["127.0.0.1"]]);
      const inner = noted(redirect("https://10.0.0.1/"));
      assert.equal(await failureOf(inner, { dialler, more: { proxyUrl } }), "blocked-address");
      const named = noted(redirect("https://metadata/"));
      assert.equal(await failureOf(named, { dialler, more: { proxyUrl } }), "blocked-address");
      assert.equal(asked.length, 1);
      // The proxy's client writes the host into the headers that it is given; they must not be those of the next reading.
      assert.deepEqual(hosts, ["pages.test", "pages.test", "pages.test"]);
    } finally {
      proxy.close();
    }
  });

  it("EV6: a proxy takes no certificate's check away, whatever the environment says", async () => {
    const unsafe = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    try {
      await withPages(page("not to be read"), async (port) => {
        await withProxy(port, async (proxyUrl) => {
          const reading = await readOnce("https://elsewhere.test/", { ...configFor(port), proxyUrl });
          assert.equal(reading.kind === "failed" && reading.reason, "tls");
        });
      });
    } finally {
      if (unsafe === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
      else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = unsafe;
    }
  });
});
