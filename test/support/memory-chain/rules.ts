import { compareHex, keccak256, utf8 } from "../../../agents/core/encoding/bytes.ts";
import { recoverSigner } from "../../../agents/core/encoding/digest.ts";
import { decisionDigest, requestHashOf } from "../../../agents/core/encoding/typed-data.ts";
import { ConclaveError } from "../../../agents/core/errors.ts";
import { limits } from "../../../agents/core/limits.ts";
import { isSupermajority } from "../../../agents/core/quorum.ts";
import { ONE_PPM } from "../../../agents/core/types.ts";
import type {
  Address,
  AgentId,
  Attempt,
  Certificate,
  Decision,
  DecisionStatus,
  Digest,
  Domain,
  NonAnswer,
  Ppm,
  SeatInfo,
  Terms,
} from "../../../agents/core/types.ts";
import type { AgentRecord, EquivocationProof, SignedDecisionHash, SignedPayload } from "../../../agents/ports/chain.ts";
import { NON_ANSWER_OUTCOMES } from "../../../agents/core/request/non-answers.ts";
import { KIND_RULES } from "../../../agents/core/request/kinds.ts";
import { decisionSlotDigest, slotDigest } from "./slot-digests.ts";

/** The outcome of a committee that hung. */
export const NO_OUTCOME = `0x${"00".repeat(32)}` as Digest;
const REPUTATION_FLOOR = 10_000;
const EXIT_REPUTATION = 100_000;
const SLASH_PPM = 800_000;
const RECOVERY_PPM = 10_000;

/** Refusal in the form in which the chain adapter reports the contracts' custom errors. */
export function refused(error: string, data: Readonly<Record<string, string | number>>): ConclaveError {
  return new ConclaveError("CHAIN_REVERTED", `Submit: the ledger refused with ${error}`, { ...data, error });
}

/** SE1, SE25: checks duration and delay like contracts/libraries/RequestTermsLib.sol. */
export function requirePeriods({ duration, delay, retries }: Terms): void {
  if (delay > 0 && (delay > limits.maxDelaySeconds || retries === 0))
    throw refused("InvalidTerms", { field: "delay", value: delay });
  if (duration < limits.minDurationSeconds || duration > limits.maxDurationSeconds)
    throw refused("InvalidTerms", { field: "duration", value: duration });
}

function isNonAnswer(status: DecisionStatus): status is NonAnswer {
  return Object.hasOwn(NON_ANSWER_OUTCOMES, status);
}

/**
 * Checks the outcome like contracts/libraries/DecisionLib.sol: a hung decision has none, a non-answer has its own and is
 * not refused, any other has one that fits the kind.
 */
export function requireOutcome(terms: Terms, { status, answer, outcome: digest }: Decision): void {
  if (isNonAnswer(status) && terms.nonAnswers === "refused")
    throw refused("InvalidDecision", { field: "status", value: status });
  const outcome = BigInt(digest);
  const fits =
    status === "decided"
      ? KIND_RULES[terms.kind].fits(outcome, terms, answer)
      : answer === "" && digest === (isNonAnswer(status) ? NON_ANSWER_OUTCOMES[status] : NO_OUTCOME);
  if (!fits) throw refused("InvalidDecision", { field: "outcome", value: String(outcome) });
}

/** Checks a certificate like contracts/libraries/CertificateLib.sol and returns its signers: bit i = seat i. */
export function verifyCertificate(attempt: Attempt, { decision, signatures }: Certificate): bigint {
  const { committee } = attempt;
  const digest = decisionDigest(attempt, decision);
  const recovered = signatures.map(({ seat, signature }) => ({ seat, signer: recoverSigner(digest, signature) }));
  const seats = new Set(signatures.map(({ seat }) => seat));
  if (!isSupermajority(seats.size, committee.length)) throw refused("QuorumNotReached", { signers: seats.size });
  const wrong = recovered.find(({ seat, signer }) => committee[seat]?.signer !== signer);
  if (wrong !== undefined) throw refused("InvalidSignature", { seat: wrong.seat });
  return [...seats].reduce((bits, seat) => bits | (1n << BigInt(seat)), 0n);
}

