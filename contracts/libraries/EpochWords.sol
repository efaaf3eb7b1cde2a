// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

/// @title Storage words that also show what they were when the running epoch and the one before it began
/// @notice Every write works on the latest word. A view of an epoch stays as it was when the epoch began. No data moves
/// at the boundary of an epoch and nothing loops: the first write of an epoch keeps the word that it overwrites in one of
/// two history slots, by the parity of the epoch.
/// @dev Epochs are numbers from 0 that never decrease. The lowest 28 bits of every word are its stamp: the epoch of its
/// last change plus 1; 0 = never written. They last for two centuries of epochs of 25 seconds.
library EpochWords {
    uint256 internal constant STAMP_BITS = 28;
    uint256 private constant STAMP_MASK = (1 << STAMP_BITS) - 1;
    /// @dev The bits of a key begin here that tell a history slot from the latest word's slot.
    uint256 private constant HISTORY_SHIFT = 32;

    /// @dev One slot for each key, and two history slots: an array costs no hash for each access. Keys of callers are below 2^32.
    struct State {
        uint256[3 << HISTORY_SHIFT] words;
    }

    /// @notice Writes a word; the stamp replaces its lowest bits.
    function set(State storage self, uint64 epoch, uint256 key, uint256 word) internal {
        uint256 stamp = uint256(epoch) + 1;
        uint256 current = _load(self, key);
        // A word that was never written is 0 in every epoch, and so are its history slots.
        if (current != 0 && current & STAMP_MASK != stamp) _store(self, _historyKey(key, stamp), current);
        _store(self, key, (word & ~STAMP_MASK) | stamp);
    }

    /// @notice The latest word, with its stamp.
    function latest(State storage self, uint256 key) internal view returns (uint256) {
        return _load(self, key);
    }

    /// @notice The word when the epoch began, with its stamp.
    /// @dev Warning: the epoch must be the running one or the one before it. A word that was changed in both takes two
    /// steps back; the two history slots that they read were not overwritten since.
    function at(State storage self, uint64 epoch, uint256 key) internal view returns (uint256 word) {
        word = _load(self, key);
        if (word & STAMP_MASK <= epoch) return word;
        word = _load(self, _historyKey(key, word));
        if (word & STAMP_MASK <= epoch) return word;
        word = _load(self, _historyKey(key, word));
    }

    /// @param stamp a stamp, or a word with it
    function _historyKey(uint256 key, uint256 stamp) private pure returns (uint256) {
        return key | ((1 + (stamp & 1)) << HISTORY_SHIFT);
    }

    /// @dev No bounds are checked here and in `_store`: keys are below 3 << HISTORY_SHIFT.
    function _load(State storage self, uint256 key) private view returns (uint256 word) {
        assembly ("memory-safe") {
            word := sload(add(self.slot, key))
        }
    }

    function _store(State storage self, uint256 key, uint256 word) private {
        assembly ("memory-safe") {
            sstore(add(self.slot, key), word)
        }
    }
}
