import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Transform } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { connectionFailure } from "../http.ts";
import type { SearchConfig } from "./config.ts";
import { ReadingError } from "./failure.ts";
import type { Secrets } from "./search-tool.ts";

/** EV16: most bytes that a server says in one search, whatever they are. */
const MAX_SERVER_BYTES = 1_000_000;
/** How long a server may take to end by itself. */
const FAREWELL_MS = 500;

/** A connection to an operator's MCP server, for one search. */
export interface SearchServer {
  readonly transport: Transport;
  /** Rejects with a ReadingError once the server cannot go on; never resolves. */
  readonly broken: Promise<never>;
  /** Ends the connection, and all processes that were started for it. Never throws. */
  close(): Promise<void>;
}

export function openServer(config: SearchConfig, secrets: Secrets): SearchServer {
  return config.kind === "stdio" ? startServer(config, secrets) : connectServer(config, secrets);
}

/** Counts what a server says; the first byte too many breaks it. */
function meter(refuse: (error: Error) => void): (chunk: Uint8Array) => boolean {
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.length;
    if (bytes > MAX_SERVER_BYTES)
      refuse(new ReadingError("tool-error", `the server says more than ${MAX_SERVER_BYTES} bytes in one search`));
    return bytes <= MAX_SERVER_BYTES;
  };
}

function startServer({ command, args, env }: Extract<SearchConfig, { kind: "stdio" }>, secrets: Secrets): SearchServer {
  const { promise: broken, reject } = Promise.withResolvers<never>();
  const child = spawn(command, args, {
    env: { ...getDefaultEnvironment(), ...Object.fromEntries(env.map((name) => [name, secrets[name]])) },
    // Nobody reads what it logs, so that no flood of it takes memory.
    stdio: ["pipe", "pipe", "ignore"],
    // A process group of its own ends as a whole: launchers such as npx start the server as another process.
    detached: true,
  });
  const ended = (why: string) => reject(new ReadingError("tool-error", `the server ${why}`));
  child.once("error", (error: NodeJS.ErrnoException) => ended(`does not start (${error.code ?? error.name})`));
  child.once("exit", (code, signal) => ended(`ended before it answered (${signal ?? `exit code ${code}`})`));
  // It no longer listens; its end says so.
  child.stdin.on("error", () => undefined);
  const count = meter(reject);
  const bounded = new Transform({
    transform: (chunk: Uint8Array, _, done) => (count(chunk) ? done(null, chunk) : done()),
  });
  // The transport of a server, read from the other end: unlike the client's it leaves the process to us.
  const transport = new StdioServerTransport(child.stdout.pipe(bounded), child.stdin);
  const close = async (): Promise<void> => {
    await endGroup(child);
    await transport.close();
  };
  return { transport, broken, close };
}

async function endGroup(child: ChildProcess): Promise<void> {
  child.stdin?.end();
  const { pid } = child;
  if (pid === undefined) return;
  if (child.exitCode === null && child.signalCode === null) {
    const exited = once(child, "exit");
    signalGroup(pid, "SIGTERM");
    await Promise.race([exited, pause(FAREWELL_MS, undefined, { ref: false })]);
  }
  signalGroup(pid, "SIGKILL");
  child.stdout?.destroy();
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // Nothing of it is left.
  }
}

function connectServer({ url }: Extract<SearchConfig, { kind: "http" }>, secrets: Secrets): SearchServer {
  const { promise: broken, reject } = Promise.withResolvers<never>();
  const count = meter(reject);
  const bounded = async (input: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, init).catch((error: unknown) => {
      throw new ReadingError("tool-error", connectionFailure(error));
    });
    if (response.body === null) return response;
    const body = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => (count(chunk) ? controller.enqueue(chunk) : controller.terminate()),
      }),
    );
    return new Response(body, response);
  };
  const { apiKey } = secrets;
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: bounded,
    ...(apiKey !== undefined && { requestInit: { headers: { authorization: `Bearer ${apiKey}` } } }),
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1,
      maxReconnectionDelay: 1,
      reconnectionDelayGrowFactor: 1,
    },
  });
  const close = async (): Promise<void> => {
    const farewell = transport.terminateSession().catch(() => undefined);
    await Promise.race([farewell, pause(FAREWELL_MS, undefined, { ref: false })]);
    await transport.close();
  };
  return { transport, broken, close };
}
