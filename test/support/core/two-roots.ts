// Two roots that the seats of one committee may both accept, and the signatures under them.
import { buildTranscript, type Transcript } from "../../../agents/core/encoding/transcript.ts";
import { decisionDigest } from "../../../agents/core/encoding/typed-data.ts";
import { mbft } from "../../../agents/core/protocols/mbft/index.ts";
import { JUDGE } from "../../../agents/core/protocols/mbft/payloads.ts";
import { addMessage, emptyTally, messagesOf, type Tally } from "../../../agents/core/seat/tally.ts";
import type { Attempt, Hex } from "../../../agents/core/types.ts";
import { runCommittee, signDigest } from "./committee.ts";
import { honest } from "./mbft-scripts.ts";

export interface Root {
  readonly tally: Tally;
  readonly transcript: Transcript;
}

/** Returns the root of everything that an honest committee said, as one of its seats has it, and the root without what the spare seat judged. */
export function twoRoots(attempt: Attempt, self: number, spare: number): readonly [Root, Root] {
  const run = runCommittee(
    mbft,
    attempt,
    attempt.committee.map(() => honest("yes")),
  );
  const { tally } = run.states[self]!;
  const fewer = [...messagesOf(tally)]
    .filter(({ header }) => header.phase !== JUDGE || header.seat !== spare)
    .reduce((sum: Tally, message) => addMessage(sum, message).tally, emptyTally);
  return [rootOf(attempt, tally), rootOf(attempt, fewer)];
}

function rootOf(attempt: Attempt, tally: Tally): Root {
  return { tally, transcript: buildTranscript(attempt, mbft, tally, { round: 0, phase: JUDGE }) };
}

/** Returns the signature of a seat that precommits a root in a ballot. */
export function signRoot(attempt: Attempt, seat: number, { tally, transcript }: Root, ballot: number): Hex {
  const conclusion = mbft.conclude(attempt, tally);
  if (conclusion.kind === "open") throw new Error("the root is not conclusive");
  const decision = { ...conclusion.outcome, attempt: attempt.attempt, round: ballot, transcript: transcript.root };
  return signDigest(seat, decisionDigest(attempt, decision));
}
