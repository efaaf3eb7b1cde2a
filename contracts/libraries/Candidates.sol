// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {MAX_AGENTS, REPUTATION_ONE} from "../types/Limits.sol";
import {AgentId, Seat} from "../types/Types.sol";
import {EpochWords} from "./EpochWords.sol";
import {SeatLib} from "./SeatLib.sol";

/// @notice An active agent as the draw reads it, in one word: stake uint24 (as a fraction of maxStake; of a fresh agent half of it)
/// | reputation uint20 (parts per million) | skill uint2 (1, 2 or 3) | agentId uint22 | signer address | stamp uint28 (see `EpochWords`). From the highest bit
/// to the lowest.
type Candidate is uint256;

using CandidateLib for Candidate global;

/// @title The word of an active agent
library CandidateLib {
    /// @dev The fraction that stands for maxStake: a power of two, so that the bounds of all buckets are exact.
    uint256 private constant STAKE_ONE = 1 << 23;
    /// @dev The greatest weight: a proven agent with maxStake and full reputation.
    uint256 internal constant WEIGHT_ONE = STAKE_ONE * REPUTATION_ONE;

    /// @dev Rounds the stake's fraction down, by a part of at most 2^-18, since stake >= maxStake / MAX_STAKE_RATIO.
    function pack(
        uint128 assets,
        uint128 maxStake,
        bool isFresh,
        uint32 reputation_,
        uint8 skill_,
        AgentId agentId_,
        address signer_
    ) internal pure returns (Candidate) {
        uint256 stake_ = (uint256(assets) * STAKE_ONE) / maxStake;
        if (isFresh) stake_ /= 2;
        return
            Candidate.wrap(
                (stake_ << 232) |
                    (uint256(reputation_) << 212) |
                    (uint256(skill_) << 210) |
                    (uint256(AgentId.unwrap(agentId_)) << 188) |
                    (uint256(uint160(signer_)) << 28)
            );
    }

    /// @notice Returns the same candidate with another reputation and skill.
    function withMerits(Candidate candidate, uint32 reputation_, uint8 skill_) internal pure returns (Candidate) {
        uint256 others = Candidate.unwrap(candidate) & ~(uint256(0x3fffff) << 210);
        return Candidate.wrap(others | (uint256(reputation_) << 212) | (uint256(skill_) << 210));
    }

    function stake(Candidate candidate) internal pure returns (uint256) {
        return Candidate.unwrap(candidate) >> 232;
    }

    function reputation(Candidate candidate) internal pure returns (uint32) {
        return uint32(Candidate.unwrap(candidate) >> 212) & 0xfffff;
    }

    function skill(Candidate candidate) internal pure returns (uint8) {
        return uint8(Candidate.unwrap(candidate) >> 210) & 0x3;
    }

    function agentId(Candidate candidate) internal pure returns (AgentId) {
        return AgentId.wrap(uint32(Candidate.unwrap(candidate) >> 188) & 0x3fffff);
    }

    /// @dev The cast cuts the word to the member's width.
    function signer(Candidate candidate) internal pure returns (address) {
        return address(uint160(Candidate.unwrap(candidate) >> 28));
    }

    /// @notice Returns the seat of the agent when it is drawn.
    function seat(Candidate candidate) internal pure returns (Seat) {
        return SeatLib.pack(candidate.skill(), candidate.agentId(), candidate.reputation(), candidate.signer());
    }

    /// @notice Returns stake x reputation, at most WEIGHT_ONE.
    function weight(Candidate candidate) internal pure returns (uint256) {
        unchecked {
            // The stake has 24 bits, the reputation 20.
            return candidate.stake() * candidate.reputation();
        }
    }

    /// @notice Returns the bucket k that holds weights in (WEIGHT_ONE / 2^(k+1), WEIGHT_ONE / 2^k].
    function bucket(Candidate candidate) internal pure returns (uint256) {
        return Math.log2(WEIGHT_ONE / candidate.weight());
    }
}

