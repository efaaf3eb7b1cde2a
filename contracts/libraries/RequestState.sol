// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {Status} from "../types/Types.sol";

/// @notice The one storage word of a request: commitment uint232 (the upper bits of a hash) | flags uint8 | attempt uint8 |
/// status uint8. From the highest bit to the lowest. Which hash it is depends on the status:
///
/// * `Requested`: keccak256(abi.encode(requestHash, round, seedBlock))
/// * `Decided` to `TooEarly`: keccak256(abi.encode(structHash, relay, round)) with the EIP-712 struct hash of the decision, which
/// covers requestHash and committeeHash. If nobody answered a later attempt, it is the last decision's, and the status is `Hung`
/// whatever that says
/// * `Refunded`: 0
///
/// @dev 232 bits are enough. An attacker who may choose both witnesses needs about 2^116 hashes for a collision; a
/// second witness for a given word costs about 2^232 hashes.
type RequestState is uint256;

using RequestStateLib for RequestState global;

/// @title Reads and writes the storage word of a request
library RequestStateLib {
    uint256 internal constant CALLBACK_PENDING = 1 << 16;
    uint256 internal constant SETTLED = 1 << 17;
    /// @dev Flag: the decision may still be appealed against, and the consumer has not been called back.
    uint256 internal constant PROVISIONAL = 1 << 18;

    uint256 private constant COMMITMENT_SHIFT = 24;

    function make(Status status_, uint256 attempt_, bytes32 commitment) internal pure returns (RequestState) {
        // Only the oracle counts attempts: there are at most MAX_APPEALS + MAX_RETRIES.
        return
            RequestState.wrap(
                ((uint256(commitment) >> COMMITMENT_SHIFT) << COMMITMENT_SHIFT) |
                    ((attempt_ & 0xff) << 8) |
                    uint256(status_)
            );
    }

    function status(RequestState state) internal pure returns (Status) {
        return Status(RequestState.unwrap(state) & 0xff);
    }

    function attempt(RequestState state) internal pure returns (uint32) {
        // The cast cuts the word to the byte of the attempt.
        return uint8(RequestState.unwrap(state) >> 8);
    }

    function has(RequestState state, uint256 flag) internal pure returns (bool) {
        return RequestState.unwrap(state) & flag != 0;
    }

    function set(RequestState state, uint256 flag) internal pure returns (RequestState) {
        return RequestState.wrap(RequestState.unwrap(state) | flag);
    }

    function clear(RequestState state, uint256 flag) internal pure returns (RequestState) {
        return RequestState.wrap(RequestState.unwrap(state) & ~flag);
    }

    function covers(RequestState state, bytes32 commitment) internal pure returns (bool) {
        return (RequestState.unwrap(state) ^ uint256(commitment)) >> COMMITMENT_SHIFT == 0;
    }
}
