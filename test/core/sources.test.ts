import { expect } from "chai";
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
} from "../../agents/core/evidence/sources.ts";
import { encodeMessage } from "../../agents/core/encoding/transcript.ts";
import { signMessage } from "../support/core/committee.ts";
import { RULES, OTHER, blockOf, digest, line, asking, LICENCE } from "../support/core/sources-scripts.ts";

describe("sources: names and documents", () => {
  it("SG1: the lines at the question's end, in their order, and nothing before them", () => {
    const text = `Why?\n${line(RULES)}\nbut then\n${line(OTHER)}\n${line(RULES)}\n`;
    expect(sourcesOf(text)).to.deep.equal([digest(OTHER), digest(RULES)]);
    expect(withoutSources(text)).to.equal(`Why?\n${line(RULES)}\nbut then`);
    expect(sourcesOf("Why?")).to.deep.equal([]);
    expect(withoutSources("Why?\n")).to.equal("Why?\n");
    expect(sourcesOf("")).to.deep.equal([]);
    expect(sourcesOf(`say ${line(RULES)}`)).to.deep.equal([]);
  });

  it("SG1: what was meant as a source and is none is refused, and so are too many, or one twice", () => {
    const cid = cidString(digest(RULES));
    for (const bad of [
      "source: bafyx",
      `Source: ${cid}`,
      `source:${cid}`,
      ` source: ${cid}`,
      `source: ${cid.toUpperCase()}`,
      `source: ${cid} x`,
    ])
      expect(refuseSources(`Why?\n${bad}`), bad).to.match(/source that is no CIDv1/);
    expect(refuseSources(`Why?\nsource: bafyx\n${line(RULES)}`)).to.match(/is no CIDv1/);
    expect(refuseSources(`Why?\n${line(RULES)}\n${line(RULES)}`)).to.match(/twice/);
    const many = ["a", "b", "c", "d", "e"].map(line);
    expect(refuseSources(["Why?", ...many.slice(1)].join("\n"))).to.equal(null);
    expect(refuseSources(["Why?", ...many].join("\n"))).to.match(/4 sources, not 5/);
    expect(refuseSources("The source: unknown.\nWhy?")).to.equal(null);
    expect(escalating.refuseRequest(asking(4, [RULES, RULES]))).to.match(/twice/);
    expect(escalating.refuseRequest(asking(4, [RULES, OTHER]))).to.equal(null);
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
      expect(sourcesOf(bad), bad).to.deep.equal([]);
      expect(refuseSources(bad), bad).to.match(/elsewhere than in its last lines|is no CIDv1/);
      expect(refuseSources(`${bad}\n${good}`), bad).to.match(/elsewhere than in its last lines|is no CIDv1/);
      const attempt = asking(4, []);
      expect(escalating.refuseRequest({ ...attempt, request: { ...attempt.request, question: bad } }), bad).to.be.a(
        "string",
      );
    }
    expect(refuseSources(`Why?\n${line(RULES)}\r\n${line(OTHER)}`)).to.be.a("string");
    // An empty line ends the last lines; what is before it would not gate.
    expect(refuseSources(`Why?\n${line(RULES)}\n\n${line(OTHER)}`)).to.be.a("string");
    // Other names are nobody's source: a block of another kind, a word that only begins like one.
    expect(refuseSources("Does bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy exist?")).to.equal(null);
    expect(refuseSources("What is a bafyrei CID?")).to.equal(null);
    expect(refuseSources(`Why?\n${line(RULES)}\n${line(OTHER)}\n`)).to.equal(null);
  });

  it("SG1: parsing is total, and what it takes away it understood", () => {
    const part = fc.oneof(fc.string(), fc.constant("\n"), fc.constant(line(RULES)), fc.constant("source: "));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const question = parts.join("");
        const names = sourcesOf(question);
        if (names.length > 0 && refuseSources(question) === null)
          expect(
            sourcesOf(`${withoutSources(question)}\n${names.map((name) => `source: ${cidString(name)}`).join("\n")}`),
          ).to.deep.equal(names);
        expect(refuseSources(question) === null || refuseSources(question)!.length > 0).to.equal(true);
      }),
    );
  });

  it("SG3: a document is one string in one block, of at most 15 KiB, and its own digest", () => {
    expect(readDocument(digest(OTHER), blockOf(OTHER))?.text).to.equal(OTHER);
    expect(readDocument(digest(RULES), blockOf(OTHER))).to.equal(null);
    for (const value of [[RULES], 7, utf8(RULES), { text: RULES }]) {
      const block = encode(value);
      expect(readDocument(sha256(block), block)).to.equal(null);
    }
    const longest = "x".repeat(limits.sourceBytes);
    expect(readDocument(digest(longest), blockOf(longest))?.text).to.equal(longest);
    expect(documentBlock(`${longest}x`)).to.equal(null);
    expect(documentBlock("ü".repeat(limits.sourceBytes / 2 + 1))).to.equal(null);
    expect(documentBlock("\ud800")).to.equal(null);
    // Decoders take a leading byte order mark away: it would never be read back.
    expect(documentBlock(`\ufeff${RULES}`)).to.equal(null);
    expect(documentBlock(`${RULES}\ufeff`)).to.not.equal(null);
    const marked = encode(`\ufeff${RULES}`);
    expect(readDocument(sha256(marked), marked)).to.equal(null);
    const tooLong = encode(`${longest}x`);
    expect(readDocument(sha256(tooLong), tooLong)).to.equal(null);
  });

  it("SG5: four documents of the greatest length fit into one message", () => {
    const texts = ["a", "b", "c", "d"].map((one) => one.repeat(limits.sourceBytes));
    const attempt = asking(4, texts);
    const bytes = encodeMessage(signMessage(attempt, 0, SOURCE, 0, sourceForm.encode({ documents: texts }))).length;
    expect(bytes).to.be.at.most(limits.messageBytes);
  });
});

