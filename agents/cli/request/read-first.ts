import { resolve } from "node:path";
import { sourcesConfigSchema, type SourcesConfig } from "../../adapters/source-reader/config.ts";
import { openSourceReader } from "../../adapters/source-reader/reader.ts";
import type { ReaderOptions } from "../../adapters/chain/reader.ts";
import { ConclaveError } from "../../core/errors.ts";
import { dataNumber } from "../../core/sources/data.ts";
import { grounded, sourcesOf } from "../../core/sources/named.ts";
import type { ReadingFailure } from "../../core/sources/snapshot.ts";
import { parseSource, type Source } from "../../core/sources/source.ts";
import type { Attempt } from "../../core/types.ts";
import type { CliHost } from "../shared/command.ts";
import { CONFIG_FILE, loadAgentConfig, withOwnRpc } from "../shared/config.ts";
import { NO_STORE } from "../shared/content-source.ts";
import { printable } from "../shared/output.ts";

/** What the asker can do about a source that is not read, beside asking all the same. */
const WAYS: Partial<Record<ReadingFailure, string>> = {
  "no-rpc": "name an agent's folder whose config has an RPC of the chain (--dir)",
  "no-such-value": "correct the JSON pointer, the call or the terms",
  "not-final": "name a block that is final, or ask later",
  "not-there": "name a block that is final, or let the committee wait (--delay)",
  "blocked-address": "name a public host; an agent's folder may name hosts of its own (--dir)",
};

/**
 * Reads the pages and calls that a question names, as an agent would, before anything is paid, and the number of a data question in them.
 * Documents are handed out or held by agents, and a search is a matter of each agent's tool. Returns that number, null for any other question.
 * Throws SOURCE_UNREADABLE.
 */
export async function requireReadable(
  attempt: Attempt,
  chain: Pick<ReaderOptions, "chainId" | "rpcUrl">,
  dir: string | undefined,
  host: CliHost,
): Promise<string | null> {
  const { request } = grounded(attempt);
  const sources = sourcesOf(attempt.request.question).flatMap(readable);
  if (sources.length === 0) return null;
  const reader = await openSourceReader({ config: await configOf(chain, dir, host), store: NO_STORE });
  let number: string | null = null;
  for (const source of sources) {
    const reading = await reader.read(source, host.signal);
    const isData = request.isDataQuestion === true && reading.kind === "read";
    if (isData) number = dataNumber(request, reading.snapshot.text)?.text ?? null;
    if (reading.kind === "read" && reading.snapshot.text === "") throw wordless(source.text);
    if (reading.kind === "read" && (!isData || number !== null)) continue;
    const { reason, detail } = reading.kind === "failed" ? reading : numberless(reading.snapshot.text);
    const way = WAYS[reason];
    throw new ConclaveError(
      "SOURCE_UNREADABLE",
      `Ask the question: source = ${source.text} cannot be read from here (${reason}): ${printable(detail)}; ${way === undefined ? "" : `${way}, or `}ask all the same with --unread; nothing was paid`,
      { field: "source", value: source.text, reason },
    );
  }
  return number;
}

/** No committee finds a passage there, as on a page that its scripts make. */
function wordless(source: string): ConclaveError {
  return new ConclaveError(
    "SOURCE_UNREADABLE",
    `Ask the question: source = ${source} has no words that an agent can read, since no agent runs a page's scripts; name another page, such as the JSON that this one shows, or ask all the same with --unread; nothing was paid`,
    { field: "source", value: source, reason: "no-words" },
  );
}

/** SG12: what is no number of the terms is no such value to a data question. */
function numberless(text: string): { readonly reason: ReadingFailure; readonly detail: string } {
  const detail = `what stands there is no number that the terms have room for: ${JSON.stringify(text.slice(0, 80))}`;
  return { reason: "no-such-value", detail };
}

function readable(text: string): readonly Source[] {
  const parsed = parseSource(text);
  return "source" in parsed && (parsed.source.kind === "page" || parsed.source.kind === "call") ? [parsed.source] : [];
}

async function configOf(
  { chainId, rpcUrl }: Pick<ReaderOptions, "chainId" | "rpcUrl">,
  dir: string | undefined,
  host: CliHost,
): Promise<SourcesConfig> {
  // Nothing is searched, so the keys of a search tool may be missing here.
  if (dir !== undefined)
    return { ...withOwnRpc(await loadAgentConfig(resolve(host.cwd, dir, CONFIG_FILE))), search: undefined };
  return sourcesConfigSchema.parse({ rpcUrls: { [String(chainId)]: rpcUrl } });
}
