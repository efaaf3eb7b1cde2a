import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { constant } from "../../test/support/contract-limits.ts";
import type { GasFile } from "../bench/gas/gas-file.ts";

const read = (path: string): string => readFileSync(join(import.meta.dirname, "../..", path), "utf8");
const page = read("docs/spec/gas.md");
const { gas } = JSON.parse(read("test/contracts/gas.json")) as GasFile;

const CALLBACK_GAS = 100_000;

const numberOf = (text: string): number => Number(text.replaceAll(/[,\s]/g, ""));

/** The rows of a table with so many columns, below a heading. */
function rowsBelow(heading: string, columns: number): readonly (readonly number[])[] {
  const [, below = ""] = page.split(`### ${heading}\n`);
  const [section = ""] = below.split("\n### ");
  return section
    .split("\n")
    .filter((line) => /^\| \d/.test(line))
    .map((line) => line.split("|").slice(1, -1).map(numberOf))
    .filter((row) => row.length === columns);
}

function paid(n: number, isAppealable: boolean): number {
  const [, request = ""] = /The request is ([\d,]+) of each figure/.exec(page) ?? [];
  const seats = n * (constant("RELAY_SEAT_GAS") + constant("PAY_SEAT_GAS"));
  const always = numberOf(request) + constant("RELAY_BASE_GAS") + constant("PAY_BASE_GAS") + seats + CALLBACK_GAS;
  const later = constant("DELIVERY_GAS") + constant("SETTLE_GAS") + constant("SETTLE_ROUND_GAS");
  return isAppealable ? always + later : always;
}

function used(n: number, items: number, isAppealable: boolean): number {
  const allowed = isAppealable ? ", an appeal allowed" : "";
  return gas[`all in, ${n} seats, 1000 proven, ${items} commits with 1 headers${allowed}`]!;
}

describe("gas: what docs/spec/gas.md says an asker pays", () => {
  it("is what SE13 pays for requests without changed reputations, beside what the kept figures say is used", () => {
    const rows = [4, 7, 13, 31].map((n) => [
      n,
      ...[false, true].flatMap((isAppealable) => [
        paid(n, isAppealable),
        used(n, 1, isAppealable),
        used(n, 20, isAppealable),
      ]),
    ]);
    assert.deepEqual(rowsBelow("What an asker pays", 7), rows);
  });
});