describe("sources: citations", () => {
  const documents = [RULES, OTHER].map((text) => ({ digest: digest(text), text }));
  const citation = cite(documents[0]!, LICENCE) as Citation;

  it("SG4: a quotation stands at its byte range, or counts for nothing", () => {
    expect(citation).to.deep.include({ start: 25, end: 25 + LICENCE.length, quote: LICENCE });
    expect(isExact(documents, citation)).to.equal(true);
    const shift = (by: number) => ({ ...citation, start: citation.start + by, end: citation.end + by });
    for (const wrong of [
      shift(1),
      shift(-1),
      { ...citation, end: citation.end - 1 },
      { ...citation, end: citation.end + 1 },
      { ...citation, quote: LICENCE.replace("500", "700") },
      { ...citation, quote: LICENCE.toLowerCase() },
      { ...citation, document: digest(OTHER) },
      { ...citation, document: digest("unknown") },
      { ...citation, quote: "", end: citation.start },
    ])
      expect(isExact(documents, wrong)).to.equal(false);
    // No byte of a range may lie beyond the document.
    const last = cite(documents[0]!, "Gifts are exempt.") as Citation;
    expect([last.end, isExact(documents, last)]).to.deep.equal([RULES.length, true]);
    expect(isExact(documents, { ...last, end: last.end + 1 })).to.equal(false);
  });

  it("SG4: ranges are bytes of UTF-8, not characters", () => {
    const [, other] = documents;
    const found = cite(other!, "— “really”") as Citation;
    expect(found.end - found.start).to.equal(utf8("— “really”").length);
    expect(utf8(OTHER).slice(found.start, found.end)).to.deep.equal(utf8("— “really”"));
  });

  it("SG2: quotations of fewer than 8 bytes count only when the document is no longer", () => {
    expect(cite(documents[0]!, "licence")).to.equal(null);
    expect(cite(documents[0]!, "licence.")).to.not.equal(null);
    expect(cite({ digest: digest("Yes."), text: "Yes." }, "Yes.")).to.not.equal(null);
    expect(cite({ digest: digest("Yes."), text: "Yes." }, "Yes")).to.equal(null);
    expect(cite(documents[0]!, "")).to.equal(null);
  });

  it("SG2: of a quotation that is too long the beginning is cited, cut between characters, unchanged", () => {
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
          expect(isExact([whole], found), quote).to.equal(true);
          expect(quote.startsWith(found.quote)).to.equal(true);
          expect(found.start).to.equal(utf8(text.slice(0, text.indexOf(quote))).length);
          expect(citeForm.decode(attempt, citeForm.encode({ citations: [found] }))?.citations).to.deep.equal([found]);
          // Not one character shorter than it must be.
          const next = Array.from(quote)[Array.from(found.quote).length];
          if (next !== undefined) expect(utf8(found.quote + next).length).to.be.greaterThan(limits.quoteBytes);
        }
    }
  });

  it("SG3: a quotation that begins with a byte order mark would come back as another one", () => {
    const text = "One.\ufeffTwo and three.";
    const whole = { digest: digest(text), text };
    expect(cite(whole, "\ufeffTwo and three.")).to.equal(null);
    expect(cite(whole, "Two and three.")?.start).to.equal(utf8("One.\ufeff").length);
    expect(cite(whole, "One.\ufeffTwo")).to.not.equal(null);
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
          expect(utf8(quote).length).to.be.lessThan(8);
          return;
        }
        expect(isExact([document], found)).to.equal(true);
        const moved = { ...found, start: found.start + 1, end: found.end + 1 };
        const bytes = utf8(whole).slice(moved.start, moved.end);
        expect(isExact([document], moved)).to.equal(bytes.join() === utf8(quote).join());
      }),
    );
  });

  it("SG4: malformed citations are refused: their number, ranges, lengths", () => {
    const attempt = asking(4, [RULES]);
    const round = { ...citeForm.encode({ citations: [citation] }) };
    expect(citeForm.decode(attempt, round)?.citations).to.deep.equal([citation]);
    const entry = (round["citations"] as readonly (readonly never[])[])[0]!;
    const refused = (citations: readonly unknown[]) => citeForm.decode(attempt, { citations } as never) === null;
    expect(refused([entry, entry, entry, entry])).to.equal(false);
    expect(refused([entry, entry, entry, entry, entry])).to.equal(true);
    for (const [at, value] of [
      [0, "x"],
      [1, -1],
      [2, limits.sourceBytes + 1],
      [2, 0],
      [3, "x".repeat(513)],
      [3, "ü".repeat(300)],
      [3, 1],
    ] as const)
      expect(refused([entry.with(at, value as never)]), `${at}: ${String(value).slice(0, 5)}`).to.equal(true);
  });
});
