// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {AccessManaged} from "@openzeppelin/contracts/access/manager/AccessManaged.sol";

import {Accounts} from "../Accounts.sol";
import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {IDecisionConsumer} from "../interfaces/IDecisionConsumer.sol";
import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {ISettlement} from "../interfaces/ISettlement.sol";
import {DecisionHeadLib} from "../libraries/DecisionHeadLib.sol";
import {PricesLib} from "../libraries/PricesLib.sol";
import {RequestIdLib} from "../libraries/RequestIdLib.sol";
import {RequestLib} from "../libraries/RequestLib.sol";
import {RequestState, RequestStateLib} from "../libraries/RequestState.sol";
import {RequestTermsLib} from "../libraries/RequestTermsLib.sol";
import {RoundLib} from "../libraries/RoundLib.sol";
import {
    APPEAL_REWARD_DIVISOR,
    CALLBACK_RESERVE_GAS,
    CANCEL_BLOCKS,
    CONFIDENCE_ONE,
    CONFIDENCE_PERCENT,
    DECIDED_UNITS,
    GAS_RATE_WEI,
    MAX_ANSWER_BYTES,
    MAX_QUESTION_BYTES,
    NO_SEED_BLOCK,
    PPM_ONE,
    SEED_DELAY,
    TOO_EARLY_WAIT
} from "../types/Limits.sol";
import {
    Currency,
    Decision,
    DecisionHead,
    HashedRound,
    Outcome,
    Payout,
    Prices,
    PriceTerms,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Seat,
    Seed,
    Status
} from "../types/Types.sol";
import {AnswerText} from "./AnswerText.sol";
import {MockFeeToken} from "./MockFeeToken.sol";

