import type { PeerId } from "@libp2p/interface";
import { type Multiaddr, multiaddr } from "@multiformats/multiaddr";
import { publicKeyToAddress } from "../../core/encoding/digest.ts";
import type { Address } from "../../core/types.ts";
import type { Peer } from "../../ports/network.ts";
import type { NetworkBounds } from "./bounds.ts";
import { shortReason, type NetworkListener } from "./events.ts";
import { peerIdFromPublicKey } from "./identity.ts";

/** A configured peer, ready to dial. */
export interface Target {
  readonly peerId: PeerId;
  readonly multiaddrs: readonly Multiaddr[];
}

/** Reads the peers. They come from the chain, where operators write any text: a bad one is reported and left out. */
export function parsePeers(
  peers: readonly Peer[],
  own: Address,
  bounds: NetworkBounds,
  report: NetworkListener,
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

function parseMultiaddrs(
  peer: Peer,
  peerId: PeerId,
  bounds: NetworkBounds,
  report: NetworkListener,
): readonly Multiaddr[] {
  const parsed: Multiaddr[] = [];
  for (const text of peer.multiaddrs.slice(0, bounds.multiaddrsPerPeer)) {
    try {
      if (!/^\/(ip4|ip6|dns|dns4|dns6)\/[^/]+\/tcp\/\d+$/.test(text))
        throw new Error("expected /ip4|ip6|dns…/<host>/tcp/<port>");
      parsed.push(multiaddr(`${text}/p2p/${peerId.toString()}`));
    } catch (error) {
      report({ kind: "peerInvalid", peer: peer.signer, reason: `multiaddr: ${shortReason(error)}` });
    }
  }
  return parsed;
}
