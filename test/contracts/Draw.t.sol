// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {CandidateLib, Candidate, DrawLib} from "../../contracts/libraries/DrawLib.sol";
import {EpochArray} from "../../contracts/libraries/EpochArray.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {AgentId, Seat} from "../../contracts/types/Types.sol";
import {Assertions, vm} from "./utils/Vm.sol";

/// @dev Draws from arrays that the test makes, without keys and tokens.
contract DrawTest is Assertions {
    using EpochArray for EpochArray.State;
    using SeatLib for Seat;

    uint128 private constant MAX_STAKE = 16 ether;

    /// @dev Fills the array in one epoch and draws from it in the next.
    uint64 private constant EPOCH = 1;

    EpochArray.State private _candidates;
    mapping(uint256 agentId => uint256 seats) private _seats;

    function testFuzz_seatsAreDistinctAndActive(bytes32 seed, uint256 count, uint256 size, uint256 weights) public {
        size = bound(size, 1, 64);
        count = bound(count, size, 100);
        for (uint256 i = 0; i < count; ++i) {
            uint256 random = uint256(keccak256(abi.encode(weights, i)));
            _add(uint128(bound(random, 1 ether, MAX_STAKE)), uint32(bound(random >> 128, 10_000, 1_000_000)));
        }
        Seat[] memory committee = this.draw(seed, size);
        assertEq(committee.length, size, "size");
        for (uint256 i = 0; i < size; ++i) {
            uint256 id = AgentId.unwrap(committee[i].agentId());
            assertTrue(id >= 1 && id <= count, "active");
            assertEq(++_seats[id], 1, "seats of one agent");
            assertEq(
                Seat.unwrap(committee[i]),
                Seat.unwrap(Candidate.wrap(_candidates.at(id - 1)).seat()),
                "its own word"
            );
        }
        // The draw depends only on its arguments and the array: the same seed draws the same committee.
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

    /// @dev 12 neighbours of 100 agents, all near the floor, so that the weights do not matter. Three of four seats
    /// fall to the neighbours as often as to any 12 agents, by chance once in 160 draws, and not whenever the first
    /// seat does.
    function test_neighboursAreNotDrawnTogether() public {
        for (uint256 i = 0; i < 100; ++i) _add(1 ether, 10_000);
        uint256 captured = 0;
        for (uint256 i = 0; i < 400; ++i) {
            Seat[] memory committee = this.draw(keccak256(abi.encode("neighbours", i)), 4);
            uint256 own = 0;
            for (uint256 seat = 0; seat < 4; ++seat) {
                uint256 id = AgentId.unwrap(committee[seat].agentId());
                if (id > 60 && id <= 72) ++own;
            }
            if (own >= 3) ++captured;
        }
        // About 2.5 are expected. A draw of neighbours in a row would make it 40.
        assertTrue(captured <= 12, "captured");
    }

    /// @dev The worst registry accepts almost no candidate. The draw ends with distinct seats, at a bounded cost.
    function test_drawAlwaysEnds() public {
        for (uint256 i = 0; i < 200; ++i) _add(1 ether, 10_000);
        uint256 before = gasleft();
        Seat[] memory committee = this.draw("worst", 64);
        uint256 used = before - gasleft();
        // 1,728 probes of warm slots. draw-cost.test.ts measures cold ones.
        assertTrue(used < 3_000_000, "bounded");
        for (uint256 i = 0; i < 64; ++i) {
            assertEq(++_seats[AgentId.unwrap(committee[i].agentId())], 1, "seats of one agent");
        }
    }

    function test_everybodyIsDrawnWhenAllAreWanted() public {
        for (uint256 i = 0; i < 64; ++i) _add(1 ether, 10_000);
        Seat[] memory committee = this.draw("all", 64);
        for (uint256 i = 0; i < 64; ++i) {
            assertEq(++_seats[AgentId.unwrap(committee[i].agentId())], 1, "seats of one agent");
        }
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
        uint32 id = uint32(_candidates.length() + 1);
        Seat seat = SeatLib.pack(AgentId.wrap(id), reputation, address(uint160(id) << 32));
        _candidates.push(EPOCH, Candidate.unwrap(CandidateLib.pack(stake, MAX_STAKE, seat)));
    }

    function _sqrt(uint256 value) private pure returns (uint256 root) {
        while ((root + 1) * (root + 1) <= value) ++root;
    }
}
