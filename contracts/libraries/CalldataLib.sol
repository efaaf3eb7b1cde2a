// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

/// @title Hashes of what is in calldata
library CalldataLib {
    /// @notice Returns keccak256(data). It copies the data beyond the free memory pointer and allocates no memory.
    function hash(bytes calldata data) internal pure returns (bytes32 result) {
        assembly ("memory-safe") {
            let pointer := mload(0x40)
            calldatacopy(pointer, data.offset, data.length)
            result := keccak256(pointer, data.length)
        }
    }
}
