// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {
    MAX_APPEALS,
    MAX_CALLBACK_GAS,
    MAX_COMMITTEE,
    MAX_DECIMALS,
    MAX_DURATION,
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

    /// @notice Packs the terms; the inverse of `unpack`.
    /// @dev Cuts the members of four and of two bits to their width: pack only terms that `validate` accepts.
    function pack(Terms memory terms) internal pure returns (RequestTerms) {
        uint256 high =
            (uint256(terms.fee) << 160) |
                (uint256(terms.duration) << 128) |
                (uint256(terms.appeals & 0xf) << 124) |
                (uint256(terms.retries & 0xf) << 120) |
                (uint256(terms.tolerance) << 80);
        uint256 low =
            (uint256(terms.callbackGasLimit) << 48) |
                (uint256(terms.committeeSize) << 40) |
                (uint256(terms.assurance & 0xf) << 36) |
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
        terms.fee = fee(packed);
        terms.duration = duration(packed);
        terms.appeals = uint8(appeals(packed));
        terms.retries = uint8(retries(packed));
        terms.tolerance = tolerance(packed);
        terms.callbackGasLimit = callbackGasLimit(packed);
        terms.committeeSize = committeeSize(packed);
        terms.assurance = uint8(word >> 36) & 0xf;
        terms.security = uint8(security(packed));
        terms.currency = uint8(word >> 32) & 0x3;
        terms.decimals = uint8(word >> 24);
        terms.options = options(packed);
        terms.kind = kind(packed);
        terms.protocol = uint8(word);
    }

    function fee(RequestTerms packed) internal pure returns (uint96) {
        return uint96(RequestTerms.unwrap(packed) >> 160);
    }

    function duration(RequestTerms packed) internal pure returns (uint32) {
        return uint32(RequestTerms.unwrap(packed) >> 128);
    }

    function appeals(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 124) & 0xf;
    }

    function retries(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 120) & 0xf;
    }

    function tolerance(RequestTerms packed) internal pure returns (uint40) {
        return uint40(RequestTerms.unwrap(packed) >> 80);
    }

    /// @dev Panics unless the terms are valid.
    function currency(RequestTerms packed) internal pure returns (Currency) {
        return Currency((RequestTerms.unwrap(packed) >> 32) & 0x3);
    }

    function security(RequestTerms packed) internal pure returns (uint256) {
        return (RequestTerms.unwrap(packed) >> 34) & 0x3;
    }

    function callbackGasLimit(RequestTerms packed) internal pure returns (uint32) {
        return uint32(RequestTerms.unwrap(packed) >> 48);
    }

    function committeeSize(RequestTerms packed) internal pure returns (uint8) {
        return uint8(RequestTerms.unwrap(packed) >> 40);
    }

    function options(RequestTerms packed) internal pure returns (uint8) {
        return uint8(RequestTerms.unwrap(packed) >> 16);
    }

    function kind(RequestTerms packed) internal pure returns (uint8) {
        return uint8(RequestTerms.unwrap(packed) >> 8);
    }

    function protocol(RequestTerms packed) internal pure returns (uint8) {
        return uint8(RequestTerms.unwrap(packed));
    }

    /// @notice Returns how many agents must be in the draw for a request with these terms: one for each seat of the first
    /// committee and of all that appeals can call (SE2).
    function agentsNeeded(RequestTerms packed) internal pure returns (uint256) {
        return RoundLib.seatsUpTo(committeeSize(packed), appeals(packed));
    }

    /// @notice Reverts unless a request may have these terms. The price list checks the fee separately.
    /// @param packed the terms
    /// @param protocols bitmap of the supported protocols
    function validate(RequestTerms packed, uint256 protocols) internal pure {
        uint256 word = RequestTerms.unwrap(packed);
        require((protocols >> uint8(word)) & 1 == 1, IDecisionOracle.UnknownProtocol(uint8(word)));
        uint256 seconds_ = duration(packed);
        require(
            seconds_ >= MIN_DURATION && seconds_ <= MAX_DURATION,
            IDecisionOracle.InvalidTerms("duration", seconds_)
        );
        uint256 retries_ = retries(packed);
        require(retries_ <= MAX_RETRIES, IDecisionOracle.InvalidTerms("retries", retries_));
        uint256 appeals_ = appeals(packed);
        require(
            appeals_ <= MAX_APPEALS && (appeals_ == 0 || kind(packed) != KIND_TEXT),
            IDecisionOracle.InvalidTerms("appeals", appeals_)
        );
        uint256 size = committeeSize(packed);
        require(
            size >= MIN_COMMITTEE && RoundLib.sizeAfter(size, appeals_) <= MAX_COMMITTEE,
            IDecisionOracle.InvalidTerms("committeeSize", size)
        );
        uint256 seats;
        unchecked {
            // The terms have at most 3 retries and 64 seats in the last committee.
            seats = RoundLib.seatsUpTo(size, appeals_) + retries_ * RoundLib.sizeAfter(size, appeals_);
        }
        require(seats <= MAX_REQUEST_SEATS, IDecisionOracle.InvalidTerms("seats", seats));
        uint256 callbackGas = callbackGasLimit(packed);
        require(callbackGas <= MAX_CALLBACK_GAS, IDecisionOracle.InvalidTerms("callbackGasLimit", callbackGas));
        uint256 assurance = (word >> 36) & 0xf;
        require(assurance <= ASSURANCE_HIGH, IDecisionOracle.InvalidTerms("assurance", assurance));
        uint256 security_ = security(packed);
        require(
            security_ == 0 ||
                (security_ == SECURED &&
                    appeals_ >= MIN_SECURED_APPEALS &&
                    seconds_ * (2 * appeals_ + retries_ + 1) <= MAX_DURATION),
            IDecisionOracle.InvalidTerms("security", security_)
        );
        uint256 currency_ = (word >> 32) & 0x3;
        require(currency_ <= uint256(type(Currency).max), IDecisionOracle.InvalidTerms("currency", currency_));
        _validateKind(packed, word);
    }

    function _validateKind(RequestTerms packed, uint256 word) private pure {
        uint256 kind_ = kind(packed);
        require(kind_ <= KIND_POLICIES, IDecisionOracle.InvalidTerms("kind", kind_));
        uint256 options_ = options(packed);
        bool hasOptions = kind_ == KIND_CHOICE || kind_ == KIND_POLICIES;
        require(
            hasOptions ? options_ >= MIN_OPTIONS && options_ <= MAX_OPTIONS : options_ == 0,
            IDecisionOracle.InvalidTerms("options", options_)
        );
        bool isNumber = kind_ == KIND_NUMBER;
        uint256 decimals = uint8(word >> 24);
        require(
            isNumber ? decimals <= MAX_DECIMALS : decimals == 0,
            IDecisionOracle.InvalidTerms("decimals", decimals)
        );
        uint256 tolerance_ = tolerance(packed);
        require(isNumber || tolerance_ == 0, IDecisionOracle.InvalidTerms("tolerance", tolerance_));
    }
}
