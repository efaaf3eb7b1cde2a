// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {
    DecidedRound,
    Decision,
    DecisionHead,
    Message,
    PastRound,
    Payout,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Seat,
    Status
} from "../types/Types.sol";
import {IAccounts} from "./IAccounts.sol";
import {IAgentRegistry} from "./IAgentRegistry.sol";
import {ISettlement} from "./ISettlement.sol";

/// @title Requests, committees, decisions, appeals and pay
/// @notice A request goes from Requested to Drawn to Decided or Hung. While retries are left, another committee
/// replaces one that hung. While appeals are left, a decision is provisional for a period, in which anybody may call a
/// larger committee. The oracle delivers a final decision to the consumer and settles its pay once. A request that no
/// committee decides in time is Refunded. See docs/spec/settlement.md.
/// @dev The oracle stores one word per request: status, attempt, flags and a hash of everything else. The events hold
/// the rest, and callers pass it back in calldata.
/// @dev The stored hash is truncated to 232 bits: to find two colliding witnesses costs about 2^116 hashes, and to find
/// a second witness for somebody else's request about 2^232. EIP-712 domain: name "Conclave", version "1", this chain,
/// this contract.
/// @dev The draw: prevrandao of a block picks from the registry as it was when the epoch of that block began, and only
/// while that epoch lasts. Whoever knows the seed can change neither of them. `draw` may be called at any time in that
/// epoch.
/// @dev Warning: three ways to influence the seed remain (docs/adr/007-seed-from-prevrandao.md). The proposer of the
/// block before the seed block can withhold its block, and lose it, to get another seed. An asker that proposes eight
/// blocks in a row knows the seed when it asks. Whoever keeps all draws out of the chain for the rest of the epoch
/// forces another seed.
/// @dev Warning: deploy only where mixHash is the randomness of a beacon chain that is not known eight blocks ahead.
interface IDecisionOracle is IAccounts {
    /// @notice The oracle was deployed; emitted once.
    /// @param registry the registry that draws the committees
    /// @param settlement deployed by this oracle
    /// @param supportedProtocols bit i set = protocol i can be asked for
    /// @param epochBlocks blocks of an epoch of the registry
    event OracleDeployed(
        IAgentRegistry registry,
        ISettlement settlement,
        uint256 supportedProtocols,
        uint256 epochBlocks
    );

    /// @notice A request was made and its fee escrowed.
    /// @param requestId see `RequestId`
    /// @param consumer the account that asked; it gets the callback
    /// @param terms packed, see `RequestTerms`
    /// @param round see `Round`; comes back in calldata
    /// @param seedBlock number of the block whose prevrandao seeds the draw
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
    /// @param seedBlock number of the block whose prevrandao seeds the draw
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

    /// @notice A decision became final: a provisional one, or the one before an attempt that no committee answered.
    /// @param requestId the request
    /// @param attempt the attempt of the decision
    event DecisionFinalized(RequestId indexed requestId, uint32 attempt);

    /// @notice The caller that made a decision final and delivered it was paid for its gas. The rest of the request's
    /// reserve for the delivery went back to its subscription, or to the credit of a consumer that paid directly.
    /// Follows `DecisionFinalized`.
    /// @param requestId the request
    /// @param deliverer the account whose credit grew
    /// @param amount in the smallest unit of the request's currency
    /// @param rest in the same unit
    event DeliveryPaid(RequestId indexed requestId, address indexed deliverer, uint256 amount, uint256 rest);

    /// @notice No committee answered an appeal in time; the appellant's bond was credited back.
    /// @param requestId the request
    /// @param appellant the account that had escrowed the bond
    /// @param bond in the smallest unit of the request's currency
    event AppealUnanswered(RequestId indexed requestId, address indexed appellant, uint256 bond);

    /// @notice The seed block's epoch passed without a draw, or the chain no longer serves its hash; a new seed block
    /// was scheduled.
    /// @param requestId the request
    /// @param seedBlock number of the new block whose prevrandao seeds the draw
    event SeedRescheduled(RequestId indexed requestId, uint64 seedBlock);

    /// @notice A committee was drawn and the attempt began.
    /// @param requestId the request
    /// @param attempt from 0
    /// @param seed the seed of the draw
    /// @param committee the seats in order, see `Seat`
    event CommitteeDrawn(RequestId indexed requestId, uint32 attempt, bytes32 seed, Seat[] committee);

