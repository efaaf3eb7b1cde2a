// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {PriceTerms, Status, Terms} from "../../../contracts/types/Types.sol";
import {payShareOf} from "./Draft.sol";

/// @dev A round with a decision, as far as pay depends on it.
/// @param appeals appeals before the round
/// @param signers bit i set = seat i signed
/// @param changes how many reputations it changes if it stands
/// @param gasPrice wei per gas that the relayer is paid
/// @param appellant 0 if another committee followed without an appeal
/// @param delivers true if the commit called the consumer back
struct PaidRound {
    uint256 appeals;
    Status status;
    bytes32 outcome;
    bytes shares;
    uint256 changes;
    uint256 signers;
    uint256 gasPrice;
    address relayer;
    address appellant;
    bool delivers;
}

/// @dev Everything that the pay of a request depends on.
/// @param replaced number of silent committees that somebody replaced
/// @param atOnce true if the commit of the only round settled the request
/// @param settler the caller of `settle`
/// @param gasPrice wei per gas that the settler is paid
struct Case {
    Terms terms;
    PriceTerms prices;
    PaidRound[] rounds;
    uint256 replaced;
    bool atOnce;
    address settler;
    uint256 gasPrice;
}

/// @dev What a settlement must pay.
/// @param treasury the treasury's part of all rounds
/// @param relayers by round
/// @param appellants by round; 0 where nobody appealed
/// @param seats by round and seat; no seat of a round that was overturned
struct Bill {
    uint256 treasury;
    uint256[] relayers;
    uint256[] appellants;
    uint256[][] seats;
    bool[] overturned;
    uint256 settler;
    uint256 rest;
}

