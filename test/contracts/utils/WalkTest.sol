// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {Assertions} from "./Vm.sol";

/// @dev A test of what holds along random walks over the actions of one handler.
abstract contract WalkTest is Assertions {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    error ActionReverted(uint256 step, bytes4 selector, bytes reason);

    /// @dev The fuzzer gives coins to the callers, so no contract of the test may be a caller.
    function targetSenders() external pure returns (address[] memory senders) {
        senders = new address[](1);
        senders[0] = address(0xca11e2);
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = handler();
    }

    function targetSelectors() external view returns (FuzzSelector[] memory targets) {
        targets = new FuzzSelector[](1);
        targets[0] = FuzzSelector(handler(), weightedSelectors());
    }

    /// @dev Takes the same steps whenever it is called with the same number of a walk. No action may revert.
    function _walk(uint256 walk, uint256 steps) internal {
        bytes4[] memory selectors = weightedSelectors();
        for (uint256 i = 0; i < steps; ++i) {
            uint256 random = uint256(keccak256(abi.encode("walk", walk, i)));
            bytes4 selector = selectors[random % selectors.length];
            (bool success, bytes memory reason) = handler().call(bytes.concat(selector, argumentsOf(selector, random)));
            if (!success) revert ActionReverted(i, selector, reason);
            afterStep();
        }
    }

    function afterStep() internal virtual {}

    function handler() internal view virtual returns (address);

    /// @dev Returns the actions; one that comes twice comes up twice as often.
    function weightedSelectors() internal pure virtual returns (bytes4[] memory);

    /// @dev Returns the arguments of an action of a walk, without dirty bits. More arguments than it takes do no harm.
    function argumentsOf(bytes4 selector, uint256 random) internal pure virtual returns (bytes memory);
}
