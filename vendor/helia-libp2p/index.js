/**
 * The published @helia/libp2p makes a node of its own with public bootstrap peers, mDNS, UPnP, WebRTC and a DHT: some 700
 * packages an agent must never start. This one attaches the libp2p node the agent already has. The caller keeps its
 * lifetime: stopping Helia does not stop libp2p.
 */
export function withLibp2p(helia, libp2p) {
  if (libp2p === undefined || typeof libp2p.dialProtocol !== "function") {
    throw new TypeError("Pass a running libp2p node: use createHeliaLight, createHelia is not supported here");
  }
  Object.defineProperty(helia, "libp2p", { configurable: true, enumerable: true, value: libp2p });
  return helia;
}
