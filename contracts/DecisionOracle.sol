// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {AccessManaged} from "@openzeppelin/contracts/access/manager/AccessManaged.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {Accounts} from "./Accounts.sol";
import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IDecisionOracle} from "./interfaces/IDecisionOracle.sol";
import {ISettlement} from "./interfaces/ISettlement.sol";
import {CallbackLib} from "./libraries/CallbackLib.sol";
import {CalldataLib} from "./libraries/CalldataLib.sol";
import {CertificateLib} from "./libraries/CertificateLib.sol";
import {DecisionHeadLib} from "./libraries/DecisionHeadLib.sol";
import {DecisionLib} from "./libraries/DecisionLib.sol";
import {HistoryLib} from "./libraries/HistoryLib.sol";
import {PricesLib} from "./libraries/PricesLib.sol";
import {RelayLib} from "./libraries/RelayLib.sol";
import {RequestIdLib} from "./libraries/RequestIdLib.sol";
import {RequestLib} from "./libraries/RequestLib.sol";
import {RequestState, RequestStateLib} from "./libraries/RequestState.sol";
import {RequestTermsLib} from "./libraries/RequestTermsLib.sol";
import {RoundLib} from "./libraries/RoundLib.sol";
import {SeatLib} from "./libraries/SeatLib.sol";
import {SeedLib} from "./libraries/SeedLib.sol";
import {SelfCallLib} from "./libraries/SelfCallLib.sol";
import {Requests} from "./Requests.sol";
import {Settlement} from "./Settlement.sol";
import {MAX_CALLS, MAX_QUESTION_BYTES, MIN_PREVRANDAO} from "./types/Limits.sol";
import {
    Currency,
    DecidedRound,
    Decision,
    DecisionHead,
    PastRound,
    Payout,
    Prices,
    PriceTerms,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Seat,
    Status
} from "./types/Types.sol";

