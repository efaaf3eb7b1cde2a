import { utf8 } from "../encoding/bytes.ts";
import { digestFromCid } from "../encoding/cid.ts";
import { limits } from "../limits.ts";
import type { Address, Digest } from "../types.ts";
import { isNormalised } from "./text.ts";

/**
 * What a source names (docs/spec/reading.md). Parsing reads the text alone, by a grammar of its own, so that every seat on every engine
 * takes the same sources.
 */
export type Source = DocumentSource | PageSource | CallSource | SearchSource;

/** A pinned document (SG3). */
export interface DocumentSource {
  readonly kind: "document";
  readonly text: string;
  readonly digest: Digest;
}

/** A page or a JSON API. */
export interface PageSource {
  readonly kind: "page";
  readonly text: string;
  /** The text without the pointer. */
  readonly url: string;
  readonly host: string;
  /** EV3: the reference tokens of a JSON pointer; null if the source is the whole page. */
  readonly pointer: readonly string[] | null;
}

/** EV4: a view call of a contract at a block. */
export interface CallSource {
  readonly kind: "call";
  readonly text: string;
  readonly chainId: number;
  readonly contract: Address;
  readonly name: string;
  readonly args: readonly CallArgument[];
  /** The types of what it returns. */
  readonly returns: readonly string[];
  readonly block: number;
}

/** EV15: what is to be found by the search tool of each operator. */
export interface SearchSource {
  readonly kind: "search";
  readonly text: string;
  /** The text without its scheme. */
  readonly words: string;
}

export interface CallArgument {
  readonly type: string;
  readonly value: CallValue;
}

/** A number of any integer type is a bigint; addresses and bytes are hex. */
export type CallValue = bigint | boolean | string;

export type ParsedSource = { readonly source: Source } | { readonly refused: string };

/** EV1: reads what a source names, or says why it names nothing that can be read, and what to write instead. */
export function parseSource(text: string): ParsedSource {
  const source = readSource(text);
  return typeof source === "string" ? { refused: source } : { source };
}

function readSource(text: string): Source | string {
  if (text.length > limits.sourceNameBytes)
    return `a source has at most ${limits.sourceNameBytes} characters, not ${text.length}; name a shorter address of the same page`;
  if (isSearch(text)) return readSearch(text);
  const strange = /[^\x21-\x7e]/u.exec(text)?.[0];
  if (strange !== undefined)
    return `a source is printable ASCII without spaces, but has ${JSON.stringify(strange)}; write it percent-encoded, a host in its xn-- form`;
  const [, scheme = "", rest = ""] = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/.exec(text) ?? [];
  switch (scheme) {
    case "https":
      return readPage(text, rest);
    case "eip155":
      return readCall(text, rest);
    case "http":
      return "a page is read by https only; write https:// if its server speaks it";
    case "":
      return readDocumentName(text);
    default:
      return `the scheme ${scheme}: is unknown; a source is a CID (bafyrei...), https://..., eip155:..., or search: WORDS`;
  }
}

/** EV15: true for the text of a search, the only source with spaces and characters outside ASCII. */
export function isSearch(text: string): boolean {
  return text.startsWith("search:");
}

const SEARCH = /^search: (.+)$/su;

/** EV15: words that every normalisation leaves as they are, so that each tool gets the same. */
function readSearch(text: string): Source | string {
  const [, words] = SEARCH.exec(text) ?? [];
  if (words === undefined)
    return "a search is written `search: WORDS`, with one space and the words that are to be found";
  if (words.includes("\n") || !isNormalised(words))
    return "the words of a search stand in one line, with one space between two of them and none at the end, and without tabs and invisible characters";
  const bytes = utf8(words).length;
  if (bytes > limits.searchBytes)
    return `a search has at most ${limits.searchBytes} bytes of UTF-8, not ${bytes}; name fewer words`;
  return { kind: "search", text, words };
}

