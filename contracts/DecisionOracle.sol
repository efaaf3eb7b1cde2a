// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {AccessManaged} from "@openzeppelin/contracts/access/manager/AccessManaged.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";

import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IDecisionOracle} from "./interfaces/IDecisionOracle.sol";
import {BlockHashLib} from "./libraries/BlockHashLib.sol";
import {CallbackLib} from "./libraries/CallbackLib.sol";
import {CertificateLib} from "./libraries/CertificateLib.sol";
import {DecisionHeadLib} from "./libraries/DecisionHeadLib.sol";
import {DecisionLib} from "./libraries/DecisionLib.sol";
import {HeaderLib} from "./libraries/HeaderLib.sol";
import {PayLib} from "./libraries/PayLib.sol";
import {RelayLib} from "./libraries/RelayLib.sol";
import {RequestLib} from "./libraries/RequestLib.sol";
import {RequestState, RequestStateLib} from "./libraries/RequestState.sol";
import {RequestTermsLib} from "./libraries/RequestTermsLib.sol";
import {SeatLib} from "./libraries/SeatLib.sol";
import {SelfCallLib} from "./libraries/SelfCallLib.sol";
import {TokenLib} from "./libraries/TokenLib.sol";
import {DRAW_BLOCKS, MAX_CALLS, MAX_QUESTION_BYTES, SEED_DELAY} from "./types/Limits.sol";
import {
    AgentId,
    Decision,
    DecisionHead,
    Message,
    Permit,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Seat,
    Status
} from "./types/Types.sol";

