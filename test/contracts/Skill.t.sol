// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {SkillLib} from "../../contracts/libraries/SkillLib.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {AgentId, Seat} from "../../contracts/types/Types.sol";
import {ConclaveTest} from "./utils/ConclaveTest.sol";
import {vm} from "./utils/Vm.sol";

/// @dev What contested decisions teach about an agent (docs/spec/skill.md).
contract SkillTest is ConclaveTest {
    using SeatLib for Seat;

    AgentId private constant AGENT = AgentId.wrap(3);
    string private _json;

    function setUp() public {
        deployConclave();
        registerAgents(4, MAX_STAKE);
        _nextWeek();
        _json = vm.readFile("test/vectors/skill.json");
    }

    /// @dev SK4, SK6: TypeScript reads the same file.
    function test_countersFollowTheVectors() public view {
        uint256 walks = 0;
        for (; vm.keyExistsJson(_json, _member(walks, "")); ++walks) {
            bytes memory steps = vm.parseJsonBytes(_json, _member(walks, ".lessons"));
            bytes memory agrees = vm.parseJsonBytes(_json, _member(walks, ".agreed"));
            bytes memory contests = vm.parseJsonBytes(_json, _member(walks, ".contested"));
            bytes memory skills = vm.parseJsonBytes(_json, _member(walks, ".skills"));
            (uint256 agreed, uint256 contested) = (0, 0);
            for (uint256 i = 0; i < steps.length; ++i) {
                (agreed, contested) = SkillLib.learned(agreed, contested, steps[i] == 0x01);
                assertEq(agreed, uint8(agrees[i]), "agreed");
                assertEq(contested, uint8(contests[i]), "contested");
                assertEq(SkillLib.skillOf(agreed, contested), uint8(skills[i]), "skill");
            }
            assertTrue(steps.length > 200, "a walk that halves the counters");
        }
        assertEq(walks, 7, "walks");
    }

    /// @dev SK6: the greatest skill takes five contested decisions, and the least one.
    function test_aFreshAgentHasTheMiddleSkill() public {
        assertEq(_skillOf(AGENT), 2, "fresh");
        for (uint256 i = 0; i < 4; ++i) teach(AGENT, true);
        assertEq(_skillOf(AGENT), 2, "four right ones");
        teach(AGENT, true);
        assertEq(_skillOf(AGENT), 3, "five right ones");
        teach(AgentId.wrap(1), false);
        assertEq(_skillOf(AgentId.wrap(1)), 1, "one wrong one");
    }

    /// @dev SK5: an agent learns eight times in a week, whatever it is taught.
    function test_aWeekHasEightLessons() public {
        for (uint256 i = 0; i < 20; ++i) teach(AGENT, i % 2 == 0);
        _requireCounters(4, 8);
        vm.warp(vm.getBlockTimestamp() + 7 days - 1);
        teach(AGENT, true);
        _requireCounters(4, 8);
        vm.warp(vm.getBlockTimestamp() + 1);
        teach(AGENT, true);
        _requireCounters(5, 9);
    }

    /// @dev SK5, RE4: a fall and a lesson of one week leave each other's bound alone; a new week begins both.
    function test_fallsAndLessonsShareTheWeek() public {
        for (uint256 i = 0; i < 9; ++i) teach(AGENT, true);
        moveReputation(AGENT, -1);
        teach(AGENT, true);
        moveReputation(AGENT, -1);
        _requireCounters(8, 8);
        assertEq(registry.getAgent(AGENT).reputation, 800_000, "one fall");
        _nextWeek();
        moveReputation(AGENT, -1);
        teach(AGENT, true);
        moveReputation(AGENT, -1);
        _requireCounters(9, 9);
        assertEq(registry.getAgent(AGENT).reputation, 640_000, "one more");
    }

    /// @dev SK7: a draw knows the skill that its epoch began with, and its odds do not depend on it.
    function test_aSeatHasTheSkillOfItsEpoch() public {
        nextEpoch();
        Seat[] memory before = committeeNow("seed", 4);
        for (uint256 i = 0; i < 5; ++i) teach(AGENT, true);
        Seat[] memory same = committeeNow("seed", 4);
        nextEpoch();
        Seat[] memory later = committeeNow("seed", 4);
        for (uint256 i = 0; i < 4; ++i) {
            assertEq(Seat.unwrap(same[i]), Seat.unwrap(before[i]), "the running epoch");
            bool isTaught = AgentId.unwrap(later[i].agentId()) == AgentId.unwrap(AGENT);
            assertEq(later[i].skill(), isTaught ? 3 : 2, "the next epoch");
            assertEq(AgentId.unwrap(later[i].agentId()), AgentId.unwrap(before[i].agentId()), "the same draw");
        }
    }

    /// @dev The skill stays whatever else writes the agent's word or its candidate.
    function test_otherChangesKeepTheSkill() public {
        for (uint256 i = 0; i < 5; ++i) teach(AGENT, true);
        registry.startUnbonding(AGENT, MAX_STAKE / 2);
        registry.bond(AGENT, MAX_STAKE / 2);
        moveReputation(AGENT, -3);
        for (uint256 i = 0; i < 3; ++i) missSeat(AGENT, 0);
        registry.wake(AGENT);
        nextEpoch();
        Seat[] memory committee = committeeNow("seed", 4);
        for (uint256 i = 0; i < 4; ++i)
            if (AgentId.unwrap(committee[i].agentId()) == AgentId.unwrap(AGENT))
                assertEq(committee[i].skill(), 3, "skill");
        _requireCounters(5, 5);
    }

    function _nextWeek() private {
        uint256 time = vm.getBlockTimestamp();
        vm.warp(time + 7 days - (time % 7 days));
    }

    /// @dev Returns what the next epoch draws.
    function _skillOf(AgentId agentId) private view returns (uint256) {
        IAgentRegistry.Agent memory agent = registry.getAgent(agentId);
        return SkillLib.skillOf(agent.agreed, agent.contested);
    }

    function _requireCounters(uint256 agreed, uint256 contested) private view {
        IAgentRegistry.Agent memory agent = registry.getAgent(AGENT);
        assertEq(agent.agreed, agreed, "agreed");
        assertEq(agent.contested, contested, "contested");
    }

    function _member(uint256 walk, string memory member) private pure returns (string memory) {
        return string.concat(".walks[", vm.toString(walk), "]", member);
    }
}
