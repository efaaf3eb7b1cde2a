import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { securityOf } from "../../agents/cli/request/security.ts";
import { protocolByCode } from "../../agents/core/protocols/index.ts";
import { PRECOMMIT } from "../../agents/core/seat/certify/messages.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import type { Assurance, Terms } from "../../agents/core/types.ts";
import { attemptOf } from "../support/core/committee.ts";
import { believing, byRank, decisionOf, silentIn, watched } from "../support/core/council-scripts.ts";

const byCode = (code: number): Protocol => protocolByCode(code) as Protocol;
const mbft = byCode(1);

/** A committee of 13, of which so many seats lie. */
function lyingTo(liars: number, assurance: Assurance) {
  const attempt = attemptOf(13, { protocol: 1, kind: "boolean", assurance });
  const lying = Object.fromEntries(Array.from({ length: liars }, (_, rank) => [rank, believing("no")]));
  return watched(mbft, attempt, byRank(attempt, believing("yes"), lying));
}

// Audit of 23 November: these fail until they are mended.
describe("who can put honest stake at risk (SC3, SC7)", () => {
  for (const code of [7, 8, 9]) {
    const protocol = byCode(code);
    it(`${protocol.id}: agents refuse secured terms, since one seat's word would put the stake of all others at risk`, () => {
      const attempt = attemptOf(4, { protocol: code, kind: "boolean", security: "secured", appeals: 2 });
      assert.notEqual(protocol.refuseRequest(attempt), null);
    });
  }

  it("debate: a chair that lies leaves its own signature out, and honest seats alone certify its word", () => {
    const attempt = attemptOf(4, { protocol: 8, kind: "boolean", security: "secured", appeals: 2 });
    const liar = silentIn(believing("no"), PRECOMMIT);
    const run = watched(byCode(8), attempt, byRank(attempt, believing("yes"), { 0: liar }));
    assert.notEqual(decisionOf(run).answer, "no");
  });

  it("at high assurance 7 hostile seats of 13 decide nothing", () => {
    assert.equal(decisionOf(lyingTo(7, "high")).status, "hung");
  });

  it("SC7: at normal assurance 7 of 13 decide, all others certify it, and SC7 says how often a fifth holds 7", () => {
    const run = lyingTo(7, "normal");
    assert.equal(decisionOf(run).answer, "no");
    assert.equal(run.certificates.filter((one) => one !== null).length, 13);
    const terms = { committeeSize: 13, security: "secured", assurance: "normal" } as Terms;
    const reported = securityOf(terms, []).capture[0]?.probability ?? 0;
    const odds = Array.from({ length: 7 }, (_, k) => choose(13, 7 + k) * 0.2 ** (7 + k) * 0.8 ** (6 - k));
    const held = odds.reduce((sum, one) => sum + one, 0);
    assert.equal(Math.round(1 / reported), Math.round(1 / held));
  });
});

function choose(n: number, k: number): number {
  return k === 0 ? 1 : (choose(n - 1, k - 1) * n) / k;
}
