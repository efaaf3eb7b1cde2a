import { AbiCoder, TypedDataEncoder, concat, id, keccak256 } from "ethers";
import type { DecisionSlot, Digest, Domain, HashedDecision, MessageSlot } from "../../../agents/core/types.ts";
import { decisionTypes, messageTypes } from "../contracts/typed-data.ts";

/** The digest of a message from its slot, as contracts/libraries/EvidenceLib.sol computes it. */
export function slotDigest(domain: Domain, slot: MessageSlot, payloadDigest: Digest): Digest {
  return TypedDataEncoder.hash(separated(domain), messageTypes, { ...slot, payloadDigest }) as Digest;
}

const DECISION_TYPE_HASH = id(TypedDataEncoder.from(decisionTypes).encodeType("Decision"));
/** The members of a decision in the order of its type, bytes as their hash. */
const DECISION_WORDS = [
  "bytes32",
  ...(decisionTypes["Decision"] ?? []).map(({ type }) => (type === "bytes" ? "bytes32" : type)),
];

/** The digest of a decision from hashes alone, as contracts/libraries/EvidenceLib.sol computes it. */
export function decisionSlotDigest(domain: Domain, slot: DecisionSlot, decision: HashedDecision): Digest {
  const struct = keccak256(
    AbiCoder.defaultAbiCoder().encode(DECISION_WORDS, [
      DECISION_TYPE_HASH,
      slot.requestHash,
      slot.attempt,
      slot.committeeHash,
      slot.round,
      decision.status,
      decision.outcome,
      decision.answerHash,
      decision.confidence,
      decision.answered,
      decision.agreed,
      decision.transcript,
      decision.reputationChangesHash,
      decision.sharesHash,
    ]),
  );
  return keccak256(concat(["0x1901", TypedDataEncoder.hashDomain(separated(domain)), struct])) as Digest;
}

function separated({ chainId, oracle }: Domain) {
  return { name: "Conclave", version: "1", chainId, verifyingContract: oracle };
}
