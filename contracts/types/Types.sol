// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

/// @notice A registered agent. Ids start at 1 and are never reused.
type AgentId is uint32;

/// @notice A request. Ids start at 1 and are consecutive within one oracle.
type RequestId is uint256;

/// @notice All numeric terms of a request in one word, see `RequestTermsLib`:
/// fee uint96 | deadline uint40 (unix s) | tolerance uint40 | callbackGasLimit uint32 | committeeSize uint8 |
/// assurance uint8 | decimals uint8 | options uint8 | kind uint8 | protocol uint8, from the highest bit to the lowest.
type RequestTerms is uint256;

/// @notice One drawn seat in one word: agentId uint32 << 192 | reputation uint32 (ppm, at the draw) << 160 | signer address.
/// The index in the committee array is the seat number.
type Seat is uint256;

/// @notice Where a request stands. `Decided`, `Hung` and `Refunded` are final.
enum Status {
    None,
    Requested,
    Drawn,
    Decided,
    Hung,
    Refunded
}

/// @notice The unpacked form of `RequestTerms`.
/// @param fee what the asker escrows, in the smallest unit of the fee token
/// @param deadline unix seconds; after it no decision is accepted and anybody may refund
/// @param tolerance numbers only: two answers agree iff they differ by at most this much, in units of 10^-decimals
/// @param callbackGasLimit gas the callback gets; 0 means no callback
/// @param committeeSize number of seats n
/// @param assurance 0 normal (accept quorum > 1/2), 1 high (> 2/3)
/// @param decimals numbers only: the outcome is the value times 10^decimals
/// @param options choice and policies only: how many options or policies, 2 to 26
/// @param kind 0 boolean, 1 choice, 2 number, 3 text, 4 policies (a non-empty set)
/// @param protocol the on-chain code of the deliberation protocol
struct Terms {
    uint96 fee;
    uint40 deadline;
    uint40 tolerance;
    uint32 callbackGasLimit;
    uint8 committeeSize;
    uint8 assurance;
    uint8 decimals;
    uint8 options;
    uint8 kind;
    uint8 protocol;
}

/// @notice What the oracle keeps only the hash of; it is in the event and comes back in calldata.
struct Request {
    RequestId id;
    address consumer;
    RequestTerms terms;
    bytes32 questionHash;
}

/// @notice What a committee signs. See `DecisionLib` for the EIP-712 type.
/// @param attempt which try at the request, from 0
/// @param round the certify round in which the precommits were signed
/// @param status `Decided` or `Hung`
/// @param outcome canonical: boolean 0/1, choice index, number int256, text keccak256 of the answer, policies a bitmap (bit i
/// set = policy i, A being 0); 0 when Hung
/// @param answer the canonical answer as UTF-8; empty when Hung
/// @param confidence parts per million
/// @param transcript sha2-256 digest of the dag-cbor root block (CIDv1)
/// @param reputationChanges pairs of bytes (seat, int8 steps): -1 to -3 = that many slashes, +1 = one recovery step; seats strictly ascending
/// @param shares one byte per seat: the seat's share of the pay; the sum must not be 0 unless all are 0
struct Decision {
    uint32 attempt;
    uint32 round;
    Status status;
    bytes32 outcome;
    bytes answer;
    uint32 confidence;
    bytes32 transcript;
    bytes reputationChanges;
    bytes shares;
}

/// @notice More than two thirds of the seats signed the decision.
/// @param signers bit i set = seat i signed; a subset of those who did, as the submitter chose, so no basis for pay
/// @param signatures 65 bytes (r, s, v) per set bit, in seat order; low s only
struct Certificate {
    uint256 signers;
    bytes signatures;
}

/// @notice An EIP-2612 permit for the stake or fee token.
struct Permit {
    uint256 value;
    uint256 deadline;
    uint8 v;
    bytes32 r;
    bytes32 s;
}
