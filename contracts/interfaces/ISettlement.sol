// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {AgentId, DecidedRound, Request, RequestId, RequestTerms, Round} from "../types/Types.sol";
import {IDecisionOracle} from "./IDecisionOracle.sol";

/// @title Computes what the rounds of a request pay
/// @notice Computes once, from the whole record of a final request, how its escrow is divided. This contract stores
/// nothing: the oracle holds the money and checks the record. See docs/spec/settlement.md, SE10 to SE15.
interface ISettlement {
    /// @notice An agent earned its share of the pay; the registry divides it, see `RewardsCredited`.
    /// @param requestId the request
    /// @param agentId the agent whose rewards grew
    /// @param attempt the attempt in which the agent earned it
    /// @param seat the seat that earned it
    /// @param amount in the smallest unit of the request's currency, above 0
    event PayCredited(
        RequestId indexed requestId,
        AgentId indexed agentId,
        uint32 attempt,
        uint256 seat,
        uint256 amount
    );

    /// @notice The treasury got its part of a round's pay, and the relayer its gas out of the request's reserve.
    /// @param requestId the request
    /// @param attempt the round
    /// @param treasuryPay in the smallest unit of the request's currency
    /// @param relayer who submitted the decision
    /// @param relayerPay in the same unit
    event RoundDeducted(
        RequestId indexed requestId,
        uint32 attempt,
        uint256 treasuryPay,
        address indexed relayer,
        uint256 relayerPay
    );

    /// @notice An appeal was resolved.
    /// @param requestId the request
    /// @param attempt the attempt whose decision was appealed against
    /// @param appellant the account whose credit grew
    /// @param upheld true if the final decision differs; else the bond paid for the committees that the appeal called
    /// @param amount the bond and the reward, or what is left of the bond, in the smallest unit of the request's currency
    event AppealResolved(
        RequestId indexed requestId,
        uint32 attempt,
        address indexed appellant,
        bool upheld,
        uint256 amount
    );

    /// @notice Distributes the escrow of a request whose decision is final, once. Anybody may call.
    /// @dev Each round pays the treasury first, then its seats by their shares, or, if the final decision overturns it,
    /// half to its appellant. The reserve pays its relayer. The asker gets the rest. Every division rounds down, in
    /// favour of the asker. The reputation changes of the rounds that stand take effect.
    /// @param request_ as in the `Requested` event
    /// @param rounds all rounds, from the first to the one whose decision is final. Take the `Round` of a provisional
    /// decision from `DecisionProvisional`, of the others from `Requested` or `RequestReopened`
    function settle(Request calldata request_, DecidedRound[] calldata rounds) external;

    /// @notice The bond of an appeal against a decision of this round.
    /// @param requestId the id of the request, which names its price list
    /// @param terms the terms of the request
    /// @param round as in the `DecisionProvisional` event
    /// @return the bond in the smallest unit of the request's currency
    function bondOf(RequestId requestId, RequestTerms terms, Round round) external view returns (uint256);

    /// @notice The oracle whose requests this contract settles.
    /// @return the oracle, which deployed this
    function oracle() external view returns (IDecisionOracle);
}
