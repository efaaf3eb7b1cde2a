// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {Candidate, CandidateLib, DrawLib} from "../libraries/DrawLib.sol";
import {EpochArray} from "../libraries/EpochArray.sol";
import {SeatLib} from "../libraries/SeatLib.sol";
import {AgentId, Seat} from "../types/Types.sol";

/// @title Draws from any number of candidates, for gas figures
contract DrawHarness {
    using EpochArray for EpochArray.State;

    /// @dev A test fills the array in one epoch and draws from it in the next.
    uint64 private constant EPOCH = 1;

    EpochArray.State private _candidates;

    /// @notice Appends `count` candidates of the same weight.
    function fill(uint256 count, uint128 stake, uint128 maxStake, uint32 reputation) external {
        for (uint256 i = 0; i < count; ++i) {
            // The candidates number far fewer than 2^32.
            uint32 id = uint32(_candidates.length() + 1);
            Seat seat = SeatLib.pack(AgentId.wrap(id), reputation, address(uint160(id)));
            _candidates.push(EPOCH, Candidate.unwrap(CandidateLib.pack(stake, maxStake, seat)));
        }
    }

    /// @notice Draws as the registry does.
    function draw(bytes32 seed, uint256 size, AgentId[] calldata excluded) external view returns (Seat[] memory) {
        return DrawLib.draw(_candidates, EPOCH + 1, seed, size, excluded);
    }
}
