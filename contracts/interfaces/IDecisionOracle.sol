// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {
    Decision,
    DecisionHead,
    HashedRound,
    Payout,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Seat,
    Seed,
    Status
} from "../types/Types.sol";
import {RequestState} from "../libraries/RequestState.sol";
import {IAccounts} from "./IAccounts.sol";
import {IAgentRegistry} from "./IAgentRegistry.sol";

/// @title Requests, committees, decisions, appeals and pay
/// @notice A request goes from Requested to Decided or Hung. While retries are left, another committee replaces one that
/// hung or stayed silent. While appeals are left, a decision is provisional for a period, in which anybody may call a
/// larger committee. The oracle delivers a final decision to the consumer and settles its pay once. A request that no
/// committee decides in time is Refunded, as is one that its consumer cancels before its committee is known. See docs/spec/settlement.md.
/// @dev The oracle stores one word per request: status, attempt, flags and a hash of everything else. The events hold
/// the rest, and callers pass it back in calldata.
/// @dev The stored hash is truncated to 232 bits: to find two colliding witnesses costs about 2^116 hashes, and to find
/// a second witness for somebody else's request about 2^232. EIP-712 domain: name "Conclave", version "1", this chain,
/// this contract.
/// @dev The committee of an attempt is a function of what the chain holds: prevrandao of the seed block picks from the
/// registry as it was when the epoch of that block began. Whoever knows the seed can change neither of them. Nobody
/// sends a draw: `commit` proves the committee, and `ISettlement.committeeOf` tells it to everybody from the block
/// after the seed block on (docs/adr/016-committees-proven-at-the-commit.md).
/// @dev An attempt is running until its deadline, or until its seed can no longer be proven if that comes first: the
/// registry shows the running epoch and the one before, and the chain serves the hashes of 8191 blocks (256 without
/// EIP-2935). While it runs only `commit` ends it; in the first blocks of the first attempt `cancel` can, too. Afterwards
/// exactly one of `replace`, `refund` and `fallBack` does.
/// @dev Warning: two ways to influence the seed remain (docs/adr/007-seed-from-prevrandao.md). The proposer of the
/// block before the seed block can withhold its block, and lose it, to get another seed. An asker that proposes eight
/// blocks in a row knows the seed when it asks. One that proposes the last six before the seed block knows it when it
/// cancels (SE23).
/// @dev Warning: deploy only where mixHash is the randomness of a beacon chain that is not known eight blocks ahead.
interface IDecisionOracle is IAccounts {
    /// @notice The oracle was deployed; emitted once.
    /// @param registry the registry that picks the committees
    /// @param settlement deployed by this oracle
    /// @param supportedProtocols bit i set = protocol i can be asked for
    /// @param epochBlocks blocks of an epoch of the registry
    event OracleDeployed(IAgentRegistry registry, address settlement, uint256 supportedProtocols, uint256 epochBlocks);

    /// @notice A request was made and its fee escrowed.
    /// @param requestId see `RequestId`
    /// @param consumer the account that asked; it gets the callback
    /// @param terms packed, see `RequestTerms`
    /// @param round see `Round`; comes back in calldata
    /// @param seedBlock number of the block whose prevrandao picks the committee
    /// @param question UTF-8
    event Requested(
        RequestId indexed requestId,
        address indexed consumer,
        RequestTerms terms,
        Round round,
        uint64 seedBlock,
        bytes question
    );

    /// @notice The request waits for another committee: the last one hung or did not answer in time, or somebody
    /// appealed.
    /// @param requestId the request
    /// @param attempt the attempt of the next committee
    /// @param round see `Round`; comes back in calldata
    /// @param seedBlock number of the block whose prevrandao picks the committee
    /// @param appellant who appealed, 0 for a retry
    /// @param bond what the appellant escrowed, in the smallest unit of the request's currency
    event RequestReopened(
        RequestId indexed requestId,
        uint32 attempt,
        Round round,
        uint64 seedBlock,
        address indexed appellant,
        uint256 bond
    );

    /// @notice The decision that was just committed can be appealed against until the deadline of the round.
    /// @param requestId the request
    /// @param round see `Round`; comes back in calldata
    event DecisionProvisional(RequestId indexed requestId, Round round);

