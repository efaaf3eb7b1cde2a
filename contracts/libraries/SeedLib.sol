// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {DRAW_BLOCKS, SEED_DELAY} from "../types/Limits.sol";
import {RequestId} from "../types/Types.sol";
import {BlockHashLib} from "./BlockHashLib.sol";
import {CalldataLib} from "./CalldataLib.sol";
import {HeaderLib} from "./HeaderLib.sol";

/// @title The block whose randomness draws a committee (ADR 7)
library SeedLib {
    using CalldataLib for bytes;

    /// @notice Returns the seed block: the first block, at least `SEED_DELAY` after this one, that has `SEED_DELAY`
    /// blocks of its epoch before it and `DRAW_BLOCKS` after it. Each epoch is long enough to have such a block. Why the
    /// blocks before and after: docs/adr/007-seed-from-prevrandao.md.
    function next(uint256 epochBlocks) internal view returns (uint64) {
        unchecked {
            // Block numbers stay below 2^64, and the offset is below the length of the epoch.
            uint256 seedBlock = block.number + SEED_DELAY;
            uint256 offset = seedBlock % epochBlocks;
            if (offset < SEED_DELAY) seedBlock += SEED_DELAY - offset;
            else if (offset + DRAW_BLOCKS >= epochBlocks) seedBlock += epochBlocks - offset + SEED_DELAY;
            return uint64(seedBlock);
        }
    }

    /// @notice Returns the hash of a seed block.
    /// @dev A seed belongs to the registry of its own epoch. In another epoch everybody would know the seed beforehand.
    /// @return 0 if the seed has expired
    function hashOf(uint64 seedBlock, uint256 epochBlocks) internal view returns (bytes32) {
        if (block.number / epochBlocks != seedBlock / epochBlocks) return 0;
        return BlockHashLib.hashOf(seedBlock);
    }

    /// @notice Returns the randomness of the block that the header belongs to.
    function prevRandao(
        RequestId requestId,
        uint64 seedBlock,
        bytes32 blockHash,
        bytes calldata header
    ) internal pure returns (bytes32 result) {
        bytes32 headerHash = header.hash();
        require(headerHash == blockHash, IDecisionOracle.HeaderMismatch(requestId, blockHash, headerHash));
        result = HeaderLib.prevRandao(header);
        require(result != 0, IDecisionOracle.NoBeacon(requestId, seedBlock));
    }
}
