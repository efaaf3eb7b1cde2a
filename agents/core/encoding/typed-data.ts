import { keccak_256 } from "@noble/hashes/sha3.js";
import type {
  Attempt,
  Decision,
  Digest,
  Domain,
  HashedDecision,
  HashedRequest,
  Header,
  Request,
  SeatInfo,
} from "../types.ts";
import { questionBytes } from "../request/question.ts";
import { concat, hexToBytes, keccak256, uint, utf8, word, word32 } from "./bytes.ts";
import { bitsOf, encodeReputationChanges, encodeShares, packSeat, packTerms, statusCode } from "./words.ts";

const DOMAIN_TYPE = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
const DECISION_TYPE =
  "Decision(bytes32 requestHash,uint32 attempt,bytes32 committeeHash,uint32 round,uint8 status,bytes32 outcome,bytes answer,uint32 confidence,uint64 answered,uint64 agreed,bytes32 transcript,bytes reputationChanges,bytes shares)";
const MESSAGE_TYPE =
  "Message(bytes32 requestHash,bytes32 committeeHash,uint32 attempt,uint32 protocol,uint32 phase,uint32 round,uint32 seat,bytes32 payloadDigest)";

export function hashedRequest({ id, consumer, terms, question }: Request): HashedRequest {
  return { id, consumer, terms: packTerms(terms), questionHash: keccak256(questionBytes(question)) };
}

export function requestHash(request: Request): Digest {
  return requestHashOf(hashedRequest(request));
}

/** keccak256(abi.encode(Request)). */
export function requestHashOf({ id, consumer, terms, questionHash }: HashedRequest): Digest {
  return keccak256(concat(word(id), word(BigInt(consumer)), word(terms), hexToBytes(questionHash)));
}

/** keccak256 of the seats' words, one after the other. */
export function committeeHash(committee: readonly SeatInfo[]): Digest {
  return keccak256(concat(...committee.map((seat) => word(packSeat(seat)))));
}

/** EIP-712 digest that a seat signs to certify a decision. */
export function decisionDigest(attempt: Attempt, decision: Decision): Digest {
  return typedDataDigest(attempt.domain, decisionStructHash(attempt, decision));
}

/** The EIP-712 struct hash of a decision, which its round's link covers. */
export function decisionStructHash(attempt: Hashed, decision: Decision): Digest {
  const { request, committee } = hashesOf(attempt);
  const hashed = hashedDecision(decision);
  return structHash(DECISION_TYPE, [
    request,
    word32(decision.attempt),
    committee,
    word32(decision.round),
    word(uint(BigInt(hashed.status), 8n)),
    hexToBytes(hashed.outcome),
    hexToBytes(hashed.answerHash),
    word32(hashed.confidence),
    word(uint(hashed.answered, 64n)),
    word(uint(hashed.agreed, 64n)),
    hexToBytes(hashed.transcript),
    hexToBytes(hashed.reputationChangesHash),
    hexToBytes(hashed.sharesHash),
  ]);
}

export function hashedDecision(decision: Decision): HashedDecision {
  const { status, outcome, answer, confidence, answered, agreed, transcript, reputationChanges, shares } = decision;
  return {
    status: statusCode(status),
    outcome,
    answerHash: keccak256(utf8(answer)),
    confidence,
    answered: bitsOf(answered),
    agreed: bitsOf(agreed),
    transcript,
    reputationChangesHash: keccak256(encodeReputationChanges(reputationChanges)),
    sharesHash: keccak256(encodeShares(shares)),
  };
}

/**
 * EIP-712 digest that a seat signs to send a message about the attempt. It covers the question and the committee: after a
 * reorganization of the chain the same ids can stand for others, and nobody must then have signed two messages for one place.
 */
export function messageDigest(attempt: Attempt, header: Header): Digest {
  const { request, committee } = hashesOf(attempt);
  const { protocol, phase, round, seat, payloadDigest } = header;
  const numbers = [header.attempt, protocol, phase, round, seat].map((one) => word32(one));
  const struct = structHash(MESSAGE_TYPE, [request, committee, ...numbers, hexToBytes(payloadDigest)]);
  return typedDataDigest(attempt.domain, struct);
}

interface AttemptHashes {
  readonly request: Uint8Array;
  readonly committee: Uint8Array;
}

type Hashed = Pick<Attempt, "request" | "committee">;

const hashesOfAttempts = new WeakMap<Hashed, AttemptHashes>();

/** Computed once per attempt, which never changes. */
function hashesOf(attempt: Hashed): AttemptHashes {
  let hashes = hashesOfAttempts.get(attempt);
  if (hashes === undefined) {
    const request = hexToBytes(requestHash(attempt.request));
    hashesOfAttempts.set(attempt, (hashes = { request, committee: hexToBytes(committeeHash(attempt.committee)) }));
  }
  return hashes;
}

const typeHashes = new Map<string, Uint8Array>();
const separators = new WeakMap<Domain, Uint8Array>();

/** Hashes of the few fixed types and of a domain are computed once. */
function structHash(type: string, words: readonly Uint8Array[]): Digest {
  return keccak256(concat(typeHash(type), ...words));
}

function typedDataDigest(domain: Domain, struct: Digest): Digest {
  return keccak256(concat(Uint8Array.of(0x19, 0x01), separatorOf(domain), hexToBytes(struct)));
}

function typeHash(type: string): Uint8Array {
  let hash = typeHashes.get(type);
  if (hash === undefined) typeHashes.set(type, (hash = keccak_256(utf8(type))));
  return hash;
}

function separatorOf(domain: Domain): Uint8Array {
  let separator = separators.get(domain);
  if (separator === undefined) {
    const fixed = [typeHash(DOMAIN_TYPE), typeHash("Conclave"), typeHash("1")];
    separator = keccak_256(concat(...fixed, word(BigInt(domain.chainId)), word(BigInt(domain.oracle))));
    separators.set(domain, separator);
  }
  return separator;
}
