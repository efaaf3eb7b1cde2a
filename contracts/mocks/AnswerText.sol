// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";

import {RequestTermsLib} from "../libraries/RequestTermsLib.sol";
import {Terms} from "../types/Types.sol";

/// @title The canonical text of an answer, for `MockDecisionOracle` (EQ4 of docs/spec/answers.md)
library AnswerText {
    /// @notice Returns the text of an outcome that fits the terms: yes or no, a letter, a decimal, or letters with commas.
    /// @dev The outcome of a text is a hash, which has no text.
    function textOf(int256 outcome, Terms memory terms) internal pure returns (bytes memory) {
        if (terms.kind == RequestTermsLib.KIND_BOOLEAN) return outcome == 1 ? bytes("yes") : bytes("no");
        if (terms.kind == RequestTermsLib.KIND_CHOICE) return bytes.concat(_letter(uint256(outcome)));
        if (terms.kind == RequestTermsLib.KIND_NUMBER) return _decimal(outcome, terms.decimals);
        return _letters(uint256(outcome), terms.options);
    }

    /// @dev Writes units of 10^-decimals without trailing zeros.
    function _decimal(int256 value, uint256 decimals) private pure returns (bytes memory text) {
        bool negative = value < 0;
        uint256 units;
        unchecked {
            // The negative of the least int256 wraps around to itself, whose uint256 is its magnitude.
            units = uint256(negative ? -value : value);
        }
        while (decimals > 0 && units % 10 == 0) {
            units /= 10;
            --decimals;
        }
        text = bytes(Strings.toString(units / 10 ** decimals));
        if (decimals > 0) {
            // The digit 1 before the fraction keeps its leading zeros, and becomes the point.
            bytes memory fraction = bytes(Strings.toString(10 ** decimals + (units % 10 ** decimals)));
            fraction[0] = ".";
            text = bytes.concat(text, fraction);
        }
        if (negative) text = bytes.concat("-", text);
    }

    function _letters(uint256 set, uint256 options) private pure returns (bytes memory text) {
        for (uint256 i = 0; i < options; ++i) {
            if ((set >> i) & 1 == 0) continue;
            text = text.length == 0 ? bytes.concat(_letter(i)) : bytes.concat(text, ",", _letter(i));
        }
    }

    function _letter(uint256 index) private pure returns (bytes1) {
        // There are at most 26 options.
        return bytes1(uint8(0x41 + index));
    }
}
