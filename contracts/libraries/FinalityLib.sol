// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {CONFIDENCE_PERCENT} from "../types/Limits.sol";
import {Decision, DecisionHead, RequestTerms, Round, Status} from "../types/Types.sol";
import {DecisionHeadLib} from "./DecisionHeadLib.sol";
import {PayLib} from "./PayLib.sol";
import {RequestTermsLib} from "./RequestTermsLib.sol";
import {RoundLib} from "./RoundLib.sol";

/// @notice What follows a decision: nothing, an appeal if somebody makes one, another committee of the same size, a larger one, or one of
/// the same size after a wait.
enum Next {
    Final,
    Provisional,
    Retry,
    Larger,
    Later
}

/// @title What follows a decision (SE4, SE24, SE25)
library FinalityLib {
    using DecisionHeadLib for DecisionHead;
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;

    /// @param round the round in which the decision was made
    /// @param decision a valid one, for these terms
    function next(RequestTerms terms, Round round, Decision calldata decision) internal pure returns (Next) {
        bool isHung = PayLib.isHung(decision);
        uint256 attempt = decision.head.attempt();
        if (isHung && round.hasRetry(terms.retries(), attempt)) return Next.Retry;
        uint256 appeals = round.appeals();
        unchecked {
            // The attempt is a byte. The wait is an attempt of its own, and so is the committee after it.
            bool canWait = appeals == 0 && round.hasRetry(terms.retries(), attempt + 1);
            if (canWait && decision.head.statusCode() == uint256(Status.TooEarly)) return Next.Later;
        }
        if (appeals == terms.appeals()) return Next.Final;
        uint256 finality = terms.finality();
        if (finality == 0) return Next.Provisional;
        unchecked {
            // The finality is a byte.
            bool isSure = !isHung && decision.head.confidence() >= finality * CONFIDENCE_PERCENT;
            return isSure ? Next.Final : Next.Larger;
        }
    }
}
