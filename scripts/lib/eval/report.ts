import { markdownTable } from "../markdown.ts";
import type { Share } from "./statistics.ts";
import type { Summary } from "./summary.ts";

/** How an evaluation was run, for whoever wants to run it again. */
export interface Provenance {
  readonly command: string;
  readonly commit: string;
  readonly machine: string;
  readonly models: readonly string[];
  readonly seconds: number;
}

/** Where methods lose first, then all tables. */
export function reportText(summaries: readonly Summary[], provenance: Provenance): string {
  const groups = Map.groupBy(summaries, ({ suite, mix }) => `${suite}, ${mix} committee`);
  const tables = [...groups].map(([title, rows]) => `#### ${title}\n\n${tableOf(rows)}`);
  return [worseText(summaries), ...tables, provenanceText(provenance)].join("\n\n");
}

/** Every protocol that is below self-consistency at equal tokens, baselines aside; in bold where the interval excludes 0. */
function worseText(summaries: readonly Summary[]): string {
  const worse = summaries
    .filter(({ source, gain }) => source === "protocol" && gain.share < 0)
    .toSorted((a, b) => a.gain.share - b.gain.share);
  if (worse.length === 0) return "No protocol was below self-consistency at equal tokens in these runs.";
  const rows = worse.map(({ method, suite, mix, byzantine, accuracy, selfConsistency, gain, hung, wrong }) => {
    const isClear = gain.interval[1] < 0;
    return [
      isClear ? `**\`${method}\`**` : `\`${method}\``,
      suite,
      mix,
      String(byzantine),
      percent(accuracy.share),
      percent(selfConsistency.share),
      signed(gain),
      percent(hung.share),
      percent(wrong.share),
    ];
  });
  const head = [
    "protocol",
    "suite",
    "committee",
    "bad seats",
    "accuracy",
    "self-consistency",
    "difference",
    "hung",
    "wrong",
  ];
  return `**Worse than self-consistency at equal tokens** (in bold where the 95 % interval of the difference excludes 0):\n\n${markdownTable(head, rows)}`;
}

const HEAD = [
  "method",
  "bad seats",
  "questions",
  "accuracy",
  "hung",
  "wrong certificate",
  "calls",
  "tokens",
  "critical path",
  "self-consistency",
  "best single model",
  "difference",
];

function tableOf(rows: readonly Summary[]): string {
  const isGraded = rows.some(({ graded }) => graded !== null);
  return markdownTable(
    isGraded ? [...HEAD, "mean grade"] : HEAD,
    rows.map((row) => {
      const cells = [
        row.source === "protocol" ? `\`${row.method}\`` : row.method,
        String(row.byzantine),
        String(row.questions),
        withInterval(row.accuracy),
        percent(row.hung.share),
        percent(row.wrong.share),
        row.calls.toFixed(1),
        row.tokens.toFixed(0),
        row.criticalPath.toFixed(1),
        `${withInterval(row.selfConsistency)}, ${row.selfConsistencySamples.toFixed(1)} samples`,
        withInterval(row.bestSingle),
        signed(row.gain),
      ];
      return isGraded ? [...cells, row.graded === null ? "" : withInterval(row.graded)] : cells;
    }),
  );
}

function provenanceText({ command, commit, machine, models, seconds }: Provenance): string {
  return [
    `\`${command}\``,
    "",
    `* commit ${commit}, ${machine}, ${Math.round(seconds)} s`,
    ...models.map((model) => `* model: ${model}`),
  ].join("\n");
}

function withInterval({ share, interval: [low, high] }: Share): string {
  return `${percent(share)} (${percent(low)} to ${percent(high)})`;
}

/** In percentage points. */
function signed({ share, interval }: Share): string {
  const points = (value: number): string => `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)}`;
  return `${points(share)} (${points(interval[0])} to ${points(interval[1])})`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
