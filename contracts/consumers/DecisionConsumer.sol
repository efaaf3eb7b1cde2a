// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionConsumer} from "../interfaces/IDecisionConsumer.sol";
import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {RequestTermsLib} from "../libraries/RequestTermsLib.sol";
import {Currency, RequestId, Status, Terms} from "../types/Types.sol";

/// @title Base of a contract that asks
/// @notice Derive from it, let a funded subscription's owner allow it with `oracle.setConsumer(subscriptionId, this, true)`, ask
/// with `_ask`, and act in `_onDecision`. What is not spent goes back to the subscription, or, where this contract paid at once
/// (subscription 0), to its credit, which leaves by `_withdrawCredit`.
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

    /// @notice Asks; the fee leaves the subscription.
    /// @dev Warning: guard whatever calls this, since every question spends `terms.fee`.
    /// @param subscriptionId that this contract is a consumer of
    /// @param terms see `Terms`; `oracle.quote` says what they cost
    /// @param question UTF-8
    /// @return requestId what `_onDecision` will be called with
    function _ask(
        uint48 subscriptionId,
        Terms memory terms,
        bytes memory question
    ) internal returns (RequestId requestId) {
        return oracle.request(subscriptionId, RequestTermsLib.pack(terms), question);
    }

    /// @notice Pays out what the oracle owes this contract: what was left of fees that it paid at once, and returned bonds.
    /// @dev Warning: guard whatever calls this.
    /// @param amount at most `oracle.creditOf(address(this), currency)`
    function _withdrawCredit(Currency currency, uint256 amount, address to) internal {
        oracle.withdraw(currency, amount, to);
    }

    /// @notice Acts on a decision; the parameters are those of `onDecision`.
    /// @dev Warning: must fit into `callbackGasLimit`. A hung request comes here, too; a decision only once
    /// it is final.
    function _onDecision(
        RequestId requestId,
        Status status,
        bytes32 outcome,
        bytes calldata answer,
        uint32 confidence
    ) internal virtual;
}
