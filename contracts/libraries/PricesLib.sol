// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {
    ANSWER_BYTE_GAS,
    BOND_UNIT_CAP,
    CHANGE_GAS,
    DECIDED_UNITS,
    DELIVERY_GAS,
    FALL_BACK_GAS,
    GAS_PRICE_UNIT,
    GAS_RATE_WEI,
    MAX_ANSWER_BYTES,
    PAST_SEAT_GAS,
    PAY_BASE_GAS,
    PAY_SEAT_GAS,
    RELAY_BASE_GAS,
    RELAY_SEAT_GAS,
    REPLACE_GAS,
    SETTLE_GAS,
    SETTLE_ROUND_GAS
} from "../types/Limits.sol";
import {PriceTerms, Prices, RequestTerms, Round} from "../types/Types.sol";
import {RequestTermsLib} from "./RequestTermsLib.sol";
import {RoundLib} from "./RoundLib.sol";

/// @title The price of a request (SE11, SE13, SE18)
/// @dev The casts to narrower types in the accessors cut the word to the member's width on purpose.
library PricesLib {
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;

    uint256 private constant OPEN = 1;
    /// @dev A gas price above every cap.
    uint256 private constant AT_CAP = type(uint256).max;

    /// @dev Stores the gas price cap in units of `GAS_PRICE_UNIT`. `Accounts` accepts only caps that fit exactly.
    function pack(PriceTerms memory terms, uint16 version_, bool open) internal pure returns (Prices) {
        return
            Prices.wrap(
                (uint256(terms.unitPrice) << 160) |
                    (uint256(terms.gasRate) << 80) |
                    (uint256(uint32(terms.gasPriceCap / GAS_PRICE_UNIT)) << 48) |
                    (uint256(terms.treasuryPpm) << 24) |
                    (uint256(version_) << 8) |
                    (open ? OPEN : 0)
            );
    }

    function unitPrice(Prices prices) internal pure returns (uint80) {
        return uint80(Prices.unwrap(prices) >> 160);
    }

    function gasRate(Prices prices) internal pure returns (uint80) {
        return uint80(Prices.unwrap(prices) >> 80);
    }

    /// @return wei per gas
    function gasPriceCap(Prices prices) internal pure returns (uint64) {
        unchecked {
            // The result is below 2^32 * 10^6.
            return uint64(uint32(Prices.unwrap(prices) >> 48) * GAS_PRICE_UNIT);
        }
    }

    function treasuryPpm(Prices prices) internal pure returns (uint24) {
        return uint24(Prices.unwrap(prices) >> 24);
    }

    function version(Prices prices) internal pure returns (uint16) {
        return uint16(Prices.unwrap(prices) >> 8);
    }

    /// @notice True if the price list takes requests.
    function isOpen(Prices prices) internal pure returns (bool) {
        return Prices.unwrap(prices) & OPEN != 0;
    }

    function withOpen(Prices prices, bool open) internal pure returns (Prices) {
        return Prices.wrap((Prices.unwrap(prices) & ~OPEN) | (open ? OPEN : 0));
    }

    /// @notice Returns the most units of pay that a request can cost: U = 2 (n_0 + ... + n_K) + R n_K for K appeals and
    /// R retries.
    function maxUnits(RequestTerms terms) internal pure returns (uint256) {
        unchecked {
            // The terms are valid, so a committee has at most 64 seats.
            uint256 size = RoundLib.sizeAfter(terms.committeeSize(), terms.appeals());
            return DECIDED_UNITS * terms.agentsNeeded() + terms.retries() * size;
        }
    }

    /// @notice Returns the part of the fee that is reserved for gas, at the cap: the relay of every round that the
    /// terms allow, a call that replaces a silent committee for each retry, one settlement of all rounds, and one
    /// delivery. A commit makes this delivery unless the terms have appeals or retries.
    function reserve(Prices prices, RequestTerms terms) internal pure returns (uint256) {
        unchecked {
            uint256 appeals = terms.appeals();
            uint256 retries = terms.retries();
            uint256 gas;
            if (appeals + retries == 0) {
                gas = settlingGas(terms, MAX_ANSWER_BYTES, terms.committeeSize());
            } else {
                uint256 seats = terms.mostSeats();
                gas = _relaysGas(terms, 0, appeals) + answerGas(terms, MAX_ANSWER_BYTES) + fallBackGas(terms);
                gas += retries * REPLACE_GAS + settleGas(seats, appeals + retries + 1, seats);
            }
            return atCap(prices, gas);
        }
    }

    /// @notice Returns the smallest fee of a request: the most units that it can cost, at the unit price, plus the
    /// reserve.
    function quote(Prices prices, RequestTerms terms) internal pure returns (uint256) {
        unchecked {
            // The result is below 2^10 * 2^80 + 2^98.
            return maxUnits(terms) * unitPrice(prices) + reserve(prices, terms);
        }
    }

    /// @notice Returns the price of a unit of pay before any appeal: the fee less the reserve, divided by the units and
    /// rounded down. It is at least the unit price of the list.
    /// @param prices the list that the request was made under, so that later prices do not change the result
    function unitOf(Prices prices, RequestTerms terms) internal pure returns (uint256) {
        return (terms.fee() - reserve(prices, terms)) / maxUnits(terms);
    }

    /// @notice Returns the price of a unit of pay of the committees that appeals call: that of the first committee, but at
    /// most `BOND_UNIT_CAP` times the unit price of the list, exactly. A list without a unit price has no such bound.
    /// @param prices the list that the request was made under
    function appealUnitOf(Prices prices, RequestTerms terms) internal pure returns (uint256 unit) {
        unit = unitOf(prices, terms);
        unchecked {
            // The product is below 2^82.
            uint256 cap = BOND_UNIT_CAP * unitPrice(prices);
            if (cap != 0 && cap < unit) unit = cap;
        }
    }

    /// @notice Returns the bond of an appeal against a decision of this round: the most that the committees of the
    /// appeal can earn, and the relays of their decisions at the cap (SE5).
    /// @param prices the list that the request was made under
    function bondOf(Prices prices, RequestTerms terms, Round round) internal pure returns (uint256) {
        unchecked {
            // Even of terms that nobody has checked a committee has fewer than 2^24 seats, and a unit is below 2^96.
            uint256 appeals = round.appeals() + 1;
            uint256 size = RoundLib.sizeAfter(terms.committeeSize(), appeals);
            uint256 gas = _relaysGas(terms, appeals, appeals);
            return (DECIDED_UNITS + terms.retries()) * size * appealUnitOf(prices, terms) + atCap(prices, gas);
        }
    }

    /// @notice Returns the gas for which the caller of `fallBack` is paid, with the callback: the most for any delivery, so
    /// the reserve holds it.
    function fallBackGas(RequestTerms terms) internal pure returns (uint256) {
        unchecked {
            // The limit is a uint24.
            return FALL_BACK_GAS + terms.callbackGasLimit();
        }
    }

    /// @notice Returns the gas for which the caller of `finalize` or `refund` is paid, with the callback.
    function deliveryGas(RequestTerms terms) internal pure returns (uint256) {
        unchecked {
            // The limit is a uint24.
            return DELIVERY_GAS + terms.callbackGasLimit();
        }
    }

    /// @notice Returns the gas for which the relayer of a committee of `size` is paid, without a callback.
    /// @param past number of seats of the rounds before, which the commit brings along
    function relayGas(uint256 size, uint256 past) internal pure returns (uint256) {
        unchecked {
            // Even of terms that nobody has checked there are fewer than 2^30 seats.
            return RELAY_BASE_GAS + size * RELAY_SEAT_GAS + past * PAST_SEAT_GAS;
        }
    }

    /// @notice Returns the gas for which a relayer is paid beside that where its answer has so many bytes: that of a text. Nobody
    /// can appeal against a text, so that at most one round of a request has one.
    function answerGas(RequestTerms terms, uint256 length) internal pure returns (uint256) {
        unchecked {
            // A text has at most MAX_ANSWER_BYTES.
            return terms.kind() == RequestTermsLib.KIND_TEXT ? length * ANSWER_BYTE_GAS : 0;
        }
    }

    /// @notice Returns the gas for which whoever pays so many seats is paid.
    /// @param changes how many reputations their decisions change
    function payGas(uint256 seats, uint256 changes) internal pure returns (uint256) {
        unchecked {
            // There are at most 160 seats, and no more changes.
            return PAY_BASE_GAS + seats * PAY_SEAT_GAS + changes * CHANGE_GAS;
        }
    }

    /// @notice Returns the gas for which the caller of `settle` is paid.
    /// @param seats number of seats of all rounds
    /// @param rounds number of rounds
    /// @param changes how many reputations change
    function settleGas(uint256 seats, uint256 rounds, uint256 changes) internal pure returns (uint256) {
        unchecked {
            // There are at most seven rounds.
            return SETTLE_GAS + rounds * SETTLE_ROUND_GAS + payGas(seats, changes);
        }
    }

    /// @notice Returns the gas for which the relayer of a decision that is final in the first round is paid, with the pay
    /// of its seats and the callback.
    /// @param length bytes of its answer
    /// @param changes how many reputations it changes
    function settlingGas(RequestTerms terms, uint256 length, uint256 changes) internal pure returns (uint256) {
        unchecked {
            // The limit is a uint24.
            uint256 size = terms.committeeSize();
            return relayGas(size, 0) + answerGas(terms, length) + payGas(size, changes) + terms.callbackGasLimit();
        }
    }

    /// @notice Returns what so many calls of `replace` have taken out of the escrow: all that the reserve held for them.
    function replaceReserve(Prices prices, uint256 calls) internal pure returns (uint256) {
        unchecked {
            // There are at most MAX_RETRIES such calls.
            return calls * atCap(prices, REPLACE_GAS);
        }
    }

    /// @notice Returns the most that so much gas can cost.
    function atCap(Prices prices, uint256 gas) internal pure returns (uint256) {
        return gasCost(prices, gas, AT_CAP);
    }

    /// @notice Returns the cost of the gas in the currency; a gas price above the cap counts as the cap. Rounds down,
    /// so that the costs of parts never exceed the cost of the whole.
    /// @param gasPrice wei per gas
    function gasCost(Prices prices, uint256 gas, uint256 gasPrice) internal pure returns (uint256) {
        uint256 cap = gasPriceCap(prices);
        if (gasPrice > cap) gasPrice = cap;
        unchecked {
            // The product is below 2^48 * 2^52 * 2^80, even for terms that nobody has checked.
            return (gas * gasPrice * gasRate(prices)) / GAS_RATE_WEI;
        }
    }

    /// @dev Returns the most gas that the relayers of the committees from one number of appeals to another are paid for. It is most
    /// if all retries follow the last appeal: later rounds are larger and bring more seats along.
    function _relaysGas(RequestTerms terms, uint256 from, uint256 to) private pure returns (uint256 gas) {
        unchecked {
            // Even of terms that nobody has checked there are at most 31 rounds, of fewer than 2^24 seats each.
            uint256 first = terms.committeeSize();
            uint256 last = to + terms.retries();
            // 0 if `from` is 0, though its argument wraps around.
            uint256 past = RoundLib.seatsUpTo(first, from - 1);
            for (uint256 i = from; i <= last; ++i) {
                uint256 size = RoundLib.sizeAfter(first, i < to ? i : to);
                gas += relayGas(size, past);
                past += size;
            }
        }
    }
}
