import type { PeerId, PrivateKey } from "@libp2p/interface";
import { type Multiaddr, multiaddr } from "@multiformats/multiaddr";
import type { Datastore } from "interface-datastore";
import { publicKeyToAddress } from "../../core/digest.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Address } from "../../core/types.ts";
import type { Network, Peer } from "../../ports/network.ts";
import { createAnnouncements } from "./announcements.ts";
import { type NetworkBounds, networkBounds } from "./bounds.ts";
import { describe, notify, type Report } from "./events.ts";
import { addressOfIdentity, identityFromSignerKey, peerIdFromPublicKey } from "./identity.ts";
import { acceptFrames } from "./inbound.ts";
import { type Link, openLink } from "./link.ts";
import { type AgentLibp2p, startNode } from "./node.ts";

/** Agents outlive strangers when connections must be pruned. */
const AGENT_TAG = "conclave-agent";
const AGENT_TAG_VALUE = 100;

export interface Libp2pNetworkOptions {
  /** The agent's signer key (32 bytes or a libp2p secp256k1 key): it is the node's identity. */
  readonly privateKey: Uint8Array | PrivateKey;
  /** Multiaddrs; a free port of 127.0.0.1 when missing. */
  readonly listen?: readonly string[];
  /** For libp2p's peer store; memory when missing. */
  readonly datastore?: Datastore;
  readonly bounds?: Partial<NetworkBounds>;
  readonly report?: Report;
}

export interface Libp2pNetwork extends Network {
  readonly address: Address;
  /** The node itself, for the content store that shares it. */
  readonly libp2p: AgentLibp2p;
}

/** Throws CONFIG_INVALID for a key of another kind, NETWORK_FAILED when it cannot listen. */
export async function createLibp2pNetwork(options: Libp2pNetworkOptions): Promise<Libp2pNetwork> {
  const bounds = { ...networkBounds, ...options.bounds };
  const report = options.report ?? (() => undefined);
  const identity = identityFromSignerKey(options.privateKey);
  const libp2p = await startNode({
    identity,
    listen: options.listen ?? ["/ip4/127.0.0.1/tcp/0"],
    ...(options.datastore === undefined ? {} : { datastore: options.datastore }),
    bounds,
  });
  return assemble(libp2p, addressOfIdentity(identity), bounds, report);
}

async function assemble(
  libp2p: AgentLibp2p,
  own: Address,
  bounds: NetworkBounds,
  report: Report,
): Promise<Libp2pNetwork> {
  const links = new Map<Address, Link>();
  const frameListeners = new Set<(from: Address, frame: Uint8Array) => void>();
  const connectListeners = new Set<(peer: Address) => void>();
  const announcements = createAnnouncements(libp2p, bounds, report);
  const inbound = await acceptFrames({
    libp2p,
    bounds,
    isConfigured: (peer) => links.has(peer),
    onAccept: (peer) => links.get(peer)?.wake(),
    onFrame: (peer, frame) => notify(frameListeners, report, peer, frame),
    report,
  });
  const leaving = new Set<Promise<void>>();
  let closing: Promise<void> | null = null;

  function add(signer: Address, target: Target): void {
    const link = links.get(signer);
    if (link !== undefined) return link.setMultiaddrs(target.multiaddrs);
    const onOpen = (): void => notify(connectListeners, report, signer);
    links.set(signer, openLink({ libp2p, own, address: signer, ...target, bounds, onOpen, report }));
    tag(target.peerId, AGENT_TAG_VALUE);
  }

  function remove(signer: Address, link: Link): void {
    links.delete(signer);
    inbound.drop(signer);
    tag(link.peerId, null);
    const left = link
      .close()
      .then(() => libp2p.hangUp(link.peerId))
      .catch(() => undefined);
    leaving.add(left);
    void left.finally(() => leaving.delete(left));
  }

  /** Only decides who is pruned first, so a failure costs nothing. */
  function tag(peerId: PeerId, value: number | null): void {
    const tags = { [AGENT_TAG]: value === null ? undefined : { value } };
    libp2p.peerStore.merge(peerId, { tags }).catch(() => undefined);
  }

  async function stop(): Promise<void> {
    frameListeners.clear();
    connectListeners.clear();
    await Promise.all([...links.values()].map((link) => link.close()));
    links.clear();
    await Promise.all(leaving);
    await inbound.close();
    await libp2p.stop();
  }

  return {
    address: own,
    libp2p,
    get multiaddrs() {
      return libp2p.getMultiaddrs().map((address) => address.toString().replace(/\/p2p\/[^/]+$/, ""));
    },
    setPeers(peers) {
      if (closing !== null) return;
      const targets = parsePeers(peers, own, bounds, report);
      for (const [signer, link] of links) if (!targets.has(signer)) remove(signer, link);
      for (const [signer, target] of targets) add(signer, target);
    },
    send(to, frame) {
      if (frame.length === 0 || frame.length > bounds.frameBytes) {
        throw new ConclaveError(
          "NETWORK_FAILED",
          `Send 1 to ${bounds.frameBytes} bytes in a frame, not ${frame.length}`,
          {
            bytes: frame.length,
          },
        );
      }
      links.get(to)?.send(frame);
    },
    onFrame: (listener) => subscribe(frameListeners, (from, frame) => listener(from, frame)),
    onConnect: (listener) => subscribe(connectListeners, (peer) => listener(peer)),
    connected: () => [...links].filter(([, link]) => link.isOpen()).map(([signer]) => signer),
    announce: announcements.announce,
    onAnnouncement: announcements.onAnnouncement,
    close: () => (closing ??= stop()),
  };
}

interface Target {
  readonly peerId: PeerId;
  readonly multiaddrs: readonly Multiaddr[];
}

/** Peers come from the chain, where operators write what they like: a bad one is reported and left out. */
function parsePeers(
  peers: readonly Peer[],
  own: Address,
  bounds: NetworkBounds,
  report: Report,
): ReadonlyMap<Address, Target> {
  const targets = new Map<Address, Target>();
  for (const peer of peers) {
    if (peer.signer === own) continue;
    const peerId = peerIdFromPublicKey(peer.publicKey);
    const reason =
      peerId === null
        ? "public key is no curve point"
        : publicKeyToAddress(peer.publicKey) !== peer.signer
          ? "public key belongs to another signer"
          : targets.size >= bounds.peers
            ? "too many peers"
            : null;
    if (peerId === null || reason !== null) {
      report({ kind: "peerInvalid", peer: peer.signer, reason: reason ?? "invalid" });
      continue;
    }
    targets.set(peer.signer, { peerId, multiaddrs: parseMultiaddrs(peer, peerId, bounds, report) });
  }
  return targets;
}

function parseMultiaddrs(peer: Peer, peerId: PeerId, bounds: NetworkBounds, report: Report): readonly Multiaddr[] {
  const parsed: Multiaddr[] = [];
  for (const text of peer.multiaddrs.slice(0, bounds.multiaddrsPerPeer)) {
    try {
      if (!/^\/(ip4|ip6|dns|dns4|dns6)\/[^/]+\/tcp\/\d+$/.test(text))
        throw new Error("expected /ip4|ip6|dns…/<host>/tcp/<port>");
      parsed.push(multiaddr(`${text}/p2p/${peerId.toString()}`));
    } catch (error) {
      report({ kind: "peerInvalid", peer: peer.signer, reason: `multiaddr: ${describe(error)}` });
    }
  }
  return parsed;
}

/** Adds a listener of its own identity, so that one function can subscribe twice. */
function subscribe<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
