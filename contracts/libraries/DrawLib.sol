// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {BASE_PROBES, MAX_COMMITTEE, PROBES_PER_SEAT, REPUTATION_ONE} from "../types/Limits.sol";
import {AgentId, Seat} from "../types/Types.sol";
import {EpochArray} from "./EpochArray.sol";
import {SeatLib} from "./SeatLib.sol";

/// @notice An active agent as the draw reads it, in one word: stake uint32 (as a fraction of maxStake) | seat Seat (224 bits). From
/// the highest bit to the lowest.
type Candidate is uint256;

using CandidateLib for Candidate global;

/// @title The word of an active agent
library CandidateLib {
    /// @dev The fraction that stands for maxStake.
    uint256 internal constant STAKE_ONE = type(uint32).max;
    uint256 private constant SEAT_MASK = (1 << 224) - 1;
    uint256 private constant REPUTATION_MASK = uint256(type(uint32).max) << 160;

    /// @dev Rounds the stake's fraction down, which is an error of at most 2^-27, since stake >= maxStake / 32.
    function pack(uint128 stake, uint128 maxStake, Seat seat_) internal pure returns (Candidate) {
        return Candidate.wrap((((uint256(stake) * STAKE_ONE) / maxStake) << 224) | Seat.unwrap(seat_));
    }

    /// @notice Returns the same candidate with another reputation.
    function withReputation(Candidate candidate, uint32 reputation) internal pure returns (Candidate) {
        return Candidate.wrap((Candidate.unwrap(candidate) & ~REPUTATION_MASK) | (uint256(reputation) << 160));
    }

    function seat(Candidate candidate) internal pure returns (Seat) {
        return Seat.wrap(Candidate.unwrap(candidate) & SEAT_MASK);
    }

    /// @notice Returns stake x reputation, at most STAKE_ONE * REPUTATION_ONE.
    function weight(Candidate candidate) internal pure returns (uint256) {
        uint256 word = Candidate.unwrap(candidate);
        // The cast cuts the word to the reputation.
        return (word >> 224) * uint32(word >> 160);
    }
}

