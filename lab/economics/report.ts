// The findings as tables: in a terminal, and in docs/economics.md.
import { markdownTable } from "../shared/markdown.ts";
import type { Estimate } from "./estimate.ts";
import { conclude, resultOf, type Exception, type Row } from "./rows.ts";
import { SHARES } from "./assumptions.ts";
import { SECURED } from "./security.ts";
import type { Findings } from "./study.ts";
import type { SkillRow } from "./skill.ts";
import { UNEQUAL, UNEQUAL_SEATS } from "./unequal.ts";
import type { YearRow } from "./year.ts";

/** Cents with as many digits as say something. */
function cents(value: number): string {
  const size = Math.abs(value);
  const text = size >= 100 ? Math.round(value).toLocaleString("en") : size >= 1 ? value.toFixed(1) : value.toFixed(2);
  return /^-?[0.]+$/.test(text) ? "0" : text;
}

export const dollars = (value: number): string => {
  if (!Number.isFinite(value)) return "no sum is enough";
  const rounded = Number(value.toPrecision(2));
  return rounded >= 1e6 ? rounded.toExponential(0) : rounded.toLocaleString("en");
};

function cell({ mean, low, high }: Estimate): string {
  return high - low < 0.01 ? cents(mean) : `${cents(mean)} [${cents(low)}, ${cents(high)}]`;
}

const MARKS = { holds: "", undecided: " ?", fails: " **fails**" } as const;

function pivot(
  rows: readonly Row[],
  first: string,
  columnOf: (row: Row) => string,
  value: (row: Row) => string,
): string {
  const columns = [...new Set(rows.map(columnOf))];
  const strategies = [...new Set(rows.map(({ strategy }) => strategy))];
  return markdownTable(
    [first, ...columns],
    strategies.map((strategy) => [
      strategy,
      ...columns.map((column) => {
        const row = rows.find((one) => one.strategy === strategy && columnOf(one) === column);
        return row === undefined ? "" : value(row);
      }),
    ]),
  );
}

const judged = (row: Row): string => cell(row.gain) + MARKS[resultOf(row)];

/** What does not hold, with the numbers: always the first thing said. */
export function failuresText(
  { rows, faults }: Pick<Findings, "rows" | "faults">,
  exceptions: readonly Exception[],
): string {
  const { stated, failures, undecided, idle } = conclude(rows, exceptions);
  const lines = [
    ...faults.map((fault) => `* **Money is not accounted for:** ${fault}.`),
    ...group(failures).map(([strategy, list]) => `* **Not stated in the docs: ${strategy}.** ${extremes(list)}.`),
    ...exceptions.flatMap((exception) => {
      const list = stated.filter((one) => one.exception === exception).map(({ row }) => row);
      return list.length === 0
        ? []
        : [`* ${exception.says} ${extremes(list)}. A run fails if it is above ${boundOf(exception)} beyond doubt.`];
    }),
    ...idle.map(({ says }) => `* Stated, but not found in this run: ${says}`),
    ...group(undecided).map(([strategy, list]) => `* Undecided at 95 %: ${strategy}. ${extremes(list)}.`),
  ];
  return lines.length === 0 ? "Everything holds." : lines.join("\n");
}

function group(rows: readonly Row[]): readonly (readonly [string, readonly Row[]])[] {
  return [...Map.groupBy(rows, ({ strategy }) => strategy)];
}

/** In cents, as the gains beside it. */
const boundOf = ({ most, isOfGas }: Exception): string =>
  `${most.toLocaleString("en")}${isOfGas === true ? " for each gwei" : ""}`;

/** The least and the greatest gain of some rows. */
function extremes(rows: readonly Row[]): string {
  const sorted = rows.toSorted((a, b) => Math.abs(a.gain.mean) - Math.abs(b.gain.mean));
  const strategies = new Set(rows.map(({ strategy }) => strategy));
  const where = ({ strategy, setting, gwei, gain }: Row): string =>
    `${cell(gain)} (${strategies.size > 1 ? `${strategy}; ` : ""}${setting}; ${gwei} gwei)`;
  const [least, most] = [sorted[0] as Row, sorted.at(-1) as Row];
  return least === most ? where(least) : `From ${where(least)} to ${where(most)}`;
}

