import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PROPOSE } from "../../agents/core/seat/certify/messages.ts";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import type { Effect } from "../../agents/core/protocol.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { addMessage, emptyTally, messagesOf, variants, type Tally } from "../../agents/core/seat/tally.ts";
import { buildTranscript } from "../../agents/core/encoding/transcript.ts";
import type { Message, SeatIndex } from "../../agents/core/types.ts";
import { attemptOf, runCommittee, signMessage, type SeatScript } from "../support/core/committee.ts";
import { JUDGE, REVEAL, VOTE } from "../support/core/mbft-set.ts";

type Send = Extract<Effect, { kind: "send" }>;

const attempt = attemptOf(7);
// The liar proposes in ballot 0, and of equal weights its reveal is the one that is verified.
const [liar, helper, ...honest] = canonicalOrder(attempt) as readonly number[] as [number, number, ...number[]];
const right = honest.slice(2);

/** Two honest seats err at first, but accept the right answer and uphold the counter-proofs. */
function answering(seat: number): SeatScript["answer"] {
  return ({ prompt }) => {
    const task = /^task: (.*)$/m.exec(prompt.small.user)?.[1];
    const isNo = /^answer: "no"$/m.test(prompt.small.user);
    const lies = seat === liar || seat === helper;
    if (task === "propose") return { fields: { proof: `by ${seat}`, answer: right.includes(seat) ? "yes" : "no" } };
    if (task === "verify")
      return { fields: { check: "so", verdict: lies ? "abstain" : isNo ? "reject" : "accept" }, confidence: 400_000 };
    return { fields: { check: "so", verdict: lies ? "abstain" : isNo ? "uphold" : "refute" } };
  };
}

/** The messages of an honest run, but of the liar: a vote for the helper's reveal and, in the REVEAL slot, what is given. */
function bent(held: Tally, reveals: readonly Message[], vote: Message): Tally {
  const isBent = ({ header: { seat, phase } }: Message): boolean =>
    seat === liar && (phase === REVEAL || phase === VOTE);
  return [...[...messagesOf(held)].filter((one) => !isBent(one)), ...reveals, vote].reduce(
    (tally, one) => addMessage(tally, one).tally,
    emptyTally,
  );
}

describe("mbft: a root that shows two other reveals than the one that was voted on", () => {
  it("MB9: takes no vote back", () => {
    const voting = (attacks: boolean): SeatScript[] =>
      Array.from({ length: 7 }, (_, seat): SeatScript => ({
        answer: answering(seat),
        say: (effect, to) => {
          if (seat !== liar || effect.round !== 0) return [effect];
          if (effect.phase === VOTE) return [{ ...effect, payload: votes.payload as Send["payload"] }];
          if (!attacks || effect.phase !== PROPOSE) return [effect];
          const through = { round: 0, phase: JUDGE };
          const { rootBlock } = buildTranscript(attempt, mbft, bent(held, [b, c], votes), through);
          const sent = (message: Message): Send => ({
            kind: "send",
            phase: REVEAL,
            round: 0,
            payload: message.payload as never,
          });
          return [sent(to % 2 === 0 ? b : c), { ...effect, payload: { root: rootBlock, validRound: null } }];
        },
      }));
    // What honest seats say does not depend on it.
    const plain = runCommittee(
      mbft,
      attempt,
      Array.from({ length: 7 }, (_, seat): SeatScript => ({ answer: answering(seat) })),
    );
    const clean = plain.states[right[0] as number]!.tally;
    const of = (seat: number, phase: number): Message => variants(clean, phase, 0, seat as SeatIndex)[0] as Message;
    const target = hexToBytes(of(helper, REVEAL).header.payloadDigest);
    const example = (of(right[0] as number, VOTE).payload as { votes: object[] }).votes[0];
    const vote = { ...example, target, verdict: "accept", tier: 900_000, counterProof: "" };
    const votes = signMessage(attempt, liar, VOTE, 0, {
      ...(of(liar, VOTE).payload as object),
      votes: [vote],
    });
    const other = (proof: string): Message => {
      const payload = of(liar, REVEAL).payload as { readonly proposal: object };
      return signMessage(attempt, liar, REVEAL, 0, { ...payload, proposal: { ...payload.proposal, proof } });
    };
    const [b, c] = [other("b"), other("c")];
    const held = runCommittee(mbft, attempt, voting(false)).states[right[0] as number]!.tally;
    const run = runCommittee(mbft, attempt, voting(true));
    for (const seat of honest) {
      const own = mbft.conclude(attempt, run.states[seat]!.certify.inTime!);
      assert.equal(own.kind === "final" && own.outcome.answer, "yes");
    }
    assert.deepEqual(
      run.certificates.map((one) => one?.decision.answer),
      Array(7).fill("yes"),
    );
  });
});
