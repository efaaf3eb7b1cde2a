// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {vm} from "./Vm.sol";

/// @dev Replaces the system contract of EIP-2935, which the simulated chain lacks: sets its code and one slot for each
/// block.
library HistoryChain {
    address internal constant HISTORY = 0x0000F90827F1C53a10cb7A02335B175320002935;
    uint256 internal constant WINDOW = 8191;
    bytes private constant CODE =
        hex"3373fffffffffffffffffffffffffffffffffffffffe14604657602036036042575f35600143038111604257611fff81430311604257611fff9006545f5260205ff35b5f5ffd5b5f35611fff60014303065500";

    function install() internal {
        vm.etch(HISTORY, CODE);
    }

    function uninstall() internal {
        vm.etch(HISTORY, "");
    }

    function remember(uint256 blockNumber, bytes32 blockHash) internal {
        vm.store(HISTORY, bytes32(blockNumber % WINDOW), blockHash);
    }
}
