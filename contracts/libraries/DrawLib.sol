// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {BASE_PROBES, LEFT_OUT_DIVISOR, MAX_COMMITTEE, PROBES_PER_DRAWN} from "../types/Limits.sol";
import {AgentId, Seat} from "../types/Types.sol";
import {Candidate, CandidateLib, Candidates} from "./Candidates.sol";
import {SeatLib} from "./SeatLib.sol";

/// @title Draws a committee by exact weights, and looks at two candidates for each seat at most on average
/// @notice A bucket is picked by its size times its upper bound, a candidate in it by its index; the candidate is accepted with the
/// probability weight / upper bound, which is more than a half. So each candidate in the bowl is drawn with a probability
/// proportional to its weight. It then leaves the bowl, so this stays true to the last candidate (DR1, DR2). Excluded candidates that are drawn
/// get no seat as long as they hold a small part of all tickets (DR4).
library DrawLib {
    using Candidates for Candidates.State;
    using SeatLib for Seat;

    uint256 private constant LIGHTEST = Candidates.BUCKETS - 1;

    /// @dev The candidates that are not drawn yet.
    /// @param probes how many were made, and the most that may be made
    /// @param tickets one for each candidate of the lightest bucket, twice as many for one of the next bucket, and so on
    /// @param buckets those that are not empty, from the heaviest on: size << 8 | bucket
    /// @param moved by the place of a candidate that was drawn, where the words lie of the candidate that took its place: a table, see
    /// `_find`
    struct Bowl {
        uint64 epoch;
        bytes32 seed;
        uint256 probes;
        uint256 maxProbes;
        uint256 tickets;
        uint256[] buckets;
        uint256[] moved;
    }

    /// @notice Draws `size` distinct candidates of the epoch, see `IAgentRegistry.committee`.
    /// @dev At most `size` + `excluded.length` candidates are drawn, since all but the excluded ones get a seat.
    function draw(
        Candidates.State storage candidates,
        uint64 epoch,
        bytes32 seed,
        uint256 size,
        AgentId[] calldata excluded
    ) internal view returns (Seat[] memory committee) {
        require(size <= MAX_COMMITTEE, IAgentRegistry.InvalidCommitteeSize(size, MAX_COMMITTEE));
        committee = new Seat[](size);
        Bowl memory bowl = _fill(candidates, epoch, size, excluded.length);
        bowl.seed = seed;
        uint256[] memory barred = _setOf(excluded);
        Seat[] memory aside = new Seat[](excluded.length);
        uint256 room = excluded.length == 0 ? 0 : bowl.tickets / LEFT_OUT_DIVISOR;
        uint256 filled = 0;
        uint256 left = 0;
        unchecked {
            while (filled < size && bowl.tickets != 0) {
                uint256 tickets = bowl.tickets;
                Seat seat = _next(candidates, bowl);
                tickets -= bowl.tickets;
                if (tickets <= room && _holds(barred, seat)) {
                    room -= tickets;
                    aside[left] = seat;
                    ++left;
                } else {
                    committee[filled] = seat;
                    ++filled;
                }
            }
            // If the bowl is empty, those that were left out sit, too. The order in which they were drawn is a draw by weight (DR4).
            for (uint256 i = 0; filled < size; ++i) {
                committee[filled] = aside[i];
                ++filled;
            }
        }
    }

    /// @param excluded how many candidates can leave the bowl besides those that get a seat
    function _fill(
        Candidates.State storage candidates,
        uint64 epoch,
        uint256 size,
        uint256 excluded
    ) private view returns (Bowl memory bowl) {
        uint256 counts = candidates.countsIn(epoch);
        uint256 total = 0;
        uint256 filled = 0;
        bowl.buckets = new uint256[](Candidates.BUCKETS);
        unchecked {
            // The sizes have 22 bits and there are ten of them: the tickets stay below 2^36.
            for (uint256 bucket = 0; counts != 0; ++bucket) {
                uint256 count;
                (count, counts) = Candidates.nextCount(counts);
                if (count == 0) continue;
                total += count;
                bowl.tickets += count << (LIGHTEST - bucket);
                bowl.buckets[filled] = (count << 8) | bucket;
                ++filled;
            }
        }
        require(total >= size, IAgentRegistry.TooFewAgents(total, size));
        bowl.epoch = epoch;
        unchecked {
            // A list in calldata is short.
            uint256 drawn = size + excluded;
            bowl.maxProbes = BASE_PROBES + drawn * PROBES_PER_DRAWN;
            bowl.moved = _newTable(drawn);
        }
    }

    /// @dev Draws a candidate by its weight among those in the bowl, and takes it out. A probe reads one storage word, or up to three of
    /// a candidate that has changed since the epoch began. More than half of all probes draw, whatever was drawn before: that
    /// the probes do not suffice is less likely than 2^-256 (DR5).
    function _next(Candidates.State storage candidates, Bowl memory bowl) private view returns (Seat) {
        while (bowl.probes < bowl.maxProbes) {
            unchecked {
                uint256 random = _random(bowl.seed, bowl.probes);
                ++bowl.probes;
                // The low half of the random word picks the candidate (bias below 2^-92), its high half decides about the weight.
                (uint256 entry, uint256 bucket, uint256 index) = _pick(bowl.buckets, uint128(random) % bowl.tickets);
                uint256 place = Candidates.placeOf(bucket, index);
                uint256[] memory table = bowl.moved;
                (uint256 slot, uint256 moved) = _find(table, place);
                Candidate candidate = candidates.atIn(bowl.epoch, moved == 0 ? place : moved);
                // Weights are below 2^43, so the products with 128 bits stay below 2^171.
                if ((random >> 128) * (CandidateLib.WEIGHT_ONE >> bucket) >= candidate.weight() << 128) continue;
                bowl.tickets -= 1 << (LIGHTEST - bucket);
                uint256 last = Candidates.placeOf(bucket, _takeFrom(entry));
                if (place != last) {
                    (, moved) = _find(table, last);
                    _put(slot, place, moved == 0 ? last : moved);
                }
                return candidate.seat();
            }
        }
        revert IAgentRegistry.ProbesUsedUp(bowl.maxProbes);
    }

    /// @dev Finds the candidate of a ticket: the bucket whose tickets include it, and the index in the bucket.
    /// @param buckets see `Bowl`; the ticket is one of theirs, so the search ends
    /// @return entry address of the bucket's entry
    function _pick(
        uint256[] memory buckets,
        uint256 ticket
    ) private pure returns (uint256 entry, uint256 bucket, uint256 index) {
        uint256 lightest = LIGHTEST;
        assembly ("memory-safe") {
            entry := add(buckets, 0x20)
            for {} 1 {} {
                let word := mload(entry)
                bucket := and(word, 0xff)
                let shift := sub(lightest, bucket)
                let tickets := shl(shift, shr(8, word))
                if lt(ticket, tickets) {
                    index := shr(shift, ticket)
                    break
                }
                ticket := sub(ticket, tickets)
                entry := add(entry, 0x20)
            }
        }
    }

    /// @dev Shortens a bucket by one.
    /// @return last the index that it loses
    function _takeFrom(uint256 entry) private pure returns (uint256 last) {
        assembly ("memory-safe") {
            let word := sub(mload(entry), 0x100)
            mstore(entry, word)
            last := shr(8, word)
        }
    }

    function _holds(uint256[] memory set, Seat seat) private pure returns (bool) {
        (, uint256 value) = _find(set, AgentId.unwrap(seat.agentId()));
        return value != 0;
    }

    function _setOf(AgentId[] calldata agentIds) private pure returns (uint256[] memory set) {
        set = _newTable(agentIds.length);
        for (uint256 i = 0; i < agentIds.length; ++i) {
            uint256 id = AgentId.unwrap(agentIds[i]);
            (uint256 slot, ) = _find(set, id);
            _put(slot, id, 1);
        }
    }

    /// @dev Makes a table for up to `size` numbers: a hash table with open addressing that is at most half full. Its length is a power
    /// of two.
    function _newTable(uint256 size) private pure returns (uint256[] memory) {
        uint256 length = 2;
        // The loop takes as many steps as `size` has bits.
        while (length < size << 1) length <<= 1;
        return new uint256[](length);
    }

    /// @notice Finds the slot of a key in the table, or the slot where it belongs.
    /// @dev At most half of the table is taken, so the search ends.
    /// @param key below 2^32
    /// @return slot its address
    /// @return value what the key stands for; 0 if the table does not hold it
    function _find(uint256[] memory table, uint256 key) private pure returns (uint256 slot, uint256 value) {
        assembly ("memory-safe") {
            let mask := sub(mload(table), 1)
            let position := and(key, mask)
            for {} 1 {} {
                slot := add(add(table, 0x20), shl(5, position))
                let found := mload(slot)
                if iszero(found) {
                    break
                }
                // The lowest 32 bits of a slot are its key, the bits above its value.
                if eq(and(found, 0xffffffff), key) {
                    value := shr(32, found)
                    break
                }
                position := and(add(position, 1), mask)
            }
        }
    }

    /// @param value above 0
    function _put(uint256 slot, uint256 key, uint256 value) private pure {
        assembly ("memory-safe") {
            mstore(slot, or(shl(32, value), key))
        }
    }

    /// @dev keccak256(abi.encode(seed, index)) in the scratch space: hundreds of probes must not grow the memory.
    function _random(bytes32 seed, uint256 index) private pure returns (uint256 random) {
        assembly ("memory-safe") {
            mstore(0x00, seed)
            mstore(0x20, index)
            random := keccak256(0x00, 0x40)
        }
    }
}
