import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { securityOf, securityRows } from "../../agents/cli/request/security.ts";
import { formatDuration, parseDuration } from "../../agents/cli/shared/arguments.ts";
import type { TermsFlags } from "../../agents/cli/request/term-options.ts";
import { requireTakers, termsOf } from "../../agents/cli/request/terms.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { policiesOf } from "../../agents/core/request/kinds.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import { packTerms } from "../../agents/core/encoding/words.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { ONE_PPM, type Address, type Terms } from "../../agents/core/types.ts";
import type { AgentRecord } from "../../agents/ports/chain.ts";
import { constant } from "../support/contract-limits.ts";

const flags: TermsFlags = {
  kind: "policies",
  options: "4",
  protocol: "mbft",
  committee: "4",
  fee: "1",
  currency: "token",
  duration: "30m",
  appeals: "0",
  finality: "0",
  retries: "0",
  assurance: "normal",
  security: "none",
};
const secured = defaultTerms({ protocol: 1, appeals: 2, assurance: "high", security: "secured" });
const unit = { symbol: "FEE", decimals: 18 };
const [first] = protocols;
assert.ok(first);
const chaired: Protocol = { ...first, id: "chaired", code: 250, assurance: "chair" };
const sworn: Protocol = { ...first, id: "sworn", code: 251, assurance: "byzantine" };

function ask(change: Partial<TermsFlags>, registry?: readonly Protocol[]): Terms | ConclaveError {
  try {
    return termsOf({ ...flags, ...change }, unit, registry);
  } catch (error) {
    assert.ok(error instanceof ConclaveError, String(error));
    return error;
  }
}

function refusal(change: Partial<TermsFlags>, registry?: readonly Protocol[]): ConclaveError {
  const error = ask(change, registry);
  assert.ok(error instanceof ConclaveError, JSON.stringify(change));
  return error;
}