function readDocumentName(text: string): Source | string {
  const digest = digestFromCid(text);
  if (digest !== null) return { kind: "document", text, digest };
  return "a source without a scheme is a CIDv1 (dag-cbor, sha2-256) in base32, lower case: bafyrei...; else begin with https:// or eip155:";
}

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const MAX_HOST = 253;
/** RFC 3986, of which a WHATWG parser changes nothing; `'` in a query would be one that it encodes. */
const PATH = /^(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*$/;
const QUERY = /^(?:[A-Za-z0-9._~!$&()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*$/;
const FRAGMENT = /^(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*$/;
/** A segment that a parser resolves, in any spelling. */
const DOTS = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;

/** EV2: a URL in its one canonical form. */
function readPage(text: string, rest: string): Source | string {
  const found = /^\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/.exec(rest);
  if (found === null) return "a page is written https://HOST/PATH";
  const [, authority = "", path = "", query, fragment] = found;
  if (authority.includes("@")) return "a page names no user and no password; leave out what stands before the @";
  const [, host = "", port] = /^(.*?)(?::(\d*))?$/.exec(authority) ?? [];
  if (port === "443" || port === "") return `port 443 goes without saying; write https://${host}${path || "/"}`;
  if (port !== undefined) return `a page is read at port 443 only, not ${port}`;
  const wrong = refuseHost(host);
  if (wrong !== null) return wrong;
  if (path === "") return `a path begins with a slash; write https://${host}/`;
  if (DOTS.test(path))
    return "the path has a segment . or .., which a browser resolves; write the path that it leads to";
  if (query === "") return "the query is empty; leave out the ?";
  if (!PATH.test(path) || (query !== undefined && !QUERY.test(query)))
    return "the path or the query has a character that a URL does not have as it is; percent-encode it, e.g. %5B for [ and %27 for ' in a query";
  const unusual = unusualEncoding(text);
  if (unusual !== null) return unusual;
  if (fragment === undefined) return { kind: "page", text, url: text, host, pointer: null };
  const pointer = readPointer(fragment);
  if (typeof pointer === "string") return pointer;
  return { kind: "page", text, url: text.slice(0, -fragment.length - 1), host, pointer };
}

const UNRESERVED = /[A-Za-z0-9._~-]/;

/** EV2: an encoding that RFC 3986 (6.2.2) writes otherwise; two spellings would be two sources. */
function unusualEncoding(text: string): string | null {
  for (const [written] of text.matchAll(/%[0-9A-Fa-f]{2}/g)) {
    const character = String.fromCharCode(Number.parseInt(written.slice(1), 16));
    const usual = UNRESERVED.test(character) ? character : written.toUpperCase();
    if (written !== usual) return `an address has one spelling; write ${usual} for ${written}`;
  }
  return null;
}

/** A name, never an address: the certificate is for a name, and nobody else's network has the address. */
function refuseHost(host: string): string | null {
  const lower = host.toLowerCase();
  const labels = lower.split(".");
  const last = labels.at(-1) ?? "";
  if (lower.startsWith("[") || /^(?:\d+|0x[0-9a-f]*)$/.test(last))
    return `${host} is an address; name the host by a name, such as example.com`;
  if (host !== lower) return `a host is written in lower case: ${lower}`;
  if (host.length > MAX_HOST || labels.length < 2 || !labels.every((label) => LABEL.test(label)))
    return `${JSON.stringify(host)} is no full name of a host, such as example.com`;
  return null;
}

/** What encodeURIComponent encodes though a fragment may have it as it is: $&+,:;=@/? */
const NEEDLESS = /%(?:2[46BCF]|3[ABDF]|40)/g;

/** EV3: RFC 6901, in its form as a fragment of a URL. */
function readPointer(fragment: string): readonly string[] | string {
  if (!fragment.startsWith("/"))
    return "what follows # is a JSON pointer, such as #/data/0/price; leave out other fragments, the whole page is read";
  if (!FRAGMENT.test(fragment))
    return "the JSON pointer has a character that a URL does not have as it is; percent-encode it, e.g. %5E for ^";
  try {
    const decoded = decodeURIComponent(fragment);
    const usual = encodeURIComponent(decoded).replaceAll(NEEDLESS, decodeURIComponent);
    if (fragment !== usual) return `a JSON pointer has one spelling; write #${usual}`;
    const tokens = decoded.slice(1).split("/");
    if (tokens.length > limits.pointerTokens)
      return `a JSON pointer has at most ${limits.pointerTokens} parts, not ${tokens.length}`;
    if (tokens.some((token) => /~(?![01])/.test(token)))
      return "in a JSON pointer ~ stands only in ~0, which means ~, and in ~1, which means /";
    return tokens.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
  } catch {
    return "the JSON pointer's percent-encoding is not UTF-8; encode the key again";
  }
}

const CALL = /^([^:]*):([^:]*):([^()]*)\(([^()]*)\)\(([^()]*)\)@(.*)$/;
const CALL_FORM = "eip155:CHAIN:0xCONTRACT:function(type:value,...)(type,...)@BLOCK";
const NAME = /^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/;

/** EV4 */
function readCall(text: string, rest: string): Source | string {
  const found = CALL.exec(rest);
  if (found === null) return `a call is written ${CALL_FORM}`;
  const [, chain = "", contract = "", name = "", given = "", returned = "", at = ""] = found;
  const chainId = wholeNumber(chain);
  if (chainId === null || chainId === 0) return `${JSON.stringify(chain)} is no chain id in decimal, such as 1`;
  if (!/^0x[0-9a-f]{40}$/.test(contract))
    return /^0x[0-9a-f]{40}$/i.test(contract)
      ? `a contract is written in lower case: ${contract.toLowerCase()}`
      : `${JSON.stringify(contract)} is no address of a contract: 0x and 40 hex digits`;
  if (!NAME.test(name)) return `${JSON.stringify(name)} is no name of a function`;
  const args = listed(given).map(readArgument);
  const returns = listed(returned);
  const wrong = args.find((arg) => typeof arg === "string") ?? returns.map(refuseType).find((why) => why !== null);
  if (typeof wrong === "string") return wrong;
  if (args.length > limits.callValues || returns.length > limits.callValues)
    return `a call takes and returns at most ${limits.callValues} values each`;
  if (returns.length === 0) return `a call returns a value: name its type, as in ${CALL_FORM}`;
  const block = wholeNumber(at);
  if (block === null)
    return `${JSON.stringify(at)} is no number of a block; name a block that is final, so that every seat reads the same`;
  const address = contract as Address;
  return { kind: "call", text, chainId, contract: address, name, args: args as CallArgument[], returns, block };
}

function listed(text: string): readonly string[] {
  return text === "" ? [] : text.split(",");
}

/** A safe integer in its one decimal form. */
function wholeNumber(text: string): number | null {
  return /^(?:0|[1-9]\d{0,15})$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : null;
}

const INTEGER = /^(u?)int([1-9]\d{0,2})$/;
const FIXED_BYTES = /^bytes([1-9]|[12]\d|3[0-2])$/;

function integerBits(type: string): { readonly isSigned: boolean; readonly bits: bigint } | null {
  const [, sign, width] = INTEGER.exec(type) ?? [];
  const bits = Number(width);
  return bits % 8 === 0 && bits <= 256 ? { isSigned: sign === "", bits: BigInt(bits) } : null;
}

function refuseType(type: string): string | null {
  if (["address", "bool", "string", "bytes"].includes(type) || FIXED_BYTES.test(type)) return null;
  if (integerBits(type) !== null) return null;
  const full = type === "uint" || type === "int" ? `; write ${type}256` : "";
  return `${JSON.stringify(type)} is not one of the types address, bool, string, bytes, bytesN, intN and uintN${full}`;
}

function readArgument(text: string): CallArgument | string {
  const at = text.indexOf(":");
  if (at < 0) return `${JSON.stringify(text)} is no argument; write type:value, such as uint256:5`;
  const [type, literal] = [text.slice(0, at), text.slice(at + 1)];
  const wrong = refuseType(type);
  if (wrong !== null) return wrong;
  if (type === "string") return "an argument is no string; name a function that takes its hash or its bytes";
  const value = readLiteral(type, literal);
  return value === null
    ? `${JSON.stringify(literal)} is no ${type}; write integers in decimal, bytes and addresses as 0x and hex digits in lower case, and true or false`
    : { type, value };
}

/** EV4: the value of a type, as a source writes it; null if the text is none of the type, or the type is a string. */
export function readLiteral(type: string, literal: string): CallValue | null {
  if (type === "bool") return literal === "true" ? true : literal === "false" ? false : null;
  const integer = integerBits(type);
  if (integer !== null) return readInteger(literal, integer);
  const [, digits] = /^0x((?:[0-9a-f]{2})*)$/.exec(literal) ?? [];
  if (digits === undefined) return null;
  const bytes = type === "address" ? 20 : type === "bytes" ? digits.length / 2 : Number(type.slice("bytes".length));
  return digits.length === 2 * bytes ? literal : null;
}

function readInteger(
  literal: string,
  { isSigned, bits }: { readonly isSigned: boolean; readonly bits: bigint },
): bigint | null {
  if (!/^(?:0|-?[1-9]\d{0,77})$/.test(literal)) return null;
  const value = BigInt(literal);
  const least = isSigned ? -(1n << (bits - 1n)) : 0n;
  const most = (isSigned ? 1n << (bits - 1n) : 1n << bits) - 1n;
  return value >= least && value <= most ? value : null;
}
