import { decodeVote, PRECOMMIT } from "../../agents/core/seat/certify/messages.ts";
import { recoverSigner } from "../../agents/core/encoding/digest.ts";
import { decisionDigest } from "../../agents/core/encoding/typed-data.ts";
import { isSupermajority } from "../../agents/core/quorum.ts";
import type { SeatIndex } from "../../agents/core/types.ts";
import { honestSeats, type Trace } from "../trace.ts";

/**
 * SI3: every certificate carries valid signatures of more than 2/3 of the seats, and all signatures that ever crossed
 * the network give no second transcript more than 2/3.
 */
export function checkCertificateUniqueness(trace: Trace): readonly string[] {
  return [...badCertificates(trace), ...rivals(trace)];
}

function badCertificates(trace: Trace): readonly string[] {
  const { attempt } = trace;
  return honestSeats(trace).flatMap(({ seat, certificates }) => {
    const last = certificates.at(-1)?.certificate;
    if (last === undefined) return [];
    const digest = decisionDigest(attempt, last.decision);
    const valid = new Set(
      last.signatures
        .filter((one) => recoverSigner(digest, one.signature) === attempt.committee[one.seat]?.signer)
        .map((one) => one.seat),
    );
    const enough = valid.size === last.signatures.length && isSupermajority(valid.size, attempt.committee.length);
    return enough ? [] : [`seat ${seat} holds a certificate with ${valid.size} valid signatures`];
  });
}

/** Returns the seats that signed for a root in a round, as its precommits say. */
function rivals(trace: Trace): readonly string[] {
  const signers = new Map<string, Set<SeatIndex>>();
  const note = (root: string, round: number, seat: SeatIndex): void => {
    const key = `${root} in round ${round}`;
    signers.set(key, (signers.get(key) ?? new Set<SeatIndex>()).add(seat));
  };
  for (const messages of trace.messages.values())
    for (const { header, payload } of messages) {
      if (header.phase !== PRECOMMIT) continue;
      const vote = decodeVote(PRECOMMIT, payload);
      if (vote !== null && vote.root !== null) note(vote.root, header.round, header.seat);
    }
  const seats = trace.attempt.committee.length;
  const certified = [...signers].filter(([, set]) => isSupermajority(set.size, seats)).map(([key]) => key);
  const roots = new Set(certified.map((key) => key.split(" ")[0]));
  return roots.size <= 1 ? [] : [`more than 2/3 signed for each of ${certified.join(", ")}`];
}
