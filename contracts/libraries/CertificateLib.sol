// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {Seat} from "../types/Types.sol";

/// @title Checks that more than two thirds of the seats signed a digest
/// @notice A certificate, packed: signers uint64 (bit i set = seat i signed) | for each seat that signed, in order, 64 bytes of
/// signature (r, then s with the parity of the recovery in its highest bit, EIP-2098).
/// @dev Only this library knows how certificates are signed: packed ECDSA signatures with a bitmap of seats, the
/// cheapest scheme for up to about 30 signers. Another scheme replaces this library and nothing else.
library CertificateLib {
    uint256 private constant HEAD_BYTES = 8;
    uint256 private constant SIGNATURE_BYTES = 64;

    /// @dev Selector of IDecisionOracle.InvalidSignature(uint256), left-aligned.
    uint256 private constant INVALID_SIGNATURE = 0x52bf984800000000000000000000000000000000000000000000000000000000;

    /// @notice Reverts unless more than two thirds of the seats signed the digest.
    /// @dev If the certificate is shorter than its head, the head is read from the bytes that follow it in calldata; the
    /// check of the length refuses such a certificate.
    /// @param certificate the packed certificate, see above
    /// @param committee the seats in order, at most 64
    /// @param digest the digest that the seats signed
    /// @return signers bit i set = seat i signed
    function verify(
        bytes calldata certificate,
        Seat[] memory committee,
        bytes32 digest
    ) internal view returns (uint64 signers) {
        assembly ("memory-safe") {
            signers := shr(192, calldataload(certificate.offset))
        }
        uint256 size = committee.length;
        require(uint256(signers) >> size == 0, IDecisionOracle.InvalidDecision("signers", signers));
        unchecked {
            // There are at most 64 signers.
            uint256 count = _countBits(signers);
            require(count * 3 > size * 2, IDecisionOracle.QuorumNotReached(count, (size * 2) / 3 + 1));
            require(
                certificate.length == HEAD_BYTES + count * SIGNATURE_BYTES,
                IDecisionOracle.InvalidDecision("certificate", certificate.length)
            );
        }
        _recover(certificate, committee, digest, signers);
    }

    /// @dev Loops once over at most 64 seats. The precompile's input of four words (digest, v, r, s) lies in the first
    /// 128 bytes of memory, which is cheapest; the function then restores the free memory pointer and the zero slot that
    /// lie there. The precompile returns nothing for bytes that are not a signature. An s above half of the curve's order
    /// almost never fits beside the parity, and nothing here needs a signature to be unique.
    function _recover(
        bytes calldata certificate,
        Seat[] memory committee,
        bytes32 digest,
        uint64 signers
    ) private view {
        assembly ("memory-safe") {
            let recovered := mload(0x40)
            let seat := add(committee, 0x20)
            let position := add(certificate.offset, HEAD_BYTES)
            mstore(0x00, digest)
            for {
                let bits := and(signers, 0xffffffffffffffff)
            } bits {
                bits := shr(1, bits)
                seat := add(seat, 0x20)
            } {
                if and(bits, 1) {
                    let parityAndS := calldataload(add(position, 0x20))
                    mstore(0x20, add(27, shr(255, parityAndS)))
                    mstore(0x40, calldataload(position))
                    mstore(0x60, shr(1, shl(1, parityAndS)))
                    // The call fails only for lack of gas, and then it returns nothing, too.
                    pop(staticcall(gas(), 1, 0x00, 0x80, recovered, 0x20))
                    // The signer is in the lowest 160 bits of the seat's word.
                    if or(iszero(returndatasize()), shl(96, xor(mload(recovered), mload(seat)))) {
                        mstore(0x00, INVALID_SIGNATURE)
                        mstore(0x04, sub(shr(5, sub(seat, committee)), 1))
                        revert(0x00, 0x24)
                    }
                    position := add(position, SIGNATURE_BYTES)
                }
            }
            mstore(0x40, recovered)
            mstore(0x60, 0)
        }
    }

    /// @dev Adds neighbours: bits to pairs, pairs to nibbles, nibbles to bytes, and the eight bytes by a product.
    function _countBits(uint256 bits) private pure returns (uint256) {
        unchecked {
            bits -= (bits >> 1) & 0x5555555555555555;
            bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333);
            bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
            return ((bits * 0x0101010101010101) >> 56) & 0xff;
        }
    }
}
