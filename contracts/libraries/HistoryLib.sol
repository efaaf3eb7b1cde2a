// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {MAX_COMMITTEE} from "../types/Limits.sol";
import {AgentId, DecidedRound, Decision, PastRound, Request, RequestId, Round, Seat, Status} from "../types/Types.sol";
import {DecisionLib} from "./DecisionLib.sol";
import {RequestLib} from "./RequestLib.sol";
import {RequestState} from "./RequestState.sol";
import {RoundLib} from "./RoundLib.sol";
import {SeatLib} from "./SeatLib.sol";

/// @title Checks the rounds of a request that come back in calldata against the chain of links (SE3)
library HistoryLib {
    using DecisionLib for Decision;
    using RequestLib for Request;
    using RoundLib for Round;
    using SeatLib for Seat;
    using SeatLib for Seat[];

    /// @notice Returns the agents of the committees that a round reviews: the last one of each smaller size (SE3). Reverts unless the rounds in
    /// `past` lead to the link of this round.
    /// @param round the round that is to be drawn
    /// @param past the earlier rounds, from the first on; at most MAX_APPEALS + MAX_RETRIES rounds lead to a link that
    /// exists
    function agents(
        RequestId requestId,
        Round round,
        PastRound[] calldata past
    ) internal pure returns (AgentId[] memory ids) {
        uint256 link = 0;
        uint256 appeals = 0;
        uint256 kept = 0;
        uint256 next = 0;
        ids = new AgentId[](past.length * MAX_COMMITTEE);
        unchecked {
            // Reverts at an index outside of the list before anything overflows.
            for (uint256 i = 0; i < past.length; ++i) {
                PastRound calldata one = past[i];
                RequestLib.requireMatch(requestId, one.round.link() == link);
                link = one.round.linkAfter(one.committee.hash(), one.structHash, one.relay, one.appellant);
                // A round of the same size takes the place of the one before it, which hung or was too early.
                if (one.round.appeals() != appeals) (appeals, kept) = (one.round.appeals(), next);
                next = kept;
                for (uint256 seat = 0; seat < one.committee.length; ++seat) {
                    ids[next] = one.committee[seat].agentId();
                    ++next;
                }
            }
        }
        RequestLib.requireMatch(requestId, round.link() == link);
        if (round.appeals() != appeals) kept = next;
        assembly ("memory-safe") {
            // The new length is at most the allocated one.
            mstore(ids, kept)
        }
    }

    /// @notice Returns the stored commitment of a request with these rounds, the last of which is final.
    /// @param rounds all rounds, from the first on
    function commitment(
        Request calldata request,
        DecidedRound[] calldata rounds
    ) internal pure returns (bytes32 result) {
        (, result) = _walk(request, rounds);
    }

    /// @notice Reverts unless these are all rounds of the request that decided or hung so far, and there is at least one.
    /// @param state the request's word
    /// @param running the running round; ignored unless the request is `Requested`
    /// @param seedBlock the seed block of the running round
    function requireRecord(
        RequestState state,
        Request calldata request,
        DecidedRound[] calldata rounds,
        Round running,
        uint64 seedBlock
    ) internal pure {
        (uint256 link, bytes32 expected) = _walk(request, rounds);
        bool leads = true;
        // slither-disable-next-line incorrect-equality: an enum, not an amount that could skip a value
        if (state.status() == Status.Requested) {
            expected = RequestLib.requestedCommitment(request.hash(), running, seedBlock);
            leads = running.link() == link;
        }
        RequestLib.requireMatch(request.id, leads && state.covers(expected));
    }

    /// @dev Reverts unless the rounds lead from one to the next and there is at least one. At most MAX_APPEALS + MAX_RETRIES + 1 rounds
    /// lead to a link or a commitment that exists.
    /// @return link the link of the round after the last one
    /// @return settled the stored commitment if the last one is final or provisional
    function _walk(
        Request calldata request,
        DecidedRound[] calldata rounds
    ) private pure returns (uint256 link, bytes32 settled) {
        RequestLib.requireMatch(request.id, rounds.length != 0);
        bytes32 requestHash = request.hash();
        // slither-disable-next-line uninitialized-local: there is a round, and each one sets it
        bytes32 structHash;
        for (uint256 i = 0; i < rounds.length; ++i) {
            RequestLib.requireMatch(request.id, rounds[i].round.link() == link);
            (link, structHash) = _linkAfter(requestHash, rounds[i]);
        }
        DecidedRound calldata last = rounds[rounds.length - 1];
        settled = RequestLib.settledCommitment(structHash, last.relay, last.round);
    }

    /// @dev Returns the link of the round after this one, and the struct hash of this one's decision.
    function _linkAfter(
        bytes32 requestHash,
        DecidedRound calldata one
    ) private pure returns (uint256 link, bytes32 structHash) {
        bytes32 committeeHash = one.committee.hash();
        structHash = one.decision.structHash(requestHash, committeeHash, one.committee.length);
        link = one.round.linkAfter(committeeHash, structHash, one.relay, one.appellant);
    }
}
