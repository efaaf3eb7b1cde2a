// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {MAX_COMMITTEE, PROBES_PER_SEAT, REPUTATION_ONE} from "../types/Limits.sol";
import {Seat} from "../types/Types.sol";

/// @notice An active agent as the draw reads it, in one word: stake uint32 (as a fraction of maxStake) << 224 | its `Seat`.
type Candidate is uint256;

using CandidateLib for Candidate global;

/// @title The word of an active agent
library CandidateLib {
    /// @dev The stake at maxStake.
    uint256 internal constant STAKE_ONE = type(uint32).max;
    uint256 private constant SEAT_MASK = (1 << 224) - 1;

    /// @dev Rounds the stake's fraction down: an error of at most 2^-28, since stake >= maxStake / 16.
    function pack(uint128 stake, uint128 maxStake, Seat seat_) internal pure returns (Candidate) {
        return Candidate.wrap((((uint256(stake) * STAKE_ONE) / maxStake) << 224) | Seat.unwrap(seat_));
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
    uint256 private constant WEIGHT_ONE = CandidateLib.STAKE_ONE * REPUTATION_ONE;

    /// @notice Draws `size` distinct candidates, see `IAgentRegistry.draw`.
    /// @dev One storage word per probe; nothing is looped over beyond 64 probes per seat.
    function draw(
        Candidate[] storage candidates,
        bytes32 seed,
        uint256 size
    ) internal view returns (Seat[] memory committee) {
        require(size <= MAX_COMMITTEE, IAgentRegistry.InvalidCommitteeSize(size, MAX_COMMITTEE));
        uint256 count = candidates.length;
        require(count >= size, IAgentRegistry.TooFewAgents(count, size));
        committee = new Seat[](size);
        uint256 filled = 0;
        // A bit per residue of the agent id: a clear bit proves that an agent is not in yet.
        uint256 filter = 0;
        uint256 first = _firstSlot(candidates);
        uint256 probes = size * PROBES_PER_SEAT;
        unchecked {
            // No counter exceeds 4,096; count is not 0 when a seat is wanted; the weight and WEIGHT_ONE are below 2^52, so
            // their products with 96 bits stay below 2^148.
            for (uint256 i = 0; filled < size && i < probes; ++i) {
                uint256 random = _random(seed, i);
                // The low half picks (bias below 2^-96), the upper 96 bits accept with probability weight / WEIGHT_ONE.
                Candidate candidate = _at(first, uint128(random) % count);
                if ((random >> 160) * WEIGHT_ONE >= candidate.weight() << 96) continue;
                (filled, filter) = _add(committee, filled, filter, candidate.seat());
            }
            if (filled == size) return committee;

            // Whatever the weights: the next free ones from a random index on. Every step adds a seat or meets one that
            // was drawn before, so there are at most `size` steps.
            uint256 index = _random(seed, probes) % count;
            for (uint256 i = 0; filled < size && i < MAX_COMMITTEE; ++i) {
                (filled, filter) = _add(committee, filled, filter, _at(first, index).seat());
                index = index + 1 == count ? 0 : index + 1;
            }
        }
    }

    /// @dev Appends the seat unless its agent is in already. At most 63 comparisons.
    function _add(
        Seat[] memory committee,
        uint256 filled,
        uint256 filter,
        Seat seat
    ) private pure returns (uint256, uint256) {
        // The lowest byte of the agent id.
        uint256 mark = 1 << ((Seat.unwrap(seat) >> 192) & 0xff);
        if (filter & mark != 0) {
            for (uint256 i = 0; i < filled; ++i) {
                if (Seat.unwrap(committee[i]) == Seat.unwrap(seat)) return (filled, filter);
            }
        }
        committee[filled] = seat;
        return (filled + 1, filter | mark);
    }

    /// @dev keccak256(abi.encode(seed, index)) in the scratch space: thousands of probes must not grow the memory.
    function _random(bytes32 seed, uint256 index) private pure returns (uint256 random) {
        assembly ("memory-safe") {
            mstore(0x00, seed)
            mstore(0x20, index)
            random := keccak256(0x00, 0x40)
        }
    }

    /// @dev Where the elements of a dynamic array begin.
    function _firstSlot(Candidate[] storage candidates) private pure returns (uint256 slot) {
        assembly ("memory-safe") {
            mstore(0x00, candidates.slot)
            slot := keccak256(0x00, 0x20)
        }
    }

    /// @dev The index is below the length, so Solidity's own check, which reads the length again, is left out.
    function _at(uint256 first, uint256 index) private view returns (Candidate candidate) {
        assembly ("memory-safe") {
            candidate := sload(add(first, index))
        }
    }
}
