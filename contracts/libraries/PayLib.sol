// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {HUNG_PAY_DIVISOR} from "../types/Limits.sol";
import {Status} from "../types/Types.sol";

/// @title Splits the fee of a settled request
library PayLib {
    /// @notice What each seat earns and what goes back to the consumer; together exactly `fee`.
    /// @dev Every division rounds down, in favour of the consumer, who gets the remainder. At most 64 shares.
    /// @param fee the escrowed fee
    /// @param status `Decided` pays all of it, `Hung` half
    /// @param shares one byte per seat
    /// @return amounts per seat
    /// @return refund what nobody earned
    function split(
        uint256 fee,
        Status status,
        bytes calldata shares
    ) internal pure returns (uint256[] memory amounts, uint256 refund) {
        uint256 size = shares.length;
        amounts = new uint256[](size);
        uint256 total = 0;
        for (uint256 seat = 0; seat < size; ++seat) total += uint8(shares[seat]);
        refund = fee;
        if (total == 0) return (amounts, refund);
        uint256 pay = status == Status.Decided ? fee : fee / HUNG_PAY_DIVISOR;
        for (uint256 seat = 0; seat < size; ++seat) {
            // fee is below 2^96 and a share below 2^8; the amounts sum to at most pay <= fee.
            // slither-disable-next-line divide-before-multiply: half a fee is what is shared; both round for the consumer
            uint256 amount = (pay * uint8(shares[seat])) / total;
            amounts[seat] = amount;
            refund -= amount;
        }
    }
}
