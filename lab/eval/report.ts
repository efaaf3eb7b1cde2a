import { markdownTable } from "../shared/markdown.ts";
import { provenanceText, type Provenance } from "../shared/provenance.ts";
import { conditionText } from "./conditions.ts";
import type { Cell, Rival } from "./evaluate.ts";
import { holm, pNoDifference, type Share } from "./statistics.ts";
import { COVERAGES, independenceOf, pooled, summarize, type Summary } from "./summary.ts";
import { findingsOf, TARGET_NAMES, TARGETS, type Finding } from "./targets.ts";

/** The report: first what each protocol misses, then all tables. Shares are in percent, differences in points. */
export function reportText(cells: readonly Cell[], provenance: Provenance): string {
  const all = pooled(cells);
  const together = all.map(summarize);
  const sections = [
    ["what is decided, all suites together", decidedTable(together)],
    ["held against the same models, all suites together", rivalsTable(together)],
    ["by suite: right / hung / wrong (self-consistency at equal tokens)", suiteTable(cells.map(summarize))],
    ["committees: how much their seats err together", independenceTable(all)],
    ["certificates: calibration error, and wrong among the surest", certificateTable(together)],
  ] as const;
  return [
    missedText(findingsOf(together)),
    ...sections.map(([title, table]) => `#### ${title.slice(0, 1).toUpperCase()}${title.slice(1)}\n\n${table}`),
    provenanceText(provenance),
  ].join("\n\n");
}

function missedText(findings: readonly Finding[]): string {
  const lines = [...Map.groupBy(findings, ({ method }) => method)].map(([method, own]) => {
    const part = (verdict: Finding["verdict"]): string => {
      const found = own.filter((one) => one.verdict === verdict).map((one) => `${sizeOf(one)} ${one.target}`);
      return `${verdict} ${found.length === 0 ? "nothing" : found.join(", ")}`;
    };
    return `* \`${method}\`: ${part("missed")}; ${part("open")}`;
  });
  const rows = [...Map.groupBy(findings, (one) => `${one.method} ${sizeOf(one)}`).values()].map((own) => {
    const [first] = own as [Finding];
    const cells = TARGET_NAMES.map((name) => {
      const found = own.find(({ target }) => target === name);
      return found === undefined ? "not taken" : findingText(found);
    });
    return [`\`${first.method}\``, sizeOf(first), ...cells];
  });
  const names = TARGET_NAMES.map((name) => `* ${name}: ${TARGETS[name]}`).join("\n");
  const head = ["protocol", "committee", ...TARGET_NAMES];
  return [
    "**What is missed, and what the run leaves open** (neither kept nor missed is shown at 5 %), protocol by protocol; all else is kept.",
    lines.join("\n"),
    `The targets, in points and percent:\n\n${names}`,
    markdownTable(head, rows),
  ].join("\n\n");
}

function sizeOf({ seats, mix }: Finding): string {
  return `n = ${seats}${mix === "homogeneous" ? " (one model)" : ""}`;
}

const COUNTED = ["hung", "calibration", "highAssurance"];

function findingText({ target, verdict, value, interval, p }: Finding): string {
  const shown = COUNTED.includes(target) ? percent : signed;
  const limits = interval === null ? "" : ` (${shown(interval[0])} to ${shown(interval[1])})`;
  const text = `${verdict} ${shown(value)}${limits}${p === null ? "" : `, p ${pText(p)}`}`;
  return verdict === "missed" ? `**${text}**` : text;
}

function decidedTable(rows: readonly Summary[]): string {
  const head = [
    "method",
    "condition",
    "questions",
    "right",
    "least and most by seed",
    "hung at first",
    "hung after a retry",
    "wrong",
    "calls",
    "failed calls",
    "tokens",
    "critical path",
  ];
  return markdownTable(
    head,
    rows.map((row) => [
      nameOf(row),
      conditionText(row.condition),
      String(row.questions),
      withInterval(row.accuracy),
      row.seeds.map(percent).join(" to "),
      percent(row.hungAtFirst.share),
      percent(row.hung.share),
      withInterval(row.wrong),
      row.calls.toFixed(1),
      row.failedCalls.toFixed(2),
      row.tokens.toFixed(0),
      row.criticalPath.toFixed(1),
    ]),
  );
}

