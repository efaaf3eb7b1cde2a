// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {DecisionLib} from "../../../contracts/libraries/DecisionLib.sol";
import {SeatLib} from "../../../contracts/libraries/SeatLib.sol";
import {AgentId, DecidedRound, PastRound, Request, Seat} from "../../../contracts/types/Types.sol";

/// @dev Computes for the handlers what rounds come to, in plain steps.
contract RoundTool {
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
    ) external pure returns (PastRound[] memory result, AgentId[] memory agents) {
        uint256 count = 0;
        for (uint256 i = 0; i < rounds.length; ++i) count += rounds[i].committee.length;
        result = new PastRound[](rounds.length);
        agents = new AgentId[](count);
        for (uint256 i = 0; i < rounds.length; ++i) {
            DecidedRound calldata round = rounds[i];
            result[i] = PastRound(round.round, round.committee, structHashes[i], round.relay, round.appellant);
            for (uint256 seat = 0; seat < round.committee.length; ++seat) {
                --count;
                agents[count] = round.committee[seat].agentId();
            }
        }
    }

    /// @dev Returns how many seats of the committee are held by one of the agents.
    function inBoth(Seat[] calldata committee, AgentId[] calldata agents) external pure returns (uint256 count) {
        for (uint256 i = 0; i < committee.length; ++i) if (_has(agents, committee[i].agentId())) ++count;
    }

    function distinct(AgentId[] calldata agents) external pure returns (uint256 count) {
        for (uint256 i = 0; i < agents.length; ++i) if (!_has(agents[:i], agents[i])) ++count;
    }

    function _has(AgentId[] calldata agents, AgentId agentId) private pure returns (bool) {
        for (uint256 i = 0; i < agents.length; ++i) {
            if (AgentId.unwrap(agents[i]) == AgentId.unwrap(agentId)) return true;
        }
        return false;
    }
}
