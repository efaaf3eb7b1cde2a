// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {BASE_PROBES, MAX_COMMITTEE, PROBES_PER_SEAT, REPUTATION_ONE} from "../types/Limits.sol";
import {Seat} from "../types/Types.sol";
import {EpochArray} from "./EpochArray.sol";

/// @notice An active agent as the draw reads it, in one word: stake uint32 (as a fraction of maxStake) << 224 | its `Seat`.
type Candidate is uint256;

using CandidateLib for Candidate global;

/// @title The word of an active agent
library CandidateLib {
    /// @dev The stake at maxStake.
    uint256 internal constant STAKE_ONE = type(uint32).max;
    uint256 private constant SEAT_MASK = (1 << 224) - 1;
    uint256 private constant REPUTATION_MASK = uint256(type(uint32).max) << 160;

    /// @dev Rounds the stake's fraction down: an error of at most 2^-28, since stake >= maxStake / 16.
    function pack(uint128 stake, uint128 maxStake, Seat seat_) internal pure returns (Candidate) {
        return Candidate.wrap((((uint256(stake) * STAKE_ONE) / maxStake) << 224) | Seat.unwrap(seat_));
    }

    /// @notice The same candidate with another reputation.
    function withReputation(Candidate candidate, uint32 reputation) internal pure returns (Candidate) {
        return Candidate.wrap((Candidate.unwrap(candidate) & ~REPUTATION_MASK) | (uint256(reputation) << 160));
    }

    function seat(Candidate candidate) internal pure returns (Seat) {
        return Seat.wrap(Candidate.unwrap(candidate) & SEAT_MASK);
    }

    /// @notice stake x reputation, at most STAKE_ONE * REPUTATION_ONE.
    function weight(Candidate candidate) internal pure returns (uint256) {
        uint256 word = Candidate.unwrap(candidate);
        // The cast cuts the word to the reputation.
        return (word >> 224) * uint32(word >> 160);
    }
}

/// @title Draws a committee without looking at more than a few candidates
library DrawLib {
    using EpochArray for EpochArray.State;

    uint256 private constant WEIGHT_ONE = CandidateLib.STAKE_ONE * REPUTATION_ONE;

    /// @notice Draws `size` distinct candidates of the epoch, see `IAgentRegistry.draw`.
    /// @dev Two storage words per probe; an index that is in already costs none.
    function draw(
        EpochArray.State storage candidates,
        uint64 epoch,
        bytes32 seed,
        uint256 size
    ) internal view returns (Seat[] memory committee) {
        require(size <= MAX_COMMITTEE, IAgentRegistry.InvalidCommitteeSize(size, MAX_COMMITTEE));
        uint256 count = candidates.lengthIn(epoch);
        require(count >= size, IAgentRegistry.TooFewAgents(count, size));
        committee = new Seat[](size);
        uint256[] memory drawn = _newSet(size);
        uint256 probes = BASE_PROBES + size * PROBES_PER_SEAT;
        uint256 filled = 0;
        // At most 1,728 probes, then at most 64 seats; count is not 0 when a seat is wanted.
        for (uint256 i = 0; filled < size && i < probes; ++i) {
            (bool accepted, Seat seat) = _probe(candidates, epoch, drawn, count, _random(seed, i));
            if (!accepted) continue;
            committee[filled] = seat;
            ++filled;
        }
        for (; filled < size; ++filled) {
            committee[filled] = _any(candidates, epoch, drawn, count, _random(seed, probes + filled));
        }
    }

    /// @dev Looks at one candidate and takes it with the probability weight / WEIGHT_ONE unless it is in already.
    function _probe(
        EpochArray.State storage candidates,
        uint64 epoch,
        uint256[] memory drawn,
        uint256 count,
        uint256 random
    ) private view returns (bool accepted, Seat seat) {
        unchecked {
            // The low half picks (bias below 2^-96), the upper 96 bits accept. The weight and WEIGHT_ONE are below 2^52, so
            // their products with 96 bits stay below 2^148.
            uint256 index = uint128(random) % count;
            (uint256 place, bool isNew) = _find(drawn, index);
            if (!isNew) return (false, seat);
            Candidate candidate = Candidate.wrap(candidates.atIn(epoch, index));
            if ((random >> 160) * WEIGHT_ONE >= candidate.weight() << 96) return (false, seat);
            _put(place, index);
            return (true, candidate.seat());
        }
    }

    /// @dev Takes a random candidate, or the next one after it that is not in yet, whatever the weights.
    function _any(
        EpochArray.State storage candidates,
        uint64 epoch,
        uint256[] memory drawn,
        uint256 count,
        uint256 random
    ) private view returns (Seat) {
        uint256 index = random % count;
        (uint256 place, bool isNew) = _find(drawn, index);
        // Every step meets another index that is in; fewer than MAX_COMMITTEE are, and fewer than `count`.
        for (uint256 step = 0; !isNew && step < MAX_COMMITTEE; ++step) {
            index = index + 1 == count ? 0 : index + 1;
            (place, isNew) = _find(drawn, index);
        }
        _put(place, index);
        return Candidate.wrap(candidates.atIn(epoch, index)).seat();
    }

    /// @dev A set of up to `size` indices: a hash table with open addressing, at most half full, its length a power of two.
    function _newSet(uint256 size) private pure returns (uint256[] memory) {
        uint256 length = 2;
        // At most 128.
        while (length < 2 * size) length *= 2;
        return new uint256[](length);
    }

    /// @notice Where the index is in the table or belongs.
    /// @dev At most 64 entries of the table are taken, so the search ends after as many steps.
    /// @return place address of the entry
    /// @return isNew the index is not in yet
    function _find(uint256[] memory set, uint256 index) private pure returns (uint256 place, bool isNew) {
        assembly ("memory-safe") {
            let mask := sub(mload(set), 1)
            // The entries hold the index plus 1; 0 is free.
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
