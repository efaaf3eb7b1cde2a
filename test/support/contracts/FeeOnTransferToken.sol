// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A token that keeps one unit of every transfer, for tests
contract FeeOnTransferToken is ERC20("Fee on transfer", "FOT") {
    /// @notice Gives `account` new tokens.
    function mint(address account, uint256 amount) external {
        _mint(account, amount);
    }

    function _update(address from, address to, uint256 value) internal override {
        super._update(from, to, value);
        if (from != address(0) && to != address(0)) super._update(to, address(0), 1);
    }
}
