// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {Certificate, Seat} from "../types/Types.sol";

/// @title More than two thirds of the seats signed a digest
/// @dev The only place that knows how certificates are signed: packed ECDSA by seat bitmap, the cheapest up to about
/// 30 signers. Another scheme replaces this library and nothing else.
library CertificateLib {
    uint256 private constant SIGNATURE_BYTES = 65;
    /// @dev Half of the order of secp256k1: a larger s is the malleable twin of a signature.
    uint256 private constant HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    /// @notice Reverts unless `certificate` holds valid signatures of more than two thirds of `committee` on `digest`.
    /// @dev Every signature that comes must be valid, also those above the quorum: who signed is on record.
    function verify(Certificate calldata certificate, Seat[] calldata committee, bytes32 digest) internal view {
        uint256 signers = certificate.signers;
        uint256 size = committee.length;
        // size <= 64, so the shift leaves exactly the bits of seats that do not exist.
        require(signers >> size == 0, IDecisionOracle.InvalidDecision("signers", signers));
        uint256 count = _countBits(signers);
        bytes calldata signatures = certificate.signatures;
        unchecked {
            // The count is at most 64, and the size of a committee that was drawn, too.
            require(count * 3 > size * 2, IDecisionOracle.QuorumNotReached(count, (size * 2) / 3 + 1));
            require(
                signatures.length == count * SIGNATURE_BYTES,
                IDecisionOracle.InvalidDecision("signatures", signatures.length)
            );
        }
        (uint256 seat, address recovered) = _firstInvalid(signatures, signers, committee, digest);
        if (seat < size) {
            // The cast cuts the seat's word to the signer in its lowest 160 bits.
            revert IDecisionOracle.InvalidSignature(seat, recovered, address(uint160(Seat.unwrap(committee[seat]))));
        }
    }

    /// @notice Recovers the signatures in seat order.
    /// @dev One loop over at most 64 seats. The precompile's input is four words: digest, v, r, s. Its output goes to the
    /// scratch space, which is cleared first: an invalid signature returns no data.
    /// @return seat the first whose signature is not its own, or type(uint256).max
    /// @return recovered whose signature it is; 0 for a malformed or malleable one
    function _firstInvalid(
        bytes calldata signatures,
        uint256 signers,
        Seat[] calldata committee,
        bytes32 digest
    ) private view returns (uint256 seat, address recovered) {
        assembly ("memory-safe") {
            // Beyond the free memory pointer: scratch, given back at the end.
            let input := mload(0x40)
            mstore(input, digest)
            let signature := signatures.offset
            let word := committee.offset
            let bits := signers
            seat := not(0)

            for {} bits {
                bits := shr(1, bits)
                word := add(word, 0x20)
            } {
                if iszero(and(bits, 1)) {
                    continue
                }
                // r and s.
                calldatacopy(add(input, 0x40), signature, 0x40)
                // v is the last byte of the word that ends with it.
                mstore(add(input, 0x20), and(calldataload(add(signature, 0x21)), 0xff))
                mstore(0x00, 0)
                // Cannot fail but for lack of gas, and then the output stays 0.
                pop(staticcall(gas(), 1, input, 0x80, 0x00, 0x20))
                // 0 for a malleable one, without a jump.
                let signer := mul(mload(0x00), iszero(gt(mload(add(input, 0x60)), HALF_ORDER)))
                // No seat has the signer 0, yet do not rely on it.
                if or(iszero(signer), shl(96, xor(signer, calldataload(word)))) {
                    recovered := signer
                    seat := shr(5, sub(word, committee.offset))
                    break
                }
                signature := add(signature, SIGNATURE_BYTES)
            }
        }
    }

    /// @dev Parallel bit count of the lowest 64 bits, all that can be set here; the product leaves the sum in bits 56 to 63.
    function _countBits(uint256 bits) private pure returns (uint256) {
        unchecked {
            // No step underflows or carries between its fields; the multiplication spills above bit 63 and is cut.
            bits = bits - ((bits >> 1) & 0x5555555555555555);
            bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333);
            bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
            return ((bits * 0x0101010101010101) >> 56) & 0xff;
        }
    }
}
