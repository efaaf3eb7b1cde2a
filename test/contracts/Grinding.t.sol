// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../../contracts/interfaces/IDecisionOracle.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {SeedLib} from "../../contracts/libraries/SeedLib.sol";
import {AgentId, Request, Seat} from "../../contracts/types/Types.sol";
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
        decideForEvidence(2);
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

        assertEq(_shown(request, seedBlock), fair, "proven");
        nextEpoch();
        assertEq(_shown(request, seedBlock), fair, "and still in the next epoch");
        assertTrue(_drawn(seed) != fair, "whose own committees see it all");
        assertEq(registry.drawableCount(), registry.activeCount(), "everybody");
    }

    /// @dev Waiting until the changes count does not help: the committee stays that of the seed's epoch, and the seed ends
    /// with the epoch after it.
    function test_aSeedNeverMeetsALaterRegistry() public {
        (Request memory request, uint64 seedBlock) = ask(termsFor(7, 0));
        vm.roll(seedBlock + 1);
        bytes32 fair = _shown(request, seedBlock);
        registerAgent(MAX_STAKE);
        nextEpoch();
        registerAgent(MAX_STAKE);
        vm.roll(block.number + EPOCH_BLOCKS - 1);
        assertEq(_shown(request, seedBlock), fair, "the last block that proves it");
        nextEpoch();
        bytes memory header = headerOf(seedBlock);
        assertTrue(blockhash(seedBlock) != 0, "still in the window");
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.SeedExpired.selector, request.id, seedBlock));
        this.show(request, seedBlock, header);
    }

    function show(
        Request calldata request,
        uint64 seedBlock,
        bytes calldata header
    ) external view returns (Seat[] memory) {
        return committeeWith(request, seedBlock, header);
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
            assertEq(_shown(request, seedBlock), fair, "proven");
        }
    }

    /// @dev Tries every length of an epoch and every block of it.
    function testFuzz_seedBlockHasItsPlaceInItsEpoch(uint256 epochBlocks, uint256 number) public {
        epochBlocks = bound(epochBlocks, 25, number % 2 == 0 ? 7200 : 64);
        number = bound(number, 1000, 1000 + 3 * epochBlocks);
        vm.roll(number);
        uint64 seedBlock = this.next(epochBlocks);
        assertEq(seedBlock, seedBlockAfter(number, epochBlocks), "the first that will do");
        assertTrue(seedBlock >= number + 8, "not before eight blocks");
        assertTrue(seedBlock <= number + 32, "not after 32");
        assertTrue(seedBlock % epochBlocks >= 8, "eight blocks of the epoch before it");
        assertTrue((seedBlock % epochBlocks) + 16 < epochBlocks, "16 blocks of the epoch after it");
    }

    function next(uint256 epochBlocks) external view returns (uint64) {
        return SeedLib.next(epochBlocks);
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

    function _shown(Request memory request, uint64 seedBlock) private returns (bytes32) {
        return keccak256(abi.encode(committeeWith(request, seedBlock, headerOf(seedBlock))));
    }
}
