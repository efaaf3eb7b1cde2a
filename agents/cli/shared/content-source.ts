import { existsSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { multiaddr, type Multiaddr } from "@multiformats/multiaddr";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { blockMissing } from "../../adapters/ipfs/block.ts";
import { readCar } from "../../adapters/ipfs/car.ts";
import { createGatewaySource } from "../../adapters/ipfs/gateway-source.ts";
import { createTranscriptSource, type TranscriptSource } from "../../adapters/ipfs/transcript-source.ts";
import { LocalBlocks } from "../../adapters/ipfs/local-blocks.ts";
import { peerIdFromPublicKey } from "../../adapters/libp2p/identity.ts";
import type { Libp2pNetwork } from "../../adapters/libp2p/network.ts";
import { cidString } from "../../core/encoding/cid.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import type { AgentRecord } from "../../ports/chain.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { parseFolder, parseKuboUrl, parseUrl, usage } from "./arguments.ts";
import type { CliHost, OptionSpec } from "./command.ts";
import { readFileOf } from "./read-file.ts";

export interface ContentFlags {
  readonly peer?: readonly string[];
  readonly kubo?: string;
  readonly store?: string;
  readonly gateway?: string;
}

export const contentFlags: readonly OptionSpec[] = [
  {
    flags: "--peer <multiaddr...>",
    description: "fetch blocks from these nodes, /ip4/.../tcp/.../p2p/ID (default: the agents of the registry)",
  },
  { flags: "--kubo <url>", description: "or through the RPC of a Kubo node" },
  {
    flags: "--store <path>",
    description:
      "or from the folder of a blockstore, such as an agent's data/ipfs, or from a CAR file, such as that of `conclave transcript --car`",
  },
  { flags: "--gateway <url>", description: "or from a trustless gateway, e.g. one that `conclave serve` opened" },
];

/** Where an auditor gets blocks. */
export interface ContentSource extends Pick<ContentStore, "get"> {
  /**
   * Opens a source of the blocks of one transcript, which a gateway sends all at once. It may leave out the check of the hash: it is for
   * audits, which check every hash themselves.
   * @param maxBytes how much is held of what comes before it is asked for, unless the default
   */
  readonly openTranscript: (maxBytes?: number) => TranscriptSource;
  close(): Promise<void>;
}

/** The store of whoever reads no documents: it has no block. */
export const NO_STORE: Pick<ContentStore, "get"> = { get: (digest) => Promise.reject(blockMissing(digest, 0)) };

/** Most peers to dial, the most useful ones first. */
const MAX_PEERS = 16;
const DIAL_TIMEOUT_MS = 10_000;

/** True if the flags name a source of blocks. */
export function isSourceNamed(flags: ContentFlags): boolean {
  return sourcesNamed(flags) > 0;
}

function sourcesNamed({ peer, kubo, store, gateway }: ContentFlags): number {
  return [peer, kubo, store, gateway].filter((flag) => flag !== undefined).length;
}

/**
 * Opens the source that the flags name, else the agents that `agents` returns. Throws USAGE, CONFIG_INVALID or
 * NETWORK_FAILED.
 */
export async function openContentSource(
  flags: ContentFlags,
  agents: () => Promise<readonly AgentRecord[]>,
  host: CliHost,
): Promise<ContentSource> {
  const { peer, kubo, store, gateway } = flags;
  if (sourcesNamed(flags) > 1) {
    throw new ConclaveError("USAGE", "Fetch blocks: give one of --peer, --kubo, --store and --gateway, not several", {
      option: "--peer",
    });
  }
  if (kubo !== undefined) {
    const url = parseKuboUrl(kubo, "--kubo");
    const { createKuboContentStore } = await import("../../adapters/ipfs/kubo-content-store.ts");
    return checking(createKuboContentStore({ url }));
  }
  if (gateway !== undefined) {
    const url = parseUrl(gateway, "--gateway", "a gateway", "http://127.0.0.1:8080");
    return {
      ...createGatewaySource(url),
      openTranscript: (maxBytes) => createTranscriptSource(url, maxBytes),
      close: async () => undefined,
    };
  }
  if (store !== undefined) {
    const path = resolve(host.cwd, parseFolder(store, "--store"));
    return isFile(path) ? openCar(path, host.signal) : openFolder(path);
  }
  const addresses = peer === undefined ? addressesOf(await agents()) : peer.map(parsePeer);
  const way = "start one, or name a source with --peer, --kubo, --store or --gateway";
  return checking(await openPeers(addresses, host.signal, "Fetch blocks", way));
}

/** Opens a source of the blocks of one transcript, as `openContentSource` and its `openTranscript` do. */
export async function openTranscriptSource(...named: Parameters<typeof openContentSource>): Promise<TranscriptSource> {
  const source = await openContentSource(...named);
  const { get, close } = source.openTranscript();
  return {
    get,
    async close() {
      await close();
      await source.close();
    },
  };
}

/** A source that checks every hash in any case. */
function checking(store: Pick<ContentStore, "get" | "close">): ContentSource {
  const get: ContentStore["get"] = (digest, signal) => store.get(digest, signal);
  return { get, openTranscript: () => ({ get, close: async () => undefined }), close: () => store.close() };
}

/**
 * Opens a store that serves its blocks to agents until it is closed. Throws NETWORK_FAILED if no agent can be reached.
 */
export async function openServingStore(
  agents: readonly AgentRecord[],
  signal: AbortSignal,
): Promise<Pick<ContentStore, "get" | "put" | "close">> {
  return openPeers(addressesOf(agents), signal, "Hand out documents", "ask when agents of the registry run");
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/**
 * Reads a CAR whole, since its blocks are asked for by their hashes. Throws CAR_INVALID, and CONFIG_INVALID if it cannot be read. What stands
 * before a block with another hash stays usable, so that an audit names that block.
 */
async function openCar(path: string, signal: AbortSignal): Promise<ContentSource> {
  const blocks = new Map<Digest, Uint8Array>();
  let broken: ConclaveError | null = null;
  try {
    for await (const { digest, bytes } of (await readCar(readFileOf(path, "--store", signal))).blocks)
      blocks.set(digest, bytes);
  } catch (error) {
    if (!(error instanceof ConclaveError && error.data["kind"] === "hash")) throw error;
    broken = error;
  }
  const get = async (digest: Digest): Promise<Uint8Array> => {
    const bytes = blocks.get(digest);
    if (bytes !== undefined) return bytes;
    if (broken === null) throw blockMissing(digest, 0);
    throw new ConclaveError("BLOCK_INVALID", broken.message, { cid: cidString(digest) }, broken);
  };
  const close = async (): Promise<void> => undefined;
  return { get, openTranscript: () => ({ get, close }), close };
}

/** Opens a blockstore's folder to read only, so that it may belong to a running agent. */
async function openFolder(folder: string): Promise<ContentSource> {
  const inner = join(folder, "blocks");
  const location = existsSync(inner) ? inner : folder;
  if (!existsSync(location)) {
    throw new ConclaveError(
      "CONFIG_INVALID",
      `Open the blockstore ${folder} failed: there is no such folder; correct --store`,
      { path: folder, option: "--store" },
    );
  }
  const blocks = new LocalBlocks(location);
  await blocks.open();
  const held = (digest: Digest, bytes: Uint8Array | null): Uint8Array => {
    if (bytes !== null) return bytes;
    throw blockMissing(digest, 0);
  };
  const close = async (): Promise<void> => undefined;
  return {
    get: async (digest) => held(digest, await blocks.read(digest)),
    openTranscript: () => ({ get: async (digest) => held(digest, blocks.readUnchecked(digest)), close }),
    close,
  };
}

/** Starts a node for this command alone: a fresh identity, a temporary store, no listening. */
async function openPeers(
  addresses: readonly Multiaddr[],
  signal: AbortSignal,
  purpose: string,
  way: string,
): Promise<Pick<ContentStore, "get" | "put" | "close">> {
  // Loaded only here, because they take half a second and most commands need neither.
  const [{ createHeliaContentStore }, { createLibp2pNetwork }] = await Promise.all([
    import("../../adapters/ipfs/helia-content-store.ts"),
    import("../../adapters/libp2p/network.ts"),
  ]);
  const folder = await mkdtemp(join(tmpdir(), "conclave-blocks-"));
  const network = await createLibp2pNetwork({ privateKey: secp256k1.utils.randomSecretKey(), listen: [] });
  const closeNetwork = async (): Promise<void> => {
    await network.close();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    if (!(await dialAny(network, addresses, signal)))
      throw new ConclaveError("NETWORK_FAILED", `${purpose}: none of ${addresses.length} nodes answered; ${way}`, {
        dialled: addresses.length,
      });
    const store = await createHeliaContentStore({ libp2p: network.libp2p, path: folder });
    const close = async (): Promise<void> => {
      await store.close();
      await closeNetwork();
    };
    return { get: (digest, ended) => store.get(digest, ended), put: (bytes, ended) => store.put(bytes, ended), close };
  } catch (error) {
    await closeNetwork();
    throw error;
  }
}

/** Dials until one peer answers: one is enough, since every agent of the committee should hold the blocks. */
async function dialAny(network: Libp2pNetwork, addresses: readonly Multiaddr[], signal: AbortSignal): Promise<boolean> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(DIAL_TIMEOUT_MS)]);
  const dialled = await Promise.allSettled(
    addresses.slice(0, MAX_PEERS).map((address) => network.libp2p.dial(address, { signal: patience })),
  );
  signal.throwIfAborted();
  return dialled.some(({ status }) => status === "fulfilled");
}

/** Returns the addresses at which agents say that they can be reached, with their peer ids. */
export function addressesOf(agents: readonly AgentRecord[]): readonly Multiaddr[] {
  return agents.flatMap(({ publicKey, endpoint }) => {
    const peerId = peerIdFromPublicKey(publicKey);
    if (peerId === null) return [];
    return endpoint.flatMap((text) => {
      try {
        return [multiaddr(`${text}/p2p/${peerId.toString()}`)];
      } catch {
        // Operators write any text into the registry.
        return [];
      }
    });
  });
}

function parsePeer(text: string): Multiaddr {
  try {
    if (/\/p2p\/[^/]+$/.test(text)) return multiaddr(text);
  } catch {
    // Reported below, as an address without a peer id.
  }
  throw usage("--peer", text, "give a multiaddr with the peer's id, such as /ip4/203.0.113.7/tcp/4401/p2p/16Uiu2...");
}
