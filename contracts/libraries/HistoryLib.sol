// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {AgentId, DecidedRound, Decision, PastRound, Request, RequestId, Round, Seat} from "../types/Types.sol";
import {DecisionLib} from "./DecisionLib.sol";
import {RequestLib} from "./RequestLib.sol";
import {RoundLib} from "./RoundLib.sol";
import {SeatLib} from "./SeatLib.sol";

/// @title Checks the rounds of a request that come back in calldata against the chain of links (SE3)
library HistoryLib {
    using DecisionLib for Decision;
    using RequestLib for Request;
    using RoundLib for Round;
    using SeatLib for Seat;
    using SeatLib for Seat[];

    /// @notice Returns the agents of all rounds before this one. Reverts unless those rounds lead to its link.
    /// @param round the round that is to be drawn
    /// @param past the earlier rounds, from the first on; at most MAX_APPEALS + MAX_RETRIES rounds lead to a link that
    /// exists
    function agents(
        RequestId requestId,
        Round round,
        PastRound[] calldata past
    ) internal pure returns (AgentId[] memory ids) {
        uint256 link = 0;
        uint256 count = 0;
        for (uint256 i = 0; i < past.length; ++i) {
            PastRound calldata one = past[i];
            RequestLib.requireMatch(requestId, one.round.link() == link);
            link = one.round.linkAfter(one.committee.hash(), one.structHash, one.relay, one.appellant);
            count += one.committee.length;
        }
        RequestLib.requireMatch(requestId, round.link() == link);
        ids = new AgentId[](count);
        uint256 next = 0;
        for (uint256 i = 0; i < past.length; ++i) {
            Seat[] calldata committee = past[i].committee;
            for (uint256 seat = 0; seat < committee.length; ++seat) {
                ids[next] = committee[seat].agentId();
                ++next;
            }
        }
    }

    /// @notice Returns the stored commitment of a request with these rounds, the last of which is final.
    /// @param rounds all rounds, from the first on
    function commitment(Request calldata request, DecidedRound[] calldata rounds) internal pure returns (bytes32) {
        bytes32 requestHash = request.hash();
        uint256 link = 0;
        for (uint256 i = 0; i < rounds.length; ++i) {
            DecidedRound calldata one = rounds[i];
            RequestLib.requireMatch(request.id, one.round.link() == link);
            bytes32 structHash;
            (link, structHash) = linkAfter(requestHash, one);
            if (i + 1 == rounds.length) return RequestLib.settledCommitment(structHash, one.relay, one.round);
        }
        revert IDecisionOracle.WitnessMismatch(request.id);
    }

    /// @notice Returns the link of the round after this one, and the struct hash of this one's decision.
    function linkAfter(
        bytes32 requestHash,
        DecidedRound calldata one
    ) internal pure returns (uint256 link, bytes32 structHash) {
        bytes32 committeeHash = one.committee.hash();
        structHash = one.decision.structHash(requestHash, committeeHash, one.committee.length);
        link = one.round.linkAfter(committeeHash, structHash, one.relay, one.appellant);
    }
}