    /// @notice A provisional decision became final.
    /// @param requestId the request
    /// @param attempt the attempt of the decision
    event DecisionFinalized(RequestId indexed requestId, uint32 attempt);

    /// @notice The caller of `finalize`, `fallBack`, `refund` or `replace` was paid for its gas. The rest of what the request's
    /// reserve held for the call went back to its subscription, or to the credit of a consumer that paid directly.
    /// @param requestId the request
    /// @param caller the account whose credit grew
    /// @param amount in the smallest unit of the request's currency
    /// @param rest in the same unit
    event CallerPaid(RequestId indexed requestId, address indexed caller, uint256 amount, uint256 rest);

    /// @notice Nobody answered the last attempt in time, and an earlier round has a decision: the request ended as
    /// `Hung`, and the consumer is told so. Followed by `CallerPaid`.
    /// @param requestId the request
    /// @param attempt the attempt that nobody answered
    /// @param appellant the account whose appeal had called its committee, 0 for a retry
    /// @param bond what the appellant got back: its bond less the caller's gas without the callback; 0 for a retry
    event AttemptUnanswered(RequestId indexed requestId, uint32 attempt, address indexed appellant, uint256 bond);

    /// @notice The decision that was just committed is final in the first round, and its commit has paid everything:
    /// the request has no escrow any more, and nobody calls `settle`.
    /// @dev What each seat earned follows from the shares of the decision: pay x share / sum of the shares, rounded down.
    /// The registry's event has the amounts by agent.
    /// @param requestId the request
    /// @param pay what the seats divided by their shares, in the smallest unit of the request's currency; what roundings
    /// left, or all of it if no seat has a share, is in `rest`
    /// @param treasuryPay the treasury's part, in the same unit
    /// @param relayerPay what the relayer of the decision got for its gas, in the same unit
    /// @param rest what went back to the request's subscription, or to the credit of a consumer that paid directly
    event DecisionSettled(
        RequestId indexed requestId,
        uint256 pay,
        uint256 treasuryPay,
        uint256 relayerPay,
        uint256 rest
    );

    /// @notice A committee decided or hung; see `Decision`.
    /// @dev The decision is not final if `RequestReopened` or `DecisionProvisional` follows in the same call. Otherwise
    /// the consumer accepted it or asked for no callback, unless `CallbackFailed` follows.
    /// @param requestId the request
    /// @param head see `DecisionHead`
    /// @param outcome see `Decision`
    /// @param transcript see `Decision`
    /// @param relay see `Relay`; comes back in calldata. The submitter may leave out signatures down to the quorum: a
    /// clear bit of the signers proves nothing, so never base pay on it
    /// @param committee the seats in order, see `Seat`; this is the first time that the chain names them
    /// @param answer see `Decision`
    /// @param merits see `Decision`; the registry emits the resulting reputations
    event DecisionCommitted(
        RequestId indexed requestId,
        DecisionHead head,
        bytes32 outcome,
        bytes32 transcript,
        Relay relay,
        Seat[] committee,
        bytes answer,
        bytes merits
    );

    /// @notice A callback that had failed succeeded, or is about to succeed in a call that reverts otherwise; no
    /// callback is pending any more.
    /// @param requestId the request
    event CallbackSucceeded(RequestId indexed requestId);

    /// @notice The consumer reverted, ran out of gas or has no code; `retryCallback` is open to anybody.
    /// @param requestId the request
    event CallbackFailed(RequestId indexed requestId);

    /// @notice A call of `tryMulticall` reverted; the others stand.
    /// @param index the index of the call in the array
    /// @param reason the first 100 bytes of the revert data; empty also if the call ran out of gas
    event CallFailed(uint256 index, bytes reason);

    /// @notice The part of the fee that nobody earned went back to the request's subscription, or to the credit of a
    /// consumer that paid directly. Emitted once for a request that was refunded or settled by `settle`, even if the
    /// amount is 0: afterwards the request has no escrow. `DecisionSettled` says the same of the others.
    /// @param requestId the request
    /// @param consumer the account that asked
    /// @param amount in the smallest unit of the request's currency
    event FeeRefunded(RequestId indexed requestId, address indexed consumer, uint256 amount);

