import { expect } from "chai";
import { describe, it } from "node:test";
import { PRECOMMIT, PREVOTE } from "../../agents/core/seat/certify/messages.ts";
import { Bench } from "../support/core/certify-bench.ts";

describe("certify: locks and quorums", () => {
  it("Tendermint line 36: locks and precommits on more than 2/3 of the seats, not on one fewer", () => {
    for (const [seats, needed] of [
      [4, 3],
      [7, 5],
      [10, 7],
    ] as const) {
      const bench = new Bench(seats);
      bench.propose(0, bench.first, null);
      expect(bench.said.get(`${PREVOTE}.0`)).to.equal(bench.first.root);
      // Its own prevote counts.
      bench.prevotes(0, bench.first.root, needed - 2);
      expect(bench.said.has(`${PRECOMMIT}.0`)).to.equal(false);
      bench.prevotes(0, bench.first.root, needed - 1);
      expect(bench.said.get(`${PRECOMMIT}.0`)).to.equal(bench.first.root);
    }
  });

  it("Tendermint line 22: a locked seat prevotes nil for another fresh root, and for its own root again", () => {
    const bench = new Bench(7);
    bench.propose(0, bench.first, null);
    bench.prevotes(0, bench.first.root, 5);
    bench.fail(0);
    expect(bench.round).to.equal(1);
    bench.propose(1, bench.second, null);
    expect(bench.said.get(`${PREVOTE}.1`)).to.equal("nil");
    bench.fail(1);
    bench.propose(2, bench.first, null);
    expect(bench.said.get(`${PREVOTE}.2`)).to.equal(bench.first.root);
  });

  it("CE17: who leaves a round hands on the precommits that ended it", () => {
    const bench = new Bench(4);
    bench.propose(0, bench.first, null);
    expect(bench.handedOn.size).to.equal(0);
    bench.fail(0);
    expect(bench.round).to.equal(1);
    const others = [0, 1, 2, 3].filter((seat) => seat !== bench.self);
    expect([...bench.handedOn]).to.have.members(others.map((seat) => `0.${seat}`));
  });

  it("Tendermint line 28: a later quorum for another root frees it; an earlier one, or none, does not", () => {
    const locked = (): Bench => {
      const bench = new Bench(7);
      bench.propose(0, bench.second, null);
      bench.fail(0);
      bench.propose(1, bench.first, null);
      bench.prevotes(1, bench.first.root, 5);
      expect(bench.said.get(`${PRECOMMIT}.1`)).to.equal(bench.first.root);
      bench.fail(1);
      return bench;
    };
    const later = locked();
    later.propose(2, later.second, null);
    later.prevotes(2, later.second.root, 6);
    later.fail(2);
    later.propose(3, later.second, 2);
    expect(later.said.get(`${PREVOTE}.3`)).to.equal(later.second.root);

    const unproven = locked();
    unproven.propose(2, unproven.second, 1);
    expect(unproven.said.has(`${PREVOTE}.2`)).to.equal(false);
    // The quorum for the other root in round 0, before the lock, comes to light late.
    const stale = locked();
    stale.prevotes(0, stale.second.root, 6);
    stale.propose(2, stale.second, 0);
    expect(stale.said.get(`${PREVOTE}.2`)).to.equal("nil");
  });
});
