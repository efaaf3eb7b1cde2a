// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {Relay, Request, RequestId, RequestTerms, Round, Status} from "../types/Types.sol";
import {RequestState} from "./RequestState.sol";

/// @title The hash of a request, and the commitments in the oracle's storage word
library RequestLib {
    /// @notice Reverts with `WitnessMismatch` unless the calldata matches the stored hash.
    function requireMatch(RequestId requestId, bool matches) internal pure {
        require(matches, IDecisionOracle.WitnessMismatch(requestId));
    }

    /// @notice Reverts unless the request waits for a committee in this round with this seed block.
    /// @param state the request's word
    function requireRunning(Request calldata request, RequestState state, Round round, uint64 seedBlock) internal pure {
        RequestId requestId = request.id;
        Status status = state.status();
        // slither-disable-next-line incorrect-equality: an enum, not an amount that could skip a value
        require(status == Status.Requested, IDecisionOracle.WrongStatus(requestId, status));
        requireMatch(requestId, state.covers(requestedCommitment(hash(request), round, seedBlock)));
    }

    /// @notice Returns keccak256(abi.encode(Request)).
    /// @dev Copies the four static words as they are, so an address with dirty bits in calldata matches no stored hash.
    function hash(Request calldata request) internal pure returns (bytes32 result) {
        assembly ("memory-safe") {
            let pointer := mload(0x40)
            calldatacopy(pointer, request, 0x80)
            result := keccak256(pointer, 0x80)
        }
    }

    /// @notice Returns the same hash for a request that is being made.
    function hash(
        RequestId id,
        address consumer,
        RequestTerms terms,
        bytes32 questionHash
    ) internal pure returns (bytes32 result) {
        assembly ("memory-safe") {
            let pointer := mload(0x40)
            mstore(pointer, id)
            mstore(add(pointer, 0x20), shr(96, shl(96, consumer)))
            mstore(add(pointer, 0x40), terms)
            mstore(add(pointer, 0x60), questionHash)
            result := keccak256(pointer, 0x80)
        }
    }

    /// @notice Returns the commitment that is stored while the request is `Requested`.
    /// @dev Computes keccak256(abi.encode(requestHash, round, seedBlock)) beyond the free memory pointer.
    function requestedCommitment(
        bytes32 requestHash,
        Round round,
        uint64 seedBlock
    ) internal pure returns (bytes32 result) {
        assembly ("memory-safe") {
            let pointer := mload(0x40)
            mstore(pointer, requestHash)
            mstore(add(pointer, 0x20), round)
            mstore(add(pointer, 0x40), and(seedBlock, 0xffffffffffffffff))
            result := keccak256(pointer, 0x60)
        }
    }

    /// @notice Returns the commitment that is stored while a decision stands.
    /// @dev Computes keccak256(abi.encode(structHash, relay, round)) beyond the free memory pointer. A `Requested`
    /// commitment hashes the same number of bytes; the status beside the commitment tells the two apart.
    /// @param structHash the EIP-712 struct hash of the decision; it covers the request's and the committee's hashes
    /// @param relay the account that is paid back, and the gas price
    /// @param round the round of the decision; for a provisional decision it has the end of the appeal period
    function settledCommitment(bytes32 structHash, Relay relay, Round round) internal pure returns (bytes32 result) {
        assembly ("memory-safe") {
            let pointer := mload(0x40)
            mstore(pointer, structHash)
            mstore(add(pointer, 0x20), relay)
            mstore(add(pointer, 0x40), round)
            result := keccak256(pointer, 0x60)
        }
    }
}
