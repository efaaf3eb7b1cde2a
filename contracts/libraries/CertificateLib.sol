// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";

/// @title Checks that more than two thirds of the seats signed a digest
/// @notice A certificate, packed: committeeHash bytes32 | signers uint64 (bit i set = seat i signed) | for each seat in order
/// agentId uint32 | reputation uint32 | and, if its bit is set, 64 bytes of signature (r, then s with the parity of the
/// recovery in its highest bit, EIP-2098), else the 20 bytes of its signer's address.
/// @dev Only this library knows how certificates are signed: packed ECDSA signatures with a bitmap of seats, the
/// cheapest scheme for up to about 30 signers. Another scheme replaces this library and nothing else. Calldata does not
/// hold the addresses of the seats that signed: this library recovers them and builds each seat's word with whatever
/// address it recovers. If the words hash to the committee's hash, all of them are right.
library CertificateLib {
    uint256 private constant HEAD_BYTES = 40;
    /// @dev Size of the head of a seat that did not sign: agent id, reputation, address.
    uint256 private constant SILENT_SEAT_BYTES = 28;
    /// @dev Size of a seat that signed: agent id, reputation, signature.
    uint256 private constant SIGNED_SEAT_BYTES = 72;

    /// @dev Selector of IDecisionOracle.InvalidSignature(uint256), left-aligned.
    uint256 private constant INVALID_SIGNATURE = 0x52bf984800000000000000000000000000000000000000000000000000000000;

    /// @notice Returns the committee's hash that the certificate claims. `verify` and the stored commitment tell
    /// whether it is true.
    /// @dev If the certificate is too short, this function reads the bytes that follow it in calldata. `verify` refuses
    /// such a certificate for its length.
    function committeeHash(bytes calldata certificate) internal pure returns (bytes32 result) {
        assembly ("memory-safe") {
            result := calldataload(certificate.offset)
        }
    }

    /// @notice Reverts unless more than two thirds of `size` seats come with a signature.
    /// @dev A certificate that is too short for its head fails the check of the length.
    /// @param certificate the packed certificate, see above
    /// @param size the size of the committee that was drawn, at most 64
    /// @param digest the digest that the seats signed
    /// @return signers bit i set = seat i signed
    /// @return rebuilt the hash of the seats, built with the addresses that the signatures on `digest` recover to. The
    /// committee's seats made the signatures if and only if this is the committee's hash
    function verify(
        bytes calldata certificate,
        uint256 size,
        bytes32 digest
    ) internal view returns (uint64 signers, bytes32 rebuilt) {
        assembly ("memory-safe") {
            signers := shr(192, calldataload(add(certificate.offset, 0x20)))
        }
        require(uint256(signers) >> size == 0, IDecisionOracle.InvalidDecision("signers", signers));
        uint256 length;
        (length, rebuilt) = _rebuild(certificate, signers | (uint256(1) << size), digest);
        require(certificate.length == length, IDecisionOracle.InvalidDecision("certificate", certificate.length));
        unchecked {
            // The length must fit the number of seats and the number of signatures. Neither number exceeds 64.
            // slither-disable-next-line divide-before-multiply: length is a sum of these sizes, so nothing is cut off
            uint256 count = (length - HEAD_BYTES - size * SILENT_SEAT_BYTES) / (SIGNED_SEAT_BYTES - SILENT_SEAT_BYTES);
            require(count * 3 > size * 2, IDecisionOracle.QuorumNotReached(count, (size * 2) / 3 + 1));
        }
    }

    /// @dev Loops once over at most 64 seats and writes their words beyond the free memory pointer, as scratch that is
    /// given back at the end. The precompile's input of four words (digest, v, r, s) lies in the first 128 bytes of
    /// memory, which is cheapest; the function then restores the free memory pointer and the zero slot that lie there.
    /// The precompile returns nothing for bytes that are not a signature; the seat's word would then hold what memory
    /// held before, so this case has its own error. An s above half of the curve's order almost never fits beside the
    /// parity, and nothing here needs a signature to be unique. If the loop reads beyond the certificate's end, the
    /// check of the length fails.
    /// @param bits the bits of the signers, and one more bit above the last seat, which ends the loop
    function _rebuild(
        bytes calldata certificate,
        uint256 bits,
        bytes32 digest
    ) private view returns (uint256 length, bytes32 rebuilt) {
        assembly ("memory-safe") {
            let seats := mload(0x40)
            let word := seats
            let position := add(certificate.offset, HEAD_BYTES)
            mstore(0x00, digest)

            for {} gt(bits, 1) {
                bits := shr(1, bits)
                word := add(word, 0x20)
            } {
                switch and(bits, 1)
                case 0 {
                    // Agent id, reputation and address lie here as they lie in the seat's word.
                    mstore(word, shr(32, calldataload(position)))
                    position := add(position, SILENT_SEAT_BYTES)
                }
                default {
                    let parityAndS := calldataload(add(position, 0x28))
                    mstore(0x20, add(27, shr(255, parityAndS)))
                    mstore(0x40, calldataload(add(position, 0x08)))
                    mstore(0x60, shr(1, shl(1, parityAndS)))
                    // The call fails only for lack of gas, and then it returns nothing, too.
                    pop(staticcall(gas(), 1, 0x00, 0x80, word, 0x20))
                    if iszero(returndatasize()) {
                        mstore(0x00, INVALID_SIGNATURE)
                        mstore(0x04, shr(5, sub(word, seats)))
                        revert(0x00, 0x24)
                    }
                    // Agent id and reputation come before the address.
                    calldatacopy(add(word, 0x04), position, 0x08)
                    position := add(position, SIGNED_SEAT_BYTES)
                }
            }
            length := sub(position, certificate.offset)
            mstore(0x40, seats)
            mstore(0x60, 0)
            rebuilt := keccak256(seats, sub(word, seats))
        }
    }
}
