// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

/// @title What contested decisions teach about an agent: two counters that decay, and the skill that they yield
/// @dev agents/core/skill.ts counts the same; both read test/vectors/skill.json.
library SkillLib {
    /// @dev What one decision adds to a counter.
    uint256 private constant UNIT = 256;
    uint256 private constant DECAY_SHIFT = 7;

    /// @param agreed at most `contested`
    /// @param contested at most 2^15
    /// @return 1, 2 or 3: (agreed + 3) / (contested + 5) is below 0.6, below 0.8, or above
    function skillOf(uint256 agreed, uint256 contested) internal pure returns (uint256) {
        unchecked {
            // Both counters are at most 2^15.
            uint256 part = 5 * (agreed + 3 * UNIT);
            uint256 whole = contested + 5 * UNIT;
            if (part >= 4 * whole) return 3;
            return part >= 3 * whole ? 2 : 1;
        }
    }

    /// @notice Returns the counters after one more contested decision. The decay rounds down: less than half a decision never decays.
    function learned(uint256 agreed, uint256 contested, bool agrees) internal pure returns (uint256, uint256) {
        unchecked {
            // A counter is never below its decay, and stays at most 2^15.
            return (
                agreed - (agreed >> DECAY_SHIFT) + (agrees ? UNIT : 0),
                contested - (contested >> DECAY_SHIFT) + UNIT
            );
        }
    }
}
