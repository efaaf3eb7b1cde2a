import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { costOf } from "../complexity/measure.ts";
import { differences, protocolCosts } from "../complexity/formulas.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { leaderOf } from "../../agents/core/protocols/wbft/views.ts";
import { rolesOf } from "../../agents/core/protocols/leaderless/roles.ts";
import { attemptFor } from "../../test/support/message-set.ts";
import { mbftBayesian } from "../../agents/core/protocols/mbft-bayesian/index.ts";
import { replaceSection } from "../shared/generated-section.ts";
import { oddsTables } from "../complexity/odds-table.ts";
import { assertAtLeast, assertIncludes } from "../../test/support/assertions.ts";

const root = join(import.meta.dirname, "../..");
const document = readFileSync(join(root, "docs/spec/complexity.md"), "utf8");

describe("docs/spec/complexity.md", () => {
  it("holds the computed committee odds", () => {
    assert.equal(replaceSection(document, "committee-odds", oddsTables()), document);
  });

  it("notices a wrong figure and a missing mark", () => {
    assert.equal(replaceSection(document.replace("| .181 |", "| .182 |"), "committee-odds", oddsTables()), document);
    assertIncludes(document, "| .181 |");
    assert.throws(() => replaceSection(document, "nothing", ""), /nothing/);
  });

  it("WB16, MB8, LL16: f bad seats in a row do lead; wbft grows by one call with each, mbft and leaderless do not", () => {
    const path = (id: string, seats: number): number => {
      const costs = protocolCosts.find((one) => one.id === id)!;
      const protocol = protocols.find((one) => one.id === id)!;
      return costOf(protocol, seats, "liars", costs.leading).criticalPathCalls;
    };
    for (const [id, expected] of [
      ["wbft", [4, 5, 6]],
      ["mbft", [1, 1, 1]],
      ["leaderless", [4, 4, 4]],
    ] as const)
      assert.deepEqual(
        [4, 7, 10].map((seats) => path(id, seats)),
        expected,
        id,
      );
  });

  it("the bad seats are those whose turn comes first", () => {
    const order = (id: string, seats: number, code: number): readonly number[] =>
      protocolCosts.find((one) => one.id === id)!.leading.order(attemptFor(code, seats, "normal"));
    for (const seats of [4, 7, 10, 13]) {
      const leaders = [0, 1, 2, 3].map((view) => leaderOf(attemptFor(3, seats, "normal"), view));
      assert.deepEqual(order("wbft", seats, 3).slice(0, 4), leaders);
      assert.deepEqual(order("leaderless", seats, 4), rolesOf(attemptFor(4, seats, "normal"), 0).workers);
    }
  });

  it("every counted protocol is registered, and the costs stand in the order of registration", () => {
    const counted = new Set(protocolCosts.map(({ id }) => id));
    assertAtLeast(counted.size, 10);
    assert.deepEqual(
      protocolCosts.map(({ id }) => id),
      protocols.map(({ id }) => id).filter((id) => counted.has(id)),
    );
  });

  it("names a count that differs from its formula", () => {
    const costs = protocolCosts.find(({ id }) => id === "mbft-bayesian")!;
    const cost = costOf(mbftBayesian, 4, "agree", costs.leading);
    assert.deepEqual(differences(costs, 4, "agree", cost), []);
    assert.deepEqual(differences(costs, 4, "agree", { ...cost, messages: 13, modelCalls: 5 }), [
      "mbft-bayesian, n = 4, agree: messages 3n = 12, measured 13",
      "mbft-bayesian, n = 4, agree: model calls n = 4, measured 5",
    ]);
  });
});
