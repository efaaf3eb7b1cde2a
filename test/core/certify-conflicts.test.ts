import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import {
  CERTIFICATE,
  PRECOMMIT,
  PREVOTE,
  PROPOSE,
  encodeCertificate,
} from "../../agents/core/seat/certify/messages.ts";
import { hexToBytes, sha256 } from "../../agents/core/encoding/bytes.ts";
import { recoverSigner } from "../../agents/core/encoding/digest.ts";
import { decisionDigest } from "../../agents/core/encoding/typed-data.ts";
import { JUDGE } from "../../agents/core/protocols/mbft/payloads.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { addMessage, emptyTally, messagesOf, type Tally } from "../../agents/core/seat/tally.ts";
import { buildTranscript } from "../../agents/core/encoding/transcript.ts";
import type { Attempt, DecisionConflict, SeatIndex } from "../../agents/core/types.ts";
import { Bench } from "../support/core/certify-bench.ts";
import { attemptOf, generator, runCommittee, signDigest, type SeatScript } from "../support/core/committee.ts";
import { honest } from "../support/core/mbft-scripts.ts";
import { assertAbove } from "../support/assertions.ts";

/** Two decisions for one ballot that the accused has signed. */
function isProof(attempt: Attempt, { seat, first, second }: DecisionConflict): boolean {
  const digests = [first, second].map(({ decision }) => decisionDigest(attempt, decision));
  const signers = [first, second].map(({ signature }, index) => recoverSigner(digests[index]!, signature));
  const place = [first, second].map(({ decision }) => `${decision.attempt}.${decision.round}`);
  const isTheirs = signers.every((signer) => signer === attempt.committee[seat]?.signer);
  return isTheirs && digests[0] !== digests[1] && place[0] === place[1];
}

/** A bench to which both roots are good, and two seats that do not propose in round 0. */
function benchWithRoots(): { readonly bench: Bench; readonly liar: number; readonly other: number } {
  const bench = new Bench(4);
  bench.propose(0, bench.first, null);
  const [liar, other] = bench.others().filter((seat) => !bench.proposes(seat, 0)) as [number, number];
  bench.share(other, 0, bench.second);
  return { bench, liar, other };
}

