// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {CALLBACK_RESERVE_GAS} from "../types/Limits.sol";

/// @title Calls a consumer that may be hostile
library CallbackLib {
    /// @notice Calls `target` with exactly `gasLimit` gas and ignores what it returns.
    /// @dev Reverts when there is too little gas to forward `gasLimit` (a call gets at most 63/64 of what is left) and
    /// finish afterwards: the submitter cannot make the callback fail by saving gas. Returned data is not copied, so its
    /// size costs the caller nothing.
    /// @return success false if it reverted, ran out of gas or has no code
    function tryCall(address target, uint256 gasLimit, bytes memory data) internal returns (bool success) {
        uint256 available = gasleft();
        // Rounded up, in favour of the consumer. gasLimit <= MAX_CALLBACK_GAS, so nothing overflows.
        uint256 required = (gasLimit * 64) / 63 + 1 + CALLBACK_RESERVE_GAS;
        require(available >= required, IDecisionOracle.InsufficientCallbackGas(available, required));
        assembly ("memory-safe") {
            if extcodesize(target) {
                success := call(gasLimit, target, 0, add(data, 0x20), mload(data), 0, 0)
            }
        }
    }
}
