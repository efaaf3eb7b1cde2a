// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {Relay, RequestTerms, Round} from "../types/Types.sol";
import {RequestTermsLib} from "./RequestTermsLib.sol";

/// @title The round of a request, in one word (SE1, SE3)
/// @dev The link is cut to 208 bits: somebody who may choose both histories needs about 2^104 hashes for a collision, and a
/// second history for a given link costs about 2^208.
library RoundLib {
    uint256 private constant LINK_SHIFT = 48;

    /// @param link_ see `linkAfter`; 0 in the first round
    /// @param appeals_ made so far, at most MAX_APPEALS
    /// @param deadline_ unix seconds
    function pack(uint256 link_, uint256 appeals_, uint256 deadline_) internal pure returns (Round) {
        return Round.wrap((link_ << LINK_SHIFT) | (appeals_ << 40) | deadline_);
    }

    function link(Round round) internal pure returns (uint256) {
        return Round.unwrap(round) >> LINK_SHIFT;
    }

    function appeals(Round round) internal pure returns (uint256) {
        return uint8(Round.unwrap(round) >> 40);
    }

    /// @dev Cuts the word to the member's width.
    function deadline(Round round) internal pure returns (uint40) {
        return uint40(Round.unwrap(round));
    }

    /// @notice The same round with another end of its period.
    function withDeadline(Round round, uint256 deadline_) internal pure returns (Round) {
        return pack(link(round), appeals(round), deadline_);
    }

    /// @notice The link of the round after this one.
    /// @param round this one
    /// @param committeeHash the hash of its committee
    /// @param structHash the EIP-712 struct hash of its decision
    /// @param relay the relay of its decision
    /// @param appellant who appealed; 0 when it hung and is retried
    function linkAfter(
        Round round,
        bytes32 committeeHash,
        bytes32 structHash,
        Relay relay,
        address appellant
    ) internal pure returns (uint256) {
        return uint256(keccak256(abi.encode(round, committeeHash, structHash, relay, appellant))) >> LINK_SHIFT;
    }

    /// @notice Whether another committee may replace the one of this attempt. Every attempt but the first follows an
    /// appeal or a retry.
    function hasRetry(Round round, RequestTerms terms, uint256 attempt) internal pure returns (bool) {
        return attempt - appeals(round) < RequestTermsLib.retries(terms);
    }

    /// @notice How many seats the committees have together, up to the one after so many appeals: the sum of `sizeAfter`.
    /// @param first n, the size in the terms
    function seatsUpTo(uint256 first, uint256 appeals_) internal pure returns (uint256) {
        unchecked {
            // A byte, shifted by 16 at most.
            return (first + 1) * ((1 << (appeals_ + 1)) - 1) - (appeals_ + 1);
        }
    }

    /// @notice How many seats the committee has after so many appeals: 2^appeals (n + 1) - 1, each twice the one before and one.
    /// @param first n, the size in the terms
    function sizeAfter(uint256 first, uint256 appeals_) internal pure returns (uint256) {
        unchecked {
            // A byte, shifted by 15 at most where terms are not yet valid.
            return ((first + 1) << appeals_) - 1;
        }
    }
}
