// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

/// @dev Makes headers of invented blocks. Unlike those of a chain, their numbers have leading zeros.
library HeaderMaker {
    /// @dev Returns the beacon's randomness before the block.
    function prevRandaoOf(uint256 blockNumber) internal pure returns (bytes32) {
        return keccak256(abi.encode("prevrandao", blockNumber));
    }

    function make(uint256 blockNumber) internal pure returns (bytes memory) {
        return make(blockNumber, abi.encodePacked(hex"a0", prevRandaoOf(blockNumber)), "");
    }

    /// @param mixHash RLP of the member mixHash
    /// @param more RLP of the members after those of Osaka
    function make(
        uint256 blockNumber,
        bytes memory mixHash,
        bytes memory more
    ) internal pure returns (bytes memory header) {
        bytes memory body = bytes.concat(_beforeMixHash(blockNumber), mixHash, hex"880000000000000000", _later(), more);
        header = abi.encodePacked(hex"f9", uint16(body.length), body);
    }

    function _beforeMixHash(uint256 blockNumber) private pure returns (bytes memory) {
        bytes memory roots;
        for (uint256 i = 0; i < 3; ++i) roots = bytes.concat(roots, _word(bytes32(i)));
        return
            abi.encodePacked(
                _word(keccak256(abi.encode("parent", blockNumber))),
                _word(0),
                hex"94",
                address(0xbee),
                roots,
                // The bloom filter; the difficulty is 0.
                hex"b90100",
                new bytes(256),
                hex"80",
                abi.encodePacked(hex"88", uint64(blockNumber), hex"8401c9c380", hex"80", hex"846b020729"),
                // Extra data of one byte, which stands for itself.
                hex"7f"
            );
    }

    /// @dev The members baseFee, withdrawalsRoot, blobGasUsed, excessBlobGas, parentBeaconBlockRoot and requestsHash.
    function _later() private pure returns (bytes memory) {
        return abi.encodePacked(hex"8422f06c09", _word("withdrawals"), hex"8080", _word("beacon"), _word("requests"));
    }

    function _word(bytes32 value) private pure returns (bytes memory) {
        return abi.encodePacked(hex"a0", value);
    }
}
