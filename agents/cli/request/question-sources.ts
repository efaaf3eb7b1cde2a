import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { extract } from "../../adapters/source-reader/extract.ts";
import { cidString } from "../../core/encoding/cid.ts";
import { sha256 } from "../../core/encoding/bytes.ts";
import { messageOf } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { documentBlock, namingSources, sourcesOf } from "../../core/sources/named.ts";
import { parseSource } from "../../core/sources/source.ts";
import type { AgentRecord } from "../../ports/chain.ts";
import { usage } from "../shared/arguments.ts";
import type { CliHost } from "../shared/command.ts";
import { openServingStore } from "../shared/content-source.ts";

export interface QuestionSources {
  /** The question with a line for each source. */
  readonly question: string;
  /** Serves the documents to agents until it is closed. Throws NETWORK_FAILED. */
  handOut(
    agents: () => Promise<readonly AgentRecord[]>,
    signal: AbortSignal,
  ): Promise<{ readonly close: () => Promise<void> }>;
}

/** SG1: names the sources in the question, files by their content. Throws USAGE. */
export async function readSources(text: string, sources: readonly string[], host: CliHost): Promise<QuestionSources> {
  const isNamed = sources.map(isName);
  const named = await Promise.all(
    sources.map(async (source, place) => (isNamed[place] ? source : readBlock(source, host))),
  );
  const blocks = named.filter((one) => typeof one !== "string");
  const names = named.map((one) => (typeof one === "string" ? one : cidString(sha256(one))));
  return {
    question: namingSources(text, names),
    handOut: async (agents, signal) => {
      if (blocks.length === 0) return { close: async () => {} };
      const store = await openServingStore(await agents(), signal);
      for (const block of blocks) await store.put(block, signal);
      return { close: () => store.close() };
    },
  };
}

/** SG1: an address that stands in the last line, but names no source, gates nothing. Null if there is none. */
export function strayAddress(question: string): string | null {
  const last = question.trimEnd().split("\n").at(-1) ?? "";
  if (sourcesOf(question).length > 0 || !/https:\/\/|eip155:/i.test(last)) return null;
  return "no agent reads the address in the question's last line: it names a source only if you give it with --source";
}

/** EV1: true if the text names a source and no file. Throws USAGE for one with a scheme that names none; of a file `./` can stand before it. */
function isName(source: string): boolean {
  const parsed = parseSource(source);
  if ("source" in parsed) return true;
  if (source === "" || /^[a-z][a-z0-9+.-]+:/i.test(source)) throw usage("--source", source, parsed.refused);
  return false;
}

/** A file of the most bytes that a PDF with the longest document may need. */
const MAX_FILE_BYTES = 50_000_000;
const EXTRACTION_MS = 60_000;

/** SG3: reads a document's UTF-8 as it is, since models could not quote anything else; of a PDF its text, as agents make it of a page. */
async function readBlock(file: string, host: CliHost): Promise<Uint8Array> {
  const path = resolve(host.cwd, file);
  const size = await stat(path).then(
    (found) => (found.isFile() ? found.size : null),
    () => null,
  );
  if (size === null) throw usage("--source", file, "give a file that can be read");
  if (size > MAX_FILE_BYTES) throw usage("--source", file, `give a file of at most ${MAX_FILE_BYTES} bytes`);
  const bytes = await readFile(path);
  const isPdf = bytes.subarray(0, PDF_MARK.length).equals(PDF_MARK);
  const text = isPdf ? await textOfPdf(bytes, file, host.signal) : bytes.toString("utf8");
  if (text.trim() === "")
    throw usage(
      "--source",
      file,
      `give a ${isPdf ? "PDF whose words are no pictures" : "file with words"}: no text is found in it`,
    );
  const block = documentBlock(text);
  if (block !== null && (isPdf || bytes.equals(Buffer.from(text, "utf8")))) return block;
  throw usage(
    "--source",
    file,
    isPdf
      ? `its text has more than ${limits.documentBytes} bytes; give the pages that tell the answer`
      : `give a PDF, or UTF-8 text of at most ${limits.documentBytes} bytes, without a byte order mark (U+FEFF) at its start`,
  );
}

const PDF_MARK = Buffer.from("%PDF-");

async function textOfPdf(body: Uint8Array, file: string, signal: AbortSignal): Promise<string> {
  const job = { kind: "pdf", body, charset: null, pointer: null } as const;
  const { text } = await extract(job, EXTRACTION_MS, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw usage("--source", file, `give another PDF: ${messageOf(error)}`);
  });
  return text;
}
