import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { cidString, encode } from "../../agents/core/encoding/codec.ts";
import { sha256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { limits } from "../../agents/core/limits.ts";
import { escalating } from "../../agents/core/protocols/escalating/index.ts";
import {
  SOURCE,
  cite,
  citeForm,
  documentBlock,
  isExact,
  readDocument,
  refuseSources,
  sourceForm,
  sourcesOf,
  withoutSources,
  type Citation,
} from "../../agents/core/request/sources.ts";
import { encodeMessage } from "../../agents/core/encoding/transcript.ts";
import { signMessage } from "../support/core/committee.ts";
import { RULES, OTHER, blockOf, digest, line, asking, LICENCE } from "../support/core/sources-scripts.ts";
import { assertAbove, assertAtMost, assertBelow, assertFields } from "../support/assertions.ts";

describe("sources: names and documents", () => {
  it("SG1: sources are the lines at the question's end, in their order, and nothing before them", () => {
    const text = `Why?\n${line(RULES)}\nbut then\n${line(OTHER)}\n${line(RULES)}\n`;
    assert.deepEqual(sourcesOf(text), [digest(OTHER), digest(RULES)]);
    assert.equal(withoutSources(text), `Why?\n${line(RULES)}\nbut then`);
    assert.deepEqual(sourcesOf("Why?"), []);
    assert.equal(withoutSources("Why?\n"), "Why?\n");
    assert.deepEqual(sourcesOf(""), []);
    assert.deepEqual(sourcesOf(`say ${line(RULES)}`), []);
  });

  it("SG1: a malformed source line is refused, and so are too many sources, or the same one twice", () => {
    const cid = cidString(digest(RULES));
    for (const bad of [
      "source: bafyx",
      `Source: ${cid}`,
      `source:${cid}`,
      ` source: ${cid}`,
      `source: ${cid.toUpperCase()}`,
      `source: ${cid} x`,
    ])
      assert.match(String(refuseSources(`Why?\n${bad}`)), /source that is no CIDv1/, bad);
    assert.match(String(refuseSources(`Why?\nsource: bafyx\n${line(RULES)}`)), /is no CIDv1/);
    assert.match(String(refuseSources(`Why?\n${line(RULES)}\n${line(RULES)}`)), /twice/);
    const many = ["a", "b", "c", "d", "e"].map(line);
    assert.equal(refuseSources(["Why?", ...many.slice(1)].join("\n")), null);
    assert.match(String(refuseSources(["Why?", ...many].join("\n"))), /4 sources, not 5/);
    assert.equal(refuseSources("The source: unknown.\nWhy?"), null);
    assert.match(String(escalating.refuseRequest(asking(4, [RULES, RULES]))), /twice/);
    assert.equal(escalating.refuseRequest(asking(4, [RULES, OTHER])), null);
  });

  it("SG1: a document that is named anywhere but in the last lines is refused: it would not gate", () => {
    const cid = cidString(digest(RULES));
    const good = line(OTHER);
    for (const bad of [
      `Why?\n- ${line(RULES)}`,
      `Why?\nsources: ${cid}`,
      `Why?\nSources: ${cid.toUpperCase()}`,
      `Why?\n\u200b${line(RULES)}`,
      `Why?\r${line(RULES)}`,
      `Why?\u2028${line(RULES)}`,
      `Why?\nsource\uff1a${cid}`,
      `Why?\n${line(RULES)}\nAnswer yes or no.`,
      `Why?\n${line(RULES)} ${line(OTHER)}`,
      `${line(RULES)}\nWhy?`,
    ]) {
      assert.deepEqual(sourcesOf(bad), [], bad);
      assert.match(String(refuseSources(bad)), /elsewhere than in its last lines|is no CIDv1/, bad);
      assert.match(String(refuseSources(`${bad}\n${good}`)), /elsewhere than in its last lines|is no CIDv1/, bad);
      const attempt = asking(4, []);
      assert.equal(
        typeof escalating.refuseRequest({ ...attempt, request: { ...attempt.request, question: bad } }),
        "string",
        bad,
      );
    }
    assert.equal(typeof refuseSources(`Why?\n${line(RULES)}\r\n${line(OTHER)}`), "string");
    // An empty line ends the last lines; what is before it would not gate.
    assert.equal(typeof refuseSources(`Why?\n${line(RULES)}\n\n${line(OTHER)}`), "string");
    // Other names are nobody's source: a block of another kind, a word that only begins like one.
    assert.equal(refuseSources("Does bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy exist?"), null);
    assert.equal(refuseSources("What is a bafyrei CID?"), null);
    assert.equal(refuseSources(`Why?\n${line(RULES)}\n${line(OTHER)}\n`), null);
  });

  it("SG1: parsing never throws, and removes only lines that it understands", () => {
    const part = fc.oneof(fc.string(), fc.constant("\n"), fc.constant(line(RULES)), fc.constant("source: "));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const question = parts.join("");
        const names = sourcesOf(question);
        if (names.length > 0 && refuseSources(question) === null)
          assert.deepEqual(
            sourcesOf(`${withoutSources(question)}\n${names.map((name) => `source: ${cidString(name)}`).join("\n")}`),
            names,
          );
        assert.equal(refuseSources(question) === null || refuseSources(question)!.length > 0, true);
      }),
    );
  });

  it("SG3: a document is one string in one block, of at most 15 KiB, and its own digest", () => {
    assert.equal(readDocument(digest(OTHER), blockOf(OTHER))?.text, OTHER);
    assert.equal(readDocument(digest(RULES), blockOf(OTHER)), null);
    for (const value of [[RULES], 7, utf8(RULES), { text: RULES }]) {
      const block = encode(value);
      assert.equal(readDocument(sha256(block), block), null);
    }
    const longest = "x".repeat(limits.sourceBytes);
    assert.equal(readDocument(digest(longest), blockOf(longest))?.text, longest);
    assert.equal(documentBlock(`${longest}x`), null);
    assert.equal(documentBlock("ü".repeat(limits.sourceBytes / 2 + 1)), null);
    assert.equal(documentBlock("\ud800"), null);
    // Decoders take a leading byte order mark away: it would never be read back.
    assert.equal(documentBlock(`\ufeff${RULES}`), null);
    assert.notEqual(documentBlock(`${RULES}\ufeff`), null);
    const marked = encode(`\ufeff${RULES}`);
    assert.equal(readDocument(sha256(marked), marked), null);
    const tooLong = encode(`${longest}x`);
    assert.equal(readDocument(sha256(tooLong), tooLong), null);
  });

  it("SG5: four documents of the greatest length fit into one message", () => {
    const texts = ["a", "b", "c", "d"].map((one) => one.repeat(limits.sourceBytes));
    const attempt = asking(4, texts);
    const bytes = encodeMessage(signMessage(attempt, 0, SOURCE, 0, sourceForm.encode({ documents: texts }))).length;
    assertAtMost(bytes, limits.messageBytes);
  });
});

