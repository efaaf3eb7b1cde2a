import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { encode } from "../../agents/core/encoding/codec.ts";
import { verifiedBlock } from "../../agents/adapters/ipfs/block.ts";
import { sha256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { encodeMessage } from "../../agents/core/encoding/transcript.ts";
import { limits } from "../../agents/core/limits.ts";
import { GATHER, gatherForm } from "../../agents/core/phases/readings.ts";
import { escalating } from "../../agents/core/protocols/escalating/index.ts";
import { memoryReading } from "../../agents/adapters/memory/source-reader.ts";
import { cite, decodeCitation, encodeCitation } from "../../agents/core/sources/citations.ts";
import { documentBlock, grounded, readDocument, refuseSources, sourcesOf } from "../../agents/core/sources/named.ts";
import { readIn, readText, readingBlock } from "../../agents/core/sources/reading.ts";
import { passagesOf, passagesOfEach } from "../../agents/core/sources/passages.ts";
import type { Attempt, Digest } from "../../agents/core/types.ts";
import { signMessage } from "../support/core/committee.ts";
import { RULES, OTHER, blockOf, digest, line, asking, LICENCE, nameOf } from "../support/core/sources-scripts.ts";
import { assertAbove, assertAtMost, assertBelow } from "../support/assertions.ts";

function withQuestion(question: string): Attempt {
  const attempt = asking(4, []);
  return { ...attempt, request: { ...attempt.request, question } };
}

const shown = (question: string): string => grounded(withQuestion(question)).request.question;

describe("sources: names and documents", () => {
  it("SG1, SG7: sources are the lines at the question's end, in their order, and nothing before them", () => {
    const text = `Why?\n${line(RULES)}\nbut then\n${line(OTHER)}\n${line(RULES)}\n`;
    assert.deepEqual(sourcesOf(text), [nameOf(OTHER), nameOf(RULES)]);
    assert.equal(shown(text), `Why?\n${line(RULES)}\nbut then`);
    assert.deepEqual(sourcesOf("Why?"), []);
    assert.equal(shown("Why?\n"), "Why?\n");
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
      assert.match(String(refuseSources(`Why?\n${bad}`)), /source that cannot be read/, bad);
    assert.match(String(refuseSources(`Why?\nsource: bafyx\n${line(RULES)}`)), /cannot be read/);
    assert.match(String(refuseSources(`Why?\n${line(RULES)}\n${line(RULES)}`)), /twice/);
    const many = ["a", "b", "c", "d", "e"].map(line);
    assert.equal(refuseSources(["Why?", ...many.slice(1)].join("\n")), null);
    assert.match(String(refuseSources(["Why?", ...many].join("\n"))), /4 sources, not 5/);
    assert.equal(refuseSources("The source: unknown.\nWhy?"), null);
    for (const none of [line(RULES), `\n \n${line(RULES)}\n${line(OTHER)}`, `\u3164\u200b\n${line(RULES)}`])
      assert.match(String(refuseSources(none)), /nothing but sources/);
    assert.match(String(escalating.refuseRequest(asking(4, [RULES, RULES]))), /twice/);
    assert.equal(escalating.refuseRequest(asking(4, [RULES, OTHER])), null);
  });

  it("SG1, EV15: a search is a source with a line of its own form, beside others", () => {
    const question = `Who won?\n${line(RULES)}\nsearch: winner of the cup, été 2026`;
    assert.deepEqual(sourcesOf(question), [nameOf(RULES), "search: winner of the cup, été 2026"]);
    assert.equal(shown(question), "Who won?");
    assert.equal(refuseSources(question), null);
    for (const bad of ["search:winner", "Search: winner", " search: winner", "search: a  b", "source: search:winner"])
      assert.match(String(refuseSources(`Who won?\n${bad}`)), /source that cannot be read/, bad);
    assert.match(String(refuseSources("Who won?\nsearch: a\nsearch: a")), /twice/);
    assert.match(String(refuseSources("search: a")), /nothing but sources/);
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
      const why = /elsewhere than in its last lines|above other text|cannot be read/;
      assert.match(String(refuseSources(bad)), why, bad);
      assert.match(String(refuseSources(`${bad}\n${good}`)), why, bad);
      assert.equal(typeof escalating.refuseRequest(withQuestion(bad)), "string", bad);
    }
    assert.equal(typeof refuseSources(`Why?\n${line(RULES)}\r\n${line(OTHER)}`), "string");
    for (const name of [
      "source: https://pages.test/a",
      "search: export rules",
      "source: eip155:1:0x6b175474e89094c44da98b954eedeac495271d0f:totalSupply()(uint256)@1",
    ]) {
      for (const space of ["", " ", "\r"])
        assert.match(String(refuseSources(`Is it due?\n${name}${space}\nPlease answer.`)), /a source above other text/);
      assert.equal(refuseSources(`Is ${name} a line that names a source?\nPlease answer.`), null);
    }
    // However it is written, it is read as one by people.
    const page = "https://pages.test/a";
    for (const above of [
      `source: ${page}\u200b`,
      `SOURCE: ${page}`,
      `source:\t${page}`,
      `source:  ${page}`,
      `\u00a0source : ${page}`,
    ])
      assert.match(String(refuseSources(`Is it due?\n${above}\nPlease answer.`)), /a source above other text/, above);
    for (const before of ["\n\u200b", "\r", "\u2028", "\v", "\u0085"])
      assert.match(String(refuseSources(`Is it due?${before}source: ${page}`)), /invisible characters/, before);
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
            sourcesOf(`${shown(question)}\n${names.map((name) => `source: ${name}`).join("\n")}`),
            names,
          );
        assert.equal(refuseSources(question) === null || refuseSources(question)!.length > 0, true);
      }),
    );
  });

  it("SG3: a document is one string in one block, of at most 256 KiB, and its own digest", () => {
    assert.equal(readDocument(digest(OTHER), blockOf(OTHER))?.text, OTHER);
    assert.equal(readDocument(digest(RULES), blockOf(OTHER)), null);
    for (const value of [[RULES], 7, utf8(RULES), { text: RULES }]) {
      const block = encode(value);
      assert.equal(readDocument(sha256(block), block), null);
    }
    const longest = "x".repeat(limits.documentBytes);
    assert.equal(readDocument(digest(longest), blockOf(longest))?.text, longest);
    assert.equal(verifiedBlock(sha256(blockOf(longest)), blockOf(longest)).length, blockOf(longest).length);
    assert.equal(documentBlock(`${longest}x`), null);
    assert.equal(documentBlock("ü".repeat(limits.documentBytes / 2 + 1)), null);
    assert.equal(documentBlock("\ud800"), null);
    // Decoders take a leading byte order mark away: it would never be read back.
    assert.equal(documentBlock(`\ufeff${RULES}`), null);
    assert.notEqual(documentBlock(`${RULES}\ufeff`), null);
    const marked = encode(`\ufeff${RULES}`);
    assert.equal(readDocument(sha256(marked), marked), null);
    const tooLong = encode(`${longest}x`);
    assert.equal(readDocument(sha256(tooLong), tooLong), null);
  });
});