/// @title An oracle for unit tests of consumers: the test says how each request ends
/// @notice Give it to your consumer instead of the oracle, `subscribe` the consumer, and end a request with one call:
/// `decide`, `decideText`, `decideNonAnswer`, `hang`, `expire`, or `decideProvisionally` and then `overturn` or `passAppealPeriod`.
/// A request that waits need not wait here: the next committee answers at once. `failNextCallback` lets the next callback run out of gas, and `redeliver` repeats it.
/// @dev Subscriptions, allowances, prices, credits, terms, ids, `cancel` and the gas of callbacks are those of the oracle, and one
/// suite of tests runs on both. There are no agents, committees, certificates, deadlines or bonds: what only committees
/// and relayers call reverts with `NotMocked`. Everything is free until `setPrices`, which anybody may call here.
/// @dev Committees that answer cost what they cost at the oracle if the seats' shares are equal, and nobody is paid for gas. The rest of
/// the fee comes back when the request ends; at the oracle, that of a request with appeals comes back when somebody settles it.
/// @dev Warning: for tests only. Anybody can end any request.
contract MockDecisionOracle is Accounts, IDecisionOracle {
    using PricesLib for Prices;
    using RequestIdLib for RequestId;
    using RequestLib for Request;
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;

    /// @dev What the oracle keeps as a hash, and what its committees did.
    /// @param waits true while there is no committee (SE25)
    /// @param appeals how many larger committees were called
    /// @param cost what the committees so far cost the asker, in the smallest unit of the currency
    struct Entry {
        address consumer;
        RequestTerms terms;
        Round round;
        bool waits;
        uint8 appeals;
        uint256 cost;
        Result result;
    }

    /// @dev What the last committee said; the status is None before the first one.
    struct Result {
        Status status;
        bytes32 outcome;
        bytes answer;
        uint32 confidence;
    }

    /// @dev Every protocol is supported: none of them runs.
    uint256 private constant PROTOCOLS = type(uint256).max;
    /// @dev What a subscription of `subscribe` holds in tokens.
    uint256 private constant FUNDS = 2 ** 96;

    mapping(RequestId requestId => RequestState state) private _states;
    mapping(RequestId requestId => Entry entry) private _entries;
    mapping(RequestId requestId => Outcome outcome) private _outcomes;
    bool private _failsNext;

    /// @notice The mock has no agents, so it cannot do what only committees and relayers ask for.
    error NotMocked();
    /// @notice Nobody can appeal: the terms allow no appeal any more or set a finality, or the request asks again after a wait. Use
    /// `decide` or `decideNonAnswer`.
    error NotAppealable(RequestId requestId);
    /// @notice The decision is the one that it should overturn.
    error SameAnswer(RequestId requestId, bytes32 outcome);

    constructor()
        AccessManaged(address(this))
        Accounts(
            new MockFeeToken(),
            address(this),
            PriceTerms({unitPrice: 0, gasRate: 0, gasPriceCap: 0, treasuryPpm: 0}),
            PriceTerms({unitPrice: 0, gasRate: uint80(GAS_RATE_WEI), gasPriceCap: 0, treasuryPpm: 0})
        )
    {}

    /// @notice Creates a subscription with 2^96 units of the fee token and the coins that come with the call, and allows the
    /// consumer to spend any amount of it. The mock owns it.
    /// @return subscriptionId for the consumer's requests
    function subscribe(address consumer) external payable returns (uint48 subscriptionId) {
        subscriptionId = this.createSubscription();
        this.setConsumer(subscriptionId, consumer, type(uint104).max, type(uint104).max);
        this.fundNative{value: msg.value}(subscriptionId);
        MockFeeToken(address(feeToken)).mint(address(this), FUNDS);
        // `fund` takes tokens from an account outside. A refund adds what the mock holds already.
        _refund(subscriptionId, consumer, Currency.Token, FUNDS);
    }

    /// @notice A committee decides, and nobody appeals: the consumer gets the answer.
    /// @param value boolean: 1 or 0; choice: the index; number: in units of 10^-decimals; policies: bit i = policy i. For a
    /// text use `decideText`
    /// @param confidence parts per million. Below the finality of the terms, the larger committees say the same
    function decide(RequestId requestId, int256 value, uint32 confidence) external {
        Entry storage entry = _atWork(requestId);
        _judge(requestId, entry, _resultOf(entry.terms, value, confidence));
        _end(requestId, entry);
    }

    /// @notice A committee decides on a text.
    /// @param text UTF-8, at most 1024 bytes
    /// @param confidence parts per million
    function decideText(RequestId requestId, string calldata text, uint32 confidence) external {
        Entry storage entry = _atWork(requestId);
        bytes memory answer = bytes(text);
        require(
            entry.terms.kind() == RequestTermsLib.KIND_TEXT,
            InvalidDecision("outcome", uint256(keccak256(answer)))
        );
        require(answer.length <= MAX_ANSWER_BYTES, InvalidDecision("answer", answer.length));
        _requireConfidence(confidence);
        _judge(requestId, entry, Result(Status.Decided, keccak256(answer), answer, confidence));
        _end(requestId, entry);
    }

    /// @notice A committee finds that there is no answer, and nobody appeals: the consumer is told so. The terms must accept non-answers.
    /// @dev Where the committee finds that it is too early, nobody has appealed and two retries are left, the request waits a day instead
    /// and asks again (SE25). The next call answers for the next committee.
    /// @param status `Unanswerable` or `TooEarly`
    /// @param confidence parts per million
    function decideNonAnswer(RequestId requestId, Status status, uint32 confidence) external {
        Entry storage entry = _atWork(requestId);
        Result memory result = _nonAnswerOf(entry.terms, status, confidence);
        if (_asksAgain(requestId, entry, status)) {
            entry.result = result;
            _emitCommitted(requestId, entry, _states[requestId].attempt());
            _charge(requestId, entry, status, false);
            _reopen(requestId, entry, address(0), TOO_EARLY_WAIT);
        } else {
            _judge(requestId, entry, result);
            _end(requestId, entry);
        }
    }

    /// @notice A committee decides, and the decision waits for an appeal: nobody is told yet. Go on with `overturn` or
    /// `passAppealPeriod`.
    /// @dev The parameters are those of `decide`. The terms must have appeals, and no finality.
    function decideProvisionally(RequestId requestId, int256 value, uint32 confidence) external {
        Entry storage entry = _atWork(requestId);
        require(_isAppealable(entry), NotAppealable(requestId));
        _judge(requestId, entry, _resultOf(entry.terms, value, confidence));
    }

    /// @notice A committee finds that there is no answer, and this decision waits for an appeal, like one of `decideProvisionally`.
    /// @dev The parameters are those of `decideNonAnswer`.
    function decideNonAnswerProvisionally(RequestId requestId, Status status, uint32 confidence) external {
        Entry storage entry = _atWork(requestId);
        require(_isAppealable(entry) && !_asksAgain(requestId, entry, status), NotAppealable(requestId));
        _judge(requestId, entry, _nonAnswerOf(entry.terms, status, confidence));
    }

    /// @notice Somebody appeals against a provisional decision, and the larger committee gives another answer, which the
    /// consumer gets.
    /// @dev The parameters are those of `decide`.
    function overturn(RequestId requestId, int256 value, uint32 confidence) external {
        Entry storage entry = _provisional(requestId);
        _overturn(requestId, entry, _resultOf(entry.terms, value, confidence));
    }

    /// @notice Somebody appeals against a provisional decision, and the larger committee finds that there is no answer, or another reason
    /// for it.
    /// @dev The parameters are those of `decideNonAnswer`.
    function overturnByNonAnswer(RequestId requestId, Status status, uint32 confidence) external {
        Entry storage entry = _provisional(requestId);
        _overturn(requestId, entry, _nonAnswerOf(entry.terms, status, confidence));
    }

    /// @notice Nobody appeals against a provisional decision in time: the consumer gets it.
    function passAppealPeriod(RequestId requestId) external {
        _end(requestId, _provisional(requestId));
    }

    /// @notice All committees that retries allow find no consensus, and nobody appeals: the consumer is told `Hung`.
    function hang(RequestId requestId) external {
        Entry storage entry = _atWork(requestId);
        while (_hasRetries(requestId, entry, 1)) {
            _charge(requestId, entry, Status.Hung, false);
            _reopen(requestId, entry, address(0), 0);
        }
        _judge(requestId, entry, Result(Status.Hung, 0, "", 0));
        _end(requestId, entry);
    }

    /// @notice No committee answers in time, with all retries: the fee comes back, and the consumer is told `Refunded`. After a committee
    /// that was too early it is told `Hung`, and that committee is paid (SE8).
    function expire(RequestId requestId) external {
        Entry storage entry = _running(requestId);
        while (_hasRetries(requestId, entry, 1)) _reopen(requestId, entry, address(0), 0);
        if (entry.result.status == Status.None) {
            _giveBack(requestId, entry);
            if (!_call(requestId, entry, Result(Status.Refunded, 0, "", 0))) emit RefundCallbackFailed(requestId);
        } else {
            uint32 attempt = _states[requestId].attempt();
            _states[requestId] = RequestStateLib.make(Status.Hung, attempt, 0);
            entry.result = Result(Status.Hung, 0, "", 0);
            emit AttemptUnanswered(requestId, attempt, address(0), 0);
            _close(requestId, entry);
        }
    }

    /// @notice The next callback runs out of gas, whatever its limit.
    function failNextCallback() external {
        _failsNext = true;
    }

    /// @notice Repeats a callback that failed, as anybody can by the oracle's `retryCallback`; reverts if it fails again.
    function redeliver(RequestId requestId) external {
        RequestState state = _states[requestId];
        require(state.has(RequestStateLib.CALLBACK_PENDING), CallbackNotPending(requestId));
        _states[requestId] = state.clear(RequestStateLib.CALLBACK_PENDING);
        emit CallbackSucceeded(requestId);
        Entry storage entry = _entries[requestId];
        require(_call(requestId, entry, entry.result), CallbackStillFails(requestId));
    }

    /// @notice Stores a final outcome for contracts that read `ISettlement(oracle.settlement()).storedOutcome(requestId)`, as anybody can
    /// by the settlement's `storeOutcome`.
    function storeOutcome(RequestId requestId) external {
        RequestState state = _decided(requestId);
        Status status = state.status();
        require(!state.has(RequestStateLib.PROVISIONAL), DecisionIsProvisional(requestId));
        Result storage result = _entries[requestId].result;
        Outcome memory outcome = Outcome(status, state.attempt(), result.confidence, result.outcome);
        _outcomes[requestId] = outcome;
        emit ISettlement.OutcomeStored(requestId, status, outcome.attempt, outcome.confidence, outcome.value);
    }

    /// @inheritdoc IDecisionOracle
    function request(
        uint48 subscriptionId,
        RequestTerms terms,
        bytes calldata question
    ) external payable returns (RequestId requestId) {
        require(question.length != 0, QuestionIsEmpty());
        require(question.length <= MAX_QUESTION_BYTES, QuestionTooLong(question.length, MAX_QUESTION_BYTES));
        terms.validate(PROTOCOLS, true);
        (uint16 priceVersion, uint48 count) = _escrow(subscriptionId, terms);
        requestId = RequestIdLib.pack(priceVersion, subscriptionId, count);
        Entry storage entry = _entries[requestId];
        (entry.consumer, entry.terms) = (msg.sender, terms);
        (Round round, uint64 seedBlock) = _begin(entry, terms.delay());
        bytes32 requestHash = RequestLib.hash(requestId, msg.sender, terms, keccak256(question));
        _states[requestId] = RequestStateLib.make(
            Status.Requested,
            0,
            RequestLib.requestedCommitment(requestHash, round, seedBlock)
        );
        emit Requested(requestId, msg.sender, terms, round, seedBlock, question);
    }

    /// @inheritdoc IDecisionOracle
    function cancel(Request calldata request_, Round round, uint64 seedBlock) external {
        RequestId requestId = request_.id;
        require(msg.sender == request_.consumer, NotConsumerOf(requestId, msg.sender));
        Entry storage entry = _running(requestId);
        RequestState state = _states[requestId];
        // Later attempts have no commitment here.
        require(state.attempt() == 0, TooLateToCancel(requestId, state.attempt(), seedBlock));
        bytes32 commitment = RequestLib.requestedCommitment(request_.hash(), round, seedBlock);
        RequestLib.requireMatch(requestId, state.covers(commitment));
        require(block.number + CANCEL_BLOCKS <= seedBlock, TooLateToCancel(requestId, 0, seedBlock));
        emit RequestCancelled(requestId);
        _giveBack(requestId, entry);
    }

    /// @inheritdoc IDecisionOracle
    function statusOf(
        RequestId requestId
    ) external view returns (Status status, uint32 attempt, bool provisional, bool callbackPending, bool settled) {
        RequestState state = _states[requestId];
        return (
            state.status(),
            state.attempt(),
            state.has(RequestStateLib.PROVISIONAL),
            state.has(RequestStateLib.CALLBACK_PENDING),
            state.has(RequestStateLib.SETTLED)
        );
    }

    /// @inheritdoc IDecisionOracle
    function stateOf(RequestId requestId) external view returns (RequestState) {
        return _states[requestId];
    }

    /// @notice The outcome that `storeOutcome` stored, see `ISettlement.storedOutcome`.
    function storedOutcome(RequestId requestId) external view returns (Outcome memory) {
        return _outcomes[requestId];
    }

    /// @inheritdoc IDecisionOracle
    function settlement() external view returns (address) {
        return address(this);
    }

    /// @inheritdoc IDecisionOracle
    function supportedProtocols() external pure returns (uint256) {
        return PROTOCOLS;
    }

    /// @notice Says as an access manager that everybody may set prices and pause requests.
    function canCall(address, address, bytes4) external pure returns (bool allowed, uint32 delay) {
        return (true, 0);
    }

    /// @inheritdoc IDecisionOracle
    function commit(Request calldata, Round, Seed calldata, bytes calldata, Decision calldata) external pure {
        revert NotMocked();
    }

    /// @inheritdoc IDecisionOracle
    function appeal(Request calldata, Round, bytes32, Decision calldata, Relay) external payable {
        revert NotMocked();
    }

    /// @inheritdoc IDecisionOracle
    function finalize(Request calldata, Round, bytes32, Decision calldata, Relay) external pure {
        revert NotMocked();
    }

    /// @inheritdoc IDecisionOracle
    function retryCallback(Request calldata, Round, bytes32, Decision calldata, Relay) external pure {
        revert NotMocked();
    }

    /// @inheritdoc IDecisionOracle
    function payOut(RequestId, bytes32, Payout calldata) external pure {
        revert NotMocked();
    }

    /// @inheritdoc IDecisionOracle
    function tryMulticall(bytes[] calldata) external pure {
        revert NotMocked();
    }

    /// @inheritdoc IDecisionOracle
    function replace(Request calldata, Round, uint64) external pure {
        revert NotMocked();
    }

    /// @inheritdoc IDecisionOracle
    function refund(Request calldata, Round, uint64) external pure {
        revert NotMocked();
    }

    /// @inheritdoc IDecisionOracle
    function fallBack(Request calldata, Round, uint64, HashedRound calldata) external pure {
        revert NotMocked();
    }

    /// @inheritdoc IDecisionOracle
    function registry() external pure returns (IAgentRegistry) {
        revert NotMocked();
    }

    /// @dev Records what a committee said, which is provisional if anybody can appeal. Where the confidence stays below the finality
    /// of the terms, each larger committee says the same (SE24).
    function _judge(RequestId requestId, Entry storage entry, Result memory result) private {
        entry.result = result;
        uint256 finality = entry.terms.finality();
        if (finality != 0 && (result.status == Status.Hung || result.confidence < finality * CONFIDENCE_PERCENT)) {
            for (uint256 left = entry.terms.appeals(); left > 0; --left) {
                _charge(requestId, entry, result.status, false);
                _callLarger(requestId, entry, address(0));
            }
        }
        RequestState state = RequestStateLib.make(result.status, _states[requestId].attempt(), 0);
        _states[requestId] = state;
        _emitCommitted(requestId, entry, state.attempt());
        if (_isAppealable(entry)) {
            _states[requestId] = state.set(RequestStateLib.PROVISIONAL);
            emit DecisionProvisional(requestId, entry.round);
        }
    }

    /// @dev Lets the committee of an appeal give another result than the provisional one.
    function _overturn(RequestId requestId, Entry storage entry, Result memory result) private {
        Result storage wrong = entry.result;
        bool isOther = result.status != wrong.status || result.outcome != wrong.outcome;
        require(isOther, SameAnswer(requestId, result.outcome));
        _charge(requestId, entry, wrong.status, true);
        _callLarger(requestId, entry, msg.sender);
        _judge(requestId, entry, result);
        _end(requestId, entry);
    }

    /// @dev Pays the last committee, and makes its result final.
    function _end(RequestId requestId, Entry storage entry) private {
        _charge(requestId, entry, entry.result.status, false);
        _close(requestId, entry);
    }

    /// @dev Makes the last result final. Every request ends here, unless its fee is given back.
    function _close(RequestId requestId, Entry storage entry) private {
        RequestState state = _states[requestId];
        if (state.has(RequestStateLib.PROVISIONAL)) emit DecisionFinalized(requestId, state.attempt());
        _states[requestId] = state.clear(RequestStateLib.PROVISIONAL).set(RequestStateLib.SETTLED);
        _return(requestId, entry, entry.terms.fee() - entry.cost);
        if (_call(requestId, entry, entry.result)) return;
        // A failed call reverted all its changes.
        _states[requestId] = _states[requestId].set(RequestStateLib.CALLBACK_PENDING);
        emit CallbackFailed(requestId);
    }

    /// @dev Ends a request without a decision.
    function _giveBack(RequestId requestId, Entry storage entry) private {
        uint32 attempt = _states[requestId].attempt();
        _states[requestId] = RequestStateLib.make(Status.Refunded, attempt, 0).set(RequestStateLib.SETTLED);
        emit RequestRefunded(requestId);
        _return(requestId, entry, entry.terms.fee());
    }

    function _return(RequestId requestId, Entry storage entry, uint256 amount) private {
        emit FeeRefunded(requestId, entry.consumer, amount);
        _refund(requestId.subscription(), entry.consumer, entry.terms.currency(), amount);
    }

    /// @dev Calls the consumer back as `CallbackLib` does: with exactly its gas, and without copying what it returns.
    function _call(RequestId requestId, Entry storage entry, Result memory result) private returns (bool success) {
        uint256 limit = entry.terms.callbackGasLimit();
        if (limit == 0) return true;
        uint256 required = (limit * 64) / 63 + 1 + CALLBACK_RESERVE_GAS;
        bytes memory data = abi.encodeCall(
            IDecisionConsumer.onDecision,
            (requestId, result.status, result.outcome, result.answer, result.confidence)
        );
        address consumer = entry.consumer;
        if (_failsNext) (_failsNext, limit) = (false, 0);
        uint256 available = gasleft();
        require(available >= required, InsufficientCallbackGas(available, required));
        assembly ("memory-safe") {
            if extcodesize(consumer) {
                success := call(limit, consumer, 0, add(data, 0x20), mload(data), 0, 0)
            }
        }
    }

    function _callLarger(RequestId requestId, Entry storage entry, address appellant) private {
        ++entry.appeals;
        _reopen(requestId, entry, appellant, 0);
    }

    function _reopen(RequestId requestId, Entry storage entry, address appellant, uint256 wait) private {
        uint32 attempt = _states[requestId].attempt() + 1;
        _states[requestId] = RequestStateLib.make(Status.Requested, attempt, 0);
        (Round round, uint64 seedBlock) = _begin(entry, wait);
        emit RequestReopened(requestId, attempt, round, seedBlock, appellant, 0);
    }

    /// @dev Begins an attempt, which has no committee if it is a wait (SE25).
    /// @param wait seconds, or 0
    function _begin(Entry storage entry, uint256 wait) private returns (Round round, uint64 seedBlock) {
        bool waits = wait != 0;
        seedBlock = waits ? NO_SEED_BLOCK : uint64(block.number + SEED_DELAY);
        round = RoundLib.pack(0, entry.appeals, block.timestamp + (waits ? wait : entry.terms.duration()));
        (entry.waits, entry.round) = (waits, round);
    }

    /// @dev Charges what a committee earns: the treasury's part, and as much for each seat (SE10, SE11). From the pay of an
    /// overturned committee the appellant gets a part instead (SE12).
    function _charge(RequestId requestId, Entry storage entry, Status status, bool overturned) private {
        RequestTerms terms = entry.terms;
        Prices prices = priceListOf(terms.currency(), requestId.priceVersion());
        uint256 size = RoundLib.sizeAfter(terms.committeeSize(), entry.appeals);
        uint256 unit = entry.appeals == 0 ? prices.unitOf(terms) : prices.appealUnitOf(terms);
        uint256 pay = unit * size * (status == Status.Hung ? 1 : DECIDED_UNITS);
        uint256 treasuryPay = (pay * prices.treasuryPpm()) / PPM_ONE;
        pay -= treasuryPay;
        entry.cost += treasuryPay + (overturned ? pay / APPEAL_REWARD_DIVISOR : (pay / size) * size);
    }

    function _emitCommitted(RequestId requestId, Entry storage entry, uint32 attempt) private {
        Result memory result = entry.result;
        // There are at most six attempts after the first.
        DecisionHead head = DecisionHeadLib.pack(result.status, uint8(attempt), 0, 0, result.confidence, 0, 0);
        emit DecisionCommitted(requestId, head, result.outcome, 0, Relay.wrap(0), new Seat[](0), result.answer, "");
    }

    function _running(RequestId requestId) private view returns (Entry storage) {
        Status status = _states[requestId].status();
        require(status == Status.Requested, WrongStatus(requestId, status));
        return _entries[requestId];
    }

    /// @dev Returns a request with a committee. One that waits calls a committee, as `replace` does after the wait.
    function _atWork(RequestId requestId) private returns (Entry storage entry) {
        entry = _running(requestId);
        if (entry.waits) _reopen(requestId, entry, address(0), 0);
    }

    function _provisional(RequestId requestId) private view returns (Entry storage) {
        RequestState state = _decided(requestId);
        require(state.has(RequestStateLib.PROVISIONAL), DecisionIsFinal(requestId));
        return _entries[requestId];
    }

    function _decided(RequestId requestId) private view returns (RequestState state) {
        state = _states[requestId];
        Status status = state.status();
        require(status > Status.Requested && status < Status.Refunded, WrongStatus(requestId, status));
    }

    /// @dev True if the request waits after this result and asks again (SE25): the wait takes a retry, and so does the committee after it.
    /// Nobody has appealed: the result of a committee that an appeal called ends its request at once.
    function _asksAgain(RequestId requestId, Entry storage entry, Status status) private view returns (bool) {
        return status == Status.TooEarly && _hasRetries(requestId, entry, 2);
    }

    /// @dev True if the terms allow so many more retries.
    function _hasRetries(RequestId requestId, Entry storage entry, uint256 count) private view returns (bool) {
        return entry.round.hasRetry(entry.terms.retries(), _states[requestId].attempt() + count - 1);
    }

    /// @dev True if anybody could appeal against what the committee says.
    function _isAppealable(Entry storage entry) private view returns (bool) {
        return entry.terms.finality() == 0 && entry.appeals < entry.terms.appeals();
    }

    /// @dev Refuses what `DecisionLib` refuses.
    function _resultOf(
        RequestTerms terms,
        int256 value,
        uint32 confidence
    ) private pure returns (Result memory result) {
        uint256 kind = terms.kind();
        uint256 outcome = uint256(value);
        bool fits = kind == RequestTermsLib.KIND_NUMBER;
        if (kind == RequestTermsLib.KIND_BOOLEAN) fits = outcome <= 1;
        else if (kind == RequestTermsLib.KIND_CHOICE) fits = outcome < terms.options();
        else if (kind == RequestTermsLib.KIND_POLICIES) fits = outcome != 0 && outcome >> terms.options() == 0;
        require(fits, InvalidDecision("outcome", outcome));
        _requireConfidence(confidence);
        return Result(Status.Decided, bytes32(outcome), AnswerText.textOf(value, terms.unpack()), confidence);
    }

    /// @dev Refuses what `DecisionLib` refuses.
    function _nonAnswerOf(
        RequestTerms terms,
        Status status,
        uint32 confidence
    ) private pure returns (Result memory result) {
        bool fits = (status == Status.Unanswerable || status == Status.TooEarly) && terms.nonAnswers() == 0;
        require(fits, InvalidDecision("status", uint256(status)));
        _requireConfidence(confidence);
        // Reality.eth's constants, the two highest words.
        uint256 outcome = type(uint256).max - (uint256(status) - uint256(Status.Unanswerable));
        return Result(status, bytes32(outcome), "", confidence);
    }

    function _requireConfidence(uint32 confidence) private pure {
        require(confidence <= CONFIDENCE_ONE, InvalidDecision("confidence", confidence));
    }
}
