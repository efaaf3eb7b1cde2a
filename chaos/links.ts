// The wires between agents: each is reached through a TCP proxy, which knows the process that dials and can stop, delay, narrow or let pass.
import { once } from "node:events";
import { readFile, readdir, readlink } from "node:fs/promises";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { createRandom } from "../sim/random.ts";

/** How bytes travel in one direction. */
export interface Wire {
  readonly delayMs: number;
  /** Infinity: as many as there are. */
  readonly bytesPerSecond: number;
  /** Of a hundred packets. What is lost is sent again later, and what follows it waits, as under TCP. */
  readonly lossPercent: number;
}

export const GOOD_WIRE: Wire = { delayMs: 0, bytesPerSecond: Infinity, lossPercent: 0 };

export interface Links {
  /** Multiaddr at which the others reach an agent that listens on the port of 127.0.0.1. */
  open(agent: number, port: number): Promise<string>;
  /** Decides how bytes travel from now on; null stops them until the next call. */
  shape(wire: (from: number, to: number) => Wire | null): void;
  close(): Promise<void>;
}

/** Bytes that wait in one direction of a connection before the sender has to wait, too. */
const MOST_WAITING_BYTES = 4 << 20;
/** Time until a lost packet is sent again; each further loss of the same doubles it. */
const RESEND_MS = 200;
const MOST_RESENDS = 5;

/** One direction of a connection. */
interface Pipe {
  readonly from: number;
  readonly to: number;
  /** Lets what waits travel as the wire is now. */
  reshape(): void;
}

/** `pidOf` returns the agent's process; only on Linux can the proxy tell who dials. */
export function createLinks(pidOf: (agent: number) => number | undefined, agents: number): Links {
  const servers = new Set<Server>();
  const sockets = new Set<Socket>();
  const pipes = new Set<Pipe>();
  const random = createRandom(0, "losses");
  let wireOf: (from: number, to: number) => Wire | null = () => GOOD_WIRE;

  /** Returns the agent whose process owns the local port; null if it is gone or unknown. */
  async function ownerOf(port: number): Promise<number | null> {
    const inodes = await inodesAt(port);
    for (let agent = 0; agent < agents; agent++) {
      const pid = pidOf(agent);
      if (pid !== undefined && (await holdsSocket(pid, inodes))) return agent;
    }
    return null;
  }

  function pipe(from: number, to: number, source: Socket, sink: Socket): void {
    const waiting: { readonly bytes: Buffer; dueAtMs: number }[] = [];
    let size = 0;
    let timer: NodeJS.Timeout | undefined;
    /** When all that was sent so far is on the wire. */
    let freeAtMs = 0;
    const dueAt = (length: number): number => {
      const { delayMs, bytesPerSecond, lossPercent } = wireOf(from, to) ?? GOOD_WIRE;
      freeAtMs = Math.max(performance.now(), freeAtMs) + (1_000 * length) / bytesPerSecond;
      let resends = 0;
      while (resends < MOST_RESENDS && random.below(100) < lossPercent) resends++;
      freeAtMs += RESEND_MS * (2 ** resends - 1);
      return freeAtMs + delayMs;
    };
    const pump = (): void => {
      clearTimeout(timer);
      const now = performance.now();
      while (wireOf(from, to) !== null && waiting[0] !== undefined && waiting[0].dueAtMs <= now) {
        const { bytes } = waiting.shift() as (typeof waiting)[0];
        size -= bytes.length;
        if (!sink.destroyed) sink.write(bytes);
      }
      if (size < MOST_WAITING_BYTES && source.isPaused()) source.resume();
      const next = waiting[0];
      if (next !== undefined && wireOf(from, to) !== null) timer = setTimeout(pump, next.dueAtMs - now + 1);
    };
    let shaped = wireOf(from, to);
    const reshape = (): void => {
      const wire = wireOf(from, to);
      if (isDeepStrictEqual(wire, shaped)) return;
      shaped = wire;
      freeAtMs = 0;
      for (const one of waiting) one.dueAtMs = Math.min(one.dueAtMs, dueAt(one.bytes.length));
      pump();
    };
    const own: Pipe = { from, to, reshape };
    pipes.add(own);
    source.on("data", (bytes: Buffer) => {
      waiting.push({ bytes, dueAtMs: dueAt(bytes.length) });
      size += bytes.length;
      if (size >= MOST_WAITING_BYTES) source.pause();
      pump();
    });
    source.on("close", () => {
      clearTimeout(timer);
      pipes.delete(own);
      sink.destroy();
    });
  }

  async function join(to: number, port: number, dialer: Socket): Promise<void> {
    sockets.add(dialer);
    dialer.on("error", () => undefined).on("close", () => sockets.delete(dialer));
    const from = dialer.remotePort === undefined ? null : await ownerOf(dialer.remotePort);
    if (from === null || dialer.destroyed) return void dialer.destroy();
    const listener = connect(port, "127.0.0.1");
    sockets.add(listener);
    listener.on("error", () => dialer.destroy()).on("close", () => sockets.delete(listener));
    pipe(from, to, dialer, listener);
    pipe(to, from, listener, dialer);
  }

  return {
    async open(agent, port) {
      const server = createServer((dialer) => void join(agent, port, dialer));
      servers.add(server);
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      return `/ip4/127.0.0.1/tcp/${(server.address() as AddressInfo).port}`;
    },
    shape(next) {
      wireOf = next;
      for (const one of pipes) one.reshape();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await Promise.all(
        [...servers].map(async (server) => {
          server.close();
          await once(server, "close");
        }),
      );
    },
  };
}

/** Reads from /proc the inodes of the sockets of this machine at the local port. All processes share one table, which may have thousands of lines. */
async function inodesAt(port: number): Promise<ReadonlySet<string>> {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const line = new RegExp(`^ *\\d+: [0-9A-F]+${local} (.*)$`, "gm");
  const table = await readFile("/proc/net/tcp", "utf8").catch(() => "");
  // What follows the local address: the remote one, seven columns, and the inode.
  return new Set([...table.matchAll(line)].map(([, rest]) => `socket:[${rest?.trim().split(/\s+/)[7]}]`));
}

async function holdsSocket(pid: number, inodes: ReadonlySet<string>): Promise<boolean> {
  // The process may have ended meanwhile.
  for (const file of await readdir(`/proc/${pid}/fd`).catch(() => []))
    if (inodes.has(await readlink(`/proc/${pid}/fd/${file}`).catch(() => ""))) return true;
  return false;
}
