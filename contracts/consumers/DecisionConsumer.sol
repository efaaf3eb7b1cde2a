// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {IDecisionConsumer} from "../interfaces/IDecisionConsumer.sol";
import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {RequestTermsLib} from "../libraries/RequestTermsLib.sol";
import {Currency, Request, RequestId, Round, Status, Terms} from "../types/Types.sol";

/// @title Base contract of consumers
/// @notice Derive from it. Let the owner of a funded subscription allow the contract with
/// `oracle.setConsumer(subscriptionId, this, tokens, coins)`. Ask with `_ask`, act in `_onDecision`, and end what waits in
/// `_onNoDecision`. The unspent part of a fee goes back to the subscription. If the contract paid directly (subscription
/// 0), that part becomes its credit, which `_withdrawCredit` pays out.
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
        if (status == Status.Decided) _onDecision(requestId, outcome, answer, confidence);
        else _onNoDecision(requestId, status);
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

    /// @notice Takes back a request of this contract, with its whole fee, while nobody can know its committee. The oracle
    /// does not call back.
    /// @dev Warning: guard every function that calls this one. A contract that lets others ask must not let them cancel: who
    /// asks many questions at once, knows their seed early and cancels picks the committees that it likes (SE23). The
    /// parameters are those of the `Requested` event.
    function _cancel(Request calldata request, Round round, uint64 seedBlock) internal {
        oracle.cancel(request, round, seedBlock);
    }

    /// @notice Acts on a final decision that is an answer; the parameters are those of `onDecision`.
    /// @dev Warning: it must fit into `callbackGasLimit`.
    function _onDecision(
        RequestId requestId,
        bytes32 outcome,
        bytes calldata answer,
        uint32 confidence
    ) internal virtual;

    /// @notice Acts on the end of a request without an answer.
    /// @dev Warning: it must fit into `callbackGasLimit`, too.
    /// @param status `Hung`, `Unanswerable`, `TooEarly`, or `Refunded`: then the fee has come back, and a callback that fails is not repeated
    function _onNoDecision(RequestId requestId, Status status) internal virtual;
}
