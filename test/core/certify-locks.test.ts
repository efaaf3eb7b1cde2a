import { expect } from "chai";
import { describe, it } from "node:test";
import { proposerOf } from "../../agents/core/certify-candidates.ts";
import { PRECOMMIT, PREVOTE, PROPOSE } from "../../agents/core/certify-payloads.ts";
import { initialCertify, type CertifyContext, type CertifyState } from "../../agents/core/certify-state.ts";
import { certifyElapsed, certifyMessage, startCertify } from "../../agents/core/certify.ts";
import { hexToBytes } from "../../agents/core/digest.ts";
import { JUDGE } from "../../agents/core/protocols/mbft/payloads.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import type { Effect, Step } from "../../agents/core/protocol.ts";
import { addMessage, emptyTally, messagesOf, type Tally } from "../../agents/core/tally.ts";
import { buildTranscript, type Transcript } from "../../agents/core/transcript.ts";
import type { Attempt, Digest, SeatIndex, Value } from "../../agents/core/types.ts";
import { attemptOf, keyOf, runCommittee, signMessage, timing } from "./committee.ts";
import { honest } from "./mbft-scripts.ts";

/** One seat that certifies, driven message by message, with two roots that are both good to it. */
class Bench {
  readonly attempt: Attempt;
  readonly self: number;
  readonly first: Transcript;
  readonly second: Transcript;
  private readonly context: CertifyContext;
  private state: CertifyState = initialCertify;
  /** Votes of this seat: `phase.round` -> root or nil. */
  readonly said = new Map<string, string>();
  /** Precommits of others that it handed on: `round.seat`. */
  readonly handedOn = new Set<string>();

  constructor(seats: number) {
    this.attempt = attemptOf(seats);
    const run = runCommittee(
      mbft,
      this.attempt,
      Array.from({ length: seats }, () => honest("yes")),
    );
    // Proposes in no round that the tests reach.
    this.self = proposerOf(this.attempt, seats - 1);
    const { tally, byBlock } = run.states[this.self]!;
    const spare = proposerOf(this.attempt, 0);
    const fewer = [...messagesOf(tally)].filter(({ header }) => header.phase !== JUDGE || header.seat !== spare);
    const inTime = fewer.reduce((sum: Tally, message) => addMessage(sum, message).tally, emptyTally);
    this.first = this.transcriptOf(tally);
    this.second = this.transcriptOf(inTime);
    this.context = {
      attempt: this.attempt,
      self: this.self as SeatIndex,
      secret: keyOf(99),
      timing,
      protocol: mbft,
      tally,
      byBlock,
    };
    this.take(startCertify(this.state, this.context, inTime));
  }

  private transcriptOf(tally: Tally): Transcript {
    return buildTranscript(this.attempt, mbft, tally, { round: 0, phase: JUDGE });
  }

  get round(): number {
    return this.state.round;
  }

  hear(seat: number, phase: number, round: number, payload: Value): void {
    this.take(certifyMessage(this.state, this.context, signMessage(this.attempt, seat, phase, round, payload)));
  }

  propose(round: number, transcript: Transcript, validRound: number | null): void {
    this.hear(proposerOf(this.attempt, round), PROPOSE, round, { root: transcript.rootBlock, validRound });
  }

  prevotes(round: number, root: Digest | null, count: number): void {
    for (const seat of this.others().slice(0, count))
      this.hear(seat, PREVOTE, round, { root: root && hexToBytes(root) });
  }

  /** The round fails: everybody else precommits nil, and the timer fires. */
  fail(round: number): void {
    for (const seat of this.others()) this.hear(seat, PRECOMMIT, round, { root: null, signature: null });
    this.take(certifyElapsed(this.state, this.context, `certify.prevote.${round}`));
    this.take(certifyElapsed(this.state, this.context, `certify.precommit.${round}`));
  }

  private others(): readonly number[] {
    return this.attempt.committee.map((_, seat) => seat).filter((seat) => seat !== this.self);
  }

  /** Own messages come back as the host does it. */
  private take({ state, effects }: Step<CertifyState>): void {
    this.state = state;
    for (const { header } of effects.flatMap((effect) => (effect.kind === "forward" ? effect.messages : [])))
      if (header.phase === PRECOMMIT) this.handedOn.add(`${header.round}.${header.seat}`);
    for (const effect of effects.filter((one): one is Extract<Effect, { kind: "send" }> => one.kind === "send")) {
      const root = effect.payload["root"];
      const name = root instanceof Uint8Array && root.length === 32 ? `0x${Buffer.from(root).toString("hex")}` : "nil";
      if (effect.phase === PREVOTE || effect.phase === PRECOMMIT)
        this.said.set(`${effect.phase}.${effect.round}`, name);
      if (effect.phase === PREVOTE) this.hear(this.self, PREVOTE, effect.round, effect.payload);
    }
  }
}

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
