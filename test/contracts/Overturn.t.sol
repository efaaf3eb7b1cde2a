// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {OverturnLib} from "../../contracts/libraries/OverturnLib.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {AgentId, DecidedRound, RequestTerms, Seat, Status} from "../../contracts/types/Types.sol";
import {Draft} from "./utils/Draft.sol";
import {Assertions} from "./utils/Vm.sol";

/// @dev SC2 on three committees of an answer and two appeals.
contract OverturnTest is Assertions {
    RequestTerms private constant BOOLEAN = RequestTerms.wrap(0);
    uint8[3] private _sizes = [4, 9, 19];

    function test_committeesThatShareNoAgentOverturn() public view {
        assertTrue(this.isOverturned(_rounds()), "overturned");
    }

    /// @dev Seats of agents that sit in an earlier one of the three do not count. More than a third of the others must have known.
    function testFuzz_agentsThatSitAgainDoNotCount(uint256 again, uint256 offset) public view {
        DecidedRound[] memory rounds = _rounds();
        again = bound(again, 0, 13);
        offset = bound(offset, 0, 18);
        for (uint256 i = 0; i < again; ++i)
            rounds[2].committee[(offset + i) % 19] = i < 4 ? rounds[0].committee[i] : rounds[1].committee[i - 4];
        // Seven of 19 are more than a third, six are not.
        assertTrue(this.isOverturned(rounds) == (again < 13), "counts");
    }

    /// @dev Two of the second committee's five agents that are new knew too little: three of nine are no more than a third.
    function test_agentsOfTheFirstCommitteeDoNotCountInTheSecond() public view {
        DecidedRound[] memory rounds = _rounds();
        for (uint256 i = 0; i < 4; ++i) rounds[1].committee[i] = rounds[0].committee[i];
        assertTrue(this.isOverturned(rounds), "five of nine are left");
        for (uint256 seat = 4; seat < 6; ++seat) rounds[1].decision.merits[seat] = 0x01;
        assertTrue(!this.isOverturned(rounds), "three of nine are left");
    }

    /// @dev An agent of the first committee that sits again, in any seat, protects nobody.
    function testFuzz_oneThatSitsAgainProtectsNobody(uint8 pair, uint8 seat, uint8 otherSeat) public view {
        DecidedRound[] memory rounds = _rounds();
        Seat[] memory one = rounds[pair % 2].committee;
        Seat[] memory other = rounds[2].committee;
        other[otherSeat % other.length] = one[seat % one.length];
        assertTrue(this.isOverturned(rounds), "overturned");
    }

    function isOverturned(DecidedRound[] calldata rounds) external pure returns (bool) {
        return OverturnLib.isOverturned(BOOLEAN, rounds, 0, 1);
    }

    /// @dev No, then twice yes, by agents 1, 2 and so on.
    function _rounds() private view returns (DecidedRound[] memory rounds) {
        rounds = new DecidedRound[](3);
        uint32 agent = 0;
        for (uint256 i = 0; i < 3; ++i) {
            rounds[i].committee = new Seat[](_sizes[i]);
            for (uint256 seat = 0; seat < _sizes[i]; ++seat) {
                rounds[i].committee[seat] = SeatLib.pack(2, AgentId.wrap(++agent), 1_000_000, address(1));
            }
            Draft memory draft;
            draft.status = Status.Decided;
            draft.outcome = bytes32(uint256(i == 0 ? 0 : 1));
            draft.shares = new bytes(_sizes[i]);
            for (uint256 seat = 0; seat < _sizes[i]; ++seat) draft.shares[seat] = 0x1e;
            rounds[i].decision = draft.packed();
        }
    }
}
