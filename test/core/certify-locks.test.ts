import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeBlock, encodeBlock } from "../../agents/core/encoding/codec.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import type { BlockValue } from "../../agents/core/encoding/block-value.ts";
import { limits } from "../../agents/core/limits.ts";
import type { Digest } from "../../agents/core/types.ts";
import { initialCertify, type Verified } from "../../agents/core/seat/certify/state.ts";
import { precommitValues } from "../../agents/core/seat/certify/votes.ts";
import { PRECOMMIT, PREVOTE } from "../../agents/core/seat/certify/messages.ts";
import { attemptOf } from "../support/core/committee.ts";
import { Bench } from "../support/core/certify-bench.ts";
import { assertSameMembers } from "../support/assertions.ts";

describe("certify: locks and quorums", () => {
  it("Tendermint line 36: a seat locks and precommits on more than 2/3 of the seats, and not on one fewer", () => {
    for (const [seats, needed] of [
      [4, 3],
      [7, 5],
      [10, 7],
    ] as const) {
      const bench = new Bench(seats);
      bench.propose(0, bench.first, null);
      assert.equal(bench.said.get(`${PREVOTE}.0`), bench.first.root);
      // Its own prevote counts.
      bench.prevotes(0, bench.first.root, needed - 2);
      assert.equal(bench.said.has(`${PRECOMMIT}.0`), false);
      bench.prevotes(0, bench.first.root, needed - 1);
      assert.equal(bench.said.get(`${PRECOMMIT}.0`), bench.first.root);
    }
  });

  it("Tendermint line 22: a locked seat prevotes nil if another fresh root is proposed, and the root of its lock if that one is", () => {
    const bench = new Bench(7);
    bench.propose(0, bench.first, null);
    bench.prevotes(0, bench.first.root, 5);
    bench.fail(0);
    assert.equal(bench.round, 1);
    bench.propose(1, bench.second, null);
    assert.equal(bench.said.get(`${PREVOTE}.1`), "nil");
    bench.fail(1);
    bench.propose(2, bench.first, null);
    assert.equal(bench.said.get(`${PREVOTE}.2`), bench.first.root);
  });

  it("CE17: a seat that leaves a ballot hands on the precommits that ended it", () => {
    const bench = new Bench(4);
    bench.propose(0, bench.first, null);
    assert.equal(bench.handedOn.size, 0);
    bench.fail(0);
    assert.equal(bench.round, 1);
    const others = [0, 1, 2, 3].filter((seat) => seat !== bench.self);
    assertSameMembers(
      [...bench.handedOn],
      others.map((seat) => `0.${seat}`),
    );
  });

  it("Tendermint line 28: a later quorum for another root frees a locked seat; an earlier quorum, or no quorum, does not", () => {
    const locked = (): Bench => {
      const bench = new Bench(7);
      bench.propose(0, bench.second, null);
      bench.fail(0);
      bench.propose(1, bench.first, null);
      bench.prevotes(1, bench.first.root, 5);
      assert.equal(bench.said.get(`${PRECOMMIT}.1`), bench.first.root);
      bench.fail(1);
      return bench;
    };
    const later = locked();
    later.propose(2, later.second, null);
    later.prevotes(2, later.second.root, 6);
    later.fail(2);
    later.propose(3, later.second, 2);
    assert.equal(later.said.get(`${PREVOTE}.3`), later.second.root);

    const unproven = locked();
    unproven.propose(2, unproven.second, 1);
    assert.equal(unproven.said.has(`${PREVOTE}.2`), false);
    // The quorum for the other root in round 0, before the lock, comes to light late.
    const stale = locked();
    stale.prevotes(0, stale.second.root, 6);
    stale.propose(2, stale.second, 0);
    assert.equal(stale.said.get(`${PREVOTE}.2`), "nil");
  });

  it("CE3: a seat that offers one root after another makes others load one at a time, and at last its latest", () => {
    const bench = new Bench(4);
    const liar = bench.others().find((seat) => !bench.proposes(seat, 0)) as number;
    const root = decodeBlock(bench.first.rootBlock, limits.rootBytes) as Record<string, BlockValue>;
    const offers = [1, 2, 3, 4].map((ballot): Digest => {
      const rootBlock = encodeBlock({ ...root, messages: [{ link: sha256(Uint8Array.of(ballot)) }] });
      const offer = { root: sha256(rootBlock), rootBlock, blocks: [] };
      bench.share(liar, ballot, offer);
      return offer.root;
    });
    const [first, latest] = [offers[0], offers.at(-1)] as [Digest, Digest];
    assert.deepEqual(bench.loads, [first]);
    bench.missLoad(first);
    assert.deepEqual(bench.loads, [first, latest]);
    bench.propose(0, bench.first, null);
    assert.equal(bench.said.get(`${PREVOTE}.0`), bench.first.root);
  });

  it("CE10: a seat looks at each signature a few times per message, however many ballots liars sign in", () => {
    const attempt = attemptOf(4);
    const root = sha256(Uint8Array.of(1));
    const visits = [8, 64].map((ballots) => {
      let visited = 0;
      const signed = Array.from({ length: ballots }, (_, ballot) => ({
        get root() {
          visited++;
          return root;
        },
        ballot,
      }));
      const signatures = new Map(signed.map((one, ballot) => [`${ballot}`, one as unknown as Verified]));
      assert.deepEqual([...precommitValues({ ...initialCertify, signatures }, attempt)], []);
      return visited / ballots;
    });
    assert.deepEqual(visits, [2, 2]);
  });
});
