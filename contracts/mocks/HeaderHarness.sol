// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {BlockHashLib} from "../libraries/BlockHashLib.sol";
import {HeaderLib} from "../libraries/HeaderLib.sol";

/// @title Headers and hashes of blocks, as the oracle reads them
contract HeaderHarness {
    /// @notice The prevrandao in a header.
    function prevRandao(bytes calldata header) external pure returns (bytes32) {
        return HeaderLib.prevRandao(header);
    }

    /// @notice The hash of a past block.
    function hashOf(uint256 blockNumber) external view returns (bytes32) {
        return BlockHashLib.hashOf(blockNumber);
    }
}
