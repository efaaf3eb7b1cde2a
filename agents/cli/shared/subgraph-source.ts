import { readBlockHash } from "../../adapters/chain/recent.ts";
import type { ReaderOptions } from "../../adapters/chain/reader.ts";
import { readChainTerms } from "../../adapters/chain/terms.ts";
import { subgraphError } from "../../adapters/subgraph/endpoint.ts";
import type { Endpoint } from "../../adapters/subgraph/graph-node.ts";
import type { Indexed, IndexedUpTo } from "../../adapters/subgraph/subgraph.ts";
import { ConclaveError } from "../../core/errors.ts";
import { parseInteger, type Unit } from "./arguments.ts";
import { chainFlags, findChain, findPlace, type ChainFlags } from "./chain-source.ts";
import type { CliHost, OptionSpec } from "./command.ts";
import { CONFIG_FILE, loadAgentConfig, readDeployment } from "./config.ts";
import { printable, utc } from "./output.ts";
import { join } from "node:path";

export interface SubgraphFlags extends ChainFlags {
  readonly subgraph?: string;
  readonly maxBehind: string;
}

/** Flags that name the subgraph, and the chain that it is compared with. */
export const subgraphFlags: readonly OptionSpec[] = [
  {
    flags: "--subgraph <url>",
    description: "GraphQL endpoint of the subgraph; also the variable CONCLAVE_SUBGRAPH, or subgraphUrl in a config",
  },
  { flags: "--max-behind <blocks>", description: "how far behind the chain it may be", default: "100" },
  ...chainFlags,
];

/** How to get an endpoint. */
export const HOW_TO_GET =
  "give --subgraph URL (or the variable CONCLAVE_SUBGRAPH, or subgraphUrl in the deployment file or the agent's config); for a local chain `npm run subgraph:dev -- --deployment FILE` starts one and prints its URL, for others see docs/subgraph.md";

const MAX_BEHIND = 1_000_000_000;

/** Where a subgraph's answer comes from. */
export interface SubgraphSource {
  readonly kind: "subgraph";
  readonly origin: string;
  readonly block: number;
  readonly time: number | null;
  /** Blocks that the subgraph is behind the chain; null if no chain was asked. */
  readonly behind: number | null;
}

/** Finds the endpoint; null if none is named. Throws CONFIG_INVALID. */
export async function findEndpoint(
  flags: ChainFlags & Pick<SubgraphFlags, "subgraph">,
  host: CliHost,
): Promise<Endpoint | null> {
  const url = flags.subgraph ?? host.environment["CONCLAVE_SUBGRAPH"] ?? (await configuredUrl(flags, host));
  if (url === undefined || url === "") return null;
  if (URL.canParse(url) && /^https?:/.test(url)) return { url };
  throw new ConclaveError(
    "CONFIG_INVALID",
    "Read the URL of the subgraph: it is no http or https URL; correct --subgraph, CONCLAVE_SUBGRAPH or subgraphUrl",
    { field: "subgraph" },
  );
}

/** Finds the endpoint. Throws CONFIG_MISSING, which says how to get one. */
export async function requireEndpoint(flags: SubgraphFlags, host: CliHost): Promise<Endpoint> {
  const endpoint = await findEndpoint(flags, host);
  if (endpoint !== null) return endpoint;
  throw new ConclaveError("CONFIG_MISSING", `Find a subgraph: none is named; ${HOW_TO_GET}`, { field: "subgraph" });
}

async function configuredUrl(flags: ChainFlags, host: CliHost): Promise<string | undefined> {
  const place = isChainNamed(flags) ? findPlace(flags, host) : placeIfClear(flags, host);
  if (place === null) return undefined;
  if (place.folder !== null) return (await loadAgentConfig(join(place.folder, CONFIG_FILE))).subgraphUrl;
  return place.deployment === null ? undefined : (await readDeployment(place.deployment)).subgraphUrl;
}

/**
 * Finds the chain to compare with; null if neither flags nor files name one. Throws what `findChain` throws if flags
 * name one.
 */
export async function findChainIfAny(flags: SubgraphFlags, host: CliHost): Promise<ReaderOptions | null> {
  if (isChainNamed(flags)) return findChain(flags, host);
  const place = placeIfClear(flags, host);
  return place === null || (place.folder === null && place.deployment === null) ? null : findChain(flags, host);
}

function isChainNamed({ dir, deployment, rpc, chainId, oracle, registry }: ChainFlags): boolean {
  return [dir, deployment, rpc, chainId, oracle, registry].some((flag) => flag !== undefined);
}

