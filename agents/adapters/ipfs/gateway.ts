import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { digestFromCid } from "../../core/encoding/cid.ts";
import type { Digest } from "../../core/types.ts";
import type { ContentStore } from "../../ports/content-store.ts";
import { refuse, startHttpServer, type HttpServer, type HttpServerLimits } from "../http-server.ts";
import { writeCar } from "./car.ts";

export interface GatewayOptions {
  readonly store: Pick<ContentStore, "get" | "has">;
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly limits?: Partial<HttpServerLimits>;
  /** Answers requests for anything but blocks, such as a page's files. Without it they are refused. */
  readonly others?: (request: IncomingMessage, response: ServerResponse) => void;
}

const defaults: HttpServerLimits = { concurrency: 16, requests: 600, windowMs: 10_000 };
const RAW = "application/vnd.ipld.raw";
const CAR = "application/vnd.ipld.car";
const CACHED = "public, max-age=29030400, immutable";

/**
 * Pages of other origins may read all answers about blocks, refusals included: what is held nowhere must not look like a network that is
 * down. They may not read what `others` answers: the dashboard's config names the RPC's URL, which may hold a key.
 */
const OPEN = { "access-control-allow-origin": "*", "access-control-expose-headers": "retry-after" };

type Format = "raw" | "car";

/**
 * Serves https://specs.ipfs.tech/http-gateways/trustless-gateway/ over the store's own blocks: raw blocks and CARs,
 * and nothing else but what `others` answers. Throws NETWORK_FAILED if the port is taken.
 */
export async function startGateway({ store, host, port, limits, others }: GatewayOptions): Promise<HttpServer> {
  const bounds = { ...defaults, ...limits };
  const shareOut = createShare(Math.ceil(bounds.concurrency / 2));
  const isForBlock = ({ url }: IncomingMessage): boolean => others === undefined || url?.startsWith("/ipfs/") === true;
  return await startHttpServer({
    name: "gateway",
    host,
    port,
    limits: bounds,
    headers: (request) => (isForBlock(request) ? OPEN : {}),
    answer: async (request, response) => {
      if (isForBlock(request)) await answer(store, request, response, shareOut);
      else others?.(request, response);
    },
  });
}

/** Runs the work if it gets a place; resolves with whether it did. */
type Share = (work: () => Promise<void>) => Promise<boolean>;

function createShare(places: number): Share {
  let taken = 0;
  return async (work) => {
    if (taken >= places) return false;
    taken += 1;
    try {
      await work();
    } finally {
      taken -= 1;
    }
    return true;
  };
}

/** @param shareOut gives places to CARs, which last as long as their readers want; a block is sent at once */
async function answer(
  store: GatewayOptions["store"],
  request: IncomingMessage,
  response: ServerResponse,
  shareOut: Share,
): Promise<void> {
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
  const headers = new Headers({ ...headersOf(text, format), etag: tag });
  if (request.method === "HEAD") response.setHeaders(headers).writeHead(200).end();
  else if (format === "raw") response.setHeaders(headers).end(await store.get(digest));
  else if (!(await shareOut(() => sendCar(store, digest, isWhole, response.setHeaders(headers)))))
    refuse(response, 503, "busy", { "retry-after": "1" });
}

function headersOf(cid: string, format: Format): Record<string, string> {
  return {
    "content-type": format === "raw" ? RAW : `${CAR}; version=1; order=unk; dups=n`,
    "content-disposition": `attachment; filename="${cid}.${format === "raw" ? "bin" : "car"}"`,
    "cache-control": CACHED,
    "x-content-type-options": "nosniff",
    "x-ipfs-path": `/ipfs/${cid}`,
  };
}

/** Sends a CAR. A missing block ends the connection, so that nobody takes a part for the whole. */
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

/** Returns the wanted format; the parameter overrides the header. */
function formatOf(parameter: string | null, accept: string | undefined): Format | null {
  if (parameter !== null) return parameter === "raw" || parameter === "car" ? parameter : null;
  const wanted = (accept ?? "").split(",").map((entry) => entry.split(";")[0]?.trim());
  if (wanted.includes(RAW)) return "raw";
  return wanted.includes(CAR) ? "car" : null;
}
