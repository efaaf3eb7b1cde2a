import {
  BaseError,
  BlockNotFoundError,
  createPublicClient,
  decodeAbiParameters,
  encodeFunctionData,
  ExecutionRevertedError,
  hexToBigInt,
  http,
  type PublicClient,
} from "viem";
import { hexToBytes, sha256 } from "../../core/encoding/bytes.ts";
import { readingOf, type Reading } from "../../core/sources/snapshot.ts";
import { readLiteral, type CallSource } from "../../core/sources/source.ts";
import type { Hex } from "../../core/types.ts";
import { boundedBody } from "../http.ts";
import type { SourcesConfig } from "./config.ts";
import { ReadingError } from "./failure.ts";

/** EV13: how the text of what a call returns is made. */
const ABI_EXTRACTOR = { name: "abi", version: "2" };

/** EV13: below what RPCs allow a call by themselves, which differs. So a call ends alike on all of them. */
const MOST_GAS = 25_000_000n;

type RpcConfig = Pick<SourcesConfig, "rpcUrls" | "maxBytes" | "timeoutMs">;

/** EV13: makes a view call on the operator's own RPC, if the block is final there. Throws a ReadingError, or the signal's reason. */
export function readCall(source: CallSource, config: RpcConfig, signal: AbortSignal): Promise<Reading> {
  return onChain(source.chainId, config, signal, async (client) => {
    await requireFinal(client, source);
    return readingOfCall(source, await returned(client, source));
  });
}

/** The number of the final block, as the operator's RPC tells it. Throws as `readCall` does. */
export function readFinalBlock(chainId: number, config: RpcConfig, signal: AbortSignal): Promise<bigint> {
  return onChain(chainId, config, signal, finalBlock);
}

async function onChain<T>(
  chainId: number,
  { rpcUrls, maxBytes, timeoutMs }: RpcConfig,
  signal: AbortSignal,
  action: (client: PublicClient) => Promise<T>,
): Promise<T> {
  const rpcUrl = rpcUrls[String(chainId)];
  if (rpcUrl === undefined)
    throw new ReadingError("no-rpc", `no RPC is configured for chain ${chainId}; name one in sources.rpcUrls`);
  const inTime = AbortSignal.timeout(timeoutMs);
  const ended = AbortSignal.any([signal, inTime]);
  try {
    const transport = boundedTransport(rpcUrl, maxBytes, ended);
    // A contract that an asker names must not choose URLs that the agent fetches (EIP-3668).
    const client = createPublicClient({ transport, cacheTime: 0, ccipRead: false });
    const served = await client.getChainId();
    if (served !== chainId) throw new ReadingError("rpc-error", `the RPC of chain ${chainId} serves chain ${served}`);
    return await action(client);
  } catch (error) {
    signal.throwIfAborted();
    if (inTime.aborted) throw new ReadingError("timeout", `the RPC does not answer within ${timeoutMs} ms`);
    // Its message could hold the URL of the RPC, which often holds a key.
    throw error instanceof ReadingError ? error : new ReadingError("rpc-error", `the RPC fails (${shortName(error)})`);
  }
}

function boundedTransport(rpcUrl: string, maxBytes: number, signal: AbortSignal) {
  const refuse = (): Error => new ReadingError("rpc-error", `the RPC answers with more than ${maxBytes} bytes`);
  const fetchFn: typeof fetch = async (input, init) => {
    const response = await fetch(input, { ...init, signal });
    return new Response(await boundedBody(response, maxBytes, refuse), response);
  };
  return http(rpcUrl, { fetchFn, retryCount: 0 });
}

async function finalBlock(client: PublicClient): Promise<bigint> {
  return (await client.getBlock({ blockTag: "finalized" })).number;
}

async function requireFinal(client: PublicClient, { block, chainId }: CallSource): Promise<void> {
  const final = await finalBlock(client);
  if (final >= BigInt(block)) return;
  // viem's own action remembers the number of every client for ever.
  const latest = hexToBigInt(await client.request({ method: "eth_blockNumber" }));
  if (latest < BigInt(block))
    throw new ReadingError("not-there", `chain ${chainId} has no block ${block} yet; its latest is ${latest}`);
  throw new ReadingError("not-final", `block ${block} of chain ${chainId} is not final; ${final} is`);
}

async function returned(client: PublicClient, { contract, name, args, returns, block }: CallSource): Promise<Hex> {
  const parameters = (types: readonly string[]) => types.map((type) => ({ name: "", type }));
  const data = encodeFunctionData({
    abi: [
      {
        type: "function",
        stateMutability: "view",
        name,
        inputs: parameters(args.map(({ type }) => type)),
        outputs: parameters(returns),
      },
    ],
    functionName: name,
    args: args.map(({ value }) => value),
  });
  try {
    return (await client.call({ to: contract, data, gas: MOST_GAS, blockNumber: BigInt(block) })).data ?? "0x";
  } catch (error) {
    if (isOutOfGas(error)) throw new ReadingError("no-such-value", `the call takes more than ${MOST_GAS} gas`);
    if (hasCause(error, ExecutionRevertedError)) throw new ReadingError("no-such-value", "the call reverts");
    if (hasCause(error, BlockNotFoundError)) throw new ReadingError("not-there", `the RPC has no block ${block}`);
    throw error;
  }
}

/** Geth and Anvil say it in these words; no code of an error means it alone. In other words it ends as `rpc-error`. */
function isOutOfGas(error: unknown): boolean {
  return error instanceof BaseError && /out ?of ?gas/i.test(error.details);
}

/** EV13: one value is its own text; several are a JSON array of their texts. */
function readingOfCall(source: CallSource, data: Hex): Reading {
  const texts = decoded(source.returns, data).map((value, at) => literal(value, source.returns[at] as string));
  return readingOf({
    source: source.text,
    finalUrl: source.text,
    status: null,
    mediaType: "application/octet-stream",
    raw: sha256(hexToBytes(data)),
    title: "",
    text: texts.length === 1 ? (texts[0] as string) : JSON.stringify(texts),
    extractor: ABI_EXTRACTOR,
  });
}

function decoded(returns: readonly string[], data: Hex): readonly unknown[] {
  try {
    return decodeAbiParameters(
      returns.map((type) => ({ type })),
      data,
    );
  } catch {
    const what = data === "0x" ? "nothing, as an address without code does" : `${data.length / 2 - 1} bytes`;
    throw new ReadingError("no-such-value", `the call returns ${what}, and not (${returns.join(",")})`);
  }
}

/** As a source writes arguments; a string as it is, also one that looks like an address. */
function literal(value: unknown, type: string): string {
  const text = type === "address" ? String(value).toLowerCase() : String(value);
  // viem reads an integer of any type from all 32 bytes.
  if (type === "string" || readLiteral(type, text) !== null) return text;
  throw new ReadingError("no-such-value", `the call returns ${text}, which is no ${type}`);
}

function hasCause(error: unknown, kind: abstract new (...args: never[]) => Error): boolean {
  return error instanceof BaseError && error.walk((cause) => cause instanceof kind) !== null;
}

function shortName(error: unknown): string {
  return error instanceof Error ? error.name : "an error";
}
