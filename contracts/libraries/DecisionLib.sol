// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {CONFIDENCE_ONE, MAX_ANSWER_BYTES, MAX_SHORT_ANSWER_BYTES, MAX_SLASHES} from "../types/Limits.sol";
import {Decision, DecisionHead, Relay, RequestId, RequestTerms, Seat, Status} from "../types/Types.sol";
import {CalldataLib} from "./CalldataLib.sol";
import {DecisionHeadLib} from "./DecisionHeadLib.sol";
import {RequestTermsLib} from "./RequestTermsLib.sol";

/// @title The structs that committees and agents sign (EIP-712), and the checks of a decision
library DecisionLib {
    using CalldataLib for bytes;
    using DecisionHeadLib for DecisionHead;
    using RequestTermsLib for RequestTerms;

    bytes32 internal constant DECISION_TYPEHASH = keccak256(
        "Decision(bytes32 requestHash,uint32 attempt,bytes32 committeeHash,uint32 round,uint8 status,bytes32 outcome,bytes answer,uint32 confidence,uint64 answered,uint64 agreed,bytes32 transcript,bytes reputationChanges,bytes shares)"
    );
    bytes32 internal constant MESSAGE_TYPEHASH = keccak256(
        "Message(bytes32 requestHash,bytes32 committeeHash,uint32 attempt,uint32 protocol,uint32 phase,uint32 round,uint32 seat,bytes32 payloadDigest)"
    );

    /// @dev Place of the answer's offset in a `Decision`. Both the place and the offset count from the beginning of the
    /// struct.
    uint256 private constant ANSWER = 0x60;
    /// @dev Place of the merits' offset, counted in the same way.
    uint256 private constant MERITS = 0x80;

    /// @notice Returns the EIP-712 struct hash of a decision about a request by a committee of `size`.
    /// @dev Reverts unless the merits begin with `size` shares and the head says so: then a decision can be read in one
    /// way only. The function does not check where the answer and the merits lie in calldata. All functions of this
    /// library and the callback read them at the same place, so what is signed is what takes effect.
    function structHash(
        Decision calldata decision,
        bytes32 requestHash,
        bytes32 committeeHash,
        uint256 size
    ) internal pure returns (bytes32 result) {
        DecisionHead head = decision.head;
        uint256 meritsLength = _lengthAt(decision, MERITS);
        require(head.seats() == size, IDecisionOracle.InvalidDecision("seats", head.seats()));
        require(meritsLength >= size, IDecisionOracle.InvalidDecision("merits", meritsLength));
        bytes32 typeHash = DECISION_TYPEHASH;
        assembly ("memory-safe") {
            // Everything lies beyond the free memory pointer: 14 words, then the bytes to be hashed.
            let words := mload(0x40)
            let room := add(words, 0x1c0)
            mstore(words, typeHash)
            mstore(add(words, 0x20), requestHash)
            mstore(add(words, 0x40), and(shr(200, head), 0xff))
            mstore(add(words, 0x60), committeeHash)
            mstore(add(words, 0x80), and(shr(160, head), 0xffffffff))
            // The status, with any dirty bits above it.
            mstore(add(words, 0xa0), shr(208, head))
            // outcome
            mstore(add(words, 0xc0), calldataload(add(decision, 0x20)))
            let source := add(decision, calldataload(add(decision, ANSWER)))
            let length := calldataload(source)
            calldatacopy(room, add(source, 0x20), length)
            mstore(add(words, 0xe0), keccak256(room, length))
            mstore(add(words, 0x100), and(shr(128, head), 0xffffffff))
            mstore(add(words, 0x120), and(shr(64, head), 0xffffffffffffffff))
            mstore(add(words, 0x140), and(head, 0xffffffffffffffff))
            // transcript
            mstore(add(words, 0x160), calldataload(add(decision, 0x40)))
            source := add(decision, calldataload(add(decision, MERITS)))
            calldatacopy(room, add(source, 0x20), meritsLength)
            mstore(add(words, 0x180), keccak256(add(room, size), sub(meritsLength, size)))
            mstore(add(words, 0x1a0), keccak256(room, size))
            result := keccak256(words, 0x1c0)
        }
    }

    /// @notice Does emit DecisionCommitted(requestId, head, outcome, transcript, relay, committee, answer, merits), for
    /// half of the gas.
    function emitCommitted(
        Decision calldata decision,
        RequestId requestId,
        Relay relay,
        Seat[] memory committee
    ) internal {
        bytes32 topic = IDecisionOracle.DecisionCommitted.selector;
        assembly ("memory-safe") {
            // Each byte string is its length and its bytes, and zeros up to a full word.
            function copyBytes(target, source) -> end {
                let size := add(calldataload(source), 0x20)
                mstore(add(target, size), 0)
                calldatacopy(target, source, size)
                end := add(target, and(add(size, 0x1f), not(0x1f)))
            }
            // The data lies beyond the free memory pointer: seven words, then the seats and the byte strings.
            let data := mload(0x40)
            let tail := add(data, 0xe0)
            // head, outcome, transcript
            calldatacopy(data, decision, 0x60)
            mstore(add(data, 0x60), relay)
            mstore(add(data, 0x80), 0xe0)
            let seats := shl(5, add(mload(committee), 1))
            mcopy(tail, committee, seats)
            tail := add(tail, seats)
            mstore(add(data, 0xa0), sub(tail, data))
            tail := copyBytes(tail, add(decision, calldataload(add(decision, ANSWER))))
            mstore(add(data, 0xc0), sub(tail, data))
            tail := copyBytes(tail, add(decision, calldataload(add(decision, MERITS))))
            log2(data, sub(tail, data), topic, requestId)
        }
    }

    /// @notice Reverts unless a committee of `size` may make this decision about a request of these terms.
    /// @dev The caller must have made the struct hash for this size, which proves that the merits begin with a share
    /// for each seat.
    function validate(Decision calldata decision, RequestTerms terms, uint256 size) internal pure {
        DecisionHead head = decision.head;
        uint256 status = head.statusCode();
        uint256 length = answerLength(decision);
        if (status != uint256(Status.Decided)) {
            uint256 last = terms.nonAnswers() == 0 ? uint256(Status.TooEarly) : uint256(Status.Hung);
            require(
                status >= uint256(Status.Hung) && status <= last,
                IDecisionOracle.InvalidDecision("status", status)
            );
            uint256 outcome = uint256(decision.outcome);
            unchecked {
                // 0 when hung; Reality.eth's constants, the highest words, for the two after it.
                require(outcome == uint256(Status.Hung) - status, IDecisionOracle.InvalidDecision("outcome", outcome));
            }
            require(length == 0, IDecisionOracle.InvalidDecision("answer", length));
        } else {
            uint256 longest = terms.kind() == RequestTermsLib.KIND_TEXT ? MAX_ANSWER_BYTES : MAX_SHORT_ANSWER_BYTES;
            require(length <= longest, IDecisionOracle.InvalidDecision("answer", length));
            _validateOutcome(decision, terms);
        }
        uint256 confidence = head.confidence();
        require(confidence <= CONFIDENCE_ONE, IDecisionOracle.InvalidDecision("confidence", confidence));
        if (_lengthAt(decision, MERITS) > size) _validateChanges(decision.merits[size:], size);
    }

    /// @notice Returns how many bytes the answer of a valid decision has.
    function answerLength(Decision calldata decision) internal pure returns (uint256) {
        return _lengthAt(decision, ANSWER);
    }

    /// @notice Returns how many reputations a valid decision changes if it stands.
    function changeCount(Decision calldata decision) internal pure returns (uint256) {
        unchecked {
            // The merits are a share for each seat, and then pairs.
            return (_lengthAt(decision, MERITS) - decision.head.seats()) / 2;
        }
    }

    /// @param member `ANSWER` or `MERITS`
    function _lengthAt(Decision calldata decision, uint256 member) private pure returns (uint256 result) {
        assembly ("memory-safe") {
            result := calldataload(add(decision, calldataload(add(decision, member))))
        }
    }

    /// @dev Consumers read the outcome of a boolean, a choice or policies as it is. The outcome of a text is the hash
    /// of its answer.
    function _validateOutcome(Decision calldata decision, RequestTerms terms) private pure {
        uint256 kind = terms.kind();
        uint256 outcome = uint256(decision.outcome);
        bool fits = true;
        if (kind == RequestTermsLib.KIND_BOOLEAN) fits = outcome <= 1;
        else if (kind == RequestTermsLib.KIND_CHOICE) fits = outcome < terms.options();
        else if (kind == RequestTermsLib.KIND_TEXT) fits = decision.outcome == decision.answer.hash();
        else if (kind == RequestTermsLib.KIND_POLICIES) fits = outcome != 0 && outcome >> terms.options() == 0;
        require(fits, IDecisionOracle.InvalidDecision("outcome", outcome));
    }

    /// @dev The merits hold at most `size` pairs, so the committee's size bounds the loop.
    function _validateChanges(bytes calldata changes, uint256 size) private pure {
        uint256 length = changes.length;
        require(length % 2 == 0 && length <= 2 * size, IDecisionOracle.InvalidDecision("reputationChanges", length));
        uint256 next = 0;
        for (uint256 i = 0; i < length; i += 2) {
            uint256 seat = uint8(changes[i]);
            // The second byte is a two's complement number: 1 is a recovery, the highest values are slashes.
            uint256 steps = uint8(changes[i + 1]);
            require(
                seat >= next && seat < size && (steps == 1 || steps >= 0x100 - MAX_SLASHES),
                IDecisionOracle.InvalidDecision("reputationChanges", i)
            );
            next = seat + 1;
        }
    }
}
