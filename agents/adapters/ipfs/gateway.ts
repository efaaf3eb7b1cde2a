import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { digestFromCid } from "../../core/codec.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Digest } from "../../core/types.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { writeCar } from "./car.ts";

/** https://specs.ipfs.tech/http-gateways/trustless-gateway/ over what the store holds itself: raw blocks and CARs, nothing else. */
export interface Gateway {
  readonly url: string;
  close(): Promise<void>;
}

export interface GatewayOptions {
  readonly store: Pick<ContentStore, "get" | "has">;
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly limits?: Partial<GatewayLimits>;
}

export interface GatewayLimits {
  /** Answers under way at once; more are told to come later. */
  readonly concurrency: number;
  /** Requests of one address in a window. */
  readonly requests: number;
  readonly windowMs: number;
}

const defaults: GatewayLimits = { concurrency: 16, requests: 600, windowMs: 10_000 };
/** Addresses remembered; when there are more, all begin anew. */
const MAX_ADDRESSES = 4_096;
const MAX_CONNECTIONS = 128;
const MAX_HEADER_BYTES = 8_192;
const REQUEST_TIMEOUT_MS = 10_000;
/** A reader that takes nothing for so long is gone. */
const IDLE_MS = 30_000;
const RAW = "application/vnd.ipld.raw";
const CAR = "application/vnd.ipld.car";
const CACHED = "public, max-age=29030400, immutable";

type Format = "raw" | "car";

/** Throws NETWORK_FAILED when the port is taken. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const limits = { ...defaults, ...options.limits };
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
    running += 1;
    answer(options.store, request, response)
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

async function listen(server: Server, { host, port }: GatewayOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) =>
      reject(
        new ConclaveError(
          "NETWORK_FAILED",
          `Listen on ${host}:${port} for the gateway failed: ${error.message}`,
          { host, port },
          error,
        ),
      ),
    );
    server.listen(port, host, resolve);
  });
}

/** Counts requests by address in windows of time. */
function createAdmission({ requests, windowMs }: GatewayLimits): (address: string) => boolean {
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

async function answer(
  store: GatewayOptions["store"],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== "GET" && request.method !== "HEAD") {
    refuse(response, 405, "GET and HEAD only", { allow: "GET, HEAD" });
    return;
  }
  const url = URL.parse(`http://gateway${request.url ?? "/"}`);
  const [, text = ""] = /^\/ipfs\/([^/]+)\/?$/.exec(url?.pathname ?? "") ?? [];
  const digest = digestFromCid(text);
  if (url === null || digest === null) {
    refuse(response, 400, "ask for /ipfs/CID: CIDv1, dag-cbor, sha2-256, base32, without a path below it");
    return;
  }
  const format = formatOf(url.searchParams.get("format"), request.headers.accept);
  if (format === null) {
    refuse(response, 406, `give format=raw or format=car, or accept ${RAW} or ${CAR}`);
    return;
  }
  if (!(await store.has(digest))) {
    refuse(response, 404, "not held here");
    return;
  }
  const isWhole = format === "car" && !["block", "entity"].includes(url.searchParams.get("dag-scope") ?? "all");
  const tag = `"${text}.${format}${format === "car" && !isWhole ? ".block" : ""}"`;
  if (request.headers["if-none-match"] === tag) {
    response.writeHead(304, { etag: tag, "cache-control": CACHED }).end();
    return;
  }
  response.setHeaders(new Headers({ ...headersOf(text, format), etag: tag }));
  if (request.method === "HEAD") response.writeHead(200).end();
  else if (format === "raw") response.end(await store.get(digest));
  else await sendCar(store, digest, isWhole, response);
}

function headersOf(cid: string, format: Format): Record<string, string> {
  return {
    "content-type": format === "raw" ? RAW : `${CAR}; version=1; order=unk; dups=n`,
    "content-disposition": `attachment; filename="${cid}.${format === "raw" ? "bin" : "car"}"`,
    "cache-control": CACHED,
    "x-content-type-options": "nosniff",
    "x-ipfs-path": `/ipfs/${cid}`,
    "access-control-allow-origin": "*",
  };
}

/** A block that turns out not to be here ends the connection, so that nobody takes a part for the whole. */
async function sendCar(
  store: GatewayOptions["store"],
  root: Digest,
  isWhole: boolean,
  response: ServerResponse,
): Promise<void> {
  const get = async (digest: Digest): Promise<Uint8Array> => {
    if (!(await store.has(digest))) throw new Error("a block below the root is not held here");
    return store.get(digest);
  };
  await pipeline(Readable.from(writeCar(root, get, isWhole)), response);
}

/** The parameter comes before the header. */
function formatOf(parameter: string | null, accept: string | undefined): Format | null {
  if (parameter !== null) return parameter === "raw" || parameter === "car" ? parameter : null;
  const wanted = (accept ?? "").split(",").map((entry) => entry.split(";")[0]?.trim());
  if (wanted.includes(RAW)) return "raw";
  return wanted.includes(CAR) ? "car" : null;
}

function refuse(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "text/plain", "cache-control": "no-store", ...headers });
  response.end(`${text}\n`);
}
