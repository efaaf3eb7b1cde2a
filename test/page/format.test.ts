// How the dashboard writes amounts and addresses.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { amount, exact, seconds, shortHex } from "../../dashboard/src/shared/format.ts";

describe("page: amounts and addresses", () => {
  it("marks what it cuts off, and writes what was paid to the last digit", () => {
    const fee = 8_350_000_000_000_000n;
    assert.equal(amount(fee, 18, "ETH"), "≈ 0.0083 ETH");
    assert.equal(exact(fee, 18, "ETH"), "0.00835 ETH");
    assert.equal(amount(1_500_000n, 6, "T"), "1.5 T");
    assert.equal(amount(12_345_000_001n, 6, "T"), "≈ 12 345 T");
    assert.equal(amount(1n, 18, "ETH"), "< 0.0001 ETH");
    assert.equal(amount(0n, 18, "ETH"), "0 ETH");
    assert.equal(exact(1_234_567_000_001n, 6, "T"), "1 234 567.000001 T");
    assert.equal(exact(12_345_678_901n, 11, "T"), "0.12345678901 T");
    assert.equal(exact(1_000n, 0, "T"), "1 000 T");
  });

  it("writes a duration in each unit of which it has some", () => {
    for (const [duration, text] of [
      [0, "0 seconds"],
      [1, "1 second"],
      [59, "59 seconds"],
      [90, "1 minute 30 seconds"],
      [1_800, "30 minutes"],
      [3_600, "1 hour"],
      [7_199, "1 hour 59 minutes 59 seconds"],
      [5_400, "1 hour 30 minutes"],
      [90_000, "1 day 1 hour"],
      [100_000, "1 day 3 hours 46 minutes 40 seconds"],
      [1_209_600, "14 days"],
    ] as const)
      assert.equal(seconds(duration), text);
  });

  it("writes an address alike with a checksum and without", () => {
    const address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
    assert.equal(shortHex(address), "0x7099…79c8");
    assert.equal(shortHex(address.toLowerCase()), shortHex(address));
  });
});
