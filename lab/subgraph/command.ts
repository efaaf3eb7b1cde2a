import type { Command } from "commander";
import { messageOf } from "../../agents/core/errors.ts";
import { between, toolCommand } from "../../scripts/shared/arguments.ts";
import { EXIT_INTERRUPTED, abortOnSignals } from "../../scripts/shared/interrupt.ts";
import { progress } from "../../scripts/shared/progress.ts";
import { NO_GRAPH_NODE, findGraphNode } from "../../scripts/subgraph/build.ts";
import { benchSubgraph, type Bench } from "./bench.ts";

interface Flags {
  readonly requests: number;
  readonly operators: number;
  readonly seed: number;
  readonly json?: true;
}

function commandLine(): Command {
  return toolCommand("subgraph:bench")
    .description(
      "Plays an economy on a local chain, indexes it with graph-node, and compares every entity with the contracts. Measures speed and memory (linux-x64).",
    )
    .option("--requests <count>", "4 to 10,000", between(4, 10_000), 2_000)
    .option("--operators <count>", "22 to 200", between(22, 200), 40)
    .option("--seed <number>", "the same seed gives the same economy", between(0, 999_999_999), 1)
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nExample, a quarter of an hour on an idle machine:\n  npm run subgraph:bench -- --requests 2000\n",
    );
}

/** Plays, indexes, compares and prints, and returns the exit code. Throws CommanderError. */
export async function main(argv: readonly string[]): Promise<number> {
  const { json, ...settings } = commandLine().parse(argv, { from: "user" }).opts<Flags>();
  const { signal } = abortOnSignals();
  try {
    if (findGraphNode() === null) throw new Error(NO_GRAPH_NODE);
    const result = await benchSubgraph({ ...settings, signal, progress });
    process.stdout.write(json === true ? `${JSON.stringify(result)}\n` : asText(result));
    for (const difference of result.differences) progress(difference);
    return result.differences.length === 0 ? 0 : 1;
  } catch (error) {
    process.stderr.write(signal.aborted ? "stopped by a signal\n" : `error: ${messageOf(error)}\n`);
    return signal.aborted ? EXIT_INTERRUPTED : 1;
  }
}

function asText(result: Bench): string {
  const {
    requests,
    blocks,
    events,
    entities,
    indexSeconds,
    eventsPerSecond,
    graphNodeMiB,
    postgresMiB,
    databaseBytes,
  } = result;
  return `${requests} requests: ${events} events in ${blocks} blocks, ${entities} entities
indexed in ${indexSeconds.toFixed(1)} s: ${eventsPerSecond.toFixed(0)} events per second; graph-node at most ${graphNodeMiB} MiB, PostgreSQL ${postgresMiB} MiB, ${(databaseBytes / 1_048_576).toFixed(0)} MiB on the disk
${result.comparisons} values compared, ${result.differences.length} differences
`;
}
