// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionConsumer} from "../interfaces/IDecisionConsumer.sol";
import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {RequestTermsLib} from "../libraries/RequestTermsLib.sol";
import {RequestId, Status, Terms} from "../types/Types.sol";

/// @title Base of a contract that asks
/// @notice Derive from it, fund it with `oracle.deposit(address(this), amount)`, ask with `_ask`, and act in `_onDecision`.
/// @dev Warning: refunds and unspent deposits stay in this contract's balance at the oracle. Give somebody a guarded function
/// that calls `_withdraw`, or they stay there for ever.
abstract contract DecisionConsumer is IDecisionConsumer {
    /// @notice The only contract that may deliver decisions.
    IDecisionOracle public immutable oracle;

    error NotOracle(address caller);

    /// @param oracle_ asked and trusted to deliver
    constructor(IDecisionOracle oracle_) {
        oracle = oracle_;
    }

    /// @inheritdoc IDecisionConsumer
    function onDecision(
        RequestId requestId,
        Status status,
        bytes32 outcome,
        bytes calldata answer,
        uint32 confidence
    ) external {
        require(msg.sender == address(oracle), NotOracle(msg.sender));
        _onDecision(requestId, status, outcome, answer, confidence);
    }

    /// @notice Asks; the fee leaves this contract's balance at the oracle.
    /// @dev Warning: guard whatever calls this, since every question spends `terms.fee`.
    /// @param terms see `Terms`
    /// @param question UTF-8
    /// @return requestId what `_onDecision` will be called with
    function _ask(Terms memory terms, bytes memory question) internal returns (RequestId requestId) {
        return oracle.request(RequestTermsLib.pack(terms), question);
    }

    /// @notice Takes refunds and unspent deposits out of this contract's balance at the oracle.
    /// @dev Warning: guard whatever calls this.
    /// @param amount in the smallest unit of the fee token
    /// @param to receives the tokens
    function _withdraw(uint256 amount, address to) internal {
        oracle.withdraw(amount, to);
    }

    /// @notice Acts on a decision; the parameters are those of `onDecision`.
    /// @dev Warning: must fit into `callbackGasLimit`. A hung request comes here, too.
    function _onDecision(
        RequestId requestId,
        Status status,
        bytes32 outcome,
        bytes calldata answer,
        uint32 confidence
    ) internal virtual;
}
