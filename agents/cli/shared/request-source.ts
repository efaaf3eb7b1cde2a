import type { ReaderOptions } from "../../adapters/chain/reader.ts";
import { readChainTerms, type ChainTerms } from "../../adapters/chain/terms.ts";
import type { RequestId } from "../../core/types.ts";
import type { ChainReader, TransactionReader } from "../../ports/chain.ts";
import { parseRequestId } from "./arguments.ts";
import { createAuditReader } from "./audit-reader.ts";
import { findChain, type ChainFlags } from "./chain-source.ts";
import type { CliHost } from "./command.ts";

/** What a command about one request begins with. */
export interface RequestSource {
  readonly requestId: RequestId;
  readonly source: ReaderOptions;
  readonly chain: ChainReader & TransactionReader;
  readonly terms: ChainTerms;
}

/** Reads the request's id, the first argument, and opens its chain. Throws USAGE, or what `findChain` and `createAuditReader` throw. */
export async function openRequest(args: readonly string[], flags: ChainFlags, host: CliHost): Promise<RequestSource> {
  const requestId = parseRequestId(args[0]);
  const source = await findChain(flags, host);
  const [chain, terms] = await Promise.all([
    createAuditReader(source, host.signal),
    readChainTerms(source, host.signal),
  ]);
  return { requestId, source, chain, terms };
}
