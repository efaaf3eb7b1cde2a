// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {DecisionHead, Status} from "../types/Types.sol";

/// @title The small members of a decision in one word
/// @dev The casts to narrower types in the accessors cut the word to the member's width on purpose. `statusCode` does
/// not cut: dirty bits above the status turn it into another number, which nothing accepts.
library DecisionHeadLib {
    function pack(
        Status status_,
        uint8 attempt_,
        uint8 seats_,
        uint32 round_,
        uint32 confidence_,
        uint64 answered_,
        uint64 agreed_
    ) internal pure returns (DecisionHead) {
        return
            DecisionHead.wrap(
                (uint256(status_) << 208) |
                    (uint256(attempt_) << 200) |
                    (uint256(seats_) << 192) |
                    (uint256(round_) << 160) |
                    (uint256(confidence_) << 128) |
                    (uint256(answered_) << 64) |
                    uint256(agreed_)
            );
    }

    /// @notice Returns the number of the `Status`. If the word has dirty bits, the number is larger than every status.
    function statusCode(DecisionHead head) internal pure returns (uint256) {
        return DecisionHead.unwrap(head) >> 208;
    }

    /// @dev Panics unless `statusCode` is the number of a status.
    function status(DecisionHead head) internal pure returns (Status) {
        return Status(statusCode(head));
    }

    function attempt(DecisionHead head) internal pure returns (uint32) {
        return uint8(DecisionHead.unwrap(head) >> 200);
    }

    function seats(DecisionHead head) internal pure returns (uint8) {
        return uint8(DecisionHead.unwrap(head) >> 192);
    }

    function round(DecisionHead head) internal pure returns (uint32) {
        return uint32(DecisionHead.unwrap(head) >> 160);
    }

    function confidence(DecisionHead head) internal pure returns (uint32) {
        return uint32(DecisionHead.unwrap(head) >> 128);
    }

    /// @notice Returns the seats that the decision teaches about (SK2).
    function answered(DecisionHead head) internal pure returns (uint64) {
        return uint64(DecisionHead.unwrap(head) >> 64);
    }

    /// @notice Returns those of them whose blind answers agree.
    function agreed(DecisionHead head) internal pure returns (uint64) {
        return uint64(DecisionHead.unwrap(head));
    }
}
