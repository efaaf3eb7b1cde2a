// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionConsumer} from "../interfaces/IDecisionConsumer.sol";
import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {RequestTermsLib} from "../libraries/RequestTermsLib.sol";
import {Currency, RequestId, Status, Terms} from "../types/Types.sol";

/// @title Base contract of consumers
/// @notice Derive from it. Let the owner of a funded subscription allow the contract with
/// `oracle.setConsumer(subscriptionId, this, tokens, coins)`. Ask with `_ask`, and act in `_onDecision`. The unspent part of a
/// fee goes back to the subscription. If the contract paid directly (subscription 0), that part becomes its credit,
/// which `_withdrawCredit` pays out.
abstract contract DecisionConsumer is IDecisionConsumer {
    /// @notice The only contract that may deliver decisions.
    IDecisionOracle public immutable oracle;

    error NotOracle(address caller);

    /// @param oracle_ the oracle that this contract asks and trusts to deliver
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

    /// @notice Asks a question. The subscription pays the fee.
    /// @dev Warning: guard every function that calls this one, since every question spends `terms.fee`.
    /// @param subscriptionId a subscription that has this contract as a consumer
    /// @param terms see `Terms`; `oracle.quote` returns the smallest fee
    /// @param question UTF-8
    /// @return requestId the id with which `_onDecision` will be called
    function _ask(
        uint48 subscriptionId,
        Terms memory terms,
        bytes memory question
    ) internal returns (RequestId requestId) {
        return oracle.request(subscriptionId, RequestTermsLib.pack(terms), question);
    }

    /// @notice Pays out the credit that the oracle holds for this contract: the unspent parts of fees that it paid
    /// directly, and returned bonds.
    /// @dev Warning: guard every function that calls this one.
    /// @param amount at most `oracle.creditOf(address(this), currency)`
    function _withdrawCredit(Currency currency, uint256 amount, address to) internal {
        oracle.withdraw(currency, amount, to);
    }

    /// @notice Acts on a decision; the parameters are those of `onDecision`.
    /// @dev Warning: it must fit into `callbackGasLimit`. The oracle also delivers a hung request. It delivers a
    /// decision only once it is final.
    function _onDecision(
        RequestId requestId,
        Status status,
        bytes32 outcome,
        bytes calldata answer,
        uint32 confidence
    ) internal virtual;
}
