import { digestOf, decode, encode } from "../encoding/codec.ts";
import { utf8 } from "../encoding/bytes.ts";
import { limits } from "../limits.ts";
import { isSearch, parseSource, type Source } from "./source.ts";
import type { Attempt, Digest, Terms } from "../types.ts";
import { seenText } from "./text.ts";

/** The sources that a question names (docs/spec/sources.md). */

const LINE = /^source: (\S+)$/;
/** Of a line as it is seen: what begins like a source, and what would be one but for its spelling. */
const ATTEMPTED = /^(?:source|search) ?:/i;
const MISSPELT = /^source ?: ?(\S+)$/i;
/** A CIDv1 (dag-cbor, sha2-256) in base32, in upper or lower case, anywhere in a text. */
const NAMED = /bafyrei[a-z2-7]{52}/i;
/** Decoders of UTF-8 remove it, so a text that begins with it would change when it is read back. */
const BYTE_ORDER_MARK = "\ufeff";

/** SG1: the sources that the lines at the question's end name, in their order. */
export function sourcesOf(question: string): readonly string[] {
  return readSources(question).sources;
}

/** SG1: the question with a line for each source; the names are not checked. */
export function namingSources(text: string, sources: readonly string[]): string {
  return sources.length === 0 ? text : [text.trimEnd(), ...sources.map(lineOf)].join("\n");
}

/** SG1: why a question's sources cannot be used; null if they can be used, or if it names none. */
export function refuseSources(question: string): string | null {
  const { sources, rest } = readSources(question);
  // Every seat must see the same, so no table of an engine counts.
  const lines = seenText(rest).split("\n");
  const last = lines.at(-1) ?? "";
  if (ATTEMPTED.test(last)) return `the question's last lines name a source that cannot be read: ${whyNot(last)}`;
  if (lines.some((line) => sourceIn(line.replace(MISSPELT, "source: $1")) !== null))
    return "the question names a source above other text; sources stand in its last lines, below all that is asked";
  if (NAMED.test(rest))
    return "the question names a document elsewhere than in its last lines; give each a line of its own at the end: `source: CID`";
  if (sources.length > 0 && lines.join("") === "")
    return "the question has nothing but sources; write what is asked above them";
  if (sources.length > limits.sources) return `a question may name ${limits.sources} sources, not ${sources.length}`;
  return new Set(sources).size === sources.length ? null : "the question names a source twice";
}

function whyNot(line: string): string {
  const source = nameIn(line);
  const parsed = source === null ? null : parseSource(source);
  if (parsed !== null && "refused" in parsed) return parsed.refused;
  return "write each as `source: NAME` or `search: WORDS` on a line of its own, without empty lines between them and without invisible characters";
}

function readSources(question: string): { readonly sources: readonly string[]; readonly rest: string } {
  const lines = question.trimEnd().split("\n");
  const sources: string[] = [];
  for (let source = sourceIn(lines.at(-1)); source !== null; source = sourceIn(lines.at(-1))) {
    sources.unshift(source);
    lines.pop();
  }
  return sources.length === 0 ? { sources, rest: question } : { sources, rest: lines.join("\n").trimEnd() };
}

function sourceIn(line: string | undefined): string | null {
  const source = line === undefined ? null : nameIn(line);
  return source === null || "refused" in parseSource(source) ? null : source;
}

/** The text in a line that may name a source: all of a search, which has no `source:` before it. */
function nameIn(line: string): string | null {
  return isSearch(line) ? line : (LINE.exec(line)?.[1] ?? null);
}

/** SG1: the line that names a source at a question's end. */
export function lineOf(source: string): string {
  return isSearch(source) ? source : `source: ${source}`;
}

export interface Document {
  readonly digest: Digest;
  readonly text: string;
}

/** SG3: the block of a document: one string. Null if the text is too long or not well-formed, or begins with U+FEFF. */
export function documentBlock(text: string): Uint8Array | null {
  return isDocument(text) ? encode(text) : null;
}

/** SG3: the document in a block; null if the block is not that document. */
export function readDocument(digest: Digest, block: Uint8Array): Document | null {
  const text = decode(block, limits.documentBytes + BLOCK_HEAD_BYTES);
  return typeof text === "string" && isDocument(text) && digestOf(text) === digest ? { digest, text } : null;
}

/** Number of bytes that dag-cbor puts before a string of that length. */
const BLOCK_HEAD_BYTES = 5;

function isDocument(text: string): boolean {
  if (text.length > limits.documentBytes || text.startsWith(BYTE_ORDER_MARK)) return false;
  return text.isWellFormed() && utf8(text).length <= limits.documentBytes;
}

const groundedAttempts = new WeakMap<Attempt, Attempt>();

/**
 * SG7: the attempt with the question as models and protocols see it: without the lines that name sources. SG10, SG11: with the marks that
 * admit non-answers, and that code answers it.
 */
export function grounded(attempt: Attempt): Attempt {
  const known = groundedAttempts.get(attempt);
  if (known !== undefined) return known;
  const { request } = attempt;
  const { sources, rest } = readSources(request.question);
  const admits = request.terms.nonAnswers === "accepted" && ({ admitsNonAnswers: true } as const);
  const data = isDataQuestion(request.terms, sources) && ({ isDataQuestion: true } as const);
  const asked = { ...request, question: rest, isSourced: true, ...admits, ...data } as const;
  const made = sources.length === 0 ? attempt : { ...attempt, request: asked };
  groundedAttempts.set(attempt, made);
  return made;
}

/** SG1: true if the question names a source. */
export function namesSources(attempt: Attempt): boolean {
  return grounded(attempt) !== attempt;
}

/** SG11: true if a number is asked for, and the only source is a value by JSON pointer, or a call that returns one integer. */
function isDataQuestion({ kind }: Terms, sources: readonly string[]): boolean {
  const [only = ""] = sources;
  if (kind !== "number" || sources.length !== 1) return false;
  const parsed = parseSource(only);
  return "source" in parsed && isValue(parsed.source);
}

function isValue(source: Source): boolean {
  switch (source.kind) {
    case "page":
      return source.pointer !== null;
    case "call":
      return source.returns.length === 1 && /^u?int/.test(source.returns[0] ?? "");
    case "document":
    case "search":
      return false;
  }
}
