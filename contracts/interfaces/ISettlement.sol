// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {
    DecidedRound,
    Decision,
    Outcome,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Seat,
    Seed,
    Status
} from "../types/Types.sol";
import {IDecisionOracle} from "./IDecisionOracle.sol";

/// @title Computes what the rounds of a request pay, and shows who sits and what came of it
/// @notice Computes once, from the whole record of a final request, how its escrow is divided: the oracle holds the money and checks
/// the record (docs/spec/settlement.md, SE10 to SE15). It tells the committee of a running attempt (SE3). And it proves final outcomes to contracts, and stores those that somebody pays
/// for (SE22).
interface ISettlement {
    /// @notice A round was paid. What each seat earned follows from the shares of its decision: pay x share / sum of the
    /// shares, rounded down; the registry's event has the amounts by agent.
    /// @param requestId the request
    /// @param attempt the attempt of the round
    /// @param pay what the seats divided by their shares, in the smallest unit of the request's currency; 0 if the final
    /// decision overturned theirs
    /// @param treasuryPay the treasury's part, in the same unit
    /// @param relayer who submitted the decision
    /// @param relayerPay what it got for its gas out of the request's reserve, in the same unit
    event RoundPaid(
        RequestId indexed requestId,
        uint32 attempt,
        uint256 pay,
        uint256 treasuryPay,
        address indexed relayer,
        uint256 relayerPay
    );

    /// @notice The caller of `settle` was paid for its gas out of the request's reserve.
    /// @param requestId the request
    /// @param settler the account whose credit grew
    /// @param amount in the smallest unit of the request's currency
    event SettlerPaid(RequestId indexed requestId, address indexed settler, uint256 amount);

    /// @notice An appeal was resolved.
    /// @param requestId the request
    /// @param attempt the attempt whose decision was appealed against
    /// @param appellant the account whose credit grew
    /// @param upheld true if the last later decision that can overturn others (SE10) differs; else the bond paid for the committees that the appeal called
    /// @param amount the bond and the reward, or what is left of the bond, in the smallest unit of the request's currency
    event AppealResolved(
        RequestId indexed requestId,
        uint32 attempt,
        address indexed appellant,
        bool upheld,
        uint256 amount
    );

    /// @notice A final outcome was stored, and contracts can read it.
    /// @param requestId the request
    /// @param status `Decided` to `TooEarly`
    /// @param attempt see `Outcome`
    /// @param confidence see `Outcome`
    /// @param value see `Outcome`
    event OutcomeStored(RequestId indexed requestId, Status status, uint32 attempt, uint32 confidence, bytes32 value);

    /// @notice Distributes the escrow of a request whose decision is final, once, unless its commit has done so. Anybody
    /// may call, and is paid for its gas (`SettlerPaid`).
    /// @dev Each round pays the treasury first, then its seats by their shares, or, if a later decision overturns it,
    /// half to its appellant. The reserve pays its relayer. The asker gets the rest. Every division rounds down, in
    /// favour of the asker. The reputation changes of the rounds that stand take effect.
    /// @param request_ as in the `Requested` event
    /// @param rounds all rounds, from the first to the last one with a decision. Take the `Round` of a provisional
    /// decision from `DecisionProvisional`, of the others from `Requested` or `RequestReopened`
    function settle(Request calldata request_, DecidedRound[] calldata rounds) external;

    /// @notice Calls functions of this contract for the caller, one after the other, such as `settle` for several requests. A call
    /// that reverts is undone and announced by `IDecisionOracle.CallFailed`; the others stand.
    /// @dev Warning: a node estimates the least gas with which this call succeeds, and it succeeds even if all inner calls fail. Add up
    /// the gas that each inner call needs; each gets 63/64 of the gas that is left.
    /// @param calls at most 128, ABI-encoded
    function tryMulticall(bytes[] calldata calls) external;

    /// @notice The bond of an appeal against a decision of this round.
    /// @param requestId the id of the request, which names its price list
    /// @param terms the terms of the request
    /// @param round as in the `DecisionProvisional` event
    /// @return the bond in the smallest unit of the request's currency
    function bondOf(RequestId requestId, RequestTerms terms, Round round) external view returns (uint256);

    /// @notice Proves what came of a request from its last decision. Reverts while the decision is provisional, and for any other
    /// decision than the last.
    /// @dev The parameters are those of `IDecisionOracle.finalize`. If nobody answered the attempt after the decision, the outcome is
    /// `Hung`, as the consumer is told.
    /// @param request_ as in the `Requested` event
    /// @param round the round of the last decision, as in `settle`
    /// @param committeeHash keccak256 of the seats' words, concatenated
    /// @param decision as in the `DecisionCommitted` event
    /// @param relay as in the `DecisionCommitted` event
    /// @return the outcome
    function outcomeOf(
        Request calldata request_,
        Round round,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) external view returns (Outcome memory);

    /// @notice Does the same, and stores the outcome for `storedOutcome`. Anybody may call, at its own cost. A second call does nothing.
    function storeOutcome(
        Request calldata request_,
        Round round,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) external;

    /// @notice The outcome that somebody has stored.
    /// @param requestId any number
    /// @return the outcome; its status is `None` where nobody has stored one
    function storedOutcome(RequestId requestId) external view returns (Outcome memory);

    /// @notice The committee of a running attempt, proven as `commit` proves it. The same arguments give the same
    /// committee for as long as the seed can be proven.
    /// @dev The seed of the registry's draw is keccak256(abi.encode(prevrandao of the seed block, requestId, attempt)). The
    /// seed block is the first one, eight or more blocks ahead, with eight blocks of its epoch before it and 16 after it;
    /// that is at most 32 blocks ahead.
    /// @dev Agents of smaller committees that this one reviews are left out as long as they hold at most an eighth of the draw (SE3).
    /// Reverts with the registry's `TooFewAgents` if the registry has fewer agents than seats.
    /// @param request_ as in the `Requested` event
    /// @param round as in the latest `Requested` or `RequestReopened` event
    /// @param seed what proves the committee, see `Seed`
    /// @return the seats in order
    function committeeOf(
        Request calldata request_,
        Round round,
        Seed calldata seed
    ) external view returns (Seat[] memory);

    /// @notice The oracle whose requests this contract settles.
    /// @return the oracle, which deployed this
    function oracle() external view returns (IDecisionOracle);
}