/// @title Draws a committee and looks at only a few candidates
library DrawLib {
    using EpochArray for EpochArray.State;
    using SeatLib for Seat;

    uint256 private constant WEIGHT_ONE = CandidateLib.STAKE_ONE * REPUTATION_ONE;

    /// @dev The state of one draw.
    /// @param count the number of candidates
    /// @param seen indices of candidates that have a seat or were found to be excluded
    /// @param excluded ids of the agents that may not be drawn
    struct Bowl {
        uint64 epoch;
        uint256 count;
        uint256[] seen;
        uint256[] excluded;
    }

    /// @notice Draws `size` distinct candidates of the epoch, see `IAgentRegistry.draw`.
    /// @dev A probe reads two storage words; a probe of an index that was seen reads nothing.
    function draw(
        EpochArray.State storage candidates,
        uint64 epoch,
        bytes32 seed,
        uint256 size,
        AgentId[] calldata excluded
    ) internal view returns (Seat[] memory committee) {
        require(size <= MAX_COMMITTEE, IAgentRegistry.InvalidCommitteeSize(size, MAX_COMMITTEE));
        uint256 count = candidates.lengthIn(epoch);
        require(count >= size, IAgentRegistry.TooFewAgents(count, size));
        committee = new Seat[](size);
        Bowl memory bowl = Bowl({
            epoch: epoch,
            count: count,
            seen: _newSet(size + excluded.length),
            excluded: _setOf(excluded)
        });
        uint256 probes = BASE_PROBES + size * PROBES_PER_SEAT;
        uint256 filled = 0;
        // At most 1,728 probes, then at most 64 seats. If a seat is wanted, count is not 0.
        for (uint256 i = 0; filled < size && i < probes; ++i) {
            (bool accepted, Seat seat) = _probe(candidates, bowl, _random(seed, i));
            if (!accepted) continue;
            committee[filled] = seat;
            ++filled;
        }
        for (; filled < size; ++filled) {
            committee[filled] = _any(candidates, bowl, _random(seed, probes + filled), size);
        }
    }

    /// @dev Looks at one candidate. Takes it with the probability weight / WEIGHT_ONE unless it was seen or is
    /// excluded.
    function _probe(
        EpochArray.State storage candidates,
        Bowl memory bowl,
        uint256 random
    ) private view returns (bool accepted, Seat seat) {
        unchecked {
            // The low half of the random word picks the candidate (bias below 2^-96); its upper 96 bits decide about
            // the weight. The weight and WEIGHT_ONE are below 2^52, so their products with 96 bits stay below 2^148.
            uint256 index = uint128(random) % bowl.count;
            (uint256 place, bool isNew) = _find(bowl.seen, index);
            if (!isNew) return (false, seat);
            Candidate candidate = Candidate.wrap(candidates.atIn(bowl.epoch, index));
            if ((random >> 160) * WEIGHT_ONE >= candidate.weight() << 96) return (false, seat);
            _put(place, index);
            return (!_isExcluded(bowl, candidate), candidate.seat());
        }
    }

    /// @dev Takes a random candidate, or the next one after it that may be taken, whatever the weights.
    function _any(
        EpochArray.State storage candidates,
        Bowl memory bowl,
        uint256 random,
        uint256 size
    ) private view returns (Seat) {
        uint256 index = random % bowl.count;
        // Each step meets an index that was seen before or is seen now. There are at most as many of them as seats and
        // excluded agents.
        for (uint256 step = 0; step < bowl.count; ++step) {
            (uint256 place, bool isNew) = _find(bowl.seen, index);
            if (isNew) {
                Candidate candidate = Candidate.wrap(candidates.atIn(bowl.epoch, index));
                _put(place, index);
                if (!_isExcluded(bowl, candidate)) return candidate.seat();
            }
            index = index + 1 == bowl.count ? 0 : index + 1;
        }
        revert IAgentRegistry.TooFewAgents(bowl.count, size);
    }

    function _isExcluded(Bowl memory bowl, Candidate candidate) private pure returns (bool) {
        (, bool isNew) = _find(bowl.excluded, AgentId.unwrap(candidate.seat().agentId()));
        return !isNew;
    }

    function _setOf(AgentId[] calldata agentIds) private pure returns (uint256[] memory set) {
        set = _newSet(agentIds.length);
        for (uint256 i = 0; i < agentIds.length; ++i) {
            uint256 id = AgentId.unwrap(agentIds[i]);
            (uint256 place, ) = _find(set, id);
            _put(place, id);
        }
    }

    /// @dev Makes a set for up to `size` numbers: a hash table with open addressing that is at most half full. Its
    /// length is a power of two.
    function _newSet(uint256 size) private pure returns (uint256[] memory) {
        uint256 length = 2;
        // The loop takes as many steps as `size` has bits.
        while (length < 2 * size) length *= 2;
        return new uint256[](length);
    }

    /// @notice Finds the place of a number in the table, or the place where it belongs.
    /// @dev At most half of the table is taken, so the search ends.
    /// @return place address of the entry
    /// @return isNew true if the table does not hold the number yet
    function _find(uint256[] memory set, uint256 index) private pure returns (uint256 place, bool isNew) {
        assembly ("memory-safe") {
            let mask := sub(mload(set), 1)
            // An entry holds the index plus 1; 0 is a free entry.
            let entry := add(index, 1)
            let position := and(index, mask)
            for {} 1 {} {
                place := add(add(set, 0x20), shl(5, position))
                let found := mload(place)
                if iszero(found) {
                    isNew := 1
                    break
                }
                if eq(found, entry) {
                    break
                }
                position := and(add(position, 1), mask)
            }
        }
    }

    function _put(uint256 place, uint256 index) private pure {
        assembly ("memory-safe") {
            mstore(place, add(index, 1))
        }
    }

    /// @dev keccak256(abi.encode(seed, index)) in the scratch space: thousands of probes must not grow the memory.
    function _random(bytes32 seed, uint256 index) private pure returns (uint256 random) {
        assembly ("memory-safe") {
            mstore(0x00, seed)
            mstore(0x20, index)
            random := keccak256(0x00, 0x40)
        }
    }
}
