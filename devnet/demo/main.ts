// npm run demo: a local chain, five agents, a contract that asks three questions, and the proof of each answer.
import { Option } from "commander";
import { protocolById, protocols } from "../../agents/core/protocols/index.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import { makeFolderOf } from "../../agents/cli/shared/folder.ts";
import { worldModel, type WorldModel } from "../world/model.ts";
import { sourcesPlan, planFor } from "./questions.ts";
import { runDemo, type DemoReport } from "./run.ts";
import { renderReport } from "./report.ts";
import { numberOf } from "./request-number.ts";
import { renderSubgraph } from "./subgraph.ts";
import { endedBy, scriptCommand } from "../../scripts/shared/arguments.ts";
import { progress } from "../../scripts/shared/progress.ts";
import { NO_GRAPH_NODE, findGraphNode } from "../../scripts/subgraph/build.ts";

const program = scriptCommand(
  "demo",
  "Start a local chain and five agents (one lies and equivocates), let a contract ask three questions, verify the decisions.",
)
  .addOption(
    new Option("--protocol <id>", "how the committee comes to its decisions")
      .choices(protocols.map(({ id }) => id))
      .default("mbft"),
  )
  .option(
    "--model <file>",
    "GGUF file of the agents' model, or the name of a pulled one; its decisions may be wrong (default: the small model of this repository)",
  )
  .option(
    "--evidence",
    "ask questions that only three pages and an API of the demo answer, and print what the answers quote and how many seats read it",
  )
  .option("--json", "print one JSON object as the last line of stdout")
  .option("--keep", "keep chain and agents running until Ctrl-C, to try the printed commands")
  .option(
    "--subgraph",
    "at the end, index the chain with graph-node, ask it three queries, and compare every entity with the chain",
  )
  .option("--logs <dir>", "copy the agents' logs there at the end")
  .addHelpText(
    "after",
    "\nExample:\n  $ npm run demo -- --protocol unanimous --json\n  $ npm run demo -- --model smollm2\n  $ npm run demo -- --evidence\n",
  )
  .addHelpText("after", "Exit codes: 0 all as expected, 1 a decision is not, or the demo failed, 2 usage.");

interface Flags {
  readonly protocol: string;
  readonly model?: string;
  readonly evidence?: true;
  readonly json?: true;
  readonly keep?: true;
  readonly subgraph?: true;
  readonly logs?: string;
}

const options = program.parse().opts<Flags>();
const protocol = protocolById(options.protocol) as Protocol;
const abort = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => abort.abort(new Error(`stopped by ${signal}`)));

try {
  if (options.subgraph && findGraphNode() === null) throw new Error(`${NO_GRAPH_NODE} Leave out --subgraph.`);
  if (options.evidence && !protocol.readsSources)
    throw new ConclaveError(
      "USAGE",
      `Ask for --evidence: ${protocol.id} reads no sources; leave out --evidence, or choose another --protocol`,
    );
  if (options.logs !== undefined) await makeFolderOf("--logs", options.logs);
  const model = options.evidence ? atLeisure(worldModel(options.model)) : worldModel(options.model);
  await runDemo({
    protocol,
    model,
    subgraph: options.subgraph === true,
    plan: options.evidence ? sourcesPlan : planFor(protocol.id),
    signal: abort.signal,
    progress,
    ...(options.logs === undefined ? {} : { logs: options.logs }),
    onReport: async (report: DemoReport) => {
      const { decisions, agents, durationsMs, subgraph } = report;
      const { id, code, version, title, assurance } = protocol;
      process.stdout.write(
        options.json
          ? `${JSON.stringify({ protocol: { id, code, version, title, assurance }, model: model.name, decisions, agents, durationsMs, ...(subgraph === null ? {} : { subgraph }) })}\n`
          : renderReport(report, options.keep === true) + (subgraph === null ? "" : renderSubgraph(subgraph)),
      );
      if (subgraph !== null && subgraph.differences.length > 0) {
        progress(`the subgraph is NOT what the chain says: ${subgraph.differences.length} differences`);
        process.exitCode = 1;
      }
      for (const one of decisions) {
        const problems = problemsOf(one, model);
        if (problems.length === 0) continue;
        progress(`request #${numberOf(one.requestId)} FAILED: ${problems.join("; ")}`);
        process.exitCode = 1;
      }
      if (!options.keep) return;
      progress(
        `everything keeps running until Ctrl-C, which cleans up; for other commands: export CONCLAVE_DEPLOYMENT=${report.deploymentFile}`,
      );
      await new Promise<void>((resolve) => abort.signal.addEventListener("abort", () => resolve(), { once: true }));
    },
  });
} catch (error) {
  const code = endedBy(abort.signal.aborted ? abort.signal.reason : error);
  process.exitCode = abort.signal.aborted ? 130 : code;
}

/** Gives agents time to read: they read for half a phase, and texts of pages are made in threads that all agents start at once. */
function atLeisure(model: WorldModel): WorldModel {
  const { pace } = model;
  const phaseMs = Math.max(pace.phaseMs, 90_000);
  return { ...model, pace: { ...pace, epochBlocks: 2 * pace.epochBlocks, phaseMs, decideMs: 2 * pace.decideMs } };
}

function problemsOf(one: DemoReport["decisions"][number], { knowsAnswers }: WorldModel): readonly string[] {
  return [
    ...(one.correct || !knowsAnswers ? [] : [`${one.status}: "${one.answer}", expected "${one.expected}"`]),
    ...(one.callbackSucceeded ? [] : ["the callback failed"]),
    ...(one.verified ? [] : ["the decision could not be verified"]),
  ];
}
