// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {Permit} from "../types/Types.sol";

/// @title Takes tokens in
library TokenLib {
    using SafeERC20 for IERC20;

    /// @notice The interfaces of the contracts that use this library declare the same error.
    error TransferMismatch(uint256 expected, uint256 received);

    /// @notice Pulls exactly `amount` from the caller. Refuses a token that takes a fee on transfers.
    /// @dev Credit the amount only after this call: a token that calls back in between can only make the comparison
    /// fail.
    function pullExact(IERC20 token, uint256 amount) internal {
        uint256 before = token.balanceOf(address(this));
        token.safeTransferFrom(msg.sender, address(this), amount);
        uint256 afterwards = token.balanceOf(address(this));
        uint256 received = afterwards > before ? afterwards - before : 0;
        // slither-disable-next-line incorrect-equality: only what this call moved is compared
        require(received == amount, TransferMismatch(amount, received));
    }

    /// @notice Submits a permit of `owner` for this contract, and ignores a failure of the permit.
    /// @dev Another account may have submitted the same permit first. The allowance decides when the tokens are pulled.
    function tryPermit(IERC20 token, address owner, Permit calldata permit) internal {
        try
            IERC20Permit(address(token)).permit(
                owner,
                address(this),
                permit.value,
                permit.deadline,
                permit.v,
                permit.r,
                permit.s
            )
        {} catch {}
    }
}
