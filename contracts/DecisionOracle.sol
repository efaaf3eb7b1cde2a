// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";

import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IDecisionConsumer} from "./interfaces/IDecisionConsumer.sol";
import {IDecisionOracle} from "./interfaces/IDecisionOracle.sol";
import {CallbackLib} from "./libraries/CallbackLib.sol";
import {CertificateLib} from "./libraries/CertificateLib.sol";
import {DecisionLib} from "./libraries/DecisionLib.sol";
import {PayLib} from "./libraries/PayLib.sol";
import {RequestLib} from "./libraries/RequestLib.sol";
import {RequestState, RequestStateLib} from "./libraries/RequestState.sol";
import {RequestTermsLib} from "./libraries/RequestTermsLib.sol";
import {SeatLib} from "./libraries/SeatLib.sol";
import {TokenLib} from "./libraries/TokenLib.sol";
import {DRAW_BLOCKS, MAX_QUESTION_BYTES, SEED_DELAY} from "./types/Limits.sol";
import {Certificate, Decision, Permit, Request, RequestId, RequestTerms, Seat, Status} from "./types/Types.sol";

/// @title Requests, committees, decisions and pay
/// @dev No owner, no upgrade, nothing to configure after deployment. Reentrancy: every function writes its last state
/// before it calls a consumer or a token (deposits are credited after an exact comparison of balances, see
/// `TokenLib.pullExact`); the only write after a call is the pending flag of a callback that failed.
contract DecisionOracle is IDecisionOracle, EIP712 {
    using CertificateLib for Certificate;
    using DecisionLib for Decision;
    using RequestLib for Request;
    using RequestTermsLib for RequestTerms;
    using SafeERC20 for IERC20;
    using SeatLib for Seat;
    using SeatLib for Seat[];
    using TokenLib for IERC20;

    /// @inheritdoc IDecisionOracle
    IAgentRegistry public immutable registry;
    /// @inheritdoc IDecisionOracle
    IERC20 public immutable feeToken;
    /// @inheritdoc IDecisionOracle
    uint256 public immutable supportedProtocols;
    /// @inheritdoc IDecisionOracle
    uint96 public immutable minFee;
    /// @dev The registry's.
    uint256 private immutable _epochBlocks;
    /// @dev Last block of an epoch, counted from 0, whose hash may seed a draw: enough blocks of the epoch remain.
    uint256 private immutable _lastSeedOffset;

    /// @inheritdoc IDecisionOracle
    uint256 public requestCount;
    mapping(RequestId requestId => RequestState state) private _states;
    mapping(address account => uint256 balance) private _balances;

    /// @param registry_ draws committees; this contract needs its role for `applyReputationChanges`
    /// @param feeToken_ token of fees and pay
    /// @param supportedProtocols_ bit i set = protocol i can be asked for
    /// @param minFee_ smallest fee of a request, in the smallest unit of the fee token; 0 allows free requests
    constructor(
        IAgentRegistry registry_,
        IERC20 feeToken_,
        uint256 supportedProtocols_,
        uint96 minFee_
    ) EIP712("Conclave", "1") {
        registry = registry_;
        feeToken = feeToken_;
        supportedProtocols = supportedProtocols_;
        minFee = minFee_;
        uint256 epochBlocks = registry_.epochBlocks();
        _epochBlocks = epochBlocks;
        // At least 1, since an epoch has at least 4 blocks.
        _lastSeedOffset = epochBlocks - 1 - (epochBlocks / 2 < DRAW_BLOCKS ? epochBlocks / 2 : DRAW_BLOCKS);
        emit OracleDeployed(registry_, feeToken_, supportedProtocols_, minFee_, epochBlocks);
    }

    /// @inheritdoc IDecisionOracle
    function deposit(address account, uint256 amount) external {
        _deposit(account, amount);
    }

    /// @inheritdoc IDecisionOracle
    function depositWithPermit(address account, Permit calldata permit) external {
        feeToken.tryPermit(msg.sender, permit);
        _deposit(account, permit.value);
    }

    /// @inheritdoc IDecisionOracle
    function withdraw(uint256 amount, address to) external {
        _debit(msg.sender, amount);
        emit Withdrawn(msg.sender, to, amount);
        feeToken.safeTransfer(to, amount);
    }

    /// @inheritdoc IDecisionOracle
    function request(RequestTerms terms, bytes calldata question) external returns (RequestId requestId) {
        require(question.length != 0, QuestionIsEmpty());
        require(question.length <= MAX_QUESTION_BYTES, QuestionTooLong(question.length, MAX_QUESTION_BYTES));
        terms.validate(supportedProtocols, minFee);

        _debit(msg.sender, terms.fee());
        unchecked {
            // 2^256 requests do not happen.
            requestId = RequestId.wrap(++requestCount);
        }
        uint64 seedBlock = _nextSeedBlock();
        bytes32 requestHash = RequestLib.hash(requestId, msg.sender, terms, keccak256(question));
        _states[requestId] = RequestStateLib.make(
            Status.Requested,
            0,
            RequestLib.requestedCommitment(requestHash, seedBlock)
        );
        emit Requested(requestId, msg.sender, terms, seedBlock, question);
    }

    /// @inheritdoc IDecisionOracle
    function draw(Request calldata request_, uint64 seedBlock) external {
        RequestId requestId = request_.id;
        RequestState state = _states[requestId];
        bytes32 requestHash = request_.hash();
        require(state.status() == Status.Requested, WrongStatus(requestId, state.status()));
        require(state.covers(RequestLib.requestedCommitment(requestHash, seedBlock)), WitnessMismatch(requestId));
        _requireBeforeDeadline(request_);
        require(block.number > seedBlock, SeedNotReady(requestId, seedBlock));

        bytes32 blockHash = blockhash(seedBlock);
        // The registry that the seed was to be used with is the one of its epoch; in another one it is known beforehand.
        if (blockHash == 0 || block.number / _epochBlocks != seedBlock / _epochBlocks) {
            _reschedule(requestId, requestHash, state);
            return;
        }
        uint32 attempt = state.attempt();
        bytes32 seed = keccak256(abi.encode(blockHash, requestId, attempt));
        Seat[] memory committee = registry.draw(seed, request_.terms.committeeSize());
        _states[requestId] = RequestStateLib.make(
            Status.Drawn,
            attempt,
            RequestLib.drawnCommitment(requestHash, attempt, committee.hashMemory())
        );
        emit CommitteeDrawn(requestId, attempt, seed, committee);
    }

    /// @inheritdoc IDecisionOracle
    function commit(
        Request calldata request_,
        Seat[] calldata committee,
        Decision calldata decision,
        Certificate calldata certificate
    ) external {
        bytes32 structHash = _requireCommittable(request_, committee, decision);
        certificate.verify(committee, _hashTypedDataV4(structHash));

        RequestId requestId = request_.id;
        // The witness covers the attempt, so it is the one of the state, which fits a byte.
        RequestState state = RequestStateLib.make(decision.status, decision.attempt, structHash);
        _states[requestId] = state;
        _emitCommitted(requestId, decision, certificate.signers);

        if (decision.reputationChanges.length != 0) {
            registry.applyReputationChanges(committee, decision.reputationChanges);
        }
        if (request_.terms.callbackGasLimit() == 0) return;
        // While the consumer runs nothing is pending, so that it cannot be called back twice by reentrancy.
        if (_callBack(request_, decision)) {
            emit CallbackSucceeded(requestId);
        } else {
            // What a failed call did, to this request's word too, was reverted with it.
            _states[requestId] = state.set(RequestStateLib.CALLBACK_PENDING);
            emit CallbackFailed(requestId);
        }
    }

    /// @inheritdoc IDecisionOracle
    function retryCallback(Request calldata request_, Seat[] calldata committee, Decision calldata decision) external {
        RequestId requestId = request_.id;
        RequestState state = _requireSettled(request_, committee, decision);
        require(state.has(RequestStateLib.CALLBACK_PENDING), CallbackNotPending(requestId));

        _states[requestId] = state.clear(RequestStateLib.CALLBACK_PENDING);
        emit CallbackSucceeded(requestId);
        require(_callBack(request_, decision), CallbackStillFails(requestId));
    }

    /// @inheritdoc IDecisionOracle
    function creditPay(Request calldata request_, Seat[] calldata committee, Decision calldata decision) external {
        RequestId requestId = request_.id;
        RequestState state = _requireSettled(request_, committee, decision);
        require(!state.has(RequestStateLib.PAY_CREDITED), PayAlreadyCredited(requestId));

        _states[requestId] = state.set(RequestStateLib.PAY_CREDITED);
        (uint256[] memory amounts, uint256 rest) = PayLib.split(request_.terms.fee(), decision.status, decision.shares);
        // At most 64 seats.
        for (uint256 seat = 0; seat < amounts.length; ++seat) {
            uint256 amount = amounts[seat];
            if (amount == 0) continue;
            address operator = registry.operatorOf(committee[seat].agentId());
            _balances[operator] += amount;
            emit PayCredited(requestId, operator, seat, amount);
        }
        _refund(requestId, request_.consumer, rest);
    }

    /// @inheritdoc IDecisionOracle
    function refund(Request calldata request_, bytes calldata witness) external {
        RequestId requestId = request_.id;
        RequestState state = _states[requestId];
        Status status = state.status();
        require(status == Status.Requested || status == Status.Drawn, WrongStatus(requestId, status));
        require(state.covers(RequestLib.commitment(request_.hash(), witness)), WitnessMismatch(requestId));
        uint40 deadline = request_.terms.deadline();
        require(block.timestamp > deadline, DeadlineNotPassed(requestId, deadline));

        _states[requestId] = RequestStateLib.make(Status.Refunded, state.attempt(), 0).set(
            RequestStateLib.PAY_CREDITED
        );
        _refund(requestId, request_.consumer, request_.terms.fee());
        emit RequestRefunded(requestId);
    }

    /// @inheritdoc IDecisionOracle
    function balanceOf(address account) external view returns (uint256) {
        return _balances[account];
    }

    /// @inheritdoc IDecisionOracle
    function statusOf(
        RequestId requestId
    ) external view returns (Status status, uint32 attempt, bool callbackPending, bool payCredited) {
        RequestState state = _states[requestId];
        return (
            state.status(),
            state.attempt(),
            state.has(RequestStateLib.CALLBACK_PENDING),
            state.has(RequestStateLib.PAY_CREDITED)
        );
    }

    /// @inheritdoc IDecisionOracle
    function decisionDigest(
        Request calldata request_,
        bytes32 committeeHash,
        Decision calldata decision
    ) external view returns (bytes32) {
        return _hashTypedDataV4(decision.structHash(request_.hash(), committeeHash));
    }

    /// @inheritdoc IDecisionOracle
    function messageDigest(
        RequestId requestId,
        uint32 attempt,
        uint32 protocol,
        uint32 phase,
        uint32 round,
        uint32 seat,
        bytes32 payloadDigest
    ) external view returns (bytes32) {
        return
            _hashTypedDataV4(
                DecisionLib.messageStructHash(requestId, attempt, protocol, phase, round, seat, payloadDigest)
            );
    }

    function _deposit(address account, uint256 amount) private {
        feeToken.pullExact(msg.sender, amount);
        _balances[account] += amount;
        emit Deposited(account, msg.sender, amount);
    }

    function _debit(address account, uint256 amount) private {
        uint256 balance = _balances[account];
        require(balance >= amount, InsufficientBalance(account, balance, amount));
        unchecked {
            // Checked in the line before.
            _balances[account] = balance - amount;
        }
    }

    function _refund(RequestId requestId, address consumer, uint256 amount) private {
        if (amount != 0) _balances[consumer] += amount;
        emit FeeRefunded(requestId, consumer, amount);
    }

    function _reschedule(RequestId requestId, bytes32 requestHash, RequestState state) private {
        uint64 seedBlock = _nextSeedBlock();
        _states[requestId] = RequestStateLib.make(
            Status.Requested,
            state.attempt(),
            RequestLib.requestedCommitment(requestHash, seedBlock)
        );
        emit SeedRescheduled(requestId, seedBlock);
    }

    function _callBack(Request calldata request_, Decision calldata decision) private returns (bool) {
        return
            CallbackLib.tryCall(
                request_.consumer,
                request_.terms.callbackGasLimit(),
                abi.encodeCall(
                    IDecisionConsumer.onDecision,
                    (request_.id, decision.status, decision.outcome, decision.answer, decision.confidence)
                )
            );
    }

    function _emitCommitted(RequestId requestId, Decision calldata decision, uint256 signers) private {
        emit DecisionCommitted(
            requestId,
            decision.attempt,
            decision.round,
            decision.status,
            decision.outcome,
            decision.answer,
            decision.confidence,
            decision.transcript,
            decision.reputationChanges,
            decision.shares,
            signers,
            msg.sender
        );
    }

    function _requireCommittable(
        Request calldata request_,
        Seat[] calldata committee,
        Decision calldata decision
    ) private view returns (bytes32 structHash) {
        RequestId requestId = request_.id;
        RequestState state = _states[requestId];
        require(state.status() == Status.Drawn, WrongStatus(requestId, state.status()));
        bytes32 requestHash = request_.hash();
        bytes32 committeeHash = committee.hash();
        require(
            state.covers(RequestLib.drawnCommitment(requestHash, decision.attempt, committeeHash)),
            WitnessMismatch(requestId)
        );
        _requireBeforeDeadline(request_);
        decision.validate(request_.terms, committee.length);
        return decision.structHash(requestHash, committeeHash);
    }

    function _requireSettled(
        Request calldata request_,
        Seat[] calldata committee,
        Decision calldata decision
    ) private view returns (RequestState state) {
        RequestId requestId = request_.id;
        state = _states[requestId];
        Status status = state.status();
        require(status == Status.Decided || status == Status.Hung, WrongStatus(requestId, status));
        require(state.covers(decision.structHash(request_.hash(), committee.hash())), WitnessMismatch(requestId));
    }

    function _requireBeforeDeadline(Request calldata request_) private view {
        uint40 deadline = request_.terms.deadline();
        require(block.timestamp <= deadline, DeadlinePassed(request_.id, deadline));
    }

    /// @dev Too late in an epoch, the first block of the next one, so that nobody has to hurry to draw in the seed's epoch.
    function _nextSeedBlock() private view returns (uint64) {
        unchecked {
            // Block numbers stay below 2^64, and the offset is below the epoch's length.
            uint256 seedBlock = block.number + SEED_DELAY;
            uint256 offset = seedBlock % _epochBlocks;
            return uint64(offset > _lastSeedOffset ? seedBlock + _epochBlocks - offset : seedBlock);
        }
    }
}
