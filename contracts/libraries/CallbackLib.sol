// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {IDecisionConsumer} from "../interfaces/IDecisionConsumer.sol";
import {CALLBACK_RESERVE_GAS} from "../types/Limits.sol";
import {Decision, DecisionHead, Request, RequestId, RequestTerms, Status} from "../types/Types.sol";
import {RequestTermsLib} from "./RequestTermsLib.sol";

/// @title Calls a consumer that may be hostile
library CallbackLib {
    using RequestTermsLib for RequestTerms;

    /// @notice Delivers the decision to the consumer with exactly the gas that it asked for, and ignores the returned
    /// data.
    /// @dev Reverts if too little gas is left to forward that much (a call gets at most 63/64 of what is left) and to
    /// finish afterwards. So the submitter cannot make the callback fail by sending less gas. Returned data is not
    /// copied, so its size costs the caller nothing.
    /// @param answered false if nobody answered an attempt after this decision: then the consumer is told `Hung`
    /// @return success false if the callback reverted, ran out of gas or met an address without code
    function tryCall(
        Request calldata request_,
        Decision calldata decision,
        bool answered
    ) internal returns (bool success) {
        address consumer = request_.consumer;
        uint256 gasLimit = request_.terms.callbackGasLimit();
        (uint256 data, uint256 size) = _encode(RequestId.unwrap(request_.id), decision, answered);
        uint256 available = gasleft();
        uint256 required;
        unchecked {
            // Rounds up, in favour of the consumer. The limit is a uint32, so nothing overflows.
            required = (gasLimit * 64) / 63 + 1 + CALLBACK_RESERVE_GAS;
        }
        require(available >= required, IDecisionOracle.InsufficientCallbackGas(available, required));
        assembly ("memory-safe") {
            if extcodesize(consumer) {
                success := call(gasLimit, consumer, 0, data, size, 0, 0)
            }
        }
    }

    /// @dev Writes abi.encodeCall(IDecisionConsumer.onDecision, (id, status, outcome, answer, confidence)) beyond the
    /// free memory pointer, for the call that follows. This takes a third of the gas of the compiler's encoder. It
    /// reads the answer where `DecisionLib` reads it.
    function _encode(
        uint256 id,
        Decision calldata decision,
        bool answered
    ) private pure returns (uint256 data, uint256 size) {
        DecisionHead head = decision.head;
        bytes4 selector = IDecisionConsumer.onDecision.selector;
        uint256 hung = uint256(Status.Hung);
        assembly ("memory-safe") {
            data := mload(0x40)
            mstore(data, selector)
            mstore(add(data, 0x04), id)
            mstore(add(data, 0x64), 0xa0)
            switch answered
            case 0 {
                // No outcome, no confidence, an answer without bytes.
                mstore(add(data, 0x24), hung)
                mstore(add(data, 0x44), 0)
                mstore(add(data, 0x84), 0)
                mstore(add(data, 0xa4), 0)
                size := 0xc4
            }
            default {
                // The status. A decision whose status has dirty bits above it never settles.
                mstore(add(data, 0x24), shr(80, head))
                // outcome
                mstore(add(data, 0x44), calldataload(add(decision, 0x20)))
                // confidence
                mstore(add(data, 0x84), and(head, 0xffffffff))
                // The answer's length and bytes. Zeros fill its last word.
                let answer := add(decision, calldataload(add(decision, 0x60)))
                size := add(calldataload(answer), 0x20)
                mstore(add(data, add(0xa4, size)), 0)
                calldatacopy(add(data, 0xa4), answer, size)
                size := add(0xa4, and(add(size, 0x1f), not(0x1f)))
            }
        }
    }
}
