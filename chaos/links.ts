// The wires between agents: each is reached through a TCP proxy, which knows the process that dials and can stop, delay, narrow or let pass.
import { once } from "node:events";
import { readFile, readdir, readlink } from "node:fs/promises";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { createRandom, type Random } from "../sim/random.ts";

/** How bytes travel in one direction. What is still on its way when the sender closes the connection is lost. */
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

/** From which agent to which. */
interface Way {
  readonly from: number;
  readonly to: number;
}

interface PipeOptions {
  readonly source: Socket;
  readonly sink: Socket;
  /** How bytes travel now; null if none do. */
  readonly wire: () => Wire | null;
  /** Draws losses. */
  readonly random: Random;
}

/** One direction of a connection. */
interface Pipe {
  /** Lets what waits travel as the wire is now. */
  reshape(): void;
}

/** `pidsOf` returns the agent's processes; only on Linux can the proxy tell who dials. */
export function createLinks(pidsOf: (agent: number) => readonly number[], agents: number): Links {
  const servers = new Set<Server>();
  const sockets = new Set<Socket>();
  const pipes = new Set<Pipe>();
  const random = createRandom(0, "losses");
  let wireOf: (from: number, to: number) => Wire | null = () => GOOD_WIRE;

  const ownerOf = createOwnerSearch(pidsOf, agents);

  function pipe(way: Way, source: Socket, sink: Socket): void {
    const own = openPipe({ source, sink, wire: () => wireOf(way.from, way.to), random });
    pipes.add(own);
    source.on("close", () => pipes.delete(own));
  }

  async function join(to: number, port: number, dialer: Socket): Promise<void> {
    sockets.add(dialer);
    dialer.on("error", () => undefined).on("close", () => sockets.delete(dialer));
    const from = dialer.remotePort === undefined ? null : await ownerOf(dialer.remotePort);
    if (from === null || dialer.destroyed) return void dialer.destroy();
    const listener = connect(port, "127.0.0.1");
    sockets.add(listener);
    listener.on("error", () => dialer.destroy()).on("close", () => sockets.delete(listener));
    pipe({ from, to }, dialer, listener);
    pipe({ from: to, to: from }, listener, dialer);
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

function openPipe({ source, sink, wire, random }: PipeOptions): Pipe {
  const waiting: { readonly bytes: Buffer; dueAtMs: number }[] = [];
  let size = 0;
  let timer: NodeJS.Timeout | undefined;
  /** When all that was sent so far is on the wire. */
  let freeAtMs = 0;
  const dueAt = (length: number): number => {
    const now = wire();
    if (now === null) return Infinity;
    const { delayMs, bytesPerSecond, lossPercent } = now;
    freeAtMs = Math.max(performance.now(), freeAtMs) + (1_000 * length) / bytesPerSecond;
    let resends = 0;
    while (resends < MOST_RESENDS && random.below(100) < lossPercent) resends++;
    freeAtMs += RESEND_MS * (2 ** resends - 1);
    return freeAtMs + delayMs;
  };
  const pump = (): void => {
    clearTimeout(timer);
    const now = performance.now();
    const isDue = (): boolean => wire() !== null && (waiting[0]?.dueAtMs ?? Infinity) <= now;
    while (isDue() && sink.writableLength < MOST_WAITING_BYTES) {
      const { bytes } = waiting.shift() as (typeof waiting)[0];
      size -= bytes.length;
      if (!sink.destroyed) sink.write(bytes);
    }
    if (size < MOST_WAITING_BYTES && source.isPaused()) source.resume();
    const next = waiting[0];
    if (next !== undefined && !isDue() && wire() !== null) timer = setTimeout(pump, next.dueAtMs - now + 1);
  };
  let shaped = wire();
  const reshape = (): void => {
    if (isDeepStrictEqual(wire(), shaped)) return;
    shaped = wire();
    freeAtMs = 0;
    for (const one of waiting) one.dueAtMs = Math.min(one.dueAtMs, dueAt(one.bytes.length));
    pump();
  };
  sink.on("drain", pump);
  source.on("data", (bytes: Buffer) => {
    waiting.push({ bytes, dueAtMs: dueAt(bytes.length) });
    size += bytes.length;
    if (size >= MOST_WAITING_BYTES) source.pause();
    pump();
  });
  source.on("close", () => {
    clearTimeout(timer);
    sink.destroy();
  });
  return { reshape };
}

/**
 * Returns a function that tells the agent whose process owns a local port; null if it is gone or unknown. One look at /proc serves all who
 * ask meanwhile: all processes share one table of sockets, which may have ten thousand lines.
 */
function createOwnerSearch(
  pidsOf: (agent: number) => readonly number[],
  agents: number,
): (port: number) => Promise<number | null> {
  let next: Promise<ReadonlyMap<number, number>> | null = null;
  let last: Promise<unknown> = Promise.resolve();

  async function look(): Promise<ReadonlyMap<number, number>> {
    next = null;
    const table = await readFile("/proc/net/tcp", "utf8").catch(() => "");
    const owners = new Map<string, number>();
    for (let agent = 0; agent < agents; agent++) {
      const sockets = await Promise.all(pidsOf(agent).map(socketsOf));
      for (const socket of sockets.flat()) if (!owners.has(socket)) owners.set(socket, agent);
    }
    return new Map(
      table.split("\n").flatMap((line): [number, number][] => {
        // The number of the line, the local address and the remote one, six columns, and the inode.
        const [, local = "", , , , , , , , inode = ""] = line.trim().split(/\s+/);
        const owner = owners.get(`socket:[${inode}]`);
        return owner === undefined ? [] : [[Number.parseInt(local.split(":")[1] ?? "", 16), owner]];
      }),
    );
  }

  return async (port) => {
    if (next === null) {
      next = last.then(look);
      last = next;
    }
    return (await next).get(port) ?? null;
  };
}

/** The sockets that a process holds, as /proc names them. */
async function socketsOf(pid: number): Promise<readonly string[]> {
  const folder = `/proc/${pid}/fd`;
  // The process may have ended meanwhile.
  const files = await readdir(folder).catch(() => []);
  const targets = await Promise.all(files.map((file) => readlink(`${folder}/${file}`).catch(() => "")));
  return targets.filter((target) => target.startsWith("socket:"));
}
