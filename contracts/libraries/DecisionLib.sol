// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {CONFIDENCE_ONE, MAX_ANSWER_BYTES, MAX_SLASHES} from "../types/Limits.sol";
import {Decision, RequestId, RequestTerms, Status} from "../types/Types.sol";
import {RequestTermsLib} from "./RequestTermsLib.sol";

/// @title What committees and agents sign (EIP-712), and what makes a decision well formed
library DecisionLib {
    using RequestTermsLib for RequestTerms;

    bytes32 internal constant DECISION_TYPEHASH = keccak256(
        "Decision(bytes32 requestHash,uint32 attempt,bytes32 committeeHash,uint32 round,uint8 status,bytes32 outcome,bytes answer,uint32 confidence,bytes32 transcript,bytes reputationChanges,bytes shares)"
    );
    bytes32 internal constant MESSAGE_TYPEHASH = keccak256(
        "Message(uint256 requestId,uint32 attempt,uint32 protocol,uint32 phase,uint32 round,uint32 seat,bytes32 payloadDigest)"
    );

    /// @notice The EIP-712 struct hash of a decision about a request by a committee.
    function structHash(
        Decision calldata decision,
        bytes32 requestHash,
        bytes32 committeeHash
    ) internal pure returns (bytes32 result) {
        bytes32[12] memory words;
        words[0] = DECISION_TYPEHASH;
        words[1] = requestHash;
        words[2] = bytes32(uint256(decision.attempt));
        words[3] = committeeHash;
        words[4] = bytes32(uint256(decision.round));
        words[5] = bytes32(uint256(decision.status));
        words[6] = decision.outcome;
        words[7] = _hash(decision.answer);
        words[8] = bytes32(uint256(decision.confidence));
        words[9] = decision.transcript;
        words[10] = _hash(decision.reputationChanges);
        words[11] = _hash(decision.shares);
        assembly ("memory-safe") {
            result := keccak256(words, 0x180)
        }
    }

    /// @notice The EIP-712 struct hash of an agent's message.
    function messageStructHash(
        RequestId requestId,
        uint32 attempt,
        uint32 protocol,
        uint32 phase,
        uint32 round,
        uint32 seat,
        bytes32 payloadDigest
    ) internal pure returns (bytes32) {
        return keccak256(abi.encode(MESSAGE_TYPEHASH, requestId, attempt, protocol, phase, round, seat, payloadDigest));
    }

    /// @notice Reverts unless the decision is one that a committee of `size` may make about a request of these terms.
    function validate(Decision calldata decision, RequestTerms terms, uint256 size) internal pure {
        Status status = decision.status;
        uint256 answerLength = decision.answer.length;
        if (status == Status.Hung) {
            bytes32 outcome = decision.outcome;
            require(outcome == 0, IDecisionOracle.InvalidDecision("outcome", uint256(outcome)));
            require(answerLength == 0, IDecisionOracle.InvalidDecision("answer", answerLength));
        } else {
            require(status == Status.Decided, IDecisionOracle.InvalidDecision("status", uint256(status)));
            require(answerLength <= MAX_ANSWER_BYTES, IDecisionOracle.InvalidDecision("answer", answerLength));
            _validateOutcome(decision, terms);
        }
        uint256 confidence = decision.confidence;
        require(confidence <= CONFIDENCE_ONE, IDecisionOracle.InvalidDecision("confidence", confidence));
        uint256 shares = decision.shares.length;
        require(shares == size, IDecisionOracle.InvalidDecision("shares", shares));
        if (decision.reputationChanges.length != 0) _validateChanges(decision.reputationChanges, size);
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
}
