import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { HardhatEthers } from "@nomicfoundation/hardhat-ethers/types";
import { network } from "hardhat";

import { bookGas, checked, sumOf, type Call, type Item, type Step, type Traced } from "../bench/gas/booking.ts";
import { floorText, measureFloor, type Floor } from "../bench/gas/floor.ts";
import { deployWorld, registerAgents } from "../../test/support/contracts/world.ts";
import { assertAbove, assertWithin } from "../../test/support/assertions.ts";

const own = "0x00000000000000000000000000000000000000aa";
const other = "0x00000000000000000000000000000000000000bb";
const recover = "0x0000000000000000000000000000000000000001";

/** Steps with the gas that is left before each: of a call, `gasCost` is what it takes with the steps of the call. */
function stepsFrom(costs: readonly (readonly [op: string, gasCost: number, depth?: number])[]): Step[] {
  let gas = 100_000;
  return costs.map(([op, gasCost, depth = 1]) => {
    const step = { op, gas, gasCost, depth, refund: 0 };
    gas -= gasCost;
    return step;
  });
}

/** A transaction with 2 bytes of calldata, and all steps whose gas a rule explains. */
function traced(change: Partial<Traced> = {}): Traced {
  const steps = stepsFrom([
    ["SLOAD", 2_100],
    ["SLOAD", 100],
    ["SSTORE", 22_100],
    ["SSTORE", 2_900],
    ["SSTORE", 100],
    ["STATICCALL", 3_100],
    // The account and 6 gas of memory: the steps of the call come next.
    ["CALL", 2_606],
    ["SSTORE", 5_000, 2],
    ["LOG2", 375 * 3 + 8 * 32 + 3, 2],
    ["STOP", 0, 2],
    ["KECCAK256", 36],
    ["ADD", 3],
    ["STOP", 0],
  ]);
  const call: Call = {
    type: "CALL",
    to: own,
    gasUsed: "0x0",
    calls: [
      { type: "STATICCALL", to: recover, gasUsed: "0xbb8" },
      { type: "CALL", to: other, gasUsed: `0x${(5_000 + 1_384).toString(16)}` },
    ],
  };
  const contracts = new Map([
    [own, "own"],
    [other, "other"],
  ]);
  const gasUsed = 21_000 + 20 + sumOf(steps.map(({ gasCost: gas }) => ({ gas })));
  return { steps, call, data: "0x0001", named: [], eventBytes: [32], gasUsed, contracts, ...change };
}

/** The trace with another cost of one step, at which the gas of all later ones falls. */
function dearer(index: number, gas: number): Step[] {
  return traced().steps.map((step, at) => ({
    ...step,
    gas: step.gas - (at > index ? gas : 0),
    gasCost: step.gasCost + (at === index ? gas : 0),
  }));
}

const gasOf = (items: readonly Item[], contract: string | null, what: string): number | undefined =>
  items.find((item) => item.contract === contract && item.what === what)?.gas;

