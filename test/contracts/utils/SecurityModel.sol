// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {SeatLib} from "../../../contracts/libraries/SeatLib.sol";
import {AgentId, DecidedRound, Seat, Status} from "../../../contracts/types/Types.sol";
import {payShareOf} from "./Draft.sol";
import {PaidRound} from "./PayModel.sol";

/// @dev States SC2 again: which decision of a record two larger committees overturned. It judges without the contracts' code.
contract SecurityModel {
    using SeatLib for Seat;

    /// @param committees of the same rounds as `rounds`, in the same order
    /// @return found true if there is one
    /// @return first index of the round that was overturned
    /// @return second index of the round that overturned it first
    function overturned(
        PaidRound[] memory rounds,
        DecidedRound[] memory committees
    ) external pure returns (bool found, uint256 first, uint256 second) {
        uint256 last = rounds.length - 1;
        for (first = 0; first < last; ++first)
            for (second = first + 1; second < last; ++second)
                if (_isOverturned(rounds, committees, first, second)) return (true, first, second);
        return (false, 0, 1);
    }

    function _isOverturned(
        PaidRound[] memory rounds,
        DecidedRound[] memory committees,
        uint256 i,
        uint256 j
    ) private pure returns (bool) {
        uint256 k = rounds.length - 1;
        if (
            rounds[i].status != Status.Decided ||
            rounds[j].status != Status.Decided ||
            rounds[k].status != Status.Decided
        ) return false;
        if (rounds[j].appeals <= rounds[i].appeals || rounds[k].appeals <= rounds[j].appeals) return false;
        if (rounds[j].outcome != rounds[k].outcome) return false;
        for (uint256 other = i + 1; other <= k; ++other)
            if (rounds[other].status == Status.Decided && rounds[other].outcome == rounds[i].outcome) return false;
        uint256 wrong = _bitsOf(committees[i].committee);
        uint256 before = wrong | _bitsOf(committees[j].committee);
        return
            _judges(rounds[j].shares, committees[j].committee, wrong) &&
            _judges(rounds[k].shares, committees[k].committee, before);
    }

    /// @dev More than a third of the seats are of other agents, and were right before they saw what others answer. A share of 1 is no score (PY6).
    /// @param before bit i stands for agent i
    function _judges(bytes memory shares, Seat[] memory committee, uint256 before) private pure returns (bool) {
        uint256 count = 0;
        for (uint256 i = 0; i < shares.length; ++i)
            if (payShareOf(shares[i]) > 1 && (before >> AgentId.unwrap(committee[i].agentId())) & 1 == 0) ++count;
        return 3 * count > shares.length;
    }

    /// @dev Bit i stands for agent i.
    function _bitsOf(Seat[] memory committee) private pure returns (uint256 bits) {
        for (uint256 i = 0; i < committee.length; ++i) bits |= 1 << AgentId.unwrap(committee[i].agentId());
    }
}
