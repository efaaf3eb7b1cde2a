import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ConclaveError } from "../core/errors.ts";

/** What every server of ours needs: it reads no body, and bounds connections, requests, answers under way and waits. */
export interface HttpServer {
  readonly url: string;
  /** Ends the connections, too. */
  close(): Promise<void>;
}

export interface HttpServerOptions {
  /** What it is, for errors, e.g. "gateway". */
  readonly name: string;
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly limits: HttpServerLimits;
  /** When it rejects, the connection ends. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}

export interface HttpServerLimits {
  /** Answers under way at once; more are told to come later. */
  readonly concurrency: number;
  /** Requests of one address in a window. */
  readonly requests: number;
  readonly windowMs: number;
}

/** Addresses remembered; when there are more, all begin anew. */
const MAX_ADDRESSES = 4_096;
const MAX_CONNECTIONS = 128;
const MAX_HEADER_BYTES = 8_192;
const REQUEST_TIMEOUT_MS = 10_000;
/** A reader that takes nothing for so long is gone. */
const IDLE_MS = 30_000;

/** Serves GET and HEAD. Throws NETWORK_FAILED when the port is taken. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { limits } = options;
  const admit = createAdmission(limits);
  let running = 0;
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) => {
    // What comes as a body is not wanted.
    request.resume();
    if (!admit(request.socket.remoteAddress ?? "")) {
      refuse(response, 429, "too many requests", { "retry-after": String(Math.ceil(limits.windowMs / 1_000)) });
      return;
    }
    if (running >= limits.concurrency) {
      refuse(response, 503, "busy", { "retry-after": "1" });
      return;
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      refuse(response, 405, "GET and HEAD only", { allow: "GET, HEAD" });
      return;
    }
    running += 1;
    options
      .answer(request, response)
      .catch(() => response.destroy())
      .finally(() => (running -= 1));
  });
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.headersTimeout = REQUEST_TIMEOUT_MS;
  server.timeout = IDLE_MS;
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, options);
  const { address, family, port } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function refuse(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "text/plain", "cache-control": "no-store", ...headers });
  response.end(`${text}\n`);
}

async function listen(server: Server, { name, host, port }: HttpServerOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) =>
      reject(
        new ConclaveError(
          "NETWORK_FAILED",
          `Listen on ${host}:${port} for the ${name} failed: ${error.message}`,
          { host, port },
          error,
        ),
      ),
    );
    server.listen(port, host, resolve);
  });
}

/** Counts requests by address in windows of time. */
function createAdmission({ requests, windowMs }: HttpServerLimits): (address: string) => boolean {
  const counts = new Map<string, number>();
  let started = performance.now();
  return (address) => {
    if (performance.now() - started >= windowMs || counts.size > MAX_ADDRESSES) {
      counts.clear();
      started = performance.now();
    }
    const count = (counts.get(address) ?? 0) + 1;
    counts.set(address, count);
    return count <= requests;
  };
}
