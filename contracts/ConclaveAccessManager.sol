// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {AccessManager} from "@openzeppelin/contracts/access/manager/AccessManager.sol";

/// @title The roles of the accounts that may change prices and pause requests
/// @notice OpenZeppelin's access manager without changes. Its roles can have delays; make a timelock or a multisig the
/// admin.
contract ConclaveAccessManager is AccessManager {
    /// @param initialAdmin the account that grants the roles
    constructor(address initialAdmin) AccessManager(initialAdmin) {}
}
