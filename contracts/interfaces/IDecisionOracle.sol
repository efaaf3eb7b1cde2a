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
/// @notice Requested -> Drawn -> Decided | Hung. A hung committee is replaced while retries are left; while appeals are left a
/// decision is provisional for a period, in which anybody may call a larger committee; a final one is delivered to the
/// consumer, and its pay settled once. What nobody decides in time is Refunded. See docs/spec/settlement.md.
/// @dev One storage word per request: status, attempt, flags and a hash of everything else, which is in the events and comes
/// back in calldata.
/// @dev The stored hash is truncated to 232 bits: the free choice of two colliding witnesses costs about 2^116 hashes, and
/// a second witness for somebody else's request about 2^232. EIP-712 domain: name "Conclave", version "1", this chain,
/// this contract.
/// @dev The draw: prevrandao of a block of one epoch picks from the registry as it was when that epoch began, and only while
/// it lasts. Whoever knows the seed can change neither, and `draw` may come at any time in that epoch.
/// @dev Warning, what remains (docs/adr/007-seed-from-prevrandao.md): whoever proposes the block before the seed block can
/// withhold it, which costs the block, for another seed; an asker that proposes eight blocks in a row knows the seed when
/// it asks; whoever keeps all draws out of the chain for the rest of the epoch forces another seed.
/// @dev Warning: deploy only where mixHash is the randomness of a beacon chain that is not known eight blocks ahead.
interface IDecisionOracle is IAccounts {
    /// @notice The oracle was deployed; emitted once.
    /// @param registry where committees are drawn
    /// @param settlement deployed by this oracle
    /// @param supportedProtocols bit i set = protocol i can be asked for
    /// @param epochBlocks the registry's, which this oracle draws by
    event OracleDeployed(
        IAgentRegistry registry,
        ISettlement settlement,
        uint256 supportedProtocols,
        uint256 epochBlocks
    );

    /// @notice A request was made and its fee escrowed.
    /// @param requestId see `RequestId`
    /// @param consumer who asked; gets the callback
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

    /// @notice Another committee is drawn: the last one hung or did not answer in time, or somebody appealed.
    /// @param requestId the request
    /// @param attempt of the committee to come
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

    /// @notice The decision just committed can be appealed against until the deadline of the round.
    /// @param requestId the request
    /// @param round see `Round`; comes back in calldata
    event DecisionProvisional(RequestId indexed requestId, Round round);

    /// @notice A provisional decision, or the one before an attempt that nobody answered, is final.
    /// @param requestId the request
    /// @param attempt whose decision it is
    event DecisionFinalized(RequestId indexed requestId, uint32 attempt);

    /// @notice Who made a decision final and delivered it was paid for its gas; what is left of what the request had put by for
    /// that went back to its subscription, or to the credit of a consumer that paid directly. Follows `DecisionFinalized`.
    /// @param requestId the request
    /// @param deliverer whose credit grew
    /// @param amount in the smallest unit of the request's currency
    /// @param rest in the same unit
    event DeliveryPaid(RequestId indexed requestId, address indexed deliverer, uint256 amount, uint256 rest);

    /// @notice No committee answered an appeal in time; the appellant's bond was credited back.
    /// @param requestId the request
    /// @param appellant whose bond it was
    /// @param bond in the smallest unit of the request's currency
    event AppealUnanswered(RequestId indexed requestId, address indexed appellant, uint256 bond);

    /// @notice The seed block's epoch passed without a draw, or its hash cannot be had any more; a new one was scheduled.
    /// @param requestId the request
    /// @param seedBlock number of the new block whose prevrandao seeds the draw
    event SeedRescheduled(RequestId indexed requestId, uint64 seedBlock);

    /// @notice A committee was drawn and the attempt began.
    /// @param requestId the request
    /// @param attempt from 0
    /// @param seed what the draw was derived from
    /// @param committee the seats in order, see `Seat`
    event CommitteeDrawn(RequestId indexed requestId, uint32 attempt, bytes32 seed, Seat[] committee);

    /// @notice A committee decided or hung; see `Decision` for the fields in common.
    /// @dev If `RequestReopened` or `DecisionProvisional` follows in the same call, it is not final. Else, unless `CallbackFailed`
    /// follows, the consumer took the decision, or wanted no callback.
    /// @param requestId the request
    /// @param head see `DecisionHead`
    /// @param outcome see `Decision`
    /// @param transcript see `Decision`
    /// @param relay see `Relay`; comes back in calldata. Whoever submits may leave out signatures down to the quorum: a
    /// clear bit of the signers proves nothing, so never pay by it
    /// @param answer see `Decision`
    /// @param merits see `Decision`; the registry emits what the reputation changes did
    event DecisionCommitted(
        RequestId indexed requestId,
        DecisionHead head,
        bytes32 outcome,
        bytes32 transcript,
        Relay relay,
        bytes answer,
        bytes merits
    );

