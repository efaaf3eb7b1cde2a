// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {AccessManager} from "@openzeppelin/contracts/access/manager/AccessManager.sol";

/// @title Who may do what
/// @notice OpenZeppelin's access manager as it is. Its roles can be delayed; make a timelock or a multisig the admin.
contract ConclaveAccessManager is AccessManager {
    /// @param initialAdmin grants the roles
    constructor(address initialAdmin) AccessManager(initialAdmin) {}
}
