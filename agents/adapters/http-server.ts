import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import ipaddr from "ipaddr.js";
import { ConclaveError } from "../core/errors.ts";

/** An HTTP server that reads no body, and that bounds connections, requests, running answers and waits. */
export interface HttpServer {
  readonly url: string;
  /** Returns how many requests were refused for being too many, since the start. */
  refused(): number;
  /** Stops the server and ends its connections. */
  close(): Promise<void>;
}

export interface HttpServerOptions {
  /** The server's name in errors, e.g. "gateway". */
  readonly name: string;
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly limits: HttpServerLimits;
  /** Headers of every response, refusals included. */
  readonly headers?: (request: IncomingMessage) => Readonly<Record<string, string>>;
  /** True refuses whoever does not name this machine: a page in a browser whose own name leads here, above all. */
  readonly localOnly?: boolean;
  /** Answers a request; if it rejects, the connection ends. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
}

export interface HttpServerLimits {
  /** Answers under way at the same time; further requests are told to come later. */
  readonly concurrency: number;
  /** Requests that one address, or one /64 network of IPv6, may send in a window. */
  readonly requests: number;
  readonly windowMs: number;
}

/** True if the host name means this machine itself. */
export function isLoopback(host: string): boolean {
  return /^(127(\.\d{1,3}){3}|::1|localhost)$/.test(host);
}

/**
 * Returns whose requests count together: an IPv4 address, or the /64 network of an IPv6 address, which one machine has whole.
 * @param address as a socket names it
 */
export function countedAs(address = ""): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(":") : parsed.toString();
}

/** True if the request names this machine. */
export function isAskedLocally({ headers }: IncomingMessage): boolean {
  const name = URL.parse(`http://${headers.host ?? ""}`)?.hostname ?? "";
  return isLoopback(name.replace(/^\[(.*)\]$/, "$1"));
}

/** Addresses whose requests are counted; with more, all counts start again. */
const MAX_ADDRESSES = 4_096;
const MAX_CONNECTIONS = 128;
const MAX_HEADER_BYTES = 8_192;
const REQUEST_TIMEOUT_MS = 10_000;
/** How late a timeout may be noticed. */
const TIMEOUT_CHECK_MS = 1_000;
/** A reader that takes nothing for this long is gone. */
const IDLE_MS = 30_000;

/** Serves GET and HEAD. Throws NETWORK_FAILED if the port is taken. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { limits } = options;
  const admit = createAdmission(limits);
  let running = 0;
  let refused = 0;
  const sizes = { maxHeaderSize: MAX_HEADER_BYTES, connectionsCheckingInterval: TIMEOUT_CHECK_MS };
  const server = createServer(sizes, (request, response) => {
    // A request's body is not read.
    request.resume();
    places.work(request.socket, response);
    response.setHeaders(new Headers(options.headers?.(request)));
    if (!admit(countedAs(request.socket.remoteAddress))) {
      refused += 1;
      refuse(response, 429, "too many requests", { "retry-after": String(Math.ceil(limits.windowMs / 1_000)) });
      return;
    }
    if (running >= limits.concurrency) {
      refused += 1;
      refuse(response, 503, "busy", { "retry-after": "1" });
      return;
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      refuse(response, 405, "GET and HEAD only", { allow: "GET, HEAD" });
      return;
    }
    if (options.localOnly === true && !isAskedLocally(request)) {
      refuse(response, 403, "ask for localhost");
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
  const places = placesOf(server);
  await listen(server, options);
  const { address, family, port } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`,
    refused: () => refused,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Places {
  /** The connection keeps its place until the response is out. */
  work(socket: Socket, response: ServerResponse): void;
}

/**
 * Bounds the connections. One too many replaces the one that has been idle the longest, so that idle connections shut
 * nobody out.
 */
function placesOf(server: Server): Places {
  const idle = new Set<Socket>();
  let open = 0;
  server.on("connection", (socket) => {
    open += 1;
    idle.add(socket);
    socket.once("close", () => {
      open -= 1;
      idle.delete(socket);
    });
    const [oldest] = idle;
    if (open > MAX_CONNECTIONS) oldest?.destroy();
  });
  return {
    work(socket, response) {
      idle.delete(socket);
      response.once("close", () => void (socket.destroyed || idle.add(socket)));
    },
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
  // A connection that the system cannot accept is lost, and must not end the process.
  server.on("error", () => undefined);
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
