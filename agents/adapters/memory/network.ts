import { ConclaveError } from "../../core/errors.ts";
import type { Address } from "../../core/types.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Network, Peer } from "../../ports/network.ts";
import { type NetworkBounds, networkBounds } from "../libp2p/bounds.ts";

export interface MemoryHubOptions {
  readonly clock: Clock;
  /** Delay of a frame or announcement between two nodes; 0 if absent. */
  readonly latencyMs?: (from: Address, to: Address) => number;
  readonly bounds?: Partial<Pick<NetworkBounds, "frameBytes" | "queuedFrames" | "announcementBytes">>;
}

/** A network inside one process: everything arrives in an order that only the clock and the calls determine. */
export interface MemoryHub {
  /** Joins as a node. An address can join again after its node was closed. Throws NETWORK_FAILED while it is taken. */
  readonly join: (address: Address) => Network;
}

/** One node as the hub sees it. */
interface Node {
  readonly address: Address;
  readonly peers: Map<Address, Route>;
  /** Those who may send, beside the peers. */
  admitted: ReadonlySet<Address>;
  readonly frameListeners: Set<(from: Address, frame: Uint8Array) => void>;
  readonly connectListeners: Set<(peer: Address) => void>;
  readonly topics: Map<string, Set<(data: Uint8Array) => void>>;
}

/** From one node to one configured peer. */
interface Route {
  /** True if both nodes are there, and the other one lets this one send. */
  mutual: boolean;
  /** True once the node knows of the connection. */
  up: boolean;
  /** Time at which the last frame arrives; a later frame must not overtake it. */
  busyUntil: number;
  readonly queue: Uint8Array[];
}

export function createMemoryHub(options: MemoryHubOptions): MemoryHub {
  const { clock } = options;
  const bounds = { ...networkBounds, ...options.bounds };
  const latencyMs = options.latencyMs ?? (() => 0);
  const nodes = new Map<Address, Node>();

  /** Updates the routes of a node: who is there, and who has configured whom. */
  function reconnect(node: Node): void {
    for (const address of node.peers.keys()) {
      const other = nodes.get(address);
      update(node, address, other);
      if (other !== undefined) update(other, node.address, nodes.get(node.address));
    }
    for (const other of nodes.values())
      if (!node.peers.has(other.address)) update(other, node.address, nodes.get(node.address));
  }

  function update(from: Node, to: Address, target: Node | undefined): void {
    const route = from.peers.get(to);
    if (route === undefined) return;
    const mutual = nodes.get(from.address) === from && target !== undefined && admits(target, from.address);
    if (mutual === route.mutual) return;
    route.mutual = mutual;
    route.up = false;
    if (!mutual) return;
    clock.schedule(latencyMs(from.address, to), () => {
      if (from.peers.get(to) !== route || !route.mutual || route.up) return;
      route.up = true;
      for (const listener of from.connectListeners) listener(to);
      for (const frame of route.queue.splice(0)) transmit(from, to, route, frame);
    });
  }

  function transmit(from: Node, to: Address, route: Route, frame: Uint8Array): void {
    const now = clock.now();
    route.busyUntil = Math.max(route.busyUntil, now + latencyMs(from.address, to));
    const target = nodes.get(to);
    clock.schedule(route.busyUntil - now, () => {
      // Frames to a node that left, or that removed the sender, are lost.
      if (target === undefined || nodes.get(to) !== target || !admits(target, from.address)) return;
      for (const listener of target.frameListeners) listener(from.address, frame.slice());
    });
  }

  function announce(from: Node, topic: string, data: Uint8Array): void {
    for (const node of nodes.values()) {
      if (node === from) continue;
      clock.schedule(latencyMs(from.address, node.address), () => {
        if (nodes.get(node.address) !== node) return;
        for (const listener of node.topics.get(topic) ?? []) listener(data.slice());
      });
    }
  }

  return {
    join(address) {
      if (nodes.has(address))
        throw new ConclaveError("NETWORK_FAILED", `Close the node of ${address} first`, { address });
      const node: Node = {
        address,
        peers: new Map(),
        admitted: new Set(),
        frameListeners: new Set(),
        connectListeners: new Set(),
        topics: new Map(),
      };
      nodes.set(address, node);
      return createNetwork(node, bounds, {
        reconnect: () => reconnect(node),
        transmit: (to, route, frame) => transmit(node, to, route, frame),
        announce: (topic, data) => announce(node, topic, data),
        isOpen: () => nodes.get(address) === node,
        leave() {
          if (nodes.get(address) !== node) return;
          nodes.delete(address);
          reconnect(node);
        },
      });
    },
  };
}

function admits({ peers, admitted }: Node, sender: Address): boolean {
  return peers.has(sender) || admitted.has(sender);
}

interface Wires {
  readonly reconnect: () => void;
  readonly transmit: (to: Address, route: Route, frame: Uint8Array) => void;
  readonly announce: (topic: string, data: Uint8Array) => void;
  readonly isOpen: () => boolean;
  readonly leave: () => void;
}

function createNetwork(node: Node, bounds: NetworkBounds, wires: Wires): Network {
  return {
    multiaddrs: [`/memory/${node.address}`],
    setPeers(peers: readonly Peer[], others: ReadonlySet<Address> = new Set()) {
      if (!wires.isOpen()) return;
      node.admitted = others;
      const wanted = new Set(peers.map((peer) => peer.signer).filter((signer) => signer !== node.address));
      for (const address of node.peers.keys()) if (!wanted.has(address)) node.peers.delete(address);
      for (const address of wanted) {
        if (!node.peers.has(address)) node.peers.set(address, { mutual: false, up: false, busyUntil: 0, queue: [] });
      }
      wires.reconnect();
    },
    send(to, frame) {
      if (frame.length === 0 || frame.length > bounds.frameBytes)
        throw tooLong("Send", frame.length, bounds.frameBytes);
      const route = node.peers.get(to);
      if (route === undefined || !wires.isOpen()) return;
      if (route.up) return wires.transmit(to, route, frame.slice());
      route.queue.push(frame.slice());
      if (route.queue.length > bounds.queuedFrames) route.queue.shift();
    },
    onFrame: (listener) => subscribe(node.frameListeners, (from, frame) => listener(from, frame)),
    onConnect: (listener) => subscribe(node.connectListeners, (peer) => listener(peer)),
    connected: () => [...node.peers].filter(([, route]) => route.up).map(([address]) => address),
    async announce(topic, data) {
      if (data.length > bounds.announcementBytes) throw tooLong("Announce", data.length, bounds.announcementBytes);
      if (wires.isOpen()) wires.announce(topic, data.slice());
    },
    onAnnouncement(topic, listener) {
      const listeners = node.topics.get(topic) ?? new Set();
      node.topics.set(topic, listeners);
      return subscribe(listeners, (data) => listener(data));
    },
    async close() {
      wires.leave();
      node.frameListeners.clear();
      node.connectListeners.clear();
      node.topics.clear();
    },
  };
}

/** Adds a listener under its own identity, so that one function can subscribe twice. */
function subscribe<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tooLong(verb: string, bytes: number, maxBytes: number): ConclaveError {
  return new ConclaveError("NETWORK_FAILED", `${verb} 1 to ${maxBytes} bytes, not ${bytes}`, { bytes });
}
