import type { Address } from "../core/types.ts";

/** A peer of the committee mesh, as the chain's registry describes it. */
export interface Peer {
  /** Address of the agent's signer; the libp2p peer id is derived from the same key and must match. */
  readonly signer: Address;
  /** Uncompressed public key without prefix, 64 bytes. */
  readonly publicKey: Uint8Array;
  /** Multiaddrs without the /p2p part. */
  readonly multiaddrs: readonly string[];
}

/** Point-to-point frames between authenticated agents, plus best-effort announcements to everybody. */
export interface Network {
  /** Multiaddrs this node listens on, without the /p2p part. */
  readonly multiaddrs: readonly string[];
  /**
   * Replaces the set of peers to stay connected with; reconnects with back-off until replaced. `others` may connect and send frames,
   * too, and this node does not dial them.
   */
  setPeers(peers: readonly Peer[], others?: ReadonlySet<Address>): void;
  /**
   * Queues a frame for a peer. Never throws for an unreachable peer: the queue is bounded and drops the oldest frame,
   * and the caller sends again after a reconnect.
   */
  send(to: Address, frame: Uint8Array): void;
  /**
   * Subscribes to frames of authenticated, configured peers; the handshake proves `from`. Returns an unsubscribe
   * function.
   */
  onFrame(listener: (from: Address, frame: Uint8Array) => void): () => void;
  /** Subscribes to openings of a configured peer's stream. Returns an unsubscribe function. */
  onConnect(listener: (peer: Address) => void): () => void;
  connected(): readonly Address[];
  /** Publishes to everybody (gossipsub); best effort. */
  announce(topic: string, data: Uint8Array): Promise<void>;
  /** Subscribes to announcements. Returns an unsubscribe function. */
  onAnnouncement(topic: string, listener: (data: Uint8Array) => void): () => void;
  close(): Promise<void>;
}
