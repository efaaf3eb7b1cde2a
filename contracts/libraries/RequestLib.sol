// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {Request} from "../types/Types.sol";

/// @title The hash of a request and what the oracle's storage word commits to
library RequestLib {
    /// @notice keccak256(abi.encode(Request)).
    /// @dev Copies the four static words as they are: a dirty address in calldata then matches no stored hash.
    function hash(Request calldata request) internal pure returns (bytes32 result) {
        assembly ("memory-safe") {
            let pointer := mload(0x40)
            calldatacopy(pointer, request, 0x80)
            result := keccak256(pointer, 0x80)
        }
    }

    /// @notice What is stored while `Requested`.
    function requestedCommitment(bytes32 requestHash, uint64 seedBlock) internal pure returns (bytes32) {
        return keccak256(abi.encode(requestHash, seedBlock));
    }

    /// @notice What is stored while `Drawn`.
    function drawnCommitment(
        bytes32 requestHash,
        uint32 attempt,
        bytes32 committeeHash
    ) internal pure returns (bytes32) {
        return keccak256(abi.encode(requestHash, attempt, committeeHash));
    }

    /// @notice Both of the above from what is beside the request in calldata.
    /// @dev The lengths differ (64 and 96 bytes), so one cannot be taken for the other.
    function commitment(bytes32 requestHash, bytes calldata witness) internal pure returns (bytes32) {
        return keccak256(bytes.concat(requestHash, witness));
    }
}
