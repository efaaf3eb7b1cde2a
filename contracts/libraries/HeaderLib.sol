// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";

/// @title Reads the RLP of a block header
/// @dev Use it only for bytes whose hash is the hash of a block. The library checks that the bytes are a list and that
/// no read leaves it; it does not check that each length has its shortest form. It ignores the members after mixHash,
/// so it also reads headers of later forks, which append members.
library HeaderLib {
    /// @dev Position of mixHash, which is prevrandao since the merge (EIP-4399).
    uint256 private constant MIX_HASH = 13;
    /// @dev Prefix of a list whose length is in the next two bytes. A header is at least 256 bytes long, since it has a
    /// bloom filter.
    bytes1 private constant LIST = 0xf9;
    uint256 private constant LIST_HEAD_BYTES = 3;
    /// @dev Prefix of a string of 32 bytes.
    bytes1 private constant WORD = 0xa0;
    /// @dev A smaller first byte is a string of one byte, which stands for itself.
    uint256 private constant SHORT_STRING = 0x80;
    /// @dev A first byte up to this one is a string of up to 55 bytes. A larger one also tells how many bytes hold the
    /// length.
    uint256 private constant LAST_SHORT_STRING = 0xb7;
    /// @dev Prefix of a string whose length is in the next two bytes. A longer string does not fit into the list.
    uint256 private constant LONGEST_STRING = 0xb9;

    /// @notice Returns the prevrandao of a header: the beacon's randomness of the block before.
    /// @param header RLP
    function prevRandao(bytes calldata header) internal pure returns (bytes32) {
        uint256 end = header.length;
        require(end >= LIST_HEAD_BYTES && header[0] == LIST, IDecisionOracle.MalformedHeader("list", 0));
        require(
            LIST_HEAD_BYTES + uint16(bytes2(header[1:LIST_HEAD_BYTES])) == end,
            IDecisionOracle.MalformedHeader("length", 1)
        );
        uint256 offset = LIST_HEAD_BYTES;
        for (uint256 i = 0; i < MIX_HASH; ++i) offset = _skip(header, offset);
        require(offset + 33 <= end && header[offset] == WORD, IDecisionOracle.MalformedHeader("mixHash", offset));
        return bytes32(header[offset + 1:offset + 33]);
    }

    /// @return next offset after the string at `offset`, at most the header's length
    function _skip(bytes calldata header, uint256 offset) private pure returns (uint256 next) {
        uint256 end = header.length;
        require(offset < end, IDecisionOracle.MalformedHeader("item", offset));
        uint256 head = uint8(header[offset]);
        next = offset + 1;
        if (head > LAST_SHORT_STRING) {
            uint256 body = next + head - LAST_SHORT_STRING;
            require(head <= LONGEST_STRING && body <= end, IDecisionOracle.MalformedHeader("item", offset));
            uint256 length = uint8(header[next]);
            // The length has two bytes.
            if (head == LONGEST_STRING) length = (length << 8) | uint8(header[next + 1]);
            next = body + length;
        } else if (head >= SHORT_STRING) {
            next += head - SHORT_STRING;
        }
        require(next <= end, IDecisionOracle.MalformedHeader("item", offset));
    }
}
