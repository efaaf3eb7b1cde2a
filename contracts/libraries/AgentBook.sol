// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {EXIT_REPUTATION, PROVEN_SERVICE, REPUTATION_ONE} from "../types/Limits.sol";
import {AgentId, Currency} from "../types/Types.sol";
import {Candidate, CandidateLib} from "./DrawLib.sol";
import {EpochArray} from "./EpochArray.sol";
import {ReputationLib} from "./ReputationLib.sol";
import {RewardsLib} from "./RewardsLib.sol";
import {SeatLib} from "./SeatLib.sol";
import {StakePool} from "./StakePool.sol";

/// @title The agents and the dense array of the active ones
/// @notice Owns every transition of an agent; the registry adds permissions, tokens and events. Each transition brings the
/// agent's word in the latest view of the array up to date, so the two cannot differ.
library AgentBook {
    using EpochArray for EpochArray.State;
    using RewardsLib for RewardsLib.State;
    using StakePool for StakePool.State;

    /// @param position index in the latest view of `active` plus 1; 0 = not active
    /// @param service settled requests that it was paid for, up to PROVEN_SERVICE
    /// @param fall see `ReputationLib.fallen`
    /// @param exited the reputation once fell below EXIT_REPUTATION, or a slash met the agent while it was not active
    /// @param commission parts per million
    /// @param announced a higher commission, from `raiseTime` on if the operator then says so
    /// @param raiseTime unix seconds; 0 = no raise is announced
    struct Record {
        address operator;
        uint32 reputation;
        uint32 position;
        uint8 service;
        uint16 fall;
        bool exited;
        address signer;
        uint24 commission;
        uint24 announced;
        uint40 raiseTime;
        StakePool.State pool;
        RewardsLib.State rewards;
    }

    /// @param agentId whose it is, for ever; 0 = nobody's
    /// @param end unix seconds after which it proves nothing any more; 0 = in use
    struct Key {
        AgentId agentId;
        uint40 end;
    }

    struct State {
        uint32 count;
        EpochArray.State active;
        mapping(AgentId agentId => Record record) records;
        mapping(address signer => Key key) keys;
    }

    /// @param minStake smallest own stake of an active agent's operator
    /// @param maxStake largest bonded stake
    /// @param epoch the current one: draws see what changes from the next one on
    struct Rules {
        uint128 minStake;
        uint128 maxStake;
        uint64 epoch;
    }

    function create(
        State storage self,
        address operator,
        address signer,
        uint24 commission
    ) internal returns (AgentId agentId) {
        // Checked arithmetic: 2^32 agents do not fit.
        agentId = AgentId.wrap(++self.count);
        claimSigner(self, agentId, signer);
        Record storage record = self.records[agentId];
        record.operator = operator;
        record.signer = signer;
        record.reputation = uint32(REPUTATION_ONE);
        record.commission = commission;
    }

    /// @notice Binds a key to an agent, forever.
    function claimSigner(State storage self, AgentId agentId, address signer) internal {
        require(AgentId.unwrap(self.keys[signer].agentId) == 0, IAgentRegistry.SignerInUse(signer));
        self.keys[signer].agentId = agentId;
    }

    /// @param end the end of what the earlier key proves
    function rotate(State storage self, Rules memory rules, AgentId agentId, address signer, uint40 end) internal {
        claimSigner(self, agentId, signer);
        Record storage record = self.records[agentId];
        self.keys[record.signer].end = end;
        record.signer = signer;
        _sync(self, rules, agentId, record);
    }

    /// @dev While the agent is not active only its operator bonds: others would share in pay for service before theirs, and
    /// could take the room under the maximum that the operator needs to come back.
    function bond(
        State storage self,
        Rules memory rules,
        AgentId agentId,
        address account,
        uint128 amount
    ) internal returns (uint128 shares) {
        Record storage record = self.records[agentId];
        require(!record.exited, IAgentRegistry.AgentHasExited(agentId));
        require(account == record.operator || record.position != 0, IAgentRegistry.AgentNotActive(agentId));
        _divide(record, account);
        shares = record.pool.bond(agentId, account, amount, rules.maxStake);
        _sync(self, rules, agentId, record);
    }

    function unbond(
        State storage self,
        Rules memory rules,
        AgentId agentId,
        address account,
        uint128 shares,
        uint40 end
    ) internal returns (uint128 amount, uint128 unbondingShares) {
        Record storage record = self.records[agentId];
        _divide(record, account);
        (amount, unbondingShares) = record.pool.unbond(agentId, account, shares, end);
        _sync(self, rules, agentId, record);
    }

    /// @notice See `StakePool.slash`. An agent that is not active exits by it: it could otherwise have the evidence against
    /// it consumed while next to nothing is at stake, bond, and be drawn for the same request.
    function slash(
        State storage self,
        Rules memory rules,
        AgentId agentId
    ) internal returns (uint128 bonded, uint128 unbonding, uint256 ownLoss) {
        Record storage record = self.records[agentId];
        (bonded, unbonding, ownLoss) = record.pool.slash(record.operator);
        if (record.position == 0 && !record.exited) {
            record.exited = true;
            emit IAgentRegistry.AgentExited(agentId);
        }
        _sync(self, rules, agentId, record);
    }

    /// @notice Moves the reputation, and counts the service of an agent that was not slashed.
    function settle(State storage self, Rules memory rules, AgentId agentId, int8 steps) internal {
        Record storage record = self.records[agentId];
        (uint32 earlier, uint8 service) = (record.reputation, record.service);
        bool served = steps >= 0 && service < PROVEN_SERVICE;
        if (steps < 0) (steps, record.fall) = ReputationLib.fallen(record.fall, steps);
        uint32 reputation = ReputationLib.moved(earlier, steps);
        if (steps != 0) emit IAgentRegistry.ReputationChanged(agentId, steps, reputation);
        if (!served && reputation == earlier) return;
        record.reputation = reputation;
        if (served) record.service = ++service;
        if (reputation < EXIT_REPUTATION && !record.exited) {
            record.exited = true;
            emit IAgentRegistry.AgentExited(agentId);
        }
        bool proven = served && service == PROVEN_SERVICE;
        if (proven) emit IAgentRegistry.AgentProven(agentId);
        // Only these change the stake's weight, or the place in the array.
        if (record.exited || proven) {
            _sync(self, rules, agentId, record);
        } else if (record.position != 0 && reputation != earlier) {
            uint32 index = record.position - 1;
            Candidate candidate = Candidate.wrap(self.active.at(index));
            self.active.set(rules.epoch, index, Candidate.unwrap(candidate.withReputation(reputation)));
        }
    }

    /// @notice Lowers the commission, or announces a higher one; either replaces what was announced before.
    /// @param due when a higher one may take effect
    /// @return lowered it was, or stays as it is
    function setCommission(
        State storage self,
        AgentId agentId,
        uint24 commission,
        uint40 due
    ) internal returns (bool lowered) {
        Record storage record = self.records[agentId];
        lowered = commission <= record.commission;
        if (!lowered) {
            (record.announced, record.raiseTime) = (commission, due);
            return lowered;
        }
        _changeCommission(record, commission);
    }

    /// @notice The announced commission takes effect.
    function raiseCommission(State storage self, AgentId agentId) internal returns (uint24 commission) {
        Record storage record = self.records[agentId];
        uint40 due = record.raiseTime;
        require(due != 0, IAgentRegistry.NoRaiseAnnounced(agentId));
        require(block.timestamp >= due, IAgentRegistry.RaiseNotDue(agentId, due));
        commission = record.announced;
        _changeCommission(record, commission);
    }

    /// @notice Takes all that the account is owed of the agent's pay.
    function takeRewards(
        State storage self,
        AgentId agentId,
        address account,
        Currency currency
    ) internal returns (uint256 amount) {
        Record storage record = self.records[agentId];
        _divide(record, account);
        amount = record.rewards.take(account, currency);
        require(amount != 0, IAgentRegistry.NoRewards(agentId, account, currency));
    }

    /// @notice What `takeRewards` would take.
    function rewardsOf(
        State storage self,
        AgentId agentId,
        address account,
        Currency currency
    ) internal view returns (uint256) {
        Record storage record = self.records[agentId];
        return record.rewards.rewardsOf(_division(record), account, record.pool.shares[account], currency);
    }

    /// @dev What is pending is divided by the one before.
    function _changeCommission(Record storage record, uint24 commission) private {
        record.rewards.divide(_division(record));
        (record.commission, record.announced, record.raiseTime) = (commission, 0, 0);
    }

    /// @dev Before the account's shares change.
    function _divide(Record storage record, address account) private {
        record.rewards.divide(_division(record));
        record.rewards.update(account, record.pool.shares[account]);
    }

    function _division(Record storage record) private view returns (RewardsLib.Division memory) {
        return
            RewardsLib.Division({
                operator: record.operator,
                commission: record.commission,
                shares: record.pool.bonded.shares
            });
    }

    /// @dev Adds, updates or removes the agent's word in the array, as its operator's own stake demands.
    function _sync(State storage self, Rules memory rules, AgentId agentId, Record storage record) private {
        uint32 position = record.position;
        if (!record.exited && record.pool.bondedOf(record.operator) >= rules.minStake) {
            uint128 stake = record.pool.bonded.assets;
            Candidate candidate = CandidateLib.pack(
                record.service < PROVEN_SERVICE ? stake / 2 : stake,
                rules.maxStake,
                SeatLib.pack(agentId, record.reputation, record.signer)
            );
            if (position != 0) {
                self.active.set(rules.epoch, position - 1, Candidate.unwrap(candidate));
                return;
            }
            self.active.push(rules.epoch, Candidate.unwrap(candidate));
            // At most one per agent id, a uint32.
            record.position = uint32(self.active.length());
            emit IAgentRegistry.AgentActivated(agentId);
        } else if (position != 0) {
            _remove(self, rules.epoch, agentId, record, position);
        }
    }

    /// @dev The last one takes the free place.
    function _remove(
        State storage self,
        uint64 epoch,
        AgentId agentId,
        Record storage record,
        uint32 position
    ) private {
        Candidate last = Candidate.wrap(self.active.at(self.active.length() - 1));
        self.active.set(epoch, position - 1, Candidate.unwrap(last));
        self.records[SeatLib.agentId(last.seat())].position = position;
        record.position = 0;
        self.active.pop(epoch);
        emit IAgentRegistry.AgentDeactivated(agentId);
    }
}
