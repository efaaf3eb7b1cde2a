// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {DRAW_BLOCKS, SEED_DELAY} from "../types/Limits.sol";
import {RequestId} from "../types/Types.sol";
import {BlockHashLib} from "./BlockHashLib.sol";
import {CalldataLib} from "./CalldataLib.sol";
import {HeaderLib} from "./HeaderLib.sol";

/// @title The block whose randomness picks a committee (ADR 7, ADR 16)
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

    /// @notice True if nobody can prove the committee of this seed block any more: the registry shows the running epoch
    /// and the one before, and the chain serves the hashes of so many blocks. Before the seed block it is false.
    function isExpired(uint64 seedBlock, uint256 epochBlocks) internal view returns (bool) {
        return block.number > seedBlock && _hashOf(seedBlock, epochBlocks) == 0;
    }

    /// @notice Returns the randomness of the seed block, from its header. Reverts unless the seed can be proven.
    function prevRandao(
        RequestId requestId,
        uint64 seedBlock,
        uint256 epochBlocks,
        bytes calldata header
    ) internal view returns (bytes32 result) {
        require(block.number > seedBlock, IDecisionOracle.SeedNotReady(requestId, seedBlock));
        bytes32 blockHash = _hashOf(seedBlock, epochBlocks);
        require(blockHash != 0, IDecisionOracle.SeedExpired(requestId, seedBlock));
        bytes32 headerHash = header.hash();
        require(headerHash == blockHash, IDecisionOracle.HeaderMismatch(requestId, blockHash, headerHash));
        result = HeaderLib.prevRandao(header);
        require(result != 0, IDecisionOracle.NoBeacon(requestId, seedBlock));
    }

    /// @notice Does the same, and keeps the result until the end of the transaction: later calls in it may leave the
    /// header out.
    /// @dev The key is the number of the block. Nothing else in the oracle uses transient storage. What was proven once
    /// holds in the whole transaction, since all of it runs in one block.
    function prevRandaoOnce(
        RequestId requestId,
        uint64 seedBlock,
        uint256 epochBlocks,
        bytes calldata header
    ) internal returns (bytes32 result) {
        if (header.length == 0) {
            assembly ("memory-safe") {
                result := tload(and(seedBlock, 0xffffffffffffffff))
            }
            if (result != 0) return result;
        }
        result = prevRandao(requestId, seedBlock, epochBlocks, header);
        assembly ("memory-safe") {
            tstore(and(seedBlock, 0xffffffffffffffff), result)
        }
    }

    /// @return 0 if the seed has expired, or its block is still to come
    function _hashOf(uint64 seedBlock, uint256 epochBlocks) private view returns (bytes32) {
        if (block.number / epochBlocks > seedBlock / epochBlocks + 1) return 0;
        return BlockHashLib.hashOf(seedBlock);
    }
}
