// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {EpochArray} from "../../contracts/libraries/EpochArray.sol";
import {Assertions, vm} from "./utils/Vm.sol";

/// @dev Compares the array with a model that copies the whole array whenever an epoch begins.
contract EpochArrayTest is Assertions {
    using EpochArray for EpochArray.State;

    uint256 private constant MAX_LENGTH = 12;

    EpochArray.State private _array;
    uint64 private _epoch;
    uint256[] private _latest;
    uint256[] private _frozen;

    /// @dev Does one random operation for each byte: mostly a change, now and then a new epoch.
    function testFuzz_matchesACopyPerEpoch(uint64 first, bytes32[4] memory operations) public {
        _epoch = uint64(bound(first, 0, 3));
        for (uint256 i = 0; i < 128; ++i) {
            uint256 operation = uint8(operations[i / 32][i % 32]);
            _perform(operation & 7, operation >> 3, i + 1);
            _compare();
        }
    }

    /// @dev Removes as the registry does: the last word moves to the free place. Readers of the epoch see neither step.
    function test_swapAndPopShowsInTheNextEpoch() public {
        for (uint256 value = 1; value <= 3; ++value) _array.push(1, value);
        assertEq(_array.lengthIn(1), 0, "nothing in the epoch of the pushes");
        _array.set(2, 0, _array.at(2));
        _array.pop(2);
        // A new word takes the free slot while the epoch still shows the old word.
        _array.push(2, 9);
        assertEq(_array.lengthIn(2), 3, "length");
        for (uint256 i = 0; i < 3; ++i) assertEq(_array.atIn(2, i), i + 1, "as it was");
        uint256[3] memory expected = [uint256(3), 2, 9];
        assertEq(_array.length(), 3, "latest length");
        assertEq(_array.lengthIn(3), 3, "next length");
        for (uint256 i = 0; i < 3; ++i) {
            assertEq(_array.at(i), expected[i], "latest");
            assertEq(_array.atIn(3, i), expected[i], "next epoch");
            assertEq(_array.atIn(300, i), expected[i], "much later");
        }
    }

    function test_emptyArrayCannotBePopped() public {
        vm.expectRevert();
        this.pop();
    }

    function pop() external {
        _array.pop(1);
    }

    function _perform(uint256 kind, uint256 random, uint256 value) private {
        uint256 length = _latest.length;
        if (kind == 0) {
            // The next epoch in most cases, sometimes a later one.
            _epoch += random % 4 == 0 ? 5 : 1;
            _frozen = _latest;
        } else if (kind <= 3 && length < MAX_LENGTH) {
            _array.push(_epoch, value);
            _latest.push(value);
        } else if (kind <= 5 && length != 0) {
            _array.set(_epoch, random % length, value);
            _latest[random % length] = value;
        } else if (length != 0) {
            _array.set(_epoch, random % length, _array.at(length - 1));
            _array.pop(_epoch);
            _latest[random % length] = _latest[length - 1];
            _latest.pop();
        }
    }

    function _compare() private view {
        assertEq(_array.length(), _latest.length, "latest length");
        assertEq(_array.lengthIn(_epoch), _frozen.length, "frozen length");
        assertEq(_array.lengthIn(_epoch + 1), _latest.length, "next length");
        for (uint256 i = 0; i < _latest.length; ++i) {
            assertEq(_array.at(i), _latest[i], "latest word");
            assertEq(_array.atIn(_epoch + 1, i), _latest[i], "next word");
        }
        for (uint256 i = 0; i < _frozen.length; ++i) assertEq(_array.atIn(_epoch, i), _frozen[i], "frozen word");
    }
}
