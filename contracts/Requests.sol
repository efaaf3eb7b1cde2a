// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";

import {IDecisionOracle} from "./interfaces/IDecisionOracle.sol";
import {CertificateLib} from "./libraries/CertificateLib.sol";
import {DecisionHeadLib} from "./libraries/DecisionHeadLib.sol";
import {DecisionLib} from "./libraries/DecisionLib.sol";
import {RequestLib} from "./libraries/RequestLib.sol";
import {RequestState, RequestStateLib} from "./libraries/RequestState.sol";
import {RequestTermsLib} from "./libraries/RequestTermsLib.sol";
import {RoundLib} from "./libraries/RoundLib.sol";
import {
    Decision,
    DecisionHead,
    Message,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Status
} from "./types/Types.sol";

/// @title The stored word of each request, and the checks of the witnesses that change it
/// @dev The functions here write nothing.
abstract contract Requests is IDecisionOracle, EIP712 {
    using CertificateLib for bytes;
    using DecisionHeadLib for DecisionHead;
    using DecisionLib for Decision;
    using RequestLib for Request;
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;

    mapping(RequestId requestId => RequestState state) internal _states;

    constructor() EIP712("Conclave", "1") {}

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
    function decisionDigest(
        Request calldata request_,
        bytes32 committeeHash,
        Decision calldata decision
    ) external view returns (bytes32) {
        return _hashTypedDataV4(decision.structHash(request_.hash(), committeeHash, decision.head.seats()));
    }

    /// @inheritdoc IDecisionOracle
    function messageDigest(Message calldata message) external view returns (bytes32) {
        return _hashTypedDataV4(DecisionLib.messageStructHash(message));
    }

    /// @return structHash the EIP-712 struct hash of the decision
    /// @return signers bit i set = seat i signed
    function _requireCommittable(
        Request calldata request_,
        Round round,
        bytes calldata certificate,
        Decision calldata decision
    ) internal view returns (bytes32 structHash, uint64 signers) {
        RequestId requestId = request_.id;
        RequestState state = _states[requestId];
        _requireStatus(requestId, state, Status.Drawn);
        bytes32 requestHash = request_.hash();
        bytes32 committeeHash = certificate.committeeHash();
        require(
            state.covers(RequestLib.drawnCommitment(requestHash, round, decision.head.attempt(), committeeHash)),
            WitnessMismatch(requestId)
        );
        _requireBefore(requestId, round);
        RequestTerms terms = request_.terms;
        uint256 size = RoundLib.sizeAfter(terms.committeeSize(), round.appeals());
        structHash = decision.structHash(requestHash, committeeHash, size);
        decision.validate(terms, size);
        bytes32 rebuilt;
        (signers, rebuilt) = certificate.verify(size, _hashTypedDataV4(structHash));
        require(rebuilt == committeeHash, WitnessMismatch(requestId));
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
        require(state.covers(RequestLib.settledCommitment(structHash, relay, round)), WitnessMismatch(requestId));
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

    function _requireStatus(RequestId requestId, RequestState state, Status expected) internal pure {
        Status status = state.status();
        // slither-disable-next-line incorrect-equality: an enum, not an amount that could skip a value
        require(status == expected, WrongStatus(requestId, status));
    }

    function _requireStatusDecided(RequestId requestId, RequestState state) internal pure {
        Status status = state.status();
        // slither-disable-next-line incorrect-equality: an enum, not an amount that could skip a value
        require(status == Status.Decided || status == Status.Hung, WrongStatus(requestId, status));
    }

    /// @dev Reverts unless the running committee, drawn or not, is past its deadline.
    function _requireUnanswered(
        Request calldata request_,
        Round round,
        bytes calldata witness
    ) internal view returns (RequestState state) {
        RequestId requestId = request_.id;
        state = _states[requestId];
        Status status = state.status();
        // slither-disable-next-line incorrect-equality: an enum, not an amount that could skip a value
        require(status == Status.Requested || status == Status.Drawn, WrongStatus(requestId, status));
        require(state.covers(RequestLib.commitment(request_.hash(), round, witness)), WitnessMismatch(requestId));
        _requireAfter(requestId, round);
    }

    /// @dev Reverts unless the running committee is past its deadline and no retries are left.
    function _requireGivenUp(
        Request calldata request_,
        Round round,
        bytes calldata witness
    ) internal view returns (RequestState state) {
        state = _requireUnanswered(request_, round, witness);
        require(!round.hasRetry(request_.terms, state.attempt()), RetriesLeft(request_.id));
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
