// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {REPUTATION_ONE} from "../types/Limits.sol";
import {AgentId} from "../types/Types.sol";
import {Candidate, CandidateLib} from "./DrawLib.sol";
import {EpochArray} from "./EpochArray.sol";
import {ReputationLib} from "./ReputationLib.sol";
import {SeatLib} from "./SeatLib.sol";

/// @title The agents and the dense array of the active ones
/// @notice Owns every transition of an agent; the registry adds permissions, tokens and events. Each transition brings the
/// agent's word in the latest view of the array up to date, so the two cannot differ.
library AgentBook {
    using EpochArray for EpochArray.State;

    /// @param position index in the latest view of `active` plus 1; 0 = not active
    struct Record {
        address operator;
        uint32 reputation;
        uint32 position;
        address signer;
        uint40 unbondingEnd;
        uint128 stake;
        uint128 unbonding;
    }

    struct State {
        uint32 count;
        EpochArray.State active;
        mapping(AgentId agentId => Record record) records;
        mapping(address signer => AgentId agentId) agentOf;
    }

    /// @param minStake smallest stake of an active agent
    /// @param maxStake largest stake
    /// @param epoch the current one: draws see what changes from the next one on
    struct Rules {
        uint128 minStake;
        uint128 maxStake;
        uint64 epoch;
    }

    function create(State storage self, address operator, address signer) internal returns (AgentId agentId) {
        // Checked arithmetic: 2^32 agents do not fit.
        agentId = AgentId.wrap(++self.count);
        claimSigner(self, agentId, signer);
        Record storage record = self.records[agentId];
        record.operator = operator;
        record.signer = signer;
        record.reputation = uint32(REPUTATION_ONE);
    }

    /// @notice Binds a key to an agent, forever.
    function claimSigner(State storage self, AgentId agentId, address signer) internal {
        require(AgentId.unwrap(self.agentOf[signer]) == 0, IAgentRegistry.SignerInUse(signer));
        self.agentOf[signer] = agentId;
    }

    function rotate(State storage self, Rules memory rules, AgentId agentId, address signer) internal {
        claimSigner(self, agentId, signer);
        Record storage record = self.records[agentId];
        record.signer = signer;
        _sync(self, rules, agentId, record);
    }

    function bond(State storage self, Rules memory rules, AgentId agentId, uint128 amount) internal returns (uint128) {
        Record storage record = self.records[agentId];
        uint256 wanted = uint256(record.stake) + amount;
        require(
            wanted <= rules.maxStake,
            // Saturates for the error message alone.
            IAgentRegistry.StakeAboveMaximum(
                wanted > type(uint128).max ? type(uint128).max : uint128(wanted),
                rules.maxStake
            )
        );
        // At most maxStake, a uint128.
        record.stake = uint128(wanted);
        _sync(self, rules, agentId, record);
        return record.stake;
    }

    function unbond(State storage self, Rules memory rules, AgentId agentId, uint128 amount, uint40 end) internal {
        Record storage record = self.records[agentId];
        uint128 stake = record.stake;
        require(amount <= stake, IAgentRegistry.InsufficientStake(stake, amount));
        // Checked in the line before.
        record.stake = stake - amount;
        record.unbonding += amount;
        record.unbondingEnd = end;
        _sync(self, rules, agentId, record);
    }

    function takeUnbonded(State storage self, AgentId agentId) internal returns (uint128 amount) {
        Record storage record = self.records[agentId];
        amount = record.unbonding;
        require(amount != 0, IAgentRegistry.NothingToWithdraw(agentId));
        uint40 end = record.unbondingEnd;
        require(block.timestamp >= end, IAgentRegistry.StillUnbonding(agentId, end));
        record.unbonding = 0;
        record.unbondingEnd = 0;
    }

    function moveReputation(
        State storage self,
        uint64 epoch,
        AgentId agentId,
        int8 steps
    ) internal returns (uint32 reputation) {
        Record storage record = self.records[agentId];
        uint32 earlier = record.reputation;
        reputation = ReputationLib.moved(earlier, steps);
        if (reputation == earlier) return reputation;
        record.reputation = reputation;
        uint32 position = record.position;
        if (position == 0) return reputation;
        // The word's other members have not changed: no need to read them from the record's other slots.
        Candidate candidate = Candidate.wrap(self.active.at(position - 1));
        self.active.set(epoch, position - 1, Candidate.unwrap(candidate.withReputation(reputation)));
    }

    /// @dev Adds, updates or removes the agent's word in the array, as its stake demands.
    function _sync(State storage self, Rules memory rules, AgentId agentId, Record storage record) private {
        uint32 position = record.position;
        if (record.stake >= rules.minStake) {
            Candidate candidate = CandidateLib.pack(
                record.stake,
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
            _remove(self, rules.epoch, record, position);
            emit IAgentRegistry.AgentDeactivated(agentId);
        }
    }

    /// @dev The last one takes the free place.
    function _remove(State storage self, uint64 epoch, Record storage record, uint32 position) private {
        Candidate last = Candidate.wrap(self.active.at(self.active.length() - 1));
        self.active.set(epoch, position - 1, Candidate.unwrap(last));
        self.records[SeatLib.agentId(last.seat())].position = position;
        record.position = 0;
        self.active.pop(epoch);
    }
}