    /// @notice The request ended without a decision and is final: it expired, or its consumer cancelled it.
    /// @param requestId the request
    event RequestRefunded(RequestId indexed requestId);

    /// @notice The consumer took its request back before anybody could know the committee. Followed by
    /// `RequestRefunded`.
    /// @param requestId the request
    event RequestCancelled(RequestId indexed requestId);

    /// @notice The consumer did not take the callback that told it of the refund. The refund stands, and nobody repeats
    /// the callback.
    /// @param requestId the request
    event RefundCallbackFailed(RequestId indexed requestId);

    /// @notice Deployment: the registry is bound to this other oracle.
    error NotBound(address bound);
    /// @notice The oracle was deployed without this protocol.
    error UnknownProtocol(uint8 protocol);
    /// @notice `field` is the name of the member of `Terms` as a left-aligned string; or "seats" if all committees that
    /// the terms allow could have more than 160 seats together.
    error InvalidTerms(bytes32 field, uint256 value);
    error QuestionTooLong(uint256 length, uint256 maximum);
    error QuestionIsEmpty();
    /// @notice The registry has too few agents that can be drawn for what the terms allow, see `request`.
    error TooFewAgents(uint256 drawable, uint256 needed);
    /// @notice The request is not in the status that the call needs.
    error WrongStatus(RequestId requestId, Status status);
    /// @notice The calldata does not match the stored hash.
    error WitnessMismatch(RequestId requestId);
    /// @notice The hash of `seedBlock` is known from the next block on.
    error SeedNotReady(RequestId requestId, uint64 seedBlock);
    /// @notice The seed can no longer be proven: its epoch is more than one epoch old, or the chain no longer serves the
    /// hash of its block. The attempt is over.
    error SeedExpired(RequestId requestId, uint64 seedBlock);
    /// @notice The header is not the seed block's header, whose hash is `expected`. Read it again after a
    /// reorganization.
    error HeaderMismatch(RequestId requestId, bytes32 expected, bytes32 actual);
    /// @notice `part` names the malformed part of the header as a left-aligned string: list or mixHash; `offset` is where
    /// it should begin.
    error MalformedHeader(bytes32 part, uint256 offset);
    /// @notice The prevrandao of `seedBlock` is 0: a chain without a beacon cannot pick a committee.
    error NoBeacon(RequestId requestId, uint64 seedBlock);
    /// @notice The chain's prevrandao is too small to be random, so nothing is deployed there.
    error ChainHasNoBeacon(uint256 prevRandao);
    /// @notice The period of the running round is over.
    error DeadlinePassed(RequestId requestId, uint40 deadline);
    /// @notice The period of the running round, or the time of the running attempt, is not over.
    error DeadlineNotPassed(RequestId requestId, uint40 deadline);
    error QuorumNotReached(uint256 signers, uint256 required);
    /// @notice The signature is malformed, over other data, or by another key than the seat's.
    error InvalidSignature(uint256 seat);
    /// @notice `field` names the malformed part of the decision or the certificate as a left-aligned string.
    error InvalidDecision(bytes32 field, uint256 value);
    /// @notice The transaction carries too little gas for the callback that the consumer paid for.
    error InsufficientCallbackGas(uint256 available, uint256 required);
    error TooManyCalls(uint256 length, uint256 maximum);
    error CallbackNotPending(RequestId requestId);
    error CallbackStillFails(RequestId requestId);
    error NotSettlement(address caller);
    error AlreadySettled(RequestId requestId);
    /// @notice The decision can still be appealed against, or finalized after the deadline of its round.
    error DecisionIsProvisional(RequestId requestId);
    /// @notice The decision is final.
    error DecisionIsFinal(RequestId requestId);
    /// @notice An earlier round has a decision: `fallBack` makes it final.
    error HasEarlierDecision(RequestId requestId);
    /// @notice The terms allow another committee: `replace` calls it.
    error RetriesLeft(RequestId requestId);
    /// @notice Only the consumer that asked may cancel.
    error NotConsumerOf(RequestId requestId, address caller);
    /// @notice The committee may be known: only the first attempt can be cancelled, at least six blocks before its seed
    /// block.
    error TooLateToCancel(RequestId requestId, uint32 attempt, uint64 seedBlock);
    /// @notice No other committee may be tried: `refund` or `fallBack` ends the request.
    error NoRetriesLeft(RequestId requestId);

