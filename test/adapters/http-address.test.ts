import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countedAs } from "../../agents/adapters/http-server.ts";

describe("whom an HTTP server counts", () => {
  it("is an IPv4 address, however it is written", () => {
    assert.equal(countedAs("192.0.2.7"), "192.0.2.7");
    assert.equal(countedAs("::ffff:192.0.2.7"), "192.0.2.7");
  });

  it("is a network of IPv6, since one machine has all of its addresses", () => {
    const one = countedAs("2001:db8:1:2:3:4:5:6");
    assert.equal(countedAs("2001:db8:1:2::9"), one);
    assert.equal(countedAs("2001:0db8:0001:0002:ffff:ffff:ffff:ffff%eth0"), one);
    assert.notEqual(countedAs("2001:db8:1:3::9"), one);
    assert.equal(countedAs("2001:db8::1"), countedAs("2001:db8:0:0:9::"));
    assert.equal(countedAs("::1"), countedAs("::2"));
  });

  it("is the same for all who have none", () => assert.equal(countedAs(undefined), countedAs("")));
});
