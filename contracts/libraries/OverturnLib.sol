// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {AgentId, DecidedRound, RequestTerms, Seat} from "../types/Types.sol";
import {PayLib} from "./PayLib.sol";
import {SeatLib} from "./SeatLib.sol";

/// @title Whether two larger committees overturned a decision (SC2)
library OverturnLib {
    using SeatLib for Seat;

    /// @notice True if the last round and an earlier one both overturned a decision: two committees that appeals called, each larger
    /// than the one before, agree with each other and not with it. No committee after it agreed with it. More than a third of the seats of
    /// each of the two answered so before they saw what others answer, and are of agents that sit in no earlier one of the three.
    /// @param terms the terms of the request: numbers agree within their tolerance
    /// @param rounds all rounds of a request whose record is proven
    /// @param first index of the round of the decision
    /// @param second index of the round that overturned it before the last
    function isOverturned(
        RequestTerms terms,
        DecidedRound[] calldata rounds,
        uint256 first,
        uint256 second
    ) internal pure returns (bool) {
        uint256 last = rounds.length - 1;
        if (first >= second || second >= last) return false;
        DecidedRound calldata wrong = rounds[first];
        if (!PayLib.isDecided(wrong.decision) || !PayLib.isDecided(rounds[second].decision)) return false;
        // A committee of another size was called by an appeal.
        if (
            wrong.committee.length >= rounds[second].committee.length ||
            rounds[second].committee.length >= rounds[last].committee.length
        ) return false;
        if (PayLib.differ(terms, rounds[second].decision, rounds[last].decision)) return false;
        // There are at most seven rounds. A hung one says nothing about the decision.
        for (uint256 i = first + 1; i <= last; ++i) {
            bool agrees =
                PayLib.isDecided(rounds[i].decision) && !PayLib.differ(terms, wrong.decision, rounds[i].decision);
            if (agrees) return false;
        }
        return
            PayLib.isDecided(rounds[last].decision) &&
            _judges(rounds[second], wrong.committee, wrong.committee[:0]) &&
            _judges(rounds[last], wrong.committee, rounds[second].committee);
    }

    /// @notice Returns the account whose appeal called the committee of the last round.
    /// @param rounds the record of a request with an appeal
    function lastAppellant(DecidedRound[] calldata rounds) internal pure returns (address appellant) {
        // A committee that hung and was retried has no appellant.
        for (uint256 i = rounds.length - 1; appellant == address(0);) appellant = rounds[--i].appellant;
    }

    /// @dev True if more than a third of the seats knew the answer and are of agents of neither other committee. One of these seats at least
    /// is honest where more than two thirds of all are.
    function _judges(
        DecidedRound calldata round,
        Seat[] calldata one,
        Seat[] calldata other
    ) private pure returns (bool) {
        uint256 size = round.committee.length;
        uint256 count = 0;
        // At most 64 times 46 steps: the next smaller committee has at most 31 seats, and the one before 15.
        for (uint256 seat = 0; seat < size; ++seat) {
            AgentId agentId = round.committee[seat].agentId();
            if (PayLib.knew(round.decision, seat) && !_sits(agentId, one) && !_sits(agentId, other)) ++count;
        }
        return 3 * count > size;
    }

    function _sits(AgentId agentId, Seat[] calldata committee) private pure returns (bool) {
        for (uint256 seat = 0; seat < committee.length; ++seat)
            if (AgentId.unwrap(committee[seat].agentId()) == AgentId.unwrap(agentId)) return true;
        return false;
    }
}
