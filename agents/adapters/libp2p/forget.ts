import type { PeerId } from "@libp2p/interface";
import type { Address } from "../../core/types.ts";
import { addressOfPeerId } from "./identity.ts";
import type { AgentLibp2p } from "./node.ts";

/**
 * Forgets strangers that have left. libp2p keeps what a peer says of itself, some kilobytes, whether it comes back or not; whoever
 * connects with ever new keys would fill the memory. What is said while a peer leaves may be stored after it has left.
 */
export function forgetStrangers(libp2p: AgentLibp2p, isConfigured: (peer: Address) => boolean): void {
  const forget = (peerId: PeerId): void => {
    const address = addressOfPeerId(peerId);
    if (peerId.equals(libp2p.peerId) || (address !== null && isConfigured(address))) return;
    if (libp2p.getConnections(peerId).length > 0) return;
    // What is not forgotten now costs memory and nothing else.
    libp2p.peerStore.delete(peerId).catch(() => undefined);
  };
  libp2p.addEventListener("peer:disconnect", ({ detail }) => forget(detail));
  libp2p.addEventListener("peer:update", ({ detail }) => forget(detail.peer.id));
}
