import type { PrivateKey } from "@libp2p/interface";
import type { Datastore } from "interface-datastore";
import type { Address } from "../../core/types.ts";
import type { Network } from "../../ports/network.ts";
import { createAnnouncements } from "./announcements.ts";
import { type NetworkBounds, networkBounds } from "./bounds.ts";
import type { NetworkListener } from "./events.ts";
import { addressOfIdentity, identityFromSignerKey } from "./identity.ts";
import { forgetStrangers } from "./forget.ts";
import { createGate } from "./gate.ts";
import { openMesh } from "./mesh.ts";
import { type AgentLibp2p, startNode } from "./node.ts";

export interface Libp2pNetworkOptions {
  /** The agent's signer key (32 bytes or a libp2p secp256k1 key): it is the node's identity. */
  readonly privateKey: Uint8Array | PrivateKey;
  /** Multiaddrs to listen on; by default a free port of 127.0.0.1. */
  readonly listen?: readonly string[];
  /** Store of libp2p's peers; by default in memory. */
  readonly datastore?: Datastore;
  readonly bounds?: Partial<NetworkBounds>;
  readonly report?: NetworkListener;
}

export interface Libp2pNetwork extends Network {
  readonly address: Address;
  /** The node, which the content store shares. */
  readonly libp2p: AgentLibp2p;
}

/** Creates the network. Throws CONFIG_INVALID for a key of another kind, NETWORK_FAILED if it cannot listen. */
export async function createLibp2pNetwork(options: Libp2pNetworkOptions): Promise<Libp2pNetwork> {
  const bounds = { ...networkBounds, ...options.bounds };
  const report = options.report ?? (() => undefined);
  const identity = identityFromSignerKey(options.privateKey);
  const gate = createGate(bounds, report);
  const libp2p = await startNode({
    identity,
    gater: gate.gater,
    listen: options.listen ?? ["/ip4/127.0.0.1/tcp/0"],
    ...(options.datastore === undefined ? {} : { datastore: options.datastore }),
    bounds,
  });
  const own = addressOfIdentity(identity);
  const mesh = await openMesh({ libp2p, own, bounds, report });
  gate.admit((peer) => mesh.isConfigured(peer));
  forgetStrangers(libp2p, (peer) => mesh.isConfigured(peer));
  const announcements = createAnnouncements(libp2p, bounds, report);
  let closing: Promise<void> | null = null;

  async function stop(): Promise<void> {
    await mesh.close();
    await libp2p.stop();
  }

  return {
    ...mesh,
    ...announcements,
    address: own,
    libp2p,
    get multiaddrs() {
      return libp2p.getMultiaddrs().map((address) => address.toString().replace(/\/p2p\/[^/]+$/, ""));
    },
    close: () => (closing ??= stop()),
  };
}