const RIVALS: Readonly<Record<Rival, string>> = {
  selfConsistency: "self-consistency",
  bestSingle: "best model alone",
  bestGreedy: "its one greedy answer",
  vote: "vote of the first answers, attacked",
  counting: "self-consistency, attacked",
  greedySeat: "greedy seat of the best model, attacked",
  honestSeat: "best honest seat, greedy",
};
const RIVAL_NAMES = Object.keys(RIVALS) as readonly Rival[];
const LEVEL = 0.05;

/** Each cell: the rival's accuracy, and the method's lead; bold where Holm leaves it below 5 %. */
function rivalsTable(rows: readonly Summary[]): string {
  const leads = rows.flatMap((row) => RIVAL_NAMES.map((rival) => row.rivals[rival]));
  const adjusted = holm(leads.map(pNoDifference));
  const head = ["method", "condition", ...RIVAL_NAMES.map((rival) => RIVALS[rival]), "samples"];
  return markdownTable(
    head,
    rows.map((row, index) => [
      nameOf(row),
      conditionText(row.condition),
      ...RIVAL_NAMES.map((rival, column) => {
        const { accuracy, difference } = row.rivals[rival];
        const lead = points(difference);
        const isClear = (adjusted[index * RIVAL_NAMES.length + column] as number) <= LEVEL;
        return `${percent(accuracy.share)}: ${isClear ? `**${lead}**` : lead}`;
      }),
      row.samples.toFixed(1),
    ]),
  );
}

/** One line per method and condition, one column per suite; sets of policies also have a column for their mean grade. */
function suiteTable(rows: readonly Summary[]): string {
  const suites = [...new Set(rows.map(({ suite }) => suite))];
  const lines = [...Map.groupBy(rows, ({ method, condition }) => JSON.stringify([method, condition])).values()];
  const isGraded = rows.some(({ graded }) => graded !== null);
  const counts = suites.map((suite) => {
    const most = Math.max(...rows.filter((row) => row.suite === suite).map(({ questions }) => questions));
    return `${suite} (${most} or fewer)`;
  });
  return markdownTable(
    ["method", "condition", ...counts, ...(isGraded ? ["mean grade of sets"] : [])],
    lines.map((line) => {
      const [first] = line as [Summary];
      const cells = suites.map((suite) => {
        const row = line.find((one) => one.suite === suite);
        if (row === undefined) return "not taken";
        const shares = [row.accuracy, row.hung, row.wrong].map(({ share }) => percent(share)).join(" / ");
        return `${shares} (${percent(row.rivals.selfConsistency.accuracy.share)})`;
      });
      const graded = line.find((one) => one.graded !== null)?.graded ?? null;
      const grade = graded === null ? "" : withInterval(graded);
      return [nameOf(first), conditionText(first.condition), ...cells, ...(isGraded ? [grade] : [])];
    }),
  );
}

function independenceTable(all: ReturnType<typeof pooled>): string {
  const head = [
    "committee",
    "questions",
    "a seat's first answer is right",
    "mean correlation of two seats",
    "independent votes that it is worth",
    "all wrong together",
    "all wrong if independent",
  ];
  return markdownTable(
    head,
    independenceOf(all).map((row) => [
      conditionText(row.condition).replace(", nobody bad", ""),
      String(row.questions),
      percent(row.seat),
      row.correlation?.toFixed(2) ?? "none",
      row.effective?.toFixed(1) ?? "none",
      withInterval(row.allWrong),
      percent(row.allWrongAlone),
    ]),
  );
}

function certificateTable(rows: readonly Summary[]): string {
  const certified = rows.filter(({ calibrationError }) => calibrationError !== null);
  const head = [
    "protocol",
    "condition",
    "calibration error",
    "decided",
    ...COVERAGES.map((part) => `wrong of ${100 * part} %`),
  ];
  return markdownTable(
    head,
    certified.map((row) => [
      nameOf(row),
      conditionText(row.condition),
      percent(row.calibrationError as number),
      percent(1 - row.hung.share),
      ...row.coverage.map(({ wrong }) => (wrong === null ? "too few decided" : percent(wrong))),
    ]),
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
function points({ share, interval: [low, high] }: Share): string {
  return `${signed(share)} (${signed(low)} to ${signed(high)})`;
}

function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${percent(value)}`;
}

function percent(share: number): string {
  return (100 * share).toFixed(1);
}

function pText(p: number): string {
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
}
