// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {JOINING_DELAY, MAX_BOND_SHARE_BITS, MAX_SHARE_BITS, PPM_ONE} from "../types/Limits.sol";
import {AgentId, Pot} from "../types/Types.sol";

/// @title The stake behind one agent, in shares of its operator and its delegators
/// @notice There are two pots: the bonded stake and the unbonding stake. An account that bonds gets shares of the first
/// pot; an account that unbonds exchanges them for shares of the second. A slash takes assets from both pots and does
/// not change the shares.
/// @notice Bonded shares are stake at once. They join first, and earn from the joining delay on (RW6).
/// @dev Every rounding is against the account that moves, so a move of one account never lowers the worth of another's
/// shares (ST2). Assets enter only through `bond`: a token that somebody sends to the registry belongs to nobody, so
/// nobody can push up the price of a share. A pot begins at 1 : 1, and a share is never worth more than 1. So a bond
/// mints at least as many shares as it adds assets, and the first depositor cannot make a later one round down to
/// nothing (ST3).
library StakePool {
    /// @param shares number of shares of the bonded pot
    /// @param end unix seconds from which on they may begin to earn
    struct Lot {
        uint128 shares;
        uint40 end;
    }

    /// @notice An account's shares of the bonded pot. The first lot keeps its end. Later bonds go to the second, which
    /// moves up when the first begins to earn. So nobody waits for more than two delays, however often it bonds.
    /// @param earning shares that take part in pay
    /// @param first empty only if the second one is
    struct Holding {
        uint128 earning;
        Lot first;
        Lot second;
    }

    /// @param shares number of shares of the unbonding pot
    /// @param end unix seconds from which on the account may withdraw the shares
    /// @param generation the generation of the pot that the shares belong to
    struct Ticket {
        uint128 shares;
        uint40 end;
        uint32 generation;
    }

    /// @param generation the generation of the unbonding pot. A pot that was slashed to nothing is given up together
    /// with its tickets, so that its worthless shares do not stop others from unbonding
    /// @param joining number of shares of the bonded pot that do not earn yet
    struct State {
        Pot bonded;
        Pot unbonding;
        uint32 generation;
        uint128 joining;
        mapping(address account => Holding holding) holdings;
        mapping(address account => Ticket ticket) tickets;
    }

    /// @notice Adds assets and mints shares for them, which earn at once if the pot has no others.
    /// @dev Refuses a bond while a share is worth less than 2^-16 units. `_cut` takes all of a pot when a share would
    /// be worth less than 2^-32. An account that bonded when a share was worth a unit loses almost nothing by that;
    /// one that bonds shortly before would lose nearly its whole bond. The 16 bits between the two limits take
    /// about 105 slashes, so the rest that `_cut` takes in the end is less than 2^-16 of a bond. Only slashes (and the
    /// rounding of small pots) bring a price so low: at least 105 slashes in a pot of more than about 2^20 units. The
    /// accounts that are left can still unbond.
    /// @return shares minted for the account
    /// @return end unix seconds from which on they may begin to earn; 0 = they earn at once
    function bond(
        State storage self,
        AgentId agentId,
        address account,
        uint128 amount,
        uint128 maxStake
    ) internal returns (uint128 shares, uint40 end) {
        Pot memory pot = self.bonded;
        require(pot.assets != 0 || pot.shares == 0, IAgentRegistry.PoolEmptied(agentId));
        require(
            uint256(pot.assets) << MAX_BOND_SHARE_BITS >= pot.shares,
            IAgentRegistry.SharesAreDust(agentId, pot.assets, pot.shares)
        );
        uint256 wanted = uint256(pot.assets) + amount;
        require(wanted <= maxStake, IAgentRegistry.StakeAboveMaximum(wanted, maxStake));
        shares = _add(self.bonded, pot, amount);
        Holding storage holding = self.holdings[account];
        if (pot.shares == 0) {
            holding.earning = shares;
            return (shares, 0);
        }
        // The cast is safe for 34,000 years.
        end = uint40(block.timestamp + JOINING_DELAY);
        Lot storage lot = holding.first.shares == 0 ? holding.first : holding.second;
        lot.shares += shares;
        lot.end = end;
        self.joining += shares;
    }

    /// @notice Lets the account's shares earn that have joined for long enough.
    /// @return shares how many
    function startEarning(State storage self, address account) internal returns (uint128 shares) {
        Holding storage holding = self.holdings[account];
        Lot memory first = holding.first;
        if (first.shares == 0 || block.timestamp < first.end) return 0;
        Lot memory second = holding.second;
        shares = first.shares;
        if (second.shares != 0) {
            delete holding.second;
            // The second lot never ends before the first.
            if (block.timestamp >= second.end) {
                shares += second.shares;
                delete second;
            }
        }
        holding.first = second;
        holding.earning += shares;
        self.joining -= shares;
    }

    /// @notice Moves the assets of bonded shares to the account's ticket. The whole ticket gets the new `end`. The shares
    /// that joined last leave first.
    function unbond(
        State storage self,
        AgentId agentId,
        address account,
        uint128 shares,
        uint40 end
    ) internal returns (uint128 amount, uint128 unbondingShares) {
        uint128 held = sharesOf(self, account);
        require(shares <= held, IAgentRegistry.InsufficientShares(agentId, account, held, shares));
        amount = _take(self.bonded, shares);
        require(amount != 0, IAgentRegistry.AmountIsZero());
        _leave(self, self.holdings[account], shares);
        unbondingShares = _add(self.unbonding, self.unbonding, amount);
        Ticket memory ticket = self.tickets[account];
        uint32 generation = self.generation;
        uint128 earlier = ticket.generation == generation ? ticket.shares : 0;
        self.tickets[account] = Ticket({shares: earlier + unbondingShares, end: end, generation: generation});
    }

    /// @notice Burns the account's ticket.
    function withdraw(
        State storage self,
        AgentId agentId,
        address account
    ) internal returns (uint128 amount, uint128 unbondingShares) {
        Ticket memory ticket = self.tickets[account];
        require(ticket.generation == self.generation, IAgentRegistry.NothingToWithdraw(agentId, account));
        require(block.timestamp >= ticket.end, IAgentRegistry.StillUnbonding(agentId, account, ticket.end));
        unbondingShares = ticket.shares;
        amount = _take(self.unbonding, unbondingShares);
        require(amount != 0, IAgentRegistry.NothingToWithdraw(agentId, account));
        delete self.tickets[account];
    }

    /// @notice Takes the penalty from both pots.
    /// @param ppm the penalty in parts per million of each pot
    /// @return bonded amount taken from the bonded pot
    /// @return unbonding amount taken from the unbonding pot
    /// @return ownLoss amount by which the operator's shares of both pots lost worth
    function slash(
        State storage self,
        address operator,
        uint256 ppm
    ) internal returns (uint128 bonded, uint128 unbonding, uint256 ownLoss) {
        uint256 own = uint256(bondedOf(self, operator)) + unbondingOf(self, operator);
        bonded = _cut(self.bonded, ppm);
        unbonding = _cut(self.unbonding, ppm);
        if (unbonding != 0 && self.unbonding.assets == 0) {
            self.unbonding.shares = 0;
            // There are never 2^32 slashes; the addition is checked anyway.
            ++self.generation;
        }
        ownLoss = own - bondedOf(self, operator) - unbondingOf(self, operator);
    }

    /// @notice Returns how many shares of the bonded pot the account has.
    function sharesOf(State storage self, address account) internal view returns (uint128) {
        return self.holdings[account].earning + joiningOf(self, account);
    }

    /// @notice Returns how many of them do not earn yet.
    function joiningOf(State storage self, address account) internal view returns (uint128) {
        Holding storage holding = self.holdings[account];
        uint128 first = holding.first.shares;
        return first == 0 ? 0 : first + holding.second.shares;
    }

    /// @notice Returns from when on the first of these may begin to earn, in unix seconds; 0 without any.
    function joiningEndOf(State storage self, address account) internal view returns (uint40) {
        Lot memory first = self.holdings[account].first;
        return first.shares == 0 ? 0 : first.end;
    }

    /// @notice Returns how many of them take part in pay.
    function earningOf(State storage self, address account) internal view returns (uint128) {
        return self.holdings[account].earning;
    }

    /// @notice Returns how many shares of all accounts take part in pay.
    function earning(State storage self) internal view returns (uint128) {
        return self.bonded.shares - self.joining;
    }

    /// @notice Returns the worth of the account's bonded shares, rounded down.
    function bondedOf(State storage self, address account) internal view returns (uint128) {
        return _worth(self.bonded, sharesOf(self, account));
    }

    /// @notice Returns the worth of the account's ticket, rounded down.
    function unbondingOf(State storage self, address account) internal view returns (uint128) {
        return _worth(self.unbonding, ticketOf(self, account).shares);
    }

    /// @notice Returns the account's ticket. It is empty if the pot of its shares was slashed to nothing.
    function ticketOf(State storage self, address account) internal view returns (Ticket memory ticket) {
        ticket = self.tickets[account];
        if (ticket.generation != self.generation) delete ticket;
    }

    /// @dev Takes shares from the second lot, then from the first, then from those that earn. The account has that many.
    function _leave(State storage self, Holding storage holding, uint128 shares) private {
        uint128 left = _takeFrom(holding.first, _takeFrom(holding.second, shares));
        if (left != shares) self.joining -= shares - left;
        if (left != 0) holding.earning -= left;
    }

    /// @return left how many of the shares the lot does not have
    function _takeFrom(Lot storage lot, uint128 shares) private returns (uint128 left) {
        uint128 held = lot.shares;
        if (held > shares) {
            lot.shares = held - shares;
            return 0;
        }
        if (held != 0) delete lot.shares;
        return shares - held;
    }

    /// @dev Rounds the shares down, against the account that adds.
    function _add(Pot storage stored, Pot memory pot, uint128 amount) private returns (uint128 shares) {
        // A share is worth at least 2^-32 units (`_cut`), so the shares fit unless one pot holds 2^96 units; checked
        // anyway.
        uint256 minted = pot.shares == 0 ? amount : (uint256(amount) * pot.shares) / pot.assets;
        uint256 total = minted + pot.shares;
        require(total <= type(uint128).max, IAgentRegistry.TooManyShares(total));
        shares = uint128(minted);
        stored.assets = pot.assets + amount;
        stored.shares = uint128(total);
    }

    /// @dev Rounds the assets down, against the account that takes. The last shares take all assets.
    function _take(Pot storage stored, uint128 shares) private returns (uint128 amount) {
        Pot memory pot = stored;
        amount = _worth(pot, shares);
        // The caller has checked that the pot contains these shares.
        stored.assets = pot.assets - amount;
        stored.shares = pot.shares - shares;
    }

    /// @dev Rounds up, against the agent. If a share would be worth less than 2^-32 units afterwards, takes the rest,
    /// too. Such a rest is worth nothing to its owners, and the number of shares stays bounded.
    function _cut(Pot storage stored, uint256 ppm) private returns (uint128 penalty) {
        Pot memory pot = stored;
        if (pot.assets == 0) return 0;
        uint256 cut = (uint256(pot.assets) * ppm + PPM_ONE - 1) / PPM_ONE;
        uint256 left = pot.assets - cut;
        if (left << MAX_SHARE_BITS < pot.shares) left = 0;
        // The rest is at most the assets.
        stored.assets = uint128(left);
        penalty = uint128(pot.assets - left);
    }

    function _worth(Pot memory pot, uint128 shares) private pure returns (uint128) {
        // The worth is at most the assets, since the pot contains these shares.
        return shares == 0 ? 0 : uint128((uint256(shares) * pot.assets) / pot.shares);
    }
}
