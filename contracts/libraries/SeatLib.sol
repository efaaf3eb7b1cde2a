// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {AgentId, Seat} from "../types/Types.sol";

/// @title A seat in one word, and the hash of a committee
/// @dev The casts to narrower types in the accessors cut the word to the member's width on purpose.
library SeatLib {
    /// @param skill_ 1, 2 or 3
    function pack(uint8 skill_, AgentId agentId_, uint32 reputation_, address signer_) internal pure returns (Seat) {
        return
            Seat.wrap(
                (uint256(skill_) << 224) |
                    (uint256(AgentId.unwrap(agentId_)) << 192) |
                    (uint256(reputation_) << 160) |
                    uint256(uint160(signer_))
            );
    }

    function skill(Seat seat) internal pure returns (uint8) {
        return uint8(Seat.unwrap(seat) >> 224);
    }

    function agentId(Seat seat) internal pure returns (AgentId) {
        return AgentId.wrap(uint32(Seat.unwrap(seat) >> 192));
    }

    function reputation(Seat seat) internal pure returns (uint32) {
        return uint32(Seat.unwrap(seat) >> 160);
    }

    function signer(Seat seat) internal pure returns (address) {
        return address(uint160(Seat.unwrap(seat)));
    }

    /// @notice Returns keccak256(abi.encodePacked(committee)).
    function hash(Seat[] calldata committee) internal pure returns (bytes32 result) {
        assembly ("memory-safe") {
            let pointer := mload(0x40)
            let size := shl(5, committee.length)
            calldatacopy(pointer, committee.offset, size)
            result := keccak256(pointer, size)
        }
    }

    /// @notice Returns the same hash for a committee in memory.
    function hashMemory(Seat[] memory committee) internal pure returns (bytes32 result) {
        assembly ("memory-safe") {
            result := keccak256(add(committee, 0x20), shl(5, mload(committee)))
        }
    }
}
