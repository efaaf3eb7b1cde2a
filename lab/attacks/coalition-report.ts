import { markdownTable } from "../shared/markdown.ts";
import { playCoalition, STRATEGIES, type CoalitionResult, type Strategy } from "./coalitions.ts";

/** The most that learned skills may cost, in parts of all decisions: what docs/spec/skill.md states. */
export const LOSS_BOUND = 0.08;

const SHARES = [0.2, 0.3];
const SIZES = [4, 7, 13];
const WEEKS = 20;

export interface CoalitionReport {
  readonly seed: number;
  readonly bound: number;
  readonly rows: readonly CoalitionResult[];
  /** Rows that lose more than the bound, beyond doubt at 95 %. */
  readonly failures: readonly CoalitionResult[];
}

const NAMES: Readonly<Record<Strategy, string>> = {
  none: "nobody is hostile",
  lies: "lies always",
  turns: "answers rightly in the first round, lies after it",
  sleeps: "honest for ten weeks, then lies",
  farms: "asks its own questions each week, then lies",
  floods: "asks hard ones until nobody can learn more in the week, then lies",
};

/** `trials`: measured decisions of a row. */
export function attackSkills(
  { trials, seed }: { readonly trials: number; readonly seed: number },
  progress: (line: string) => void,
): CoalitionReport {
  const requests = Math.ceil((2 * trials) / WEEKS);
  const rows = SIZES.flatMap((seats) =>
    SHARES.flatMap((share) =>
      STRATEGIES.map((strategy) => {
        const row = playCoalition({ strategy, share, seats, assurance: "normal", weeks: WEEKS, requests, seed });
        progress(`n = ${seats}, ${percent(share)}: ${NAMES[strategy]}`);
        return row;
      }),
    ),
  );
  return { seed, bound: LOSS_BOUND, rows, failures: rows.filter(({ gain }) => gain.high < -LOSS_BOUND) };
}

export function coalitionText({ rows, seed, failures }: CoalitionReport): string {
  const table = markdownTable(
    [
      "n",
      "coalition",
      "what it does",
      "right by counting",
      "right by skill",
      "difference",
      "skill of honest seats",
      "of the coalition's",
    ],
    rows.map(({ seats, share, strategy, counting, learned, gain, skills }) => [
      `${seats}`,
      percent(share),
      NAMES[strategy],
      percent(counting),
      percent(learned),
      `${points(gain.mean)} [${points(gain.low)}, ${points(gain.high)}]`,
      skills.honest.toFixed(2),
      skills.coalition.toFixed(2),
    ]),
  );
  const summary =
    failures.length === 0
      ? `No coalition makes learned skills lose more than ${percent(LOSS_BOUND)} beyond doubt.`
      : `**${failures.length} rows lose more than ${percent(LOSS_BOUND)}.**`;
  return `${rows[0]?.measured ?? 0} decisions a row, seed ${seed}. ${summary}\n\n${table}`;
}

function percent(part: number): string {
  return `${(100 * part).toFixed(part * 100 === Math.round(part * 100) ? 0 : 1)} %`;
}

function points(part: number): string {
  return (100 * part).toFixed(1);
}
