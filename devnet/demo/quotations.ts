// What answers quote, and how many seats read it, from the transcript alone.
import { openServingStore } from "../../agents/cli/shared/content-source.ts";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { bytesToHex } from "../../agents/core/encoding/bytes.ts";
import { isSameAnswer } from "../../agents/core/request/answer.ts";
import { decodeCitation } from "../../agents/core/sources/citations.ts";
import { dataNumber } from "../../agents/core/sources/data.ts";
import { grounded, sourcesOf } from "../../agents/core/sources/named.ts";
import type { RequestId, Value } from "../../agents/core/types.ts";
import { readDeliberation, type Deliberation } from "../../agents/node/audit/deliberation.ts";
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

interface AuditedWorld {
  readonly reader: ChainReader;
  readonly transactions: TransactionReader;
}

/** Reads the quotations of a decision, as an auditor would: from the chain and the agents' blocks. */
export async function readQuotations(
  { reader, transactions }: AuditedWorld,
  requestId: RequestId,
  signal: AbortSignal,
): Promise<readonly Quotation[]> {
  const store = await openServingStore(await reader.agents(signal), signal);
  try {
    const { deliberation } = await readDeliberation({
      chain: { ...reader, ...transactions },
      store,
      requestId,
      signal,
    });
    return deliberation === null ? [] : quotationsIn(deliberation);
  } finally {
    await store.close();
  }
}

type Fields = { readonly [key: string]: Value };

export function quotationsIn({ attempt, messages }: Deliberation): readonly Quotation[] {
  const bodies = (name: string): readonly Fields[] =>
    messages.flatMap(({ reading }) => (reading?.name === name ? [reading.body] : []));
  const read = bodies("gather").map((body) => listIn(body["sources"]).map(fieldsOf));
  const { request } = grounded(attempt);
  const names = sourcesOf(attempt.request.question);
  const isRead = (heard: Fields | undefined, passage: string): boolean => {
    const value = heard?.["value"];
    const [own, other] = [dataNumber(request, passage), typeof value === "string" ? dataNumber(request, value) : null];
    if (own !== null && other !== null) return isSameAnswer(request.terms, own, other);
    const digest = digestOf(passage);
    return listIn(heard?.["passages"]).some((one) => one instanceof Uint8Array && bytesToHex(one) === digest);
  };
  const found = new Map<string, Quotation>();
  for (const body of bodies("reveal")) {
    const proposal = fieldsOf(body["proposal"]);
    for (const one of listIn(proposal["citations"])) {
      const citation = decodeCitation(one);
      if (citation === null) continue;
      const { source, passage, quotation } = citation;
      const known = found.get(`${source} ${quotation}`);
      found.set(`${source} ${quotation}`, {
        source: names[source] ?? "",
        words: quotation,
        answers: [...new Set([...(known?.answers ?? []), String(proposal["answer"] as string)])],
        quotedBy: (known?.quotedBy ?? 0) + 1,
        witnessedBy: read.filter((sources) => isRead(sources[source], passage)).length,
      });
    }
  }
  return [...found.values()].toSorted((a, b) => b.witnessedBy - a.witnessedBy || b.quotedBy - a.quotedBy);
}

function listIn(value: Value | undefined): readonly Value[] {
  return Array.isArray(value) ? (value as readonly Value[]) : [];
}

function fieldsOf(value: Value | undefined): Fields {
  const isMap = value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Uint8Array);
  return isMap ? (value as Fields) : {};
}
