// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {RequestId} from "../types/Types.sol";

/// @title The id of a request, in one word
/// @dev The casts to narrower types cut the number to the member's width on purpose.
library RequestIdLib {
    function pack(uint16 priceVersion_, uint48 subscription_, uint48 count) internal pure returns (RequestId) {
        return RequestId.wrap((uint256(priceVersion_) << 96) | (uint256(subscription_) << 48) | count);
    }

    /// @notice Returns the version of the price list that was in force.
    function priceVersion(RequestId requestId) internal pure returns (uint16) {
        return uint16(RequestId.unwrap(requestId) >> 96);
    }

    /// @notice Returns the subscription that paid; 0 if the consumer paid directly.
    function subscription(RequestId requestId) internal pure returns (uint48) {
        return uint48(RequestId.unwrap(requestId) >> 48);
    }
}
