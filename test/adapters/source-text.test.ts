import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import fc from "fast-check";
import { extract } from "../../agents/adapters/source-reader/extract.ts";
import { failureOfThread } from "../../agents/adapters/source-reader/extract-thread.ts";
import { EXTRACTORS, extractorFor } from "../../agents/adapters/source-reader/extraction.ts";
import { readHtml } from "../../agents/adapters/source-reader/html.ts";
import { hides } from "../../agents/adapters/source-reader/inline-style.ts";
import { readJson } from "../../agents/adapters/source-reader/json-text.ts";
import { ReadingError } from "../../agents/adapters/source-reader/failure.ts";
import { version as pdfjs } from "unpdf/pdfjs";
import { configFor, readOnce, withPages } from "../support/pages.ts";
import { pdfOf } from "../support/pdf.ts";

const root = join(import.meta.dirname, "..", "..");

/** Title and text of a body, or the reason why it has none. */
async function read(
  body: string | Uint8Array,
  mediaType: string,
  { pointer = "", timeoutMs = 60_000 } = {},
): Promise<readonly [title: string, text: string] | string> {
  const reading = await withPages(
    (_, response) => void response.writeHead(200, { "content-type": mediaType }).end(body),
    (port) => readOnce(`https://pages.test/${pointer}`, configFor(port, { timeoutMs })),
  );
  return reading.kind === "read" ? [reading.snapshot.title, reading.snapshot.text] : reading.reason;
}

