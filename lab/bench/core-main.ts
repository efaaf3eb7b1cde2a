// Decisions per second of mbft's pure core at n = 10, beside the reference in Python, measured in one run.
import { join } from "node:path";
import { parseArgs } from "node:util";
import Table from "cli-table3";

import { measureConclude, measureReferenceMode } from "./conclude.ts";
import { checkPort, measurePython, measureSeats, type PythonRate } from "./processes.ts";
import { SEATS, referenceScenario, workloads, type Workload } from "./workloads.ts";

const PUBLISHED = "https://github.com/sauravbhattacharya001/metacognition";

const help = `Usage: npm run bench:core -- [--json] [--published FOLDER] [--seconds N] [--help]

Measures, for ten seats, decisions per second of CPU time of the reference in Python, of the reference mode here, of the sound rules over a
complete message set, and of a whole sound decision stepped through ten seats. Needs python3.

  --published FOLDER  a checkout of ${PUBLISHED}
                      (needs pydantic): its engine runs as it stands. Without it the ratios are to a plain Python port of
                      its rules (lab/bench/reference.py), which is faster than the engine.
  --seconds N         CPU seconds per figure, .5 to 60 (default 3; about a minute and a half)
  --json              one JSON object instead of tables

Example: npm run -s bench:core -- --json --seconds 1`;

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

async function main(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      json: { type: "boolean", default: false },
      published: { type: "string" },
      seconds: { type: "string", default: "3" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(`${help}\n`);
    return 0;
  }
  const seconds = Number(values.seconds);
  if (!(seconds >= 0.5 && seconds <= 60)) throw new Error(`Give --seconds from .5 to 60, not "${values.seconds}"`);
  const { right, cases } = await checkPort(join(import.meta.dirname, "../../test/vectors/mbft-reference.json"));
  if (right !== cases) throw new Error(`Repair the Python port: it gets ${right} of ${cases} vectors right`);
  const reports: WorkloadReport[] = [];
  for (const workload of workloads) reports.push(await measure(workload, seconds, values.published ?? null));
  const report = {
    seats: SEATS,
    node: process.versions.node,
    unit: "decisions per second of CPU time",
    vectors: cases,
    workloads: reports.map((one) => ({ ...one, rows: one.rows.map((row) => ({ ...row, ...ratios(row, one) })) })),
  };
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : asText(reports, cases));
  return 0;
}

async function measure(workload: Workload, seconds: number, published: string | null): Promise<WorkloadReport> {
  const progress = (text: string) => process.stderr.write(`${workload.title}: ${text} ...\n`);
  const scenario = referenceScenario(workload);
  progress("reference in Python");
  const port = await measurePython(scenario, seconds, null);
  const engine = published === null ? null : await measurePython(scenario, seconds, published);
  progress("reference mode");
  const mode = measureReferenceMode(workload, seconds);
  progress("sound rules");
  const known = measureConclude(workload, seconds, false);
  const fresh = measureConclude(workload, seconds, true);
  progress("ten seats, signatures excluded");
  const deliberated = await measureSeats(workload, "deliberated", seconds, false);
  const certified = await measureSeats(workload, "certified", seconds, false);
  progress("ten seats, signatures included");
  const signed = await measureSeats(workload, "certified", seconds, true);
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

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 2;
}