describe("gas, booked item by item", () => {
  it("books each step under what the chain charges for", () => {
    const items = bookGas(traced());
    const expected = [
      [null, "transaction", 21_000],
      [null, "calldata: arguments, zero bytes", 4],
      [null, "calldata: arguments, nonzero bytes", 16],
      ["own", "words read first", 2_100 + 2_100],
      ["own", "words read again", 100],
      ["own", "words that were zero, written", 20_000],
      ["own", "words changed", 2_900],
      ["own", "words written again", 100],
      ["own", "signatures recovered", 3_000],
      ["own", "calls", 100],
      ["own", "accounts read first", 2_600],
      ["own", "hashes", 36],
      ["own", "computation", 6 + 3],
      ["other", "words read first", 2_100],
      ["other", "words changed", 2_900],
      ["other", "events: topics", 375 * 3],
      ["other", "events: bytes", 8 * 32],
      ["other", "computation", 3],
    ] as const;
    for (const [contract, what, gas] of expected)
      assert.equal(gasOf(items, contract, what), gas, `${contract} ${what}`);
    assert.equal(items.length, expected.length);
    const rest = ["words read again", "words written again", "calls", "hashes", "computation"];
    for (const { what, isFloor } of items) assert.equal(isFloor, !rest.includes(what), what);
  });

  it("names parts of the calldata, and books the floor of EIP-7623 and a refund", () => {
    const items = bookGas(
      traced({ data: "0x000100", named: [{ name: "header", data: "0x01" }], gasUsed: traced().gasUsed + 4 }),
    );
    assert.equal(gasOf(items, null, "calldata: header, nonzero bytes"), 16);
    assert.equal(gasOf(items, null, "calldata: arguments, zero bytes"), 8);
    const data = `0x${"01".repeat(3_000)}`;
    const floored = bookGas(traced({ data, gasUsed: 21_000 + 40 * 3_000 }));
    assertAbove(gasOf(floored, null, "calldata: rest of the floor (EIP-7623)") ?? 0, 0);
    const steps = traced().steps.map((step) => ({ ...step, refund: 4_800 }));
    assert.equal(gasOf(bookGas(traced({ steps, gasUsed: traced().gasUsed - 4_800 })), null, "refund"), -4_800);
  });

  it("refuses items that do not sum to the gas used", () => {
    assert.throws(
      () => bookGas(traced({ gasUsed: traced().gasUsed + 1 })),
      /The items sum to \d+ gas, where the receipt tells \d+/,
    );
    const { gasUsed } = traced();
    const items = bookGas(traced());
    assert.throws(() => checked(items.slice(1), gasUsed), /sum to/);
    assert.equal(checked(items, gasUsed), items);
  });

  it("refuses a step whose gas no rule explains, or that took other gas than it says", () => {
    const refused = (change: Partial<Traced>, message: RegExp): void =>
      assert.throws(() => bookGas(traced(change)), message);
    refused({ steps: dearer(0, 1) }, /No rule explains why a SLOAD of own costs 2101 gas/);
    refused({ steps: dearer(2, -1) }, /No rule explains why a SSTORE of own costs 22099 gas/);
    refused({ steps: dearer(6, 2_600) }, /No rule explains why a CALL of own costs 5206 gas/);
    refused({ steps: dearer(8, -4) }, /No rule explains why a LOG2 of other/);
    const wrong = traced().steps.map((step, at) => (at === 0 ? { ...step, gasCost: 100 } : step));
    refused({ steps: wrong }, /A SLOAD of own costs 100 gas, and took 2100/);
    const short = { ...traced().call, calls: [] };
    refused({ call: short }, /No call is known for a STATICCALL of own/);
    refused({ eventBytes: [32, 32] }, /1 events of the receipt are not in the trace/);
    refused({ eventBytes: [] }, /The receipt has no event for a LOG2 of other/);
    refused({ contracts: new Map([[own, "own"]]) }, /The contract at 0x0+bb has no name/);
    const failed = traced().steps.map((step) => (step.op === "STOP" ? { ...step, op: "REVERT" } : step));
    refused({ steps: failed }, /A call of other ends with REVERT/);
  });
});

describe("the floor of a committee, on a chain", () => {
  let floor: Floor;
  before(async () => {
    // The plugin adds `ethers` to the connection.
    const { ethers } = (await network.create()) as unknown as { readonly ethers: HardhatEthers };
    const world = await deployWorld(ethers);
    await registerAgents(world, 8);
    floor = await measureFloor(world, 4, 2);
  });

  it("is a part of all the gas that two decisions used", () => {
    const { gasUsed, perDecision, items } = floor;
    const of = (name: string): number => sumOf(items.filter(({ transaction }) => transaction === name));
    assert.deepEqual({ request: of("request"), commit: of("commit") }, gasUsed);
    assert.equal(perDecision.all, Math.round(gasUsed.request + gasUsed.commit / 2));
    assert.ok(Math.abs(perDecision.floor + perDecision.rest - perDecision.all) <= 1);
    assertAbove(perDecision.rest, 0);
  });

  it("has what a committee of four needs: signatures, candidates, accounts, events and the consumer's word", () => {
    const find = (contract: string | null, what: string) =>
      floor.items.find((item) => item.transaction === "commit" && item.contract === contract && item.what === what);
    // More than two thirds of four are three, for each of two decisions.
    assert.equal(find("oracle", "signatures recovered")?.times, 6);
    assert.equal(find("consumer", "words that were zero, written")?.times, 2);
    assert.equal(
      (find(null, "calldata: signatures, zero bytes")?.times ?? 0) +
        find(null, "calldata: signatures, nonzero bytes")!.times,
      2 * (8 + 3 * 64),
    );
    // One header is some 600 bytes.
    const header = ["zero", "nonzero"].map((bytes) => find(null, `calldata: header, ${bytes} bytes`)?.times ?? 0);
    assertWithin(header[0]! + header[1]!, 500, 900);
    assertAbove(find("registry", "words read first")?.times ?? 0, floor.seated);
    assertAbove(find("registry", "words changed")?.times ?? 0, floor.seated - 1);
  });

  it("is told as two tables whose sums are the decision's", () => {
    const { all } = floor.perDecision;
    const text = floorText(floor, all - 4_000);
    assert.equal(text.match(/^\| transaction \|/gm)?.length, 2);
    for (const { what } of floor.items) assert.ok(text.includes(what), what);
    assert.ok(text.includes(`| **sum** |  | ${floor.perDecision.floor.toLocaleString("en")} |`));
    assert.ok(text.includes("To meet it, 4,000 of the rest would have to go, or 1,000 a seat."));
    assert.ok(floorText(floor, all).includes("which is met"));
  });
});
