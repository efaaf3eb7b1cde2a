// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// @title A token for local chains
/// @dev Warning: any account can mint. Never deploy it where tokens are worth something.
contract TestToken is ERC20Permit {
    constructor() ERC20("Conclave test token", "TEST") ERC20Permit("Conclave test token") {}

    /// @notice Gives `account` new tokens.
    function mint(address account, uint256 amount) external {
        _mint(account, amount);
    }
}
