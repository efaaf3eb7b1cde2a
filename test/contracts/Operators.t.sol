// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {AgentId} from "../../contracts/types/Types.sol";
import {ConclaveTest} from "./utils/ConclaveTest.sol";
import {vm} from "./utils/Vm.sol";

/// @dev Who may take over an agent (RW7).
contract OperatorsTest is ConclaveTest {
    AgentId private constant AGENT = AgentId.wrap(1);
    address private constant ALICE = address(0xa11ce);
    address private constant BOB = address(0xb0b);

    function setUp() public {
        deployConclave();
        registry.register(registrationOf(address(this), MIN_STAKE));
        _fund(ALICE);
        _fund(BOB);
    }

    /// @dev ST9: the new operator answers with its own stake, so a proof always pays its reporter.
    function test_anOperatorWithoutStakeTakesNoAgent() public {
        registry.transferOperator(AGENT, BOB);
        _refuse(BOB, 0);
        _bond(MIN_STAKE - 1);
        _refuse(BOB, MIN_STAKE - 1);
        _bond(1);
        vm.prank(BOB);
        registry.acceptOperator(AGENT);
        assertTrue(registry.getAgent(AGENT).active, "active");
    }

    /// @dev The account that is to take over an agent may bond while it is not active, and nobody else.
    function test_anAgentThatIsNotActiveIsTakenOver() public {
        registry.startUnbonding(AGENT, MIN_STAKE);
        registry.transferOperator(AGENT, BOB);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.AgentNotActive.selector, AGENT));
        vm.prank(ALICE);
        registry.bond(AGENT, MIN_STAKE);
        _bond(MIN_STAKE);
        vm.prank(BOB);
        registry.acceptOperator(AGENT);
        assertTrue(registry.getAgent(AGENT).active, "active");
    }

    function _refuse(address account, uint128 own) private {
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.StakeBelowMinimum.selector, own, MIN_STAKE));
        vm.prank(account);
        registry.acceptOperator(AGENT);
    }

    function _fund(address account) private {
        token.mint(account, MIN_STAKE);
        vm.prank(account);
        token.approve(address(registry), MIN_STAKE);
    }

    function _bond(uint128 amount) private {
        vm.prank(BOB);
        registry.bond(AGENT, amount);
    }
}
