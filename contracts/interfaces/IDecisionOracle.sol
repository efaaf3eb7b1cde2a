// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {
    Decision,
    DecisionHead,
    Message,
    Permit,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Seat,
    Status
} from "../types/Types.sol";
import {IAgentRegistry} from "./IAgentRegistry.sol";

/// @title Requests, committees, decisions and pay
/// @notice Requested -> Drawn -> Decided | Hung, or Refunded after the deadline. One storage word per request: status,
/// attempt, flags and a hash of everything else, which is in the events and comes back in calldata.
/// @dev The stored hash is truncated to 232 bits: the free choice of two colliding witnesses costs about 2^116 hashes, and
/// a second witness for somebody else's request about 2^232. EIP-712 domain: name "Conclave", version "1", this chain,
/// this contract.
/// @dev The draw: prevrandao of a block of one epoch picks from the registry as it was when that epoch began, and only while
/// it lasts. Whoever knows the seed can change neither, and `draw` may come at any time in that epoch.
/// @dev Warning, what remains (docs/adr/007-seed-from-prevrandao.md): whoever proposes the block before the seed block can
/// withhold it, which costs the block, for another seed; an asker that proposes eight blocks in a row knows the seed when
/// it asks; whoever keeps all draws out of the chain for the rest of the epoch forces another seed.
/// @dev Warning: deploy only where mixHash is the randomness of a beacon chain that is not known eight blocks ahead.
/// @dev Warning: the fee token must move and keep exact amounts. Deposits with a fee are refused; a token that changes
/// balances later (rebasing) is not supported.
interface IDecisionOracle {
    /// @notice The oracle was deployed; emitted once.
    /// @param registry where committees are drawn
    /// @param feeToken the token of fees and pay
    /// @param supportedProtocols bit i set = protocol i can be asked for
    /// @param minFee smallest fee of a request, in the smallest unit of the fee token
    /// @param epochBlocks the registry's, which this oracle draws by
    event OracleDeployed(
        IAgentRegistry registry,
        IERC20 feeToken,
        uint256 supportedProtocols,
        uint96 minFee,
        uint256 epochBlocks
    );

    /// @notice A request was made and its fee escrowed.
    /// @param requestId consecutive from 1
    /// @param consumer who asked; gets the callback and every refund
    /// @param terms packed, see `RequestTerms`
    /// @param seedBlock number of the block whose prevrandao seeds the draw
    /// @param question UTF-8
    event Requested(
        RequestId indexed requestId,
        address indexed consumer,
        RequestTerms terms,
        uint64 seedBlock,
        bytes question
    );

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

    /// @notice A request was settled, `Decided` or `Hung`; see `Decision` for the fields in common.
    /// @dev Unless `CallbackFailed` follows in the same call, the consumer took the decision, or wanted no callback.
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

    /// @notice No new requests are taken; everything else goes on.
    event RequestsPaused();

    /// @notice New requests are taken again.
    event RequestsUnpaused();

    /// @notice An operator earned its share.
    /// @param requestId the request
    /// @param operator whose balance grew
    /// @param seat the seat that earned it
    /// @param amount in the smallest unit of the fee token, above 0
    event PayCredited(RequestId indexed requestId, address indexed operator, uint256 seat, uint256 amount);

    /// @notice What was not earned went back to the consumer's balance. Emitted once per request, also when the amount is
    /// 0: with it the escrow of the request is gone.
    /// @param requestId the request
    /// @param consumer whose balance grew
    /// @param amount in the smallest unit of the fee token
    event FeeRefunded(RequestId indexed requestId, address indexed consumer, uint256 amount);

    /// @notice The request expired without a decision and is final.
    /// @param requestId the request
    event RequestRefunded(RequestId indexed requestId);

    /// @notice A balance was topped up.
    /// @param account whose balance grew
    /// @param from who paid
    /// @param amount in the smallest unit of the fee token
    event Deposited(address indexed account, address indexed from, uint256 amount);

    /// @notice A balance was paid out.
    /// @param account whose balance shrank
    /// @param to who received the tokens
    /// @param amount in the smallest unit of the fee token
    event Withdrawn(address indexed account, address indexed to, uint256 amount);

