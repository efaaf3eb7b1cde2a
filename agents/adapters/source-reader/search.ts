import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { sha256, utf8 } from "../../core/encoding/bytes.ts";
import { messageOf } from "../../core/errors.ts";
import { readingOf, type Reading } from "../../core/sources/snapshot.ts";
import type { SearchSource } from "../../core/sources/source.ts";
import { quoted } from "../http.ts";
import { WORDS_PLACE, type SearchConfig } from "./config.ts";
import { ReadingError } from "./failure.ts";
import { openServer, type SearchServer } from "./search-server.ts";
import { textOfResult } from "./search-text.ts";
import type { SearchTool } from "./search-tool.ts";

/** EV16: how the text of what a tool found is made. */
const EXTRACTOR = { name: "mcp", version: "1" };
const CLIENT = { name: "conclave", version: "1" };

/** EV16: asks the operator's tool what a search asks for. Throws a ReadingError, or the signal's reason. */
export async function readSearch(source: SearchSource, tool: SearchTool, signal: AbortSignal): Promise<Reading> {
  const { config, timeoutMs } = tool;
  const params = { name: config.tool, arguments: filledIn(config.arguments, source.words) };
  const result = await withServer(tool, signal, async (client, inTime) => {
    return (await client.callTool(params, undefined, { signal: inTime, timeout: timeoutMs })) as CallToolResult;
  });
  const text = textOfResult(result);
  if (result.isError === true) throw new ReadingError("tool-error", `the tool ${config.tool} says ${quoted(text)}`);
  return readingOf({
    source: source.text,
    finalUrl: source.text,
    status: null,
    mediaType: "text/plain",
    raw: sha256(utf8(JSON.stringify(result))),
    title: "",
    text,
    extractor: EXTRACTOR,
  });
}

/** Characters of a server's name and version that are shown. */
const MAX_SERVER_NAME = 80;

/** What an operator has to know of the server, without a search. */
export interface FoundTool {
  /** Name and version as the server gives them. */
  readonly server: string;
  readonly isThere: boolean;
  /** Arguments that the tool requires and the config does not give. */
  readonly missing: readonly string[];
}

/** EV16: whether the server answers and has the tool. Throws as `readSearch` does. */
export async function findTool(tool: SearchTool, signal: AbortSignal): Promise<FoundTool> {
  const { config, timeoutMs } = tool;
  return withServer(tool, signal, async (client, inTime) => {
    const { name = "", version = "" } = client.getServerVersion() ?? {};
    const server = `${name} ${version}`.slice(0, MAX_SERVER_NAME);
    for (let cursor: string | undefined; ;) {
      const page = await client.listTools(cursor === undefined ? {} : { cursor }, {
        signal: inTime,
        timeout: timeoutMs,
      });
      const found = page.tools.find((one) => one.name === config.tool);
      const missing = (found?.inputSchema.required ?? []).filter((one) => !Object.hasOwn(config.arguments, one));
      cursor = page.nextCursor;
      if (found !== undefined || cursor === undefined) return { server, isThere: found !== undefined, missing };
    }
  });
}

async function withServer<T>(
  { config, secrets, timeoutMs }: SearchTool,
  signal: AbortSignal,
  action: (client: Client, inTime: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = AbortSignal.timeout(timeoutMs);
  const inTime = AbortSignal.any([signal, late]);
  const server = openServer(config, secrets);
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(inTime.reason as Error);
  inTime.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([acted(server, inTime, timeoutMs, action), server.broken, ended]);
  } catch (error) {
    signal.throwIfAborted();
    if (late.aborted) throw new ReadingError("timeout", `the search tool does not answer within ${timeoutMs} ms`);
    if (error instanceof ReadingError) throw error;
    const said = quoted(messageOf(error), secrets["apiKey"]);
    throw new ReadingError("tool-error", `the server breaks the protocol or refuses: ${said}`);
  } finally {
    inTime.removeEventListener("abort", stop);
    await server.close();
  }
}

async function acted<T>(
  { transport }: SearchServer,
  inTime: AbortSignal,
  timeoutMs: number,
  action: (client: Client, inTime: AbortSignal) => Promise<T>,
): Promise<T> {
  const client = new Client(CLIENT, { capabilities: {} });
  await client.connect(transport, { signal: inTime, timeout: timeoutMs });
  return action(client, inTime);
}

type Json = SearchConfig["arguments"][string];

/** The words stand in strings alone, so that no word becomes another argument. */
function filledIn(template: SearchConfig["arguments"], words: string): Record<string, unknown> {
  const filled = (value: Json): Json => {
    if (typeof value === "string") return value.replaceAll(WORDS_PLACE, () => words);
    if (Array.isArray(value)) return value.map(filled);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item)]));
  };
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, filled(value)]));
}
