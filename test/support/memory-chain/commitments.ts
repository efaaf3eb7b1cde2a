import { keccak256, utf8 } from "../../../agents/core/encoding/bytes.ts";
import { committeeHash, decisionStructHash, requestHash } from "../../../agents/core/encoding/typed-data.ts";
import type { DecidedRound } from "../../../agents/core/request/events.ts";
import type { Digest, Request, Round } from "../../../agents/core/types.ts";
import { packRelay } from "../../../agents/adapters/chain/settlement.ts";
import { linkAfter } from "./rounds.ts";

/** Link as contracts/libraries/RoundLib.sol computes it. */
export function linkOf(request: Request, { round, committee, decision, relay, appellant }: DecidedRound): bigint {
  const structHash = decisionStructHash({ request, committee }, decision);
  return linkAfter(round, committeeHash(committee), structHash, packRelay(relay), appellant);
}

export function requestedCommitment(request: Request, round: Round, seedBlock: bigint): Digest {
  return keccak256(utf8(`requested ${requestHash(request)} ${round} ${seedBlock}`));
}

export function settledCommitment(request: Request, { round, committee, decision, relay }: DecidedRound): Digest {
  const structHash = decisionStructHash({ request, committee }, decision);
  return keccak256(utf8(`settled ${structHash} ${packRelay(relay)} ${round}`));
}
