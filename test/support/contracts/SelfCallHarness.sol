// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {SelfCallLib} from "../../../contracts/libraries/SelfCallLib.sol";

/// @title Calls itself and reverts with any amount of data, for tests
contract SelfCallHarness {
    /// @notice Tries the calls, and allocates memory after them.
    /// @return successes true for each call that succeeded
    /// @return reasons the beginning of each call's revert data
    /// @return afterwards hash of bytes that are allocated after the calls
    function tryCalls(
        bytes[] calldata calls
    ) external returns (bool[] memory successes, bytes[] memory reasons, bytes32 afterwards) {
        successes = new bool[](calls.length);
        reasons = new bytes[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) (successes[i], reasons[i]) = SelfCallLib.tryCall(calls[i]);
        bytes memory made = new bytes(2);
        (made[0], made[1]) = (0x12, 0x34);
        afterwards = keccak256(made);
    }

    /// @notice Returns more data than a caller wants to copy.
    function fine() external pure returns (uint256[64] memory result) {
        return result;
    }

    /// @notice Reverts with this many bytes.
    function bomb(uint256 size) external pure {
        assembly {
            mstore(0, shl(224, 0xbbbbbbbb))
            revert(0, size)
        }
    }
}
