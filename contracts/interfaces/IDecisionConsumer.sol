// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {RequestId, Status} from "../types/Types.sol";

/// @title What a contract that asks must implement
interface IDecisionConsumer {
    /// @notice Called by the oracle, once with success, when the request is `Decided` or `Hung`.
    /// @dev Warning: never called for a refund. A consumer that waits must look at its deadline and at `statusOf`, and take
    /// the fee back out of its balance at the oracle.
    /// @dev Warning: check that `msg.sender` is the oracle. The call gets `callbackGasLimit` gas and no more; if it
    /// reverts or runs out, settlement stands and anybody may retry it later, so state may have moved on in between.
    /// @dev Warning: a hung request calls back, too, with outcome 0: branch on `status` before reading `outcome`.
    /// @param requestId the request
    /// @param status `Decided` or `Hung`
    /// @param outcome see `Decision.outcome`; 0 when `Hung`
    /// @param answer see `Decision.answer`; empty when `Hung`
    /// @param confidence parts per million
    function onDecision(
        RequestId requestId,
        Status status,
        bytes32 outcome,
        bytes calldata answer,
        uint32 confidence
    ) external;
}
