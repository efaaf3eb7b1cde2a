// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {Currency} from "../types/Types.sol";

/// @notice The balance of an account in each currency, and a count, in one word: count uint48 | native uint104 | token uint104. From
/// the highest bit to the lowest.
type Balances is uint256;

using BalancesLib for Balances global;

/// @title Sums of both currencies that never mix (SE19)
library BalancesLib {
    uint256 private constant BITS = 104;
    uint256 private constant MAX = type(uint104).max;
    uint256 private constant COUNT_SHIFT = 2 * BITS;

    /// @notice The balance would exceed 2^104 - 1, which is more than all units of a currency.
    error BalanceOverflow(uint256 balance, uint256 added);

    /// @notice Returns the amounts with a count of 0.
    function pack(uint104 token, uint104 native) internal pure returns (Balances) {
        return Balances.wrap((uint256(native) << BITS) | token);
    }

    function amountIn(Balances balances, Currency currency) internal pure returns (uint256) {
        return (Balances.unwrap(balances) >> _shift(currency)) & MAX;
    }

    function add(Balances balances, Currency currency, uint256 amount) internal pure returns (Balances) {
        uint256 held = amountIn(balances, currency);
        require(amount <= MAX - held, BalanceOverflow(held, amount));
        unchecked {
            // The check above keeps the sum within its bits.
            return Balances.wrap(Balances.unwrap(balances) + (amount << _shift(currency)));
        }
    }

    /// @dev The amount must not exceed the balance: compare it with `amountIn` first.
    function sub(Balances balances, Currency currency, uint256 amount) internal pure returns (Balances) {
        unchecked {
            return Balances.wrap(Balances.unwrap(balances) - (amount << _shift(currency)));
        }
    }

    function count(Balances balances) internal pure returns (uint48) {
        // The count has the highest bits.
        return uint48(Balances.unwrap(balances) >> COUNT_SHIFT);
    }

    /// @dev Checked arithmetic: a count of 2^48 reverts.
    function counted(Balances balances) internal pure returns (Balances) {
        return Balances.wrap(Balances.unwrap(balances) + (1 << COUNT_SHIFT));
    }

    function _shift(Currency currency) private pure returns (uint256) {
        unchecked {
            return BITS * uint256(currency);
        }
    }
}