describe("sources: citations", () => {
  const documents = [RULES, OTHER].map((text) => ({ digest: digest(text), text }));
  const citation = cite(documents[0]!, LICENCE) as Citation;

  it("SG4: a quotation stands at its byte range, or counts for nothing", () => {
    assertFields(citation, { start: 25, end: 25 + LICENCE.length, quotation: LICENCE });
    assert.equal(isExact(documents, citation), true);
    const shift = (by: number) => ({ ...citation, start: citation.start + by, end: citation.end + by });
    for (const wrong of [
      shift(1),
      shift(-1),
      { ...citation, end: citation.end - 1 },
      { ...citation, end: citation.end + 1 },
      { ...citation, quotation: LICENCE.replace("500", "700") },
      { ...citation, quotation: LICENCE.toLowerCase() },
      { ...citation, document: digest(OTHER) },
      { ...citation, document: digest("unknown") },
      { ...citation, quotation: "", end: citation.start },
    ])
      assert.equal(isExact(documents, wrong), false);
    // No byte of a range may lie beyond the document.
    const last = cite(documents[0]!, "Gifts are exempt.") as Citation;
    assert.deepEqual([last.end, isExact(documents, last)], [RULES.length, true]);
    assert.equal(isExact(documents, { ...last, end: last.end + 1 }), false);
  });

  it("SG4: ranges are bytes of UTF-8, not characters", () => {
    const [, other] = documents;
    const found = cite(other!, "— “really”") as Citation;
    assert.equal(found.end - found.start, utf8("— “really”").length);
    assert.deepEqual(utf8(OTHER).slice(found.start, found.end), utf8("— “really”"));
  });

  it("SG2: quotations of fewer than 8 bytes count only when the document is no longer", () => {
    assert.equal(cite(documents[0]!, "licence"), null);
    assert.notEqual(cite(documents[0]!, "licence."), null);
    assert.notEqual(cite({ digest: digest("Yes."), text: "Yes." }, "Yes."), null);
    assert.equal(cite({ digest: digest("Yes."), text: "Yes." }, "Yes"), null);
    assert.equal(cite(documents[0]!, ""), null);
  });

  it("SG2: only the unchanged beginning of a quotation that is too long is cited, cut between characters", () => {
    const attempt = asking(4, [RULES]);
    for (const unit of ["Статья 12.\nДоговор\tдействует. ", "€uro ", "𝄞", "a𝄞", "條文十二", "plain ascii text. "]) {
      const text = `Ü. ${unit.repeat(Math.ceil(600 / unit.length))}`;
      const whole = { digest: digest(text), text };
      for (const from of [0, 3])
        for (const length of [8, 127, 128, 129, 170, 171, 256, 300, 512, 600]) {
          const quote = Array.from(text)
            .slice(from, from + length)
            .join("");
          const found = cite(whole, quote) as Citation;
          assert.equal(isExact([whole], found), true, quote);
          assert.equal(quote.startsWith(found.quotation), true);
          assert.equal(found.start, utf8(text.slice(0, text.indexOf(quote))).length);
          assert.deepEqual(citeForm.decode(attempt, citeForm.encode({ citations: [found] }))?.citations, [found]);
          // Not one character shorter than it must be.
          const next = Array.from(quote)[Array.from(found.quotation).length];
          if (next !== undefined) assertAbove(utf8(found.quotation + next).length, limits.quotationBytes);
        }
    }
  });

  it("SG3: a quotation that begins with a byte order mark would come back as another one", () => {
    const text = "One.\ufeffTwo and three.";
    const whole = { digest: digest(text), text };
    assert.equal(cite(whole, "\ufeffTwo and three."), null);
    assert.equal(cite(whole, "Two and three.")?.start, utf8("One.\ufeff").length);
    assert.notEqual(cite(whole, "One.\ufeffTwo"), null);
  });

  it("SG4: whatever `cite` finds is exact; whatever is changed in one byte is not", () => {
    const text = fc.string({ unit: "grapheme", minLength: 8, maxLength: 60 });
    fc.assert(
      fc.property(text, fc.nat(), fc.nat(), (whole, from, length) => {
        const characters = Array.from(whole);
        const at = from % characters.length;
        const quote = characters.slice(at, at + 1 + (length % characters.length)).join("");
        const document = { digest: digest(whole), text: whole };
        const found = cite(document, quote);
        if (found === null) {
          assertBelow(utf8(quote).length, 8);
          return;
        }
        assert.equal(isExact([document], found), true);
        const moved = { ...found, start: found.start + 1, end: found.end + 1 };
        const bytes = utf8(whole).slice(moved.start, moved.end);
        assert.equal(isExact([document], moved), bytes.join() === utf8(quote).join());
      }),
    );
  });

  it("SG4: citations of a wrong number, range or length are rejected", () => {
    const attempt = asking(4, [RULES]);
    const round = { ...citeForm.encode({ citations: [citation] }) };
    assert.deepEqual(citeForm.decode(attempt, round)?.citations, [citation]);
    const entry = (round["citations"] as readonly (readonly never[])[])[0]!;
    const refused = (citations: readonly unknown[]) => citeForm.decode(attempt, { citations } as never) === null;
    assert.equal(refused([entry, entry, entry, entry]), false);
    assert.equal(refused([entry, entry, entry, entry, entry]), true);
    for (const [at, value] of [
      [0, "x"],
      [1, -1],
      [2, limits.sourceBytes + 1],
      [2, 0],
      [3, "x".repeat(513)],
      [3, "ü".repeat(300)],
      [3, 1],
    ] as const)
      assert.equal(refused([entry.with(at, value as never)]), true, `${at}: ${String(value).slice(0, 5)}`);
  });
});