describe("certify: decisions signed twice", () => {
  it("CE18: a precommit and a certificate with another decision of the same ballot and seat are a pair, once", () => {
    const { bench, liar, other } = benchWithRoots();
    bench.precommit(liar, bench.first, 0);
    assert.deepEqual(bench.conflicts, []);
    bench.certificate(other, liar, bench.second, 0);
    assert.deepEqual(
      bench.conflicts.map(({ seat }) => seat),
      [liar],
    );
    assert.equal(
      bench.conflicts.every((conflict) => isProof(bench.attempt, conflict)),
      true,
    );
    // In another round again: the seat has been proven Byzantine already.
    bench.precommit(liar, bench.first, 1);
    bench.certificate(other, liar, bench.second, 1);
    assert.equal(bench.conflicts.length, 1);
  });

  it("CE18: in another ballot a seat may sign another decision", () => {
    const { bench, liar, other } = benchWithRoots();
    bench.precommit(liar, bench.first, 0);
    bench.certificate(other, liar, bench.second, 1);
    assert.deepEqual(bench.conflicts, []);
  });

  it("CE18: a signature on a root that arrives later counts once the root has been replayed", () => {
    const bench = new Bench(4);
    const [liar, other] = bench.others().filter((seat) => !bench.proposes(seat, 0)) as [number, number];
    bench.propose(0, bench.first, null);
    bench.precommit(liar, bench.second, 0);
    bench.certificate(other, liar, bench.first, 0);
    assert.deepEqual(bench.conflicts, []);
    bench.share(liar, 0, bench.second);
    assert.deepEqual(
      bench.conflicts.map(({ seat }) => seat),
      [liar],
    );
  });

  it("CE18: a signature that arrives together with the certificate still counts", () => {
    const { bench, liar, other } = benchWithRoots();
    for (const seat of bench.others()) bench.precommit(seat, bench.first, 0);
    assert.equal(bench.done, true);
    bench.certificate(other, liar, bench.second, 0);
    assert.deepEqual(
      bench.conflicts.map(({ seat }) => seat),
      [liar],
    );
    assert.equal(
      bench.conflicts.every((conflict) => isProof(bench.attempt, conflict)),
      true,
    );
  });

  it("CE18: forged and foreign signatures accuse nobody", () => {
    const { bench, liar, other } = benchWithRoots();
    bench.precommit(liar, bench.first, 0);
    // `other` puts its own signature in the liar's place.
    const signatures = bench.attempt.committee.map((_, seat) => ({
      seat: seat as SeatIndex,
      signature: bench.signature(other, bench.second, 0),
    }));
    const liarsFirst = [signatures[liar]!, ...signatures.filter(({ seat }) => seat !== liar)];
    bench.hear(other, CERTIFICATE, 0, encodeCertificate(bench.second.rootBlock, liarsFirst));
    assert.deepEqual(bench.conflicts, []);
  });

  it("CE11, CE18: whatever a Byzantine seat signs and however slow the network is, no honest seat ever yields a pair", () => {
    let found = 0;
    const arrangement = fc.record({
      seed: fc.nat(2 ** 31),
      liar: fc.nat(3),
      slow: fc.integer({ min: 20, max: 3_000 }),
    });
    fc.assert(
      fc.property(arrangement, ({ seed, liar, slow }) => {
        const attempt = attemptOf(4);
        const scripts = attempt.committee.map((_, seat) =>
          seat === liar ? signingTwice(attempt, liar, seed) : honest("yes"),
        );
        const run = runCommittee(mbft, attempt, scripts, { seed, latencyMs: slow });
        const conflicts = run.effects.flatMap((effects, seat) =>
          effects.flatMap((effect) => (effect.kind === "conflict" && seat !== liar ? [effect.conflict] : [])),
        );
        for (const conflict of conflicts) {
          assert.equal(conflict.seat, liar);
          assert.equal(isProof(attempt, conflict), true);
        }
        found += conflicts.length;
      }),
      { numRuns: 30, seed: 18 },
    );
    assertAbove(found, 10);
  });
});

/**
 * Precommits as an honest seat would and hands on, to some, a certificate of another root of its own making that it has
 * signed for the same round; sometimes it votes for that root, too.
 */
function signingTwice(attempt: Attempt, liar: number, seed: number): SeatScript {
  const random = generator(seed);
  let tally = emptyTally;
  return {
    ...honest("yes"),
    hear: (message) => {
      if (message.header.phase < PROPOSE) tally = addMessage(tally, message).tally;
    },
    say: (effect) => {
      const spare = [...messagesOf(tally)].filter(({ header }) => header.phase !== JUDGE || header.seat !== liar);
      const fewer = spare.reduce((sum: Tally, message) => addMessage(sum, message).tally, emptyTally);
      const conclusion = mbft.conclude(attempt, fewer);
      if (effect.phase < PREVOTE || conclusion.kind === "open" || random() % 4 === 0) return [effect];
      const { rootBlock } = buildTranscript(attempt, mbft, fewer, conclusion.through);
      const decision = { ...conclusion.outcome, attempt: 0, round: effect.round, transcript: sha256(rootBlock) };
      const signature = signDigest(liar, decisionDigest(attempt, decision));
      const signatures = [0, 1, 2, 3].toSorted((a, b) => Number(b === liar) - Number(a === liar));
      const certificate = encodeCertificate(
        rootBlock,
        signatures.map((seat) => ({ seat: seat as SeatIndex, signature })),
      );
      const root = hexToBytes(sha256(rootBlock));
      const second = {
        kind: "send",
        phase: PRECOMMIT,
        round: effect.round,
        payload: { root, signature: null },
        decision,
      } as const;
      return [
        effect,
        { kind: "send", phase: CERTIFICATE, round: effect.round, payload: certificate },
        ...(random() % 3 === 0 ? [second] : []),
      ];
    },
  };
}
