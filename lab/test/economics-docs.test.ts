import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { appealSizes, seatsToBreak } from "../complexity/committee-odds.ts";
import { GAS_LEVELS, SEAT_GAS_LEVEL, SETTINGS, SHARES } from "../economics/assumptions.ts";
import { odds } from "../economics/coalition.ts";
import { sum } from "../economics/estimate.ts";
import { dollars } from "../economics/report.ts";
import { DRAWS, costOfOwn, holds, type Draw } from "../economics/security.ts";
import { BUYS } from "../economics/study.ts";
import { assertClose } from "../../test/support/assertions.ts";

const page = (name: string): string => readFileSync(join(import.meta.dirname, "../../docs", name), "utf8");
const cellsOf = (line: string): readonly string[] => line.split("|").map((cell) => cell.trim());
const numberOf = (text: string): number => Number(text.replaceAll(/[,*]/g, ""));

/** The rows of docs/asking.md that say what to take for how much. */
const recommended = page("asking.md")
  .split("\n")
  .filter((line) => /^\| [\d,]+ \| `--committee/.test(line))
  .map((line) => {
    const [, limit = "", terms = "", , costs = ""] = cellsOf(line);
    const [, committee, appeals] = /--committee (\d+) --assurance high(?: --appeals (\d))?`/.exec(terms) ?? [];
    const [least = "", most = ""] = costs.split(" to ");
    return { limit: numberOf(limit), committeeSize: Number(committee), appeals: Number(appeals ?? 0), least, most };
  });

/** What docs/economics.md has in the long run for a strategy, in cents, by setting and gas price. */
function rowsOf(strategy: string): readonly (readonly number[])[] {
  const tables = page("economics.md").split("generated: tables-long")[1] ?? "";
  return tables
    .split("\n")
    .filter((line) => line.startsWith(`| ${strategy} |`))
    .map((line) => cellsOf(line).slice(2, -1).map(numberOf));
}

/** Solves `f(x) = value`, where `f` is a straight line wherever a committee costs more than the silence of one: so it is at 100 dollars. */
const solve = (f: (x: number) => number, value: number): number => 100 + (value - f(100)) / (f(101) - f(100));

/** Dollars that requests cost a share of the stake until it has a committee of its own, by the cheaper of both draws. */
function costsOf(index: number, gwei: (typeof GAS_LEVELS)[number], share: number): number {
  const { committeeSize: n, limit } = SETTINGS[index]!;
  const [fifth] = SHARES;
  const spent = (draw: Draw): number =>
    limit - rowsOf(BUYS[draw])[index]![GAS_LEVELS.indexOf(gwei)]! / 100 / holds(n, fifth);
  const unanswered = -rowsOf("asker that nobody answers")[index]![GAS_LEVELS.indexOf(gwei)]! / 100;
  const known = { decided: 0, hung: 0, unanswered };
  const decided = solve((cost) => costOfOwn(n, fifth, "decided", { ...known, decided: cost }), spent("decided"));
  const hung = solve((cost) => costOfOwn(n, fifth, "hung", { ...known, decided, hung: cost }), spent("hung"));
  return Math.min(...DRAWS.map((draw) => costOfOwn(n, share, draw, { decided, hung, unanswered })));
}

/** P(a share of the stake silences a committee). */
const silences = (n: number, share: number): number =>
  sum(Array.from({ length: n - seatsToBreak(n) + 1 }, (_, more) => odds(n, seatsToBreak(n) + more, share)));

describe("economics: what docs/asking.md recommends", () => {
  it("each recommended setting is one that the study plays, at high assurance, and the other way round", () => {
    assert.deepEqual(
      recommended.map(({ limit, committeeSize, appeals }) => ({ limit, committeeSize, appeals })),
      SETTINGS.map(({ limit, committeeSize, appeals }) => ({ limit, committeeSize, appeals })),
    );
  });

  it("a decision of its own costs a holder of a fifth what the study found, on a rollup and at 0.5 gwei", () => {
    for (const draw of DRAWS) assert.equal(rowsOf(BUYS[draw]).length, SETTINGS.length);
    const [fifth] = SHARES;
    for (const [index, { least, most }] of recommended.entries()) {
      for (const [gwei, said] of [
        [GAS_LEVELS[0], least],
        [SEAT_GAS_LEVEL, most],
      ] as const)
        // The gains have two digits, and the costs one or two.
        assertClose(numberOf(said) / costsOf(index, gwei, fifth), 1, 0.06, `${SETTINGS[index]!.name}, ${gwei} gwei`);
      assert.ok(page("economics.md").includes(`| ${most} |`), most);
    }
  });

  it("what two settings are worth against a holder of a third, on a rollup", () => {
    const third = SHARES[1];
    const [small, large] = [1, 2].map((index) => Number(costsOf(index, GAS_LEVELS[0], third).toPrecision(1)));
    assert.ok(page("asking.md").includes(`15 and 600 dollars become ${dollars(small!)} and ${dollars(large!)}.`));
  });

  it("how often a fifth and a third of the stake silence an appeal, without a retry and with one", () => {
    const percents = (share: number): readonly string[] => {
      const once = [4, 7, 13].map((n) => silences(appealSizes(n, 1)[1]!, share));
      return [...once, ...once.map((chance) => chance ** 2)].map((chance) =>
        chance < 0.01 ? (100 * chance).toFixed(1) : (100 * chance).toFixed(0),
      );
    };
    const [fifth, third] = SHARES;
    for (const [name, share] of [
      ["a fifth", fifth],
      ["a third", third],
    ] as const)
      assert.ok(
        page("asking.md").includes(
          `| ${name} of the stake | ${percents(share)
            .map((text) => `${text} %`)
            .join(" | ")} |`,
        ),
        `${name}: ${percents(share).join(" ")}`,
      );
  });
});
