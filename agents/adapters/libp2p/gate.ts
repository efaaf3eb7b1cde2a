import type { ConnectionGater, MultiaddrConnection, PeerId } from "@libp2p/interface";
import type { Multiaddr } from "@multiformats/multiaddr";
import type { Address } from "../../core/types.ts";
import type { NetworkBounds } from "./bounds.ts";
import type { NetworkListener } from "./events.ts";
import { addressOfPeerId } from "./identity.ts";

/**
 * Counts the inbound connections of strangers, i.e. of everybody who is no configured peer, and refuses those above the
 * bounds. Peers are never refused, so that an agent beside a stranger, on one host, keeps its place; but a peer with more
 * connections than it may have loses its oldest, so that none takes the places of all others.
 */
export interface Gate {
  readonly gater: ConnectionGater;
  /** Tells who is a peer. Before, everybody is a stranger. */
  admit(isConfigured: (peer: Address) => boolean): void;
}

type Bounds = Pick<NetworkBounds, "strangers" | "strangersPerHost" | "connectionsPerPeer">;

export function createGate(bounds: Bounds, report: NetworkListener): Gate {
  const byHost = new Map<string, number>();
  /** The connections of each peer, the oldest first. */
  const byPeer = new Map<Address, Set<MultiaddrConnection>>();
  let strangers = 0;
  let isConfigured: (peer: Address) => boolean = () => false;

  function count(host: string, change: 1 | -1): void {
    strangers += change;
    const left = (byHost.get(host) ?? 0) + change;
    if (left > 0) byHost.set(host, left);
    else byHost.delete(host);
  }

  function keep(peer: Address, connection: MultiaddrConnection): void {
    const kept = (byPeer.get(peer) ?? new Set()).add(connection);
    byPeer.set(peer, kept);
    const forget = (): void => {
      kept.delete(connection);
      if (kept.size === 0 && byPeer.get(peer) === kept) byPeer.delete(peer);
    };
    connection.addEventListener("close", forget, { once: true });
    const [oldest] = kept;
    if (oldest === undefined || kept.size <= bounds.connectionsPerPeer) return;
    kept.delete(oldest);
    oldest.abort(new Error("replaced by a newer connection"));
    report({ kind: "connectionReplaced", peer });
  }

  // The handshake has proven who it is, and nothing but the handshake has cost anything yet.
  function denyInboundEncryptedConnection(peerId: PeerId, connection: MultiaddrConnection): boolean {
    const address = addressOfPeerId(peerId);
    if (address !== null && isConfigured(address)) {
      keep(address, connection);
      return false;
    }
    const host = hostOf(connection.remoteAddr);
    if (strangers >= bounds.strangers || (byHost.get(host) ?? 0) >= bounds.strangersPerHost) {
      report({ kind: "connectionRefused", host, strangers });
      return true;
    }
    count(host, 1);
    connection.addEventListener("close", () => count(host, -1), { once: true });
    return false;
  }

  return {
    gater: { denyInboundEncryptedConnection },
    admit(check) {
      isConfigured = check;
    },
  };
}

/** The host behind an address. Whoever has one IPv6 address has its whole /64. */
function hostOf(address: Multiaddr): string {
  const [, kind = "", value = ""] = address.toString().split("/");
  if (kind !== "ip6") return value;
  const [head = "", tail] = value.split("::");
  const [left, right] = [head, tail ?? ""].map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = tail === undefined ? 0 : 8 - (left?.length ?? 0) - (right?.length ?? 0);
  const groups = [...(left ?? []), ...Array<string>(Math.max(0, zeros)).fill("0"), ...(right ?? [])];
  return `${groups.slice(0, 4).join(":")}::/64`;
}
