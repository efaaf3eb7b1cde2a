// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {Relay, Round} from "../types/Types.sol";

/// @title The round of a request, in one word (SE1, SE3)
/// @dev The link is cut to 208 bits. An attacker who may choose both histories needs about 2^104 hashes for a
/// collision; a second history for a given link costs about 2^208 hashes.
library RoundLib {
    uint256 private constant LINK_SHIFT = 48;

    /// @param link_ see `linkAfter`; 0 in the first round
    /// @param appeals_ appeals so far, at most MAX_APPEALS
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

    /// @notice Returns the same round with another end of its period.
    function withDeadline(Round round, uint256 deadline_) internal pure returns (Round) {
        return pack(link(round), appeals(round), deadline_);
    }

    /// @notice Returns the link of the round after this one.
    /// @param round this one
    /// @param committeeHash the hash of its committee
    /// @param structHash the EIP-712 struct hash of its decision
    /// @param relay the relay of its decision
    /// @param appellant the account that appealed; 0 when the committee hung and is retried
    function linkAfter(
        Round round,
        bytes32 committeeHash,
        bytes32 structHash,
        Relay relay,
        address appellant
    ) internal pure returns (uint256) {
        return uint256(keccak256(abi.encode(round, committeeHash, structHash, relay, appellant))) >> LINK_SHIFT;
    }

    /// @notice True if another committee may replace the committee of this attempt. Every attempt but the first follows
    /// an appeal or a retry.
    /// @param retries how many the terms allow
    function hasRetry(Round round, uint256 retries, uint256 attempt) internal pure returns (bool) {
        unchecked {
            // An attempt is never below the number of appeals.
            return attempt - appeals(round) < retries;
        }
    }

    /// @notice Returns how many seats the committees of 0 to `appeals_` appeals have together: the sum of `sizeAfter`.
    /// @param first n, the size in the terms
    function seatsUpTo(uint256 first, uint256 appeals_) internal pure returns (uint256) {
        unchecked {
            // The size is a byte; the shift is at most 16.
            return (first + 1) * ((1 << (appeals_ + 1)) - 1) - (appeals_ + 1);
        }
    }

    /// @notice Returns the size of a committee after `appeals_` appeals: 2^appeals_ (n + 1) - 1. Each size is twice the
    /// one before, plus one.
    /// @param first n, the size in the terms
    function sizeAfter(uint256 first, uint256 appeals_) internal pure returns (uint256) {
        unchecked {
            // The size is a byte. The shift is at most 15, even for terms that are not validated yet.
            return ((first + 1) << appeals_) - 1;
        }
    }
}