/** All tables, in Markdown. */
export function tablesText(findings: Findings, stakeOf: (cents: Estimate) => Estimate): string {
  const { rows, security, certainties } = findings;
  const of = (name: Row["group"]): readonly Row[] => rows.filter((row) => row.group === name);
  const settings = [...new Set(rows.map(({ setting }) => setting))];
  const bySetting = ({ setting }: Row): string => setting;
  const seats = of("seats");
  return [
    "What a seat has, in cents for each draw, all others honest:",
    pivot(seats, "profit", bySetting, (row) => cell(row.profit)),
    "The same for each 1,000 tokens of stake and day, in cents:",
    pivot(seats, "profit", bySetting, (row) => cell(stakeOf(row.profit))),
    "What it gains by not being honest, paired by seed:",
    pivot(
      seats.filter(({ gain }) => gain.mean !== 0 || gain.high !== gain.low),
      "gain",
      bySetting,
      judged,
    ),
    "What coalitions gain over honest work, in cents for each seat that they hold:",
    pivot(of("coalitions"), "gain", bySetting, judged),
    ...settings.flatMap((setting) => [
      `Others with ${setting}, in cents a request, by the gas price:`,
      pivot(
        of("others").filter((row) => row.setting === setting),
        "gain",
        ({ gwei }) => `${gwei} gwei`,
        judged,
      ),
    ]),
    "How sure an appellant has to be, and from which fee on an appeal pays whoever is 95 % sure, in multiples of the quote:",
    markdownTable(
      ["setting", "gas price", "at the quote", "fee"],
      certainties.map(({ setting, gwei, least, fee }) => [
        setting,
        `${gwei} gwei`,
        least === null ? "never" : `${(100 * least).toFixed(1)} %`,
        fee.toFixed(1),
      ]),
    ),
    "What a decision of its own costs a coalition that asks until it has one, in dollars:",
    markdownTable(
      [
        "setting",
        "stake",
        "holds the first committee",
        "and all that appeals call",
        "cost if nobody appeals",
        "if somebody does",
      ],
      security.flatMap(({ setting, coalitions }) =>
        coalitions.map(({ share, first, all, unchallenged, challenged }) => [
          setting,
          `${Math.round(100 * share)} %`,
          once(first),
          once(all),
          dollars(unchallenged),
          dollars(challenged),
        ]),
      ),
    ),
  ].join("\n\n");
}

/** What stands behind a secured request's answer: arithmetic, the same in every run. */
export function securedText(): string {
  return markdownTable(
    [
      "setting",
      "a wrong first quorum loses at least, or wants as a bribe",
      "at the least stake",
      ...SHARES.map((share) => `${Math.round(100 * share)} % of the stake holds it`),
      "seats of the last committee",
      "bribes for it",
      "bonds up to it",
    ],
    SECURED.map(({ setting, slices, leastSlices, captures, last, bonds }) => [
      setting,
      dollars(slices),
      dollars(leastSlices),
      ...captures.map(once),
      `${last}`,
      "0",
      dollars(bonds),
    ]),
  );
}

/** How often a holder of light agents gets a committee, or silences it: arithmetic, the same in every run. */
export function unequalText(): string {
  const part = (chance: number): string => `${Number((100 * chance).toPrecision(2))} %`;
  return markdownTable(
    ["agents x tokens", "share", "it", ...UNEQUAL_SEATS.map((seats) => `${seats} seats`)],
    UNEQUAL.flatMap(({ name, share, holds, silences }) => [
      [name, part(share), "holds", ...holds.map(once)],
      ["", "", "silences", ...silences.map(part)],
    ]),
  );
}

/** What a year brings, in cents for each draw. */
export function yearText(rows: readonly YearRow[]): string {
  return markdownTable(
    [
      "seats",
      "draws a week",
      "steps of a fall",
      "honest",
      "its mean reputation",
      "gain: always sure",
      "always sure, and hides what most do not say",
      "sure once it has fallen in a week",
    ],
    rows.map(({ seats, aWeek, steps, honest, reputation, gains }) => [
      `${seats}`,
      `${aWeek}`,
      `${steps}`,
      cell(honest),
      reputation.toFixed(2),
      cell(gains.bold),
      cell(gains.wait),
      cell(gains.spent),
    ]),
  );
}

const SKILL_PLAYS = {
  farms: "asks what its members know, until they can learn no more in the week",
  floods: "asks hard ones, until nobody can learn more in the week",
} as const satisfies Record<SkillRow["strategy"], string>;

/** What skill costs a coalition, and what it brings. */
export function skillText(rows: readonly SkillRow[]): string {
  const points = (part: number): string => (100 * part).toFixed(1);
  return markdownTable(
    [
      "seats",
      "stake",
      "what it does",
      "own requests a week",
      "others earn by them, dollars a week",
      "lies decided by counting",
      "more by skill, points",
      "may be worth it from, dollars an answer",
      "at most hangs on one",
    ],
    rows.map(({ seats, share, strategy, own, cost, counting, added, worthFrom, limit }) => [
      `${seats}`,
      `${Math.round(100 * share)} %`,
      SKILL_PLAYS[strategy],
      own.toFixed(0),
      dollars(cost),
      `${points(counting)} %`,
      `${points(added.mean)} [${points(added.low)}, ${points(added.high)}]`,
      dollars(worthFrom),
      dollars(limit),
    ]),
  );
}

function once(chance: number): string {
  return chance === 0 ? "never" : `once in ${dollars(1 / chance)}`;
}
