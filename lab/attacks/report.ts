import Table from "cli-table3";
import { type Column, type MonteCarloResult, type Share, type Shares } from "./monte-carlo.ts";
import type { ScriptedAttack } from "./scripted.ts";

export interface AttackReport {
  readonly seed: number;
  readonly trials: number;
  readonly scripted: readonly ScriptedAttack[];
  /** The row with about 41 % bad commits in the reference. */
  readonly fallible: MonteCarloResult;
  readonly monteCarlo: readonly MonteCarloResult[];
  /** Cases in which the sound rules still decide wrongly, with what is assumed. */
  readonly limits: readonly string[];
}

/** A wrong share from this value on is called bad. */
export const BAD_SHARE = 0.05;

/** Columns of the table; JSON has all columns. */
const headings: readonly (readonly [Column, string])[] = [
  ["reference", "reference"],
  ["normal, one round", "sound > 1/2,\none round"],
  ["high, one round", "sound > 2/3,\none round"],
  ["normal", "sound > 1/2,\n3 rounds"],
  ["normal, fallible", "the same,\nfallible judges"],
];

export function asText(report: AttackReport): string {
  const scripted = plainTable(["attack", "reference", "sound (real rules)"]);
  const wrap = (text: string): string => wrapped(text, 42);
  for (const { title, reference, sound } of report.scripted)
    scripted.push([wrap(title), wrap(reference.summary), wrap(sound.summary)]);
  const { fallible } = report;
  scripted.push([
    wrap(`Fallible verifiers, ${describe(fallible)}: of ${fallible.trials} decisions`),
    shown(fallible.shares.reference),
    shown(fallible.shares.normal),
  ]);
  const table = plainTable(["attack, n, p, q\n(first Monte Carlo)", ...headings.map(([, heading]) => heading)]);
  for (const row of report.monteCarlo)
    table.push([`${describe(row)}\n${statedOf(row)}`, ...headings.map(([column]) => shown(row.shares[column]))]);
  return [
    scripted.toString(),
    "",
    `Monte Carlo, ${report.trials} decisions a row, seed ${report.seed}: share decided right, wrong, and hung, with 95 % intervals; ! marks a wrong share of ${BAD_SHARE} or more.`,
    table.toString(),
    "",
    ...report.limits.map((limit) => wrapped(`- ${limit}`, 132)),
    "",
  ].join("\n");
}

/** Lines that name the limits of the figures. */
export function limitsOf(rows: readonly MonteCarloResult[]): readonly string[] {
  const bad = rows
    .filter(
      ({ shares }) => shares.normal.wrong.share >= BAD_SHARE || shares["normal, fallible"].wrong.share >= BAD_SHARE,
    )
    .map((row) => {
      const { normal, high, "normal, fallible": blind } = row.shares;
      return `${describe(row)}: ${percent(normal.wrong)} wrong at normal and ${percent(high.wrong)} at high assurance, ${percent(blind.wrong)} when judges are fallible, too`;
    });
  return [
    bad.length === 0
      ? "No row of the table shows a sound wrong share of 5 % or more."
      : `Still bad under the sound rules, because no vote counting helps when honest verifiers are fooled: ${bad.join("; ")}.`,
    "Figures are as played, not fitted: where one lies outside the first Monte Carlo's (in brackets), the assumptions below differ from its own, which are lost.",
    "A second and third round turn most hung decisions into right ones, and some into wrong ones: the figures in brackets are those of one round.",
    "Assumptions: who holds the right answer judges " +
      "rightly, others as a verifier would (last column: everybody as a verifier would); all honest wrong seats and all attackers hold the same wrong answer; in the reference a verifier asked again says the same, " +
      "with the published defaults of 4 rounds and sigma .5, a stealth vetoer at tau .01, theta = .6 n tau. In the 41 % row a verifier asked again draws anew.",
    "Vetoers reject the right answer and accept the wrong one; liars accept the wrong one and abstain on the right one.",
  ];
}

function describe({ attack, seats, fooled, countered }: MonteCarloResult): string {
  return `${attack}, ${seats}, ${fooled}, ${countered}`;
}

function statedOf({ stated }: MonteCarloResult): string {
  if (stated === null) return "";
  return `(${stated.reference}\n > 1/2 ${stated.normal}\n > 2/3 ${stated.high})`;
}

function shown({ right, wrong, hung }: Shares): string {
  const line = (name: string, { share, low, high }: Share, mark = "") =>
    `${name} ${decimal(share, 3)} ${decimal(low, 2)}-${decimal(high, 2)}${mark}`;
  return [line("right", right), line("wrong", wrong, wrong.share >= BAD_SHARE ? " !" : ""), line("hung ", hung)].join(
    "\n",
  );
}

/** `.123`, as the figures in brackets are written. */
function decimal(value: number, digits: number): string {
  return value.toFixed(digits).replace(/^0/, "");
}

function percent({ share }: Share): string {
  return `${(share * 100).toFixed(1)} %`;
}

function plainTable(head: readonly string[]): Table.Table {
  return new Table({ head: [...head], style: { head: [], border: [] } });
}

function wrapped(text: string, width: number): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join("\n");
}
