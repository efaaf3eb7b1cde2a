// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {PPM_ONE} from "../types/Limits.sol";
import {Currency} from "../types/Types.sol";
import {AgentAccount} from "./AgentAccountLib.sol";

/// @title The earnings of one agent, and the accounts that own them (RW1 to RW6)
/// @notice Pay waits in the agent's account (`AgentAccount`). It is divided before anybody claims, and before the shares that earn or the
/// commission change: the operator gets the commission first, the shares get the rest. The cost of a claim does not
/// depend on how many accounts share.
/// @dev Debts are kept in units of 2^-128 of the currency's smallest unit. Every division rounds down, so the accounts
/// are never owed more than came in. A division leaves less than 2^-128 units for each share (of at most 2^128 shares),
/// which belong to nobody. The fraction of a unit that an account is owed stays its own and is paid with later
/// earnings.
/// @dev No sum overflows. All amounts are part of the registry's credit at the oracle, which holds less than 2^104
/// units of a currency; an account is owed a part of it, so less than 2^232. Growth may wrap around: the difference
/// between growth and what an account has counted, times the account's shares, is part of what the account is owed, so the
/// difference is exact.
library RewardsLib {
    uint256 private constant FRACTION_BITS = 128;
    uint256 private constant CURRENCIES = 2;

    /// @param counted the growth up to which `owed` includes all earnings
    /// @param owed the claimable amount, in units of 2^-128
    struct Holder {
        uint256 counted;
        uint256 owed;
    }

    /// @param growth the earnings of one share since the beginning, in each currency, in units of 2^-128, modulo 2^256
    struct State {
        uint256[CURRENCIES] growth;
        mapping(address account => Holder[CURRENCIES] holders) holders;
    }

    /// @notice The values by which pending pay is divided.
    /// @param operator the account that gets the commission
    /// @param commission the operator's part, in parts per million
    /// @param shares all shares that earn
    struct Division {
        address operator;
        uint256 commission;
        uint256 shares;
    }

    /// @notice Divides all pay that waits in the agent's account. The caller clears it there.
    function divide(State storage self, AgentAccount pending, Division memory by) internal {
        for (uint256 i = 0; i < CURRENCIES; ++i) {
            (uint256 commission, uint256 growth) = _parts(pending.payIn(Currency(i)), by);
            if (commission != 0) self.holders[by.operator][i].owed += commission;
            unchecked {
                // The growth may wrap around, see above.
                if (growth != 0) self.growth[i] += growth;
            }
        }
    }

    /// @notice Credits an account with the earnings of its shares. Call it before the shares change.
    /// @param shares the account's shares that earn, which have not changed since its last update
    function update(State storage self, address account, uint256 shares) internal {
        for (uint256 i = 0; i < CURRENCIES; ++i) {
            Holder storage holder = self.holders[account][i];
            (uint256 growth, uint256 counted) = (self.growth[i], holder.counted);
            // slither-disable-next-line incorrect-equality: nothing was divided since
            if (growth == counted) continue;
            holder.counted = growth;
            if (shares != 0) holder.owed += _earned(shares, growth, counted);
        }
    }

    /// @notice Takes all whole units that an account is owed. Call it after `divide` and `update`.
    function take(State storage self, address account, Currency currency) internal returns (uint256 amount) {
        Holder storage holder = self.holders[account][uint256(currency)];
        uint256 owed = holder.owed;
        amount = owed >> FRACTION_BITS;
        holder.owed = owed - (amount << FRACTION_BITS);
    }

    /// @notice Returns what `take` would return after `divide` and `update`.
    function rewardsOf(
        State storage self,
        AgentAccount pending,
        Division memory by,
        address account,
        uint256 shares,
        Currency currency
    ) internal view returns (uint256) {
        (uint256 commission, uint256 growth) = _parts(pending.payIn(currency), by);
        Holder memory holder = self.holders[account][uint256(currency)];
        unchecked {
            // The growth may wrap around, see above.
            growth += self.growth[uint256(currency)];
        }
        uint256 owed = holder.owed + _earned(shares, growth, holder.counted);
        if (account == by.operator) owed += commission;
        return owed >> FRACTION_BITS;
    }

    /// @dev The commission rounds down, in favour of the shares. Without shares that earn the operator gets everything. A word
    /// has room for 104 bits of the amount, 128 bits of the fraction and 20 bits of parts per million.
    function _parts(uint256 amount, Division memory by) private pure returns (uint256 commission, uint256 growth) {
        uint256 whole = amount << FRACTION_BITS;
        if (by.shares == 0) return (whole, 0);
        unchecked {
            // The product fits, and the commission is a part of the whole.
            commission = (whole * by.commission) / PPM_ONE;
            growth = (whole - commission) / by.shares;
        }
    }

    function _earned(uint256 shares, uint256 growth, uint256 counted) private pure returns (uint256) {
        unchecked {
            // The product fits, see above.
            return shares * (growth - counted);
        }
    }
}
