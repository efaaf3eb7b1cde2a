// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {DECIDED_UNITS, SLASHING_COMMITTEE} from "../types/Limits.sol";
import {DecidedRound, Decision, Relay, RequestTerms, Status} from "../types/Types.sol";
import {DecisionHeadLib} from "./DecisionHeadLib.sol";
import {RelayLib} from "./RelayLib.sol";
import {RequestTermsLib} from "./RequestTermsLib.sol";

/// @title The pay of a round, and whether its decision stands (SE10, SE11)
library PayLib {
    using RelayLib for Relay;
    using RequestTermsLib for RequestTerms;

    /// @dev The head may be unchecked: dirty bits turn the status into another one, and then the commitment differs.
    function isDecided(Decision calldata decision) internal pure returns (bool) {
        return DecisionHeadLib.statusCode(decision.head) == uint256(Status.Decided);
    }

    /// @notice Returns the units of pay of a round.
    function units(Decision calldata decision) internal pure returns (uint256) {
        uint256 size = DecisionHeadLib.seats(decision.head);
        return isDecided(decision) ? DECIDED_UNITS * size : size;
    }

    /// @notice True if the final decision says that an earlier one was wrong. A hung committee says nothing about
    /// earlier decisions.
    /// @param terms the terms of the request: numbers agree within their tolerance
    /// @param decision the decision of an earlier round
    /// @param last the final decision
    function isOverturned(
        RequestTerms terms,
        Decision calldata decision,
        Decision calldata last
    ) internal pure returns (bool) {
        if (!isDecided(last)) return false;
        if (!isDecided(decision)) return true;
        if (terms.kind() != RequestTermsLib.KIND_NUMBER) return decision.outcome != last.outcome;
        // The outcomes are two's complement numbers, and their distance may need all 256 bits.
        (int256 left, int256 right) = (int256(uint256(decision.outcome)), int256(uint256(last.outcome)));
        unchecked {
            uint256 distance = left > right ? uint256(left) - uint256(right) : uint256(right) - uint256(left);
            return distance > terms.tolerance();
        }
    }

    /// @notice Returns what each seat earns, and the rest.
    /// @dev Every division rounds down, in favour of the asker, who gets the rest. There are at most 64 shares.
    /// @param pay the pay of the whole committee, below 2^96
    /// @param shares one byte per seat
    /// @return amounts the pay of each seat
    /// @return rest the pay that no seat earned; all of it if all shares are 0
    function split(uint256 pay, bytes calldata shares) internal pure returns (uint256[] memory amounts, uint256 rest) {
        uint256 size = shares.length;
        amounts = new uint256[](size);
        uint256 total = 0;
        for (uint256 seat = 0; seat < size; ++seat) total += uint8(shares[seat]);
        rest = pay;
        if (total == 0) return (amounts, rest);
        for (uint256 seat = 0; seat < size; ++seat) {
            // The sum of the amounts is at most pay.
            uint256 amount = (pay * uint8(shares[seat])) / total;
            amounts[seat] = amount;
            rest -= amount;
        }
    }

    /// @notice True if nothing shows that the seat took part: it neither signed the certificate nor has a share (SE20).
    function isAbsent(DecidedRound calldata round, uint256 seat) internal pure returns (bool) {
        return round.decision.merits[seat] == 0 && (round.relay.signers() >> seat) & 1 == 0;
    }

    /// @notice Returns the reputation change of each seat. A small committee slashes a seat once even where its
    /// decision says more (SE11).
    /// @param changes pairs of bytes, see `Decision.merits`; at most one pair for each seat
    function steps(bytes calldata changes, uint256 size) internal pure returns (int8[] memory result) {
        result = new int8[](size);
        for (uint256 i = 0; i < changes.length; i += 2) {
            // The byte is a two's complement number.
            int8 change = int8(uint8(changes[i + 1]));
            result[uint8(changes[i])] = change < -1 && size < SLASHING_COMMITTEE ? int8(-1) : change;
        }
    }
}
