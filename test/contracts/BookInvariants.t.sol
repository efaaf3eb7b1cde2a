// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {AgentBook} from "../../contracts/libraries/AgentBook.sol";
import {MAX_AGENTS} from "../../contracts/types/Limits.sol";
import {AgentId} from "../../contracts/types/Types.sol";
import {BookHandler} from "./utils/BookHandler.sol";
import {vm} from "./utils/Vm.sol";
import {WalkTest} from "./utils/WalkTest.sol";

/// @dev The invariants of the candidates, with the numbers of docs/spec/draw.md.
contract BookInvariantsTest is WalkTest {
    using AgentBook for AgentBook.State;

    BookHandler private _handler;
    AgentBook.State private _book;

    function setUp() public {
        _handler = new BookHandler();
        _handler.begin();
    }

    /// @dev Invariants that nothing exercises prove nothing: a random walk reaches every action, and no action reverts.
    function test_everyActionIsReached() public {
        _walk(0, 600);
        bytes32[17] memory actions = [
            bytes32("create"),
            "bond",
            "unbond",
            "leave",
            "settle",
            "crowd",
            "anotherBucket",
            "proven",
            "asleep",
            "wake",
            "exited",
            "skill 1",
            "skill 3",
            "slash",
            "slashBounded",
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

    function afterStep() internal view override {
        _handler.requireViews();
        _handler.requireAgreement();
    }

    function handler() internal view override returns (address) {
        return address(_handler);
    }

    function argumentsOf(bytes4, uint256 random) internal pure override returns (bytes memory) {
        return abi.encode(random >> 8, random >> 16, random >> 255);
    }

    /// @dev Settlements come up more often than the rest, since agents are proven by sixteen of them.
    function weightedSelectors() internal pure override returns (bytes4[] memory selectors) {
        bytes4[16] memory weighted = [
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
            BookHandler.crowd.selector,
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
