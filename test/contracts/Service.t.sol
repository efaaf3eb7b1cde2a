// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {AgentId, Currency, Seat} from "../../contracts/types/Types.sol";
import {ConclaveTest} from "./utils/ConclaveTest.sol";
import {vm} from "./utils/Vm.sol";

/// @dev The services that an agent needs before its stake counts in full (docs/adr/010-fresh-agents.md).
contract ServiceTest is ConclaveTest {
    using SeatLib for Seat;

    uint256 private constant AGENTS = 8;
    uint8 private constant PROVEN = 16;
    uint256 private constant DRAWS = 3000;
    AgentId private constant AGENT = AgentId.wrap(3);

    function setUp() public {
        deployConclave();
        registerAgents(AGENTS, MAX_STAKE);
    }

    function test_sixteenServicesDoubleTheWeight() public {
        assertTrue(_isNear(_timesDrawn(), DRAWS / AGENTS), "as often as the others");
        for (uint8 i = 1; i < PROVEN; ++i) {
            _settle(0);
            assertEq(registry.getAgent(AGENT).service, i, "service");
        }
        nextEpoch();
        assertTrue(_isNear(_timesDrawn(), DRAWS / AGENTS), "still fresh");
        vm.recordLogs();
        _settle(0);
        assertEq(vm.getRecordedLogs()[0].topics[0], IAgentRegistry.AgentProven.selector, "proven");
        assertTrue(_isNear(_timesDrawn(), DRAWS / AGENTS), "not in this epoch");
        nextEpoch();
        assertTrue(_isNear(_timesDrawn(), (2 * DRAWS) / (AGENTS + 1)), "twice as often");
        vm.recordLogs();
        _settle(0);
        assertEq(vm.getRecordedLogs().length, 1, "proven once: only ServicesRecorded");
        assertEq(registry.getAgent(AGENT).service, PROVEN, "counted no further");
        vm.recordLogs();
        _settle(-1);
        assertEq(vm.getRecordedLogs().length, 2, "nor by another change: only ReputationChanged and ServicesRecorded");
    }

    function test_aSlashIsNoService() public {
        _settle(-1);
        assertEq(registry.getAgent(AGENT).service, 0, "slashed");
        _settle(1);
        IAgentRegistry.Agent memory agent = registry.getAgent(AGENT);
        assertEq(agent.service, 1, "recovered");
        assertEq(agent.reputation, 810_000, "both steps");
    }

    /// @dev RE4: a fall that does not count changes nothing. A recovery between two falls leaves no
    /// room for more.
    function test_onlyTheDeepestFallOfAWeekTakesEffect() public {
        vm.warp(vm.getBlockTimestamp() + 7 days - (vm.getBlockTimestamp() % 7 days));
        _settle(-1);
        _settle(1);
        vm.recordLogs();
        _settle(-1);
        assertEq(vm.getRecordedLogs().length, 1, "only ServicesRecorded");
        assertEq(registry.getAgent(AGENT).service, 1, "nor was it a service");
        assertEq(registry.getAgent(AGENT).reputation, 810_000, "one slash, one recovery");
        _settle(-3);
        assertEq(registry.getAgent(AGENT).reputation, 518_400, "two more, 0.81 x 0.8^2");
        vm.warp(vm.getBlockTimestamp() + 7 days);
        _settle(-1);
        assertEq(registry.getAgent(AGENT).reputation, 414_720, "another week");
    }

    /// @dev The weight stays halved, or full, whatever else writes the agent's word.
    function test_otherChangesKeepTheWeight() public {
        for (uint256 i = 0; i < PROVEN; ++i) _settle(0);
        registry.startUnbonding(AGENT, MAX_STAKE / 2);
        registry.bond(AGENT, MAX_STAKE / 2);
        _settle(-1);
        for (uint256 i = 0; i < 20; ++i) _settle(1);
        registry.startUnbonding(AgentId.wrap(1), MAX_STAKE / 2);
        registry.bond(AgentId.wrap(1), MAX_STAKE / 2);
        nextEpoch();
        assertEq(registry.getAgent(AGENT).reputation, 1_000_000, "recovered");
        assertTrue(_isNear(_timesDrawn(), (2 * DRAWS) / (AGENTS + 1)), "twice as often");
    }

    /// @dev A seat that is neither paid nor raised has not served.
    function test_aSeatWithoutPayIsNoService() public {
        moveReputation(AGENT, 0);
        assertEq(registry.getAgent(AGENT).service, 0, "unpaid");
    }

    /// @dev Pays one unit for a seat that is not slashed.
    function _settle(int8 steps) private {
        recordService(Currency.Token, AGENT, steps, steps < 0 ? 0 : 1);
    }

    /// @dev Returns how often the agent gets the only seat.
    function _timesDrawn() private view returns (uint256 count) {
        for (uint256 i = 0; i < DRAWS; ++i) {
            Seat seat = committeeNow(keccak256(abi.encode(i)), 1)[0];
            if (AgentId.unwrap(seat.agentId()) == AgentId.unwrap(AGENT)) ++count;
        }
    }

    /// @dev Allows 15 %: about three standard deviations of the smaller figure.
    function _isNear(uint256 actual, uint256 expected) private pure returns (bool) {
        return actual * 100 > expected * 85 && actual * 100 < expected * 115;
    }
}
