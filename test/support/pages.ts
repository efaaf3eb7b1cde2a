// Pages on loopback, and a dialler that lets no packet go anywhere else.
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { BlockList, isIP } from "node:net";
import { join } from "node:path";
import { sourcesConfigSchema, type SourcesConfig } from "../../agents/adapters/source-reader/config.ts";
import { systemDialler, type Dialler } from "../../agents/adapters/source-reader/connect.ts";
import { openSourceReader } from "../../agents/adapters/source-reader/reader.ts";
import { parseSource, type Source } from "../../agents/core/sources/source.ts";
import type { Reading, ReadingFailure } from "../../agents/core/sources/snapshot.ts";
import { listenOnLoopback } from "../../scripts/shared/loopback.ts";

const tls = join(import.meta.dirname, "../../devnet/world/tls");
/** Signs the certificate of pages.test, moved.test and api.test. */
export const AUTHORITY = join(tls, "ca.pem");
const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

export interface GuardedDialler extends Dialler {
  /** Addresses that the reader wanted to connect to. */
  readonly dialled: string[];
  /** Names that it looked up. */
  readonly resolved: string[];
}

/** Knows only these names; of several answers a name gives one after the other. Refuses and records addresses outside loopback. */
export function guardedDialler(names: Readonly<Record<string, readonly (readonly string[])[]>> = {}): GuardedDialler {
  const dialled: string[] = [];
  const resolved: string[] = [];
  return {
    dialled,
    resolved,
    resolve: async (host) => {
      const answers = names[host];
      const asked = resolved.filter((one) => one === host).length;
      resolved.push(host);
      if (answers === undefined) throw Object.assign(new Error(`no such name: ${host}`), { code: "ENOTFOUND" });
      return answers[Math.min(asked, answers.length - 1)] ?? [];
    },
    dial: async (place, timeoutMs) => {
      dialled.push(place.address);
      const family = isIP(place.address) === 6 ? "ipv6" : "ipv4";
      if (!loopback.check(place.address, family))
        throw Object.assign(new Error(`the test lets nothing out to ${place.address}`), { code: "ENETUNREACH" });
      return systemDialler.dial(place, timeoutMs);
    },
  };
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Runs `use` with the TCP port of an https server for pages.test, moved.test and api.test. */
export async function withPages<T>(handler: Handler, use: (port: number) => Promise<T>): Promise<T> {
  const [key, cert] = [readFileSync(join(tls, "server.key")), readFileSync(join(tls, "server.pem"))];
  const server = createServer({ key, cert }, handler);
  server.on("tlsClientError", () => undefined);
  const { port, close } = await listenOnLoopback(server);
  try {
    return await use(port);
  } finally {
    await close();
  }
}

/** A config whose names lead to that port. */
export function configFor(port: number, more: Partial<SourcesConfig> = {}): SourcesConfig {
  const place = { address: "127.0.0.1", port, ca: AUTHORITY };
  return {
    // As long as may be, so that no test depends on what else the machine does.
    ...sourcesConfigSchema.parse({
      timeoutMs: 60_000,
      hosts: { "pages.test": place, "moved.test": place, "api.test": place },
    }),
    ...more,
  };
}

export function sourceOf(text: string): Source {
  const parsed = parseSource(text);
  if ("refused" in parsed) throw new Error(parsed.refused);
  return parsed.source;
}

/** Reads one source with a reader of its own. */
export async function readOnce(
  text: string,
  config: SourcesConfig,
  dialler: Dialler = guardedDialler(),
): Promise<Reading> {
  const get = (): Promise<Uint8Array> => Promise.reject(new Error("there are no documents here"));
  const reader = await openSourceReader({ config, dialler, store: { get } });
  return reader.read(sourceOf(text), new AbortController().signal);
}

/** The reason for which a page that a server gives is not read; null if it is read. */
export async function failureOf(
  handler: Handler,
  {
    path = "/",
    more = {},
    dialler = guardedDialler(),
  }: {
    readonly path?: string;
    readonly more?: Partial<SourcesConfig>;
    readonly dialler?: Dialler;
  } = {},
): Promise<ReadingFailure | null> {
  const reading = await withPages(handler, (port) =>
    readOnce(`https://pages.test${path}`, configFor(port, more), dialler),
  );
  return reading.kind === "failed" ? reading.reason : null;
}
