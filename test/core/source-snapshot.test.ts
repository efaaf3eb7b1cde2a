import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { bytesToHex, sha256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { decode, encode } from "../../agents/core/encoding/codec.ts";
import { decodeSnapshot, readingOf, READING_FAILURES, type Snapshot } from "../../agents/core/sources/snapshot.ts";
import { truncateText, isNormalised, normaliseText } from "../../agents/core/sources/text.ts";
import { limits } from "../../agents/core/limits.ts";
import { anyText } from "../support/any-text.ts";
import { assertBelow } from "../support/assertions.ts";
import { processorMs } from "../support/processor-time.ts";

const SEEN = {
  source: "https://example.com/#/a",
  finalUrl: "https://www.example.com/",
  status: 200,
  mediaType: "application/json",
  raw: sha256(utf8("body")),
  title: "A title",
  text: "The value is 5.",
  extractor: { name: "json", version: "1" },
} as const;

function read(seen: Omit<Snapshot, "isCut">): { readonly block: Uint8Array; readonly snapshot: Snapshot } {
  const reading = readingOf(seen);
  assert.equal(reading.kind, "read");
  return reading;
}

describe("snapshots of sources", () => {
  it("EV8: a snapshot comes back from its block, whose hash is the digest", () => {
    const reading = readingOf(SEEN);
    assert.equal(reading.kind, "read");
    assert.equal(reading.digest, sha256(reading.block));
    assert.deepEqual(reading.snapshot, { ...SEEN, isCut: false });
    assert.deepEqual(decodeSnapshot(reading.block), reading.snapshot);
    assert.equal(read({ ...SEEN, status: null }).snapshot.status, null);
  });

  it("EV8, EV15: a snapshot of a search is named by its words, and by no other text with spaces", () => {
    const text = "search: who won the cup?";
    const { block, snapshot } = read({ ...SEEN, source: text, finalUrl: text });
    assert.deepEqual(decodeSnapshot(block), snapshot);
    assert.equal(snapshot.finalUrl, text);
    const value = decode(block, block.length) as Readonly<Record<string, never>>;
    for (const wrong of [
      { source: "search: who  won" },
      { source: "search:", finalUrl: "search:" },
      { finalUrl: "search: who" },
    ])
      assert.equal(decodeSnapshot(encode({ ...value, ...wrong })), null, JSON.stringify(wrong));
  });

  it("EV8: refuses a block with one thing changed", () => {
    const { block } = read(SEEN);
    const value = decode(block, block.length) as Readonly<Record<string, never>>;
    const long = "x".repeat(limits.snapshotTextBytes + 1);
    const wrong: readonly object[] = [
      { source: "" },
      { source: "a b" },
      { source: "x".repeat(limits.sourceNameBytes + 1) },
      { finalUrl: `https://${long.slice(0, limits.snapshotUrlBytes)}` },
      { status: 99 },
      { status: 600 },
      { status: "200" },
      { mediaType: "text/html " },
      { raw: new Uint8Array(31) },
      { title: "two\nlines" },
      { title: "x".repeat(limits.snapshotTitleBytes + 1) },
      { text: long },
      { text: "é".repeat(limits.snapshotTextBytes / 2 + 1) },
      { text: "a  b" },
      { text: "zero\u200bwidth" },
      { isCut: 0 },
      { isCut: true },
      { extractor: ["json"] },
      { extractor: ["json", ""] },
      { more: 1 },
    ];
    assert.notEqual(decodeSnapshot(encode(value)), null);
    for (const change of wrong)
      assert.equal(decodeSnapshot(encode({ ...value, ...change })), null, JSON.stringify(change).slice(0, 60));
    const { isCut: _, ...less } = value;
    assert.equal(decodeSnapshot(encode(less)), null);
    assert.equal(decodeSnapshot(encode("text")), null);
    assert.equal(decodeSnapshot(block.slice(1)), null);
  });

  it("EV8: no bytes make it throw, and what it takes it writes in the same bytes", () => {
    const { block } = read(SEEN);
    fc.assert(
      fc.property(fc.nat(block.length - 1), fc.nat(255), (at, byte) => {
        const changed = Uint8Array.from(block);
        changed[at] = byte;
        const found = decodeSnapshot(changed);
        if (found !== null) assert.equal(bytesToHex(read(found).block), bytesToHex(changed));
      }),
      { numRuns: 2_000, seed: 1 },
    );
  });

  for (const [from, to] of [
    ["a\r\nb\rc\u2028d\u0085e\u2029\u000bf", "a\nb\nc\nd\ne\nf"],
    ["  a \t\u00a0\u3000 b  ", "a b"],
    ["a \n\n \t\n b", "a\nb"],
    ["\ufeffa\u200bb\u00adc\u202ed\u2066e\u0000f\u001bg", "abcdefg"],
    ["e\u200d\u0301", "\u00e9"],
    ["e\u0301", "\u00e9"],
    ["a\ud800b", "a\ufffdb"],
    ["tag\u{e0041}\u{e007f}s", "tags"],
    ["", ""],
    [" \n\t", ""],
  ] as const)
    it(`EV9: ${JSON.stringify(from)} becomes ${JSON.stringify(to)}`, () => {
      assert.equal(normaliseText(from), to);
    });

  it("EV9: normalising twice is normalising once, and gives what a snapshot may hold", () => {
    const odd = fc.constantFrom(
      "\n",
      " ",
      "\t",
      "\r",
      "\u200d",
      "\ufeff",
      "\u0301",
      "e",
      "\u1100",
      "\u1161",
      "\ud800",
      "\u{1f600}",
      "\u2000",
      "\u2001",
      "\u0344",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          anyText(),
          fc.array(odd).map((parts) => parts.join("")),
        ),
        (text) => {
          const once = normaliseText(text);
          assert.ok(isNormalised(once), JSON.stringify(once));
          assert.equal(normaliseText(once), once);
        },
      ),
      { numRuns: 3_000, seed: 1 },
    );
  });

  it("EV9: marks without end take no time, and 30 of them stay", async () => {
    // Sorting them would take minutes, in which nothing could end the thread.
    const endless = "\u0301\u0323".repeat(60_000);
    let text = "";
    const tookMs = await processorMs(() => {
      text = normaliseText(`q${endless} q${endless}`);
    });
    assertBelow(tookMs, 1_000);
    const one = `q${"\u0323".repeat(15)}${"\u0301".repeat(15)}`;
    assert.equal(text, `${one} ${one}`);
    const double = normaliseText(`q${"\u0344".repeat(40)}`);
    assert.equal(normaliseText(double), double);
  });

  it("EV9: a long text is cut between characters, says so, and is the longest that fits", () => {
    const characters = fc.constantFrom("a", "é", "\u20ac", "\u{1f600}", " b", "\nc");
    fc.assert(
      fc.property(fc.array(characters, { maxLength: 20 }), fc.nat(40), (parts, maxBytes) => {
        const text = normaliseText(parts.join(""));
        const cut = truncateText(text, maxBytes);
        assert.ok(text.startsWith(cut.text) && isNormalised(cut.text));
        assert.ok(utf8(cut.text).length <= maxBytes);
        assert.equal(cut.isCut, utf8(text).length > maxBytes);
        if (!cut.isCut) return assert.equal(cut.text, text);
        const [next = ""] = text.slice(cut.text.length).match(/^[ \n]?./u) ?? [];
        assert.ok(utf8(cut.text + next).length > maxBytes, `${JSON.stringify(next)} fits`);
      }),
      { numRuns: 2_000, seed: 1 },
    );
  });

  it("EV8: the longest snapshot fits its bounds and says that it is cut", () => {
    const { snapshot } = read({
      ...SEEN,
      source: "s".repeat(limits.sourceNameBytes),
      finalUrl: "u".repeat(limits.snapshotUrlBytes),
      mediaType: "m".repeat(limits.snapshotWordBytes),
      extractor: { name: "n".repeat(limits.snapshotWordBytes), version: "v".repeat(limits.snapshotWordBytes) },
      title: "\u20ac".repeat(limits.snapshotTitleBytes),
      text: "\u20ac".repeat(limits.snapshotTextBytes),
    });
    assert.equal(snapshot.isCut, true);
    assert.equal(utf8(snapshot.text).length, limits.snapshotTextBytes - 1);
  });

  it("EV12: the codes of failures keep their order", () => {
    assert.equal(
      READING_FAILURES.join(" "),
      "not-found refused blocked-address unreachable tls timeout too-large too-many-redirects server-error not-text undecodable no-such-value not-final not-there no-rpc rpc-error no-tool tool-error",
    );
  });
});
