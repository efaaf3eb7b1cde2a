import { markdownTable } from "../markdown.ts";
import { provenanceText, type Provenance } from "../provenance.ts";
import type { Cell } from "./evaluate.ts";
import type { Share } from "./statistics.ts";
import { pooled, summarize, type Summary } from "./summary.ts";

/** Where protocols lose first, then all tables. Shares are in percent. */
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

/** Of protocols, baselines aside: all that are below over all suites, and single suites where that is hardly chance. */
function worseText(together: readonly Summary[], bySuite: readonly Summary[]): string {
  const isClear = ({ gain }: Summary): boolean => gain.interval[1] < 0;
  const below = together.filter(({ source, gain }) => source === "protocol" && gain.share < 0);
  const clear = bySuite.filter((row) => row.source === "protocol" && isClear(row));
  const worst = [...below, ...clear].toSorted((a, b) => a.gain.share - b.gain.share);
  const title = "**Worse than self-consistency at equal tokens**";
  if (worst.length === 0)
    return `${title}: no protocol over all suites together, and in no suite by more than chance explains (95 %).`;
  const rows = worst.map((row) => [
    isClear(row) ? `**\`${row.method}\`**` : `\`${row.method}\``,
    row.suite,
    row.mix,
    String(row.byzantine),
    percent(row.accuracy.share),
    percent(row.selfConsistency.share),
    points(row.gain),
    percent(row.hung.share),
    percent(row.wrong.share),
  ]);
  const head = [
    "protocol",
    "suite",
    "committee",
    "bad seats",
    "right",
    "self-consistency",
    "difference",
    "hung",
    "wrong",
  ];
  const note =
    "over all suites together wherever it is below, of single suites where the 95 % interval of the difference excludes 0; in bold all where it does";
  return `${title}, ${note}:\n\n${markdownTable(head, rows)}`;
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
  "difference",
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
      points(row.gain),
    ]),
  );
}

/** One line per method and number of bad seats, one column per suite; policies also by their mean grade. */
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

/** Protocols are code, baselines are not. */
function nameOf({ source, method }: Summary): string {
  return source === "protocol" ? `\`${method}\`` : method;
}

export function withInterval({ share, interval: [low, high] }: Share): string {
  return `${percent(share)} (${percent(low)} to ${percent(high)})`;
}

/** In percentage points. */
function points({ share, interval }: Share): string {
  const signed = (value: number): string => `${value > 0 ? "+" : ""}${percent(value)}`;
  return `${signed(share)} (${signed(interval[0])} to ${signed(interval[1])})`;
}

function percent(share: number): string {
  return (100 * share).toFixed(1);
}
