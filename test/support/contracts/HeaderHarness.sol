// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {BlockHashLib} from "../../../contracts/libraries/BlockHashLib.sol";
import {HeaderLib} from "../../../contracts/libraries/HeaderLib.sol";

/// @title Reads headers and block hashes as the oracle does
contract HeaderHarness {
    /// @notice Returns the prevrandao in a header.
    function prevRandao(bytes calldata header) external pure returns (bytes32) {
        return HeaderLib.prevRandao(header);
    }

    /// @notice Returns the hash of a past block.
    function hashOf(uint256 blockNumber) external view returns (bytes32) {
        return BlockHashLib.hashOf(blockNumber);
    }
}