    /// @notice The oracle was deployed without this protocol.
    error UnknownProtocol(uint8 protocol);
    /// @notice `field` is the name of the member of `Terms` as a left-aligned string.
    error InvalidTerms(bytes32 field, uint256 value);
    error QuestionTooLong(uint256 length, uint256 maximum);
    error QuestionIsEmpty();
    error InsufficientBalance(address account, uint256 balance, uint256 required);
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
    error DeadlinePassed(RequestId requestId, uint40 deadline);
    error DeadlineNotPassed(RequestId requestId, uint40 deadline);
    error QuorumNotReached(uint256 signers, uint256 required);
    /// @notice Nobody can have made the signature. One of somebody else, or of something else, is a `WitnessMismatch`.
    error InvalidSignature(uint256 seat);
    /// @notice `field` is the name of what is malformed in the decision or the certificate as a left-aligned string.
    error InvalidDecision(bytes32 field, uint256 value);
    /// @notice The transaction carries too little gas for the callback that the consumer paid for.
    error InsufficientCallbackGas(uint256 available, uint256 required);
    error RequestsArePaused();
    error RequestsAreNotPaused();
    error TooManyCalls(uint256 length, uint256 maximum);
    error CallbackNotPending(RequestId requestId);
    error CallbackStillFails(RequestId requestId);
    error PayAlreadyCredited(RequestId requestId);
    /// @notice The fee token moved another amount than asked (fee on transfer, rebasing): refused.
    error TransferMismatch(uint256 expected, uint256 received);

    /// @notice Moves `amount` of the fee token from the caller to the balance of `account`.
    /// @dev Warning: only `account` can withdraw it. Tokens sent by a plain transfer belong to nobody.
    /// @param account whose balance grows; usually a consumer contract
    /// @param amount in the smallest unit of the fee token
    function deposit(address account, uint256 amount) external;

    /// @notice `deposit` of `permit.value` with an EIP-2612 permit of the caller.
    /// @dev A permit that somebody else submitted first does no harm: what counts is the allowance.
    /// @param account whose balance grows
    /// @param permit signed by the caller for this contract
    function depositWithPermit(address account, Permit calldata permit) external;

    /// @notice Pays out `amount` of the caller's balance: unused deposits, refunds and earned pay alike.
    /// @param amount in the smallest unit of the fee token
    /// @param to receives the tokens
    function withdraw(uint256 amount, address to) external;

    /// @notice What `account` can spend on requests or withdraw.
    /// @param account a consumer or an operator
    /// @return the balance in the smallest unit of the fee token
    function balanceOf(address account) external view returns (uint256);

    /// @notice Asks; the fee moves from the caller's balance into escrow.
    /// @dev Warning: nothing checks that there are enough active agents. A request that cannot be drawn waits for more of
    /// them, and can be refunded after its deadline.
    /// @param terms packed by `RequestTermsLib.pack`; the fee is at least `minFee`
    /// @param question UTF-8, 1 to 8192 bytes
    /// @return requestId consecutive from 1
    function request(RequestTerms terms, bytes calldata question) external returns (RequestId requestId);

    /// @notice Draws the committee, or schedules a new seed block when the epoch of the old one is over or its hash cannot be had
    /// any more: after 256 blocks, or 8191 where EIP-2935 is served. Anybody may call.
    /// @dev The seed is keccak256(abi.encode(prevrandao of the seed block, requestId, attempt)). The seed block is the
    /// first one, eight or more blocks ahead, with eight blocks of its epoch before it and 16 after it; that is at most 32
    /// blocks ahead.
    /// @dev Reverts with the registry's `TooFewAgents` while fewer agents than seats were active when the epoch began.
    /// @param request_ as in the `Requested` event
    /// @param seedBlock as in the latest `Requested` or `SeedRescheduled` event
    /// @param header RLP of the seed block's header, from eth_getBlockByNumber; not read when the seed has expired
    function draw(Request calldata request_, uint64 seedBlock, bytes calldata header) external;

