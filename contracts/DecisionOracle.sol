// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {AccessManaged} from "@openzeppelin/contracts/access/manager/AccessManaged.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {Accounts} from "./Accounts.sol";
import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IDecisionOracle} from "./interfaces/IDecisionOracle.sol";
import {CallbackLib} from "./libraries/CallbackLib.sol";
import {CalldataLib} from "./libraries/CalldataLib.sol";
import {CommitteeLib} from "./libraries/CommitteeLib.sol";
import {DecisionHeadLib} from "./libraries/DecisionHeadLib.sol";
import {DecisionLib} from "./libraries/DecisionLib.sol";
import {FinalityLib, Next} from "./libraries/FinalityLib.sol";
import {PayLib} from "./libraries/PayLib.sol";
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
import {
    CANCEL_BLOCKS,
    FALL_BACK_GAS,
    MAX_CALLS,
    MAX_QUESTION_BYTES,
    MIN_PREVRANDAO,
    NO_SEED_BLOCK,
    PPM_ONE,
    REPLACE_GAS,
    TOO_EARLY_WAIT
} from "./types/Limits.sol";
import {
    Currency,
    Decision,
    DecisionHead,
    HashedRound,
    Payout,
    Prices,
    PriceTerms,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Seat,
    Seed,
    Service,
    Status
} from "./types/Types.sol";

