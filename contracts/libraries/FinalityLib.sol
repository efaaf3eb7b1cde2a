// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {CONFIDENCE_PERCENT} from "../types/Limits.sol";
import {Decision, DecisionHead, RequestTerms, Round} from "../types/Types.sol";
import {DecisionHeadLib} from "./DecisionHeadLib.sol";
import {PayLib} from "./PayLib.sol";
import {RequestTermsLib} from "./RequestTermsLib.sol";
import {RoundLib} from "./RoundLib.sol";

/// @notice What follows a decision: nothing, an appeal if somebody makes one, another committee of the same size, or a larger one.
enum Next {
    Final,
    Provisional,
    Retry,
    Larger
}

/// @title What follows a decision (SE4, SE24)
library FinalityLib {
    using DecisionHeadLib for DecisionHead;
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;

    /// @param round the round in which the decision was made
    /// @param decision a valid one, for these terms
    function next(RequestTerms terms, Round round, Decision calldata decision) internal pure returns (Next) {
        bool isHung = PayLib.isHung(decision);
        if (isHung && round.hasRetry(terms.retries(), decision.head.attempt())) return Next.Retry;
        if (round.appeals() == terms.appeals()) return Next.Final;
        uint256 finality = terms.finality();
        if (finality == 0) return Next.Provisional;
        unchecked {
            // The finality is a byte.
            bool isSure = !isHung && decision.head.confidence() >= finality * CONFIDENCE_PERCENT;
            return isSure ? Next.Final : Next.Larger;
        }
    }
}
