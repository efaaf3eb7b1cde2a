import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { ReadingError } from "./failure.ts";
import { readJsonLines } from "./json-text.ts";

/** Blocks of a result that are read; what pictures and sounds show is no text. */
const MAX_BLOCKS = 256;

/**
 * EV16: the text of what a search tool found, its parts in lines of their own, so that tools which order or decorate the same words
 * otherwise still have lines in common.
 */
export function textOfResult({ content, structuredContent }: CallToolResult): string {
  const lines = content.slice(0, MAX_BLOCKS).flatMap(linesOfBlock);
  // A server that fills both says the same twice.
  if (lines.length > 0 || structuredContent === undefined) return lines.join("\n");
  return linesOfText(JSON.stringify(structuredContent)).join("\n");
}

function linesOfBlock(block: CallToolResult["content"][number]): readonly string[] {
  switch (block.type) {
    case "text":
      return linesOfText(block.text);
    case "resource":
      return "text" in block.resource ? [block.resource.uri, ...linesOfText(block.resource.text)] : [];
    case "resource_link": {
      const { uri, title, name, description } = block;
      return [title ?? name, uri, ...(description === undefined ? [] : [description])];
    }
    case "image":
    case "audio":
      return [];
  }
}

/** Many tools give JSON as text. What is no JSON, or too deep to be read as such, is as it is. */
function linesOfText(text: string): readonly string[] {
  if (!/^\s*[[{]/.test(text)) return [text];
  try {
    return readJsonLines(text);
  } catch (error) {
    if (!(error instanceof ReadingError)) throw error;
    return [text];
  }
}
