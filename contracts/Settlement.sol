// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "./interfaces/IDecisionOracle.sol";
import {ISettlement} from "./interfaces/ISettlement.sol";
import {DecisionHeadLib} from "./libraries/DecisionHeadLib.sol";
import {HistoryLib} from "./libraries/HistoryLib.sol";
import {PayLib} from "./libraries/PayLib.sol";
import {PricesLib} from "./libraries/PricesLib.sol";
import {RelayLib} from "./libraries/RelayLib.sol";
import {RequestIdLib} from "./libraries/RequestIdLib.sol";
import {RequestTermsLib} from "./libraries/RequestTermsLib.sol";
import {RoundLib} from "./libraries/RoundLib.sol";
import {SeatLib} from "./libraries/SeatLib.sol";
import {APPEAL_REWARD_DIVISOR, PPM_ONE} from "./types/Limits.sol";
import {
    AgentId,
    DecidedRound,
    DecisionHead,
    Payment,
    Payout,
    Prices,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Seat,
    Service
} from "./types/Types.sol";

/// @title Computes what the rounds of a request pay (SE10 to SE15)
/// @dev Holds no money and no state. The oracle trusts this contract with everything except the record itself: it
/// compares the record's commitment with its own. So the commitment must cover everything that this contract reads of a
/// round.
contract Settlement is ISettlement {
    using DecisionHeadLib for DecisionHead;
    using PricesLib for Prices;
    using RelayLib for Relay;
    using RequestIdLib for RequestId;
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;
    using SeatLib for Seat;

    /// @param prices the request's price list
    /// @param unit price of one unit of pay before any appeal
    /// @param appealUnit price of one unit of pay of the committees that appeals call
    /// @param rest the part of the escrow that is not paid yet
    /// @param payments payments to accounts, with room for the largest number of them
    /// @param payees number of payments so far
    /// @param services pay and reputation changes of agents, with room for the largest number of them
    /// @param served number of services so far
    struct Book {
        Prices prices;
        uint256 unit;
        uint256 appealUnit;
        uint256 rest;
        Payment[] payments;
        uint256 payees;
        Service[] services;
        uint256 served;
    }

    /// @inheritdoc ISettlement
    IDecisionOracle public immutable oracle;

    /// @dev The oracle deploys this contract.
    constructor() {
        oracle = IDecisionOracle(msg.sender);
    }

    /// @inheritdoc ISettlement
    function settle(Request calldata request, DecidedRound[] calldata rounds) external {
        bytes32 commitment = HistoryLib.commitment(request, rounds);
        RequestTerms terms = request.terms;
        Book memory book = _open(request, rounds);
        // There is one round for each attempt with a decision, so at most seven.
        for (uint256 i = 0; i < rounds.length; ++i) {
            uint256 pay = _payOf(book, rounds[i]);
            // Never below 0: the rounds have at most as many units as the fee, less the reserve, was divided by.
            book.rest -= pay;
            pay -= _deduct(book, request, rounds[i], pay);
            bool isAppealed = i + 1 < rounds.length && rounds[i].appellant != address(0);
            if (isAppealed && PayLib.isOverturned(terms, rounds[i].decision, rounds[rounds.length - 1].decision)) {
                _rewardAppeal(book, request, rounds[i], pay);
                continue;
            }
            _paySeats(book, request, rounds[i], pay);
            if (isAppealed) _chargeAppeal(book, request, rounds, i);
        }
        _close(book);
        oracle.payOut(
            request.id,
            commitment,
            Payout({
                currency: terms.currency(),
                consumer: request.consumer,
                rest: book.rest,
                payments: book.payments,
                services: book.services
            })
        );
    }

    /// @inheritdoc ISettlement
    function bondOf(RequestId requestId, RequestTerms terms, Round round) external view returns (uint256) {
        return oracle.priceListOf(terms.currency(), requestId.priceVersion()).bondOf(terms, round);
    }

    /// @dev Notes the pay of the seats of a round that stands (SE11), and the agents whose reputation changes.
    function _paySeats(Book memory book, Request calldata request, DecidedRound calldata round, uint256 pay) private {
        uint256 size = round.committee.length;
        (uint256[] memory amounts, uint256 rest) = PayLib.split(pay, round.decision.merits[:size]);
        int8[] memory steps = PayLib.steps(round.decision.merits[size:], size);
        book.rest += rest;
        uint32 attempt = round.decision.head.attempt();
        // There are at most 64 seats.
        for (uint256 seat = 0; seat < size; ++seat) {
            uint256 amount = amounts[seat];
            if (amount == 0 && steps[seat] == 0) continue;
            AgentId agentId = round.committee[seat].agentId();
            Service memory service = book.services[book.served];
            (service.agentId, service.steps, service.earned) = (agentId, steps[seat], amount);
            ++book.served;
            if (amount != 0) emit PayCredited(request.id, agentId, attempt, seat, amount);
        }
    }

    /// @dev Notes the treasury's part of a round's pay, rounded down, and the relayer's pay for gas, which comes from
    /// the reserve.
    /// @return treasuryPay the treasury's part
    function _deduct(
        Book memory book,
        Request calldata request,
        DecidedRound calldata round,
        uint256 pay
    ) private returns (uint256 treasuryPay) {
        treasuryPay = (pay * book.prices.treasuryPpm()) / PPM_ONE;
        uint256 gas = PricesLib.relayGas(round.committee.length);
        if (_isFinalAtOnce(request.terms, round)) gas += request.terms.callbackGasLimit();
        uint256 relayerPay = book.prices.gasCost(gas, round.relay.gasPrice());
        // Never below 0: the reserve includes each relay and the delivery at the cap.
        book.rest -= relayerPay;
        address relayer = round.relay.relayer();
        _add(book, oracle.treasury(), treasuryPay);
        _add(book, relayer, relayerPay);
        emit RoundDeducted(request.id, round.decision.head.attempt(), treasuryPay, relayer, relayerPay);
    }

    /// @dev Rewards the appellant of an upheld appeal (SE12).
    /// @param pay the pay that the seats of the overturned round would have earned
    function _rewardAppeal(
        Book memory book,
        Request calldata request,
        DecidedRound calldata round,
        uint256 pay
    ) private {
        uint256 reward = pay / APPEAL_REWARD_DIVISOR;
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
            cost += _payOf(book, rounds[i]);
            // The appeal does not pay for the callback, which the request would have made without it, too.
            cost += book.prices.gasCost(PricesLib.relayGas(rounds[i].committee.length), rounds[i].relay.gasPrice());
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

    /// @dev Makes room for each seat, and for payments to a relayer, the treasury and an appellant of each round.
    function _open(Request calldata request, DecidedRound[] calldata rounds) private view returns (Book memory book) {
        uint256 seats = 0;
        for (uint256 i = 0; i < rounds.length; ++i) seats += rounds[i].committee.length;
        RequestTerms terms = request.terms;
        Prices prices = oracle.priceListOf(terms.currency(), request.id.priceVersion());
        book.prices = prices;
        (book.unit, book.appealUnit) = (prices.unitOf(terms), prices.appealUnitOf(terms));
        book.rest = terms.fee();
        // Otherwise the oracle has already paid the account that delivered, and has refunded the rest of the delivery's
        // reserve (SE13).
        if (!_isFinalAtOnce(terms, rounds[rounds.length - 1])) book.rest -= prices.deliveryReserve(terms);
        book.payments = new Payment[](3 * rounds.length);
        book.services = new Service[](seats);
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

    /// @dev True if the commit delivered the decision: it called no other committee and the decision was not
    /// provisional.
    function _isFinalAtOnce(RequestTerms terms, DecidedRound calldata round) private pure returns (bool) {
        bool isRetried =
            !PayLib.isDecided(round.decision) && round.round.hasRetry(terms, round.decision.head.attempt());
        return !isRetried && round.round.appeals() == terms.appeals();
    }
}
