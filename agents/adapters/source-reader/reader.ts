import { readFile } from "node:fs/promises";
import { ConclaveError, messageOf } from "../../core/errors.ts";
import { sha256, utf8 } from "../../core/encoding/bytes.ts";
import { readingOf, type Reading, type ReadingFailure } from "../../core/sources/snapshot.ts";
import type { CallSource, DocumentSource, PageSource, SearchSource, Source } from "../../core/sources/source.ts";
import { readDocument } from "../../core/sources/named.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import type { SourceReader } from "../../ports/source-reader.ts";
import type { SourcesConfig } from "./config.ts";
import type { Dialler, FixedPlace } from "./connect.ts";
import { extract } from "./extract.ts";
import { extractorFor, EXTRACTORS } from "./extraction.ts";
import { failedBy, ReadingError } from "./failure.ts";
import { openSearchTool } from "./search-tool.ts";
import { createFairQueue } from "./fair-queue.ts";

export interface ReaderOptions {
  readonly config: SourcesConfig;
  /** Where documents come from. */
  readonly store: Pick<ContentStore, "get">;
  readonly dialler?: Dialler;
  /** Where the keys of the search tool come from; absent: nowhere. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** EV14: readings at one time, of all hosts and of one; and threads that make texts. */
const PARALLEL = 16;
const PARALLEL_PER_HOST = 2;
const EXTRACTIONS = 1;
/**
 * EV10: for one text, for which others wait: a third of the time that a page may take to come, and a sixth of the half of a phase in which a
 * seat reads. On a machine with three times as much to do as it can, an honest page of 5 MB takes less than 2 s, and a PDF of 40 pages 0.3 s.
 */
const EXTRACTION_MS = 5_000;

/**
 * Opens the reader of every kind of source. What reads pages, searches and calls loads at the first one: few agents need all, and
 * they are a tenth of an agent's files. Throws CONFIG_INVALID or CONFIG_MISSING if a certificate or a key of the config cannot be read.
 */
export async function openSourceReader(options: ReaderOptions): Promise<SourceReader> {
  const { config, store, dialler, environment = {} } = options;
  const hosts = await fixedPlaces(config);
  const { search: named, timeoutMs } = config;
  const tool = named === undefined ? null : await openSearchTool(named, timeoutMs, environment);
  const readings = createFairQueue(PARALLEL, PARALLEL_PER_HOST);
  const extractions = createFairQueue(EXTRACTIONS, EXTRACTIONS);

  const readPage = async (source: PageSource, signal: AbortSignal): Promise<Reading> => {
    const { fetchPage } = await import("./page.ts");
    const page = await fetchPage(source.url, { config, hosts, ...(dialler !== undefined && { dialler }) }, signal);
    const { finalUrl, status, mediaType, charset, body } = page;
    const kind = extractorFor(mediaType, source.pointer !== null);
    if (kind === null) throw new ReadingError("not-text", `the media type ${mediaType} is no text`);
    const job = { kind, body, charset, pointer: source.pointer };
    const textMs = Math.min(config.timeoutMs, EXTRACTION_MS);
    const made = await extractions.run(source.host, signal, () => extract(job, textMs, signal));
    const raw = sha256(body);
    return readingOf({ source: source.text, finalUrl, status, mediaType, raw, ...made, extractor: EXTRACTORS[kind] });
  };

  const call = async (source: CallSource, signal: AbortSignal): Promise<Reading> => {
    const { readCall } = await import("./call.ts");
    return readCall(source, config, signal);
  };

  const search = async (source: SearchSource, signal: AbortSignal): Promise<Reading> => {
    if (tool === null) throw new ReadingError("no-tool", "the config has no search tool; name one in sources.search");
    const { readSearch } = await import("./search.ts");
    return readSearch(source, tool, signal);
  };

  const read = (source: Source, signal: AbortSignal): Promise<Reading> => {
    switch (source.kind) {
      case "document":
        return readPinned(source, store, config.timeoutMs, signal);
      case "page":
        return readPage(source, signal);
      case "call":
        return call(source, signal);
      case "search":
        return search(source, signal);
    }
  };

  return {
    read: async (source, signal) => {
      signal.throwIfAborted();
      try {
        return await readings.run(hostOf(source), signal, () => read(source, signal));
      } catch (error) {
        signal.throwIfAborted();
        return failedBy(error, OTHERWISE[source.kind]);
      }
    },
  };
}

/** EV12: the reason of an error without one. */
const OTHERWISE = {
  document: "unreachable",
  page: "unreachable",
  call: "rpc-error",
  search: "tool-error",
} as const satisfies Readonly<Record<Source["kind"], ReadingFailure>>;

function hostOf(source: Source): string {
  switch (source.kind) {
    case "document":
      // No host has it: whoever names what nobody delivers keeps no other document waiting.
      return source.text;
    case "page":
      return source.host;
    case "call":
      return `chain ${source.chainId}`;
    case "search":
      return source.kind;
  }
}

async function fixedPlaces({ hosts }: SourcesConfig): Promise<ReadonlyMap<string, FixedPlace>> {
  const places = new Map<string, FixedPlace>();
  for (const [host, { address, port, ca }] of Object.entries(hosts)) {
    if (ca === undefined) places.set(host, { address, port });
    else places.set(host, { address, port, ca: await readAuthority(host, ca) });
  }
  return places;
}

async function readAuthority(host: string, path: string): Promise<string> {
  return readFile(path, "utf8").catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    const message = `Read the certificate ${path} failed (${code}); correct sources.hosts.${host}.ca`;
    throw new ConclaveError("CONFIG_INVALID", message, { path, field: `sources.hosts.${host}.ca` }, error);
  });
}

const DOCUMENT = { mediaType: "text/plain", extractor: { name: "document", version: "1" } };

/** SG3, EV13: a pinned document, whoever delivers it. */
async function readPinned(
  { text: source, digest }: DocumentSource,
  store: Pick<ContentStore, "get">,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Reading> {
  const inTime = AbortSignal.timeout(timeoutMs);
  const block = await store.get(digest, AbortSignal.any([signal, inTime])).catch((error: unknown) => {
    if (inTime.aborted) throw new ReadingError("timeout", `nobody delivers the document within ${timeoutMs} ms`);
    // What a store cannot do says nothing of the document.
    const isMissing = error instanceof ConclaveError && error.code === "BLOCK_MISSING";
    throw new ReadingError(isMissing ? "not-found" : "unreachable", messageOf(error));
  });
  const document = readDocument(digest, block);
  if (document === null) throw new ReadingError("not-text", "the block is no document: one string of bounded length");
  const { text } = document;
  return readingOf({ source, finalUrl: source, status: null, raw: sha256(utf8(text)), title: "", text, ...DOCUMENT });
}
