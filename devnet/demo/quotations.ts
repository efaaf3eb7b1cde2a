// What answers quote, and how many seats read it, from the transcript alone.
import { join } from "node:path";
import { LocalBlocks } from "../../agents/adapters/ipfs/local-blocks.ts";
import { CONFIG_FILE, loadAgentConfig, storeFolder } from "../../agents/cli/shared/config.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { bytesToHex } from "../../agents/core/encoding/bytes.ts";
import { isSameAnswer } from "../../agents/core/request/answer.ts";
import { decodeCitation } from "../../agents/core/sources/citations.ts";
import { dataNumber } from "../../agents/core/sources/data.ts";
import { grounded, sourcesOf } from "../../agents/core/sources/named.ts";
import type { Digest, RequestId, SeatIndex, Value } from "../../agents/core/types.ts";
import { readDeliberation, type Deliberation } from "../../agents/node/audit/deliberation.ts";
import type { WorldAgent } from "../world/agents.ts";
import type { ChainReader, TransactionReader } from "../../agents/ports/chain.ts";

export interface Quotation {
  readonly source: string;
  readonly words: string;
  /** The answers that rest on it. */
  readonly answers: readonly string[];
  /** Seats that quote it, and seats that say that they read its passage, or a number within the tolerance of it. */
  readonly quotedBy: number;
  readonly witnessedBy: number;
}

interface AuditedChain {
  readonly reader: ChainReader;
  readonly transactions: TransactionReader;
}

/** Reads the quotations of a decision as an auditor would: from the chain, and the blocks in an agent's folder. */
export async function readQuotations(
  { reader, transactions }: AuditedChain,
  { directory }: Pick<WorldAgent, "directory">,
  requestId: RequestId,
  signal: AbortSignal,
): Promise<readonly Quotation[]> {
  const { dataDir } = await loadAgentConfig(join(directory, CONFIG_FILE));
  const blocks = new LocalBlocks(join(storeFolder({ dataDir }), "blocks"));
  await blocks.open();
  const get = async (digest: Digest): Promise<Uint8Array> => {
    const bytes = await blocks.read(digest);
    if (bytes === null)
      throw new Error(`Read the quotations of request ${requestId}: a block of its transcript is missing`);
    return bytes;
  };
  const chain = { ...reader, ...transactions };
  const { deliberation } = await readDeliberation({ chain, store: { get }, requestId, signal });
  return deliberation === null ? [] : quotationsIn(deliberation);
}

type Fields = { readonly [key: string]: Value };

export function quotationsIn({ attempt, messages }: Deliberation): readonly Quotation[] {
  // Under a hashgraph an event carries it as a record.
  const bodyOf = (body: Fields): Fields => ("record" in body ? fieldsOf(fieldsOf(body["record"])["body"]) : body);
  const said = (...names: readonly string[]): readonly { readonly seat: SeatIndex; readonly body: Fields }[] =>
    messages.flatMap(({ header, rendering }) =>
      rendering !== null && names.includes(rendering.name) ? [{ seat: header.seat, body: bodyOf(rendering.body) }] : [],
    );
  const read = said("gather").map(({ body }) => listIn(body["sources"]).map((one) => fieldsOf(one)));
  const { request } = grounded(attempt);
  const names = sourcesOf(attempt.request.question);
  const isRead = (heard: Fields | undefined, passage: string): boolean => {
    const value = heard?.["value"];
    const [own, other] = [dataNumber(request, passage), typeof value === "string" ? dataNumber(request, value) : null];
    if (own !== null && other !== null) return isSameAnswer(request.terms, own, other);
    const digest = digestOf(passage);
    return listIn(heard?.["passages"]).some((one) => one instanceof Uint8Array && bytesToHex(one) === digest);
  };
  const found = new Map<string, Omit<Quotation, "quotedBy"> & { readonly seats: Set<SeatIndex> }>();
  for (const { seat, body } of said("reveal", "output")) {
    const proposal = fieldsOf(body["proposal"]);
    for (const one of listIn(proposal["citations"])) {
      const citation = decodeCitation(one);
      if (citation === null) continue;
      const { source, passage, quotation } = citation;
      const key = `${source} ${quotation}`;
      const known = found.get(key);
      found.set(key, {
        source: names[source] ?? "",
        words: quotation,
        answers: [...new Set([...(known?.answers ?? []), ...textIn(proposal["answer"])])],
        seats: new Set([...(known?.seats ?? []), seat]),
        witnessedBy: read.filter((sources) => isRead(sources[source], passage)).length,
      });
    }
  }
  return [...found.values()]
    .map(({ seats, ...quotation }) => ({ ...quotation, quotedBy: seats.size }))
    .toSorted((a, b) => b.witnessedBy - a.witnessedBy || b.quotedBy - a.quotedBy);
}

function textIn(value: Value | undefined): readonly string[] {
  return typeof value === "string" ? [value] : [];
}

function listIn(value: Value | undefined): readonly Value[] {
  return Array.isArray(value) ? (value as readonly Value[]) : [];
}

function fieldsOf(value: Value | undefined): Fields {
  const isMap = value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Uint8Array);
  return isMap ? (value as Fields) : {};
}
