import { readFileSync } from "node:fs";
import { ConclaveError, messageOf } from "../../agents/core/errors.ts";
import type { Difference } from "./compare.ts";
import { checkVectors, parseVectors, type VectorFile } from "./conformance.ts";
import { toolCommand } from "../../scripts/shared/arguments.ts";

const SHOWN_DIFFERENCES = 20;
/** A case differs. */
const EXIT_DIFFERED = 1;

interface FileReport {
  readonly file: string;
  readonly format: VectorFile["format"];
  readonly matched: number;
  readonly differed: number;
  readonly differences: readonly Difference[];
}

/** Compares vector files with the code and returns the exit code. Throws CommanderError and USAGE. */
export async function main(argv: readonly string[]): Promise<number> {
  const program = toolCommand("conformance")
    .description(
      "Runs the reference modes of mbft and mbft-bayesian, or the virtual voting of hashgraph, on vector files, and compares every field.",
    )
    .argument(
      "<files...>",
      "vector files in a format of test/vectors: mbft-reference, mbft-bayesian-reference or hashgraph",
    )
    .option("--json", "print one JSON object instead of text")
    .addHelpText(
      "after",
      "\nExample:\n  npm run conformance -- test/vectors/mbft-bayesian-reference.json test/vectors/hashgraph.json\n",
    )
    .addHelpText("after", "Exit codes: 0 all cases match, 1 some differ, 2 a file cannot be used.")
    .parse(argv, { from: "user" });
  const reports: FileReport[] = [];
  for (const file of program.args) {
    reports.push(report(file, load(file)));
  }
  process.stdout.write(
    program.opts<{ json?: boolean }>().json === true ? `${JSON.stringify(asJson(reports))}\n` : asText(reports),
  );
  return total(reports, "differed") > 0 ? EXIT_DIFFERED : 0;
}

/** Throws USAGE. */
function load(file: string): VectorFile {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw unusable(file, `cannot be read: ${messageOf(error)}`);
  }
  const parsed = parseVectors(text);
  if (parsed.ok) return parsed.file;
  throw unusable(file, parsed.reason);
}

function unusable(file: string, reason: string): ConclaveError {
  const message = `Correct <files> ${JSON.stringify(file)}: the file ${reason}; name files in a format of test/vectors`;
  return new ConclaveError("USAGE", message, { field: "files", value: file });
}

function report(file: string, vectors: VectorFile): FileReport {
  const results = checkVectors(vectors);
  const matched = results.filter(({ differences }) => differences.length === 0).length;
  const differences = results.flatMap((result) => result.differences);
  return { file, format: vectors.format, matched, differed: results.length - matched, differences };
}

function asText(reports: readonly FileReport[]): string {
  const lines = reports.flatMap(({ file, differences }) =>
    differences.map(
      ({ scenario, field, expected, got }) =>
        `${file}: ${scenario}: ${field}: expected ${show(expected)}, got ${show(got)}`,
    ),
  );
  const hidden = lines.length - SHOWN_DIFFERENCES;
  return [
    ...lines.slice(0, SHOWN_DIFFERENCES),
    ...(hidden > 0 ? [`... and ${hidden} more differences`] : []),
    `matched ${total(reports, "matched")}, differed ${total(reports, "differed")}`,
    "",
  ].join("\n");
}

function asJson(reports: readonly FileReport[]): object {
  const files = reports.map((entry) => ({
    ...entry,
    differences: entry.differences.slice(0, SHOWN_DIFFERENCES).map((difference) => ({
      ...difference,
      expected: difference.expected ?? null,
      got: difference.got ?? null,
    })),
    differenceCount: entry.differences.length,
  }));
  return { matched: total(reports, "matched"), differed: total(reports, "differed"), files };
}

function show(value: unknown): string {
  return value === undefined ? "nothing" : Object.is(value, -0) ? "-0" : JSON.stringify(value);
}

function total(reports: readonly FileReport[], key: "matched" | "differed"): number {
  return reports.reduce((sum, entry) => sum + entry[key], 0);
}
