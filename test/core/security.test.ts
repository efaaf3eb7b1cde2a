import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Protocol } from "../../agents/core/protocol.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import type { Decision, Terms } from "../../agents/core/types.ts";
import { attemptOf, type CommitteeRun, type SeatScript } from "../support/core/committee.ts";
import { believing, byRank, decisionOf, watched } from "../support/core/council-scripts.ts";

const SEATS = 7;
/** The most seats that are no quorum, and more than half. */
const LIARS = 4;
const BOOLEAN = { kind: "boolean" } as const;
const secured = { appeals: 2, assurance: "high", security: "secured" } as const;

const byId = (id: string): Protocol => protocols.find((one) => one.id === id) ?? assert.fail(id);

function stating(answer: string, confidence: number): SeatScript {
  const script = believing(answer);
  return {
    answer: (ask) => {
      const said = script.answer(ask);
      return said === null ? null : { ...said, confidence };
    },
  };
}

/** A committee of seven: the first seats lie, and are sure; all others say the truth with a confidence. */
function lyingTo(
  protocol: Protocol,
  liars: number,
  terms: Partial<Terms>,
  { lie = "no", truth = "yes", confidence = 900_000 } = {},
): CommitteeRun {
  const attempt = attemptOf(SEATS, { ...terms, protocol: protocol.code });
  const lying = Object.fromEntries(Array.from({ length: liars }, (_, rank) => [rank, stating(lie, 900_000)]));
  return watched(protocol, attempt, byRank(attempt, stating(truth, confidence), lying));
}

/** The decision of a run, which all seats have certified, those that disagreed, too. */
function certifiedByAll(run: CommitteeRun): Decision {
  assert.equal(run.certificates.filter((one) => one !== null).length, SEATS);
  return decisionOf(run);
}

const refusalOf = (id: string, terms: Partial<Terms>): string | null =>
  byId(id).refuseRequest(attemptOf(SEATS, { ...secured, ...terms, protocol: byId(id).code }));

describe("secured terms: who can put the stake of others at risk", () => {
  for (const { id, assurance } of protocols) {
    if (assurance === "chair")
      it(`SC1, CH7: agents refuse secured terms of ${id}, whose answer is one seat's word`, () => {
        assert.match(refusalOf(id, BOOLEAN) ?? "", /assurance/);
      });
    else if (id !== "mbft-bayesian" && id !== "leaderless")
      it(`SC1: a majority of ${id} that is no quorum decides no lie at high assurance`, () => {
        assert.equal(decisionOf(lyingTo(byId(id), LIARS, { ...secured, ...BOOLEAN })).status, "hung");
      });
  }

  it("SC1: at normal assurance a majority decides, and all others sign what it said: so it cannot be secured", () => {
    assert.equal(certifiedByAll(lyingTo(byId("mbft"), LIARS, BOOLEAN)).answer, "no");
  });

  it("SC7: a quorum decides a lie at high assurance, and the others sign it", () => {
    assert.equal(certifiedByAll(lyingTo(byId("mbft"), LIARS + 1, { ...secured, ...BOOLEAN })).answer, "no");
  });

  it("SC1: agents refuse secured terms of mbft-bayesian, where f + 1 sure liars decide if all others are unsure", () => {
    const open = lyingTo(byId("mbft-bayesian"), 3, { ...BOOLEAN, assurance: "high" }, { confidence: 400_000 });
    assert.equal(certifiedByAll(open).answer, "no");
    assert.match(refusalOf("mbft-bayesian", BOOLEAN) ?? "", /quorum/);
  });

  it("SC1, SC2: agents refuse secured terms of leaderless, where no more than a third of the seats can earn", () => {
    const { shares } = decisionOf(lyingTo(byId("leaderless"), 0, BOOLEAN));
    assert.ok(3 * shares.filter((share) => share !== 0 && share !== 255).length <= SEATS);
    assert.match(refusalOf("leaderless", BOOLEAN) ?? "", /before they see others/);
  });
});
