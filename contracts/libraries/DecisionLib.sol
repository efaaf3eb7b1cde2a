// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {CONFIDENCE_ONE, MAX_ANSWER_BYTES, MAX_SLASHES} from "../types/Limits.sol";
import {Decision, DecisionHead, Message, RequestTerms, Status} from "../types/Types.sol";
import {DecisionHeadLib} from "./DecisionHeadLib.sol";
import {RequestTermsLib} from "./RequestTermsLib.sol";

/// @title What committees and agents sign (EIP-712), and what makes a decision well formed
library DecisionLib {
    using DecisionHeadLib for DecisionHead;
    using RequestTermsLib for RequestTerms;

    bytes32 internal constant DECISION_TYPEHASH = keccak256(
        "Decision(bytes32 requestHash,uint32 attempt,bytes32 committeeHash,uint32 round,uint8 status,bytes32 outcome,bytes answer,uint32 confidence,bytes32 transcript,bytes reputationChanges,bytes shares)"
    );
    bytes32 internal constant MESSAGE_TYPEHASH = keccak256(
        "Message(bytes32 requestHash,bytes32 committeeHash,uint32 attempt,uint32 protocol,uint32 phase,uint32 round,uint32 seat,bytes32 payloadDigest)"
    );

    /// @notice The EIP-712 struct hash of a decision about a request by a committee of `size`.
    /// @dev Reverts unless the merits begin with `size` shares and the head says so: then a decision has one reading.
    function structHash(
        Decision calldata decision,
        bytes32 requestHash,
        bytes32 committeeHash,
        uint256 size
    ) internal pure returns (bytes32) {
        DecisionHead head = decision.head;
        bytes calldata merits = decision.merits;
        require(head.seats() == size, IDecisionOracle.InvalidDecision("seats", head.seats()));
        require(merits.length >= size, IDecisionOracle.InvalidDecision("merits", merits.length));
        bytes32[12] memory words;
        words[0] = DECISION_TYPEHASH;
        words[1] = requestHash;
        words[2] = bytes32(uint256(head.attempt()));
        words[3] = committeeHash;
        words[4] = bytes32(uint256(head.round()));
        words[5] = bytes32(head.statusCode());
        words[6] = decision.outcome;
        words[7] = _hash(decision.answer);
        words[8] = bytes32(uint256(head.confidence()));
        words[9] = decision.transcript;
        words[10] = _hash(merits[size:]);
        words[11] = _hash(merits[:size]);
        return _hashWords(words);
    }

    /// @notice The EIP-712 struct hash of an agent's message.
    function messageStructHash(Message calldata message) internal pure returns (bytes32) {
        return keccak256(abi.encode(MESSAGE_TYPEHASH, message));
    }

    /// @notice Reverts unless the decision is one that a committee of `size` may make about a request of these terms.
    /// @dev Of a decision that has a struct hash for this size.
    function validate(Decision calldata decision, RequestTerms terms, uint256 size) internal pure {
        DecisionHead head = decision.head;
        uint256 status = head.statusCode();
        uint256 answerLength = decision.answer.length;
        if (status == uint256(Status.Hung)) {
            bytes32 outcome = decision.outcome;
            require(outcome == 0, IDecisionOracle.InvalidDecision("outcome", uint256(outcome)));
            require(answerLength == 0, IDecisionOracle.InvalidDecision("answer", answerLength));
        } else {
            require(status == uint256(Status.Decided), IDecisionOracle.InvalidDecision("status", status));
            require(answerLength <= MAX_ANSWER_BYTES, IDecisionOracle.InvalidDecision("answer", answerLength));
            _validateOutcome(decision, terms);
        }
        uint256 confidence = head.confidence();
        require(confidence <= CONFIDENCE_ONE, IDecisionOracle.InvalidDecision("confidence", confidence));
        if (decision.merits.length != size) _validateChanges(decision.merits[size:], size);
    }

    /// @dev Consumers read the outcome of a boolean, a choice or policies as it is; the one of a text stands for its answer.
    function _validateOutcome(Decision calldata decision, RequestTerms terms) private pure {
        uint256 kind = terms.kind();
        uint256 outcome = uint256(decision.outcome);
        bool fits = true;
        if (kind == RequestTermsLib.KIND_BOOLEAN) fits = outcome <= 1;
        else if (kind == RequestTermsLib.KIND_CHOICE) fits = outcome < terms.options();
        else if (kind == RequestTermsLib.KIND_TEXT) fits = decision.outcome == _hash(decision.answer);
        else if (kind == RequestTermsLib.KIND_POLICIES) fits = outcome != 0 && outcome >> terms.options() == 0;
        require(fits, IDecisionOracle.InvalidDecision("outcome", outcome));
    }

    /// @dev At most `size` pairs, so the loop is capped by the committee's size.
    function _validateChanges(bytes calldata changes, uint256 size) private pure {
        uint256 length = changes.length;
        require(length % 2 == 0 && length <= 2 * size, IDecisionOracle.InvalidDecision("reputationChanges", length));
        uint256 next = 0;
        for (uint256 i = 0; i < length; i += 2) {
            uint256 seat = uint8(changes[i]);
            // The second byte is a two's complement number: 1 is a recovery, the highest ones are slashes.
            uint256 steps = uint8(changes[i + 1]);
            require(
                seat >= next && seat < size && (steps == 1 || steps >= 0x100 - MAX_SLASHES),
                IDecisionOracle.InvalidDecision("reputationChanges", i)
            );
            next = seat + 1;
        }
    }

    function _hash(bytes calldata data) private pure returns (bytes32 result) {
        assembly ("memory-safe") {
            let pointer := mload(0x40)
            calldatacopy(pointer, data.offset, data.length)
            result := keccak256(pointer, data.length)
        }
    }

    function _hashWords(bytes32[12] memory words) private pure returns (bytes32 result) {
        assembly ("memory-safe") {
            result := keccak256(words, 0x180)
        }
    }
}
