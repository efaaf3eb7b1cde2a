// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {OverturnLib} from "../../contracts/libraries/OverturnLib.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {AgentId, DecidedRound, RequestTerms, Seat, Status} from "../../contracts/types/Types.sol";
import {Draft} from "./utils/Draft.sol";
import {Assertions} from "./utils/Vm.sol";

/// @dev SC2 on three committees of an answer and two appeals, which share no agent.
contract OverturnTest is Assertions {
    RequestTerms private constant BOOLEAN = RequestTerms.wrap(0);
    uint8[3] private _sizes = [4, 9, 19];

    function test_committeesThatShareNoAgentOverturn() public view {
        assertTrue(this.isOverturned(_rounds()), "overturned");
    }

    /// @dev Of any two committees, also where the third shares no agent with either.
    function testFuzz_committeesThatShareAnAgentDoNot(uint8 pair, uint8 seat, uint8 otherSeat) public view {
        DecidedRound[] memory rounds = _rounds();
        Seat[] memory one = rounds[pair % 3].committee;
        Seat[] memory other = rounds[(uint256(pair) + 1) % 3].committee;
        one[seat % one.length] = other[otherSeat % other.length];
        assertTrue(!this.isOverturned(rounds), "shared");
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
