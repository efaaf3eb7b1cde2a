// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionConsumer} from "../../../contracts/interfaces/IDecisionConsumer.sol";
import {IDecisionOracle} from "../../../contracts/interfaces/IDecisionOracle.sol";
import {RequestId, RequestTerms, Status} from "../../../contracts/types/Types.sol";

/// @title A consumer that keeps the calldata of its callback byte for byte, for tests
contract RecordingConsumer is IDecisionConsumer {
    /// @notice The calldata of the latest callback.
    bytes public received;

    /// @notice Passes a request on.
    function ask(
        IDecisionOracle oracle,
        uint48 subscriptionId,
        RequestTerms terms,
        bytes calldata question
    ) external returns (RequestId) {
        return oracle.request(subscriptionId, terms, question);
    }

    /// @inheritdoc IDecisionConsumer
    function onDecision(RequestId, Status, bytes32, bytes calldata, uint32) external {
        received = msg.data;
    }
}
