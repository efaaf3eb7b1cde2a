// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {DecisionConsumer} from "../../../contracts/consumers/DecisionConsumer.sol";
import {IDecisionOracle} from "../../../contracts/interfaces/IDecisionOracle.sol";
import {RequestTerms, RequestId, Status} from "../../../contracts/types/Types.sol";

/// @title The smallest useful consumer, with one new storage slot per decision, for gas figures
contract SlotConsumer is DecisionConsumer {
    /// @notice The outcome of each request.
    mapping(RequestId requestId => bytes32 outcome) public outcomeOf;

    constructor(IDecisionOracle oracle_) DecisionConsumer(oracle_) {}

    /// @notice Passes a request on.
    function ask(uint48 subscriptionId, RequestTerms terms, bytes calldata question) external returns (RequestId) {
        return oracle.request(subscriptionId, terms, question);
    }

    function _onDecision(RequestId requestId, bytes32 outcome, bytes calldata, uint32) internal override {
        outcomeOf[requestId] = outcome;
    }

    function _onNoDecision(RequestId, Status) internal override {}
}
