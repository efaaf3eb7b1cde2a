// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// @title The fee token of `MockDecisionOracle`: anybody may mint it
contract MockFeeToken is ERC20, ERC20Permit {
    constructor() ERC20("Mock fee token", "MOCK") ERC20Permit("Mock fee token") {}

    /// @notice Mints tokens.
    /// @param amount in the smallest unit
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}
