// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

/// @title Hashes of past blocks
library BlockHashLib {
    /// @dev The system contract of EIP-2935 (Prague). It takes a block number of 32 bytes and returns the hash of that
    /// block, if the block is one of the last 8191.
    address private constant HISTORY = 0x0000F90827F1C53a10cb7A02335B175320002935;

    /// @notice Returns the hash of an earlier block: one of the last 256 on every chain, one of the last 8191 where the
    /// chain has EIP-2935.
    /// @dev A caller cannot starve this call of gas: the contract needs about 2,500 of the 63/64 that it gets. If that
    /// is too little, the caller keeps at most 40 gas, which is not enough to go on.
    /// @return result the hash; 0 if the chain does not know it any more
    function hashOf(uint256 blockNumber) internal view returns (bytes32 result) {
        result = blockhash(blockNumber);
        if (result != 0) return result;
        address history = HISTORY;
        assembly ("memory-safe") {
            mstore(0x00, blockNumber)
            let success := staticcall(gas(), history, 0x00, 0x20, 0x00, 0x20)
            // A call to an address without code succeeds and returns nothing. The contract reverts for a block out of
            // its window.
            if and(success, eq(returndatasize(), 0x20)) {
                result := mload(0x00)
            }
        }
    }
}
