import { markdownTable } from "../shared/markdown.ts";
import { provenanceText, type Provenance } from "../shared/provenance.ts";
import type { Cell } from "./evaluate.ts";
import type { Share } from "./statistics.ts";
import { pooled, summarize, type Rival, type Summary } from "./summary.ts";

/** The report: first where protocols lose, then all tables. Shares are in percent. */
export function reportText(cells: readonly Cell[], provenance: Provenance): string {
  const together = pooled(cells).map(summarize);
  const bySuite = cells.map(summarize);
  const mixes = [...new Set(cells.map(({ mix }) => mix))];
  const tables = mixes.flatMap((mix) => [
    `#### ${mix} committee, all suites together\n\n${tableOf(together.filter((row) => row.mix === mix))}`,
    `#### ${mix} committee, by suite: right / hung / wrong (self-consistency at equal tokens)\n\n${matrixOf(
      bySuite.filter((row) => row.mix === mix),
    )}`,
  ]);
  return [worseText(together, bySuite), ...tables, provenanceText(provenance)].join("\n\n");
}

const RIVALS: Readonly<Record<Rival, string>> = {
  selfConsistency: "self-consistency",
  bestSingle: "best single model",
  bestGreedy: "its one greedy answer",
};

/**
 * Lists the protocols (no baselines) that are below one of the three comparisons over all suites, or below
 * self-consistency in any suite.
 */
function worseText(together: readonly Summary[], bySuite: readonly Summary[]): string {
  const title = "**Worse than self-consistency or the best single model at equal tokens, or than one greedy answer**";
  const below = together
    .filter(({ source }) => source === "protocol")
    .map((row) => ({ row, suites: suitesBelow(row, bySuite) }))
    .filter(({ row, suites }) => suites !== "" || Object.values(row.gains).some(({ share }) => share < 0))
    .toSorted((a, b) => a.row.gains.selfConsistency.share - b.row.gains.selfConsistency.share);
  if (below.length === 0)
    return `${title}: no protocol over all suites together, nor below self-consistency in any suite.`;
  const rows = below.map(({ row, suites }) => [
    `\`${row.method}\``,
    row.mix,
    String(row.byzantine),
    String(row.questions),
    percent(row.accuracy.share),
    ...RIVAL_NAMES.map((rival) => pointsIfBelow(row.gains[rival])),
    suites,
  ]);
  const head = [
    "protocol",
    "committee",
    "bad seats",
    "questions",
    "right",
    ...RIVAL_NAMES.map((rival) => `to ${RIVALS[rival]}`),
    "suites below self-consistency",
  ];
  const note =
    "differences in percentage points with 95 % intervals, over all suites together, then every single suite that is below; in bold where the interval excludes 0; " +
    "a dot where it is not below. Self-consistency and the single models have nobody bad among them";
  return `${title}: ${note}.\n\n${markdownTable(head, rows)}`;
}

const RIVAL_NAMES = Object.keys(RIVALS) as readonly Rival[];

/**
 * Returns a text such as "policy -20.0, **text -40.0**": the row's suites with a loss, with any number of questions.
 */
function suitesBelow({ method, mix, byzantine }: Summary, bySuite: readonly Summary[]): string {
  return bySuite
    .filter((one) => one.method === method && one.mix === mix && one.byzantine === byzantine)
    .filter(({ gains }) => gains.selfConsistency.share < 0)
    .map(({ suite, gains }) => bold(`${suite} ${percent(gains.selfConsistency.share)}`, gains.selfConsistency))
    .join(", ");
}

function pointsIfBelow(gain: Share): string {
  return gain.share < 0 ? bold(points(gain), gain) : "·";
}

/** Sets a loss in bold if it is clear: if all of its interval lies below 0. */
function bold(text: string, { interval: [, high] }: Share): string {
  return high < 0 ? `**${text}**` : text;
}

const HEAD = [
  "method",
  "bad seats",
  "questions",
  "right",
  "hung",
  "wrong certificate",
  "calls",
  "failed calls",
  "tokens",
  "critical path",
  "self-consistency",
  "its samples",
  "best single model",
  "its one greedy answer",
  "difference to self-consistency",
];

function tableOf(rows: readonly Summary[]): string {
  return markdownTable(
    HEAD,
    rows.map((row) => [
      nameOf(row),
      String(row.byzantine),
      String(row.questions),
      withInterval(row.accuracy),
      percent(row.hung.share),
      withInterval(row.wrong),
      row.calls.toFixed(1),
      row.failedCalls.toFixed(2),
      row.tokens.toFixed(0),
      row.criticalPath.toFixed(1),
      withInterval(row.selfConsistency),
      row.selfConsistencySamples.toFixed(1),
      withInterval(row.bestSingle),
      withInterval(row.bestGreedy),
      points(row.gains.selfConsistency),
    ]),
  );
}

/**
 * One line per method and number of bad seats, one column per suite; policies also have a column for their mean
 * grade.
 */
function matrixOf(rows: readonly Summary[]): string {
  const suites = [...new Set(rows.map(({ suite }) => suite))];
  const lines = Map.groupBy(rows, (row) => `${nameOf(row)} ${row.byzantine}`);
  const isGraded = rows.some(({ graded }) => graded !== null);
  const counts = suites.map((suite) => `${suite} (${rows.find((row) => row.suite === suite)?.questions ?? 0})`);
  const head = ["method", "bad seats", ...counts, ...(isGraded ? ["policies, mean grade"] : [])];
  return markdownTable(
    head,
    [...lines.values()].map((line) => {
      const [first] = line as [Summary];
      const cells = suites.map((suite) => {
        const row = line.find((one) => one.suite === suite);
        if (row === undefined) return "not taken";
        const { accuracy, hung, wrong, selfConsistency } = row;
        const shares = [accuracy, hung, wrong].map(({ share }) => percent(share)).join(" / ");
        return `${shares} (${percent(selfConsistency.share)})`;
      });
      const graded = line.find((one) => one.graded !== null)?.graded ?? null;
      const grade = graded === null ? "" : withInterval(graded);
      return [nameOf(first), String(first.byzantine), ...cells, ...(isGraded ? [grade] : [])];
    }),
  );
}

/** Formats a protocol's name as code, a baseline's as text. */
function nameOf({ source, method }: Summary): string {
  return source === "protocol" ? `\`${method}\`` : method;
}

export function withInterval({ share, interval: [low, high] }: Share): string {
  return `${percent(share)} (${percent(low)} to ${percent(high)})`;
}

/** Formats a difference in percentage points. */
function points({ share, interval }: Share): string {
  const signed = (value: number): string => `${value > 0 ? "+" : ""}${percent(value)}`;
  return `${signed(share)} (${signed(interval[0])} to ${signed(interval[1])})`;
}

function percent(share: number): string {
  return (100 * share).toFixed(1);
}