    /// @notice A callback that had failed went through, or is about to in a call that else reverts; nothing is pending any
    /// more.
    /// @param requestId the request
    event CallbackSucceeded(RequestId indexed requestId);

    /// @notice The consumer reverted, ran out of gas or has no code; `retryCallback` is open to anybody.
    /// @param requestId the request
    event CallbackFailed(RequestId indexed requestId);

    /// @notice A call of `tryMulticall` reverted; the others stand.
    /// @param index of the call in the array
    /// @param reason the first 100 bytes of what it reverted with; empty also when it ran out of gas
    event CallFailed(uint256 index, bytes reason);

    /// @notice What was not earned went back to the request's subscription, or to the credit of a consumer that paid directly.
    /// Emitted once per request, also when the amount is 0: with it the escrow of the request is gone.
    /// @param requestId the request
    /// @param consumer who asked
    /// @param amount in the smallest unit of the request's currency
    event FeeRefunded(RequestId indexed requestId, address indexed consumer, uint256 amount);

    /// @notice The request expired without a decision and is final.
    /// @param requestId the request
    event RequestRefunded(RequestId indexed requestId);

    /// @notice Deployment: the registry is bound to this other oracle.
    error NotBound(address bound);
    /// @notice The oracle was deployed without this protocol.
    error UnknownProtocol(uint8 protocol);
    /// @notice `field` is the name of the member of `Terms` as a left-aligned string; or "seats", which all committees that the
    /// terms allow can have together: at most 160.
    error InvalidTerms(bytes32 field, uint256 value);
    error QuestionTooLong(uint256 length, uint256 maximum);
    error QuestionIsEmpty();
    /// @notice The request is not in the status that the call needs.
    error WrongStatus(RequestId requestId, Status status);
    /// @notice What came in calldata is not what the stored hash covers; or a signature is not that of its seat, which with
    /// another signer makes another committee. Find out off chain which one.
    error WitnessMismatch(RequestId requestId);
    /// @notice The hash of `seedBlock` is known from the next block on.
    error SeedNotReady(RequestId requestId, uint64 seedBlock);
    /// @notice The header is not that of the seed block, whose hash is `expected`. After a reorganization read it again.
    error HeaderMismatch(RequestId requestId, bytes32 expected, bytes32 actual);
    /// @notice `part` is the name of what the header fails at as a left-aligned string: list, length, item or mixHash; `offset`
    /// the byte where.
    error MalformedHeader(bytes32 part, uint256 offset);
    /// @notice prevrandao of `seedBlock` is 0: a chain without a beacon cannot draw.
    error NoBeacon(RequestId requestId, uint64 seedBlock);
    /// @notice The period of the running round is over.
    error DeadlinePassed(RequestId requestId, uint40 deadline);
    error DeadlineNotPassed(RequestId requestId, uint40 deadline);
    error QuorumNotReached(uint256 signers, uint256 required);
    /// @notice Nobody can have made the signature. One of somebody else, or of something else, is a `WitnessMismatch`.
    error InvalidSignature(uint256 seat);
    /// @notice `field` is the name of what is malformed in the decision or the certificate as a left-aligned string.
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

    /// @notice Asks; the fee goes into escrow.
    /// @dev Warning: nothing checks that there are enough active agents. A request that cannot be drawn waits for more of
    /// them, and can be refunded after its deadline.
    /// @param subscriptionId that pays; 0 = the caller pays now, in tokens that it has approved or with the coins that come along
    /// @param terms packed by `RequestTermsLib.pack`; the fee is at least `quote`
    /// @param question UTF-8, 1 to 8192 bytes
    /// @return requestId see `RequestId`
    function request(
        uint48 subscriptionId,
        RequestTerms terms,
        bytes calldata question
    ) external payable returns (RequestId requestId);

