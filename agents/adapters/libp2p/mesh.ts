import type { PeerId } from "@libp2p/interface";
import { ConclaveError } from "../../core/errors.ts";
import type { Address } from "../../core/types.ts";
import type { Network } from "../../ports/network.ts";
import type { NetworkBounds } from "./bounds.ts";
import { notify, type NetworkListener } from "./events.ts";
import { acceptFrames } from "./inbound.ts";
import { type PeerLink, openLink } from "./link.ts";
import type { AgentLibp2p } from "./node.ts";
import { parsePeers, type Target } from "./peers.ts";

/** Tag of agents, whose connections are pruned after those of strangers. */
const AGENT_TAG = "conclave-agent";
const AGENT_TAG_VALUE = 100;

/** Direct streams with every peer to stay connected with, one for each direction, and streams from others who may send. */
export interface Mesh extends Pick<Network, "setPeers" | "send" | "onFrame" | "onConnect" | "connected" | "close"> {
  /** True for those to stay connected with, and for those who may send. */
  isConfigured(peer: Address): boolean;
}

export interface MeshOptions {
  readonly libp2p: AgentLibp2p;
  readonly own: Address;
  readonly bounds: NetworkBounds;
  readonly report: NetworkListener;
}

export async function openMesh({ libp2p, own, bounds, report }: MeshOptions): Promise<Mesh> {
  const links = new Map<Address, PeerLink>();
  const leaving = new Set<Promise<void>>();
  const frameListeners = new Set<(from: Address, frame: Uint8Array) => void>();
  const connectListeners = new Set<(peer: Address) => void>();
  let admitted: ReadonlySet<Address> = new Set();
  const isConfigured = (peer: Address): boolean => links.has(peer) || admitted.has(peer);
  const inbound = await acceptFrames({
    libp2p,
    bounds,
    isConfigured,
    onAccept: (peer) => links.get(peer)?.wake(),
    onFrame: (peer, frame) => notify(frameListeners, report, peer, frame),
    report,
  });
  let closed = false;

  function add(signer: Address, target: Target): void {
    const link = links.get(signer);
    if (link !== undefined) return link.setMultiaddrs(target.multiaddrs);
    const onOpen = (): void => notify(connectListeners, report, signer);
    links.set(signer, openLink({ libp2p, own, address: signer, ...target, bounds, onOpen, report }));
    tag(libp2p, target.peerId, AGENT_TAG_VALUE);
  }

  function remove(signer: Address, link: PeerLink): void {
    links.delete(signer);
    inbound.drop(signer);
    const left = leave(libp2p, link);
    leaving.add(left);
    void left.finally(() => leaving.delete(left));
  }

  return {
    isConfigured,
    setPeers(peers, others = new Set()) {
      if (closed) return;
      const targets = parsePeers(peers, own, bounds, report);
      const before = admitted;
      admitted = others;
      for (const [signer, link] of links) if (!targets.has(signer)) remove(signer, link);
      for (const [signer, target] of targets) add(signer, target);
      for (const peer of before) if (!isConfigured(peer)) inbound.drop(peer);
    },
    send(to, frame) {
      if (frame.length === 0 || frame.length > bounds.frameBytes) {
        const message = `Send 1 to ${bounds.frameBytes} bytes in a frame, not ${frame.length}`;
        throw new ConclaveError("NETWORK_FAILED", message, { bytes: frame.length });
      }
      links.get(to)?.send(frame);
    },
    onFrame: (listener) => subscribe(frameListeners, (from, frame) => listener(from, frame)),
    onConnect: (listener) => subscribe(connectListeners, (peer) => listener(peer)),
    connected: () => [...links].filter(([, link]) => link.isOpen()).map(([signer]) => signer),
    async close() {
      closed = true;
      frameListeners.clear();
      connectListeners.clear();
      const ending = [...links.values()].map((link) => link.close());
      links.clear();
      await Promise.all([...ending, ...leaving]);
      await inbound.close();
    },
  };
}

async function leave(libp2p: AgentLibp2p, link: PeerLink): Promise<void> {
  tag(libp2p, link.peerId, null);
  await link.close();
  // The peer may be gone already.
  await libp2p.hangUp(link.peerId).catch(() => undefined);
}

/** Tags a peer. The tag only decides who is pruned first, so a failure costs nothing. */
function tag(libp2p: AgentLibp2p, peerId: PeerId, value: number | null): void {
  const tags = { [AGENT_TAG]: value === null ? undefined : { value } };
  libp2p.peerStore.merge(peerId, { tags }).catch(() => undefined);
}

/** Adds a listener under its own identity, so that one function can subscribe twice. */
function subscribe<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