    /// @notice Settles a decision and calls the consumer back. Anybody may call.
    /// @dev A `Decided` outcome must fit the kind: boolean 0 or 1, choice an index below `options`, text the keccak256 of the
    /// answer, policies a bitmap that is not 0 and below 2^options. Of one seat at most three slashes are accepted.
    /// @dev The signers are those of the drawn seats: a key rotated since then still owes its signature here.
    /// @dev Warning: applies the reputation changes through the registry; without its role there the oracle settles only
    /// decisions that change no reputation.
    /// @param request_ as in the `Requested` event
    /// @param decision what the committee signed
    /// @param certificate signatures of more than two thirds of the seats, packed as in `CertificateLib`
    function commit(Request calldata request_, Decision calldata decision, bytes calldata certificate) external;

    /// @notice Retries a failed callback. Anybody may call; reverts if it fails again.
    /// @param request_ as in the `Requested` event
    /// @param committeeHash keccak256 of the seats' words, concatenated
    /// @param decision as in the `DecisionCommitted` event
    /// @param relay as in the `DecisionCommitted` event
    function retryCallback(
        Request calldata request_,
        bytes32 committeeHash,
        Decision calldata decision,
        Relay relay
    ) external;

    /// @notice Credits the pay of a settled request to the operators' balances, once. Anybody may call.
    /// @dev `Decided` pays out the fee, `Hung` half of it, by shares and rounded down for each seat; the consumer gets the
    /// rest, and everything if all shares are 0.
    /// @param request_ as in the `Requested` event
    /// @param committee as in the `CommitteeDrawn` event
    /// @param decision as in the `DecisionCommitted` event
    /// @param relay as in the `DecisionCommitted` event
    function creditPay(
        Request calldata request_,
        Seat[] calldata committee,
        Decision calldata decision,
        Relay relay
    ) external;

    /// @notice Calls functions of this contract for the caller, one after the other; one that reverts is undone and announced
    /// by `CallFailed`, and the others stand.
    /// @dev Each call gets 63/64 of the gas that is left, and its callback all of its own gas or the call fails.
    /// @dev Warning: a node estimates the least gas with which this call succeeds, which it also does if all of its calls
    /// fail. Send what they need one by one, each callback with its whole limit, for no consumer need do what it did in a
    /// simulation.
    /// @param calls at most 128, ABI-encoded
    function tryMulticall(bytes[] calldata calls) external;

    /// @notice Stops new requests. Only who the access manager allows to; reverts if they are stopped.
    /// @dev What was asked is drawn, settled, paid and refunded as ever.
    function pauseRequests() external;

    /// @notice Takes new requests again. Only who the access manager allows to; reverts if they are not stopped.
    function unpauseRequests() external;

    /// @notice Returns the fee of a request whose deadline has passed to the consumer's balance. Anybody may call.
    /// @dev Does not call the consumer; `statusOf` says `Refunded`.
    /// @param request_ as in the `Requested` event
    /// @param witness what the stored hash covers beside the request: `abi.encode(seedBlock)` while Requested,
    /// `abi.encode(attempt, committeeHash)` once Drawn
    function refund(Request calldata request_, bytes calldata witness) external;

    /// @notice Where a request stands.
    /// @param requestId any number; an unused one is `None`
    /// @return status see `Status`
    /// @return attempt the latest attempt, from 0
    /// @return callbackPending the callback failed and can be retried
    /// @return payCredited the escrow has been distributed
    function statusOf(
        RequestId requestId
    ) external view returns (Status status, uint32 attempt, bool callbackPending, bool payCredited);

    /// @notice How many requests were made; also the latest request id.
    /// @return the count
    function requestCount() external view returns (uint256);

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

    /// @notice No new requests are taken.
    /// @return true while they are stopped
    function requestsPaused() external view returns (bool);

    /// @notice Where committees are drawn and reputations kept.
    /// @return the registry
    function registry() external view returns (IAgentRegistry);

    /// @notice The token of fees and pay.
    /// @return the token
    function feeToken() external view returns (IERC20);

    /// @notice Bit i set = protocol i can be asked for.
    /// @return the bitmap
    function supportedProtocols() external view returns (uint256);

    /// @notice The smallest fee of a request.
    /// @return amount of the fee token, 0 if requests may be free
    function minFee() external view returns (uint96);
}