/** A PDF of 500 pages that draw the same nothing for long. */
function slowPdf(): string {
  const first = 4;
  const pages = Array.from({ length: 500 }, (_, at) => first + at);
  const nothing = "0 0 Td ".repeat(600_000);
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${pages.map((number) => `${number} 0 R`).join(" ")}] /Count ${pages.length} >>`,
    `<< /Length ${nothing.length + 6} >>\nstream\nBT ${nothing}ET\nendstream`,
    ...pages.map(() => "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 3 0 R /Resources << >> >>"),
  ];
  const body = objects.map((object, index) => `${index + 1} 0 obj\n${object}\nendobj\n`).join("");
  return `%PDF-1.4\n${body}trailer << /Root 1 0 R >>\n%%EOF\n`;
}

/** How making a text ends. */
function reasonIn(make: () => unknown): string {
  try {
    make();
    return "read";
  } catch (error) {
    return error instanceof ReadingError ? error.reason : String(error);
  }
}

describe("the text of a body", () => {
  it("EV10: the extractors name the versions that are installed", () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      readonly dependencies: Readonly<Record<string, string>>;
    };
    const { "@mozilla/readability": readability, linkedom } = dependencies;
    assert.equal(EXTRACTORS.html.version, `${readability}+linkedom.${linkedom}+3`);
    assert.equal(EXTRACTORS.pdf.version, pdfjs);
  });

  it("EV10: each media type of text has its extractor, and others have none", () => {
    for (const [kind, types] of Object.entries({
      html: ["text/html", "application/xhtml+xml"],
      json: ["application/json", "text/json", "application/ld+json"],
      pdf: ["application/pdf"],
      plain: ["text/plain", "text/csv", "text/markdown", "application/xml", "application/rss+xml"],
    }))
      for (const type of types) assert.equal(extractorFor(type, false), kind, type);
    for (const type of ["image/png", "application/octet-stream", "application/zip", "video/mp4"])
      for (const hasPointer of [false, true]) assert.equal(extractorFor(type, hasPointer), null, type);
  });

  it("EV11: of a page, the words that it shows, blocks on lines of their own", async () => {
    const html = `<!doctype html><html><head><title>Results &amp; more</title><style>p{}</style></head><body>
      <script>document.write("never")</script><h1>League</h1><p>The <b>winner</b> is&nbsp;known.<br>Yes.</p>
      <div hidden>not shown</div><div style="display:none">nor this</div><!-- nor this -->
      <table><tr><th>Team</th><th>Points</th></tr><tr><td>Reds</td><td>42</td></tr></table></body></html>`;
    assert.deepEqual(await read(html, "text/html"), [
      "Results & more",
      "League\nThe winner is known.\nYes.\nTeam Points\nReds 42",
    ]);
  });

  for (const [html, text] of [
    ["", ""],
    ["words alone", "words alone"],
    ["<p>one<p>two", "one\ntwo"],
    ["<html></html>", ""],
    ["<svg><text>drawn</text></svg><p>shown", "shown"],
    ["<frameset><frame src=x></frameset>", ""],
    ["<ul><li>x<li>y</ul>", "x\ny"],
    ['<p>one<b style="DISPLAY : NONE">not</b> two<p Style="visibility: hidden">not<p>three', "one two\nthree"],
    ['<div style="display:none!important">not</div>', ""],
    ["<div HIDDEN>not</div>", ""],
    ['<body style="display:none"><p>not</body>', ""],
    ['<html style="visibility:hidden"><body><p>not</body></html>', ""],
    ["<style>p { display: none }</style><p>no style sheet counts", "no style sheet counts"],
    ["<dialog>not</dialog><dialog open>shown</dialog>", "shown"],
    ["<div popover>not</div><div POPOVER=manual>nor</div><p>shown", "shown"],
    ["<p>shown<datalist><option>not</datalist><meter>not</meter><progress>not</progress>", "shown"],
    ["<noframes>not</noframes><noembed>not</noembed><p>shown", "shown"],
    ["<video>not</video><audio>not</audio><canvas>not</canvas><p>shown", "shown"],
    ["<p>shown<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "shown漢kan"],
  ] as const)
    it(`EV11: the page ${JSON.stringify(html)} shows ${JSON.stringify(text)}`, async () => {
      assert.deepEqual(await read(html, "text/html"), ["", text]);
    });

  it("EV11: a long article is without what its styles hide", async () => {
    const words = "Long words here, and there. ".repeat(20).trim();
    const html = `<article><p>${words}</p><p style="DISPLAY:NONE">The total is 7.</p><p>The end, at last.</p></article>`;
    assert.deepEqual(await read(html, "text/html"), ["", `${words}\nThe end, at last.`]);
  });

  it("EV11: no words count that browsers do not show, though they are more than those that they show", async () => {
    const words = "<p>Long words here, and there, and more.</p>".repeat(20);
    for (const name of ["iframe", "object", "svg", "template"])
      assert.deepEqual(await read(`<${name}>${words}</${name}><p>shown`, "text/html"), ["", "shown"], name);
  });

  it("EV11: an inline style hides by display and visibility, however it is written", () => {
    for (const style of [
      "display:none",
      "DISPLAY : NONE",
      "display:none!important",
      "display: none ! important ;",
      "color:red;\n\tdisplay:none;",
      "visibility:hidden",
      "visibility: collapse",
      "display:/* not */none",
      "/*;*/display:none",
      "d\\69splay:none",
      "display:n\\6f ne",
      "display:n\\6f\r\nne",
      "dis\\play:none",
      'content:";";display:none',
      "content:'\\'';display:none",
    ])
      assert.ok(hides(style), style);
    for (const style of [
      "",
      "display:block",
      "display:nonesuch",
      "display:none of it",
      "no-display:none",
      "--display:none",
      "visibility:visible",
      "overflow:hidden",
      "dis/**/play:none",
      "/* display:none */",
      "/* ;display:none;",
      'content:";display:none;"',
      "content:';display:none;\\';display:none;'",
      "background:url(a.png?display:none)",
      "display\\3anone",
      "display:n\\6f\u00a0ne",
      "display:n\\6f\n\nne",
      "font-size:0",
    ])
      assert.ok(!hides(style), style);
  });

  for (const [what, body, mediaType, text] of [
    ["the header's charset", Uint8Array.of(0xe9), "text/plain; charset=iso-8859-1", "é"],
    ["the header's charset before a mark", Uint8Array.of(0xef, 0xbb, 0xbf, 0x41), "text/plain; charset=latin1", "ï»¿A"],
    ["a mark of UTF-8", Uint8Array.of(0xef, 0xbb, 0xbf, 0xc3, 0xa9), "text/plain", "é"],
    ["a mark of UTF-16", Uint8Array.of(0xff, 0xfe, 0xe9, 0), "text/plain", "é"],
    ["the page's own word", Buffer.from('<meta charset="windows-1252"><p>\xe9', "latin1"), "text/html", "é"],
    [
      "the page's own word in the older form",
      Buffer.from('<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><p>\xc1', "latin1"),
      "text/html",
      "а",
    ],
    ["a page that says UTF-16 in ASCII", '<meta charset="utf-16"><p>é', "text/html", "é"],
    ["UTF-8 where nothing is said", "é", "text/plain", "é"],
  ] as const)
    it(`EV11: decodes by ${what}`, async () => {
      assert.deepEqual(await read(body, mediaType), ["", text]);
    });

  it("EV11: a JSON body becomes its canonical text, numbers as they are written", async () => {
    const body = ' {"b": [1.50, 12345678901234567890, 1e400, -0], "a": {"\\u00e9": "x\\ny"}, "10": true, "9": null}';
    assert.deepEqual(await read(body, "application/json"), [
      "",
      '{"10":true,"9":null,"a":{"é":"x\\ny"},"b":[1.50,12345678901234567890,1e400,-0]}',
    ]);
    assert.equal(await read("{", "application/json"), "undecodable");
    assert.equal(await read("", "application/json"), "undecodable");
  });

  for (const [pointer, text] of [
    ["#/price", "1.50"],
    ["#/name", 'a "b"'],
    ["#/list/1", '{"x":[]}'],
    ["#/list/1/x", "[]"],
    ["#/a~1b/~0", "true"],
    ["#/", "empty key"],
    ["#/none", "null"],
    ["#/list/2", null],
    ["#/list/-", null],
    ["#/list/01", null],
    ["#/list/length", null],
    ["#/name/length", null],
    ["#/price/text", null],
    ["#/toString", null],
    ["#/__proto__", null],
    ["#/none/x", null],
  ] as const)
    it(`EV3, EV11: the pointer ${pointer} reads ${text ?? "nothing"}`, async () => {
      const body = '{"price":1.50,"name":"a \\"b\\"","list":[0,{"x":[]}],"a/b":{"~":true},"":"empty key","none":null}';
      assert.deepEqual(await read(body, "application/json", { pointer }), text === null ? "no-such-value" : ["", text]);
    });

  it("EV3, EV10: with a pointer plain text is read as JSON, and without one as it is", async () => {
    const body = '{ "price": 1.50 }';
    const pointer = "#/price";
    assert.deepEqual(await read(body, "text/plain; charset=utf-8", { pointer }), ["", "1.50"]);
    assert.deepEqual(await read(body, "text/plain"), ["", body]);
    assert.equal(await read("price: 1.50", "text/plain", { pointer }), "undecodable");
    assert.deepEqual(await read(body, "text/json", { pointer }), ["", "1.50"]);
    assert.deepEqual(await read(body, "text/json"), ["", '{"price":1.50}']);
    assert.equal(await read(body, "text/csv", { pointer }), "no-such-value");
  });

  it("EV11: a pointer into a page that is no JSON reads nothing", async () => {
    assert.equal(await read("<p>5", "text/html", { pointer: "#/a" }), "no-such-value");
  });

  it("EV11: canonical JSON is JSON of the same value, and its own canonical text", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(2), (value, indent) => {
        const text = readJson(JSON.stringify(value, null, indent), null);
        assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
        assert.equal(readJson(text, null), text);
      }),
      { seed: 1, numRuns: 500 },
    );
  });

  it("EV14: JSON that is too deep or has too many values is refused before it is parsed", () => {
    const reasonOf = (text: string): string => reasonIn(() => readJson(text, null));
    assert.equal(reasonOf("[".repeat(128) + "]".repeat(128)), "read");
    assert.equal(reasonOf("[".repeat(129) + "]".repeat(129)), "too-large");
    assert.equal(reasonOf(`[${"0,".repeat(199_998)}0]`), "read");
    assert.equal(reasonOf(`[${"0,".repeat(200_000)}0]`), "too-large");
    assert.equal(reasonOf(JSON.stringify(["[".repeat(500), `\\"${"{".repeat(500)}`, ",".repeat(300_000)])), "read");
  });

  it("EV14: a page has at most 50,000 attributes", () => {
    const page = (more: string): string =>
      `${`<b ${Array.from({ length: 500 }, (_, at) => `a${at}`).join(" ")}>x</b>`.repeat(100)}<i${more}>y`;
    assert.equal(
      reasonIn(() => readHtml(page(""))),
      "read",
    );
    assert.equal(
      reasonIn(() => readHtml(page(" a"))),
      "too-large",
    );
  });

  it("EV11: a PDF gives its title and its words, page after page", async () => {
    const pdf = pdfOf("A report", [["The total is 65.", "Second line."], ["Page two."]]);
    assert.deepEqual(await read(pdf, "application/pdf"), ["A report", "The total is 65.\nSecond line.\nPage two."]);
    assert.equal(await read("%PDF-1.4 broken", "application/pdf"), "undecodable");
    assert.equal(await read("no PDF", "application/pdf"), "undecodable");
  });

  const words = "The committee met on Monday, and it decided to pay. ".repeat(12);
  const numbered = (count: number, letter: string): string =>
    Array.from({ length: count }, (_, at) => `${letter}${at}`).join(" ");
  for (const [what, html] of [
    ["white space in a style", `<p style="color:red${" ".repeat(4_800_000)}x">${words}</p>`],
    ["white space in the name of a property", `<meta property="${" ".repeat(4_800_000)}x" content="y"><p>${words}`],
    ["a list of pictures without a comma", `<p>${words}<img src=a srcset="${"a".repeat(4_800_000)} b">${words}`],
    ["many attributes", `<p>${words}<img ${numbered(49_000, "a")}>${words}`],
    [
      "a title and a heading of many words",
      `<title>${numbered(250_000, "a")}</title><h1>${numbered(250_000, "b")}</h1><p>${words}`,
    ],
    ["text in many pieces", `<body>${"<div>".repeat(120)}${"&amp;".repeat(48_000)}`],
    [
      "text in many pieces that is read again",
      `<p>a<div class=comment>${"<div>".repeat(119)}${"&amp;".repeat(48_000)}`,
    ],
  ] as const)
    it(`EV10: a page with ${what} has its text in time`, async () => {
      const made = await read(html, "text/html");
      assert.ok(typeof made !== "string", String(made));
    });

  it("EV10: a text that takes too long ends as timeout, after 5 s however long the page may take to come", async () => {
    for (const timeoutMs of [60_000, 1_500]) {
      const began = performance.now();
      assert.equal(await read(slowPdf(), "application/pdf", { timeoutMs }), "timeout");
      assert.ok(performance.now() - began < 30_000);
    }
  });

  it("EV9: a long text is cut, and says so", async () => {
    const reading = await withPages(
      (_, response) => void response.writeHead(200, { "content-type": "text/plain" }).end("word ".repeat(100_000)),
      (port) => readOnce("https://pages.test/", configFor(port)),
    );
    assert.equal(reading.kind, "read");
    assert.equal(reading.snapshot.isCut, true);
    assert.equal(reading.snapshot.text.length, 262_144);
  });
});

