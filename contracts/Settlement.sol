// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IDecisionOracle} from "./interfaces/IDecisionOracle.sol";
import {ISettlement} from "./interfaces/ISettlement.sol";
import {DecisionHeadLib} from "./libraries/DecisionHeadLib.sol";
import {HistoryLib} from "./libraries/HistoryLib.sol";
import {PayLib} from "./libraries/PayLib.sol";
import {PricesLib} from "./libraries/PricesLib.sol";
import {RelayLib} from "./libraries/RelayLib.sol";
import {RequestIdLib} from "./libraries/RequestIdLib.sol";
import {RequestTermsLib} from "./libraries/RequestTermsLib.sol";
import {SeatLib} from "./libraries/SeatLib.sol";
import {PPM_ONE, RELAY_PAY_DIVISOR} from "./types/Limits.sol";
import {
    DecidedRound,
    Decision,
    DecisionHead,
    Payment,
    Payout,
    Prices,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Seat
} from "./types/Types.sol";

/// @title What the rounds of a request pay (SE10 to SE15)
/// @dev Holds no money and no state. The oracle believes it everything but the record itself, whose commitment it compares with
/// its own: so all that is read here of a round must be covered by that.
contract Settlement is ISettlement {
    using DecisionHeadLib for DecisionHead;
    using PricesLib for Prices;
    using RelayLib for Relay;
    using RequestIdLib for RequestId;
    using RequestTermsLib for RequestTerms;
    using SeatLib for Seat;

    /// @param prices of the request's price list
    /// @param rest of the escrow, not yet paid
    /// @param payments room for all that can come
    /// @param count of those that are filled in
    struct Book {
        Prices prices;
        uint256 rest;
        Payment[] payments;
        uint256 count;
    }

    /// @inheritdoc ISettlement
    IDecisionOracle public immutable oracle;
    /// @inheritdoc ISettlement
    IAgentRegistry public immutable registry;

    /// @param registry_ the oracle's, which deploys this
    constructor(IAgentRegistry registry_) {
        oracle = IDecisionOracle(msg.sender);
        registry = registry_;
    }

    /// @inheritdoc ISettlement
    function settle(Request calldata request, DecidedRound[] calldata rounds) external {
        bytes32 commitment = HistoryLib.commitment(request, rounds);
        RequestTerms terms = request.terms;
        uint256 unit = PricesLib.unitOf(terms);
        Book memory book = Book({
            prices: oracle.priceListOf(terms.currency(), request.id.priceVersion()),
            rest: terms.fee(),
            payments: new Payment[](_paymentsAtMost(rounds)),
            count: 0
        });
        Decision calldata last = rounds[rounds.length - 1].decision;
        // One round per attempt, of which there are at most seven.
        for (uint256 i = 0; i < rounds.length; ++i) {
            uint256 pay = unit * PayLib.units(rounds[i].decision);
            // Never below 0: the units of all rounds are at most those that the fee was divided by.
            book.rest -= pay;
            if (i + 1 == rounds.length || rounds[i].appellant == address(0)) _payRound(book, request, rounds[i], pay);
            else _resolveAppeal(book, request, rounds[i], pay, last);
        }
        Payment[] memory payments = book.payments;
        uint256 count = book.count;
        assembly ("memory-safe") {
            // Fewer than there is room for.
            mstore(payments, count)
        }
        oracle.payOut(request.id, commitment, Payout(terms.currency(), request.consumer, book.rest, payments));
    }

    /// @inheritdoc ISettlement
    function bondOf(RequestTerms terms, Round round) external pure returns (uint256) {
        return PricesLib.bondOf(terms, round);
    }

    /// @dev Pays a round that stands (SE11).
    function _payRound(Book memory book, Request calldata request, DecidedRound calldata round, uint256 pay) private {
        uint256 deducted = _deduct(book, request, round, pay);
        (uint256[] memory amounts, uint256 rest) = PayLib.split(
            pay - deducted,
            round.decision.merits[:round.committee.length]
        );
        book.rest += rest;
        uint32 attempt = round.decision.head.attempt();
        // At most 64 seats.
        for (uint256 seat = 0; seat < amounts.length; ++seat) {
            uint256 amount = amounts[seat];
            if (amount == 0) continue;
            address operator = registry.operatorOf(round.committee[seat].agentId());
            _add(book, operator, amount);
            emit PayCredited(request.id, operator, attempt, seat, amount);
        }
    }

    /// @dev What the treasury and the relayer get of a round's pay, rounded down: at most a fifth and a half.
    function _deduct(
        Book memory book,
        Request calldata request,
        DecidedRound calldata round,
        uint256 pay
    ) private returns (uint256) {
        uint256 treasuryPay = (pay * book.prices.treasuryPpm()) / PPM_ONE;
        uint256 gasPrice = round.relay.gasPrice();
        uint256 cap = book.prices.gasPriceCap();
        uint256 relayerPay = book.prices.gasCost(
            PricesLib.relayGas(round.committee.length, request.terms.callbackGasLimit()),
            gasPrice < cap ? gasPrice : cap
        );
        if (relayerPay > pay / RELAY_PAY_DIVISOR) relayerPay = pay / RELAY_PAY_DIVISOR;
        address relayer = round.relay.relayer();
        _add(book, oracle.treasury(), treasuryPay);
        _add(book, relayer, relayerPay);
        emit RoundDeducted(request.id, round.decision.head.attempt(), treasuryPay, relayer, relayerPay);
        return treasuryPay + relayerPay;
    }

    /// @dev Pays who was right (SE12).
    function _resolveAppeal(
        Book memory book,
        Request calldata request,
        DecidedRound calldata round,
        uint256 pay,
        Decision calldata last
    ) private {
        uint256 bond = PricesLib.bondOf(request.terms, round.round);
        uint32 attempt = round.decision.head.attempt();
        if (PayLib.isOverturned(request.terms, round.decision, last)) {
            _add(book, round.appellant, bond + pay);
            emit AppealResolved(request.id, attempt, round.appellant, true, bond + pay);
        } else {
            book.rest += bond;
            emit AppealResolved(request.id, attempt, round.appellant, false, bond);
            _payRound(book, request, round, pay);
        }
    }

    function _add(Book memory book, address account, uint256 amount) private pure {
        book.payments[book.count] = Payment(account, amount);
        ++book.count;
    }

    /// @dev A payment for each seat of each round, its relayer and the treasury; an appellant takes the place of them all.
    function _paymentsAtMost(DecidedRound[] calldata rounds) private pure returns (uint256 count) {
        for (uint256 i = 0; i < rounds.length; ++i) count += rounds[i].committee.length + 2;
    }
}
