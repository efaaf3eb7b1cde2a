// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {FALL_PERIOD, RECOVERY_STEP_PPM, REPUTATION_FLOOR, REPUTATION_ONE, SLASH_FACTOR_PPM} from "../types/Limits.sol";

/// @title Changes of a reputation
library ReputationLib {
    /// @notice The reputation after `steps`: negative ones are slashes, positive ones recoveries.
    /// @dev The loop ends at the floor, after at most 21 slashes from the top, and `steps` has 8 bits anyway.
    /// @param reputation parts per million, between the floor and one
    /// @param steps -128 to 127
    function moved(uint32 reputation, int8 steps) internal pure returns (uint32) {
        uint256 value = reputation;
        if (steps > 0) {
            // Positive, so the cast keeps the value.
            value += uint256(int256(steps)) * RECOVERY_STEP_PPM;
            if (value > REPUTATION_ONE) value = REPUTATION_ONE;
        }
        for (int256 i = steps; i < 0 && value > REPUTATION_FLOOR; ++i) {
            // Rounds down, against the agent.
            value = (value * SLASH_FACTOR_PPM) / REPUTATION_ONE;
            if (value < REPUTATION_FLOOR) value = REPUTATION_FLOOR;
        }
        // At most REPUTATION_ONE.
        return uint32(value);
    }

    /// @notice The slashes of a fall that take effect: in one period only the deepest fall counts, so earlier slashes
    /// are subtracted (RE4).
    /// @param fall the deepest of the last period with one: number of the period, 14 bits, then slashes, 2 bits
    /// @param steps -`MAX_SLASHES` to -1
    /// @return counted 0 if there was one as deep in this period
    /// @return deepest the deepest fall of this period
    function fallen(uint16 fall, int8 steps) internal view returns (int8 counted, uint16 deepest) {
        // 14 bits of weeks are 314 years.
        uint16 period = uint16(block.timestamp / FALL_PERIOD) & 0x3fff;
        // slither-disable-next-line incorrect-equality: numbers of weeks; who could move a block over a weekend gains a week
        int8 before = fall >> 2 == period ? int8(uint8(fall & 3)) : int8(0);
        if (-steps <= before) return (0, fall);
        return (steps + before, (period << 2) | uint16(uint8(-steps)));
    }
}