    /// @notice A committee decided or hung; see `Decision`.
    /// @dev The decision is not final if `RequestReopened` or `DecisionProvisional` follows in the same call. Otherwise
    /// the consumer accepted it or asked for no callback, unless `CallbackFailed` follows.
    /// @param requestId the request
    /// @param head see `DecisionHead`
    /// @param outcome see `Decision`
    /// @param transcript see `Decision`
    /// @param relay see `Relay`; comes back in calldata. The submitter may leave out signatures down to the quorum: a
    /// clear bit of the signers proves nothing, so never base pay on it
    /// @param answer see `Decision`
    /// @param merits see `Decision`; the registry emits the resulting reputations
    event DecisionCommitted(
        RequestId indexed requestId,
        DecisionHead head,
        bytes32 outcome,
        bytes32 transcript,
        Relay relay,
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
    /// consumer that paid directly. Emitted once per request, even if the amount is 0: afterwards the request has no
    /// escrow.
    /// @param requestId the request
    /// @param consumer the account that asked
    /// @param amount in the smallest unit of the request's currency
    event FeeRefunded(RequestId indexed requestId, address indexed consumer, uint256 amount);

    /// @notice The request expired without a decision and is final.
    /// @param requestId the request
    event RequestRefunded(RequestId indexed requestId);

    /// @notice Deployment: the registry is bound to this other oracle.
    error NotBound(address bound);
    /// @notice The oracle was deployed without this protocol.
    error UnknownProtocol(uint8 protocol);
    /// @notice `field` is the name of the member of `Terms` as a left-aligned string; or "seats" if all committees that
    /// the terms allow could have more than 160 seats together.
    error InvalidTerms(bytes32 field, uint256 value);
    error QuestionTooLong(uint256 length, uint256 maximum);
    error QuestionIsEmpty();
    /// @notice The request is not in the status that the call needs.
    error WrongStatus(RequestId requestId, Status status);
    /// @notice The calldata does not match the stored hash, or a signature is not from the key of its seat (another
    /// signer makes another committee hash). Find out off chain which of them is wrong.
    error WitnessMismatch(RequestId requestId);
    /// @notice The hash of `seedBlock` is known from the next block on.
    error SeedNotReady(RequestId requestId, uint64 seedBlock);
    /// @notice The header is not the seed block's header, whose hash is `expected`. Read it again after a
    /// reorganization.
    error HeaderMismatch(RequestId requestId, bytes32 expected, bytes32 actual);
    /// @notice `part` names the malformed part of the header as a left-aligned string: list, length, item or mixHash;
    /// `offset` is its first byte.
    error MalformedHeader(bytes32 part, uint256 offset);
    /// @notice The prevrandao of `seedBlock` is 0: a chain without a beacon cannot draw.
    error NoBeacon(RequestId requestId, uint64 seedBlock);
    /// @notice The chain's prevrandao is too small to be random, so nothing is deployed there.
    error ChainHasNoBeacon(uint256 prevRandao);
    /// @notice The period of the running round is over.
    error DeadlinePassed(RequestId requestId, uint40 deadline);
    error DeadlineNotPassed(RequestId requestId, uint40 deadline);
    error QuorumNotReached(uint256 signers, uint256 required);
    /// @notice No key can have made the signature. A signature by another key, or over other data, is a
    /// `WitnessMismatch`.
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
    /// @notice No other committee may be tried: `refund` or `fallBack` ends the request.
    error NoRetriesLeft(RequestId requestId);

    /// @notice Asks a question; the fee goes into escrow.
    /// @dev Warning: nothing checks that there are enough active agents. A request without enough agents waits for more
    /// of them, and can be refunded after its deadline.
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

    /// @notice Draws the committee, or schedules a new seed block when the epoch of the old one is over or the chain no
    /// longer serves its hash: after 256 blocks, or 8191 where EIP-2935 is served. Anybody may call.
    /// @dev The seed is keccak256(abi.encode(prevrandao of the seed block, requestId, attempt)). The seed block is the
    /// first one, eight or more blocks ahead, with eight blocks of its epoch before it and 16 after it; that is at most 32
    /// blocks ahead.
    /// @dev No agent sits twice for one request. Reverts with the registry's `TooFewAgents` while fewer other agents than seats were
    /// active when the epoch began; `refund` or `fallBack` ends such a request.
    /// @param request_ as in the `Requested` event
    /// @param round as in the latest `Requested` or `RequestReopened` event
    /// @param seedBlock as in the latest `Requested`, `RequestReopened` or `SeedRescheduled` event
    /// @param header RLP of the seed block's header, from eth_getBlockByNumber; ignored when the seed has expired
    /// @param past the rounds before this one, from the first
    function draw(
        Request calldata request_,
        Round round,
        uint64 seedBlock,
        bytes calldata header,
        PastRound[] calldata past
    ) external;

    /// @notice Records a committee's decision. A hung decision calls another committee while retries are left.
    /// Otherwise a decision is provisional for the duration in the terms while appeals are left, and is delivered to
    /// the consumer when no appeal is left. Anybody may call.
    /// @dev A `Decided` outcome must fit the kind: boolean 0 or 1, choice an index below `options`, text the keccak256
    /// of the answer, policies a bitmap that is not 0 and below 2^options. The decision may slash a seat at most three
    /// times; RE4 (docs/spec/invariants.md) says how many take effect.
    /// @dev The signers are the keys of the drawn seats: a key that was rotated out since then still signs here.
    /// @dev The order of the parameters yields a low selector, which the dispatcher finds early: it saves 682 gas per
    /// commit.
    /// @param request_ as in the `Requested` event
    /// @param round as in the latest `Requested` or `RequestReopened` event
    /// @param certificate signatures of more than two thirds of the seats, packed as in `CertificateLib`
    /// @param decision what the committee signed
    function commit(
        Request calldata request_,
        Round round,
        bytes calldata certificate,
        Decision calldata decision
    ) external;

    /// @notice Calls a committee of twice the size plus one against a provisional decision, until the deadline of its
    /// round. Anybody may call, with a bond in the request's currency: the most that the committees that the appeal
    /// calls, and their relayers, can earn (`settlement.bondOf`).
    /// @dev The appeal is upheld if the final decision differs: the appellant gets the bond back and half of the
    /// overturned round's pay. Otherwise, also if the last committee hung, the bond pays for the committees that the
    /// appeal called, and the appellant gets the rest back; it gets the whole bond back if no committee answers in
    /// time.
    /// @dev Warning: the oracle accepts an appeal even if fewer other agents are left than its committee has seats.
    /// Such an appeal changes nothing, but delays the decision by the duration, once for the appeal and once for every
    /// retry that is left.
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
    /// the oracle pays the caller's gas, at most at the gas price cap (`DeliveryPaid`).
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
    /// @param round the round of the final decision, as in `settlement.settle`
    /// @param committeeHash keccak256 of the seats' words, concatenated
    /// @param decision as in the `DecisionCommitted` event
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
    /// left. Anybody may call.
    /// @dev The agents of the replaced committee can be drawn again: nothing proves that they were silent.
    /// @param request_ as in the `Requested` event
    /// @param round as in the latest `Requested` or `RequestReopened` event
    /// @param witness as for `refund`
    function replace(Request calldata request_, Round round, bytes calldata witness) external;

    /// @notice Returns the fee of a request that no committee has decided in time, when no retries are left. Anybody may call.
    /// @dev Does not call the consumer; `statusOf` says `Refunded`.
    /// @param request_ as in the `Requested` event
    /// @param round as in the latest `Requested` or `RequestReopened` event
    /// @param witness what the stored hash covers beside request and round: `abi.encode(seedBlock)` while Requested,
    /// `abi.encode(attempt, committeeHash)` once Drawn
    function refund(Request calldata request_, Round round, bytes calldata witness) external;

    /// @notice Gives up an attempt whose committee has not decided in time, when no retries are left. The decision
    /// before it becomes final and is delivered, and the appellant gets its bond back. Anybody may call, and is paid as
    /// for `finalize`.
    /// @param request_ as in the `Requested` event
    /// @param round as in the latest `RequestReopened` event
    /// @param witness as for `refund`
    /// @param last the round before
    function fallBack(
        Request calldata request_,
        Round round,
        bytes calldata witness,
        DecidedRound calldata last
    ) external;

    /// @notice The state of a request.
    /// @param requestId any number; the status of an unused id is `None`
    /// @return status see `Status`
    /// @return attempt the latest attempt, from 0
    /// @return provisional the decision can be appealed against, or finalized after the deadline of its round
    /// @return callbackPending the callback failed and can be retried
    /// @return settled the escrow has been distributed
    function statusOf(
        RequestId requestId
    ) external view returns (Status status, uint32 attempt, bool provisional, bool callbackPending, bool settled);

    /// @notice The EIP-712 digest that a committee signs.
    /// @param request_ as in the `Requested` event
    /// @param committeeHash keccak256 of the seats' words, concatenated
    /// @param decision the decision
    /// @return the digest
    function decisionDigest(
        Request calldata request_,
        bytes32 committeeHash,
        Decision calldata decision
    ) external view returns (bytes32);

    /// @notice The EIP-712 digest that an agent signs for one message of the deliberation.
    /// @param message the message, see `Message`
    /// @return the digest
    function messageDigest(Message calldata message) external view returns (bytes32);

    /// @notice The registry, which draws committees and keeps reputations.
    /// @return the registry
    function registry() external view returns (IAgentRegistry);

    /// @notice The contract that computes what a final request pays.
    /// @return the contract, deployed by this one
    function settlement() external view returns (ISettlement);

    /// @notice The protocols that a request may name: bit i set = protocol i.
    /// @return the bitmap
    function supportedProtocols() external view returns (uint256);
}
