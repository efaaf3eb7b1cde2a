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

    /// @notice Delivers a decision to the consumer, if the request wants a callback.
    /// @return success false if the callback reverted, ran out of gas or met an address without code
    function tryDecision(Request calldata request_, Decision calldata decision) internal returns (bool success) {
        if (request_.terms.callbackGasLimit() == 0) return true;
        DecisionHead head = decision.head;
        uint256 data = _begin(request_);
        uint256 size;
        assembly ("memory-safe") {
            // The status. A decision whose status has dirty bits above it never settles.
            mstore(add(data, 0x24), shr(208, head))
            // outcome
            mstore(add(data, 0x44), calldataload(add(decision, 0x20)))
            // confidence
            mstore(add(data, 0x84), and(shr(128, head), 0xffffffff))
            // The answer's length and bytes. Zeros fill its last word. `DecisionLib` reads the answer here, too.
            let answer := add(decision, calldataload(add(decision, 0x60)))
            size := add(calldataload(answer), 0x20)
            mstore(add(data, add(0xa4, size)), 0)
            calldatacopy(add(data, 0xa4), answer, size)
            size := add(0xa4, and(add(size, 0x1f), not(0x1f)))
        }
        return _tryCall(request_, data, size);
    }

    /// @notice Tells the consumer that its request ended without an answer, if it wants a callback: outcome and
    /// confidence are 0, and the answer is empty.
    /// @param status `Hung` or `Refunded`
    /// @return success as of `tryDecision`
    function tryEnd(Request calldata request_, Status status) internal returns (bool success) {
        if (request_.terms.callbackGasLimit() == 0) return true;
        uint256 data = _begin(request_);
        assembly ("memory-safe") {
            mstore(add(data, 0x24), status)
            mstore(add(data, 0x44), 0)
            mstore(add(data, 0x84), 0)
            mstore(add(data, 0xa4), 0)
        }
        return _tryCall(request_, data, 0xc4);
    }

    /// @dev Begins abi.encodeCall(IDecisionConsumer.onDecision, (id, status, outcome, answer, confidence)) beyond the
    /// free memory pointer, for the call that follows. This takes a third of the gas of the compiler's encoder.
    /// @return data where it begins: the selector, the id, and where the answer is
    function _begin(Request calldata request_) private pure returns (uint256 data) {
        uint256 id = RequestId.unwrap(request_.id);
        bytes4 selector = IDecisionConsumer.onDecision.selector;
        assembly ("memory-safe") {
            data := mload(0x40)
            mstore(data, selector)
            mstore(add(data, 0x04), id)
            mstore(add(data, 0x64), 0xa0)
        }
    }

    /// @dev Calls the consumer with exactly the gas that it asked for, and ignores the returned data. Reverts if too
    /// little gas is left to forward that much (a call gets at most 63/64 of what is left) and to finish afterwards. So
    /// the submitter cannot make the callback fail by sending less gas. Returned data is not copied, so its size costs
    /// the caller nothing.
    function _tryCall(Request calldata request_, uint256 data, uint256 size) private returns (bool success) {
        address consumer = request_.consumer;
        uint256 gasLimit = request_.terms.callbackGasLimit();
        uint256 available = gasleft();
        uint256 required;
        unchecked {
            // Rounds up, in favour of the consumer. The limit is a uint24, so nothing overflows.
            required = (gasLimit * 64) / 63 + 1 + CALLBACK_RESERVE_GAS;
        }
        require(available >= required, IDecisionOracle.InsufficientCallbackGas(available, required));
        assembly ("memory-safe") {
            if extcodesize(consumer) {
                success := call(gasLimit, consumer, 0, data, size, 0, 0)
            }
        }
    }
}