/// @title Requests, committees, decisions, appeals and pay
/// @dev The contract cannot be upgraded. Governance sets the prices of later requests and may pause new ones
/// (`Accounts`); earlier requests go on unchanged. Reentrancy: every function writes its last state before it calls a
/// consumer or sends money, and takes money in before it writes anything. The only write after a call is the pending
/// flag of a callback that failed.
contract DecisionOracle is Accounts, Requests {
    using CalldataLib for bytes;
    using CertificateLib for bytes;
    using DecisionHeadLib for DecisionHead;
    using DecisionLib for Decision;
    using PricesLib for Prices;
    using RequestIdLib for RequestId;
    using RequestLib for Request;
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;
    using SeatLib for Seat;
    using SeatLib for Seat[];

    /// @dev What leads to the next round.
    /// @param appeals number of appeals so far, with this one
    /// @param appellant the account that appealed; 0 for a retry, which has no bond
    struct RoundStep {
        uint256 link;
        uint256 appeals;
        address appellant;
        uint256 bond;
    }

    /// @inheritdoc IDecisionOracle
    IAgentRegistry public immutable registry;
    /// @inheritdoc IDecisionOracle
    ISettlement public immutable settlement;
    /// @inheritdoc IDecisionOracle
    uint256 public immutable supportedProtocols;
    /// @dev Length of an epoch, which the registry sets.
    uint256 private immutable _epochBlocks;

    /// @param authority access manager that says who may set prices and pause new requests
    /// @param registry_ registry that draws committees and is bound to this contract as its oracle
    /// @param feeToken_ token of fees and pay in `Currency.Token`
    /// @param supportedProtocols_ bit i set = a request may ask for protocol i
    /// @param token first prices in the token
    /// @param native first prices in the chain's coin
    constructor(
        address authority,
        IAgentRegistry registry_,
        IERC20 feeToken_,
        uint256 supportedProtocols_,
        PriceTerms memory token,
        PriceTerms memory native
    ) AccessManaged(authority) Accounts(feeToken_, registry_.treasury(), token, native) {
        require(block.prevrandao >= MIN_PREVRANDAO, ChainHasNoBeacon(block.prevrandao));
        address oracle = registry_.oracle();
        require(oracle == address(this), NotBound(oracle));
        registry = registry_;
        settlement = new Settlement();
        supportedProtocols = supportedProtocols_;
        uint256 epochBlocks = registry_.epochBlocks();
        _epochBlocks = epochBlocks;
        emit OracleDeployed(registry_, settlement, supportedProtocols_, epochBlocks);
    }

    /// @inheritdoc IDecisionOracle
    function request(
        uint48 subscriptionId,
        RequestTerms terms,
        bytes calldata question
    ) external payable returns (RequestId requestId) {
        require(question.length != 0, QuestionIsEmpty());
        require(question.length <= MAX_QUESTION_BYTES, QuestionTooLong(question.length, MAX_QUESTION_BYTES));
        terms.validate(supportedProtocols);

        (uint16 priceVersion, uint48 count) = _escrow(subscriptionId, terms);
        requestId = RequestIdLib.pack(priceVersion, subscriptionId, count);
        uint64 seedBlock = SeedLib.next(_epochBlocks);
        Round round = RoundLib.pack(0, 0, block.timestamp + terms.duration());
        bytes32 requestHash = RequestLib.hash(requestId, msg.sender, terms, question.hash());
        _states[requestId] = RequestStateLib.make(
            Status.Requested,
            0,
            RequestLib.requestedCommitment(requestHash, round, seedBlock)
        );
        emit Requested(requestId, msg.sender, terms, round, seedBlock, question);
    }

    /// @inheritdoc IDecisionOracle
    function draw(
        Request calldata request_,
        Round round,
        uint64 seedBlock,
        bytes calldata header,
        PastRound[] calldata past
    ) external {
        RequestId requestId = request_.id;
        RequestState state = _states[requestId];
        _requireStatus(requestId, state, Status.Requested);
        bytes32 requestHash = request_.hash();
        require(
            state.covers(RequestLib.requestedCommitment(requestHash, round, seedBlock)),
            WitnessMismatch(requestId)
        );
        _requireBefore(requestId, round);
        require(block.number > seedBlock, SeedNotReady(requestId, seedBlock));

        bytes32 blockHash = SeedLib.hashOf(seedBlock, _epochBlocks);
        if (blockHash == 0) {
            _reschedule(requestId, requestHash, round, state);
            return;
        }
        _drawFrom(request_, round, state.attempt(), SeedLib.prevRandao(requestId, seedBlock, blockHash, header), past);
    }

    /// @inheritdoc IDecisionOracle
    function commit(
        Request calldata request_,
        Round round,
        bytes calldata certificate,
        Decision calldata decision
    ) external {
        RequestId requestId = request_.id;
        (bytes32 structHash, uint64 signers) = _requireCommittable(request_, round, certificate, decision);
        Relay relay = RelayLib.pack(signers, RelayLib.paidGasPrice(), msg.sender);
        decision.emitCommitted(requestId, relay);
        bool isFinal = _advance(request_, round, decision.head, certificate.committeeHash(), structHash, relay);
        if (isFinal) _deliver(request_, decision);
    }

    /// @inheritdoc IDecisionOracle
    function appeal(
        Request calldata request_,
        Round round,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) external payable {
        RequestId requestId = request_.id;
        RequestTerms terms = request_.terms;
        // `_requireProvisional` below proves the request. An unknown currency panics.
        uint256 bond = _bondOf(request_, round);
        _receive(terms.currency(), bond);
        (, bytes32 structHash) = _requireProvisional(request_, round, committeeHash, decision, relay);
        _requireBefore(requestId, round);
        uint256 link = round.linkAfter(committeeHash, structHash, relay, msg.sender);
        _reopen(request_, decision.head.attempt() + 1, RoundStep(link, round.appeals() + 1, msg.sender, bond));
    }

    /// @inheritdoc IDecisionOracle
    function finalize(
        Request calldata request_,
        Round round,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) external {
        RequestId requestId = request_.id;
        (RequestState state, ) = _requireProvisional(request_, round, committeeHash, decision, relay);
        _requireAfter(requestId, round);
        _states[requestId] = state.clear(RequestStateLib.PROVISIONAL);
        _conclude(request_, decision);
    }

    /// @inheritdoc IDecisionOracle
    function retryCallback(
        Request calldata request_,
        Round round,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) external {
        RequestId requestId = request_.id;
        (RequestState state, ) = _requireDecided(request_, round, committeeHash, decision, relay);
        require(state.has(RequestStateLib.CALLBACK_PENDING), CallbackNotPending(requestId));

        _states[requestId] = state.clear(RequestStateLib.CALLBACK_PENDING);
        emit CallbackSucceeded(requestId);
        require(CallbackLib.tryCall(request_, decision), CallbackStillFails(requestId));
    }

    /// @inheritdoc IDecisionOracle
    function payOut(RequestId requestId, bytes32 commitment, Payout calldata payout) external {
        require(msg.sender == address(settlement), NotSettlement(msg.sender));
        RequestState state = _states[requestId];
        _requireStatusDecided(requestId, state);
        require(!state.has(RequestStateLib.PROVISIONAL), DecisionIsProvisional(requestId));
        require(!state.has(RequestStateLib.SETTLED), AlreadySettled(requestId));
        require(state.covers(commitment), WitnessMismatch(requestId));

        _states[requestId] = state.set(RequestStateLib.SETTLED);
        Currency currency = payout.currency;
        // There are a relayer, the treasury and an appellant for each of at most seven rounds.
        for (uint256 i = 0; i < payout.payments.length; ++i) {
            _credit(currency, payout.payments[i].account, payout.payments[i].amount);
        }
        uint256 earned = 0;
        // There are at most MAX_REQUEST_SEATS services.
        for (uint256 i = 0; i < payout.services.length; ++i) earned += payout.services[i].earned;
        _credit(currency, address(registry), earned);
        _refundRest(requestId, payout.consumer, currency, payout.rest);
        if (payout.services.length != 0) registry.recordServices(currency, payout.services);
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
    function replace(Request calldata request_, Round round, bytes calldata witness) external {
        RequestState state = _requireUnanswered(request_, round, witness);
        uint256 attempt = state.attempt();
        require(round.hasRetry(request_.terms, attempt), NoRetriesLeft(request_.id));
        _reopen(request_, attempt + 1, RoundStep(round.link(), round.appeals(), address(0), 0));
    }

    /// @inheritdoc IDecisionOracle
    function refund(Request calldata request_, Round round, bytes calldata witness) external {
        RequestId requestId = request_.id;
        RequestState state = _requireGivenUp(request_, round, witness);
        require(round.link() == 0, HasEarlierDecision(requestId));

        _states[requestId] = RequestStateLib.make(Status.Refunded, state.attempt(), 0).set(RequestStateLib.SETTLED);
        emit RequestRefunded(requestId);
        _refundRest(requestId, request_.consumer, request_.terms.currency(), request_.terms.fee());
    }

    /// @inheritdoc IDecisionOracle
    function fallBack(
        Request calldata request_,
        Round round,
        bytes calldata witness,
        DecidedRound calldata last
    ) external {
        RequestId requestId = request_.id;
        RequestState state = _requireGivenUp(request_, round, witness);
        (uint256 link, bytes32 structHash) = HistoryLib.linkAfter(request_.hash(), last);
        require(link == round.link(), WitnessMismatch(requestId));

        // The attempt that was drawn last: the slasher still accepts evidence about it.
        // slither-disable-next-line incorrect-equality: an enum, not an amount that could skip a value
        uint256 attempt = state.status() == Status.Drawn ? state.attempt() : state.attempt() - 1;
        _states[requestId] = RequestStateLib.make(
            last.decision.head.status(),
            attempt,
            RequestLib.settledCommitment(structHash, last.relay, last.round)
        );
        if (last.appellant != address(0)) {
            uint256 bond = _bondOf(request_, last.round);
            _credit(request_.terms.currency(), last.appellant, bond);
            emit AppealUnanswered(requestId, last.appellant, bond);
        }
        _conclude(request_, last.decision);
    }

    /// @dev An agent of an earlier committee does not sit again (SE3).
    function _drawFrom(
        Request calldata request_,
        Round round,
        uint32 attempt,
        bytes32 prevRandao,
        PastRound[] calldata past
    ) private {
        RequestId requestId = request_.id;
        bytes32 seed = keccak256(abi.encode(prevRandao, requestId, attempt));
        uint256 size = RoundLib.sizeAfter(request_.terms.committeeSize(), round.appeals());
        Seat[] memory committee = registry.draw(seed, size, HistoryLib.agents(requestId, round, past));
        _states[requestId] = RequestStateLib.make(
            Status.Drawn,
            attempt,
            RequestLib.drawnCommitment(request_.hash(), round, attempt, committee.hashMemory())
        );
        emit CommitteeDrawn(requestId, attempt, seed, committee);
    }

    /// @dev Moves the request on after a commit (SE4).
    /// @return isFinal true if the decision is final and must be delivered
    function _advance(
        Request calldata request_,
        Round round,
        DecisionHead head,
        bytes32 committeeHash,
        bytes32 structHash,
        Relay relay
    ) private returns (bool isFinal) {
        RequestTerms terms = request_.terms;
        uint256 attempt = head.attempt();
        uint256 appeals = round.appeals();
        // slither-disable-next-line incorrect-equality: an enum, not an amount that could skip a value
        if (head.status() == Status.Hung && round.hasRetry(terms, attempt)) {
            uint256 link = round.linkAfter(committeeHash, structHash, relay, address(0));
            _reopen(request_, attempt + 1, RoundStep(link, appeals, address(0), 0));
            return false;
        }
        isFinal = appeals == terms.appeals();
        if (!isFinal) round = round.withDeadline(block.timestamp + terms.duration());
        // The witness covers the attempt, so it is the attempt of the state.
        RequestState state = RequestStateLib.make(
            head.status(),
            attempt,
            RequestLib.settledCommitment(structHash, relay, round)
        );
        _states[request_.id] = isFinal ? state : state.set(RequestStateLib.PROVISIONAL);
        if (!isFinal) emit DecisionProvisional(request_.id, round);
    }

    function _reopen(Request calldata request_, uint256 attempt, RoundStep memory step) private {
        RequestId requestId = request_.id;
        Round round = RoundLib.pack(step.link, step.appeals, block.timestamp + request_.terms.duration());
        uint64 seedBlock = SeedLib.next(_epochBlocks);
        _states[requestId] = RequestStateLib.make(
            Status.Requested,
            attempt,
            RequestLib.requestedCommitment(request_.hash(), round, seedBlock)
        );
        // The attempt is at most MAX_APPEALS + MAX_RETRIES.
        emit RequestReopened(requestId, uint32(attempt), round, seedBlock, step.appellant, step.bond);
    }

    /// @dev Pays the caller for the delivery, and delivers a decision that became final without a commit. The delivery
    /// is paid here, out of its reserve, since the settlement cannot know who delivered at which gas price.
    function _conclude(Request calldata request_, Decision calldata decision) private {
        RequestId requestId = request_.id;
        RequestTerms terms = request_.terms;
        Prices prices = _pricesOf(request_);
        uint256 pay = prices.gasCost(PricesLib.deliveryGas(terms), RelayLib.paidGasPrice());
        uint256 rest = prices.deliveryReserve(terms) - pay;
        emit DecisionFinalized(requestId, decision.head.attempt());
        emit DeliveryPaid(requestId, msg.sender, pay, rest);
        _credit(terms.currency(), msg.sender, pay);
        _refund(requestId.subscription(), request_.consumer, terms.currency(), rest);
        _deliver(request_, decision);
    }

    /// @dev Calls the consumer back if the request wants a callback. The caller has written everything else.
    function _deliver(Request calldata request_, Decision calldata decision) private {
        if (request_.terms.callbackGasLimit() == 0) return;
        // While the consumer runs, no callback is pending, so reentrancy cannot call the consumer back twice.
        if (!CallbackLib.tryCall(request_, decision)) {
            // A failed call reverted all its changes, also those to this request's word.
            RequestId requestId = request_.id;
            // slither-disable-next-line reentrancy-no-eth: the registry, called before, calls nobody back
            _states[requestId] = _states[requestId].set(RequestStateLib.CALLBACK_PENDING);
            emit CallbackFailed(requestId);
        }
    }

    function _refundRest(RequestId requestId, address consumer, Currency currency, uint256 amount) private {
        emit FeeRefunded(requestId, consumer, amount);
        _refund(requestId.subscription(), consumer, currency, amount);
    }

    function _reschedule(RequestId requestId, bytes32 requestHash, Round round, RequestState state) private {
        uint64 seedBlock = SeedLib.next(_epochBlocks);
        _states[requestId] = RequestStateLib.make(
            Status.Requested,
            state.attempt(),
            RequestLib.requestedCommitment(requestHash, round, seedBlock)
        );
        emit SeedRescheduled(requestId, seedBlock);
    }

    function _bondOf(Request calldata request_, Round round) private view returns (uint256) {
        return _pricesOf(request_).bondOf(request_.terms, round);
    }

    /// @dev Returns the price list of the request.
    function _pricesOf(Request calldata request_) private view returns (Prices) {
        return priceListOf(request_.terms.currency(), request_.id.priceVersion());
    }
}
