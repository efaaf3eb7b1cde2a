// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {RequestId, Status} from "../types/Types.sol";

/// @title The callback of a contract that asks
interface IDecisionConsumer {
    /// @notice Receives the final decision of a request that is `Decided` or `Hung`. The oracle calls it until it
    /// succeeds once.
    /// @dev Warning: the oracle does not call it for a refund. A consumer that waits must watch its deadline and
    /// `statusOf`, and withdraw the fee from its balance at the oracle.
    /// @dev Warning: check that `msg.sender` is the oracle. The call gets `callbackGasLimit` gas and no more; if it
    /// reverts or runs out of gas, the decision stands and anybody may retry the callback later, when the consumer's
    /// state may have changed.
    /// @dev Warning: a hung request also calls back, with outcome 0: check `status` before you read `outcome`.
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