/// @title Requests, committees, decisions and pay
/// @dev No upgrade, and nothing to configure after deployment but one thing: the access manager says who may pause new
/// requests. What was asked goes on whatever anybody pauses. Reentrancy: every function writes its last state
/// before it calls a consumer or a token (deposits are credited after an exact comparison of balances, see
/// `TokenLib.pullExact`); the only write after a call is the pending flag of a callback that failed.
contract DecisionOracle is IDecisionOracle, AccessManaged, EIP712 {
    using CertificateLib for bytes;
    using DecisionHeadLib for DecisionHead;
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

    /// @dev Far fewer than 2^248 requests are made; the flag is beside the count so that asking reads one word.
    uint248 private _requestCount;
    bool private _requestsPaused;
    mapping(RequestId requestId => RequestState state) private _states;
    mapping(address account => uint256 balance) private _balances;

    /// @param authority access manager that says who may pause new requests
    /// @param registry_ draws committees; this contract needs its role for `applyReputationChanges`
    /// @param feeToken_ token of fees and pay
    /// @param supportedProtocols_ bit i set = protocol i can be asked for
    /// @param minFee_ smallest fee of a request, in the smallest unit of the fee token; 0 allows free requests
    constructor(
        address authority,
        IAgentRegistry registry_,
        IERC20 feeToken_,
        uint256 supportedProtocols_,
        uint96 minFee_
    ) AccessManaged(authority) EIP712("Conclave", "1") {
        registry = registry_;
        feeToken = feeToken_;
        supportedProtocols = supportedProtocols_;
        minFee = minFee_;
        uint256 epochBlocks = registry_.epochBlocks();
        _epochBlocks = epochBlocks;
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

        requestId = _nextRequestId();
        _debit(msg.sender, terms.fee());
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
    function draw(Request calldata request_, uint64 seedBlock, bytes calldata header) external {
        RequestId requestId = request_.id;
        RequestState state = _states[requestId];
        bytes32 requestHash = request_.hash();
        // slither-disable-next-line incorrect-equality: an enum, not an amount that could skip a value
        require(state.status() == Status.Requested, WrongStatus(requestId, state.status()));
        require(state.covers(RequestLib.requestedCommitment(requestHash, seedBlock)), WitnessMismatch(requestId));
        _requireBeforeDeadline(request_);
        require(block.number > seedBlock, SeedNotReady(requestId, seedBlock));

        bytes32 blockHash = _hashOfSeedBlock(seedBlock);
        if (blockHash == 0) {
            _reschedule(requestId, requestHash, state);
            return;
        }
        bytes32 prevRandao = _prevRandao(requestId, seedBlock, blockHash, header);
        uint32 attempt = state.attempt();
        bytes32 seed = keccak256(abi.encode(prevRandao, requestId, attempt));
        Seat[] memory committee = registry.draw(seed, request_.terms.committeeSize());
        _states[requestId] = RequestStateLib.make(
            Status.Drawn,
            attempt,
            RequestLib.drawnCommitment(requestHash, attempt, committee.hashMemory())
        );
        emit CommitteeDrawn(requestId, attempt, seed, committee);
    }

    /// @inheritdoc IDecisionOracle
    function commit(Request calldata request_, Decision calldata decision, bytes calldata certificate) external {
        RequestId requestId = request_.id;
        (bytes32 structHash, uint64 signers) = _requireCommittable(request_, decision, certificate);

        Relay relay = RelayLib.pack(signers, tx.gasprice, msg.sender);
        // The witness covers the attempt, so it is the one of the state.
        RequestState state = RequestStateLib.make(
            decision.head.status(),
            decision.head.attempt(),
            RequestLib.settledCommitment(structHash, relay)
        );
        _states[requestId] = state;
        decision.emitCommitted(requestId, relay);

        if (decision.hasReputationChanges()) {
            _applyReputationChanges(certificate, decision.merits[decision.head.seats():]);
        }
        if (request_.terms.callbackGasLimit() == 0) return;
        // While the consumer runs nothing is pending, so that it cannot be called back twice by reentrancy.
        if (!CallbackLib.tryCall(request_, decision)) {
            // What a failed call did, to this request's word too, was reverted with it.
            // slither-disable-next-line reentrancy-no-eth: the registry, called before, calls nobody back
            _states[requestId] = state.set(RequestStateLib.CALLBACK_PENDING);
            emit CallbackFailed(requestId);
        }
    }

    /// @inheritdoc IDecisionOracle
    function retryCallback(
        Request calldata request_,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) external {
        RequestId requestId = request_.id;
        RequestState state = _requireSettled(request_, committeeHash, decision, relay);
        require(state.has(RequestStateLib.CALLBACK_PENDING), CallbackNotPending(requestId));

        _states[requestId] = state.clear(RequestStateLib.CALLBACK_PENDING);
        emit CallbackSucceeded(requestId);
        require(CallbackLib.tryCall(request_, decision), CallbackStillFails(requestId));
    }

    /// @inheritdoc IDecisionOracle
    function creditPay(
        Request calldata request_,
        Seat[] calldata committee,
        Decision calldata decision,
        Relay relay
    ) external {
        RequestId requestId = request_.id;
        RequestState state = _requireSettled(request_, committee.hash(), decision, relay);
        require(!state.has(RequestStateLib.PAY_CREDITED), PayAlreadyCredited(requestId));

        _states[requestId] = state.set(RequestStateLib.PAY_CREDITED);
        (uint256[] memory amounts, uint256 rest) = PayLib.split(
            request_.terms.fee(),
            decision.head.status(),
            decision.merits[:committee.length]
        );
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
    function tryMulticall(bytes[] calldata calls) external {
        require(calls.length <= MAX_CALLS, TooManyCalls(calls.length, MAX_CALLS));
        for (uint256 i = 0; i < calls.length; ++i) {
            (bool success, bytes memory reason) = SelfCallLib.tryCall(calls[i]);
            if (!success) emit CallFailed(i, reason);
        }
    }

    /// @inheritdoc IDecisionOracle
    function pauseRequests() external restricted {
        require(!_requestsPaused, RequestsArePaused());
        _requestsPaused = true;
        emit RequestsPaused();
    }

    /// @inheritdoc IDecisionOracle
    function unpauseRequests() external restricted {
        require(_requestsPaused, RequestsAreNotPaused());
        _requestsPaused = false;
        emit RequestsUnpaused();
    }

    /// @inheritdoc IDecisionOracle
    function refund(Request calldata request_, bytes calldata witness) external {
        RequestId requestId = request_.id;
        RequestState state = _states[requestId];
        Status status = state.status();
        // slither-disable-next-line incorrect-equality: an enum, not an amount that could skip a value
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
        return _hashTypedDataV4(decision.structHash(request_.hash(), committeeHash, request_.terms.committeeSize()));
    }

    /// @inheritdoc IDecisionOracle
    function messageDigest(Message calldata message) external view returns (bytes32) {
        return _hashTypedDataV4(DecisionLib.messageStructHash(message));
    }

    /// @inheritdoc IDecisionOracle
    function requestCount() external view returns (uint256) {
        return _requestCount;
    }

    /// @inheritdoc IDecisionOracle
    function requestsPaused() external view returns (bool) {
        return _requestsPaused;
    }

    function _nextRequestId() private returns (RequestId) {
        require(!_requestsPaused, RequestsArePaused());
        unchecked {
            // See `_requestCount`.
            return RequestId.wrap(++_requestCount);
        }
    }

    function _deposit(address account, uint256 amount) private {
        feeToken.pullExact(amount);
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

    /// @dev At most one pair of bytes per seat, checked with the decision.
    function _applyReputationChanges(bytes calldata certificate, bytes calldata changes) private {
        uint256 count = changes.length / 2;
        AgentId[] memory agentIds = new AgentId[](count);
        int8[] memory steps = new int8[](count);
        for (uint256 i = 0; i < count; ++i) {
            agentIds[i] = certificate.agentIdAt(uint8(changes[2 * i]));
            // The byte is a two's complement number.
            steps[i] = int8(uint8(changes[2 * i + 1]));
        }
        registry.applyReputationChanges(agentIds, steps);
    }

    /// @return structHash of the decision
    /// @return signers bit i set = seat i signed
    function _requireCommittable(
        Request calldata request_,
        Decision calldata decision,
        bytes calldata certificate
    ) private view returns (bytes32 structHash, uint64 signers) {
        RequestId requestId = request_.id;
        RequestState state = _states[requestId];
        // slither-disable-next-line incorrect-equality: an enum, not an amount that could skip a value
        require(state.status() == Status.Drawn, WrongStatus(requestId, state.status()));
        bytes32 requestHash = request_.hash();
        bytes32 committeeHash = certificate.committeeHash();
        require(
            state.covers(RequestLib.drawnCommitment(requestHash, decision.head.attempt(), committeeHash)),
            WitnessMismatch(requestId)
        );
        _requireBeforeDeadline(request_);
        RequestTerms terms = request_.terms;
        uint256 size = terms.committeeSize();
        structHash = decision.structHash(requestHash, committeeHash, size);
        decision.validate(terms, size);
        bytes32 rebuilt;
        (signers, rebuilt) = certificate.verify(size, _hashTypedDataV4(structHash));
        require(rebuilt == committeeHash, WitnessMismatch(requestId));
    }

    function _requireSettled(
        Request calldata request_,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) private view returns (RequestState state) {
        RequestId requestId = request_.id;
        state = _states[requestId];
        Status status = state.status();
        // slither-disable-next-line incorrect-equality: an enum, not an amount that could skip a value
        require(status == Status.Decided || status == Status.Hung, WrongStatus(requestId, status));
        bytes32 structHash = decision.structHash(request_.hash(), committeeHash, request_.terms.committeeSize());
        require(state.covers(RequestLib.settledCommitment(structHash, relay)), WitnessMismatch(requestId));
    }

    function _prevRandao(
        RequestId requestId,
        uint64 seedBlock,
        bytes32 blockHash,
        bytes calldata header
    ) private pure returns (bytes32 prevRandao) {
        bytes32 headerHash = keccak256(header);
        require(headerHash == blockHash, HeaderMismatch(requestId, blockHash, headerHash));
        prevRandao = HeaderLib.prevRandao(header);
        require(prevRandao != 0, NoBeacon(requestId, seedBlock));
    }

    function _requireBeforeDeadline(Request calldata request_) private view {
        uint40 deadline = request_.terms.deadline();
        require(block.timestamp <= deadline, DeadlinePassed(request_.id, deadline));
    }

    /// @dev The registry that a seed was to be used with is the one of its epoch; in another one the seed is known beforehand.
    /// @return 0 if the seed has expired
    function _hashOfSeedBlock(uint64 seedBlock) private view returns (bytes32) {
        if (block.number / _epochBlocks != seedBlock / _epochBlocks) return 0;
        return BlockHashLib.hashOf(seedBlock);
    }

    /// @dev The first block, `SEED_DELAY` or more after this one, that has `SEED_DELAY` blocks of its epoch before it and
    /// `DRAW_BLOCKS` after it. Each epoch has one, being at least so long. Before: prevrandao of a block is fixed by the
    /// block before it, so whoever proposes the last blocks of an epoch would know the seed of an early block of the next
    /// one while changes of the registry still count for that draw. Now, as with asking, it has to propose all blocks from
    /// its change to the seed block, which are more than `SEED_DELAY`. After: nobody has to hurry to draw in the epoch.
    function _nextSeedBlock() private view returns (uint64) {
        unchecked {
            // Block numbers stay below 2^64, and the offset is below the epoch's length.
            uint256 seedBlock = block.number + SEED_DELAY;
            uint256 offset = seedBlock % _epochBlocks;
            if (offset < SEED_DELAY) seedBlock += SEED_DELAY - offset;
            else if (offset + DRAW_BLOCKS >= _epochBlocks) seedBlock += _epochBlocks - offset + SEED_DELAY;
            return uint64(seedBlock);
        }
    }
}
