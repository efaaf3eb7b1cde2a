// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {SKILL_MEMORY} from "../types/Limits.sol";

/// @title What contested decisions teach about an agent: two counters, and the skill that they yield (SK4, SK6)
/// @dev agents/core/skill.ts counts the same; both follow test/vectors/skill.json.
library SkillLib {
    /// @notice Returns 1, 2 or 3: (agreed + 3) / (contested + 5) is below 0.6, below 0.8, or above.
    /// @param agreed at most `contested`
    /// @param contested below SKILL_MEMORY
    function skillOf(uint256 agreed, uint256 contested) internal pure returns (uint8) {
        unchecked {
            // Both counters are below SKILL_MEMORY.
            uint256 part = 5 * (agreed + 3);
            uint256 whole = contested + 5;
            if (part >= 4 * whole) return 3;
            return part >= 3 * whole ? 2 : 1;
        }
    }

    /// @notice Returns the counters after one more contested decision.
    function learned(uint256 agreed, uint256 contested, bool agrees) internal pure returns (uint256, uint256) {
        unchecked {
            // Both counters are at most SKILL_MEMORY.
            ++contested;
            if (agrees) ++agreed;
            return contested == SKILL_MEMORY ? (agreed / 2, contested / 2) : (agreed, contested);
        }
    }
}