    /// @notice Asks a question; the fee goes into escrow.
    /// @dev Refused with `TooFewAgents` unless as many agents can be drawn as the first committee and all committees that
    /// appeals can call have seats together.
    /// @param subscriptionId the subscription that pays; 0 = the caller pays now, in tokens that it has approved or in
    /// the coins that it sends
    /// @param terms packed by `RequestTermsLib.pack`; the fee is at least `quote`
    /// @param question UTF-8, 1 to 8192 bytes
    /// @return requestId see `RequestId`
    function request(
        uint48 subscriptionId,
        RequestTerms terms,
        bytes calldata question
    ) external payable returns (RequestId requestId);

    /// @notice Records a committee's decision, and proves the committee. A hung decision calls another committee while
    /// retries are left. Otherwise a decision is provisional for the duration in the terms while appeals are left, and is
    /// delivered to the consumer when no appeal is left. A decision that is final in the first round is paid at once
    /// (`DecisionSettled`); others wait for `settlement.settle`. Anybody may call, until the deadline and while the seed
    /// can be proven.
    /// @dev A `Decided` outcome must fit the kind (`DecisionLib`). The decision may slash a seat at most three times; RE4
    /// (docs/spec/invariants.md) says how many take effect.
    /// @dev The signers are the keys of the seats: a key that was rotated out since the seed's epoch began still signs
    /// here.
    /// @param request_ as in the `Requested` event
    /// @param round as in the latest `Requested` or `RequestReopened` event
    /// @param seed what proves the committee, see `Seed`
    /// @param certificate signatures of more than two thirds of the seats, packed as in `CertificateLib`
    /// @param decision what the committee signed
    function commit(
        Request calldata request_,
        Round round,
        Seed calldata seed,
        bytes calldata certificate,
        Decision calldata decision
    ) external;

    /// @notice Calls a committee of twice the size plus one against a provisional decision, until the deadline of its
    /// round. Anybody may call, with a bond in the request's currency: the most that the committees that the appeal
    /// calls, and their relayers, can earn (`settlement.bondOf`).
    /// @dev The appeal is upheld if the last later decision that can overturn others differs (SE10): the appellant gets the bond
    /// back and half of the overturned round's pay. Otherwise the bond pays for the committees that the appeal called, and the
    /// appellant gets the rest back. If no committee answers in time the request ends as Hung, and the bond comes back less the
    /// gas of the call that ends it.
    /// @dev Agents of the committees that it reviews sit again where these hold more than an eighth of the draw (SE3).
    /// @param request_ as in the `Requested` event
    /// @param round as in the `DecisionProvisional` event
    /// @param committeeHash keccak256 of the seats' words, concatenated
    /// @param decision as in the `DecisionCommitted` event
    /// @param relay as in the `DecisionCommitted` event
    function appeal(
        Request calldata request_,
        Round round,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) external payable;

    /// @notice Makes a provisional decision final after the deadline of its round and delivers it. Anybody may call;
    /// the oracle pays the caller's gas, at most at the gas price cap (`CallerPaid`).
    /// @dev The parameters are those of `appeal`.
    function finalize(
        Request calldata request_,
        Round round,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) external;

    /// @notice Retries a failed callback. Anybody may call, without pay; reverts if it fails again.
    /// @param request_ as in the `Requested` event
    /// @param round the round of the last decision, as in `settlement.settle`
    /// @param committeeHash keccak256 of the seats' words, concatenated
    /// @param decision the last decision, as in the `DecisionCommitted` event; if nobody answered the attempt after it, the
    /// consumer is told `Hung` again
    /// @param relay as in the `DecisionCommitted` event
    function retryCallback(
        Request calldata request_,
        Round round,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) external;

