// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

import {IDecisionOracle} from "../../interfaces/IDecisionOracle.sol";
import {RequestTermsLib} from "../../libraries/RequestTermsLib.sol";
import {Currency, Request, RequestId, Round, Status, Terms} from "../../types/Types.sol";
import {DecisionConsumer} from "../DecisionConsumer.sol";

/// @title An example: a desk that asks questions and keeps the decisions
/// @notice The owner asks questions of every kind, and a subscription pays for them. The subscription's owner allows
/// the desk with `oracle.setConsumer(subscriptionId, desk, tokens, coins)`. The desk keeps the outcomes by request id.
contract PolicyDesk is DecisionConsumer, Ownable {
    /// @param subscriptionId the subscription that pays, in tokens
    /// @param fee fee of each question, in the smallest unit of the fee token
    /// @param duration seconds that a committee has
    /// @param appeals see `Terms`; questions for a text have no appeals
    /// @param retries see `Terms`
    /// @param callbackGasLimit gas for `onDecision`
    /// @param committeeSize number of seats
    /// @param assurance see `Terms`
    /// @param protocol see `Terms`
    struct Settings {
        uint48 subscriptionId;
        uint80 fee;
        uint24 duration;
        uint8 appeals;
        uint8 retries;
        uint24 callbackGasLimit;
        uint8 committeeSize;
        uint8 assurance;
        uint8 protocol;
    }

    /// @param status `None` until the question has ended, and after it was cancelled
    /// @param confidence parts per million
    /// @param value see `Decision.outcome`
    struct Outcome {
        Status status;
        uint32 confidence;
        bytes32 value;
    }

    /// @notice The settings of every question.
    Settings public settings;
    /// @notice The answer to each request.
    mapping(RequestId requestId => Outcome outcome) public outcomes;

    /// @notice The desk asked a question.
    event Asked(RequestId indexed requestId, uint8 indexed kind, string question);
    /// @notice A committee decided a question.
    event Answered(RequestId indexed requestId, bytes32 value, bytes answer, uint32 confidence);
    /// @notice A question ended without an answer: its committee found no consensus (`Hung`), or nobody decided in time
    /// and its fee is back (`Refunded`).
    event Unanswered(RequestId indexed requestId, Status indexed status);
    /// @notice The next questions have new settings.
    event SettingsChanged(Settings settings);

    error NotDecided(RequestId requestId, Status status);

    /// @param oracle_ the oracle that the desk asks and trusts to deliver
    /// @param owner_ the account that asks and changes the settings
    /// @param settings_ the settings of every question
    constructor(
        IDecisionOracle oracle_,
        address owner_,
        Settings memory settings_
    ) DecisionConsumer(oracle_) Ownable(owner_) {
        settings = settings_;
        emit SettingsChanged(settings_);
    }

    /// @notice Changes the settings of the next questions.
    function setSettings(Settings calldata settings_) external onlyOwner {
        settings = settings_;
        emit SettingsChanged(settings_);
    }

    /// @notice Asks a yes-or-no question.
    function askBoolean(string calldata question) external onlyOwner returns (RequestId requestId) {
        return _askAs(RequestTermsLib.KIND_BOOLEAN, 0, 0, 0, question);
    }

    /// @notice Asks for one of `options` options, which the question lists.
    function askChoice(string calldata question, uint8 options) external onlyOwner returns (RequestId requestId) {
        return _askAs(RequestTermsLib.KIND_CHOICE, options, 0, 0, question);
    }

    /// @notice Asks for a number; answers within `tolerance` units of 10^-decimals agree.
    function askNumber(
        string calldata question,
        uint8 decimals,
        uint40 tolerance
    ) external onlyOwner returns (RequestId requestId) {
        return _askAs(RequestTermsLib.KIND_NUMBER, 0, decimals, tolerance, question);
    }

    /// @notice Asks for a text.
    function askText(string calldata question) external onlyOwner returns (RequestId requestId) {
        return _askAs(RequestTermsLib.KIND_TEXT, 0, 0, 0, question);
    }

    /// @notice Asks which of `options` policies to adopt. The committee adopts at least one; the question lists them.
    function askPolicies(string calldata question, uint8 options) external onlyOwner returns (RequestId requestId) {
        return _askAs(RequestTermsLib.KIND_POLICIES, options, 0, 0, question);
    }

    /// @notice Takes a question back, with its whole fee, while nobody can know its committee. The parameters are those
    /// of the oracle's event `Requested`.
    function cancel(Request calldata request, Round round, uint64 seedBlock) external onlyOwner {
        _cancel(request, round, seedBlock);
    }

    /// @notice Returns the answer to a yes-or-no question; reverts unless it was decided.
    function isYes(RequestId requestId) external view returns (bool) {
        return uint256(_decided(requestId)) == 1;
    }

    /// @notice Returns the index of the chosen option; reverts unless the question was decided.
    function choiceOf(RequestId requestId) external view returns (uint256) {
        return uint256(_decided(requestId));
    }

    /// @notice Returns the number, in units of 10^-decimals; reverts unless the question was decided.
    function numberOf(RequestId requestId) external view returns (int256) {
        // The outcome of a number is its two's complement.
        return int256(uint256(_decided(requestId)));
    }

    /// @notice Returns the keccak256 of the text, which the event `Answered` holds; reverts unless the question was
    /// decided.
    function textHashOf(RequestId requestId) external view returns (bytes32) {
        return _decided(requestId);
    }

    /// @notice Returns the adopted policies, bit i set = policy i, where policy A has bit 0; reverts unless the
    /// question was decided.
    function policiesOf(RequestId requestId) external view returns (uint256) {
        return uint256(_decided(requestId));
    }

    /// @dev Only stores the answer: do anything that can fail in a later transaction.
    function _onDecision(
        RequestId requestId,
        bytes32 outcome,
        bytes calldata answer,
        uint32 confidence
    ) internal override {
        outcomes[requestId] = Outcome({status: Status.Decided, confidence: confidence, value: outcome});
        emit Answered(requestId, outcome, answer, confidence);
    }

    /// @dev Only notes how it ended: the owner may ask again.
    function _onNoDecision(RequestId requestId, Status status) internal override {
        outcomes[requestId].status = status;
        emit Unanswered(requestId, status);
    }

    function _askAs(
        uint8 kind,
        uint8 options,
        uint8 decimals,
        uint40 tolerance,
        string calldata question
    ) private returns (RequestId requestId) {
        Settings memory current = settings;
        // slither-disable-next-line uninitialized-local: what is not named is 0, the default of every other term
        Terms memory terms;
        terms.fee = current.fee;
        terms.duration = current.duration;
        terms.appeals = kind == RequestTermsLib.KIND_TEXT ? 0 : current.appeals;
        terms.retries = current.retries;
        terms.tolerance = tolerance;
        terms.callbackGasLimit = current.callbackGasLimit;
        terms.committeeSize = current.committeeSize;
        terms.assurance = current.assurance;
        terms.currency = uint8(Currency.Token);
        terms.decimals = decimals;
        terms.options = options;
        terms.kind = kind;
        terms.protocol = current.protocol;
        requestId = _ask(current.subscriptionId, terms, bytes(question));
        emit Asked(requestId, kind, question);
    }

    function _decided(RequestId requestId) private view returns (bytes32) {
        Outcome memory outcome = outcomes[requestId];
        require(outcome.status == Status.Decided, NotDecided(requestId, outcome.status));
        return outcome.value;
    }
}
