import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { encodeLiveEvent } from "../../core/encoding/live-events.ts";
import type { Attempt } from "../../core/types.ts";
import type { LiveFeed } from "../../ports/live-feed.ts";
import type { LiveFacts } from "../../ports/metrics.ts";
import { countedAs, refuse, startHttpServer, type HttpServer } from "../http-server.ts";
import type { LiveConfig } from "./config.ts";

/** Streams what committees say, as server-sent events: GET /live/REQUEST/ATTEMPT. Nothing that is sent to it changes anything. */
export interface LiveStreams extends Pick<HttpServer, "url" | "close"> {
  readonly feed: LiveFeed;
  facts(): LiveFacts;
}

/** What the server told of one attempt. All its streams send the same bytes. */
interface Recording {
  /** Part of every event's id: a recording that begins again after a restart has another one. */
  readonly run: string;
  readonly frames: Buffer[];
  bytes: number;
  /** Nothing more is added. */
  isOver: boolean;
  /** Streams that have sent everything and wait for more. */
  readonly waiting: Set<() => void>;
}

export interface LiveBounds {
  /** Events of one attempt; a recording that is full ends its streams. */
  readonly recordingBytes: number;
  /** All recordings together; the oldest one goes first. */
  readonly bytes: number;
  /** A watcher that does not take what was sent for this long is cut. */
  readonly slowestMs: number;
  /** Time between two signs of life in a silent stream; shorter than the time after which a connection counts as idle. */
  readonly heartbeatMs: number;
}

/** LV5. */
const defaults: LiveBounds = { recordingBytes: 16_777_216, bytes: 134_217_728, slowestMs: 10_000, heartbeatMs: 10_000 };
/** LV5: a watcher that is cut comes back, but not as often as it likes. Behind a proxy all watchers are one address. */
const WINDOW_MS = 10_000;
const LEAST_REQUESTS = 30;
const REQUESTS_PER_CLIENT = 4;
const PATH = /^\/live\/(\d{1,48})\/(\d{1,3})$/;
const AFTER = /^([0-9a-f]{8})-(\d{1,7})$/;

/** Throws NETWORK_FAILED if the port is taken. */
export async function startLiveStreams(config: LiveConfig, some: Partial<LiveBounds> = {}): Promise<LiveStreams> {
  const bounds = { ...defaults, ...some };
  const recordings = new Map<string, Recording>();
  const watchers = new Map<string, number>();
  const counts = { sent: 0, address: 0, slow: 0 };
  const server = await startHttpServer({
    name: "live stream",
    host: config.host,
    port: config.port,
    limits: {
      requests: Math.max(LEAST_REQUESTS, REQUESTS_PER_CLIENT * config.clientsPerAddress),
      windowMs: WINDOW_MS,
      concurrency: config.clients,
    },
    localOnly: !config.public,
    headers: (request) => readableBy(request, config.origins),
    answer: async (request, response) => {
      const url = URL.parse(`http://live${request.url ?? "/"}`);
      const [, requestId, attempt] = PATH.exec(url?.pathname ?? "") ?? [];
      if (requestId === undefined) return refuse(response, 404, "ask for /live/REQUEST/ATTEMPT");
      const recording = recordings.get(`${requestId}/${attempt}`);
      if (recording === undefined) {
        response.writeHead(204, { "cache-control": "no-store" }).end();
        return;
      }
      const address = countedAs(request.socket.remoteAddress);
      const open = watchers.get(address) ?? 0;
      if (open >= config.clientsPerAddress) {
        counts.address += 1;
        return refuse(response, 429, "this address watches enough already", { "retry-after": "10" });
      }
      watchers.set(address, open + 1);
      try {
        const from = placeIn(recording, url?.searchParams.get("after") ?? "");
        await stream(recording, from, { bounds, counts, request, response });
      } finally {
        const left = (watchers.get(address) ?? 1) - 1;
        if (left === 0) watchers.delete(address);
        else watchers.set(address, left);
      }
    },
  });
  return {
    url: server.url,
    feed: feedOf(recordings, bounds),
    facts: () => ({
      watchers: watchers.values().reduce((sum, open) => sum + open, 0),
      sent: counts.sent,
      refused: { busy: server.refused(), address: counts.address, slow: counts.slow },
    }),
    close: () => {
      for (const recording of recordings.values()) end(recording);
      return server.close();
    },
  };
}

