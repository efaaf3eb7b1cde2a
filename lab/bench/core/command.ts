// Decisions per second of mbft's pure core at n = 10, beside the reference in Python, measured in one run.
import { join } from "node:path";
import Table from "cli-table3";
import { type Command, InvalidArgumentError } from "commander";

import { measureConclude, measureReferenceMode } from "./conclude.ts";
import { checkPort, measurePython, measureSeats, type PythonRate } from "./processes.ts";
import { SEATS, referenceScenario, workloads, type Workload } from "./workloads.ts";
import { toolCommand } from "../../../scripts/shared/arguments.ts";

const PUBLISHED = "https://github.com/sauravbhattacharya001/metacognition";

function commandLine(): Command {
  return toolCommand("bench:core")
    .description(
      "Measures how many decisions of ten seats four programs make per second of CPU time: the reference in Python, its reference mode in TypeScript, the sound rules over a complete message set, and ten seats that exchange messages until they decide by the sound rules. Needs python3.",
    )
    .option(
      "--published <folder>",
      `a checkout of ${PUBLISHED} (needs pydantic): its engine is then the reference; without this option the reference is a plain Python port of its rules (lab/bench/core/reference.py), which is faster than the engine`,
    )
    .option("--seconds <n>", "CPU seconds per figure, 0.5 to 60; with 3 the run takes a minute and a half", seconds, 3)
    .option("--json", "print one JSON object instead of tables")
    .addHelpText("after", "\nExample:\n  npm run -s bench:core -- --json --seconds 1\n");
}

function seconds(text: string): number {
  const value = Number(text);
  if (value >= 0.5 && value <= 60) return value;
  throw new InvalidArgumentError("A number from 0.5 to 60 is needed.");
}

interface Flags {
  readonly published?: string;
  readonly seconds: number;
  readonly json?: true;
}

interface Row {
  readonly id: string;
  readonly title: string;
  readonly decisionsPerSecond: number;
}

interface WorkloadReport {
  readonly workload: Workload["id"];
  readonly title: string;
  readonly port: PythonRate;
  readonly published: PythonRate | null;
  readonly rows: readonly Row[];
}

/** Measures and prints, and returns the exit code. Throws CommanderError and CONFIG_MISSING. */
export async function main(argv: readonly string[]): Promise<number> {
  const flags = commandLine().parse(argv, { from: "user" }).opts<Flags>();
  const { right, cases } = await checkPort(join(import.meta.dirname, "../../../test/vectors/mbft-reference.json"));
  if (right !== cases) throw new Error(`Repair the Python port: it gets ${right} of ${cases} vectors right`);
  const reports: WorkloadReport[] = [];
  for (const workload of workloads) reports.push(await measure(workload, flags.seconds, flags.published ?? null));
  const report = {
    seats: SEATS,
    node: process.versions.node,
    unit: "decisions per second of CPU time",
    vectors: cases,
    workloads: reports.map((one) => ({ ...one, rows: one.rows.map((row) => ({ ...row, ...ratios(row, one) })) })),
  };
  process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : asText(reports, cases));
  return 0;
}

async function measure(workload: Workload, cpuSeconds: number, published: string | null): Promise<WorkloadReport> {
  const progress = (text: string) => process.stderr.write(`${workload.title}: ${text} ...\n`);
  const scenario = referenceScenario(workload);
  progress("reference in Python");
  const port = await measurePython(scenario, cpuSeconds, null);
  const engine = published === null ? null : await measurePython(scenario, cpuSeconds, published);
  progress("reference mode");
  const mode = measureReferenceMode(workload, cpuSeconds);
  progress("sound rules");
  const known = measureConclude(workload, cpuSeconds, false);
  const fresh = measureConclude(workload, cpuSeconds, true);
  progress("ten seats, signatures excluded");
  const deliberated = await measureSeats(workload, "deliberated", cpuSeconds, false);
  const certified = await measureSeats(workload, "certified", cpuSeconds, false);
  progress("ten seats, signatures included");
  const signed = await measureSeats(workload, "certified", cpuSeconds, true);
  const stepped = `${certified.messages} messages, ${certified.inputs} inputs`;
  return {
    workload: workload.id,
    title: workload.title,
    port,
    published: engine,
    rows: [
      { id: "reference-mode", title: "reference mode, TypeScript", decisionsPerSecond: mode },
      { id: "conclude", title: "sound, conclude: messages read when they came", decisionsPerSecond: known },
      { id: "conclude-fresh", title: "sound, conclude: decoding and hashing, too", decisionsPerSecond: fresh },
      {
        id: "deliberated",
        title: "sound, ten seats stepped to the end of the deliberation, signatures excluded",
        decisionsPerSecond: deliberated.decisionsPerSecond,
      },
      {
        id: "certified",
        title: `sound, ten seats stepped to ten certificates (${stepped}), signatures excluded`,
        decisionsPerSecond: certified.decisionsPerSecond,
      },
      {
        id: "certified-signed",
        title: "the same, every signature made and verified by every receiver",
        decisionsPerSecond: signed.decisionsPerSecond,
      },
    ],
  };
}

function ratios({ decisionsPerSecond }: Row, { port, published }: WorkloadReport) {
  return {
    toPort: decisionsPerSecond / port.decisionsPerSecond,
    toPublished: published === null ? null : decisionsPerSecond / published.decisionsPerSecond,
  };
}

function asText(reports: readonly WorkloadReport[], cases: number): string {
  const published = reports.some((report) => report.published !== null);
  const lines = reports.map((report) => {
    const table = new Table({
      head: [report.title, "decisions / s", "x port", ...(published ? ["x published"] : [])],
      style: { head: [], border: [] },
      colAligns: ["left", "right", "right", "right"],
    });
    const add = (title: string, rate: number): void => {
      const { toPort, toPublished } = ratios({ id: "", title, decisionsPerSecond: rate }, report);
      table.push([title, short(rate), short(toPort), ...(toPublished === null ? [] : [short(toPublished)])]);
    };
    if (report.published !== null)
      add(outcome("published engine, Python", report.published), report.published.decisionsPerSecond);
    add(outcome("port of its rules, Python", report.port), report.port.decisionsPerSecond);
    for (const { title, decisionsPerSecond } of report.rows) add(title, decisionsPerSecond);
    return table.toString();
  });
  return [
    ...lines,
    "",
    `n = ${SEATS}; decisions per second of CPU time, one process. The port gets all ${cases} mock cases of the vectors right.`,
    published
      ? "The published engine ran as it stands (asyncio, pydantic)."
      : `The published engine was not run: clone ${PUBLISHED} and give --published. The ratios are to the port, which is faster than it.`,
    "The stepped rows do the work of ten nodes in one process: a node has a tenth of it to do.",
    "",
  ].join("\n");
}

function outcome(title: string, { value, rounds }: PythonRate): string {
  return `${title} (${value === null ? "no commit" : `"${value}"`} after ${rounds} round${rounds === 1 ? "" : "s"})`;
}

/** Three significant digits. */
function short(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en-US").replaceAll(",", " ") : value.toPrecision(3);
}
