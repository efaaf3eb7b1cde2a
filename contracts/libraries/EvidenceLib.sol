// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

import {ISlasher} from "../interfaces/ISlasher.sol";
import {Seat} from "../types/Types.sol";
import {DecisionLib} from "./DecisionLib.sol";
import {DomainLib} from "./DomainLib.sol";

/// @title Recovers the signer of two conflicting statements in one slot
library EvidenceLib {
    /// @notice A seat of a round on record, and what its messages and decisions name beside their own place.
    /// @param held the seat's word in the committee
    /// @param number the seat
    struct ProvenSeat {
        bytes32 requestHash;
        bytes32 committeeHash;
        uint32 attempt;
        uint32 protocol;
        uint32 number;
        Seat held;
    }

    /// @notice Returns the EIP-712 struct hash of a message of the seat with this payload in this slot.
    function messageHash(
        ProvenSeat memory seat,
        ISlasher.MessageSlot calldata slot,
        bytes32 payload
    ) internal pure returns (bytes32) {
        return
            keccak256(
                abi.encode(
                    DecisionLib.MESSAGE_TYPEHASH,
                    seat.requestHash,
                    seat.committeeHash,
                    seat.attempt,
                    seat.protocol,
                    slot.phase,
                    slot.round,
                    seat.number,
                    payload
                )
            );
    }

    /// @notice Returns the EIP-712 struct hash of a decision with this body in this ballot of the seat's committee, see
    /// `DecisionLib`.
    function decisionHash(
        ProvenSeat memory seat,
        uint32 ballot,
        ISlasher.DecisionBody calldata body
    ) internal pure returns (bytes32) {
        return
            keccak256(
                abi.encode(
                    DecisionLib.DECISION_TYPEHASH,
                    seat.requestHash,
                    seat.attempt,
                    seat.committeeHash,
                    ballot,
                    body.status,
                    body.outcome,
                    body.answerHash,
                    body.confidence,
                    body.answered,
                    body.agreed,
                    body.transcript,
                    body.reputationChangesHash,
                    body.sharesHash
                )
            );
    }

    /// @notice Returns what a reporter commits to: itself, and both signatures in the order of the proof.
    function commitment(
        address reporter,
        bytes calldata firstSignature,
        bytes calldata secondSignature
    ) internal pure returns (bytes32) {
        return keccak256(abi.encode(reporter, firstSignature, secondSignature));
    }

    /// @notice Returns the account that signed both for the oracle. Reverts unless the two differ and one key signed
    /// both.
    /// @dev A signature with a high s, a v other than 27 and 28 or another length recovers to address 0, which has no
    /// key.
    function signerOf(
        address oracle,
        bytes32 firstHash,
        bytes calldata firstSignature,
        bytes32 secondHash,
        bytes calldata secondSignature
    ) internal view returns (address signer) {
        require(firstHash != secondHash, ISlasher.NoConflict());
        signer = _recover(oracle, firstHash, firstSignature);
        address second = _recover(oracle, secondHash, secondSignature);
        require(signer == second && signer != address(0), ISlasher.InvalidEvidence(signer, second));
    }

    function _recover(
        address oracle,
        bytes32 structHash,
        bytes calldata signature
    ) private view returns (address recovered) {
        // slither-disable-next-line unused-return: a failed recovery gives address(0), which the caller refuses
        (recovered, , ) = ECDSA.tryRecoverCalldata(DomainLib.digest(oracle, structHash), signature);
    }
}
