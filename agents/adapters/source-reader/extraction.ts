import type { Extractor, ReadingFailure } from "../../core/sources/snapshot.ts";

/**
 * EV10: how the text of a body is made, by its media type. A version changes when the text that it makes of a body may change: with a
 * library, or by the number behind it when our own code does.
 */
export const EXTRACTORS = {
  html: { name: "readability", version: "0.6.0+linkedom.0.18.15+3" },
  json: { name: "json", version: "1" },
  plain: { name: "plain", version: "1" },
  pdf: { name: "pdfjs", version: "5.6.205" },
} as const satisfies Readonly<Record<string, Extractor>>;

export type ExtractorKind = keyof typeof EXTRACTORS;

const JSON_TYPES: ReadonlySet<string> = new Set(["application/json", "text/json"]);

/** EV10: null for a media type that is no text. A pointer makes JSON of plain text: hosts of raw files call every file that. */
export function extractorFor(mediaType: string, hasPointer: boolean): ExtractorKind | null {
  if (mediaType === "text/html" || mediaType === "application/xhtml+xml") return "html";
  if (JSON_TYPES.has(mediaType) || (hasPointer && mediaType === "text/plain")) return "json";
  if (/^[a-z]+\/[^/]+\+json$/.test(mediaType)) return "json";
  if (mediaType === "application/pdf") return "pdf";
  const isText = mediaType.startsWith("text/") || mediaType === "application/xml" || mediaType.endsWith("+xml");
  return isText ? "plain" : null;
}

/** What the process of an extraction gets. */
export interface ExtractionJob {
  readonly kind: ExtractorKind;
  readonly body: Uint8Array;
  readonly charset: string | null;
  readonly pointer: readonly string[] | null;
}

/** What it makes of it. */
export type Extraction =
  { readonly title: string; readonly text: string } | { readonly reason: ReadingFailure; readonly detail: string };
