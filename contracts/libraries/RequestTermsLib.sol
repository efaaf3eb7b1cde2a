// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {
    MAX_CALLBACK_GAS,
    MAX_COMMITTEE,
    MAX_DECIMALS,
    MAX_DURATION,
    MAX_OPTIONS,
    MIN_COMMITTEE,
    MIN_OPTIONS
} from "../types/Limits.sol";
import {RequestTerms, Terms} from "../types/Types.sol";

/// @title The terms of a request in one word
/// @dev All casts to a narrower type in the accessors cut the word to the member's width on purpose.
library RequestTermsLib {
    uint8 internal constant KIND_BOOLEAN = 0;
    uint8 internal constant KIND_CHOICE = 1;
    uint8 internal constant KIND_NUMBER = 2;
    uint8 internal constant KIND_TEXT = 3;
    uint8 internal constant KIND_POLICIES = 4;
    uint8 internal constant ASSURANCE_HIGH = 1;

    /// @notice Packs the terms; the inverse of `unpack`.
    function pack(Terms memory terms) internal pure returns (RequestTerms) {
        uint256 high =
            (uint256(terms.fee) << 160) | (uint256(terms.deadline) << 120) | (uint256(terms.tolerance) << 80);
        uint256 low =
            (uint256(terms.callbackGasLimit) << 48) |
                (uint256(terms.committeeSize) << 40) |
                (uint256(terms.assurance) << 32) |
                (uint256(terms.decimals) << 24) |
                (uint256(terms.options) << 16) |
                (uint256(terms.kind) << 8) |
                uint256(terms.protocol);
        return RequestTerms.wrap(high | low);
    }

    /// @notice Unpacks a word; every word is a packed `Terms`.
    function unpack(RequestTerms packed) internal pure returns (Terms memory terms) {
        uint256 word = RequestTerms.unwrap(packed);
        terms.fee = fee(packed);
        terms.deadline = deadline(packed);
        terms.tolerance = uint40(word >> 80);
        terms.callbackGasLimit = callbackGasLimit(packed);
        terms.committeeSize = committeeSize(packed);
        terms.assurance = uint8(word >> 32);
        terms.decimals = uint8(word >> 24);
        terms.options = options(packed);
        terms.kind = kind(packed);
        terms.protocol = uint8(word);
    }

    function fee(RequestTerms packed) internal pure returns (uint96) {
        return uint96(RequestTerms.unwrap(packed) >> 160);
    }

    function deadline(RequestTerms packed) internal pure returns (uint40) {
        return uint40(RequestTerms.unwrap(packed) >> 120);
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

    /// @notice Reverts unless the terms can be asked for now.
    /// @param packed the terms
    /// @param protocols bitmap of the supported protocols
    /// @param minFee the oracle's smallest fee
    function validate(RequestTerms packed, uint256 protocols, uint256 minFee) internal view {
        uint256 word = RequestTerms.unwrap(packed);
        // The fee is in the highest bits: the shift leaves nothing else.
        require(word >> 160 >= minFee, IDecisionOracle.InvalidTerms("fee", word >> 160));
        require((protocols >> uint8(word)) & 1 == 1, IDecisionOracle.UnknownProtocol(uint8(word)));
        uint256 due = deadline(packed);
        // Not an overflow: block.timestamp is far below 2^256 - 7 days.
        require(
            due > block.timestamp && due <= block.timestamp + MAX_DURATION,
            IDecisionOracle.InvalidTerms("deadline", due)
        );
        uint256 size = committeeSize(packed);
        require(size >= MIN_COMMITTEE && size <= MAX_COMMITTEE, IDecisionOracle.InvalidTerms("committeeSize", size));
        uint256 callbackGas = callbackGasLimit(packed);
        require(callbackGas <= MAX_CALLBACK_GAS, IDecisionOracle.InvalidTerms("callbackGasLimit", callbackGas));
        uint256 assurance = uint8(word >> 32);
        require(assurance <= ASSURANCE_HIGH, IDecisionOracle.InvalidTerms("assurance", assurance));
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
        uint256 tolerance = uint40(word >> 80);
        require(isNumber || tolerance == 0, IDecisionOracle.InvalidTerms("tolerance", tolerance));
    }
}