    /// @notice Draws the committee, or schedules a new seed block when the epoch of the old one is over or its hash cannot be had
    /// any more: after 256 blocks, or 8191 where EIP-2935 is served. Anybody may call.
    /// @dev The seed is keccak256(abi.encode(prevrandao of the seed block, requestId, attempt)). The seed block is the
    /// first one, eight or more blocks ahead, with eight blocks of its epoch before it and 16 after it; that is at most 32
    /// blocks ahead.
    /// @dev No agent sits twice for one request. Reverts with the registry's `TooFewAgents` while fewer other agents than seats were
    /// active when the epoch began; `refund` or `fallBack` ends such a request.
    /// @param request_ as in the `Requested` event
    /// @param round as in the latest `Requested` or `RequestReopened` event
    /// @param seedBlock as in the latest `Requested`, `RequestReopened` or `SeedRescheduled` event
    /// @param header RLP of the seed block's header, from eth_getBlockByNumber; not read when the seed has expired
    /// @param past the rounds before this one, from the first
    function draw(
        Request calldata request_,
        Round round,
        uint64 seedBlock,
        bytes calldata header,
        PastRound[] calldata past
    ) external;

    /// @notice Takes a committee's decision. A final one is delivered to the consumer; one that hung calls another committee while
    /// retries are left; else, while appeals are left, it is provisional for the duration in the terms. Anybody may call.
    /// @dev A `Decided` outcome must fit the kind: boolean 0 or 1, choice an index below `options`, text the keccak256 of the
    /// answer, policies a bitmap that is not 0 and below 2^options. Of one seat at most three slashes are accepted; how many take effect is RE4 (docs/spec/invariants.md).
    /// @dev The signers are those of the drawn seats: a key rotated since then still owes its signature here.
    /// @dev The order of the parameters makes a low selector, which is found early: 682 gas for each commit.
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

    /// @notice Calls a committee of twice the size plus one against a provisional decision, until the deadline of its round.
    /// Anybody may, with a bond in the request's currency: the most that the committees that it calls, and their relayers, can
    /// earn (`settlement.bondOf`).
    /// @dev Upheld if the final decision is another one: the bond comes back with half of the overturned round's pay. If not,
    /// also if the last committee hung, it pays for the committees that the appeal called, and the rest of it comes back;
    /// all of it if none of them answers in time.
    /// @dev Warning: it is taken although fewer other agents may be left than its committee has seats. Then it changes nothing,
    /// but delays the decision by the duration, and as often again as there are retries left.
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

    /// @notice Makes a provisional decision final after the deadline of its round and delivers it. Anybody may call, and is paid
    /// its gas, at the gas price cap at most (`DeliveryPaid`).
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
    /// @param round of the final decision, as in `settlement.settle`
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

    /// @notice Distributes the escrow of a request whose decision is final, once. Only `settlement`, which has worked it out.
    /// @param commitment of the final decision, see `RequestLib.settledCommitment`
    /// @param payout together with what was paid out before exactly the fee and the bonds; and what the decisions that stand
    /// change in reputations
    function payOut(RequestId requestId, bytes32 commitment, Payout calldata payout) external;

    /// @notice Calls functions of this contract for the caller, one after the other; one that reverts is undone and announced
    /// by `CallFailed`, and the others stand.
    /// @dev Each call gets 63/64 of the gas that is left, and its callback all of its own gas or the call fails.
    /// @dev Warning: a node estimates the least gas with which this call succeeds, which it also does if all of its calls
    /// fail. Send what they need one by one, each callback with its whole limit, for no consumer need do what it did in a
    /// simulation.
    /// @param calls at most 128, ABI-encoded
    function tryMulticall(bytes[] calldata calls) external;

    /// @notice Calls another committee of the same size for one that has not decided in time, while retries are left. Anybody may
    /// call.
    /// @dev The seats of the committee that it replaces can be drawn again: nothing proves that they were silent.
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

    /// @notice Gives an attempt up whose committee has not decided in time, when no retries are left: the decision before it is
    /// final and delivered, and the bond of who appealed against it comes back. Anybody may call, and is paid as for `finalize`.
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

    /// @notice Where a request stands.
    /// @param requestId any number; an unused one is `None`
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
    /// @param message what it is about, its place and its payload
    /// @return the digest
    function messageDigest(Message calldata message) external view returns (bytes32);

    /// @notice Where committees are drawn and reputations kept.
    /// @return the registry
    function registry() external view returns (IAgentRegistry);

    /// @notice Who works out what a final request pays.
    /// @return the contract, deployed by this one
    function settlement() external view returns (ISettlement);

    /// @notice Bit i set = protocol i can be asked for.
    /// @return the bitmap
    function supportedProtocols() external view returns (uint256);
}
