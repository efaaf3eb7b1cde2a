// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {Request, RequestId, RequestTerms, Round, Seat, Seed} from "../types/Types.sol";
import {HistoryLib} from "./HistoryLib.sol";
import {RequestTermsLib} from "./RequestTermsLib.sol";
import {RoundLib} from "./RoundLib.sol";

/// @title The committee of an attempt, as a function of what the chain holds (SE3, ADR 16)
library CommitteeLib {
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;

    /// @notice Returns the seats in order. Agents of smaller committees that this one reviews are left out as long as they hold little of
    /// the draw's weight (DR4).
    /// @param registry the registry that picks
    /// @param epochBlocks the length of its epochs
    /// @param request a request that waits for a committee's decision
    /// @param round its running round
    /// @param attempt its running attempt
    /// @param prevRandao the randomness of the seed block
    /// @param seed names the seed block and the rounds before this one
    function pick(
        IAgentRegistry registry,
        uint256 epochBlocks,
        Request calldata request,
        Round round,
        uint32 attempt,
        bytes32 prevRandao,
        Seed calldata seed
    ) internal view returns (Seat[] memory) {
        RequestId requestId = request.id;
        return
            registry.committee(
                keccak256(abi.encode(prevRandao, requestId, attempt)),
                uint64(seed.seedBlock / epochBlocks),
                RoundLib.sizeAfter(request.terms.committeeSize(), round.appeals()),
                HistoryLib.agents(requestId, round, seed.past)
            );
    }
}