describe("command line: terms", () => {
  it("prints a duration as an option reads it", () => {
    for (const [seconds, text] of [
      [0, "0s"],
      [90, "1m30s"],
      [1_800, "30m"],
      [36_000, "10h"],
      [120_960, "1d9h36m"],
      [1_379_391, "15d23h9m51s"],
      [604_800, "7d"],
    ] as const)
      assert.equal(formatDuration(seconds), text);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e9 }), (seconds) =>
        assert.equal(parseDuration(formatDuration(seconds), "--duration"), seconds),
      ),
    );
    for (const text of ["", "0s", "5", "36m33h", "1h 5m", "-1h", "1.5h"])
      assert.throws(() => parseDuration(text, "--duration"), { code: "USAGE" }, text);
  });

  it("D16: asks for policies as kind 4 with 2 to 26 options, like the contract", () => {
    const least = constant("MIN_OPTIONS");
    const most = constant("MAX_OPTIONS");
    assert.deepEqual([least, most], [2, 26]);
    fc.assert(
      fc.property(fc.integer({ min: -2, max: 40 }), fc.constantFrom("choice", "policies"), (options, kind) => {
        const terms = ask({ kind, options: String(options) });
        if (options < least || options > most) {
          assert.ok(terms instanceof ConclaveError);
          return assert.equal(terms.code, "USAGE");
        }
        assert.ok(!(terms instanceof ConclaveError));
        assert.deepEqual([terms.kind, terms.options, terms.decimals, terms.tolerance], [kind, options, 0, 0n]);
        assert.equal((packTerms(terms) >> 8n) & 0xffffn, BigInt(options << 8) | (kind === "choice" ? 1n : 4n));
      }),
    );
    const terms = ask({});
    assert.ok(!(terms instanceof ConclaveError));
    assert.deepEqual(
      policiesOf(canonicalAnswer({ terms, question: "" }, "d b")?.outcome ?? assert.fail("no answer")),
      [1, 3],
    );
  });

  it("names the field that does not fit the kind", () => {
    for (const kind of ["choice", "policies"]) {
      const missing = refusal({ kind, options: undefined as never });
      assert.deepEqual([missing.code, missing.data["field"]], ["TERMS_INVALID", "options"]);
      assert.match(missing.message, new RegExp(`--kind ${kind} needs --options N`));
    }
    for (const kind of ["boolean", "number", "text"]) {
      const { code, data, message } = refusal({ kind });
      assert.deepEqual([code, data["field"], data["value"]], ["TERMS_INVALID", "options", "4"]);
      assert.match(message, /only --kind choice and --kind policies have options/);
    }
    assert.equal(refusal({ decimals: "1" }).data["field"], "decimals");
    assert.equal(refusal({ tolerance: "1" }).data["field"], "tolerance");
  });

  it("refuses high assurance of a protocol whose certificate is the chair's word", () => {
    const registry = [first, chaired, sworn];
    const { code, data, message } = refusal({ protocol: "chaired", assurance: "high" }, registry);
    assert.deepEqual([code, data["field"], data["value"]], ["TERMS_INVALID", "assurance", "high"]);
    assert.match(message, /chaired .* the answer is the chair's.*choose normal, or --protocol mbft, sworn$/);
    for (const [protocol, assurance, expected] of [
      ["chaired", "normal", 250],
      ["sworn", "high", 251],
      ["sworn", "normal", 251],
    ] as const) {
      const terms = ask({ protocol, assurance }, registry);
      assert.ok(!(terms instanceof ConclaveError));
      assert.deepEqual([terms.protocol, terms.assurance], [expected, assurance]);
    }
    assert.equal(refusal({ assurance: "low" }, registry).code, "USAGE");
  });

  it("refuses a question that every agent would refuse under the protocol", () => {
    const taken = (change: Partial<TermsFlags>, question = "What first?"): ConclaveError | null => {
      const terms = ask({ options: undefined as never, kind: "text", ...change });
      assert.ok(!(terms instanceof ConclaveError));
      try {
        requireTakers(terms, question);
        return null;
      } catch (error) {
        assert.ok(error instanceof ConclaveError, String(error));
        return error;
      }
    };
    for (const [change, reason] of [
      [
        { protocol: "leaderless", assurance: "high" },
        /"leaderless": every agent would refuse: .*no high assurance for texts/,
      ],
      [{ protocol: "hashgraph", committee: "40" }, /"hashgraph": .*committee size 40/],
      [{ protocol: "escalating", committee: "27" }, /"escalating": .*26 seats, not 27/],
    ] as const) {
      const error = taken(change);
      assert.deepEqual([error?.code, error?.data["field"]], ["TERMS_INVALID", "protocol"]);
      assert.match(error?.message ?? "", reason);
    }
    for (const { id } of protocols) assert.equal(taken({ protocol: id }), null, id);
    assert.equal(taken({ protocol: "leaderless" }), null);
    assert.equal(taken({ protocol: "leaderless", assurance: "high", kind: "boolean" }), null);
  });

  it("refuses committees that could not be settled together", () => {
    for (const [change, seats] of [
      [{ committee: "64", retries: "3" }, 256],
      [{ committee: "7", appeals: "3", retries: "2" }, 242],
    ] as const) {
      const error = refusal(change);
      assert.deepEqual([error.code, error.data["field"]], ["TERMS_INVALID", "committee"]);
      assert.match(error.message, new RegExp(`would call ${seats} seats, at most 160`));
    }
    assert.ok(!(ask({ committee: "64", retries: "1" }) instanceof ConclaveError));
  });

  it("SE24: takes a finality in percent, where a larger committee is allowed and nobody's appeal is needed", () => {
    const kind = { kind: "boolean", options: undefined as never };
    const terms = ask({ ...kind, appeals: "1", finality: "95" });
    assert.ok(!(terms instanceof ConclaveError));
    assert.equal(terms.finality, 95);
    for (const [change, code, expected] of [
      [{ appeals: "0", finality: "95" }, "TERMS_INVALID", /allow it with --appeals 1 or more/],
      [{ appeals: "1", finality: "101" }, "USAGE", /--finality.*100/],
      [{ appeals: "1", finality: "9.5" }, "USAGE", /--finality/],
      [
        { appeals: "2", finality: "95", security: "secured", assurance: "high" },
        "TERMS_INVALID",
        /--security secured needs appeals that somebody pays/,
      ],
    ] as const) {
      const { code: actual, message } = refusal({ ...kind, ...change });
      assert.deepEqual([actual, expected.test(message)], [code, true], message);
    }
  });

  it("SC1: takes security at high assurance, with two appeals whose periods last at most a week together", () => {
    const kind = { kind: "boolean", options: undefined as never, assurance: "high" };
    for (const [change, expected] of [
      [{ appeals: "2", duration: "33h36m" }, "secured"],
      [{ appeals: "2", duration: "34h" }, "TERMS_INVALID"],
      [{ appeals: "2", retries: "3", duration: "21h" }, "secured"],
      [{ appeals: "2", retries: "3", duration: "22h" }, "TERMS_INVALID"],
      [{ appeals: "1" }, "TERMS_INVALID"],
      [{ appeals: "2", currency: "native" }, "TERMS_INVALID"],
      [{ appeals: "2", security: "some" }, "USAGE"],
    ] as const) {
      const terms = ask({ ...kind, security: "secured", ...change });
      assert.equal(terms instanceof ConclaveError ? terms.code : terms.security, expected, JSON.stringify(change));
    }
    for (const [change, field, value, way] of [
      [{ appeals: "1" }, "appeals", "1", /--security secured needs at least --appeals 2/],
      [
        { appeals: "2", duration: "34h" },
        "duration",
        "34h",
        /the 5 periods .* may last 7d together; take at most 1d9h36m$/,
      ],
    ] as const) {
      const { data, message } = refusal({ ...kind, security: "secured", ...change });
      assert.deepEqual([data["field"], data["value"]], [field, value]);
      assert.match(message, way);
    }
    const policies = {
      assurance: "high",
      kind: "policies",
      option: ["Act", "Wait"],
      security: "secured",
      appeals: "2",
    };
    assert.match(refusal(policies).message, /agree in part/);
    for (const { id } of protocols) {
      const { code, data, message } = refusal({
        ...kind,
        security: "secured",
        appeals: "2",
        protocol: id,
        assurance: "normal",
      });
      assert.deepEqual([code, data["field"], data["value"]], ["TERMS_INVALID", "security", "secured"], id);
      assert.match(message, /security = "secured": it needs --assurance high/);
    }
  });

  it("SC7: values what the fewest seats that lied would lose, where whoever relays leaves their signatures out", () => {
    const agent = { unbonding: 0n, reputation: ONE_PPM, proven: true, active: true };
    const agents = [
      { ...agent, stake: 100n },
      { ...agent, stake: 300n },
      { ...agent, stake: 300n, proven: false },
      { ...agent, stake: 400n },
      { ...agent, stake: 900n, active: false },
    ] as AgentRecord[];
    const wealthy = agents.map((one) => ({ ...one, stake: 100n * one.stake }));
    const dear = { appealUnit: 10n ** 18n, minStake: 100n };
    const found = securityOf(secured, agents, dear);
    // Three seats must agree, and the fourth signs, too, so two of them must sign. A seat has (100^2 + 300^2 + 300^2 / 2 + 400^2) / (100 + 300 + 150 + 400) on average, and a twentieth of it is lost.
    assert.deepEqual(
      [found.quorum, found.own, found.value, found.leastValue],
      [3, 2, (305_000n * 2n) / (950n * 20n), 20n],
    );
    // Of each slice, a twentieth, the operator may own no more than a twentieth of 100.
    assert.equal(found.operatorsValue, 10n);
    const [alone, poor] = [400n, 1n].map((minStake) => securityOf(secured, agents, { ...dear, minStake }));
    assert.deepEqual([alone?.operatorsValue, poor?.operatorsValue], [found.value, 0n]);
    // SC3: what delegators withdraw bears its part of a slice as long as it is there, and a bounded slice is then spread over more.
    const leaving = agents.map((one) => ({ ...one, unbonding: 4_900n }));
    const leavingOwn = [10n ** 18n, 1n].map((appealUnit) =>
      securityOf(secured, leaving, { appealUnit, minStake: 100n }),
    );
    assert.deepEqual(
      leavingOwn.map(({ operatorsValue }) => operatorsValue),
      [10n, 6n],
    );
    // A seat loses 200 units of pay at most.
    const [capped, part] = [5n, 1n].map((appealUnit) => securityOf(secured, wealthy, { appealUnit, minStake: 100n }));
    assert.deepEqual([capped?.value, capped?.leastValue], [(2n * (500n * 100n + 1_000n * 850n)) / 950n, 1_500n]);
    assert.deepEqual([part?.value, part?.leastValue], [400n, 400n]);
    const ownOf = (committeeSize: number): number => securityOf({ ...secured, committeeSize }, agents, dear).own;
    assert.deepEqual([5, 6, 7, 13].map(ownOf), [3, 4, 3, 5]);
    const unsecured = securityOf({ ...secured, security: "none" }, agents, { ...dear, appealUnit: 0n });
    assert.deepEqual([unsecured.value, unsecured.leastValue, unsecured.operatorsValue], [0n, 0n, 0n]);
    assert.equal(unsecured.concentration, null);
    assert.deepEqual(securityOf(secured, [], dear).value, 0n);
  });

  it("says before it pays who holds most of the draw's weight", () => {
    const agent = { unbonding: 0n, reputation: ONE_PPM, proven: true, active: true, stake: 100n };
    const by = (operator: string, model: string) => ({ ...agent, operator: operator as Address, model });
    const agents = [
      by("0xa", "m"),
      by("0xa", "n"),
      { ...by("0xb", "m"), proven: false },
      { ...by("0xc", "n"), reputation: ONE_PPM / 2 },
      { ...by("0xd", "o"), active: false },
    ] as AgentRecord[];
    const found = securityOf(secured, agents, { appealUnit: 10n ** 18n, minStake: 1n });
    assert.deepEqual(found.concentration, {
      operators: { holders: 3, largest: 666_666 },
      models: { holders: 2, largest: 500_000 },
    });
    const [, own, , , concentrated] = securityRows(secured, found, unit);
    assert.match(own?.join(" ") ?? "", /^own 0 .*of it is the operators' own at least/);
    assert.deepEqual(concentrated, [
      "concentrated",
      "66.67 % of the weight at the largest of 3 operators, 50.00 % of the weight at the largest of 2 declared models; nothing proves that two of them are not one",
    ]);
  });

  it("accepts high assurance of a registered protocol iff its certificate is byzantine", () => {
    for (const { id, assurance } of protocols) {
      const terms = ask({ protocol: id, assurance: "high" });
      assert.equal(terms instanceof ConclaveError, assurance === "chair", id);
    }
    const unknown = refusal({ protocol: "paxos" });
    assert.deepEqual([unknown.code, unknown.data["protocol"]], ["PROTOCOL_UNKNOWN", "paxos"]);
  });
});
