// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

/// @title A dense array that shows its changes from the next epoch on
/// @notice The array has two views. Every write works on the latest view. The view of the current epoch stays as it was
/// when the epoch began. No data moves at the boundary of an epoch and nothing loops: a word keeps its latest value and
/// its value from before the epoch of its last change, and the reader takes the one that counts.
/// @dev Epochs are numbers from 0 that never decrease. Reads and writes name the current one.
library EpochArray {
    /// @param before the value that readers see in `changedEpoch`
    /// @param latest the value that was written last, which readers see in later epochs
    /// @param changedEpoch the epoch of the last write
    struct Word {
        uint256 before;
        uint256 latest;
        uint64 changedEpoch;
    }

    /// @dev A length, kept like a `Word`, in one slot.
    struct Length {
        uint64 before;
        uint64 latest;
        uint64 changedEpoch;
    }

    /// @dev A word beyond the length stays in storage after `pop`, since the current epoch may still show it. The next
    /// `push` overwrites it.
    struct State {
        Length size;
        mapping(uint256 index => Word word) words;
    }

    function push(State storage self, uint64 epoch, uint256 value) internal {
        uint64 last = self.size.latest;
        set(self, epoch, last, value);
        // The array never sees 2^64 pushes; the addition is checked anyway.
        _resize(self, epoch, last + 1);
    }

    /// @dev Warning: the index must be below the latest length.
    function set(State storage self, uint64 epoch, uint256 index, uint256 value) internal {
        Word storage word = self.words[index];
        if (word.changedEpoch != epoch) {
            word.before = word.latest;
            word.changedEpoch = epoch;
        }
        word.latest = value;
    }

    /// @dev Reverts on an empty array, by underflow.
    function pop(State storage self, uint64 epoch) internal {
        _resize(self, epoch, self.size.latest - 1);
    }

    /// @notice The latest length.
    function length(State storage self) internal view returns (uint256) {
        return self.size.latest;
    }

    /// @notice The latest word.
    /// @dev Warning: the index must be below the latest length.
    function at(State storage self, uint256 index) internal view returns (uint256) {
        return self.words[index].latest;
    }

    /// @notice The length when the epoch began.
    function lengthIn(State storage self, uint64 epoch) internal view returns (uint256) {
        Length memory current = self.size;
        return current.changedEpoch == epoch ? current.before : current.latest;
    }

    /// @notice The word when the epoch began.
    /// @dev Warning: the index must be below `lengthIn`.
    function atIn(State storage self, uint64 epoch, uint256 index) internal view returns (uint256) {
        Word storage word = self.words[index];
        return word.changedEpoch == epoch ? word.before : word.latest;
    }

    function _resize(State storage self, uint64 epoch, uint64 length_) private {
        Length memory current = self.size;
        if (current.changedEpoch != epoch) {
            current.before = current.latest;
            current.changedEpoch = epoch;
        }
        current.latest = length_;
        self.size = current;
    }
}
