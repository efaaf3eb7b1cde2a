// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

/// @title Hashes of past blocks
library BlockHashLib {
    /// @dev The system contract of EIP-2935 (Prague): a block number of 32 bytes in, the hash out, for the last 8191 blocks.
    address private constant HISTORY = 0x0000F90827F1C53a10cb7A02335B175320002935;

    /// @notice The hash of a block before this one: of the last 256 on every chain, of the last 8191 where EIP-2935 is served.
    /// @dev It cannot be starved of gas: the contract takes some 2,500 of the 63/64 it gets, and with fewer the rest, at most 40
    /// gas, is not enough to go on.
    /// @return result 0 if it is not known any more
    function hashOf(uint256 blockNumber) internal view returns (bytes32 result) {
        result = blockhash(blockNumber);
        if (result != 0) return result;
        address history = HISTORY;
        assembly ("memory-safe") {
            mstore(0x00, blockNumber)
            let success := staticcall(gas(), history, 0x00, 0x20, 0x00, 0x20)
            // Without code it succeeds and returns nothing; out of its window it reverts.
            if and(success, eq(returndatasize(), 0x20)) {
                result := mload(0x00)
            }
        }
    }
}
