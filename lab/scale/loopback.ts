// Measures two libp2p nodes over loopback, in a process of its own.
import { setTimeout as sleep } from "node:timers/promises";
import { createLibp2pNetwork } from "../../agents/adapters/libp2p/network.ts";
import { parsePeers } from "../../agents/adapters/libp2p/peers.ts";
import { networkBounds } from "../../agents/adapters/libp2p/bounds.ts";
import { simSigner } from "../../sim/signer.ts";
import { hexToBytes, sha256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { keysFromPrivateKey } from "../../agents/adapters/keystore/keys.ts";
import type { Address } from "../../agents/core/types.ts";
import type { Peer } from "../../agents/ports/network.ts";
import { cpuMs } from "../bench/core/measure.ts";
import type { LoopbackFigures } from "./inputs.ts";

const FRAME_BYTES = 4_096;
const DELAYS = 400;
const BURSTS = 100;
/** Fewer than a link's queue holds. */
const BURST = 100;
const CONNECTIONS = 20;
const KEYS = 500;

const keys = [0, 1].map((node) => hexToBytes(sha256(utf8(`scale ${node}`))));
const [a, b] = await Promise.all([
  createLibp2pNetwork({ privateKey: keys[0] as Uint8Array }),
  createLibp2pNetwork({ privateKey: keys[1] as Uint8Array }),
]);
const peerOf = (node: number, multiaddrs: readonly string[]): Peer => {
  const { address, publicKey } = keysFromPrivateKey(keys[node] as Uint8Array);
  return { signer: address, publicKey, multiaddrs };
};

async function connect(): Promise<void> {
  a.setPeers([peerOf(1, b.multiaddrs)]);
  b.setPeers([peerOf(0, a.multiaddrs)]);
  while (a.connected().length + b.connected().length < 2) await sleep(5);
}

async function disconnect(): Promise<void> {
  a.setPeers([]);
  b.setPeers([]);
  while (a.libp2p.getConnections().length + b.libp2p.getConnections().length > 0) await sleep(5);
}

async function delays(): Promise<readonly number[]> {
  const found: number[] = [];
  let sentAt = 0;
  const off = b.onFrame(() => found.push(performance.now() - sentAt));
  for (let frame = 0; frame < DELAYS; frame++) {
    sentAt = performance.now();
    a.send(b.address, new Uint8Array(FRAME_BYTES));
    while (found.length <= frame) await sleep(1);
  }
  off();
  return found.toSorted((one, other) => one - other);
}

async function cpuPerFrame(): Promise<number> {
  const received = { frames: 0 };
  const off = b.onFrame(() => received.frames++);
  const started = cpuMs();
  for (let burst = 1; burst <= BURSTS; burst++) {
    for (let frame = 0; frame < BURST; frame++) a.send(b.address, new Uint8Array(FRAME_BYTES));
    while (received.frames < burst * BURST) await sleep(1);
  }
  off();
  return (cpuMs() - started) / received.frames;
}

async function cpuPerConnection(): Promise<number> {
  const started = cpuMs();
  for (let round = 0; round < CONNECTIONS; round++) {
    await disconnect();
    await connect();
  }
  return (cpuMs() - started) / CONNECTIONS;
}

function cpuPerPeer(): number {
  const peers = Array.from({ length: KEYS }, (_, index): Peer => {
    const { address, publicKey } = simSigner(index);
    return { signer: address, publicKey, multiaddrs: ["/ip4/10.0.0.1/tcp/4401"] };
  });
  const started = cpuMs();
  parsePeers(peers, "0x" as Address, networkBounds, () => undefined);
  return (cpuMs() - started) / KEYS;
}

await connect();
const sorted = await delays();
const loopback: LoopbackFigures = {
  delaysMs: Array.from({ length: 101 }, (_, percent) =>
    short(sorted[Math.round((percent * (DELAYS - 1)) / 100)] as number),
  ),
  cpuMsPerFrame: short(await cpuPerFrame()),
  cpuMsPerConnection: short(await cpuPerConnection()),
  cpuMsPerPeer: short(cpuPerPeer()),
};
await Promise.all([a.close(), b.close()]);
process.stdout.write(JSON.stringify(loopback));

function short(ms: number): number {
  return Number(ms.toPrecision(3));
}
