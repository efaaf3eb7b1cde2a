// `conclave dev` as a child process, whose standard input ends with this process, and with which it ends.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { FUNCTION, SIGNAL, kindOf, oneOf, optional, record, requireArguments, wholeNumber } from "../arguments.ts";
import { limits } from "../../../agents/core/limits.ts";
import type { ConclaveDeployment } from "../connection.ts";
import { ConclaveError } from "../errors.ts";

export interface NetworkOptions {
  /** Path of conclave's program, e.g. scripts/conclave.mjs of its repository; that of the installed package if absent. */
  readonly program?: string;
  /** How many agents there are: 4 to 64, 5 if absent. */
  readonly agents?: number;
  /** Time between blocks, 0.2 if absent. A committee is drawn some twenty blocks after a question. */
  readonly blockTimeSeconds?: number;
  /** The last agent lies, and contradicts itself. */
  readonly liar?: boolean;
  /** Indexes the chain with graph-node (linux-x64). */
  readonly subgraph?: boolean;
  /** Path or name of the agents' model; the small one that knows six families of toy questions if absent. */
  readonly model?: string;
  /** Keeps the network there, and goes on with it. */
  readonly directory?: string;
  /** Gets each line of progress. */
  readonly onProgress?: (line: string) => void;
  /** Ends the start, and with it the network. */
  readonly signal?: AbortSignal;
}

/** What `conclave dev --json` says first. */
export interface DevFacts {
  readonly rpcUrl: string;
  readonly deployment: ConclaveDeployment & {
    /** Fees and stake; anybody may mint it. */
    readonly token: `0x${string}`;
  };
  /** A deployment file for the command line. */
  readonly deploymentFile: string;
  /** Gateways to the agents' transcripts, once the agents serve. */
  readonly gateways: readonly string[];
  /** Null unless `subgraph` was wanted. */
  readonly subgraphUrl: string | null;
  /** An account with coins, tokens and a subscription. Its key is public. */
  readonly asker: {
    readonly address: `0x${string}`;
    readonly privateKey: `0x${string}`;
    readonly subscriptionId: number;
  };
}

export interface DevProcess {
  readonly facts: DevFacts;
  readonly serving: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Agents may need so long to end; then all of it is killed. */
const STOP_MS = 20_000;
/** Last lines that are kept for an error's message. */
const KEPT_LINES = 20;

// Programs take no text with a zero character.
const WORD = kindOf("a text", (value) => typeof value === "string" && !value.includes("\0"));
const SWITCH = oneOf([true, false]);

const LONGEST_BLOCK_SECONDS = 60;

/** What `conclave dev` takes, too. */
const KINDS = {
  program: optional(WORD),
  agents: optional(wholeNumber(limits.minCommittee, limits.maxCommittee)),
  blockTimeSeconds: optional(
    kindOf(
      `a number of seconds with at most 3 decimals, such as 0.2, at most ${LONGEST_BLOCK_SECONDS}`,
      (value) =>
        typeof value === "number" &&
        /^\d{1,2}(\.\d{1,3})?$/.test(String(value)) &&
        0 < value &&
        value <= LONGEST_BLOCK_SECONDS,
    ),
  ),
  liar: optional(SWITCH),
  subgraph: optional(SWITCH),
  model: optional(WORD),
  directory: optional(WORD),
  onProgress: optional(FUNCTION),
  signal: SIGNAL,
};
const OPTIONS = record(KINDS);

/** Throws USAGE or WORLD_FAILED. */
export async function startDev(options: NetworkOptions): Promise<DevProcess> {
  requireArguments({ options: OPTIONS }, [options]);
  for (const name of Object.keys(options))
    if (!Object.hasOwn(KINDS, name)) {
      const way = `there is no such option; there are ${Object.keys(KINDS).join(", ")}`;
      throw new ConclaveError("USAGE", `Check the arguments: ${name}: ${way}`, { field: name });
    }
  const { signal } = options;
  signal?.throwIfAborted();
  const program = options.program ?? findProgram();
  const child = spawn(process.execPath, [program, ...argumentsOf(options)], { stdio: ["pipe", "pipe", "pipe"] });
  const exited = once(child, "exit");
  const stop = (): Promise<void> => end(child, exited);
  const abort = (): void => void stop();
  signal?.addEventListener("abort", abort, { once: true });
  const said = keepLines(child, options.onProgress);
  const events = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  try {
    const facts = await nextEvent(events, "ready", said);
    const serving = nextEvent(events, "serving", said).then(() => undefined);
    // Whoever waits for it hears of a failure; nobody has to wait.
    serving.catch(() => undefined);
    return { facts: facts as unknown as DevFacts, serving: () => serving, stop };
  } catch (error) {
    await stop();
    signal?.throwIfAborted();
    throw error;
  }
}

/** Finds the package that is installed beside this one. */
function findProgram(): string {
  try {
    const packageFile = fileURLToPath(import.meta.resolve("conclave/package.json"));
    const { bin } = JSON.parse(readFileSync(packageFile, "utf8")) as { readonly bin: { readonly conclave: string } };
    return join(dirname(packageFile), bin.conclave);
  } catch (cause) {
    const message =
      "Start a network: the package conclave is not installed here; install it (docs/integrating.md of its repository, A local world for tests, says how), or name its program (scripts/conclave.mjs of its repository) as `program`";
    throw new ConclaveError("WORLD_FAILED", message, { field: "program" }, cause);
  }
}

function argumentsOf(options: NetworkOptions): readonly string[] {
  const { agents, blockTimeSeconds = 0.2, liar = false, subgraph = false, model, directory } = options;
  return [
    "dev",
    "--json",
    "--while-stdin",
    "--port",
    "0",
    "--block-time",
    String(blockTimeSeconds),
    ...(agents === undefined ? [] : ["--agents", String(agents)]),
    ...(liar ? ["--liar"] : []),
    ...(subgraph ? ["--subgraph"] : []),
    ...(model === undefined ? [] : ["--model", model]),
    ...(directory === undefined ? [] : ["--dir", directory]),
  ];
}

/** Keeps the last lines of standard error, which must be read or the child would wait. */
function keepLines(child: ChildProcess, onProgress: NetworkOptions["onProgress"]): readonly string[] {
  const kept: string[] = [];
  if (child.stderr !== null)
    createInterface({ input: child.stderr }).on("line", (line) => {
      kept.push(line);
      if (kept.length > KEPT_LINES) kept.shift();
      onProgress?.(line);
    });
  return kept;
}

/** Returns the event that comes next. Throws WORLD_FAILED with what the process said if it is an error, or if none comes. */
async function nextEvent(
  lines: AsyncIterator<string>,
  name: string,
  said: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  const { value, done } = await lines.next();
  const event = done === true ? {} : (parse(value) ?? {});
  if (event["event"] === name) return event;
  const { message } = (event["error"] ?? {}) as { readonly message?: string };
  throw new ConclaveError("WORLD_FAILED", `Start a network: ${message ?? `conclave dev ended; ${said.join("\n")}`}`);
}

function parse(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>> | null;
  } catch {
    return null;
  }
}

async function end(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  child.stdin?.end();
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  await exited;
  clearTimeout(timer);
}
