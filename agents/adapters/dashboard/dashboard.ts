// The dashboard (dashboard/), served as static files.
import { readFile, readdir } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join, sep } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { ConclaveError, messageOf } from "../../core/errors.ts";
import { sha256 } from "../../core/encoding/bytes.ts";
import { isAskedLocally, refuse, startHttpServer, type HttpServer, type HttpServerLimits } from "../http-server.ts";

/** Static files, all in memory: a request names one of them or nothing, so no path leads out of the folder. */
export interface Dashboard {
  /** Answers a GET or HEAD. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void;
}

interface StaticFile {
  readonly bytes: Uint8Array;
  /** The bytes by gzip; null for what it makes no smaller, or what is small anyway. */
  readonly zipped: Uint8Array | null;
  readonly headers: Readonly<Record<string, string>>;
}

export interface DashboardServerOptions {
  readonly dashboard: Dashboard;
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
}

/** The gateways, and the live streams, that the dashboard takes: those of dashboard/src/settings/settings.ts. */
export const MOST_GATEWAYS = 8;
export const MOST_LIVE = 64;
const MAX_FILES = 1_000;
const MAX_BYTES = 64_000_000;
const INDEX = "index.html";
/** Beside the index: where the dashboard finds chain, contracts and gateways. */
const CONFIG = "config.json";
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".wasm": "application/wasm",
  ".txt": "text/plain; charset=utf-8",
};
/** For a dashboard that states no policy of its own. */
const STRICT_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'";
const LIMITS: HttpServerLimits = { concurrency: 16, requests: 600, windowMs: 10_000 };

export interface DashboardConfig {
  /** Makes `config.json` for the host that a browser asked, e.g. "127.0.0.1:8080". */
  readonly config: (host: string) => object;
  /** True refuses it to whoever does not name this machine, as a page does whose own name leads here: the RPC's URL may hold a key. */
  readonly isLocal: boolean;
}

/** Reads the built dashboard. Throws CONFIG_INVALID if the folder holds none. */
export async function readDashboard(folder: string, { config, isLocal }: DashboardConfig): Promise<Dashboard> {
  const files = await readFiles(folder);
  const index = files.get(INDEX);
  if (index === undefined) throw invalid(folder, `it has no ${INDEX}; build the dashboard with npm run page:build`);
  const policy = policyOf(Buffer.from(index.bytes).toString());
  return {
    answer(request, response) {
      const path = URL.parse(`http://dashboard${request.url ?? "/"}`)?.pathname.slice(1) ?? "";
      const name = path === "" ? INDEX : path;
      if (name === CONFIG && isLocal && !isAskedLocally(request)) {
        refuse(response, 403, "ask for localhost");
        return;
      }
      const file = name === CONFIG ? configFile(config(hostOf(request))) : files.get(name);
      if (file === undefined) {
        refuse(response, 404, "no such file");
        return;
      }
      const zipped = takesGzip(request) ? file.zipped : null;
      const headers = { ...file.headers, ...(zipped !== null && ZIPPED), "content-security-policy": policy, ...SAFE };
      const isKnown = request.headers["if-none-match"] === file.headers["etag"] && name !== CONFIG;
      response.writeHead(isKnown ? 304 : 200, headers);
      response.end(request.method === "HEAD" || isKnown ? undefined : (zipped ?? file.bytes));
    },
  };
}

/** Serves the dashboard alone. Throws NETWORK_FAILED if the port is taken. */
export function startDashboardServer({ dashboard, host, port }: DashboardServerOptions): Promise<HttpServer> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> =>
    dashboard.answer(request, response);
  return startHttpServer({ name: "dashboard", host, port, limits: LIMITS, answer });
}

const ZIPPED = { "content-encoding": "gzip" } as const;

const GZIP_TAKEN = /(?:^|[,\s])gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))(?:[;,\s]|$)/i;

function takesGzip({ headers }: IncomingMessage): boolean {
  return GZIP_TAKEN.test(headers["accept-encoding"] ?? "");
}

const SAFE = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
} as const;

async function readFiles(folder: string): Promise<ReadonlyMap<string, StaticFile>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    throw invalid(folder, `${messageOf(error)}; build the dashboard with npm run page:build`, error);
  });
  const files = new Map<string, StaticFile>();
  let bytes = 0;
  for (const entry of entries) {
    // A link could lead anywhere.
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const file = await fileOf(entry.name, await readFile(path));
    bytes += file.bytes.length;
    files.set(path.slice(folder.length + 1).replaceAll(sep, "/"), file);
    if (files.size > MAX_FILES || bytes > MAX_BYTES)
      throw invalid(folder, `it has more than ${MAX_FILES} files or ${MAX_BYTES} bytes, so it is no built dashboard`);
  }
  return files;
}

const MIN_ZIPPED_BYTES = 1_000;
const zip = promisify(gzip);

async function fileOf(name: string, bytes: Uint8Array): Promise<StaticFile> {
  const type = TYPES[extname(name)] ?? "application/octet-stream";
  // A name with a hash never gets other bytes; every other file is asked for again.
  const cached = /-[\w-]{8,}\.\w+$/.test(name) ? "public, max-age=31536000, immutable" : "no-cache";
  const zipped = bytes.length < MIN_ZIPPED_BYTES ? null : await zip(bytes);
  const isSmaller = zipped !== null && zipped.length < bytes.length;
  // Weak, since both forms of the file have it.
  const etag = `W/"${sha256(bytes).slice(2, 34)}"`;
  const headers = { "content-type": type, "cache-control": cached, etag, vary: "accept-encoding" };
  return { bytes, zipped: isSmaller ? zipped : null, headers };
}

function configFile(config: object): StaticFile {
  const type = TYPES[".json"] as string;
  return {
    bytes: Buffer.from(`${JSON.stringify(config)}\n`),
    zipped: null,
    headers: { "content-type": type, "cache-control": "no-store" },
  };
}

/** The policy that the dashboard itself states, and what only a header can say. */
function policyOf(html: string): string {
  const [, stated] = /http-equiv="Content-Security-Policy"\s+content="([^"\r\n]{1,2000})"/.exec(html) ?? [];
  return `${stated ?? STRICT_POLICY}; frame-ancestors 'none'`;
}

/** What the browser calls this server; its own name if that is no host. */
function hostOf({ headers, socket }: IncomingMessage): string {
  const named = headers.host ?? "";
  return /^[\w.:[\]-]{1,255}$/.test(named) ? named : `${socket.localAddress ?? ""}:${socket.localPort ?? ""}`;
}

function invalid(folder: string, why: string, cause?: unknown): ConclaveError {
  return new ConclaveError(
    "CONFIG_INVALID",
    `Serve the dashboard of ${folder}: ${why}`,
    { folder, option: "--ui" },
    cause,
  );
}
