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

    /// @dev DR4: in the order of the draw, an excluded agent is left out if those that were hold at most an eighth of all tickets with it, and
    /// sits otherwise. If seats stay empty, those that were left out sit.
    function testFuzz_excludedAgentsAreLeftOutUpToAnEighth(
        bytes32 seed,
        uint256 count,
        uint256 size,
        uint256 odd
    ) public {
        count = bound(count, 4, 60);
        size = bound(size, 1, count);
        odd = bound(odd, 1, 12);
        uint256 room = 0;
        for (uint256 i = 0; i < count; ++i) {
            uint256 bucket = uint256(keccak256(abi.encode(seed, i))) % 3;
            _add(MAX_STAKE >> bucket, 1_000_000);
            room += 1 << (9 - bucket);
        }
        room /= 8;
        // Every so many-th agent. An excluded agent may be unknown, and an id may come twice.
        AgentId[] memory excluded = new AgentId[](count / odd + 2);
        for (uint256 i = 0; i < count / odd; ++i) excluded[i] = AgentId.wrap(uint32((i + 1) * odd));
        excluded[count / odd] = AgentId.wrap(type(uint32).max);
        excluded[count / odd + 1] = AgentId.wrap(uint32(odd));
        // Whoever sits or is left out leaves the bowl alike, so the draw goes on as that of all agents.
        Seat[] memory all = this.draw(seed, count);
        Seat[] memory committee = this.drawWithout(seed, size, excluded);
        uint256[] memory left = new uint256[](count);
        uint256 leaving = 0;
        uint256 seat = 0;
        for (uint256 i = 0; i < count && seat < size; ++i) {
            uint256 id = AgentId.unwrap(all[i].agentId());
            uint256 tickets = 1 << (9 - _made[id].bucket());
            if (id % odd == 0 && tickets <= room) {
                room -= tickets;
                left[leaving++] = id;
            } else {
                assertEq(AgentId.unwrap(committee[seat++].agentId()), id, "the order of the draw");
            }
        }
        for (uint256 i = 0; seat < size; ++i) {
            assertEq(AgentId.unwrap(committee[seat++].agentId()), left[i], "those that were left out");
        }
    }

    /// @dev DR4: light agents do not get a committee because heavy ones sat before.
    function test_heavyAgentsThatSatLeaveTheirWeightToHeavyOnes() public {
        for (uint256 i = 0; i < 20; ++i) _add(MAX_STAKE, 1_000_000);
        for (uint256 i = 0; i < 80; ++i) _add(1 ether, 1_000_000);
        AgentId[] memory excluded = new AgentId[](13);
        for (uint32 i = 0; i < 13; ++i) excluded[i] = AgentId.wrap(i + 1);
        uint256 light = 0;
        for (uint256 i = 0; i < 100; ++i) {
            Seat[] memory committee = this.drawWithout(keccak256(abi.encode("heavy", i)), 13, excluded);
            for (uint256 seat = 0; seat < 13; ++seat) if (AgentId.unwrap(committee[seat].agentId()) > 20) ++light;
        }
        // They are a fifth of the weight. With all 13 left out they were two fifths and more: the seven others get half of the seats at most.
        assertTrue(light > 200 && light < 500, "light");
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
