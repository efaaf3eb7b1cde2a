// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {PPM_ONE} from "../types/Limits.sol";
import {Currency} from "../types/Types.sol";
import {Balances} from "./BalancesLib.sol";

/// @title The earnings of one agent, and their owners (RW1 to RW6)
/// @notice Pay comes in as pending. It is divided before anything that it is divided by changes (the shares of the bonded
/// pot, the commission) and before anybody claims: the operator's commission first, the rest by the shares. A claim reads
/// and writes as much however many share.
/// @dev What is owed is kept in units of 2^-128 of the currency's smallest unit. Every division rounds down: no more is owed
/// than came in. A division leaves less than 2^-128 units for each share (at most 2^128), which is nobody's; what is less
/// than a unit of an account's own stays its own and is paid with what comes later.
/// @dev No sum overflows: all amounts are in the registry's credit at the oracle, which holds less than 2^104 units of a
/// currency, and what an account is owed is part of it, so below 2^232. Growth may wrap around: the difference between it
/// and an account's mark, times the account's shares, is part of what is owed, so the difference is exact.
library RewardsLib {
    uint256 private constant FRACTION_BITS = 128;
    uint256 private constant CURRENCIES = 2;

    /// @param mark growth up to which `owed` counts
    /// @param owed claimable, in units of 2^-128
    struct Holder {
        uint256 mark;
        uint256 owed;
    }

    /// @param pending the pending amount of each currency, not divided yet
    /// @param growth what a share has earned since the beginning, of each currency, in units of 2^-128, modulo 2^256
    struct State {
        Balances pending;
        uint256[CURRENCIES] growth;
        mapping(address account => Holder[CURRENCIES] holders) holders;
    }

    /// @notice What pending pay is divided by.
    /// @param operator gets the commission
    /// @param commission parts per million
    /// @param shares all of the bonded pot
    struct Division {
        address operator;
        uint256 commission;
        uint256 shares;
    }

    /// @dev The one write for each seat that is paid.
    function credit(State storage self, Currency currency, uint256 amount) internal {
        self.pending = self.pending.add(currency, amount);
    }

    /// @notice Divides what is pending.
    function divide(State storage self, Division memory by) internal {
        Balances pending = self.pending;
        if (Balances.unwrap(pending) == 0) return;
        self.pending = Balances.wrap(0);
        for (uint256 i = 0; i < CURRENCIES; ++i) {
            (uint256 commission, uint256 growth) = _parts(pending.amountIn(Currency(i)), by);
            if (commission != 0) self.holders[by.operator][i].owed += commission;
            unchecked {
                // Wraps around, see above.
                if (growth != 0) self.growth[i] += growth;
            }
        }
    }

    /// @notice Credits an account with what its shares have earned; before they change.
    /// @param shares how many shares of the bonded pot, the same since the account's last update
    function update(State storage self, address account, uint256 shares) internal {
        for (uint256 i = 0; i < CURRENCIES; ++i) {
            Holder storage holder = self.holders[account][i];
            (uint256 growth, uint256 mark) = (self.growth[i], holder.mark);
            // slither-disable-next-line incorrect-equality: nothing was divided since
            if (growth == mark) continue;
            holder.mark = growth;
            if (shares != 0) holder.owed += _earned(shares, growth, mark);
        }
    }

    /// @notice Takes all whole units that an account is owed; after `divide` and `update`.
    function take(State storage self, address account, Currency currency) internal returns (uint256 amount) {
        Holder storage holder = self.holders[account][uint256(currency)];
        uint256 owed = holder.owed;
        amount = owed >> FRACTION_BITS;
        holder.owed = owed - (amount << FRACTION_BITS);
    }

    /// @notice What `take` would return after `divide` and `update`.
    function rewardsOf(
        State storage self,
        Division memory by,
        address account,
        uint256 shares,
        Currency currency
    ) internal view returns (uint256) {
        (uint256 commission, uint256 growth) = _parts(self.pending.amountIn(currency), by);
        Holder memory holder = self.holders[account][uint256(currency)];
        unchecked {
            // Wraps around, see above.
            growth += self.growth[uint256(currency)];
        }
        uint256 owed = holder.owed + _earned(shares, growth, holder.mark);
        if (account == by.operator) owed += commission;
        return owed >> FRACTION_BITS;
    }

    /// @dev The commission rounds down, in favour of the shares. Without shares the operator gets all. 104 bits of the amount,
    /// 128 of the fraction and 20 of parts per million fit a word.
    function _parts(uint256 amount, Division memory by) private pure returns (uint256 commission, uint256 growth) {
        uint256 whole = amount << FRACTION_BITS;
        if (by.shares == 0) return (whole, 0);
        commission = (whole * by.commission) / PPM_ONE;
        growth = (whole - commission) / by.shares;
    }

    function _earned(uint256 shares, uint256 growth, uint256 mark) private pure returns (uint256) {
        unchecked {
            // See above.
            return shares * (growth - mark);
        }
    }
}
