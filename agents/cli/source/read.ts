import { resolve } from "node:path";
import { createChainReader } from "../../adapters/chain/reader.ts";
import { sourcesConfigSchema } from "../../adapters/source-reader/config.ts";
import { openSourceReader } from "../../adapters/source-reader/reader.ts";
import { utf8 } from "../../core/encoding/bytes.ts";
import { cidString } from "../../core/encoding/cid.ts";
import { parseSource, type Source } from "../../core/sources/source.ts";
import type { Reading } from "../../core/sources/snapshot.ts";
import { usage } from "../shared/arguments.ts";
import { chainSource } from "../shared/chain-source.ts";
import type { CliHost, CommandSpec, Result } from "../shared/command.ts";
import { CONFIG_FILE, loadAgentConfig, withOwnRpc, type AgentConfig } from "../shared/config.ts";
import {
  contentFlags,
  isSourceNamed,
  NO_STORE,
  openContentSource,
  type ContentFlags,
} from "../shared/content-source.ts";
import { printable, rows } from "../shared/output.ts";

interface Options extends ContentFlags {
  readonly dir?: string;
}

type Store = Parameters<typeof openSourceReader>[0]["store"];

export const sourceRead: CommandSpec<Options> = {
  example: [
    "conclave source read https://example.com/",
    "conclave source read 'https://api.example.com/v1/rates#/data/0/price' --json",
    "conclave source read 'eip155:1:0x6b17...1d0f:decimals()(uint8)@23000000' --dir ./my-agent",
    "conclave source read 'search: winner of the 2026 cup' --dir ./my-agent",
  ].join("\n"),
  options: [
    {
      flags: "--dir <dir>",
      description:
        "read as the agent of this folder does (default: without a config, which has no RPC and no search tool)",
    },
    ...contentFlags,
  ],
  run: async ({ args: [text = ""], options, host }) => {
    const parsed = parseSource(text);
    if ("refused" in parsed) throw usage("<source>", text, parsed.refused);
    const { source } = parsed;
    const config =
      options.dir === undefined ? null : await loadAgentConfig(resolve(host.cwd, options.dir, CONFIG_FILE));
    const { store, close } = await openStore(source, config, options, host);
    try {
      const sources = config === null ? sourcesConfigSchema.parse({}) : withOwnRpc(config);
      const reader = await openSourceReader({ config: sources, store, environment: host.environment });
      return shown(source, await reader.read(source, host.signal));
    } finally {
      await close();
    }
  },
};

/** Only a document needs a store. */
async function openStore(
  source: Source,
  config: AgentConfig | null,
  options: Options,
  host: CliHost,
): Promise<{ readonly store: Store; readonly close: () => Promise<void> }> {
  if (source.kind !== "document") return { store: NO_STORE, close: async () => undefined };
  const agents = async () => {
    if (config === null)
      throw usage("<source>", source.text, "name who has the document: --peer, --kubo, --store, --gateway or --dir");
    return (await createChainReader(chainSource(config.chain), host.signal)).agents(host.signal);
  };
  const { content } = config ?? {};
  const flags = content?.kind === "kubo" && !isSourceNamed(options) ? { kubo: content.url } : options;
  const store = await openContentSource(flags, agents, host);
  return { store, close: () => store.close() };
}

function shown(source: Source, reading: Reading): Result {
  if (reading.kind === "failed") {
    const { reason, detail } = reading;
    return {
      json: { source: source.text, failed: reason, detail },
      text: rows([
        ["source", source.text],
        ["failed", reason],
        ["detail", printable(detail)],
      ]),
      ok: false,
    };
  }
  const { snapshot, digest, block } = reading;
  const { finalUrl, status, mediaType, raw, title, text, isCut, extractor } = snapshot;
  const about = rows([
    ["source", source.text],
    ...(finalUrl === source.text ? [] : [["read at", finalUrl] as const]),
    ...(status === null ? [] : [["status", String(status)] as const]),
    ["media type", mediaType],
    ["body", raw],
    ["extractor", `${extractor.name} ${extractor.version}`],
    ["snapshot", `${cidString(digest)}, ${block.length} bytes`],
    ...(title === "" ? [] : [["title", printable(title)] as const]),
    ["text", `${utf8(text).length} bytes${isCut ? ", the beginning of a longer text" : ""}`],
  ]);
  // Normalised text has no character that steers a terminal (EV9).
  return { json: { ...snapshot, snapshot: cidString(digest) }, text: `${about}\n\n${text}` };
}