function feedOf(recordings: Map<string, Recording>, bounds: LiveBounds): LiveFeed {
  let bytes = 0;
  const drop = (key: string): void => {
    const recording = recordings.get(key);
    if (recording === undefined) return;
    recordings.delete(key);
    bytes -= recording.bytes;
    end(recording);
  };
  return {
    opened(attempt) {
      const key = keyOf(attempt);
      drop(key);
      const run = randomBytes(4).toString("hex");
      recordings.set(key, { run, frames: [], bytes: 0, isOver: false, waiting: new Set() });
    },
    tell(attempt, event) {
      const recording = recordings.get(keyOf(attempt));
      if (recording === undefined || recording.isOver) return;
      const frame = Buffer.from(`id: ${recording.run}-${recording.frames.length}\ndata: ${encodeLiveEvent(event)}\n\n`);
      if (recording.bytes + frame.length > bounds.recordingBytes) {
        end(recording);
        return;
      }
      recording.frames.push(frame);
      recording.bytes += frame.length;
      bytes += frame.length;
      wake(recording);
      for (const oldest of recordings.keys()) {
        if (bytes <= bounds.bytes) break;
        drop(oldest);
      }
    },
    closed: (attempt) => drop(keyOf(attempt)),
  };
}

function keyOf({ request, attempt }: Attempt): string {
  return `${request.id}/${attempt}`;
}

function end(recording: Recording): void {
  recording.isOver = true;
  wake(recording);
}

function wake({ waiting }: Recording): void {
  for (const one of waiting) one();
  waiting.clear();
}

/** LV6: returns how many events the watcher has; none if it names that of another recording. */
function placeIn({ run, frames }: Recording, after: string): number {
  const [, named, index] = AFTER.exec(after) ?? [];
  return named === run ? Math.min(Number(index) + 1, frames.length) : 0;
}

interface Watcher {
  readonly bounds: LiveBounds;
  readonly counts: { sent: number; slow: number };
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Sends the recording from a place on until it is over or the watcher leaves. */
async function stream(
  recording: Recording,
  from: number,
  { bounds, counts, request, response }: Watcher,
): Promise<void> {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    // A proxy that gathers events before it passes them on shows them late.
    "x-accel-buffering": "no",
  });
  if (request.method === "HEAD") {
    response.end();
    return;
  }
  const left = new AbortController();
  response.once("close", () => left.abort());
  const write = async (chunk: Buffer | string): Promise<boolean> => {
    const fate = await writeTo(response, chunk, bounds.slowestMs, left.signal);
    if (fate === "slow") counts.slow += 1;
    return fate === "taken";
  };
  await write("retry: 2000\n\n");
  for (let at = from; !left.signal.aborted;) {
    const frame = recording.frames[at];
    if (frame !== undefined) {
      if (await write(frame)) counts.sent += 1;
      at += 1;
    } else if (recording.isOver) break;
    else if (!(await hasMore(recording, bounds.heartbeatMs, left.signal))) await write(":\n\n");
  }
  response.end();
}

/**
 * Writes a chunk, and waits while the watcher is behind: nothing is kept for it but its place in the recording. A watcher that lets it wait for
 * too long is cut.
 */
async function writeTo(
  response: ServerResponse,
  chunk: Buffer | string,
  slowestMs: number,
  left: AbortSignal,
): Promise<"taken" | "left" | "slow"> {
  if (left.aborted) return "left";
  if (response.write(chunk)) return "taken";
  const signal = AbortSignal.any([left, AbortSignal.timeout(slowestMs)]);
  try {
    await once(response, "drain", { signal });
    return "taken";
  } catch {
    const fate = left.aborted ? "left" : "slow";
    response.destroy();
    return fate;
  }
}

/** Waits until the recording changes, a heartbeat at most; false if it did not. */
async function hasMore({ waiting }: Recording, heartbeatMs: number, left: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const changed = (): void => resolve(true);
  const timer = setTimeout(() => resolve(false), heartbeatMs);
  waiting.add(changed);
  left.addEventListener("abort", changed, { once: true });
  const result = await promise;
  clearTimeout(timer);
  waiting.delete(changed);
  left.removeEventListener("abort", changed);
  return result;
}

/** LV5: which pages may read, the refusals included. */
function readableBy({ headers }: IncomingMessage, origins: readonly string[]): Readonly<Record<string, string>> {
  if (origins.includes("*")) return { "access-control-allow-origin": "*" };
  const { origin } = headers;
  const isNamed = origin !== undefined && origins.includes(origin);
  return { vary: "origin", ...(isNamed && { "access-control-allow-origin": origin }) };
}
