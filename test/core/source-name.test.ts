import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { parseSource, type CallSource, type PageSource, type Source } from "../../agents/core/sources/source.ts";
import { limits } from "../../agents/core/limits.ts";
import type { Digest } from "../../agents/core/types.ts";
import { anyText } from "../support/any-text.ts";

const CONTRACT = `0x${"ab".repeat(20)}`;

function sourceOf(text: string): Source {
  const parsed = parseSource(text);
  assert.ok("source" in parsed, "refused" in parsed ? parsed.refused : "");
  return parsed.source;
}

function refusal(text: string): string {
  const parsed = parseSource(text);
  assert.ok("refused" in parsed, `${text} is taken`);
  return parsed.refused;
}

describe("what a source names", () => {
  it("EV1: takes the CID of a document, and no other CID", () => {
    const digest = `0x${"5a".repeat(32)}` as Digest;
    assert.deepEqual(sourceOf(cidString(digest)), { kind: "document", text: cidString(digest), digest });
    for (const other of [
      cidString(digest).toUpperCase(),
      "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG",
      "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy",
      "rules.txt",
      "",
    ])
      assert.match(refusal(other), /is a CIDv1 \(dag-cbor, sha2-256\) in base32, lower case: bafyrei/);
  });

  it("EV2, EV3: takes a page, and a value of a page", () => {
    assert.deepEqual(sourceOf("https://example.com/a?b=c"), {
      kind: "page",
      text: "https://example.com/a?b=c",
      url: "https://example.com/a?b=c",
      host: "example.com",
      pointer: null,
    });
    const value = sourceOf("https://api.example.com/v1#/data/0/a~1b/~01/%C3%A9%20x/") as PageSource;
    assert.equal(value.url, "https://api.example.com/v1");
    assert.deepEqual(value.pointer, ["data", "0", "a/b", "~1", "é x", ""]);
  });

  it("EV15: takes a search with words of any script, up to 256 bytes", () => {
    for (const words of [
      "who won?",
      "Wer hat den Pokal gewonnen – été 2026",
      "x",
      "é".repeat(128),
      "search: source: a",
    ])
      assert.deepEqual(sourceOf(`search: ${words}`), { kind: "search", text: `search: ${words}`, words });
  });

  it("EV4: takes a call with literal arguments at a block", () => {
    const text = `eip155:10:${CONTRACT}:quote(address:${CONTRACT},uint256:5,int8:-128,bool:true,bytes4:0x01020304,bytes:0x)(uint256,string)@123`;
    assert.deepEqual(sourceOf(text), {
      kind: "call",
      text,
      chainId: 10,
      contract: CONTRACT,
      name: "quote",
      args: [
        { type: "address", value: CONTRACT },
        { type: "uint256", value: 5n },
        { type: "int8", value: -128n },
        { type: "bool", value: true },
        { type: "bytes4", value: "0x01020304" },
        { type: "bytes", value: "0x" },
      ],
      returns: ["uint256", "string"],
      block: 123,
    });
    assert.deepEqual((sourceOf(`eip155:1:${CONTRACT}:f()(bool)@0`) as CallSource).args, []);
  });

  for (const [text, says] of [
    ["http://example.com/", /by https only; write https:\/\//],
    ["ftp://example.com/", /the scheme ftp: is unknown/],
    ["ipfs://bafyrei", /the scheme ipfs: is unknown/],
    ["search:who won", /a search is written `search: WORDS`/],
    ["search: ", /a search is written `search: WORDS`/],
    ["search:  who won", /the words of a search stand in one line/],
    ["search: who  won", /the words of a search stand in one line/],
    ["search: who won ", /the words of a search stand in one line/],
    ["search: who\twon", /the words of a search stand in one line/],
    ["search: who\nwon", /the words of a search stand in one line/],
    ["search: who\u200b won", /the words of a search stand in one line/],
    ["search: \ud800", /the words of a search stand in one line/],
    [`search: ${"é".repeat(128)}x`, /at most 256 bytes of UTF-8, not 257/],
    ["Search: who won", /the scheme Search: is unknown|printable ASCII without spaces/],
    ["https:/example.com/", /is written https:\/\/HOST\/PATH/],
    ["https://user:pass@example.com/", /no user and no password/],
    ["https://user@example.com/", /no user and no password/],
    ["https://example.com:8443/", /at port 443 only, not 8443/],
    ["https://example.com:443/x", /write https:\/\/example.com\/x/],
    ["https://example.com:/x", /write https:\/\/example.com\/x/],
    ["https://example.com", /write https:\/\/example.com\//],
    ["https://example.com?a=b", /write https:\/\/example.com\//],
    ["https://Example.com/", /in lower case: example.com/],
    ["https://example.com./", /no full name of a host/],
    ["https://localhost/", /no full name of a host/],
    ["https:///x", /no full name of a host/],
    ["https://-a.example/", /no full name of a host/],
    [`https://${"a".repeat(64)}.example/`, /no full name of a host/],
    ["https://127.0.0.1/", /is an address; name the host by a name/],
    ["https://2130706433/", /is an address/],
    ["https://0/", /is an address/],
    ["https://a.0x7f/", /is an address/],
    ["https://a.0x/", /is an address/],
    ["https://[::1]/", /is an address/],
    ["https://[::ffff:127.0.0.1]/", /is an address/],
    ["https://example.com/a/../b", /a segment \. or \.\./],
    ["https://example.com/%2E", /a segment \. or \.\./],
    ["https://example.com/a/.%2e/b", /a segment \. or \.\./],
    ["https://example.com/?", /the query is empty/],
    ["https://example.com/?#/a", /the query is empty/],
    ["https://example.com/a[b]", /percent-encode it/],
    ["https://example.com/?a'b", /percent-encode it/],
    ["https://example.com/a\\b", /percent-encode it/],
    ["https://example.com/%zz", /percent-encode it/],
    ["https://example.com/é", /percent-encoded, a host in its xn-- form/],
    ["https://example.com/\u200b", /printable ASCII/],
    ["https://example.com/a b", /printable ASCII/],
    ["https://example.com/#", /is a JSON pointer, such as/],
    ["https://example.com/#top", /is a JSON pointer, such as/],
    ["https://example.com/#/a~2", /~ stands only in ~0/],
    ["https://example.com/#/a~", /~ stands only in ~0/],
    ["https://example.com/#/%FF", /not UTF-8/],
    ["https://example.com/%72ules", /write r for %72/],
    ["https://example.com/?a=%2f", /write %2F for %2f/],
    ["https://example.com/#/%7E0", /write ~ for %7E/],
    ["https://example.com/#/a%21", /a JSON pointer has one spelling; write #\/a!/],
    ["https://example.com/#/a%2Fb", /a JSON pointer has one spelling; write #\/a\/b/],
    ["https://example.com/#/a#b", /JSON pointer has a character/],
    [`https://example.com/#${"/a".repeat(33)}`, /at most 32 parts, not 33/],
    [`https://example.com/${"a".repeat(1024)}`, /at most 1024 characters, not 1044/],
    ["eip155:1:0xab:f()(bool)@1", /no address of a contract/],
    ["eip155:1", /a call is written eip155:CHAIN/],
    [`eip155:0:${CONTRACT}:f()(bool)@1`, /no chain id/],
    [`eip155:01:${CONTRACT}:f()(bool)@1`, /no chain id/],
    [`eip155:1:0x${"AB".repeat(20)}:f()(bool)@1`, /in lower case: 0xabab/],
    [`eip155:1:${CONTRACT}:1f()(bool)@1`, /no name of a function/],
    [`eip155:1:${CONTRACT}:f()()@1`, /returns a value/],
    [`eip155:1:${CONTRACT}:f()(uint)@1`, /write uint256/],
    [`eip155:1:${CONTRACT}:f()(uint7)@1`, /is not one of the types/],
    [`eip155:1:${CONTRACT}:f()(uint256[])@1`, /is not one of the types/],
    [`eip155:1:${CONTRACT}:f(5)(bool)@1`, /write type:value/],
    [`eip155:1:${CONTRACT}:f(string:a)(bool)@1`, /no string/],
    [`eip155:1:${CONTRACT}:f(uint8:256)(bool)@1`, /"256" is no uint8/],
    [`eip155:1:${CONTRACT}:f(uint8:-1)(bool)@1`, /"-1" is no uint8/],
    [`eip155:1:${CONTRACT}:f(int8:-129)(bool)@1`, /"-129" is no int8/],
    [`eip155:1:${CONTRACT}:f(uint8:01)(bool)@1`, /"01" is no uint8/],
    [`eip155:1:${CONTRACT}:f(bool:1)(bool)@1`, /"1" is no bool/],
    [`eip155:1:${CONTRACT}:f(bytes4:0x01)(bool)@1`, /"0x01" is no bytes4/],
    [`eip155:1:${CONTRACT}:f(bytes:0x0)(bool)@1`, /"0x0" is no bytes/],
    [`eip155:1:${CONTRACT}:f(${"bool:true,".repeat(8)}bool:true)(bool)@1`, /at most 8 values/],
    [`eip155:1:${CONTRACT}:f()(bool)@latest`, /"latest" is no number of a block/],
    [`eip155:1:${CONTRACT}:f()(bool)@0x10`, /no number of a block/],
    [`eip155:1:${CONTRACT}:f()(bool)@9007199254740992`, /no number of a block/],
  ] as const)
    it(`EV1: refuses ${JSON.stringify(text.slice(0, 80))} and says what to write`, () => {
      assert.match(refusal(text), says);
    });

  it("EV2: a page that is taken is what a WHATWG parser makes of it, and has only what the grammar allows", () => {
    const piece = fc.constantFrom(
      ...Array.from("aZ09-._~!$&'()*+,;=:@/?#%[]{}|\\^`<>\" é\t"),
      "%2e",
      "%C3%A9",
      "xn",
      "..",
      "443",
      ":",
    );
    const tail = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
    const host = fc.constantFrom(
      "example.com",
      "a-b.c_d.example",
      "EXAMPLE.com",
      "1.2.3.4",
      "0x7f.1",
      "a..b",
      "x.1",
      "u@h.example",
    );
    let taken = 0;
    fc.assert(
      fc.property(host, tail, (name, rest) => {
        const text = `https://${name}/${rest}`;
        const parsed = parseSource(text);
        if ("refused" in parsed) return;
        taken += 1;
        const url = new URL(text);
        assert.equal(url.href, text);
        assert.equal(parsed.source.kind, "page");
        const { host: found, url: address, pointer } = parsed.source;
        assert.deepEqual([url.username, url.password, url.port, url.hostname], ["", "", "", found]);
        assert.equal(url.hash === "" ? null : url.href.slice(0, -url.hash.length), pointer === null ? null : address);
      }),
      { numRuns: 3_000, seed: 1 },
    );
    assert.ok(taken > 100, `${taken} were taken`);
  });

  it("EV1: any text is taken or refused with a sentence, and never throws", () => {
    const alphabet = fc.constantFrom(
      ...Array.from("eip15:0xabf()@,#/~%2?.-"),
      "https://",
      "eip155:1:",
      CONTRACT,
      "uint8:",
      "example.com",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          anyText(),
          fc.array(alphabet).map((parts) => parts.join("")),
        ),
        (text) => {
          const parsed = parseSource(text);
          if ("refused" in parsed)
            assert.ok(parsed.refused.length > 20 && parsed.refused.length < 2 * limits.sourceNameBytes);
          else assert.equal(parsed.source.text, text);
        },
      ),
      { seed: 1, numRuns: 2_000 },
    );
  });

  it("EV3: a pointer's tokens come back from their spelling", () => {
    const token = fc.string({ unit: "grapheme", maxLength: 6 });
    fc.assert(
      fc.property(fc.array(token, { minLength: 1, maxLength: 6 }), (tokens) => {
        const spelled = tokens.map((one) =>
          encodeURIComponent(one.replaceAll("~", "~0").replaceAll("/", "~1")).replaceAll(
            /%(?:2[46BC]|3[ABDF]|40)/g,
            decodeURIComponent,
          ),
        );
        const source = sourceOf(`https://example.com/#/${spelled.join("/")}`) as PageSource;
        assert.deepEqual(source.pointer, tokens);
      }),
      { seed: 1 },
    );
  });
});