const lines = fc.array(fc.string({ unit: "grapheme", maxLength: 300 }), { maxLength: 40 });

describe("sources: passages", () => {
  it("SG6: passages are the text, in order, each within its bytes", () => {
    fc.assert(
      fc.property(lines, (parts) => {
        const text = parts.join("\n");
        const passages = passagesOf(text);
        assert.equal(passages.join(""), text);
        for (const passage of passages) assertAtMost(utf8(passage).length, limits.passageBytes);
      }),
    );
  });

  it("SG6: a line without a space is cut between characters; a text longer than a list of passages is cut at its end", () => {
    for (const unit of ["x", "ü", "𝄞"]) {
      const long = unit.repeat(2_000);
      assert.equal(passagesOf(long).join(""), long);
    }
    const long = Array.from(
      { length: 9_000 },
      (_, index) => `Line ${index} of a page that never ends, says its author.`,
    );
    const passages = passagesOf(long.join("\n"));
    assert.ok(long.join("\n").startsWith(passages.join("")));
    const block = readingBlock(memoryReading("https://pages.test/long", long.join("\n")));
    for (const sources of [1, 2, 3, 4]) {
      const read = readIn(block, sources);
      assert.ok(read?.kind === "read");
      assert.equal(read.passages.length, Math.min(passagesOf(read.text).length, Math.floor(limits.passages / sources)));
    }
  });

  it("SG6: of the longest text every passage counts, however its lines are cut", () => {
    for (const length of [1, 20, 60, 255, 256, 300, 1_023, 5_000]) {
      const same = `${"x".repeat(length - 1)} `;
      const text = Array.from({ length: Math.floor(limits.snapshotTextBytes / (length + 1)) }, () => same).join("\n");
      assert.equal(passagesOf(text).join(""), text, `${length}`);
    }
  });

  it("SG6: long lines that differ in one word share all passages but those around it", () => {
    const entries = Array.from({ length: 900 }, (_, index) => ({
      id: index,
      of: sha256(utf8(`${index}`)).slice(2, 14),
    }));
    const prose = entries
      .map(({ of }, index) => `${of.slice(0, 3 + (index % 8))} `)
      .join("")
      .repeat(2);
    for (const page of [JSON.stringify(entries), prose]) {
      const own = passagesOf(page);
      assertAbove(own.length, 20);
      for (const at of [1, Math.floor(page.length / 2), page.length - 1]) {
        const other = passagesOf(`${page.slice(0, at)}12:01${page.slice(at)}`);
        assertAtMost(own.filter((passage) => !other.includes(passage)).length, 4);
      }
    }
  });

  it("SG6: a word without an end shares all passages but those around a change, whatever characters it has", () => {
    for (const alphabet of [
      "0123456789",
      "01",
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
      "天地玄黄宇宙洪荒日月盈昃",
    ]) {
      const letters = Array.from(alphabet);
      let state = 7;
      const random = (): number => (state = (state * 48_271) % 2_147_483_647);
      const word = Array.from({ length: 20_000 }, () => letters[random() % letters.length]).join("");
      const own = passagesOf(word);
      assertAbove(own.length, 20);
      for (const at of [1, 5_000, 19_000]) {
        const other = passagesOf(`${word.slice(0, at)}x${word.slice(at)}`);
        assertAtMost(own.filter((passage) => !other.includes(passage)).length, 3, `${alphabet} at ${at}`);
      }
    }
  });

  it("SG6: what a search brought is cut into its lines, so that lines in another order are the same passages", () => {
    const cut = (text: string): readonly string[] => {
      const read = readIn(readingBlock(memoryReading("search: licences", text)), 4);
      assert.ok(read?.kind === "read");
      assert.equal(read.passages.join(""), read.text.slice(0, read.passages.join("").length));
      return read.passages;
    };
    assert.deepEqual(cut("One.\nTwo.\nThree."), ["One.\n", "Two.\n", "Three.\n"]);
    assert.deepEqual(new Set(cut("Three.\nOne.\nTwo.")), new Set(cut("One.\nTwo.\nThree.")));
    assert.deepEqual(cut(""), []);
    assert.equal(cut(`${"word ".repeat(1000)}end\nTwo.`).at(-1), "Two.\n");
    assertAtMost(Math.max(...cut("word ".repeat(1000)).map((one) => one.length)), limits.passageBytes);
    assert.equal(cut(Array.from({ length: 500 }, (_, at) => `Line ${at}.`).join("\n")).length, passagesOfEach(4));
    // A text that is no search's is cut as before.
    assert.equal(passagesOf("One.\nTwo.").length, 1);
  });

  it("SG6: texts that differ in one line share all passages but those around it", () => {
    const page = Array.from({ length: 200 }, (_, index) => `Paragraph ${index}: ${"what it says ".repeat(index % 7)}`);
    const own = passagesOf(page.join("\n"));
    for (const [at, inserted] of [
      [0, "An advertisement."],
      [100, "Last read at 12:01."],
      [199, "x".repeat(900)],
    ] as const) {
      const other = passagesOf(page.toSpliced(at, 0, inserted).join("\n"));
      const lost = own.filter((passage) => !other.includes(passage));
      assertAtMost(lost.length, 6);
    }
  });

  it("SG5, SG6: four lists of the greatest length fit into one message", () => {
    const texts = ["a", "b", "c", "d"];
    for (const named of [texts, ["a"]]) {
      const each = Array.from({ length: passagesOfEach(named.length) }, (_, index) => sha256(utf8(`${index}`)));
      const decoded = (passages: readonly Digest[]): unknown =>
        gatherForm.decode(asking(4, named), gatherForm.encode({ sources: named.map(() => ({ passages })) }));
      assert.notEqual(decoded(each), null);
      assert.equal(decoded([...each, sha256(utf8("one more"))]), null);
      const payload = gatherForm.encode({ sources: named.map(() => ({ passages: each })) });
      const bytes = encodeMessage(signMessage(asking(4, named), 0, GATHER, 0, payload)).length;
      assertAtMost(bytes, limits.messageBytes);
    }
  });
});