    /// @notice Distributes the escrow of a request whose decision is final, once. Only `settlement` may call; it
    /// computes the payout.
    /// @param commitment the commitment of the final decision, see `RequestLib.settledCommitment`
    /// @param payout all payments, which with those made before are exactly the fee and the bonds, and the reputation
    /// changes of the decisions that stand
    function payOut(RequestId requestId, bytes32 commitment, Payout calldata payout) external;

    /// @notice Calls functions of this contract for the caller, one after the other. A call that reverts is undone and
    /// announced by `CallFailed`; the others stand.
    /// @dev Each call gets 63/64 of the gas that is left. A call fails unless its callback can get its whole gas limit.
    /// @dev Warning: a node estimates the least gas with which this call succeeds, and it succeeds even if all inner
    /// calls fail. Add up the gas that each inner call needs, each callback with its whole limit: a consumer may behave
    /// differently than in a simulation.
    /// @param calls at most 128, ABI-encoded
    function tryMulticall(bytes[] calldata calls) external;

    /// @notice Replaces a committee that has not decided in time by another one of the same size, while retries are
    /// left. Anybody may call, and the oracle pays the caller's gas (`CallerPaid`).
    /// @dev The agents of the replaced committee can be drawn again: nothing proves that they were silent.
    /// @param request_ as in the `Requested` event
    /// @param round as in the latest `Requested` or `RequestReopened` event
    /// @param seedBlock as in the same event
    function replace(Request calldata request_, Round round, uint64 seedBlock) external;

    /// @notice Returns the fee of a request that no committee has decided in time, when no retries are left. The consumer
    /// is told so once. Anybody may call, and is paid as for `finalize`.
    /// @dev If that callback fails, `RefundCallbackFailed` says so, and nobody repeats it: `statusOf` says `Refunded`.
    /// @param request_ as in the `Requested` event
    /// @param round as in the latest `Requested` or `RequestReopened` event
    /// @param seedBlock as in the same event
    function refund(Request calldata request_, Round round, uint64 seedBlock) external;

    /// @notice Takes back a request, with its whole fee, while nobody can know its committee: in the first attempt, at
    /// least six blocks before the seed block (SE23). Only the consumer that asked may call, without pay.
    /// @dev Does not call the consumer.
    /// @param request_ as in the `Requested` event
    /// @param round as in the `Requested` event
    /// @param seedBlock as in the `Requested` event
    function cancel(Request calldata request_, Round round, uint64 seedBlock) external;

    /// @notice Ends a request as Hung whose last attempt, after an earlier decision, nobody has answered in time, when no
    /// retries are left. The consumer is told so, and the appellant gets its bond back less the gas of this call. Anybody
    /// may call, and is paid for it (SE13).
    /// @param request_ as in the `Requested` event
    /// @param round as in the latest `RequestReopened` event
    /// @param seedBlock as in the same event
    /// @param last the round before
    function fallBack(Request calldata request_, Round round, uint64 seedBlock, HashedRound calldata last) external;

    /// @notice The state of a request.
    /// @param requestId any number; the status of an unused id is `None`
    /// @return status see `Status`
    /// @return attempt the latest attempt, from 0; if it is later than that of the last decision, nobody answered it
    /// @return provisional the decision can be appealed against, or finalized after the deadline of its round
    /// @return callbackPending the callback failed and can be retried
    /// @return settled the escrow has been distributed
    function statusOf(
        RequestId requestId
    ) external view returns (Status status, uint32 attempt, bool provisional, bool callbackPending, bool settled);

    /// @notice The stored word of a request, which covers its record: for contracts to which somebody proves it.
    /// @param requestId any number; the word of an unused id is 0
    /// @return the word, see `RequestState`
    function stateOf(RequestId requestId) external view returns (RequestState);

    /// @notice The registry, which picks committees and keeps reputations.
    /// @return the registry
    function registry() external view returns (IAgentRegistry);

    /// @notice The contract that computes what a final request pays.
    /// @return the contract, deployed by this one
    function settlement() external view returns (address);

    /// @notice The protocols that a request may name: bit i set = protocol i.
    /// @return the bitmap
    function supportedProtocols() external view returns (uint256);
}