/// @dev Computes from docs/spec/settlement.md what a request pays. It shares no code with the contracts, and adds up what
/// the asker gets line by line (SE14) instead of taking what is left: the balance of the oracle shows whether both agree.
contract PayModel {
    /// @dev Sums while a bill grows.
    struct Sums {
        uint256 q;
        uint256 a;
        uint256 spent;
        uint256 back;
        uint256 seats;
        uint256 changes;
    }

    function billOf(Case memory c) external pure returns (Bill memory bill) {
        uint256 count = c.rounds.length;
        bill.relayers = new uint256[](count);
        bill.appellants = new uint256[](count);
        bill.seats = new uint256[][](count);
        bill.overturned = new bool[](count);
        Sums memory sums;
        (sums.q, sums.a) = units(c.terms, c.prices);
        for (uint256 i = 0; i < count; ++i) _payRound(c, bill, sums, i);
        sums.spent += c.replaced * cost(c.prices, 74_000, type(uint256).max);
        if (!c.atOnce) {
            bill.settler = cost(
                c.prices,
                90_000 + 35_000 * count + 8_000 * sums.seats + 16_000 * sums.changes,
                c.gasPrice
            );
            sums.spent += bill.settler;
        }
        if (!c.rounds[count - 1].delivers)
            sums.spent += cost(c.prices, 111_000 + c.terms.callbackGasLimit, type(uint256).max);
        bill.rest = c.terms.fee + sums.back - sums.spent;
    }

    function bondOf(Terms memory terms, PriceTerms memory prices, uint256 appeals) external pure returns (uint256) {
        (, uint256 a) = units(terms, prices);
        return _bond(terms, prices, appeals, a);
    }

    function reserveOf(Terms memory terms, PriceTerms memory prices) public pure returns (uint256) {
        uint256 gas = terms.callbackGasLimit + 35_000 + 74_000 * terms.retries;
        uint256 past = 0;
        for (uint256 i = 0; i <= terms.appeals + terms.retries; ++i) {
            uint256 size = sizeAfter(terms.committeeSize, i < terms.appeals ? i : terms.appeals);
            gas += relayGas(size, past) + 24_000 * size;
            past += size;
        }
        if (terms.appeals + terms.retries != 0)
            gas += 55_000 + 35_000 * uint256(1 + terms.appeals + terms.retries) + 111_000;
        return cost(prices, gas, type(uint256).max);
    }

    /// @return most U, the most units that the terms allow
    function mostUnits(Terms memory terms) public pure returns (uint256 most) {
        for (uint256 j = 0; j <= terms.appeals; ++j) most += 2 * sizeAfter(terms.committeeSize, j);
        most += terms.retries * sizeAfter(terms.committeeSize, terms.appeals);
    }

    function units(Terms memory terms, PriceTerms memory prices) public pure returns (uint256 q, uint256 a) {
        q = (terms.fee - reserveOf(terms, prices)) / mostUnits(terms);
        a = 2 * uint256(prices.unitPrice);
        if (a == 0 || a > q) a = q;
    }

    function sizeAfter(uint256 size, uint256 appeals) public pure returns (uint256) {
        for (uint256 i = 0; i < appeals; ++i) size = 2 * size + 1;
        return size;
    }

    /// @return contradicted true if the last round after i that says anything says something else (SE10)
    function isContradicted(PaidRound[] memory rounds, uint256 i) public pure returns (bool contradicted) {
        for (uint256 j = i + 1; j < rounds.length; ++j) {
            PaidRound memory later = rounds[j];
            bool readNothing = later.status != Status.Decided && !_isScored(later.shares);
            if (later.status == Status.Hung || readNothing) continue;
            contradicted = rounds[i].status != later.status || rounds[i].outcome != later.outcome;
        }
    }

    /// @param past seats of earlier rounds
    function relayGas(uint256 size, uint256 past) public pure returns (uint256) {
        return 65_000 + 8_000 * size + 5_000 * past;
    }

    /// @param gasPrice wei per gas; above the cap it counts as the cap
    function cost(PriceTerms memory prices, uint256 gas, uint256 gasPrice) public pure returns (uint256) {
        if (gasPrice > prices.gasPriceCap) gasPrice = prices.gasPriceCap;
        return (gas * gasPrice * prices.gasRate) / 1e18;
    }

    function _payRound(Case memory c, Bill memory bill, Sums memory sums, uint256 i) private pure {
        PaidRound memory round = c.rounds[i];
        uint256 size = round.shares.length;
        uint256 pay = _payOf(round, sums);
        uint256 treasury = (pay * c.prices.treasuryPpm) / 1_000_000;
        bill.treasury += treasury;
        uint256 gas = relayGas(size, sums.seats);
        sums.seats += size;
        if (round.delivers) gas += c.terms.callbackGasLimit;
        if (c.atOnce) gas += 35_000 + 8_000 * size + 16_000 * round.changes;
        bill.relayers[i] = cost(c.prices, gas, round.gasPrice);
        sums.spent += treasury + bill.relayers[i];
        bill.seats[i] = new uint256[](size);
        bool appealed = i + 1 < c.rounds.length && round.appellant != address(0);
        // Nobody was wrong who was followed by a committee of the same size: it hung, or it was too early to answer.
        bool larger = i + 1 < c.rounds.length && c.rounds[i + 1].appeals != round.appeals;
        bill.overturned[i] = isContradicted(c.rounds, i) && (appealed || (larger && round.status != Status.Hung));
        if (bill.overturned[i]) {
            // SE24: nobody appealed against an unsure decision, and its whole pay goes back.
            if (!appealed) return;
            uint256 reward = _sumOf(round.shares) == 0 ? 0 : (pay - treasury) / 2;
            sums.spent += reward;
            bill.appellants[i] = _bondOf(c, sums, i) + reward;
            return;
        }
        sums.changes += round.changes;
        sums.spent += _paySeats(bill.seats[i], round.shares, pay - treasury);
        if (!appealed) return;
        uint256 lost = _lossOf(c, sums, i);
        sums.back += lost;
        bill.appellants[i] = _bondOf(c, sums, i) - lost;
    }

    function _paySeats(uint256[] memory seats, bytes memory shares, uint256 pay) private pure returns (uint256 sum) {
        uint256 total = _sumOf(shares);
        if (total == 0) return 0;
        for (uint256 seat = 0; seat < seats.length; ++seat) {
            seats[seat] = (pay * payShareOf(shares[seat])) / total;
            sum += seats[seat];
        }
    }

    /// @dev A share of 1 says that nothing was scored (PY6).
    function _isScored(bytes memory shares) private pure returns (bool scored) {
        for (uint256 seat = 0; seat < shares.length; ++seat) scored = scored || payShareOf(shares[seat]) > 1;
    }

    function _sumOf(bytes memory shares) private pure returns (uint256 total) {
        for (uint256 seat = 0; seat < shares.length; ++seat) total += payShareOf(shares[seat]);
    }

    /// @dev Returns what a lost appeal against round i pays: the committees that it called, with their relayers.
    function _lossOf(Case memory c, Sums memory sums, uint256 i) private pure returns (uint256 loss) {
        uint256 appeals = c.rounds[i].appeals + 1;
        uint256 past = 0;
        for (uint256 j = 0; j < c.rounds.length; ++j) {
            PaidRound memory round = c.rounds[j];
            uint256 size = round.shares.length;
            if (round.appeals == appeals) {
                uint256 pay = _payOf(round, sums);
                loss += _costToAsker(c, j, pay) + cost(c.prices, relayGas(size, past), round.gasPrice);
            }
            past += size;
        }
    }

    /// @dev Returns the part of a called round's pay that the asker does not have already: nobody earned the rest, or it got half of what
    /// the seats lost that were overturned themselves.
    function _costToAsker(Case memory c, uint256 j, uint256 pay) private pure returns (uint256) {
        PaidRound memory round = c.rounds[j];
        uint256 treasury = (pay * c.prices.treasuryPpm) / 1_000_000;
        if (_sumOf(round.shares) == 0) return treasury;
        bool appealed = j + 1 < c.rounds.length && round.appellant != address(0);
        return appealed && isContradicted(c.rounds, j) ? treasury + (pay - treasury) / 2 : pay;
    }

    function _bondOf(Case memory c, Sums memory sums, uint256 i) private pure returns (uint256) {
        return _bond(c.terms, c.prices, c.rounds[i].appeals, sums.a);
    }

    /// @dev The committee that is called, and as many of its size as there are retries.
    function _bond(
        Terms memory terms,
        PriceTerms memory prices,
        uint256 appeals,
        uint256 a
    ) private pure returns (uint256) {
        uint256 size = sizeAfter(terms.committeeSize, appeals + 1);
        uint256 past = 0;
        for (uint256 j = 0; j <= appeals; ++j) past += sizeAfter(terms.committeeSize, j);
        uint256 gas = 0;
        for (uint256 i = 0; i <= terms.retries; ++i) gas += relayGas(size, past + i * size);
        return (2 + terms.retries) * size * a + cost(prices, gas, type(uint256).max);
    }

    function _payOf(PaidRound memory round, Sums memory sums) private pure returns (uint256) {
        return (round.status == Status.Hung ? 1 : 2) * round.shares.length * (round.appeals == 0 ? sums.q : sums.a);
    }
}
