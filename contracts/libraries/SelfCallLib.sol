// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {MAX_REASON_BYTES} from "../types/Limits.sol";

/// @title Calls a function of this contract and survives a failure of the call
library SelfCallLib {
    /// @notice Calls this contract with `data` on behalf of the same sender. If the call reverts, its changes are
    /// undone.
    /// @dev The call gets 63/64 of the gas that is left. Returned data is not copied. At most `MAX_REASON_BYTES` of
    /// revert data are copied.
    /// @return success false if the call reverted or ran out of gas
    /// @return reason the beginning of the revert data
    function tryCall(bytes calldata data) internal returns (bool success, bytes memory reason) {
        uint256 maximum = MAX_REASON_BYTES;
        assembly ("memory-safe") {
            // The data lies beyond the free memory pointer, as scratch; later the reason takes its place.
            let pointer := mload(0x40)
            calldatacopy(pointer, data.offset, data.length)
            success := delegatecall(gas(), address(), pointer, data.length, 0x00, 0x00)
            // The zero slot is an empty array.
            reason := 0x60
            if iszero(success) {
                let size := returndatasize()
                if gt(size, maximum) {
                    size := maximum
                }
                reason := pointer
                mstore(reason, size)
                returndatacopy(add(reason, 0x20), 0x00, size)
                // The length is rounded up to words.
                mstore(0x40, add(reason, and(add(size, 0x3f), not(0x1f))))
            }
        }
    }
}
