// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A token that fails, or calls somebody in the middle of a transfer, as told, for tests
contract HostileToken is ERC20("Hostile token", "HOST") {
    /// @notice Whether transfers return false instead of moving anything.
    bool public refusing;
    address private _target;
    bytes private _reentry;

    /// @notice Gives `account` new tokens.
    function mint(address account, uint256 amount) external {
        _mint(account, amount);
    }

    /// @notice Changes what the next transfers do.
    function setRefusing(bool refusing_) external {
        refusing = refusing_;
    }

    /// @notice Lets somebody spend tokens of this contract itself.
    function approveFor(address spender, uint256 amount) external {
        _approve(address(this), spender, amount);
    }

    /// @notice Whom the next transfer calls, and with what.
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
