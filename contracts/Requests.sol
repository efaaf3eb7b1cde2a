// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IDecisionOracle} from "./interfaces/IDecisionOracle.sol";
import {CertificateLib} from "./libraries/CertificateLib.sol";
import {DecisionHeadLib} from "./libraries/DecisionHeadLib.sol";
import {DecisionLib} from "./libraries/DecisionLib.sol";
import {DomainLib} from "./libraries/DomainLib.sol";
import {RequestLib} from "./libraries/RequestLib.sol";
import {RequestState, RequestStateLib} from "./libraries/RequestState.sol";
import {RequestTermsLib} from "./libraries/RequestTermsLib.sol";
import {RoundLib} from "./libraries/RoundLib.sol";
import {SeatLib} from "./libraries/SeatLib.sol";
import {SeedLib} from "./libraries/SeedLib.sol";
import {Decision, DecisionHead, Relay, Request, RequestId, RequestTerms, Round, Seat, Status} from "./types/Types.sol";

/// @title The stored word of each request, and the checks of the witnesses that change it
/// @dev The functions here write nothing.
abstract contract Requests is IDecisionOracle {
    using CertificateLib for bytes;
    using DecisionHeadLib for DecisionHead;
    using DecisionLib for Decision;
    using RequestLib for Request;
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;
    using SeatLib for Seat[];

    /// @inheritdoc IDecisionOracle
    IAgentRegistry public immutable registry;
    /// @dev Length of an epoch, which the registry sets.
    uint256 internal immutable _epochBlocks;

    mapping(RequestId requestId => RequestState state) internal _states;

    constructor(IAgentRegistry registry_) {
        registry = registry_;
        _epochBlocks = registry_.epochBlocks();
    }

    /// @inheritdoc IDecisionOracle
    function statusOf(
        RequestId requestId
    ) external view returns (Status status, uint32 attempt, bool provisional, bool callbackPending, bool settled) {
        RequestState state = _states[requestId];
        return (
            state.status(),
            state.attempt(),
            state.has(RequestStateLib.PROVISIONAL),
            state.has(RequestStateLib.CALLBACK_PENDING),
            state.has(RequestStateLib.SETTLED)
        );
    }

    /// @inheritdoc IDecisionOracle
    function stateOf(RequestId requestId) external view returns (RequestState) {
        return _states[requestId];
    }

    /// @dev Reverts unless more than two thirds of the committee signed this decision of this attempt, and may make it.
    /// @return structHash the EIP-712 struct hash of the decision
    /// @return signers bit i set = seat i signed
    function _requireCertified(
        Request calldata request_,
        uint32 attempt,
        Seat[] memory committee,
        bytes calldata certificate,
        Decision calldata decision
    ) internal view returns (bytes32 structHash, uint64 signers) {
        uint32 claimed = decision.head.attempt();
        // slither-disable-next-line incorrect-equality: the number of an attempt, not an amount
        require(claimed == attempt, InvalidDecision("attempt", claimed));
        structHash = decision.structHash(request_.hash(), committee.hashMemory(), committee.length);
        decision.validate(request_.terms, committee.length);
        signers = certificate.verify(committee, DomainLib.digest(address(this), structHash));
    }

    /// @dev Reverts unless this is the decision of the state, provisional or final.
    function _requireDecided(
        Request calldata request_,
        Round round,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) internal view returns (RequestState state, bytes32 structHash) {
        RequestId requestId = request_.id;
        state = _states[requestId];
        _requireStatusDecided(requestId, state);
        structHash = decision.structHash(request_.hash(), committeeHash, decision.head.seats());
        RequestLib.requireMatch(requestId, state.covers(RequestLib.settledCommitment(structHash, relay, round)));
    }

    function _requireProvisional(
        Request calldata request_,
        Round round,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) internal view returns (RequestState state, bytes32 structHash) {
        (state, structHash) = _requireDecided(request_, round, committeeHash, decision, relay);
        require(state.has(RequestStateLib.PROVISIONAL), DecisionIsFinal(request_.id));
    }

    function _requireStatusDecided(RequestId requestId, RequestState state) internal pure {
        Status status = state.status();
        require(status > Status.Requested && status < Status.Refunded, WrongStatus(requestId, status));
    }

    /// @dev Reverts unless the request waits for a committee in this round with this seed block.
    function _requireRunning(
        Request calldata request_,
        Round round,
        uint64 seedBlock
    ) internal view returns (RequestState state) {
        state = _states[request_.id];
        request_.requireRunning(state, round, seedBlock);
    }

    /// @dev Reverts unless nobody can answer the running attempt any more.
    function _requireUnanswered(
        Request calldata request_,
        Round round,
        uint64 seedBlock
    ) internal view returns (RequestState state) {
        state = _requireRunning(request_, round, seedBlock);
        if (!SeedLib.isExpired(seedBlock, _epochBlocks)) _requireAfter(request_.id, round);
    }

    /// @dev Reverts unless nobody can answer the running attempt any more and no retries are left.
    function _requireGivenUp(
        Request calldata request_,
        Round round,
        uint64 seedBlock
    ) internal view returns (RequestState state) {
        state = _requireUnanswered(request_, round, seedBlock);
        require(!round.hasRetry(request_.terms.retries(), state.attempt()), RetriesLeft(request_.id));
    }

    function _requireBefore(RequestId requestId, Round round) internal view {
        uint40 deadline = round.deadline();
        require(block.timestamp <= deadline, DeadlinePassed(requestId, deadline));
    }

    function _requireAfter(RequestId requestId, Round round) internal view {
        uint40 deadline = round.deadline();
        require(block.timestamp > deadline, DeadlineNotPassed(requestId, deadline));
    }
}