/** Agent that signed two payloads for one slot, as in contracts/libraries/EvidenceLib.sol. */
export function equivocator(domain: Domain, proof: EquivocationProof): Address {
  const [first, second] = digestsOf(domain, proof);
  if (first === second) throw refused("NoConflict", {});
  const [one, other] = [recoverSigner(first, proof.first.signature), recoverSigner(second, proof.second.signature)];
  if (one === null || one !== other)
    throw refused("InvalidEvidence", { first: one ?? "none", second: other ?? "none" });
  return one;
}

/** Digests of a proof, with the hash of the caller's request, whatever hash the slot names. */
function digestsOf(domain: Domain, proof: EquivocationProof): readonly [Digest, Digest] {
  const requestHash = requestHashOf(proof.request);
  if (proof.kind === "messages") {
    const slot = { ...proof.slot, requestHash };
    const digestOf = ({ payloadDigest }: SignedPayload): Digest => slotDigest(domain, slot, payloadDigest);
    return [digestOf(proof.first), digestOf(proof.second)];
  }
  const slot = { ...proof.slot, requestHash };
  const digestOf = ({ decision }: SignedDecisionHash): Digest => decisionSlotDigest(domain, slot, decision);
  return [digestOf(proof.first), digestOf(proof.second)];
}

/** Slashed part of a stake: a tenth, rounded up. */
export function slashOf(stake: bigint): bigint {
  return (stake + 9n) / 10n;
}

/** A committee leaves out excluded agents as long as they hold at most this part of the draw (DR4). */
const LEFT_OUT_DIVISOR = 8n;

/**
 * Draws distinct active agents with probability proportional to stake x reputation, halved for a fresh one (DR2). Excluded agents that are
 * drawn get no seat as long as they hold at most an eighth of all weight; if seats stay empty, they sit (DR4). Same law as the contract's draw
 * but for tickets, which round weights up; other results.
 */
export function drawSeats(
  agents: readonly AgentRecord[],
  seed: Digest,
  size: number,
  excluded: ReadonlySet<AgentId> = new Set(),
): readonly SeatInfo[] {
  const pool = agents.filter((agent) => agent.active).toSorted((left, right) => compareHex(left.signer, right.signer));
  if (pool.length < size) throw refused("TooFewAgents", { drawable: pool.length, needed: size });
  const weightOfAll = (): bigint => pool.reduce((sum, agent) => sum + weightOf(agent), 0n);
  let room = weightOfAll() / LEFT_OUT_DIVISOR;
  const [drawn, aside]: [AgentRecord[], AgentRecord[]] = [[], []];
  for (let draw = 0; drawn.length < size && pool.length > 0; draw++) {
    let ticket = BigInt(keccak256(utf8(`${seed} ${draw}`))) % weightOfAll();
    const index = pool.findIndex((agent) => (ticket -= weightOf(agent)) < 0n);
    const [next] = pool.splice(index, 1);
    if (next === undefined) throw new RangeError("drawSeats: the weights do not add up");
    const isLeftOut = excluded.has(next.agentId) && weightOf(next) <= room;
    if (isLeftOut) room -= weightOf(next);
    (isLeftOut ? aside : drawn).push(next);
  }
  // This chain learns nothing: 2 is the skill of a fresh agent.
  return [...drawn, ...aside]
    .slice(0, size)
    .map(({ agentId, signer, reputation }) => ({ agentId, signer, reputation, skill: 2 }));
}

/** ADR 10: a fresh agent's stake weighs half. Only the proportions count, and no stake is lost to rounding. */
function weightOf({ stake, reputation, proven }: AgentRecord): bigint {
  return (proven ? 2n : 1n) * stake * BigInt(reputation);
}

/** An agent whose reputation fell too low is out of the draw for good. */
export function withReputation(agent: AgentRecord, steps: number): AgentRecord {
  const reputation = moved(agent.reputation, steps);
  const exited = agent.exited || reputation < EXIT_REPUTATION;
  return { ...agent, reputation, exited, active: agent.active && !exited };
}

/** Reputation after these steps, as in contracts/libraries/ReputationLib.sol. */
export function moved(reputation: Ppm, steps: number): Ppm {
  let value: number = Math.min(ONE_PPM, reputation + Math.max(steps, 0) * RECOVERY_PPM);
  for (let step = steps; step < 0; step += 1)
    value = Math.max(REPUTATION_FLOOR, Math.floor((value * SLASH_PPM) / ONE_PPM));
  return value as Ppm;
}
