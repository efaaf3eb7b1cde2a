import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { encodeErrorResult } from "viem";
import { errorsAbi } from "@conclave/contracts/abi";
import { revertError } from "../../agents/adapters/chain/errors.ts";
import { refusals } from "../../agents/adapters/chain/refusals.ts";

/** Errors of the token, which is not our contract. */
const foreign = ["ERC20InsufficientBalance", "ERC20InsufficientAllowance"];

describe("what the contracts refuse", () => {
  it("has a way out for every custom error, and for nothing else", () => {
    const names = [...new Set<string>(errorsAbi.map(({ name }) => name)), ...foreign];
    assert.deepEqual(Object.keys(refusals).toSorted(), names.toSorted());
  });

  it("is listed in docs/reasons.md", async () => {
    const text = await readFile(new URL("../../docs/reasons.md", import.meta.url), "utf8");
    const section = text.split("## What the contracts refuse")[1] ?? "";
    // A third column says why, where it is not obvious.
    const listed = [...section.matchAll(/^\| `(\w+)` +\| ([^|]+?) +\|(?: [^|]*\|)?$/gm)].map(([, name, wayOut]) => [
      name,
      wayOut,
    ]);
    assert.deepEqual(listed, Object.entries(refusals));
  });

  it("is reported with its arguments", () => {
    const args = [7n, 1_800_000_000] as const;
    const { message, code, data } = revertError(
      encodeErrorResult({ abi: errorsAbi, errorName: "DeadlinePassed", args }),
      "Commit the decision",
    );
    assert.equal(code, "CHAIN_REVERTED");
    assert.deepEqual([data["error"], data["requestId"], data["deadline"]], ["DeadlinePassed", "7", "1800000000"]);
    assert.equal(
      message,
      "Commit the decision: the contract refused with DeadlinePassed (requestId 7, deadline 1800000000): too late: the decision that nobody appealed against in time stands, and anybody's call ends or repeats an attempt that nobody answered in time",
    );
  });
});
