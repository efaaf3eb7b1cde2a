import { isIP } from "node:net";
import type { Readable } from "node:stream";
import { MIMEType } from "node:util";
import { Agent, Client, ProxyAgent, request, type buildConnector, type Dispatcher } from "undici";
import { limits } from "../../core/limits.ts";
import { messageOf } from "../../core/errors.ts";
import { ACCEPTED_ENCODINGS, readBody } from "./body.ts";
import type { SourcesConfig } from "./config.ts";
import {
  boundedConnector,
  guardedConnector,
  requirePublic,
  systemDialler,
  type Dialler,
  type FixedPlace,
} from "./connect.ts";
import { ReadingError } from "./failure.ts";

/** What a server sent for a page. */
export interface Page {
  readonly finalUrl: string;
  readonly status: number;
  readonly mediaType: string;
  /** What the header says; null if it says nothing. */
  readonly charset: string | null;
  readonly body: Uint8Array;
}

export interface PageOptions {
  readonly config: Pick<SourcesConfig, "deny" | "proxyUrl" | "maxBytes" | "timeoutMs">;
  readonly hosts: ReadonlyMap<string, FixedPlace>;
  /** That of the system if absent. */
  readonly dialler?: Dialler;
}

const MAX_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const OK = 200;
const GONE: ReadonlySet<number> = new Set([404, 410]);
/** The same for every agent, so that an honest server has no cause to send them different pages. */
const HEADERS = {
  accept: "text/html, application/json, application/pdf;q=0.9, text/*;q=0.8, */*;q=0.1",
  "accept-encoding": ACCEPTED_ENCODINGS,
  "accept-language": "en",
  "user-agent": "conclave",
} as const;

/** EV6: certificates are checked behind a proxy, too, and that of the proxy, whatever the environment says. */
const VERIFIED = { requestTls: { rejectUnauthorized: true }, proxyTls: { rejectUnauthorized: true } };

