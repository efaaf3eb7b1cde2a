// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {RECOVERY_STEP_PPM, REPUTATION_FLOOR, REPUTATION_ONE, SLASH_FACTOR_PPM} from "../types/Limits.sol";

/// @title Changes of a reputation
library ReputationLib {
    /// @notice Returns the reputation after `steps`: negative steps are slashes, positive steps are recoveries.
    /// @dev The loop ends at the floor, after at most 21 slashes from the top; `steps` also has only 8 bits.
    /// @param reputation parts per million, from the floor to one million
    /// @param steps -128 to 127
    function moved(uint32 reputation, int8 steps) internal pure returns (uint32) {
        uint256 value = reputation;
        unchecked {
            // The value is at most REPUTATION_ONE, and the steps have 8 bits.
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
        }
        // At most REPUTATION_ONE.
        return uint32(value);
    }
}