/** Finds the files that name the chain; null if there are several deployments. */
function placeIfClear(flags: ChainFlags, host: CliHost): ReturnType<typeof findPlace> | null {
  try {
    return findPlace(flags, host);
  } catch {
    return null;
  }
}

export interface Units {
  readonly feeToken: Unit;
  readonly stakeToken: Unit;
}

/** A subgraph's answer after its comparison with the chain. */
export interface Compared<Answer> {
  readonly answer: Answer;
  readonly source: SubgraphSource;
  /** Units of amounts; the smallest ones if no chain was asked. */
  readonly units: Units;
}

/**
 * Compares an answer with the chain, if one is named, and reports on stderr. A chain that does not answer is only
 * reported. Throws SUBGRAPH_BEHIND or SUBGRAPH_WRONG_CHAIN.
 */
export async function compareWithChain<Answer>(
  endpoint: Endpoint,
  { answer, upTo }: Indexed<Answer>,
  flags: SubgraphFlags,
  host: CliHost,
): Promise<Compared<Answer>> {
  const maxBehind = parseInteger(flags.maxBehind, "--max-behind", 0, MAX_BEHIND);
  const { origin } = new URL(endpoint.url);
  const { block, time } = upTo;
  const compared = (behind: number | null, units: Units): Compared<Answer> => ({
    answer,
    source: { kind: "subgraph", origin, block, time, behind },
    units,
  });
  const chain = await findChainIfAny(flags, host);
  const unknown = (why: string): Compared<Answer> => {
    host.stderr(`the subgraph was not compared with the chain: ${printable(why)}\n`);
    return compared(null, smallest);
  };
  if (chain === null) return unknown("name its contracts with --deployment FILE");
  requireSameContracts(endpoint, upTo, chain);
  try {
    const behind = await blocksBehind(endpoint, upTo, chain, maxBehind, host.signal);
    const units = await readChainTerms(chain, host.signal);
    if (behind > 0) host.stderr(`the subgraph is ${behind} blocks behind the chain, at block ${block}\n`);
    return compared(behind, units);
  } catch (error) {
    if (!(error instanceof ConclaveError) || error.code !== "CHAIN_UNREACHABLE") throw error;
    return unknown(error.message);
  }
}

const smallest: Units = {
  feeToken: { symbol: "units of the token", decimals: 0 },
  stakeToken: { symbol: "units of the token", decimals: 0 },
};

/** Returns a line that says for which block an answer holds. */
export function sourceText({ origin, block, time, behind }: SubgraphSource): string {
  const when = time === null ? "" : ` of ${utc(time)}`;
  const distance = behind === null ? "not compared with a chain" : `${behind} behind the chain`;
  return `as of block ${block}${when}, ${distance}, by ${origin}`;
}

function requireSameContracts(endpoint: Endpoint, { oracle, registry }: IndexedUpTo, chain: ReaderOptions): void {
  for (const [name, said, configured] of [
    ["oracle", oracle, chain.oracle],
    ["registry", registry, chain.registry],
  ] as const) {
    if (said === null || said === configured) continue;
    const reason = `it is about the ${name} ${said}, not ${configured}; name the subgraph of this deployment, or the deployment of this subgraph`;
    throw subgraphError("SUBGRAPH_WRONG_CHAIN", endpoint, reason, { field: name, said, configured });
  }
}

async function blocksBehind(
  endpoint: Endpoint,
  { block, blockHash }: IndexedUpTo,
  chain: ReaderOptions,
  maxBehind: number,
  signal: AbortSignal,
): Promise<number> {
  const { head, hash } = await readBlockHash(chain, block, signal);
  const data = { block, head, behind: head - block };
  if (hash !== null && blockHash !== null && hash !== blockHash) {
    const reason = `its block ${block} is ${blockHash}, the chain's is ${hash}: it follows another chain, or blocks that were just dropped; ask again, or name the right one`;
    throw subgraphError("SUBGRAPH_WRONG_CHAIN", endpoint, reason, data);
  }
  if (block - head > maxBehind) {
    const reason = `it is at block ${block}, but the chain's node only at ${head}: it follows another chain, or the node has to catch up`;
    throw subgraphError("SUBGRAPH_WRONG_CHAIN", endpoint, reason, data);
  }
  if (head - block <= maxBehind) return Math.max(0, head - block);
  const reason = `it is ${head - block} blocks behind the chain (at ${block} of ${head}), at most ${maxBehind} are taken; wait, or give --max-behind ${head - block}`;
  throw subgraphError("SUBGRAPH_BEHIND", endpoint, reason, data);
}
