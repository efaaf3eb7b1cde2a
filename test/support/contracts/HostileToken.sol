// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A token that fails, or calls an account in the middle of a transfer, as a test tells it
contract HostileToken is ERC20("Hostile token", "HOST") {
    /// @notice True if transfers return false and move nothing.
    bool public refusing;
    address private _target;
    bytes private _reentry;

    /// @notice Gives `account` new tokens.
    function mint(address account, uint256 amount) external {
        _mint(account, amount);
    }

    /// @notice Sets whether the next transfers fail.
    function setRefusing(bool refusing_) external {
        refusing = refusing_;
    }

    /// @notice Lets an account spend this contract's own tokens.
    function approveFor(address spender, uint256 amount) external {
        _approve(address(this), spender, amount);
    }

    /// @notice Sets the account that the next transfer calls, and the data of the call.
    function setReentry(address target, bytes calldata data) external {
        _target = target;
        _reentry = data;
    }

    function transfer(address to, uint256 amount) public override returns (bool) {
        _react();
        return !refusing && super.transfer(to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) public override returns (bool) {
        _react();
        return !refusing && super.transferFrom(from, to, amount);
    }

    function _react() private {
        address target = _target;
        if (target == address(0)) return;
        _target = address(0);
        (bool success, bytes memory reason) = target.call(_reentry);
        if (!success) {
            assembly {
                revert(add(reason, 0x20), mload(reason))
            }
        }
    }
}
