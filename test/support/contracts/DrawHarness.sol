// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {CandidateLib, Candidates} from "../../../contracts/libraries/Candidates.sol";
import {DrawLib} from "../../../contracts/libraries/DrawLib.sol";
import {SeatLib} from "../../../contracts/libraries/SeatLib.sol";
import {AgentId, Seat} from "../../../contracts/types/Types.sol";

/// @title Draws from any number of candidates, for gas figures and statistics
contract DrawHarness {
    using Candidates for Candidates.State;
    using SeatLib for Seat;

    /// @dev A test adds the candidates in one epoch and draws from them in the next.
    uint64 private constant EPOCH = 1;

    Candidates.State private _candidates;

    /// @notice Appends `count` proven candidates of the same weight.
    function fill(uint256 count, uint128 stake, uint128 maxStake, uint32 reputation) external {
        for (uint256 i = 0; i < count; ++i) {
            // The candidates number far fewer than 2^32.
            uint32 id = uint32(_candidates.count() + 1);
            _candidates.insert(
                EPOCH,
                CandidateLib.pack(stake, maxStake, false, reputation, 2, AgentId.wrap(id), address(uint160(id)))
            );
        }
    }

    /// @notice Draws `draws` committees and returns the agents of all their seats in order, two bytes for each.
    function agents(bytes32 seed, uint256 draws, uint256 size) external view returns (bytes memory ids) {
        ids = new bytes(2 * draws * size);
        uint256 next = 0;
        for (uint256 i = 0; i < draws; ++i) {
            Seat[] memory seats = this.committee(keccak256(abi.encode(seed, i)), size, new AgentId[](0));
            for (uint256 seat = 0; seat < size; ++seat) {
                uint32 id = AgentId.unwrap(seats[seat].agentId());
                // The casts cut the id to its bytes.
                (ids[next], ids[next + 1]) = (bytes1(uint8(id >> 8)), bytes1(uint8(id)));
                next += 2;
            }
        }
    }

    /// @notice Draws as the registry does.
    function committee(bytes32 seed, uint256 size, AgentId[] calldata excluded) external view returns (Seat[] memory) {
        return DrawLib.draw(_candidates, EPOCH + 1, seed, size, excluded);
    }
}