describe("sources: citations", () => {
  it("SG4: words are cited at the first passage that holds them, and only if they stand there", () => {
    assert.deepEqual(cite(1, readText(RULES), LICENCE), { source: 1, passage: RULES, quotation: LICENCE });
    for (const wrong of [LICENCE.replace("500", "700"), LICENCE.toLowerCase(), "", "nowhere"])
      assert.equal(cite(0, readText(RULES), wrong), null);
    const two = `${"Once. ".repeat(60)}\n${"Twice it stood here. ".repeat(60)}`;
    const found = cite(0, readText(two), "Twice it stood");
    assert.ok(found !== null && found.passage !== passagesOf(two)[0]);
  });

  it("SG2: quotations of fewer than 8 bytes count only when the passage is no longer", () => {
    assert.equal(cite(0, readText(RULES), "licence"), null);
    assert.notEqual(cite(0, readText(RULES), "licence."), null);
    assert.notEqual(cite(0, readText("Yes."), "Yes."), null);
    assert.equal(cite(0, readText("Yes."), "Yes"), null);
  });

  it("SG2: of words that are too long, or run over passages, the unchanged beginning is cited", () => {
    for (const unit of ["Статья 12.\nДоговор\tдействует. ", "€uro ", "𝄞", "a𝄞", "條文十二", "plain ascii text. "]) {
      const text = `Ü. ${unit.repeat(Math.ceil(1_600 / unit.length))}`;
      const characters = Array.from(text);
      for (const from of [0, 3, 500])
        for (const length of [127, 128, 129, 256, 512, 900]) {
          const words = characters.slice(from, from + length).join("");
          const found = cite(0, readText(text), words);
          assert.ok(found !== null, unit);
          assert.ok(words.startsWith(found.quotation) && found.passage.includes(found.quotation));
          assertAtMost(utf8(found.quotation).length, limits.quotationBytes);
          assert.deepEqual(decodeCitation(encodeCitation(found)), found);
        }
    }
  });

  it("SG2: of words that begin too close to the end of a passage, what stands in the next one is cited", () => {
    const text = Array.from({ length: 300 }, (_, word) => `word${word}`).join(" ");
    const [first, second] = passagesOf(text) as readonly [string, string];
    const words = first.slice(-5) + second.slice(0, 40);
    assert.deepEqual(cite(0, readText(text), words), {
      source: 0,
      passage: second,
      quotation: second.slice(0, 40).trimEnd(),
    });
  });

  it("SG4: words that a model copies without their line breaks are cited as they stand", () => {
    const text = "Exports above 500\nneed a licence. Gifts are exempt.";
    const quotation = "Exports above 500\nneed a licence.";
    for (const words of [quotation, quotation.replace("\n", " ")])
      assert.deepEqual(cite(0, readText(text), words), { source: 0, passage: text, quotation });
  });

  it("SG3: words that begin with a byte order mark would come back as others", () => {
    assert.equal(cite(0, readText("One.\ufeffTwo and three."), "\ufeffTwo and three."), null);
    assert.notEqual(cite(0, readText("One.\ufeffTwo and three."), "One.\ufeffTwo"), null);
    assert.equal(cite(0, readText(`${"x".repeat(400)}\n\ufeffTwo and three.`), "\ufeffTwo and three."), null);
  });

  it("SG4: whatever `cite` finds comes back as it is; one changed byte and it is refused", () => {
    fc.assert(
      fc.property(lines, fc.nat(), fc.nat(), (parts, from, length) => {
        const text = parts.join("\n");
        const characters = Array.from(text);
        const at = from % (characters.length + 1);
        const words = characters.slice(at, at + 1 + (length % 80)).join("");
        const found = cite(0, readText(text), words);
        if (found === null) return;
        const encoded = encodeCitation(found);
        assert.deepEqual(decodeCitation(encoded), found);
        assert.equal(decodeCitation({ ...encoded, quotation: `${found.quotation}\u0001` }), null);
        assertBelow(text.indexOf(found.passage), text.length + 1);
      }),
    );
  });

  it("SG4: malformed citations are refused", () => {
    const good = { source: 0, passage: RULES, quotation: LICENCE };
    assert.deepEqual(decodeCitation(good), good);
    for (const bad of [
      { ...good, source: -1 },
      { ...good, source: limits.sources },
      { ...good, source: 0.5 },
      { ...good, source: "0" },
      { ...good, passage: `${RULES}${" ".repeat(limits.passageBytes)}` },
      { ...good, passage: `${"ü".repeat(500)}${RULES}` },
      { ...good, quotation: "" },
      { ...good, quotation: "Gifts are not exempt." },
      { ...good, more: 1 },
      [0, RULES, LICENCE],
      null,
    ])
      assert.equal(decodeCitation(bad as never), null, JSON.stringify(bad));
  });
});
