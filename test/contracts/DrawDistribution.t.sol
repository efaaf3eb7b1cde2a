// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {DrawHarness} from "../support/contracts/DrawHarness.sol";
import {Assertions} from "./utils/Vm.sol";

/// @dev DR2: draws 100,000 seats from registries that skew the weights as far as they can be skewed, and compares them with the
/// chances by weight. The seeds are fixed, so a run that passes needs no luck.
contract DrawDistributionTest is Assertions {
    /// @dev Agents of the same weight. The stake is of 32, which stands for maxStake, and half of it for a fresh agent.
    struct Group {
        uint256 count;
        uint128 stake;
        uint32 reputation;
    }

    uint256 private constant SEATS = 100_000;
    uint256 private constant COMMITTEE = 7;
    /// @dev Chances are parts of this.
    uint256 private constant ONE = 1e18;
    /// @dev A category with fewer expected draws joins others: above, the statistic is close to chi-square.
    uint256 private constant LEAST_EXPECTED = 10;

    DrawHarness private _harness;
    Group[] private _groups;
    mapping(uint256 agent => uint256 group) private _groupOf;
    /// @dev By agent and by composition: how many draws were seen.
    mapping(uint256 category => uint256 count) private _seen;

    function setUp() public {
        _harness = new DrawHarness();
    }

    function test_allAtMaxStake() public {
        _add(100, 32, 1_000_000);
        _requireFit();
    }

    function test_allAtMinStake() public {
        _add(100, 2, 1_000_000);
        _requireFit();
    }

    function test_manyFreshAtMinStakeBesideMaxStake() public {
        _add(100, 32, 1_000_000);
        _add(300, 1, 1_000_000);
        _requireFit();
    }

    function test_freshAndSlashedOnesMixed() public {
        _add(40, 32, 1_000_000);
        _add(30, 16, 640_000);
        _add(20, 3, 107_374);
        _add(10, 1, 512_000);
        _requireFit();
    }

    /// @dev A test that nothing can fail proves nothing: weights that are a tenth off do not fit.
    function test_otherWeightsDoNotFit() public {
        _add(100, 32, 1_000_000);
        _add(100, 16, 1_000_000);
        _groups[1].reputation = 900_000;
        (uint256 statistic, uint256 degrees) = _fitOfSingleSeats();
        assertTrue(statistic > _limit(degrees), "noticed");
    }

    function _requireFit() private {
        (uint256 statistic, uint256 degrees) = _fitOfSingleSeats();
        assertTrue(statistic < _limit(degrees), "single seats, agent by agent");
        if (_groups.length == 1) return;
        (statistic, degrees) = _fitOfCommittees();
        assertTrue(statistic < _limit(degrees), "committees, by the seats of each group");
    }

    function _fitOfSingleSeats() private returns (uint256 statistic, uint256 degrees) {
        uint256 agents = 0;
        uint256 total = 0;
        for (uint256 i = 0; i < _groups.length; ++i) {
            agents += _groups[i].count;
            total += _groups[i].count * _weight(i);
        }
        for (uint256 i = 0; i < 100; ++i) {
            bytes memory ids = _harness.agents(keccak256(abi.encode("seats", i)), SEATS / 100, 1);
            for (uint256 at = 0; at < ids.length; at += 2) ++_seen[_agentAt(ids, at)];
        }
        uint256[] memory seen = new uint256[](agents);
        uint256[] memory chances = new uint256[](agents);
        for (uint256 i = 0; i < agents; ++i) {
            (seen[i], _seen[i + 1]) = (_seen[i + 1], 0);
            chances[i] = (ONE * _weight(_groupOf[i + 1])) / total;
        }
        return _chiSquare(seen, chances, SEATS);
    }

    function _fitOfCommittees() private returns (uint256 statistic, uint256 degrees) {
        uint256 draws = SEATS / COMMITTEE + 1;
        for (uint256 i = 0; i < draws; i += 100) {
            uint256 count = draws - i < 100 ? draws - i : 100;
            bytes memory ids = _harness.agents(keccak256(abi.encode("committees", i)), count, COMMITTEE);
            for (uint256 at = 0; at < ids.length; at += 2 * COMMITTEE) {
                uint256 composition = 0;
                for (uint256 seat = 0; seat < COMMITTEE; ++seat)
                    composition += 8 ** _groupOf[_agentAt(ids, at + 2 * seat)];
                ++_seen[composition];
            }
        }
        uint256[] memory chances = _compositions();
        uint256[] memory seen = new uint256[](chances.length);
        for (uint256 i = 0; i < seen.length; ++i) seen[i] = _seen[i];
        return _chiSquare(seen, chances, draws);
    }

    /// @dev Returns the chance of each composition of a committee: digit i of its number to the base 8 is how many seats group i has.
    function _compositions() private view returns (uint256[] memory chances) {
        uint256 groups = _groups.length;
        chances = new uint256[](8 ** groups);
        chances[0] = ONE;
        for (uint256 seat = 0; seat < COMMITTEE; ++seat) {
            uint256[] memory next = new uint256[](chances.length);
            for (uint256 state = 0; state < chances.length; ++state) {
                if (chances[state] == 0) continue;
                uint256 total = 0;
                for (uint256 i = 0; i < groups; ++i) total += _left(state, i);
                for (uint256 i = 0; i < groups; ++i) next[state + 8 ** i] += (chances[state] * _left(state, i)) / total;
            }
            chances = next;
        }
    }

    /// @dev Returns the weight of a group's agents that have no seat yet.
    function _left(uint256 state, uint256 group) private view returns (uint256) {
        return (_groups[group].count - ((state / 8 ** group) % 8)) * _weight(group);
    }

    /// @return statistic chi-square, times ONE
    /// @return degrees its degrees of freedom
    function _chiSquare(
        uint256[] memory seen,
        uint256[] memory chances,
        uint256 draws
    ) private pure returns (uint256 statistic, uint256 degrees) {
        uint256 rareSeen = 0;
        uint256 rareExpected = 0;
        for (uint256 i = 0; i < seen.length; ++i) {
            uint256 expected = chances[i] * draws;
            if (expected < LEAST_EXPECTED * ONE) {
                rareSeen += seen[i];
                rareExpected += expected;
                continue;
            }
            statistic += _term(seen[i], expected);
            ++degrees;
        }
        if (rareExpected >= LEAST_EXPECTED * ONE) {
            statistic += _term(rareSeen, rareExpected);
            ++degrees;
        }
        --degrees;
    }

    function _term(uint256 seen, uint256 expected) private pure returns (uint256) {
        uint256 distance = seen * ONE > expected ? seen * ONE - expected : expected - seen * ONE;
        return (distance * distance) / expected;
    }

    /// @dev Returns what chi-square of a correct draw exceeds once in some 50,000 samples, times ONE: by Fisher the root of twice
    /// chi-square is nearly normal, with the mean sqrt(2 degrees - 1) and the deviation 1. The limit lies 4.75 deviations above.
    function _limit(uint256 degrees) private pure returns (uint256) {
        uint256 root = _sqrt((2 * degrees - 1) * 1e12) + 4_750_000;
        return (root * root * 1e6) / 2;
    }

    function _add(uint256 count, uint128 stake, uint32 reputation) private {
        uint256 first = 1;
        for (uint256 i = 0; i < _groups.length; ++i) first += _groups[i].count;
        for (uint256 i = 0; i < count; ++i) _groupOf[first + i] = _groups.length;
        _groups.push(Group(count, stake, reputation));
        _harness.fill(count, stake, 32, reputation);
    }

    function _weight(uint256 group) private view returns (uint256) {
        return _groups[group].stake * uint256(_groups[group].reputation);
    }

    function _agentAt(bytes memory ids, uint256 at) private pure returns (uint256) {
        return (uint256(uint8(ids[at])) << 8) | uint8(ids[at + 1]);
    }

    function _sqrt(uint256 value) private pure returns (uint256 root) {
        root = value;
        for (uint256 next = (value + 1) / 2; next < root; next = (next + value / next) / 2) root = next;
    }
}
