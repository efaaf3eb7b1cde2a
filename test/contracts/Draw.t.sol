// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {Candidate, CandidateLib, Candidates} from "../../contracts/libraries/Candidates.sol";
import {DrawLib} from "../../contracts/libraries/DrawLib.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {AgentId, Seat} from "../../contracts/types/Types.sol";
import {Assertions, vm} from "./utils/Vm.sol";

/// @dev Draws from candidates that the test makes, without keys and tokens.
contract DrawTest is Assertions {
    using Candidates for Candidates.State;
    using SeatLib for Seat;

    uint128 private constant MAX_STAKE = 16 ether;

    /// @dev Adds the candidates in one epoch and draws from them in the next.
    uint64 private constant EPOCH = 1;

    Candidates.State private _candidates;
    mapping(uint256 agentId => Candidate candidate) private _made;
    mapping(uint256 agentId => uint256 seats) private _seats;

    function testFuzz_seatsAreDistinctAndActive(bytes32 seed, uint256 count, uint256 size, uint256 weights) public {
        size = bound(size, 1, 64);
        count = bound(count, size, 100);
        for (uint256 i = 0; i < count; ++i) {
            uint256 random = uint256(keccak256(abi.encode(weights, i)));
            _add(uint128(bound(random, 1 ether, MAX_STAKE)), uint32(bound(random >> 128, 100_000, 1_000_000)));
        }
        Seat[] memory committee = this.draw(seed, size);
        assertEq(committee.length, size, "size");
        for (uint256 i = 0; i < size; ++i) {
            uint256 id = AgentId.unwrap(committee[i].agentId());
            assertTrue(id >= 1 && id <= count, "active");
            assertEq(++_seats[id], 1, "seats of one agent");
            assertEq(Seat.unwrap(committee[i]), Seat.unwrap(_made[id].seat()), "its own word");
        }
        // The draw depends only on its arguments and the candidates: the same seed draws the same committee.
        assertEq(keccak256(abi.encode(this.draw(seed, size))), keccak256(abi.encode(committee)), "deterministic");
    }

    function test_tooFewAgents() public {
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.TooFewAgents.selector, 0, 4));
        this.draw("seed", 4);
        for (uint256 i = 0; i < 3; ++i) _add(MAX_STAKE, 1_000_000);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.TooFewAgents.selector, 3, 4));
        this.draw("seed", 4);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.InvalidCommitteeSize.selector, 65, 64));
        this.draw("seed", 65);
    }

    /// @dev Draws one seat from four agents whose weights are 1 : 2 : 4 : 8, 6,000 times. The bounds are five standard
    /// deviations, so an unweighted draw fails by far, and the fixed seeds need no luck to pass.
    function test_drawIsWeighted() public {
        // Stake x reputation decides: 1/8 x 1/2, 1/8 x 1, 1 x 1/4 and 1 x 1/2.
        _add(2 ether, 500_000);
        _add(2 ether, 1_000_000);
        _add(16 ether, 250_000);
        _add(16 ether, 500_000);
        uint256 draws = 6000;
        for (uint256 i = 0; i < draws; ++i) {
            ++_seats[AgentId.unwrap(this.draw(keccak256(abi.encode("weighted", i)), 1)[0].agentId())];
        }
        for (uint256 id = 1; id <= 4; ++id) {
            uint256 weight = 1 << (id - 1);
            uint256 expected = (draws * weight) / 15;
            // The variance of a binomial is n p (1 - p).
            uint256 tolerance = 5 * _sqrt((expected * (15 - weight)) / 15);
            assertTrue(_seats[id] + tolerance > expected, "not too rare");
            assertTrue(_seats[id] < expected + tolerance, "not too frequent");
        }
    }

    /// @dev Draws pairs. With weights w, P(i first, then j) = w_i w_j / (1 - w_i). The order of the seats is the order
    /// of the draw.
    function test_secondSeatIsWeightedByTheRest() public {
        _add(8 ether, 1_000_000);
        _add(8 ether, 500_000);
        _add(8 ether, 500_000);
        uint256 draws = 4000;
        uint256 strongSecond = 0;
        for (uint256 i = 0; i < draws; ++i) {
            Seat[] memory pair = this.draw(keccak256(abi.encode("pair", i)), 2);
            if (AgentId.unwrap(pair[1].agentId()) == 1) ++strongSecond;
        }
        // 2 x 1/4 x (1/2) / (3/4) = 1/3.
        uint256 expected = draws / 3;
        uint256 tolerance = 5 * _sqrt((expected * 2) / 3);
        assertTrue(strongSecond + tolerance > expected && strongSecond < expected + tolerance, "one third");
    }

    function test_costDoesNotGrowWithTheRegistry() public {
        for (uint256 i = 0; i < 10; ++i) _add(MAX_STAKE, 1_000_000);
        uint256 small = _meanGas();
        for (uint256 i = 0; i < 990; ++i) _add(MAX_STAKE, 1_000_000);
        uint256 large = _meanGas();
        assertTrue(large * 100 < small * 105, "1,000 agents cost less than 5 % more than 10");
    }

    /// @dev DR5: the last seats go to the lightest agents beside the heaviest, and each takes two probes on average.
    function test_drawEndsWhateverTheWeights() public {
        for (uint256 i = 0; i < 32; ++i) _add(1 ether, 100_000);
        for (uint256 i = 0; i < 32; ++i) _add(MAX_STAKE, 1_000_000);
        uint256 before = gasleft();
        Seat[] memory committee = this.draw("all", 64);
        uint256 used = before - gasleft();
        assertTrue(used < 300_000, "bounded");
        for (uint256 i = 0; i < 64; ++i) {
            assertEq(++_seats[AgentId.unwrap(committee[i].agentId())], 1, "seats of one agent");
        }
    }

    /// @dev DR2: of 32 heavy and 32 light agents, 320 : 1, the heavy ones take nearly all first seats, since weights count to
    /// the last seat.
    function test_theLightestComeLast() public {
        for (uint256 i = 0; i < 32; ++i) _add(1 ether, 100_000);
        for (uint256 i = 0; i < 32; ++i) _add(MAX_STAKE, 1_000_000);
        uint256 heavy = 0;
        for (uint256 i = 0; i < 50; ++i) {
            Seat[] memory committee = this.draw(keccak256(abi.encode("last", i)), 31);
            for (uint256 seat = 0; seat < 31; ++seat) if (AgentId.unwrap(committee[seat].agentId()) > 32) ++heavy;
        }
        // Before the seat with j heavy agents left a light one comes with the probability 0.1 / (0.1 + j): 0.3 of 31 seats.
        assertTrue(heavy > 50 * 30, "heavy");
    }

    /// @dev DR4: an excluded agent sits only where no other one of its bucket is left.
    function testFuzz_excludedAgentsSitWhereTheirBucketHasNoOthers(bytes32 seed, uint256 count, uint256 size) public {
        count = 2 * bound(count, 2, 30);
        size = bound(size, 1, count);
        for (uint256 i = 0; i < count; ++i) _add(MAX_STAKE >> (uint256(keccak256(abi.encode(seed, i))) % 3), 1_000_000);
        // All odd ones are excluded. An excluded agent may be unknown, and an id may come twice.
        AgentId[] memory excluded = new AgentId[](count / 2 + 2);
        for (uint256 i = 0; i < count / 2; ++i) excluded[i] = AgentId.wrap(uint32(1 + 2 * i));
        excluded[count / 2] = AgentId.wrap(type(uint32).max);
        excluded[count / 2 + 1] = AgentId.wrap(1);
        Seat[] memory committee = this.drawWithout(seed, size, excluded);
        Seat[] memory free = this.draw(seed, size);
        uint256 seats = 0;
        for (uint256 i = 0; i < size; ++i) {
            uint256 id = AgentId.unwrap(committee[i].agentId());
            assertEq((seats >> id) & 1, 0, "seats of one agent");
            seats |= 1 << id;
            uint256 first = AgentId.unwrap(free[i].agentId());
            assertEq(_made[id].bucket(), _made[first].bucket(), "whoever is excluded, a bucket keeps its seats");
            if (first % 2 == 0) assertEq(id, first, "an agent that is not excluded keeps its seat");
        }
        for (uint256 i = 0; i < size; ++i) {
            uint256 id = AgentId.unwrap(committee[i].agentId());
            if (id % 2 == 0) continue;
            for (uint256 other = 2; other <= count; other += 2) {
                bool isLeft = (seats >> other) & 1 == 0 && _made[other].bucket() == _made[id].bucket();
                assertTrue(!isLeft, "another one was left");
            }
        }
    }

    /// @dev DR4: of a bucket's others each sits by its weight, and if all are excluded, they sit by theirs.
    function test_othersOfTheBucketSitByWeight() public {
        // Agents 1, 2 and 3 weigh 5 : 3 : 5, agent 4 is light.
        _add(MAX_STAKE, 1_000_000);
        _add(MAX_STAKE, 600_000);
        _add(MAX_STAKE, 1_000_000);
        _add(1 ether, 1_000_000);
        AgentId[] memory one = new AgentId[](1);
        one[0] = AgentId.wrap(3);
        AgentId[] memory all = new AgentId[](3);
        for (uint32 i = 0; i < 3; ++i) all[i] = AgentId.wrap(i + 1);
        uint256 draws = 2000;
        uint256 second = 0;
        uint256 secondOfAll = 0;
        for (uint256 i = 0; i < draws; ++i) {
            bytes32 seed = keccak256(abi.encode("bucket", i));
            uint256 sits = AgentId.unwrap(this.drawWithout(seed, 1, one)[0].agentId());
            assertTrue(sits != 3, "excluded");
            if (sits == 2) ++second;
            if (AgentId.unwrap(this.drawWithout(seed, 1, all)[0].agentId()) == 2) ++secondOfAll;
        }
        // The light one has a 1/16.6 of the weight. Of the rest agent 2 has 3/13 first, and 5/13 x 3/8 in place of agent 3: 706 of 2,000.
        // Where all of the bucket are excluded it has the 3/13: 434. A standard deviation is 21, and 19.
        assertTrue(second > 706 - 105 && second < 706 + 105, "in place of an excluded one");
        assertTrue(secondOfAll > 434 - 95 && secondOfAll < 434 + 95, "where all are excluded");
    }

    /// @dev DR5: no registry holds a weight of 0. If one did, the draw would end all the same.
    function test_probesAreBounded() public {
        _add(MAX_STAKE, 1_000_000);
        _candidates.set(EPOCH, 1, _made[1].withMerits(0, 2));
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.ProbesUsedUp.selector, 256 + 8));
        this.draw("seed", 1);
    }

    /// @dev DR6: a probe reads one word, so the words that a draw reads tell how many probes a seat takes.
    function test_aSeatTakesTwoProbesAtMost() public {
        for (uint256 i = 0; i < 100; ++i) _add(MAX_STAKE, 1_000_000);
        assertEq(_probesOf(7, 100), 700, "uniform at full weight");
        assertEq(_probesOf(31, 10), 310, "uniform at full weight");
    }

    function test_aSeatTakesTwoProbesAtMostAtLeastStake() public {
        for (uint256 i = 0; i < 100; ++i) _add(1 ether, 1_000_000);
        assertEq(_probesOf(7, 100), 700, "uniform at least stake");
    }

    function test_aSeatTakesTwoProbesAtMostWhereStakesDiffer() public {
        for (uint256 i = 0; i < 100; ++i) _add(MAX_STAKE, 1_000_000);
        for (uint256 i = 0; i < 300; ++i) _add(1 ether, 1_000_000);
        assertEq(_probesOf(7, 100), 700, "each group fills its bucket");
    }

    /// @dev All weights lie just above the lower bound of their bucket.
    function test_aSeatTakesTwoProbesAtMostInTheWorstRegistry() public {
        for (uint256 i = 0; i < 100; ++i) _add(MAX_STAKE, 500_001);
        for (uint256 i = 0; i < 100; ++i) _add(MAX_STAKE / 4, 500_001);
        uint256 probes = _probesOf(7, 200);
        // The mean of 1,400 seats with two probes each has a standard deviation of 0.04.
        assertTrue(probes > 2600 && probes < 2950, "two");
    }

    function draw(bytes32 seed, uint256 size) external view returns (Seat[] memory) {
        return this.drawWithout(seed, size, new AgentId[](0));
    }

    function drawWithout(
        bytes32 seed,
        uint256 size,
        AgentId[] calldata excluded
    ) external view returns (Seat[] memory) {
        return DrawLib.draw(_candidates, EPOCH + 1, seed, size, excluded);
    }

    /// @dev Returns how many probes `draws` committees took.
    function _probesOf(uint256 size, uint256 draws) private returns (uint256 probes) {
        for (uint256 i = 0; i < draws; ++i) {
            vm.record();
            this.draw(keccak256(abi.encode("probes", i)), size);
            (bytes32[] memory reads, ) = vm.accesses(address(this));
            // One more word holds the sizes of the buckets.
            probes += reads.length - 1;
        }
    }

    /// @dev All slots are warm within one test, so this counts probes. draw-cost.test.ts measures transactions.
    function _meanGas() private view returns (uint256) {
        uint256 total = 0;
        for (uint256 i = 0; i < 50; ++i) {
            uint256 before = gasleft();
            this.draw(keccak256(abi.encode("gas", i)), 4);
            total += before - gasleft();
        }
        return total / 50;
    }

    function _add(uint128 stake, uint32 reputation) private {
        uint32 id = uint32(_candidates.count() + 1);
        address signer = address(uint160(id) << 32);
        _made[id] = CandidateLib.pack(stake, MAX_STAKE, false, reputation, 2, AgentId.wrap(id), signer);
        _candidates.insert(EPOCH, _made[id]);
    }

    function _sqrt(uint256 value) private pure returns (uint256 root) {
        while ((root + 1) * (root + 1) <= value) ++root;
    }
}