describe("sources: a thread that makes no text", () => {
  it("EV12: a failure of the machine is not the source's, and one of the text is", () => {
    const reasonOf = (code: string | undefined): string =>
      failureOfThread(Object.assign(new Error("broken"), { code })).reason;
    for (const code of ["ERR_WORKER_INIT_FAILED", "ERR_MODULE_NOT_FOUND", "EMFILE", "EAGAIN"])
      assert.equal(reasonOf(code), "unreachable", code);
    for (const code of ["ERR_STRING_TOO_LONG", "ERR_ENCODING_INVALID_ENCODED_DATA", undefined])
      assert.equal(reasonOf(code), "undecodable", code);
    assert.equal(reasonOf("ERR_WORKER_OUT_OF_MEMORY"), "too-large");
  });

  it("EV13: an agent without a descriptor for the process goes on, and reads once it has some", async () => {
    const script = join(import.meta.dirname, "fixtures/source-descriptors.ts");
    const limited = ["-c", 'ulimit -n 64; exec "$0" "$1"', process.execPath, script];
    const { stdout } = await promisify(execFile)("sh", limited);
    const [without, later] = JSON.parse(stdout) as readonly string[];
    assert.match(String(without), /^no process makes the text \(.*EMFILE\)$/);
    assert.equal(later, "hello");
  });

  it("starts no process for a caller that has gone", async () => {
    const job = { kind: "plain", body: new TextEncoder().encode("hello"), charset: null, pointer: null } as const;
    await assert.rejects(extract(job, 60_000, AbortSignal.abort(new Error("gone"))), /^Error: gone$/);
  });
});
