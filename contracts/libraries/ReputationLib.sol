// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {FALL_PERIOD, RECOVERY_STEP_PPM, REPUTATION_FLOOR, REPUTATION_ONE, SLASH_FACTOR_PPM} from "../types/Limits.sol";

/// @title Changes of a reputation
library ReputationLib {
    /// @notice Returns the reputation after `steps`: negative steps are slashes, positive steps are recoveries.
    /// @dev The loop ends at the floor, after at most 21 slashes from the top; `steps` also has only 8 bits.
    /// @param reputation parts per million, from the floor to one million
    /// @param steps -128 to 127
    function moved(uint32 reputation, int8 steps) internal pure returns (uint32) {
        uint256 value = reputation;
        if (steps > 0) {
            // The value is positive, so the cast keeps it.
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

    /// @notice Returns how many slashes of a fall take effect. In one period only the deepest fall counts, so the
    /// slashes that already took effect are subtracted (RE4).
    /// @param fall the deepest fall of the last period that had one: the number of the period in 14 bits, then the
    /// slashes in 2 bits
    /// @param steps -`MAX_SLASHES` to -1
    /// @return counted number of slashes that take effect; 0 if this period already had a fall as deep
    /// @return deepest the deepest fall of this period
    function fallen(uint16 fall, int8 steps) internal view returns (int8 counted, uint16 deepest) {
        // Numbers of weeks in 14 bits last for 314 years.
        uint16 period = uint16(block.timestamp / FALL_PERIOD) & 0x3fff;
        // slither-disable-next-line incorrect-equality: numbers of weeks; who could move a block over a weekend gains a week
        int8 before = fall >> 2 == period ? int8(uint8(fall & 3)) : int8(0);
        if (-steps <= before) return (0, fall);
        return (steps + before, (period << 2) | uint16(uint8(-steps)));
    }
}
