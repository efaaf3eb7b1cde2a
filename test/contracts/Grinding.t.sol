// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../../contracts/interfaces/IDecisionOracle.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {AgentId, Request, Seat, Status} from "../../contracts/types/Types.sol";
import {ConclaveTest} from "./utils/ConclaveTest.sol";
import {vm} from "./utils/Vm.sol";

/// @dev An attacker knows the seed and can change the registry before the draw, all in one transaction.
contract GrindingTest is ConclaveTest {
    using SeatLib for Seat;

    uint256 private constant SLEEPERS = 24;

    AgentId[] private _sleepers;

    function setUp() public {
        deployConclave();
        fund(1e24);
        registerAgents(20, MAX_STAKE);
        for (uint256 i = 0; i < SLEEPERS; ++i) _sleepers.push(registerAgent(MIN_STAKE));
        // The sleepers are one unit short of the minimum: a unit of stake wakes each of them and changes the count of
        // agents.
        for (uint256 i = 0; i < SLEEPERS; ++i) registry.startUnbonding(_sleepers[i], 1);
        nextEpoch();
        assertEq(registry.drawableCount(), 20, "asleep");
        drawForEvidence(2);
    }

    function test_whoKnowsTheSeedCannotChangeTheDraw() public {
        (Request memory request, uint64 seedBlock) = ask(termsFor(7, 1 ether));
        vm.roll(seedBlock + 1);
        bytes32 seed = seedOf(request, seedBlock);
        bytes32 fair = _drawn(seed);
        // The attacker tries every way to change the array: a new agent, more stake, another key, an agent that leaves,
        // a slash, and sleepers that wake.
        registerAgent(MAX_STAKE);
        assertEq(_drawn(seed), fair, "a newcomer");
        (bytes memory publicKey, bytes memory possession) = freshKey(address(this));
        registry.rotateSigner(AgentId.wrap(1), publicKey, possession);
        assertEq(_drawn(seed), fair, "another key");
        registry.startUnbonding(AgentId.wrap(2), MAX_STAKE);
        assertEq(_drawn(seed), fair, "a leaver");
        Seat[] memory seats = committeeNow(seed, 7);
        for (uint256 i = 0; i < 2; ++i) moveReputation(seats[i].agentId(), -3);
        assertEq(_drawn(seed), fair, "slashes");
        submit(equivocation(seats[2].agentId(), 0));
        assertEq(_drawn(seed), fair, "a slash by proof");
        registry.bond(seats[2].agentId(), 1);
        assertEq(_drawn(seed), fair, "more stake");
        for (uint256 i = 0; i < SLEEPERS; ++i) {
            registry.bond(_sleepers[i], 1);
            assertEq(_drawn(seed), fair, "a sleeper that wakes");
        }
        assertEq(registry.drawableCount(), 20, "drawn from the registry of the epoch");
        assertEq(registry.activeCount(), 20 + SLEEPERS, "which has changed");

        drawWith(request, seedBlock, headerOf(seedBlock));
        assertTrue(statusOf(request) == Status.Drawn, "drawn");
        nextEpoch();
        assertTrue(_drawn(seed) != fair, "the next epoch sees it all");
        assertEq(registry.drawableCount(), registry.activeCount(), "everybody");
    }

    /// @dev Waiting until the changes count does not help: the seed ends with its epoch.
    function test_seedIsWorthlessInTheNextEpoch() public {
        (Request memory request, uint64 seedBlock) = ask(termsFor(4, 0));
        vm.roll(seedBlock + 1);
        nextEpoch();
        assertTrue(blockhash(seedBlock) != 0, "still in the window");
        drawWith(request, seedBlock, "");
        assertTrue(statusOf(request) == Status.Requested, "rescheduled");
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WitnessMismatch.selector, request.id));
        drawWith(request, seedBlock, "");
        seedBlock = seedBlockAfter(block.number);
        vm.roll(seedBlock + 16);
        drawWith(request, seedBlock, headerOf(seedBlock));
        assertTrue(statusOf(request) == Status.Drawn, "16 blocks are left at least");
    }

    /// @dev A proposer of the eight blocks before a seed block knows the seed in all of them. Nothing that it does to
    /// the registry there reaches the draw, however late in an epoch the request was made.
    function test_theRegistryIsFixedEightBlocksBeforeTheSeed() public {
        for (uint256 offset = 0; offset < EPOCH_BLOCKS; ++offset) {
            nextEpoch();
            vm.roll(block.number + offset);
            (Request memory request, uint64 seedBlock) = _asked(7);
            bytes32 seed = seedOf(request, seedBlock);
            vm.roll(seedBlock - 8);
            bytes32 fair = _drawn(seed);
            for (uint256 number = seedBlock - 8; number < seedBlock; ++number) {
                vm.roll(number);
                if (number % 2 == 0) registerAgent(MAX_STAKE);
                else registry.startUnbonding(AgentId.wrap(1), 1);
            }
            vm.roll(seedBlock + 1);
            assertEq(_drawn(seed), fair, "known too early");
            drawWith(request, seedBlock, headerOf(seedBlock));
        }
    }

    /// @dev Tries every length of an epoch and every block of it.
    function testFuzz_seedBlockHasItsPlaceInItsEpoch(uint256 epochBlocks, uint256 number) public {
        epochBlocks = bound(epochBlocks, 25, number % 2 == 0 ? 7200 : 64);
        deployRegistry(epochBlocks);
        number = bound(number, 1000, 1000 + 3 * epochBlocks);
        vm.roll(number);
        (, uint64 seedBlock) = _asked(4);
        assertEq(seedBlock, seedBlockAfter(number, epochBlocks), "the first that will do");
        assertTrue(seedBlock >= number + 8, "not before eight blocks");
        assertTrue(seedBlock <= number + 32, "not after 32");
        assertTrue(seedBlock % epochBlocks >= 8, "eight blocks of the epoch before it");
        assertTrue((seedBlock % epochBlocks) + 16 < epochBlocks, "16 blocks of the epoch after it");
    }

    function testFuzz_seedLeavesTimeToDraw(uint256 offset) public {
        vm.roll(block.number + bound(offset, 0, 3 * EPOCH_BLOCKS));
        (Request memory request, uint64 seedBlock) = ask(termsFor(4, 0));
        vm.roll(seedBlock);
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.SeedNotReady.selector, request.id, seedBlock));
        drawWith(request, seedBlock, "");
        // The last block of the epoch still draws.
        vm.roll((seedBlock / EPOCH_BLOCKS + 1) * EPOCH_BLOCKS - 1);
        drawWith(request, seedBlock, headerOf(seedBlock));
        assertTrue(statusOf(request) == Status.Drawn, "drawn");
    }

    /// @return request the request that was made
    /// @return seedBlock the seed block that the oracle announced, whatever the rule says
    function _asked(uint256 size) private returns (Request memory request, uint64 seedBlock) {
        vm.recordLogs();
        (request, ) = ask(termsFor(size, 0));
        (, , seedBlock) = abi.decode(vm.getRecordedLogs()[0].data, (uint256, uint256, uint64));
    }

    function _drawn(bytes32 seed) private view returns (bytes32) {
        return keccak256(abi.encode(committeeNow(seed, 7)));
    }
}
