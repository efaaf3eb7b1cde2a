// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {AgentId, Request, Seat} from "../../contracts/types/Types.sol";
import {ConclaveTest} from "./utils/ConclaveTest.sol";
import {Draft} from "./utils/Draft.sol";
import {vm} from "./utils/Vm.sol";

/// @dev Seats that were absent (SE20): what they cost, and who leaves the draw.
contract AbsenceTest is ConclaveTest {
    using SeatLib for Seat;

    AgentId private constant AGENT = AgentId.wrap(3);

    function setUp() public {
        deployConclave();
    }

    /// @dev The committee says who was absent. A seat without a share was there, whether or not the relayer shows its
    /// signature; and nobody's signature hides an absence.
    function test_whoMissedIsWhatTheCommitteeSigned() public {
        registerAgents(6, MAX_STAKE);
        Seat[] memory committee = _decide(4, hex"010101ff", 7);
        assertEq(_agentIn(committee[3]).misses, 1, "absent");
        assertEq(_agentIn(committee[3]).reputation, 800_000, "one slash");
        assertEq(_agentIn(committee[2]).misses, 0, "there");
        committee = _decide(4, hex"010101ff", 15);
        assertEq(_agentIn(committee[3]).misses, 1, "a signature is no work");
        committee = _decide(4, hex"01010100", 7);
        for (uint256 seat = 0; seat < 4; ++seat) assertEq(_agentIn(committee[seat]).misses, 0, "a dropped signature");
    }

    function test_threeMissesInARowPutAnAgentToSleep() public {
        registerAgents(4, MAX_STAKE);
        _miss(2);
        assertTrue(registry.getAgent(AGENT).active, "not yet");
        vm.expectEmit(address(registry));
        emit IAgentRegistry.AgentFellAsleep(AGENT);
        vm.expectEmit(address(registry));
        emit IAgentRegistry.AgentDeactivated(AGENT);
        _miss(1);
        assertTrue(registry.getAgent(AGENT).asleep, "asleep");
        assertTrue(!registry.getAgent(AGENT).active, "not active");
        assertEq(registry.drawableCount(), 4, "still drawn in this epoch");
        nextEpoch();
        assertEq(registry.drawableCount(), 3, "and not in the next");
        // Seats of earlier committees neither wake it nor count any more.
        moveReputation(AGENT, 1);
        _miss(1);
        assertEq(registry.getAgent(AGENT).misses, 3, "as before");
        assertTrue(!registry.getAgent(AGENT).active, "asleep all the same");
    }

    function test_anyServedSeatEndsTheRow() public {
        registerAgents(4, MAX_STAKE);
        _miss(2);
        moveReputation(AGENT, 0);
        assertEq(registry.getAgent(AGENT).misses, 0, "served");
        _miss(2);
        moveReputation(AGENT, -1);
        assertEq(registry.getAgent(AGENT).misses, 0, "wrong, but there");
        _miss(2);
        assertTrue(registry.getAgent(AGENT).active, "never three in a row");
    }

    /// @dev RE4: of one week only the deepest fall counts, and a miss is one slash. A decision that slashes the seat
    /// anyway includes it.
    function test_missesCostAtMostOneSlashAWeek() public {
        registerAgents(4, MAX_STAKE);
        vm.warp(vm.getBlockTimestamp() + 7 days - (vm.getBlockTimestamp() % 7 days));
        _miss(2);
        assertEq(registry.getAgent(AGENT).reputation, 800_000, "one slash");
        vm.warp(vm.getBlockTimestamp() + 7 days);
        missSeat(AGENT, -2);
        assertEq(registry.getAgent(AGENT).reputation, 512_000, "two, not three");
    }

    function test_operatorOrSignerWakesTheAgent() public {
        registerAgents(4, MAX_STAKE);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.AgentNotAsleep.selector, AGENT));
        registry.wake(AGENT);
        _miss(3);
        vm.prank(address(0xbad));
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NotOperator.selector, AGENT, address(0xbad)));
        registry.wake(AGENT);
        vm.expectEmit(address(registry));
        emit IAgentRegistry.AgentActivated(AGENT);
        vm.expectEmit(address(registry));
        emit IAgentRegistry.AgentWoke(AGENT);
        vm.prank(registry.getAgent(AGENT).signer);
        registry.wake(AGENT);
        assertEq(registry.getAgent(AGENT).misses, 0, "a new row");
        assertTrue(registry.getAgent(AGENT).active, "active");
        _miss(3);
        registry.wake(AGENT);
        nextEpoch();
        assertEq(registry.drawableCount(), 4, "drawn again");
    }

    /// @dev ST5: an agent that sleeps is not active, whatever is bonded. Waking it does not replace stake.
    function test_stakeDoesNotWake() public {
        registerAgents(4, MIN_STAKE);
        _miss(3);
        registry.bond(AGENT, MIN_STAKE);
        assertTrue(!registry.getAgent(AGENT).active, "asleep");
        registry.startUnbonding(AGENT, MIN_STAKE + 1);
        registry.wake(AGENT);
        assertTrue(!registry.getAgent(AGENT).active, "too little stake");
        registry.bond(AGENT, 1);
        assertTrue(registry.getAgent(AGENT).active, "active");
    }

    /// @dev ST8: whoever makes an answer overturned chooses when it slashes. An agent that sleeps then has its stake, and loses no more
    /// than another one. If its operator has taken the stake out, it exits.
    function test_aSlashWhileItSleepsIsNoExit() public {
        registerAgents(4, MAX_STAKE);
        _miss(3);
        vm.prank(registry.slasher());
        registry.slashOverturned(AGENT, address(0xbad), 0.01 ether);
        assertTrue(!registry.getAgent(AGENT).exited, "it may wake");
        registry.wake(AGENT);
        assertTrue(registry.getAgent(AGENT).active, "active");
        _miss(3);
        registry.startUnbonding(AGENT, MAX_STAKE - MIN_STAKE);
        vm.prank(registry.slasher());
        registry.slashOverturned(AGENT, address(0xbad), 0.01 ether);
        assertTrue(registry.getAgent(AGENT).exited, "it has less than the minimum");
    }

    /// @dev A third of the agents are dead. They leave the draw by the certificates of the committees that get through,
    /// and then no committee stalls.
    function test_deadAgentsLeaveTheDraw() public {
        uint32 dead = 5;
        registerAgents(16, MAX_STAKE);
        for (uint256 requests = 0; registry.activeCount() > 16 - dead; ++requests) {
            assertTrue(requests < 60, "they stay");
            (Request memory request, uint64 seedBlock) = ask(termsFor(7, 0));
            Seat[] memory committee = drawCommittee(request, seedBlock);
            (uint256 signers, uint256 count) = (0, 0);
            Draft memory decision = decisionFor(7);
            for (uint256 seat = 0; seat < 7; ++seat) {
                bool lives = AgentId.unwrap(committee[seat].agentId()) > dead;
                decision.shares[seat] = lives ? bytes1(0x01) : bytes1(0xff);
                if (lives) (signers, count) = (signers | (1 << seat), count + 1);
            }
            if (count < 5) continue;
            commitWith(request, decision.packed(), certify(request, committee, decision, signers));
            nextEpoch();
        }
        for (uint32 id = 1; id <= 16; ++id) {
            assertTrue(registry.getAgent(AgentId.wrap(id)).asleep == (id <= dead), "the dead ones sleep, nobody else");
        }
        for (uint256 i = 0; i < 100; ++i) {
            Seat[] memory committee = committeeNow(keccak256(abi.encode(i)), 7);
            for (uint256 seat = 0; seat < 7; ++seat)
                assertTrue(AgentId.unwrap(committee[seat].agentId()) > dead, "dead");
        }
    }

    function _miss(uint256 times) private {
        for (uint256 i = 0; i < times; ++i) missSeat(AGENT, 0);
    }

    function _decide(uint256 size, bytes memory shares, uint256 signers) private returns (Seat[] memory committee) {
        (Request memory request, uint64 seedBlock) = ask(termsFor(size, 0));
        committee = drawCommittee(request, seedBlock);
        Draft memory decision = decisionFor(size);
        decision.shares = shares;
        commitWith(request, decision.packed(), certify(request, committee, decision, signers));
    }

    function _agentIn(Seat seat) private view returns (IAgentRegistry.Agent memory) {
        return registry.getAgent(seat.agentId());
    }
}
