// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IDecisionOracle} from "./interfaces/IDecisionOracle.sol";
import {ISettlement} from "./interfaces/ISettlement.sol";
import {CommitteeLib} from "./libraries/CommitteeLib.sol";
import {DecisionHeadLib} from "./libraries/DecisionHeadLib.sol";
import {DecisionLib} from "./libraries/DecisionLib.sol";
import {FinalityLib, Next} from "./libraries/FinalityLib.sol";
import {HistoryLib} from "./libraries/HistoryLib.sol";
import {PayLib} from "./libraries/PayLib.sol";
import {PricesLib} from "./libraries/PricesLib.sol";
import {RelayLib} from "./libraries/RelayLib.sol";
import {RequestIdLib} from "./libraries/RequestIdLib.sol";
import {RequestLib} from "./libraries/RequestLib.sol";
import {RequestState, RequestStateLib} from "./libraries/RequestState.sol";
import {RequestTermsLib} from "./libraries/RequestTermsLib.sol";
import {RoundLib} from "./libraries/RoundLib.sol";
import {SeedLib} from "./libraries/SeedLib.sol";
import {SelfCallLib} from "./libraries/SelfCallLib.sol";
import {APPEAL_REWARD_DIVISOR, MAX_CALLS, PPM_ONE} from "./types/Limits.sol";
import {
    DecidedRound,
    Decision,
    DecisionHead,
    Outcome,
    Payment,
    Payout,
    Prices,
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

/// @title Computes what the rounds of a request pay (SE10 to SE15), tells who sits (SE3), and proves what came of it (SE22)
/// @dev Holds no money, and no state but outcomes, which nothing here reads. The oracle trusts this contract with everything except the record itself: it
/// compares the record's commitment with its own. So the commitment must cover everything that this contract reads of a
/// round. Decisions that are final in the first round are paid by the oracle's commit.
contract Settlement is ISettlement {
    using DecisionHeadLib for DecisionHead;
    using DecisionLib for Decision;
    using PricesLib for Prices;
    using RelayLib for Relay;
    using RequestIdLib for RequestId;
    using RequestLib for Request;
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;

    /// @param prices the request's price list
    /// @param unit price of one unit of pay before any appeal
    /// @param appealUnit price of one unit of pay of the committees that appeals call
    /// @param rest the part of the escrow that is not paid yet
    /// @param earned what the seats have earned so far
    /// @param overturning the index of the last round that can overturn those before it (SE10), or 0
    /// @param payments payments to accounts, with room for the largest number of them
    /// @param payees number of payments so far
    /// @param relays by round, the gas for which its relayer is paid, without a callback
    /// @param seats number of seats of all rounds
    /// @param services pay and reputation changes of agents, with room for the largest number of them
    /// @param served number of services so far
    /// @param changes number of reputations that change
    struct Book {
        Prices prices;
        uint256 unit;
        uint256 appealUnit;
        uint256 rest;
        uint256 earned;
        uint256 overturning;
        Payment[] payments;
        uint256 payees;
        uint256[] relays;
        uint256 seats;
        Service[] services;
        uint256 served;
        uint256 changes;
    }

    /// @inheritdoc ISettlement
    IDecisionOracle public immutable oracle;
    IAgentRegistry private immutable _registry;
    uint256 private immutable _epochBlocks;

    mapping(RequestId requestId => Outcome outcome) private _outcomes;

    /// @dev The oracle deploys this contract.
    /// @param registry the oracle's registry, which the oracle cannot be asked for while it deploys
    constructor(IAgentRegistry registry) {
        oracle = IDecisionOracle(msg.sender);
        _registry = registry;
        _epochBlocks = registry.epochBlocks();
    }

    /// @inheritdoc ISettlement
    function settle(Request calldata request, DecidedRound[] calldata rounds) external {
        RequestState state = oracle.stateOf(request.id);
        // The oracle asks the same of what it pays out. Asked first, it costs little to come second, with a copy or in good faith.
        require(!state.has(RequestStateLib.SETTLED), IDecisionOracle.AlreadySettled(request.id));
        bytes32 commitment = HistoryLib.commitment(request, rounds);
        RequestTerms terms = request.terms;
        Book memory book = _open(request, rounds, state.attempt());
        // There is one round for each attempt with a decision, so at most seven.
        for (uint256 i = 0; i < rounds.length; ++i) {
            uint256 pay = _payOf(book, rounds[i]);
            // Never below 0: the rounds have at most as many units as the fee, less the reserve, was divided by.
            book.rest -= pay;
            bool isAppealed = i + 1 < rounds.length && rounds[i].appellant != address(0);
            bool isOverturned = _isOverturned(book, terms, rounds, i);
            pay -= _deduct(book, request, rounds[i], book.relays[i], pay, !isOverturned);
            if (!isOverturned) {
                _paySeats(book, rounds[i], pay);
                if (isAppealed) _chargeAppeal(book, request, rounds, i);
            } else if (isAppealed) {
                _rewardAppeal(book, request, rounds[i], pay);
            } else {
                book.rest += pay;
            }
        }
        _paySettler(book, request.id);
        _close(book);
        oracle.payOut(
            request.id,
            commitment,
            Payout({
                currency: terms.currency(),
                consumer: request.consumer,
                rest: book.rest,
                earned: book.earned,
                payments: book.payments,
                services: book.services
            })
        );
    }

    /// @inheritdoc ISettlement
    function tryMulticall(bytes[] calldata calls) external {
        require(calls.length <= MAX_CALLS, IDecisionOracle.TooManyCalls(calls.length, MAX_CALLS));
        for (uint256 i = 0; i < calls.length; ++i) {
            (bool success, bytes memory reason) = SelfCallLib.tryCall(calls[i]);
            if (!success) emit IDecisionOracle.CallFailed(i, reason);
        }
    }

    /// @inheritdoc ISettlement
    function bondOf(RequestId requestId, RequestTerms terms, Round round) external view returns (uint256) {
        return oracle.priceListOf(terms.currency(), requestId.priceVersion()).bondOf(terms, round);
    }

    /// @inheritdoc ISettlement
    function storeOutcome(
        Request calldata request,
        Round round,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) external {
        RequestId requestId = request.id;
        if (_outcomes[requestId].status != Status.None) return;
        Outcome memory outcome = outcomeOf(request, round, committeeHash, decision, relay);
        _outcomes[requestId] = outcome;
        emit OutcomeStored(requestId, outcome.status, outcome.attempt, outcome.confidence, outcome.value);
    }

    /// @inheritdoc ISettlement
    function storedOutcome(RequestId requestId) external view returns (Outcome memory) {
        return _outcomes[requestId];
    }

    /// @inheritdoc ISettlement
    function outcomeOf(
        Request calldata request,
        Round round,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) public view returns (Outcome memory outcome) {
        RequestId requestId = request.id;
        RequestState state = oracle.stateOf(requestId);
        outcome.status = state.status();
        require(
            outcome.status > Status.Requested && outcome.status < Status.Refunded,
            IDecisionOracle.WrongStatus(requestId, outcome.status)
        );
        require(!state.has(RequestStateLib.PROVISIONAL), IDecisionOracle.DecisionIsProvisional(requestId));
        bytes32 structHash = decision.structHash(request.hash(), committeeHash, decision.head.seats());
        require(
            state.covers(RequestLib.settledCommitment(structHash, relay, round)),
            IDecisionOracle.WitnessMismatch(requestId)
        );
        outcome.attempt = state.attempt();
        // Otherwise nobody answered an attempt after this decision.
        if (decision.head.attempt() == outcome.attempt) {
            outcome.confidence = decision.head.confidence();
            outcome.value = decision.outcome;
        }
    }

    /// @inheritdoc ISettlement
    function committeeOf(
        Request calldata request,
        Round round,
        Seed calldata seed
    ) external view returns (Seat[] memory) {
        RequestState state = oracle.stateOf(request.id);
        request.requireRunning(state, round, seed.seedBlock);
        bytes32 prevRandao = SeedLib.prevRandao(request.id, seed.seedBlock, _epochBlocks, seed.header);
        return CommitteeLib.pick(_registry, _epochBlocks, request, round, state.attempt(), prevRandao, seed);
    }

    /// @dev Notes the pay of the seats of a round that stands (SE11), and what changes for their agents.
    function _paySeats(Book memory book, DecidedRound calldata round, uint256 pay) private pure {
        (Service[] memory services, uint256 earned) = PayLib.servicesOf(
            round.committee,
            round.decision.head,
            round.decision.merits,
            pay
        );
        // There are at most 64 seats.
        for (uint256 seat = 0; seat < services.length; ++seat) {
            book.services[book.served] = services[seat];
            ++book.served;
        }
        book.changes += round.decision.changeCount();
        book.earned += earned;
        book.rest += pay - earned;
    }

    /// @dev Notes the treasury's part of a round's pay, rounded down, and the relayer's pay for gas, which comes from
    /// the reserve.
    /// @param gas what the relayer is paid for, without a callback
    /// @param stands false if the seats get nothing
    /// @return treasuryPay the treasury's part
    function _deduct(
        Book memory book,
        Request calldata request,
        DecidedRound calldata round,
        uint256 gas,
        uint256 pay,
        bool stands
    ) private returns (uint256 treasuryPay) {
        treasuryPay = (pay * book.prices.treasuryPpm()) / PPM_ONE;
        if (_isFinalAtOnce(request.terms, round)) gas += request.terms.callbackGasLimit();
        uint256 relayerPay = book.prices.gasCost(gas, round.relay.gasPrice());
        // Never below 0: the reserve includes each relay and the delivery at the cap.
        book.rest -= relayerPay;
        address relayer = round.relay.relayer();
        _add(book, oracle.treasury(), treasuryPay);
        _add(book, relayer, relayerPay);
        uint32 attempt = round.decision.head.attempt();
        emit RoundPaid(request.id, attempt, stands ? pay - treasuryPay : 0, treasuryPay, relayer, relayerPay);
    }

    /// @dev Notes the pay of the caller, for its transaction and the seats of all rounds (SE13).
    function _paySettler(Book memory book, RequestId requestId) private {
        uint256 gas = PricesLib.settleGas(book.seats, book.relays.length, book.changes);
        uint256 amount = book.prices.gasCost(gas, RelayLib.paidGasPrice());
        // Never below 0: the reserve includes this call at the cap.
        book.rest -= amount;
        _add(book, msg.sender, amount);
        emit SettlerPaid(requestId, msg.sender, amount);
    }

    /// @dev Rewards the appellant of an upheld appeal (SE12).
    /// @param pay the pay that the seats of the overturned round would have earned
    function _rewardAppeal(
        Book memory book,
        Request calldata request,
        DecidedRound calldata round,
        uint256 pay
    ) private {
        uint256 reward = _rewardOf(round, pay);
        book.rest += pay - reward;
        _resolve(book, request, round, true, book.prices.bondOf(request.terms, round.round) + reward);
    }

    /// @dev Lets a lost appeal pay for the committees that it called: those up to the next appeal (SE12).
    /// @param index the index of the round that the appeal was against
    function _chargeAppeal(
        Book memory book,
        Request calldata request,
        DecidedRound[] calldata rounds,
        uint256 index
    ) private {
        uint256 cost = 0;
        for (uint256 i = index + 1; i < rounds.length; ++i) {
            cost += _costOf(book, request.terms, rounds, i);
            // The appeal does not pay for the callback, which the request would have made without it, too.
            cost += book.prices.gasCost(book.relays[i], rounds[i].relay.gasPrice());
            if (rounds[i].appellant != address(0)) break;
        }
        book.rest += cost;
        // Never below 0: the bond is the most that these committees can cost.
        uint256 left = book.prices.bondOf(request.terms, rounds[index].round) - cost;
        _resolve(book, request, rounds[index], false, left);
    }

    function _resolve(
        Book memory book,
        Request calldata request,
        DecidedRound calldata round,
        bool upheld,
        uint256 amount
    ) private {
        _add(book, round.appellant, amount);
        emit AppealResolved(request.id, round.decision.head.attempt(), round.appellant, upheld, amount);
    }

    function _add(Book memory book, address account, uint256 amount) private pure {
        book.payments[book.payees] = Payment(account, amount);
        ++book.payees;
    }

    /// @dev Makes room for each seat, for payments to a relayer, the treasury and an appellant of each round, and for one
    /// to the caller.
    /// @param attempt the request's last attempt
    function _open(
        Request calldata request,
        DecidedRound[] calldata rounds,
        uint256 attempt
    ) private view returns (Book memory book) {
        book.relays = new uint256[](rounds.length);
        for (uint256 i = 0; i < rounds.length; ++i) {
            uint256 size = rounds[i].committee.length;
            book.relays[i] = PricesLib.relayGas(size, book.seats);
            book.relays[i] += PricesLib.answerGas(request.terms, rounds[i].decision.answer.length);
            book.seats += size;
        }
        RequestTerms terms = request.terms;
        Prices prices = oracle.priceListOf(terms.currency(), request.id.priceVersion());
        book.prices = prices;
        (book.unit, book.appealUnit) = (prices.unitOf(terms), prices.appealUnitOf(terms));
        book.overturning = rounds.length - 1;
        while (book.overturning > 0 && !PayLib.canOverturn(rounds[book.overturning].decision)) --book.overturning;
        DecidedRound calldata last = rounds[rounds.length - 1];
        // The oracle has paid who called `replace`, and has given back the rest of what was reserved for that.
        book.rest = terms.fee() - prices.replaceReserve(_replaced(attempt, rounds.length, last.decision));
        // Otherwise the oracle has done the same for the delivery (SE13).
        if (!_isFinalAtOnce(terms, last)) book.rest -= prices.atCap(PricesLib.fallBackGas(terms));
        book.payments = new Payment[](3 * rounds.length + 1);
        book.services = new Service[](book.seats);
    }

    /// @dev Returns how many silent committees were replaced. Every attempt but the first was called by a round on
    /// record, which hung or was appealed against, or by `replace`. The last round called one only if nobody answered
    /// it.
    /// @param attempt the last attempt
    /// @param count number of rounds on record
    /// @param last the last decision
    function _replaced(uint256 attempt, uint256 count, Decision calldata last) private pure returns (uint256) {
        return attempt + (attempt == last.head.attempt() ? 1 : 0) - count;
    }

    /// @dev Cuts the arrays to the entries that are filled in.
    function _close(Book memory book) private pure {
        (Payment[] memory payments, uint256 payees) = (book.payments, book.payees);
        (Service[] memory services, uint256 served) = (book.services, book.served);
        assembly ("memory-safe") {
            // The new lengths are at most the allocated ones.
            mstore(payments, payees)
            mstore(services, served)
        }
    }

    function _payOf(Book memory book, DecidedRound calldata round) private pure returns (uint256) {
        return PayLib.units(round.decision) * (round.round.appeals() == 0 ? book.unit : book.appealUnit);
    }

    /// @dev Returns what a round costs the asker: its pay, less what comes back where no seat earns (SE11), or where the seats lose it to
    /// an appellant and the asker (SE12).
    function _costOf(
        Book memory book,
        RequestTerms terms,
        DecidedRound[] calldata rounds,
        uint256 index
    ) private pure returns (uint256 cost) {
        DecidedRound calldata round = rounds[index];
        cost = _payOf(book, round);
        if (!_isOverturned(book, terms, rounds, index) && !PayLib.paysNobody(round.decision)) return cost;
        uint256 treasuryPay = (cost * book.prices.treasuryPpm()) / PPM_ONE;
        return treasuryPay + _rewardOf(round, cost - treasuryPay);
    }

    /// @dev Returns what an upheld appeal against a round earns.
    /// @param pay the pay that its seats would have earned
    function _rewardOf(DecidedRound calldata round, uint256 pay) private pure returns (uint256) {
        // Nobody would have got the pay of a round without shares.
        return PayLib.paysNobody(round.decision) ? 0 : pay / APPEAL_REWARD_DIVISOR;
    }

    /// @dev True if a round is overturned (SE10).
    function _isOverturned(
        Book memory book,
        RequestTerms terms,
        DecidedRound[] calldata rounds,
        uint256 index
    ) private pure returns (bool) {
        // So the round is not the last.
        if (index >= book.overturning) return false;
        DecidedRound calldata round = rounds[index];
        // A committee that was followed without an appeal has said nothing that could be wrong if it hung or was too early to answer.
        bool isJudged =
            round.appellant != address(0) || (_isFollowedByLarger(rounds, index) && !PayLib.isHung(round.decision));
        return isJudged && PayLib.differ(terms, round.decision, rounds[book.overturning].decision);
    }

    /// @param index the index of a round that is not the last
    function _isFollowedByLarger(DecidedRound[] calldata rounds, uint256 index) private pure returns (bool) {
        return rounds[index + 1].round.appeals() != rounds[index].round.appeals();
    }

    /// @dev True if the commit delivered the decision: it called no other committee and the decision was not
    /// provisional.
    function _isFinalAtOnce(RequestTerms terms, DecidedRound calldata round) private pure returns (bool) {
        return FinalityLib.next(terms, round.round, round.decision) == Next.Final;
    }
}
