// Which rounds of a settled request are overturned (SE10), as the settlement works it out.
import { Appeal, Attempt, Decision, Request } from "../generated/schema";
import { ABSENT, FLAT_SHARE, attemptId } from "./names";
import { signedIn } from "./words";

/** Call this after `AppealResolved`, which says it where somebody appealed. */
export function isOverturned(request: Request, attempt: Attempt, decision: Decision): boolean {
  const appeal = Appeal.load(attempt.id);
  if (appeal != null) return appeal.state == "Upheld";
  if (decision.status == "Hung" || !isFollowedByLarger(request, attempt)) return false;
  for (let number = request.attempt; number > attempt.number; number--) {
    const later = Decision.load(attemptId(request.id, number));
    if (later != null && canOverturn(later)) return differ(request, decision, later);
  }
  return false;
}

function isFollowedByLarger(request: Request, attempt: Attempt): boolean {
  if (attempt.number == request.attempt) return false;
  return Attempt.load(attemptId(request.id, attempt.number + 1))!.appealsBefore != attempt.appealsBefore;
}

/** A non-answer can if a seat said so before it saw what others say. */
function canOverturn(decision: Decision): boolean {
  if (decision.status == "Hung" || decision.status == "Decided") return decision.status == "Decided";
  const shares = decision.shares;
  for (let seat = 0; seat < shares.length; seat++) if (shares[seat] > FLAT_SHARE && shares[seat] != ABSENT) return true;
  return false;
}

function differ(request: Request, one: Decision, other: Decision): boolean {
  if (one.status != other.status) return true;
  if (request.kind != "Number") return one.outcome != other.outcome;
  return signedIn(one.outcome).minus(signedIn(other.outcome)).abs().gt(request.tolerance);
}
