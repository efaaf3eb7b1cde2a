// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {MAX_MISSES, MAX_WEEKLY_LESSONS, PROVEN_SERVICE, REPUTATION_ONE, WEEK_SECONDS} from "../types/Limits.sol";
import {Currency} from "../types/Types.sol";
import {SkillLib} from "./SkillLib.sol";

/// @notice All that a settlement writes of an agent, in one word: exited uint1 (1 = it has left the draw for good) | misses uint2 (in
/// a row) | service uint5 (at most PROVEN_SERVICE) | reputation uint20 (parts per million) | week uint14 (the last one with a fall or
/// a lesson) | slashes uint2 (its deepest fall) | lessons uint4 (its lessons) | contested uint7 and agreed uint7 (see `SkillLib`) | native
/// uint96 (pay that is not divided yet) | token uint96. From the highest bit to the lowest; the bits above are 0.
type AgentAccount is uint256;

using AgentAccountLib for AgentAccount global;

/// @title The account of an agent in one word
/// @dev The casts to narrower types and the masks cut the word to the member's width on purpose.
library AgentAccountLib {
    uint256 private constant PAY_BITS = 96;
    uint256 private constant MAX_PAY = type(uint96).max;
    uint256 private constant AGREED = 192;
    uint256 private constant CONTESTED = 199;
    uint256 private constant LESSONS = 206;
    uint256 private constant SLASHES = 210;
    uint256 private constant WEEK = 212;
    uint256 private constant REPUTATION = 226;
    uint256 private constant SERVICE = 246;
    uint256 private constant MISSES = 251;
    uint256 private constant EXITED = 253;

    /// @notice Returns the account of an agent that has just registered.
    function fresh() internal pure returns (AgentAccount) {
        return AgentAccount.wrap(REPUTATION_ONE << REPUTATION);
    }

    function reputation(AgentAccount word) internal pure returns (uint32) {
        return uint32(AgentAccount.unwrap(word) >> REPUTATION) & 0xfffff;
    }

    function service(AgentAccount word) internal pure returns (uint8) {
        return uint8(AgentAccount.unwrap(word) >> SERVICE) & 0x1f;
    }

    /// @notice Returns the number of the last week with a fall or a lesson, modulo 2^14.
    function week(AgentAccount word) internal pure returns (uint256) {
        return (AgentAccount.unwrap(word) >> WEEK) & 0x3fff;
    }

    /// @notice Returns the deepest fall of that week.
    function slashes(AgentAccount word) internal pure returns (uint8) {
        return uint8(AgentAccount.unwrap(word) >> SLASHES) & 0x3;
    }

    /// @notice Returns how many lessons of that week count.
    function lessons(AgentAccount word) internal pure returns (uint256) {
        return (AgentAccount.unwrap(word) >> LESSONS) & 0xf;
    }

    /// @notice Returns the contested decisions that count.
    function contested(AgentAccount word) internal pure returns (uint8) {
        return uint8(AgentAccount.unwrap(word) >> CONTESTED) & 0x7f;
    }

    /// @notice Returns in how many of them the agent agreed.
    function agreed(AgentAccount word) internal pure returns (uint8) {
        return uint8(AgentAccount.unwrap(word) >> AGREED) & 0x7f;
    }

    /// @notice Returns what the agent counts where skill counts: 1, 2 or 3.
    function skill(AgentAccount word) internal pure returns (uint8) {
        return SkillLib.skillOf(agreed(word), contested(word));
    }

    /// @return at most MAX_MISSES
    function misses(AgentAccount word) internal pure returns (uint8) {
        return uint8(AgentAccount.unwrap(word) >> MISSES) & 0x3;
    }

    /// @notice True if the agent missed too many seats in a row and was not woken since.
    function asleep(AgentAccount word) internal pure returns (bool) {
        return misses(word) == MAX_MISSES;
    }

    function exited(AgentAccount word) internal pure returns (bool) {
        return AgentAccount.unwrap(word) >> EXITED != 0;
    }

    /// @notice True if the two accounts agree in all but pay.
    function onlyPayDiffers(AgentAccount word, AgentAccount other) internal pure returns (bool) {
        return (AgentAccount.unwrap(word) ^ AgentAccount.unwrap(other)) >> AGREED == 0;
    }

    /// @notice Returns the pay in the currency that is not divided yet.
    function payIn(AgentAccount word, Currency currency) internal pure returns (uint256) {
        return (AgentAccount.unwrap(word) >> _shift(currency)) & MAX_PAY;
    }

    /// @notice True if some pay is not divided yet.
    function hasPay(AgentAccount word) internal pure returns (bool) {
        return AgentAccount.unwrap(word) << (256 - 2 * PAY_BITS) != 0;
    }

    /// @notice True if the word has room for this much more pay.
    function fits(AgentAccount word, Currency currency, uint256 amount) internal pure returns (bool) {
        unchecked {
            // The pay is at most MAX_PAY.
            return amount <= MAX_PAY - payIn(word, currency);
        }
    }

    /// @dev The amount must fit: ask `fits` first.
    function paid(AgentAccount word, Currency currency, uint256 amount) internal pure returns (AgentAccount) {
        unchecked {
            // The caller keeps the sum within its bits.
            return AgentAccount.wrap(AgentAccount.unwrap(word) + (amount << _shift(currency)));
        }
    }

    /// @notice Returns the account after its pay was divided.
    function withoutPay(AgentAccount word) internal pure returns (AgentAccount) {
        return AgentAccount.wrap((AgentAccount.unwrap(word) >> AGREED) << AGREED);
    }

    /// @param reputation_ at most REPUTATION_ONE
    function withReputation(AgentAccount word, uint32 reputation_) internal pure returns (AgentAccount) {
        return _with(word, REPUTATION, 0xfffff, reputation_);
    }

    /// @notice Returns the account with one more service, until it is proven.
    function withService(AgentAccount word) internal pure returns (AgentAccount) {
        if (service(word) == PROVEN_SERVICE) return word;
        unchecked {
            // The service is below PROVEN_SERVICE.
            return AgentAccount.wrap(AgentAccount.unwrap(word) + (1 << SERVICE));
        }
    }

    /// @notice Returns the account after a fall, and how many slashes of it take effect. In one week only the deepest fall counts, so
    /// the slashes that already took effect are taken off (RE4).
    /// @param steps -`MAX_SLASHES` to -1
    /// @return latest the account
    /// @return counted minus the number of slashes that take effect; 0 if this week already had a fall as deep
    function withFall(AgentAccount word, int8 steps) internal view returns (AgentAccount latest, int8 counted) {
        latest = _inThisWeek(word);
        int8 before = int8(slashes(latest));
        unchecked {
            // Both numbers are at most 3.
            if (-steps <= before) return (latest, 0);
            return (_with(latest, SLASHES, 0x3, uint8(-steps)), steps + before);
        }
    }

    /// @notice Returns the account after one more contested decision, if the week has room for it (SK4, SK5).
    function withLesson(AgentAccount word, bool agrees) internal view returns (AgentAccount) {
        word = _inThisWeek(word);
        // slither-disable-next-line incorrect-equality: this function alone adds lessons, one at a time
        if (lessons(word) == MAX_WEEKLY_LESSONS) return word;
        (uint256 agreed_, uint256 contested_) = SkillLib.learned(agreed(word), contested(word), agrees);
        unchecked {
            // The lessons are below MAX_WEEKLY_LESSONS.
            return
                AgentAccount.wrap(
                    AgentAccount.unwrap(_with(word, AGREED, 0x3fff, (contested_ << (CONTESTED - AGREED)) | agreed_)) +
                        (1 << LESSONS)
                );
        }
    }

    /// @notice Returns the account with one more miss, until it is asleep.
    function withMiss(AgentAccount word) internal pure returns (AgentAccount) {
        if (asleep(word)) return word;
        unchecked {
            // The misses are below MAX_MISSES.
            return AgentAccount.wrap(AgentAccount.unwrap(word) + (1 << MISSES));
        }
    }

    /// @notice Returns the account after a seat that was not missed. Only `awake` ends a sleep.
    function withoutMisses(AgentAccount word) internal pure returns (AgentAccount) {
        return asleep(word) ? word : awake(word);
    }

    /// @notice Returns the account without misses.
    function awake(AgentAccount word) internal pure returns (AgentAccount) {
        return _with(word, MISSES, 0x3, 0);
    }

    function withExited(AgentAccount word) internal pure returns (AgentAccount) {
        return AgentAccount.wrap(AgentAccount.unwrap(word) | (1 << EXITED));
    }

    /// @dev Returns the account as it is in the running week: a new week has neither falls nor lessons.
    function _inThisWeek(AgentAccount word) private view returns (AgentAccount) {
        // Numbers of weeks in 14 bits last for 314 years.
        uint256 running = (block.timestamp / WEEK_SECONDS) & 0x3fff;
        // slither-disable-next-line incorrect-equality: numbers of weeks; who could move a block over a weekend gains a week
        if (week(word) == running) return word;
        return _with(word, LESSONS, 0xfffff, running << (WEEK - LESSONS));
    }

    function _with(AgentAccount word, uint256 shift, uint256 mask, uint256 value) private pure returns (AgentAccount) {
        return AgentAccount.wrap((AgentAccount.unwrap(word) & ~(mask << shift)) | (value << shift));
    }

    function _shift(Currency currency) private pure returns (uint256) {
        unchecked {
            return PAY_BITS * uint256(currency);
        }
    }
}
