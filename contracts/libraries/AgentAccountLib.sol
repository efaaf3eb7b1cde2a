// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {MAX_MISSES, REPUTATION_ONE} from "../types/Limits.sol";
import {Currency} from "../types/Types.sol";

/// @notice All that a settlement writes of an agent, in one word: exited uint8 (1 = it has left the draw for good) | misses uint8 (in
/// a row) | fall uint16 (see `ReputationLib.fallen`) | service uint8 (at most PROVEN_SERVICE) | reputation uint24 (parts per
/// million) | native uint96 (pay that is not divided yet) | token uint96. From the highest bit to the lowest.
type AgentAccount is uint256;

using AgentAccountLib for AgentAccount global;

/// @title The account of an agent in one word
/// @dev The casts to narrower types cut the word to the member's width on purpose.
library AgentAccountLib {
    uint256 private constant PAY_BITS = 96;
    uint256 private constant MAX_PAY = type(uint96).max;
    uint256 private constant REPUTATION = 192;
    uint256 private constant SERVICE = 216;
    uint256 private constant FALL = 224;
    uint256 private constant MISSES = 240;
    uint256 private constant EXITED = 248;

    /// @notice Returns the account of an agent that has just registered.
    function fresh() internal pure returns (AgentAccount) {
        return AgentAccount.wrap(REPUTATION_ONE << REPUTATION);
    }

    function reputation(AgentAccount word) internal pure returns (uint32) {
        return uint24(AgentAccount.unwrap(word) >> REPUTATION);
    }

    function service(AgentAccount word) internal pure returns (uint8) {
        return uint8(AgentAccount.unwrap(word) >> SERVICE);
    }

    function fall(AgentAccount word) internal pure returns (uint16) {
        return uint16(AgentAccount.unwrap(word) >> FALL);
    }

    /// @return at most MAX_MISSES
    function misses(AgentAccount word) internal pure returns (uint8) {
        return uint8(AgentAccount.unwrap(word) >> MISSES);
    }

    /// @notice True if the agent missed too many seats in a row and was not woken since.
    function asleep(AgentAccount word) internal pure returns (bool) {
        return misses(word) == MAX_MISSES;
    }

    function exited(AgentAccount word) internal pure returns (bool) {
        return AgentAccount.unwrap(word) >> EXITED != 0;
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
        return AgentAccount.wrap((AgentAccount.unwrap(word) >> REPUTATION) << REPUTATION);
    }

    /// @param reputation_ at most REPUTATION_ONE
    function withReputation(AgentAccount word, uint32 reputation_) internal pure returns (AgentAccount) {
        return _with(word, REPUTATION, type(uint24).max, reputation_);
    }

    function withService(AgentAccount word, uint8 service_) internal pure returns (AgentAccount) {
        return _with(word, SERVICE, type(uint8).max, service_);
    }

    function withFall(AgentAccount word, uint16 fall_) internal pure returns (AgentAccount) {
        return _with(word, FALL, type(uint16).max, fall_);
    }

    function withMisses(AgentAccount word, uint8 misses_) internal pure returns (AgentAccount) {
        return _with(word, MISSES, type(uint8).max, misses_);
    }

    function withExited(AgentAccount word) internal pure returns (AgentAccount) {
        return AgentAccount.wrap(AgentAccount.unwrap(word) | (1 << EXITED));
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
