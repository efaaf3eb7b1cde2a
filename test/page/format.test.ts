// How the dashboard writes amounts and addresses.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { amount, exact, shortHex } from "../../dashboard/src/shared/format.ts";

describe("page: amounts and addresses", () => {
  it("marks what it cuts off, and writes what was paid to the last digit", () => {
    const fee = 8_350_000_000_000_000n;
    assert.equal(amount(fee, 18, "ETH"), "≈ 0.0083 ETH");
    assert.equal(exact(fee, 18, "ETH"), "0.00835 ETH");
    assert.equal(amount(1_500_000n, 6, "T"), "1.5 T");
    assert.equal(amount(12_345_000_001n, 6, "T"), "≈ 12 345 T");
    assert.equal(amount(1n, 18, "ETH"), "< 0.0001 ETH");
    assert.equal(amount(0n, 18, "ETH"), "0 ETH");
  });

  it("writes an address alike with a checksum and without", () => {
    const address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
    assert.equal(shortHex(address), "0x7099…79c8");
    assert.equal(shortHex(address.toLowerCase()), shortHex(address));
  });
});
