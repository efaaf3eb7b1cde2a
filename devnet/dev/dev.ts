// `conclave dev`: a local world to write applications against.
import { once } from "node:events";
import { dirname, resolve } from "node:path";
import { parseFolder, parseInteger, usage } from "../../agents/cli/shared/arguments.ts";
import type { CommandSpec } from "../../agents/cli/shared/command.ts";
import { readFileOf, withFiles } from "../../agents/cli/shared/config.ts";
import { sourcesConfigSchema, type SourcesConfig } from "../../agents/adapters/source-reader/config.ts";
import { toJson } from "../../agents/cli/shared/output.ts";
import { limits } from "../../agents/core/limits.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { NO_GRAPH_NODE, findGraphNode } from "../../scripts/subgraph/build.ts";
import { worldModel } from "../world/model.ts";
import { renderWorld } from "./report.ts";
import { DEFAULT_AGENTS, startDevWorld } from "./start.ts";

interface Options {
  readonly dir?: string;
  readonly port: string;
  readonly blockTime: string;
  readonly agents?: string;
  readonly liar?: true;
  readonly model?: string;
  readonly sources?: string;
  readonly subgraph?: true;
  readonly whileStdin?: true;
}

const DEFAULT_PORT = 8_545;
const MAX_PORT = 65_535;
/** The chain, and whatever listens beside it; see start.ts. */
const MAX_CHAIN_PORT = MAX_PORT - 200;
const LONGEST_BLOCK_SECONDS = 60;

export const dev: CommandSpec<Options> = {
  example:
    "conclave dev\n" +
    "conclave dev --dir ./my-world                   # keeps chain and agents; the same command goes on\n" +
    "conclave dev --liar --subgraph                  # one agent lies and equivocates; history by GraphQL",
  options: [
    {
      flags: "--dir <dir>",
      description: "keep the world there, and go on with it (default: it is removed at the end)",
    },
    {
      flags: "--port <number>",
      description:
        "of the chain; the dashboard has this number + 5, the agents' gateways and live streams those from + 6 on; 0: all ports are free ones",
      default: String(DEFAULT_PORT),
    },
    { flags: "--block-time <seconds>", description: "time between blocks, such as 1 or 0.2", default: "1" },
    {
      flags: "--agents <number>",
      description: `how many agents there are (default: as many as --dir keeps, else ${DEFAULT_AGENTS})`,
    },
    { flags: "--liar", description: "the last agent lies in every role, and contradicts itself" },
    {
      flags: "--model <file>",
      description:
        "GGUF file, or a pulled model (default: the repository's, which knows six families of toy questions)",
    },
    {
      flags: "--sources <file>",
      description:
        "how all agents read what questions name, such as pages of this machine: JSON as `sources` in a conclave.json (default: public pages)",
    },
    { flags: "--subgraph", description: "index the chain with graph-node (linux-x64)" },
    {
      flags: "--while-stdin",
      description: "end when standard input ends, too, and so with the program that started this one",
    },
  ],
  run: async ({ options, host, json, tell }) => {
    if (options.subgraph === true && findGraphNode() === null)
      throw new ConclaveError("USAGE", `Start the subgraph: ${NO_GRAPH_NODE} Leave out --subgraph`, {
        field: "subgraph",
      });
    const started = performance.now();
    const progress = (line: string): void =>
      tell(`${((performance.now() - started) / 1_000).toFixed(1).padStart(6)} s  ${line}`);
    const signal = options.whileStdin === true ? AbortSignal.any([host.signal, endOfInput()]) : host.signal;
    const world = await startDevWorld({
      directory: options.dir === undefined ? null : resolve(host.cwd, parseFolder(options.dir, "--dir")),
      port: parseInteger(options.port, "--port", 0, MAX_CHAIN_PORT),
      blockTimeSeconds: parseSeconds(options.blockTime),
      agents:
        options.agents === undefined
          ? null
          : parseInteger(options.agents, "--agents", limits.minCommittee, limits.maxCommittee),
      liar: options.liar === true,
      model: options.model === undefined ? null : worldModel(options.model).path,
      sources: options.sources === undefined ? null : await readSources(resolve(host.cwd, options.sources)),
      subgraph: options.subgraph === true,
      signal,
      progress,
    });
    try {
      host.stdout(json ? `${toJson({ event: "ready", ...world.facts })}\n` : renderWorld(world.facts));
      progress("questions are taken; the agents still load their models");
      await world.serving();
      if (json) host.stdout(`${toJson({ event: "serving" })}\n`);
      progress("all agents serve; Ctrl-C ends everything");
      if (!signal.aborted) await once(signal, "abort");
    } catch (error) {
      // A signal is how this command ends, at any point.
      if (!signal.aborted) throw error;
    } finally {
      progress("stopping everything");
      await world.stop();
    }
    return { json: { event: "stopped" }, text: "stopped" };
  },
};

/** Paths in the file are relative to its folder. Throws CONFIG_MISSING or CONFIG_INVALID. */
async function readSources(path: string): Promise<SourcesConfig> {
  const way = "name a file with --sources that holds what `sources` is in a conclave.json";
  const kind = { name: "the agents' sources", option: "--sources", way };
  return withFiles(await readFileOf(sourcesConfigSchema, path, kind), dirname(path));
}

/** Aborts when standard input ends. */
function endOfInput(): AbortSignal {
  const ended = new AbortController();
  process.stdin.resume().once("close", () => ended.abort(new Error("standard input ended")));
  return ended.signal;
}

/** Throws USAGE. */
function parseSeconds(text: string): number {
  const seconds = /^\d{1,2}(\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  if (seconds > 0 && seconds <= LONGEST_BLOCK_SECONDS) return seconds;
  throw usage("--block-time", text, `give seconds such as 1 or 0.2, at most ${LONGEST_BLOCK_SECONDS}`);
}