/** EV5, EV6: fetches a page, with connections of its own that end with it. Throws a ReadingError, or the signal's reason. */
export async function fetchPage(url: string, options: PageOptions, signal: AbortSignal): Promise<Page> {
  const { timeoutMs, maxBytes } = options.config;
  const inTime = AbortSignal.timeout(timeoutMs);
  const ended = AbortSignal.any([signal, inTime]);
  const connect = guardedConnector(options.dialler ?? systemDialler, options.hosts, timeoutMs);
  const direct = new Agent({
    connect: boundedConnector(connect, mostOfWire(maxBytes)),
    connections: 1,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  const { proxyUrl } = options.config;
  const proxied = proxyUrl === undefined ? direct : proxyAgent(proxyUrl, maxBytes);
  try {
    return await follow(url, options, (host) => (options.hosts.has(host) ? direct : proxied), ended);
  } catch (error) {
    signal.throwIfAborted();
    if (inTime.aborted) throw new ReadingError("timeout", `the page is not read within ${timeoutMs} ms`);
    throw error instanceof ReadingError ? error : connectionError(error);
  } finally {
    await Promise.all([...new Set([direct, proxied])].map((agent) => agent.destroy()));
  }
}

/** EV5: most bytes that come in over one connection, for a body of so many: twice as many, and room for headers. */
function mostOfWire(maxBytes: number): number {
  return 2 * maxBytes + 65_536;
}

/** EV5, EV6: what goes through the tunnel of a proxy is bounded as what comes directly. */
function proxyAgent(uri: string, maxBytes: number): ProxyAgent {
  const factory = (origin: URL, options: object): Dispatcher => {
    const { connect } = options as { readonly connect: buildConnector.connector };
    return new Client(origin, { ...options, connect: boundedConnector(connect, mostOfWire(maxBytes)) });
  };
  return new ProxyAgent({ uri, factory, ...VERIFIED });
}

async function follow(
  url: string,
  { config }: PageOptions,
  dispatcherOf: (host: string) => Dispatcher,
  signal: AbortSignal,
): Promise<Page> {
  let at = parsed(url, null);
  for (let redirects = 0; ; redirects += 1) {
    requireAllowed(at, config.deny);
    const { statusCode, headers, body } = await request(at, {
      dispatcher: dispatcherOf(at.hostname),
      // A copy: undici's ProxyAgent writes the host into it, which every later reading would send, too.
      headers: { ...HEADERS },
      signal,
    });
    if (!REDIRECTS.has(statusCode)) {
      if (statusCode === OK) return await readPage(at, headers, body, config.maxBytes, signal);
      discard(body);
      const reason = GONE.has(statusCode) ? "not-found" : "server-error";
      throw new ReadingError(reason, `${at.host} answers with status ${statusCode}`);
    }
    discard(body);
    if (redirects === MAX_REDIRECTS)
      throw new ReadingError("too-many-redirects", `the page redirects more than ${MAX_REDIRECTS} times`);
    at = parsed(single(headers, "location") ?? "", at);
  }
}

/** EV5: where a source or a redirect leads, without a fragment. */
function parsed(location: string, from: URL | null): URL {
  const url = location === "" ? null : URL.parse(location, from?.href);
  if (url === null) throw new ReadingError("server-error", `${from?.host ?? location} redirects to no URL`);
  url.hash = "";
  if (url.href.length > limits.snapshotUrlBytes)
    throw new ReadingError("server-error", `the page redirects to a URL of more than ${limits.snapshotUrlBytes} bytes`);
  return url;
}

/** EV5: what holds for a source, which the parser has checked, holds after each redirect. */
function requireAllowed({ protocol, username, password, port, hostname }: URL, deny: readonly string[]): void {
  const refuse = (why: string): never => {
    throw new ReadingError("refused", `the page is at ${hostname}${why}`);
  };
  if (protocol !== "https:") refuse(` by ${protocol.slice(0, 20)} and not by https`);
  if (username !== "" || password !== "") refuse(" with a user or a password");
  if (port !== "") refuse(` at port ${port} and not at 443`);
  const host = hostname.replace(/\.+$/, "");
  const denied = deny.find((name) => host === name || host.endsWith(`.${name}`));
  if (denied !== undefined) refuse(`, and sources.deny has ${denied}`);
  const address = hostname.replace(/^\[(.*)\]$/, "$1");
  // A proxy would connect to it, and would look a name without a dot up in its own network.
  if (isIP(address) !== 0) requirePublic(address, [address]);
  else if (!host.includes("."))
    throw new ReadingError("blocked-address", `the page is at ${host}, which is no full name`);
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

async function readPage(
  url: URL,
  headers: Headers,
  body: Readable,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Page> {
  try {
    const { essence, params } = mediaTypeOf(headers);
    const encoding = String(headers["content-encoding"] ?? "");
    const bytes = await readBody(body, encoding, maxBytes, signal);
    return { finalUrl: url.href, status: OK, mediaType: essence, charset: params.get("charset"), body: bytes };
  } finally {
    discard(body);
  }
}

function mediaTypeOf(headers: Headers): MIMEType {
  const header = single(headers, "content-type") ?? "";
  try {
    const type = new MIMEType(header);
    if (type.essence.length <= limits.snapshotWordBytes) return type;
  } catch {
    // Said below.
  }
  throw new ReadingError("not-text", `the server names no media type: ${JSON.stringify(header.slice(0, 80))}`);
}

/** A header that stands once; a server that says two things says nothing. */
function single(headers: Headers, name: string): string | null {
  const value = headers[name];
  return typeof value === "string" ? value : null;
}

/** Ends a response that nobody reads; its error would end the process. */
function discard(body: Readable): void {
  body.on("error", () => undefined);
  body.destroy();
}

const TLS_CODE =
  /^(?:CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO$)/;

/** Codes of answers that are no HTTP; an assertion of undici's fails at a status below 100. */
const NO_HTTP_CODE = /^(?:HPE_|HTTPParserError$|ERR_ASSERTION$|UND_ERR_(?:R|INVALID))/;
/** What undici says, without a code of its own, of status 100 and 101, for which it did not ask. */
const NO_HTTP_MESSAGE = /^bad (?:response|upgrade)$/;

/** EV12: the reason of an error that undici, the resolver or the system gives. */
function connectionError(error: unknown): ReadingError {
  const codes = [error, error instanceof Error ? error.cause : undefined].flatMap((one) => {
    if (!(one instanceof Error)) return [];
    const { code, name } = one as NodeJS.ErrnoException;
    return [code ?? name];
  });
  const [code = messageOf(error)] = codes;
  if (codes.some((one) => TLS_CODE.test(one)))
    return new ReadingError("tls", `the server's certificate fails (${code})`);
  if (code === "UND_ERR_HEADERS_OVERFLOW") return new ReadingError("too-large", "the headers are too long");
  if (NO_HTTP_CODE.test(code) || NO_HTTP_MESSAGE.test(messageOf(error)))
    return new ReadingError("server-error", `no HTTP (${code})`);
  if (/TIMEOUT/.test(code)) return new ReadingError("timeout", `the server does not answer in time (${code})`);
  return new ReadingError("unreachable", `the connection fails (${code})`);
}
