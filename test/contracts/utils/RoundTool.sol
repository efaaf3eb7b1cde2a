// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {DecisionLib} from "../../../contracts/libraries/DecisionLib.sol";
import {RoundLib} from "../../../contracts/libraries/RoundLib.sol";
import {SeatLib} from "../../../contracts/libraries/SeatLib.sol";
import {AgentId, DecidedRound, PastRound, Request, Round, Seat} from "../../../contracts/types/Types.sol";

/// @dev Computes for the handlers what rounds come to, in plain steps.
contract RoundTool {
    using RoundLib for Round;
    using SeatLib for Seat;

    function structHashOf(Request calldata request, DecidedRound calldata round) external pure returns (bytes32) {
        bytes32 committeeHash = keccak256(abi.encodePacked(round.committee));
        return
            DecisionLib.structHash(
                round.decision,
                keccak256(abi.encode(request)),
                committeeHash,
                round.committee.length
            );
    }

    /// @dev Returns the link of the round after this one.
    function linkAfter(DecidedRound calldata round, bytes32 structHash) external pure returns (uint256) {
        bytes32 committeeHash = keccak256(abi.encodePacked(round.committee));
        bytes memory record = abi.encode(round.round, committeeHash, structHash, round.relay, round.appellant);
        return uint256(keccak256(record)) >> 48;
    }

    function past(
        DecidedRound[] calldata rounds,
        bytes32[] calldata structHashes
    ) external pure returns (PastRound[] memory result) {
        result = new PastRound[](rounds.length);
        for (uint256 i = 0; i < rounds.length; ++i) {
            DecidedRound calldata round = rounds[i];
            result[i] = PastRound(round.round, round.committee, structHashes[i], round.relay, round.appellant);
        }
    }

    /// @dev SE3: returns the agents of the last committee of each size that is smaller than the running one. Bit i stands for agent i.
    /// @param appeals those before the running round
    function reviewed(DecidedRound[] calldata rounds, uint256 appeals) external pure returns (uint256 bits) {
        for (uint256 before = 0; before < appeals; ++before) {
            uint256 last = 0;
            for (uint256 i = 0; i < rounds.length; ++i)
                if (rounds[i].round.appeals() == before) last = bitsOf(rounds[i].committee);
            bits |= last;
        }
    }

    /// @dev Returns the agents of a committee: bit i stands for agent i.
    function bitsOf(Seat[] calldata committee) public pure returns (uint256 bits) {
        for (uint256 i = 0; i < committee.length; ++i) bits |= 1 << AgentId.unwrap(committee[i].agentId());
    }
}
