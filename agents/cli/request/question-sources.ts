import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { cidString } from "../../core/encoding/codec.ts";
import { sha256 } from "../../core/encoding/bytes.ts";
import { limits } from "../../core/limits.ts";
import { documentBlock } from "../../core/sources/named.ts";
import type { AgentRecord } from "../../ports/chain.ts";
import { usage } from "../shared/arguments.ts";
import type { CliHost } from "../shared/command.ts";
import { openServingStore } from "../shared/content-source.ts";

export interface QuestionSources {
  /** The question with a line for each document. */
  readonly question: string;
  /** Serves the documents to agents until it is closed. Throws NETWORK_FAILED. */
  handOut(
    agents: () => Promise<readonly AgentRecord[]>,
    signal: AbortSignal,
  ): Promise<{ readonly close: () => Promise<void> }>;
}

/** SG1: reads the documents and names them in the question by their content. Throws USAGE. */
export async function readSources(text: string, files: readonly string[], host: CliHost): Promise<QuestionSources> {
  const blocks = await Promise.all(files.map((file) => readBlock(file, host)));
  const lines = blocks.map((block) => `source: ${cidString(sha256(block))}`);
  const question = lines.length === 0 ? text : [text.trimEnd(), ...lines].join("\n");
  return {
    question,
    handOut: async (agents, signal) => {
      if (blocks.length === 0) return { close: async () => {} };
      const store = await openServingStore(await agents(), signal);
      for (const block of blocks) await store.put(block, signal);
      return { close: () => store.close() };
    },
  };
}

/** SG3: reads a document's UTF-8 as it is; models could not quote anything else. */
async function readBlock(file: string, host: CliHost): Promise<Uint8Array> {
  const path = resolve(host.cwd, file);
  const size = await stat(path).then(
    (found) => (found.isFile() ? found.size : null),
    () => null,
  );
  if (size === null) throw usage("--source", file, "give a file that can be read");
  const bytes = size > limits.sourceBytes ? null : await readFile(path);
  const text = bytes?.toString("utf8");
  const block = text === undefined ? null : documentBlock(text);
  if (block !== null && text !== undefined && bytes?.equals(Buffer.from(text, "utf8"))) return block;
  throw usage(
    "--source",
    file,
    `give UTF-8 text of at most ${limits.sourceBytes} bytes, without a byte order mark (U+FEFF) at its start`,
  );
}
