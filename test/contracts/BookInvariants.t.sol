// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {AgentBook} from "../../contracts/libraries/AgentBook.sol";
import {MAX_AGENTS} from "../../contracts/types/Limits.sol";
import {AgentId} from "../../contracts/types/Types.sol";
import {BookHandler} from "./utils/BookHandler.sol";
import {Assertions, vm} from "./utils/Vm.sol";

/// @dev The invariants of the candidates, with the numbers of docs/spec/draw.md.
contract BookInvariantsTest is Assertions {
    using AgentBook for AgentBook.State;

    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    BookHandler private _handler;
    AgentBook.State private _book;

    function setUp() public {
        _handler = new BookHandler();
        _handler.begin();
    }

    /// @dev The fuzzer gives coins to the callers, so no contract of the test may be a caller.
    function targetSenders() external pure returns (address[] memory senders) {
        senders = new address[](1);
        senders[0] = address(0xca11e2);
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_handler);
    }

    function targetSelectors() external view returns (FuzzSelector[] memory targets) {
        targets = new FuzzSelector[](1);
        targets[0] = FuzzSelector(address(_handler), _selectors());
    }

    /// @dev Invariants that nothing exercises prove nothing: a random walk reaches every action, and no action reverts.
    function test_everyActionIsReached() public {
        bytes4[] memory selectors = _selectors();
        for (uint256 i = 0; i < 600; ++i) {
            uint256 random = uint256(keccak256(abi.encode("walk", i)));
            bytes memory arguments = abi.encode(random >> 8, random >> 16, random >> 255);
            (bool success, ) = address(_handler).call(bytes.concat(selectors[random % selectors.length], arguments));
            assertTrue(success, "an action reverted");
            _handler.requireViews();
            _handler.requireAgreement();
        }
        bytes32[13] memory actions = [
            bytes32("create"),
            "bond",
            "unbond",
            "leave",
            "settle",
            "anotherBucket",
            "proven",
            "asleep",
            "wake",
            "exited",
            "slash",
            "rotate",
            "pass"
        ];
        string memory missing = "";
        for (uint256 i = 0; i < actions.length; ++i)
            if (_handler.done(actions[i]) == 0) missing = string(abi.encodePacked(missing, actions[i], " "));
        assertTrue(bytes(missing).length == 0, missing);
    }

    /// @dev An index in a bucket has 22 bits.
    function test_agentsAreBounded() public {
        _book.count = uint32(MAX_AGENTS - 1);
        assertEq(AgentId.unwrap(this.create(address(1))), 4_194_303, "the last");
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.TooManyAgents.selector, 4_194_303));
        this.create(address(2));
    }

    function create(address signer) external returns (AgentId) {
        return _book.create(address(this), signer, 0);
    }

    function invariant_epochsStayAsTheyBegan() public view {
        _handler.requireViews();
    }

    function invariant_bucketsPositionsAndRecordsAgree() public view {
        _handler.requireAgreement();
    }

    /// @dev Settlements come up more often than the rest, since agents are proven by sixteen of them.
    function _selectors() private pure returns (bytes4[] memory selectors) {
        bytes4[15] memory weighted = [
            BookHandler.create.selector,
            BookHandler.bond.selector,
            BookHandler.bond.selector,
            BookHandler.unbond.selector,
            BookHandler.settle.selector,
            BookHandler.settle.selector,
            BookHandler.settle.selector,
            BookHandler.settle.selector,
            BookHandler.settle.selector,
            BookHandler.settle.selector,
            BookHandler.wake.selector,
            BookHandler.slash.selector,
            BookHandler.rotate.selector,
            BookHandler.pass.selector,
            BookHandler.pass.selector
        ];
        selectors = new bytes4[](weighted.length);
        for (uint256 i = 0; i < weighted.length; ++i) selectors[i] = weighted[i];
    }
}
