// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {
    MAX_APPEALS,
    MAX_CALLBACK_GAS,
    MAX_COMMITTEE,
    MAX_DECIMALS,
    MAX_DELAY,
    MAX_DURATION,
    MAX_FINALITY,
    MAX_OPTIONS,
    MAX_REQUEST_SEATS,
    MAX_RETRIES,
    MIN_COMMITTEE,
    MIN_DURATION,
    MIN_OPTIONS,
    MIN_SECURED_APPEALS
} from "../types/Limits.sol";
import {Currency, RequestTerms, Terms} from "../types/Types.sol";
import {RoundLib} from "./RoundLib.sol";

/// @title The terms of a request in one word
/// @dev All casts to a narrower type in the accessors cut the word to the member's width on purpose.
library RequestTermsLib {
    uint8 internal constant KIND_BOOLEAN = 0;
    uint8 internal constant KIND_CHOICE = 1;
    uint8 internal constant KIND_NUMBER = 2;
    uint8 internal constant KIND_TEXT = 3;
    uint8 internal constant KIND_POLICIES = 4;
    uint8 internal constant ASSURANCE_HIGH = 1;
    uint8 internal constant SECURED = 1;
    uint8 internal constant REFUSED = 1;

    /// @notice Packs the terms; the inverse of `unpack`.
    /// @dev Cuts the members of four and of two bits to their width: pack only terms that `validate` accepts.
    function pack(Terms memory terms) internal pure returns (RequestTerms) {
        uint256 high =
            (uint256(terms.fee) << 176) |
                (uint256(terms.delay) << 152) |
                (uint256(terms.finality) << 144) |
                (uint256(terms.duration) << 120) |
                (uint256(terms.appeals & 0xf) << 116) |
                (uint256(terms.retries & 0xf) << 112) |
                (uint256(terms.tolerance) << 72);
        uint256 low =
            (uint256(terms.callbackGasLimit) << 48) |
                (uint256(terms.committeeSize) << 40) |
                (uint256(terms.assurance & 0x3) << 38) |
                (uint256(terms.nonAnswers & 0x3) << 36) |
                (uint256(terms.security & 0x3) << 34) |
                (uint256(terms.currency & 0x3) << 32) |
                (uint256(terms.decimals) << 24) |
                (uint256(terms.options) << 16) |
                (uint256(terms.kind) << 8) |
                uint256(terms.protocol);
        return RequestTerms.wrap(high | low);
    }

    /// @notice Unpacks a word. Every word is a packed `Terms`.
    function unpack(RequestTerms packed) internal pure returns (Terms memory terms) {
        uint256 word = RequestTerms.unwrap(packed);
        terms.fee = uint80(fee(packed));
        terms.delay = uint24(delay(packed));
        terms.finality = uint8(finality(packed));
        terms.duration = uint24(duration(packed));
        terms.appeals = uint8(appeals(packed));
        terms.retries = uint8(retries(packed));
        terms.tolerance = uint40(tolerance(packed));
        terms.callbackGasLimit = uint24(callbackGasLimit(packed));
        terms.committeeSize = uint8(committeeSize(packed));
        terms.assurance = uint8(word >> 38) & 0x3;
        terms.nonAnswers = uint8(nonAnswers(packed));
        terms.security = uint8(security(packed));
        terms.currency = uint8(word >> 32) & 0x3;
        terms.decimals = uint8(word >> 24);
        terms.options = uint8(options(packed));
        terms.kind = uint8(kind(packed));
        terms.protocol = uint8(word);
    }

    function fee(RequestTerms packed) internal pure returns (uint256) {
        return RequestTerms.unwrap(packed) >> 176;
    }

    function delay(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 152) & 0xffffff;
    }

    function finality(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 144) & 0xff;
    }

    function duration(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 120) & 0xffffff;
    }

    function appeals(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 116) & 0xf;
    }

    function retries(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 112) & 0xf;
    }

    function tolerance(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 72) & 0xffffffffff;
    }

    /// @dev Panics unless the terms are valid.
    function currency(RequestTerms packed) internal pure returns (Currency) {
        return Currency((RequestTerms.unwrap(packed) >> 32) & 0x3);
    }

    function security(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 34) & 0x3;
    }

    function nonAnswers(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 36) & 0x3;
    }

    function callbackGasLimit(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 48) & 0xffffff;
    }

    function committeeSize(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 40) & 0xff;
    }

    function options(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 16) & 0xff;
    }

    function kind(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 8) & 0xff;
    }

    function protocol(RequestTerms packed) internal pure returns (uint8) {
        return uint8(RequestTerms.unwrap(packed));
    }

    /// @notice Returns how many agents must be in the draw for a request with these terms: one for each seat of the first
    /// committee and of all that appeals can call (SE2).
    function agentsNeeded(RequestTerms packed) internal pure returns (uint256) {
        return RoundLib.seatsUpTo(committeeSize(packed), appeals(packed));
    }

    /// @notice Returns the most seats that all committees of a request can have together, with those of its retries.
    function mostSeats(RequestTerms packed) internal pure returns (uint256) {
        unchecked {
            // Even of terms that nobody has checked a committee has fewer than 2^24 seats.
            return agentsNeeded(packed) + retries(packed) * RoundLib.sizeAfter(committeeSize(packed), appeals(packed));
        }
    }

    /// @notice Reverts unless a request may have these terms. The price list checks the fee separately.
    /// @param packed the terms
    /// @param protocols bitmap of the supported protocols
    /// @param oneToken true if fees in tokens and stake are in the same token. Otherwise pay and stake cannot be compared, and nothing
    /// can be secured
    function validate(RequestTerms packed, uint256 protocols, bool oneToken) internal pure {
        uint256 word = RequestTerms.unwrap(packed);
        require((protocols >> uint8(word)) & 1 == 1, IDecisionOracle.UnknownProtocol(uint8(word)));
        uint256 seconds_ = duration(packed);
        _check(seconds_ >= MIN_DURATION && seconds_ <= MAX_DURATION, "duration", seconds_);
        uint256 retries_ = retries(packed);
        _check(retries_ <= MAX_RETRIES, "retries", retries_);
        uint256 appeals_ = appeals(packed);
        _check(appeals_ <= MAX_APPEALS && (appeals_ == 0 || kind(packed) != KIND_TEXT), "appeals", appeals_);
        uint256 finality_ = finality(packed);
        _check(finality_ <= MAX_FINALITY, "finality", finality_);
        uint256 size = committeeSize(packed);
        _check(size >= MIN_COMMITTEE && RoundLib.sizeAfter(size, appeals_) <= MAX_COMMITTEE, "committeeSize", size);
        uint256 seats = mostSeats(packed);
        _check(seats <= MAX_REQUEST_SEATS, "seats", seats);
        uint256 callbackGas = callbackGasLimit(packed);
        _check(callbackGas <= MAX_CALLBACK_GAS, "callbackGasLimit", callbackGas);
        uint256 assurance = (word >> 38) & 0x3;
        _check(assurance <= ASSURANCE_HIGH, "assurance", assurance);
        uint256 currency_ = (word >> 32) & 0x3;
        _check(currency_ <= uint256(type(Currency).max), "currency", currency_);
        uint256 security_ = security(packed);
        _check(
            security_ == 0 ||
                (security_ == SECURED &&
                    oneToken &&
                    currency_ == uint256(Currency.Token) &&
                    assurance == ASSURANCE_HIGH &&
                    appeals_ >= MIN_SECURED_APPEALS &&
                    finality_ == 0 &&
                    seconds_ * (2 * appeals_ + retries_ + 1) <= MAX_DURATION),
            "security",
            security_
        );
        _validateDelay(packed, retries_);
        _validateKind(packed, word);
    }

    /// @dev The wait is an attempt, so a committee after it is a retry.
    function _validateDelay(RequestTerms packed, uint256 retries_) private pure {
        uint256 delay_ = delay(packed);
        _check(delay_ == 0 || (delay_ <= MAX_DELAY && retries_ != 0), "delay", delay_);
    }

    function _validateKind(RequestTerms packed, uint256 word) private pure {
        uint256 nonAnswers_ = nonAnswers(packed);
        _check(nonAnswers_ <= REFUSED, "nonAnswers", nonAnswers_);
        uint256 kind_ = kind(packed);
        // Sets of policies agree in part, so no share shows who knew the answer (SC1).
        _check(kind_ <= (security(packed) == SECURED ? KIND_TEXT : KIND_POLICIES), "kind", kind_);
        uint256 options_ = options(packed);
        bool hasOptions = kind_ == KIND_CHOICE || kind_ == KIND_POLICIES;
        _check(hasOptions ? options_ >= MIN_OPTIONS && options_ <= MAX_OPTIONS : options_ == 0, "options", options_);
        bool isNumber = kind_ == KIND_NUMBER;
        uint256 decimals = uint8(word >> 24);
        _check(isNumber ? decimals <= MAX_DECIMALS : decimals == 0, "decimals", decimals);
        uint256 tolerance_ = tolerance(packed);
        _check(isNumber || tolerance_ == 0, "tolerance", tolerance_);
    }

    function _check(bool isValid, bytes32 field, uint256 value) private pure {
        require(isValid, IDecisionOracle.InvalidTerms(field, value));
    }
}
