// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {REPUTATION_ONE} from "../types/Limits.sol";
import {AgentId} from "../types/Types.sol";
import {Candidate, CandidateLib} from "./DrawLib.sol";
import {ReputationLib} from "./ReputationLib.sol";
import {SeatLib} from "./SeatLib.sol";

/// @title The agents and the dense array of the active ones
/// @notice Owns every transition of an agent; the registry adds permissions, tokens and events. After each transition
/// `_sync` brings the agent's word in the array up to date, so the two cannot differ.
library AgentBook {
    /// @param position index in `active` plus 1; 0 = not active
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
        Candidate[] active;
        mapping(AgentId agentId => Record record) records;
        mapping(address signer => AgentId agentId) agentOf;
    }

    /// @param minStake smallest stake of an active agent
    /// @param maxStake largest stake
    struct Bounds {
        uint128 minStake;
        uint128 maxStake;
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

    function rotate(State storage self, Bounds memory bounds, AgentId agentId, address signer) internal {
        claimSigner(self, agentId, signer);
        Record storage record = self.records[agentId];
        record.signer = signer;
        _sync(self, bounds, agentId, record);
    }

    function bond(
        State storage self,
        Bounds memory bounds,
        AgentId agentId,
        uint128 amount
    ) internal returns (uint128) {
        Record storage record = self.records[agentId];
        uint256 wanted = uint256(record.stake) + amount;
        require(
            wanted <= bounds.maxStake,
            // Saturates for the error message alone.
            IAgentRegistry.StakeAboveMaximum(
                wanted > type(uint128).max ? type(uint128).max : uint128(wanted),
                bounds.maxStake
            )
        );
        // At most maxStake, a uint128.
        record.stake = uint128(wanted);
        _sync(self, bounds, agentId, record);
        return record.stake;
    }

    function unbond(State storage self, Bounds memory bounds, AgentId agentId, uint128 amount, uint40 end) internal {
        Record storage record = self.records[agentId];
        uint128 stake = record.stake;
        require(amount <= stake, IAgentRegistry.InsufficientStake(stake, amount));
        // Checked in the line before.
        record.stake = stake - amount;
        record.unbonding += amount;
        record.unbondingEnd = end;
        _sync(self, bounds, agentId, record);
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
        Bounds memory bounds,
        AgentId agentId,
        int8 steps
    ) internal returns (uint32 reputation) {
        Record storage record = self.records[agentId];
        reputation = ReputationLib.moved(record.reputation, steps);
        record.reputation = reputation;
        _sync(self, bounds, agentId, record);
    }

    /// @dev Adds, updates or removes the agent's word in the array, as its stake demands.
    function _sync(State storage self, Bounds memory bounds, AgentId agentId, Record storage record) private {
        uint32 position = record.position;
        if (record.stake >= bounds.minStake) {
            Candidate candidate = CandidateLib.pack(
                record.stake,
                bounds.maxStake,
                SeatLib.pack(agentId, record.reputation, record.signer)
            );
            if (position != 0) {
                self.active[position - 1] = candidate;
                return;
            }
            self.active.push(candidate);
            // At most one per agent id, a uint32.
            record.position = uint32(self.active.length);
            emit IAgentRegistry.AgentActivated(agentId);
        } else if (position != 0) {
            _remove(self, record, position);
            emit IAgentRegistry.AgentDeactivated(agentId);
        }
    }

    /// @dev The last one takes the free place.
    function _remove(State storage self, Record storage record, uint32 position) private {
        Candidate last = self.active[self.active.length - 1];
        self.active[position - 1] = last;
        self.records[SeatLib.agentId(last.seat())].position = position;
        record.position = 0;
        self.active.pop();
    }
}
