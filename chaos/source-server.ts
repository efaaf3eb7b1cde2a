// A page of sums as one agent sees it: the number that a question asks for stands there, and the server fails when it is told to.
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import { join } from "node:path";
import type { HostPlaces } from "../devnet/world/agents.ts";
import { listenOnLoopback } from "../scripts/shared/loopback.ts";
import type { SOURCE_FAULTS } from "./manifest.ts";
import { LIE } from "./model-server.ts";

export type SourceFault = (typeof SOURCE_FAULTS)[number];

export interface SourceServer {
  /** Where an agent's config finds the host. */
  readonly hosts: HostPlaces;
  /** Null mends it. */
  fail(fault: SourceFault | null): void;
  close(): Promise<void>;
}

/** A throw-away key of this host, and the authority that signed for it. */
const tls = join(import.meta.dirname, "../devnet/world/tls");
const HOST = "api.test";
/** One piece of a body that never ends, and how often it comes. */
const PIECE = " ".repeat(1 << 16);
const PIECE_EVERY_MS = 20;

/** The name of the source at which the sum of two numbers stands. */
export function sourceOf(a: number, b: number): string {
  return `https://${HOST}/${a}/${b}#/sum`;
}

export async function startSourceServer(): Promise<SourceServer> {
  const [key, cert] = await Promise.all(["server.key", "server.pem"].map((name) => readFile(join(tls, name))));
  let fault: SourceFault | null = null;
  const server = createServer({ key, cert }, (request, response) => {
    if (fault === "hang") return;
    if (fault === "reset") return void request.socket.destroy();
    if (fault === "die") return void response.writeHead(500).end();
    response.writeHead(200, { "content-type": "application/json" });
    if (fault === "endless") return endlessly(response);
    const [, a, b] = /^\/(\d+)\/(\d+)$/.exec(request.url ?? "") ?? [];
    response.end(JSON.stringify({ sum: Number(a) + Number(b) + (fault === "lie" ? LIE : 0) }));
  });
  const { port, close } = await listenOnLoopback(server);
  return {
    hosts: { [HOST]: { address: "127.0.0.1", port, ca: join(tls, "ca.pem") } },
    fail(next) {
      if (next === fault) return;
      if (fault === "hang" || fault === "endless") server.closeAllConnections();
      fault = next;
    },
    close,
  };
}

function endlessly(response: ServerResponse): void {
  const timer = setInterval(() => response.write(PIECE), PIECE_EVERY_MS);
  response.on("close", () => clearInterval(timer));
}