/// @title The active agents in buckets by weight
/// @notice A bucket is a dense array of candidates whose weights differ by less than a factor of two. Every write works on the
/// latest words; readers see the running epoch or the one before it as it began, see `EpochWords`.
/// @dev A candidate's position is its bucket and its index there, plus 1: 0 stands for an agent that is not active. A word beyond the
/// end of its bucket stays in storage, since an epoch may still show it; the next insertion overwrites it.
library Candidates {
    using EpochWords for EpochWords.State;

    /// @dev The least weight is WEIGHT_ONE / (MAX_STAKE_RATIO x 2 x (REPUTATION_ONE / EXIT_REPUTATION)); ten buckets would hold every
    /// weight up to a ratio of 51.
    uint256 internal constant BUCKETS = 10;
    uint256 private constant COUNT_BITS = 22;
    /// @dev Also the greatest index.
    uint256 private constant COUNT_MASK = MAX_AGENTS;
    /// @dev The key of the word that counts the candidates: COUNT_BITS for each bucket above the stamp, the heaviest bucket lowest.
    /// Places are below it.
    uint256 private constant COUNTS_KEY = 1 << 26;

    struct State {
        EpochWords.State words;
    }

    /// @notice Appends a candidate to its bucket.
    /// @return position its position
    function insert(State storage self, uint64 epoch, Candidate candidate) internal returns (uint32 position) {
        uint256 bucket = candidate.bucket();
        uint256 counts = self.words.latest(COUNTS_KEY);
        uint256 place = placeOf(bucket, _countIn(counts, bucket));
        // An agent lies in one bucket only, so no count exceeds MAX_AGENTS.
        self.words.set(epoch, COUNTS_KEY, counts + _one(bucket));
        self.words.set(epoch, place, Candidate.unwrap(candidate));
        // Places have 26 bits.
        return uint32(place + 1);
    }

    /// @notice Writes a candidate that stays in its bucket.
    function set(State storage self, uint64 epoch, uint32 position, Candidate candidate) internal {
        self.words.set(epoch, _placeAt(position), Candidate.unwrap(candidate));
    }

    /// @notice Removes the candidate at a position. The last of its bucket moves there.
    /// @return moved the agent whose position this is from now on; the removed one itself if it was the last
    function remove(State storage self, uint64 epoch, uint32 position) internal returns (AgentId moved) {
        uint256 place = _placeAt(position);
        uint256 bucket = place >> COUNT_BITS;
        uint256 counts = self.words.latest(COUNTS_KEY) - _one(bucket);
        self.words.set(epoch, COUNTS_KEY, counts);
        uint256 lastPlace = placeOf(bucket, _countIn(counts, bucket));
        Candidate last = Candidate.wrap(self.words.latest(lastPlace));
        if (lastPlace != place) self.words.set(epoch, place, Candidate.unwrap(last));
        return last.agentId();
    }

    /// @notice The latest word of the candidate at a position.
    function at(State storage self, uint32 position) internal view returns (Candidate) {
        return Candidate.wrap(self.words.latest(_placeAt(position)));
    }

    /// @notice The word of a place when the epoch began, see `EpochWords.at`.
    function atIn(State storage self, uint64 epoch, uint256 place) internal view returns (Candidate) {
        return Candidate.wrap(self.words.at(epoch, place));
    }

    /// @notice How many candidates there are now.
    function count(State storage self) internal view returns (uint256) {
        return _total(self.words.latest(COUNTS_KEY) >> EpochWords.STAMP_BITS);
    }

    /// @notice How many candidates there were when the epoch began.
    function countIn(State storage self, uint64 epoch) internal view returns (uint256) {
        return _total(countsIn(self, epoch));
    }

    /// @notice The sizes of all buckets when the epoch began, see `nextCount`.
    function countsIn(State storage self, uint64 epoch) internal view returns (uint256) {
        return self.words.at(epoch, COUNTS_KEY) >> EpochWords.STAMP_BITS;
    }

    /// @notice Takes the size of the heaviest bucket off the sizes.
    /// @return size the size of that bucket
    /// @return rest the sizes of the lighter ones; 0 if these are empty
    function nextCount(uint256 counts) internal pure returns (uint256 size, uint256 rest) {
        return (counts & COUNT_MASK, counts >> COUNT_BITS);
    }

    /// @notice The bucket of the candidate at a position.
    function bucketAt(uint32 position) internal pure returns (uint256) {
        return _placeAt(position) >> COUNT_BITS;
    }

    /// @notice The place of a candidate: where its words lie.
    function placeOf(uint256 bucket, uint256 index) internal pure returns (uint256) {
        return (bucket << COUNT_BITS) | index;
    }

    /// @param position that of an active agent, so above 0
    function _placeAt(uint32 position) private pure returns (uint256) {
        unchecked {
            return position - 1;
        }
    }

    function _countIn(uint256 counts, uint256 bucket) private pure returns (uint256) {
        return (counts >> _shiftOf(bucket)) & COUNT_MASK;
    }

    function _one(uint256 bucket) private pure returns (uint256) {
        return 1 << _shiftOf(bucket);
    }

    function _shiftOf(uint256 bucket) private pure returns (uint256) {
        unchecked {
            // There are BUCKETS buckets.
            return EpochWords.STAMP_BITS + bucket * COUNT_BITS;
        }
    }

    function _total(uint256 counts) private pure returns (uint256 total) {
        // There are BUCKETS sizes.
        while (counts != 0) {
            uint256 size;
            (size, counts) = nextCount(counts);
            total += size;
        }
    }
}
