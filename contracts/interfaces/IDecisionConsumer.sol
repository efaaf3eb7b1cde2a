// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {RequestId, Status} from "../types/Types.sol";

/// @title The callback of a contract that asks
interface IDecisionConsumer {
    /// @notice Learns how a request ended: `Decided`, with the final decision, or without an answer: `Hung`,
    /// `Unanswerable`, `TooEarly` or `Refunded`.
    /// The oracle calls it until it succeeds once; for `Refunded` it calls once, whether that succeeds or not.
    /// @dev Warning: only `Decided` is an answer. Otherwise outcome and answer say nothing: check `status` before you read
    /// them. `DecisionConsumer` does.
    /// @dev Warning: check that `msg.sender` is the oracle. The call gets `callbackGasLimit` gas and no more; if it
    /// reverts or runs out of gas, the end stands. Anybody may retry the callback of a decision later, when the
    /// consumer's state may have changed. A consumer that missed a refund finds it by `statusOf`.
    /// @dev Warning: whoever refunds chooses when this is called, also from within a call of yours that calls others. A
    /// reentrancy guard that makes it fail then loses the news of the refund.
    /// @dev A consumer that cancels its request is not called: it knows.
    /// @param requestId the request
    /// @param status any but `None` and `Requested`
    /// @param outcome see `Decision.outcome`; 0 when `Refunded`
    /// @param answer see `Decision.answer`; empty unless `Decided`
    /// @param confidence parts per million; 0 when `Refunded`
    function onDecision(
        RequestId requestId,
        Status status,
        bytes32 outcome,
        bytes calldata answer,
        uint32 confidence
    ) external;
}