/// @title Requests, committees, decisions, appeals and pay
/// @dev The contract cannot be upgraded. Governance sets the prices of later requests and may pause new ones
/// (`Accounts`); earlier requests go on unchanged. Reentrancy: every function writes its last state before it calls a
/// consumer or sends money, and takes money in before it writes anything. The only write after a call is the pending
/// flag of a callback that failed.
contract DecisionOracle is Accounts, Requests {
    using CalldataLib for bytes;
    using DecisionHeadLib for DecisionHead;
    using DecisionLib for Decision;
    using PricesLib for Prices;
    using RelayLib for Relay;
    using RequestIdLib for RequestId;
    using RequestLib for Request;
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;
    using SeatLib for Seat[];

    /// @dev What leads to the next round.
    /// @param appeals number of appeals so far, with this one
    /// @param appellant the account that appealed; 0 if the oracle called the committee itself: then there is no bond
    /// @param wait seconds before a committee is called, or 0
    struct RoundStep {
        uint256 link;
        uint256 appeals;
        address appellant;
        uint256 bond;
        uint256 wait;
    }

    /// @dev What a commit has proven.
    /// @param structHash the EIP-712 struct hash of the decision
    /// @param committee the seats in order
    struct Commit {
        Relay relay;
        bytes32 structHash;
        Seat[] committee;
    }

    /// @inheritdoc IDecisionOracle
    address public immutable settlement;
    /// @inheritdoc IDecisionOracle
    uint256 public immutable supportedProtocols;

    /// @dev True if fees in tokens and stake are in the same token.
    bool private immutable _isOneToken;

    /// @param authority access manager that says who may set prices and pause new requests
    /// @param registry_ registry that picks committees and is bound to this contract as its oracle
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
    ) AccessManaged(authority) Accounts(feeToken_, registry_.treasury(), token, native) Requests(registry_) {
        require(block.prevrandao >= MIN_PREVRANDAO, ChainHasNoBeacon(block.prevrandao));
        address oracle = registry_.oracle();
        require(oracle == address(this), NotBound(oracle));
        settlement = address(new Settlement(registry_));
        supportedProtocols = supportedProtocols_;
        _isOneToken = address(feeToken_) == address(registry_.stakeToken());
        emit OracleDeployed(registry_, settlement, supportedProtocols_, _epochBlocks);
    }

    /// @inheritdoc IDecisionOracle
    function request(
        uint48 subscriptionId,
        RequestTerms terms,
        bytes calldata question
    ) external payable returns (RequestId requestId) {
        require(question.length != 0, QuestionIsEmpty());
        require(question.length <= MAX_QUESTION_BYTES, QuestionTooLong(question.length, MAX_QUESTION_BYTES));
        terms.validate(supportedProtocols, _isOneToken);
        (uint256 drawable, uint256 needed) = (registry.drawableCount(), terms.agentsNeeded());
        require(drawable >= needed, TooFewAgents(drawable, needed));

        (uint16 priceVersion, uint48 count) = _escrow(subscriptionId, terms);
        requestId = RequestIdLib.pack(priceVersion, subscriptionId, count);
        (Round round, uint64 seedBlock) = _begin(terms, RoundStep(0, 0, address(0), 0, terms.delay()));
        bytes32 requestHash = RequestLib.hash(requestId, msg.sender, terms, question.hash());
        _states[requestId] = RequestStateLib.make(
            Status.Requested,
            0,
            RequestLib.requestedCommitment(requestHash, round, seedBlock)
        );
        emit Requested(requestId, msg.sender, terms, round, seedBlock, question);
    }

    /// @inheritdoc IDecisionOracle
    function commit(
        Request calldata request_,
        Round round,
        Seed calldata seed,
        bytes calldata certificate,
        Decision calldata decision
    ) external {
        RequestId requestId = request_.id;
        uint32 attempt = _requireRunning(request_, round, seed.seedBlock).attempt();
        _requireBefore(requestId, round);
        // slither-disable-next-line uninitialized-local: each member is set below
        Commit memory made;
        {
            bytes32 prevRandao = SeedLib.prevRandaoOnce(requestId, seed.seedBlock, _epochBlocks, seed.header);
            made.committee = CommitteeLib.pick(registry, _epochBlocks, request_, round, attempt, prevRandao, seed);
        }
        uint64 signers;
        (made.structHash, signers) = _requireCertified(request_, attempt, made.committee, certificate, decision);
        made.relay = RelayLib.pack(signers, RelayLib.paidGasPrice(), msg.sender);
        decision.emitCommitted(requestId, made.relay, made.committee);
        if (_advance(request_, round, decision, made)) _deliver(request_, decision);
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
        unchecked {
            // Both are bytes.
            _reopen(request_, decision.head.attempt() + 1, RoundStep(link, round.appeals() + 1, msg.sender, bond, 0));
        }
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
        emit DecisionFinalized(requestId, decision.head.attempt());
        RequestTerms terms = request_.terms;
        _payCaller(request_, PricesLib.fallBackGas(terms), PricesLib.deliveryGas(terms), 0);
        _deliver(request_, decision);
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
        // Otherwise nobody answered an attempt after the one of the last decision: see `fallBack`.
        // slither-disable-next-line incorrect-equality: the number of an attempt, not an amount
        bool answered = decision.head.attempt() == state.attempt();
        require(
            answered ? CallbackLib.tryDecision(request_, decision) : CallbackLib.tryEnd(request_, Status.Hung),
            CallbackStillFails(requestId)
        );
    }

    /// @inheritdoc IDecisionOracle
    function payOut(RequestId requestId, bytes32 commitment, Payout calldata payout) external {
        require(msg.sender == settlement, NotSettlement(msg.sender));
        RequestState state = _states[requestId];
        _requireStatusDecided(requestId, state);
        require(!state.has(RequestStateLib.PROVISIONAL), DecisionIsProvisional(requestId));
        require(!state.has(RequestStateLib.SETTLED), AlreadySettled(requestId));
        RequestLib.requireMatch(requestId, state.covers(commitment));

        _states[requestId] = state.set(RequestStateLib.SETTLED);
        Currency currency = payout.currency;
        // There are a relayer, the treasury and an appellant for each of at most seven rounds.
        for (uint256 i = 0; i < payout.payments.length; ++i) {
            _credit(currency, payout.payments[i].account, payout.payments[i].amount);
        }
        _refundRest(requestId, payout.consumer, currency, payout.rest);
        _payAgents(currency, payout.earned, payout.services);
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
    function replace(Request calldata request_, Round round, uint64 seedBlock) external {
        RequestState state = _requireUnanswered(request_, round, seedBlock);
        uint256 attempt = state.attempt();
        require(round.hasRetry(request_.terms.retries(), attempt), NoRetriesLeft(request_.id));
        unchecked {
            // The attempt is a byte.
            _reopen(request_, attempt + 1, RoundStep(round.link(), round.appeals(), address(0), 0, 0));
        }
        _payCaller(request_, REPLACE_GAS, REPLACE_GAS, 0);
    }

    /// @inheritdoc IDecisionOracle
    function refund(Request calldata request_, Round round, uint64 seedBlock) external {
        RequestId requestId = request_.id;
        RequestTerms terms = request_.terms;
        uint256 attempt = _requireGivenUp(request_, round, seedBlock).attempt();
        require(round.link() == 0, HasEarlierDecision(requestId));

        Prices prices = _pricesOf(request_);
        uint256 gas = PricesLib.deliveryGas(terms);
        // Without a decision, every attempt but the first followed a call of `replace`.
        // Never below 0: the reserve holds all those calls beside a delivery. Without appeals and retries it holds the
        // callback alone, but the relay and the pay that nobody made, too, and those are more than DELIVERY_GAS.
        _giveBack(request_, attempt, terms.fee() - prices.replaceReserve(attempt) - prices.atCap(gas));
        _payCaller(request_, gas, gas, 0);
        // A callback that fails changes nothing, and nobody repeats it: the consumer can read `statusOf`.
        if (!CallbackLib.tryEnd(request_, Status.Refunded)) emit RefundCallbackFailed(requestId);
    }

    /// @inheritdoc IDecisionOracle
    function cancel(Request calldata request_, Round round, uint64 seedBlock) external {
        RequestId requestId = request_.id;
        require(msg.sender == request_.consumer, NotConsumerOf(requestId, msg.sender));
        uint32 attempt = _requireRunning(request_, round, seedBlock).attempt();
        // The first attempt has no round before it, and nobody has been paid for anything.
        // slither-disable-next-line incorrect-equality: the number of an attempt, not an amount
        require(
            attempt == 0 && block.number + CANCEL_BLOCKS <= seedBlock,
            TooLateToCancel(requestId, attempt, seedBlock)
        );
        emit RequestCancelled(requestId);
        _giveBack(request_, 0, request_.terms.fee());
    }

    /// @inheritdoc IDecisionOracle
    function fallBack(Request calldata request_, Round round, uint64 seedBlock, HashedRound calldata last) external {
        RequestId requestId = request_.id;
        RequestState state = _requireGivenUp(request_, round, seedBlock);
        uint256 link = last.round.linkAfter(last.committeeHash, last.structHash, last.relay, last.appellant);
        RequestLib.requireMatch(requestId, link == round.link());

        uint32 attempt = state.attempt();
        _states[requestId] = RequestStateLib.make(
            Status.Hung,
            attempt,
            RequestLib.settledCommitment(last.structHash, last.relay, last.round)
        );
        (uint256 bond, uint256 cost) = (0, 0);
        if (last.appellant != address(0)) {
            // Never below 0: the bond holds a relay of at least nine seats, which is more gas than this call.
            cost = PricesLib.gasCost(_pricesOf(request_), FALL_BACK_GAS, RelayLib.paidGasPrice());
            bond = _bondOf(request_, last.round) - cost;
            _credit(request_.terms.currency(), last.appellant, bond);
        }
        emit AttemptUnanswered(requestId, attempt, last.appellant, bond);
        uint256 gas = PricesLib.fallBackGas(request_.terms);
        _payCaller(request_, gas, gas, cost);
        _noteDelivery(request_, CallbackLib.tryEnd(request_, Status.Hung));
    }

    /// @dev Moves the request on after a commit (SE4).
    /// @return isFinal true if the decision is final and must be delivered
    function _advance(
        Request calldata request_,
        Round round,
        Decision calldata decision,
        Commit memory made
    ) private returns (bool isFinal) {
        RequestTerms terms = request_.terms;
        DecisionHead head = decision.head;
        uint256 attempt = head.attempt();
        Next next = FinalityLib.next(terms, round, decision);
        if (next >= Next.Retry) {
            uint256 link = round.linkAfter(made.committee.hashMemory(), made.structHash, made.relay, address(0));
            unchecked {
                // Both are bytes.
                uint256 appeals = round.appeals() + (next == Next.Larger ? 1 : 0);
                uint256 wait = next == Next.Later ? TOO_EARLY_WAIT : 0;
                _reopen(request_, attempt + 1, RoundStep(link, appeals, address(0), 0, wait));
            }
            return false;
        }
        isFinal = next == Next.Final;
        if (!isFinal) {
            unchecked {
                // The duration is a uint24.
                round = round.withDeadline(block.timestamp + terms.duration());
            }
        }
        RequestState state = RequestStateLib.make(
            head.status(),
            attempt,
            RequestLib.settledCommitment(made.structHash, made.relay, round)
        );
        if (!isFinal) {
            _states[request_.id] = state.set(RequestStateLib.PROVISIONAL);
            emit DecisionProvisional(request_.id, round);
            // slither-disable-next-line incorrect-equality: a hash, or 0 for none
        } else if (round.link() == 0) {
            _states[request_.id] = state.set(RequestStateLib.SETTLED);
            _settle(request_, decision, made);
        } else {
            _states[request_.id] = state;
        }
    }

    /// @dev Pays everything for a decision that is final in the first round, as `Settlement` does for the others.
    function _settle(Request calldata request_, Decision calldata decision, Commit memory made) private {
        Prices prices = _pricesOf(request_);
        RequestTerms terms = request_.terms;
        Currency currency = terms.currency();
        uint256 pay = prices.unitOf(terms);
        uint256 treasuryPay;
        unchecked {
            // The pay is at most the fee, which is a uint80, and the part is below one.
            pay *= PayLib.units(decision);
            treasuryPay = (pay * prices.treasuryPpm()) / PPM_ONE;
            pay -= treasuryPay;
        }
        (Service[] memory services, uint256 earned) = PayLib.servicesOf(
            made.committee,
            decision.head,
            decision.merits,
            pay
        );
        uint256 relayerPay = prices.gasCost(
            PricesLib.settlingGas(terms, decision.answerLength(), decision.changeCount()),
            made.relay.gasPrice()
        );
        // Never below 0: the reserve includes this relay and all calls of `replace` before it, at the cap.
        uint256 rest = terms.fee() - prices.replaceReserve(decision.head.attempt()) - treasuryPay - earned - relayerPay;
        emit DecisionSettled(request_.id, pay, treasuryPay, relayerPay, rest);
        _credit(currency, treasury, treasuryPay);
        _credit(currency, msg.sender, relayerPay);
        _refund(request_.id.subscription(), request_.consumer, currency, rest);
        _payAgents(currency, earned, services);
    }

    /// @param earned what all seats earn together
    function _payAgents(Currency currency, uint256 earned, Service[] memory services) private {
        _credit(currency, address(registry), earned);
        registry.recordServices(currency, services);
    }

    /// @dev Returns what an attempt begins with. One that waits has no committee; `replace` calls one after the wait (SE25).
    /// @return round the attempt's round; its deadline is the end of the committee's period, or of the wait
    /// @return seedBlock `NO_SEED_BLOCK` while it waits
    function _begin(RequestTerms terms, RoundStep memory step) private view returns (Round round, uint64 seedBlock) {
        uint256 period = step.wait;
        seedBlock = NO_SEED_BLOCK;
        if (period == 0) (period, seedBlock) = (terms.duration(), SeedLib.next(_epochBlocks));
        unchecked {
            // The period is a uint24.
            round = RoundLib.pack(step.link, step.appeals, block.timestamp + period);
        }
    }

    function _reopen(Request calldata request_, uint256 attempt, RoundStep memory step) private {
        RequestId requestId = request_.id;
        (Round round, uint64 seedBlock) = _begin(request_.terms, step);
        _states[requestId] = RequestStateLib.make(
            Status.Requested,
            attempt,
            RequestLib.requestedCommitment(request_.hash(), round, seedBlock)
        );
        // The attempt is at most MAX_APPEALS + MAX_RETRIES.
        emit RequestReopened(requestId, uint32(attempt), round, seedBlock, step.appellant, step.bond);
    }

    /// @dev Pays the caller for this gas here, out of the reserve that held it, since the settlement cannot know who
    /// called at which gas price. The rest goes back to the asker.
    /// @param held the gas that the reserve held for the call
    /// @param gas what the caller is paid for
    /// @param more what goes back to the asker beside that
    function _payCaller(Request calldata request_, uint256 held, uint256 gas, uint256 more) private {
        RequestId requestId = request_.id;
        Currency currency = request_.terms.currency();
        Prices prices = _pricesOf(request_);
        uint256 pay = prices.gasCost(gas, RelayLib.paidGasPrice());
        uint256 rest;
        unchecked {
            // The caller is paid for at most the gas that was held, at most at the cap.
            rest = prices.atCap(held) - pay + more;
        }
        emit CallerPaid(requestId, msg.sender, pay, rest);
        _credit(currency, msg.sender, pay);
        _refund(requestId.subscription(), request_.consumer, currency, rest);
    }

    /// @dev Calls the consumer back if the request wants a callback. The caller has written everything else.
    function _deliver(Request calldata request_, Decision calldata decision) private {
        _noteDelivery(request_, CallbackLib.tryDecision(request_, decision));
    }

    /// @dev While the consumer runs, no callback is pending, so reentrancy cannot call the consumer back twice.
    function _noteDelivery(Request calldata request_, bool success) private {
        if (success) return;
        // A failed call reverted all its changes, also those to this request's word.
        RequestId requestId = request_.id;
        // slither-disable-next-line reentrancy-no-eth: the registry, called before, calls nobody back
        _states[requestId] = _states[requestId].set(RequestStateLib.CALLBACK_PENDING);
        emit CallbackFailed(requestId);
    }

    /// @dev Ends a request without a decision. The rest of its fee goes back to the asker.
    function _giveBack(Request calldata request_, uint256 attempt, uint256 rest) private {
        RequestId requestId = request_.id;
        _states[requestId] = RequestStateLib.make(Status.Refunded, attempt, 0).set(RequestStateLib.SETTLED);
        emit RequestRefunded(requestId);
        _refundRest(requestId, request_.consumer, request_.terms.currency(), rest);
    }

    function _refundRest(RequestId requestId, address consumer, Currency currency, uint256 amount) private {
        emit FeeRefunded(requestId, consumer, amount);
        _refund(requestId.subscription(), consumer, currency, amount);
    }

    function _bondOf(Request calldata request_, Round round) private view returns (uint256) {
        return _pricesOf(request_).bondOf(request_.terms, round);
    }

    /// @dev Returns the price list of the request.
    function _pricesOf(Request calldata request_) private view returns (Prices) {
        return priceListOf(request_.terms.currency(), request_.id.priceVersion());
    }
}
