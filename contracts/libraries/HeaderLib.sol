// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";

/// @title Reads the RLP of a block header
/// @dev Use it only for bytes whose hash is the hash of a block: those are well formed. The library checks that the bytes
/// are one list and that what it returns lies in it. It ignores the members after mixHash, so it also reads headers of
/// later forks, which append members.
library HeaderLib {
    /// @dev Position of mixHash, which is prevrandao since the merge (EIP-4399).
    uint256 private constant MIX_HASH = 13;
    /// @dev Prefix of a list whose length is in the next two bytes. A header is at least 256 bytes long, since it has a
    /// bloom filter.
    bytes1 private constant LIST = 0xf9;
    uint256 private constant LIST_HEAD_BYTES = 3;
    /// @dev Prefix of a string of 32 bytes.
    bytes1 private constant WORD = 0xa0;

    /// @notice Returns the prevrandao of a header: the beacon's randomness of the block before.
    /// @param header RLP
    function prevRandao(bytes calldata header) internal pure returns (bytes32) {
        uint256 end = header.length;
        require(
            end >= LIST_HEAD_BYTES &&
                header[0] == LIST &&
                LIST_HEAD_BYTES + uint16(bytes2(header[1:LIST_HEAD_BYTES])) == end,
            IDecisionOracle.MalformedHeader("list", 0)
        );
        uint256 offset = _skip(header, LIST_HEAD_BYTES);
        require(offset + 33 <= end && header[offset] == WORD, IDecisionOracle.MalformedHeader("mixHash", offset));
        return bytes32(header[offset + 1:offset + 33]);
    }

    /// @dev Skips the members before mixHash. A first byte below 0x80 stands for itself. One up to 0xb7 begins a string of
    /// up to 55 bytes. A larger one also says how many bytes hold the length. The offset only grows, so a length that
    /// leads out of the header leads the caller out of it, too; it stays far below 2^256.
    function _skip(bytes calldata header, uint256 offset) private pure returns (uint256 next) {
        assembly ("memory-safe") {
            next := offset
            for {
                let left := MIX_HASH
            } left {
                left := sub(left, 1)
            } {
                let word := calldataload(add(header.offset, next))
                let head := byte(0, word)
                let size := 1
                if gt(head, 0x7f) {
                    size := sub(head, 0x7f)
                }
                if gt(head, 0xb7) {
                    let lengthBytes := sub(head, 0xb7)
                    size := add(add(lengthBytes, 1), shr(sub(256, shl(3, lengthBytes)), shl(8, word)))
                }
                next := add(next, size)
            }
        }
    }
}
