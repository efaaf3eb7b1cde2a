// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {AgentId} from "../types/Types.sol";

/// @title More than two thirds of the seats signed a digest
/// @notice A certificate of n seats, packed: committeeHash bytes32 | signers uint64 (bit i set = seat i signed) | n times
/// (agentId uint32, reputation uint32) | for each seat in order 64 bytes of signature (r, then s with the parity of the
/// recovery in its highest bit, EIP-2098) if its bit is set, else the 20 bytes of its signer's address.
/// @dev The only place that knows how certificates are signed: packed ECDSA by seat bitmap, the cheapest up to about 30
/// signers. Another scheme replaces this library and nothing else. The address of who signed is not in calldata: it is
/// recovered, and a seat's word is built with whatever comes out. If the words hash to the committee's, all are right.
library CertificateLib {
    uint256 private constant HEAD_BYTES = 40;
    /// @dev Agent id and reputation.
    uint256 private constant SEAT_BYTES = 8;
    uint256 private constant ADDRESS_BYTES = 20;
    uint256 private constant SIGNATURE_BYTES = 64;

    /// @notice What the certificate says the committee is; `verify` and the stored commitment tell whether it is true.
    function committeeHash(bytes calldata certificate) internal pure returns (bytes32 result) {
        require(certificate.length >= HEAD_BYTES, IDecisionOracle.InvalidDecision("certificate", certificate.length));
        assembly ("memory-safe") {
            result := calldataload(certificate.offset)
        }
    }

    /// @notice Reverts unless more than two thirds of `size` seats come with a signature.
    /// @dev `committeeHash` was read before, so the head is there.
    /// @param certificate see above
    /// @param size of the committee that was drawn, at most 64
    /// @param digest what they signed
    /// @return signers bit i set = seat i
    /// @return rebuilt hash of the seats with the addresses that the signatures on `digest` recover to: the signatures are
    /// those of the committee iff it is the committee's
    function verify(
        bytes calldata certificate,
        uint256 size,
        bytes32 digest
    ) internal view returns (uint64 signers, bytes32 rebuilt) {
        assembly ("memory-safe") {
            signers := shr(192, calldataload(add(certificate.offset, 0x20)))
        }
        require(uint256(signers) >> size == 0, IDecisionOracle.InvalidDecision("signers", signers));
        uint256 count = _countBits(signers);
        unchecked {
            // The count is at most 64, and the size of a committee that was drawn, too.
            require(count * 3 > size * 2, IDecisionOracle.QuorumNotReached(count, (size * 2) / 3 + 1));
            uint256 length =
                HEAD_BYTES + size * (SEAT_BYTES + ADDRESS_BYTES) + count * (SIGNATURE_BYTES - ADDRESS_BYTES);
            require(certificate.length == length, IDecisionOracle.InvalidDecision("certificate", certificate.length));
        }
        rebuilt = _rebuild(certificate, size, signers, digest);
    }

    /// @dev Warning: of a certificate and a seat that were verified.
    function agentIdAt(bytes calldata certificate, uint256 seat) internal pure returns (AgentId result) {
        assembly ("memory-safe") {
            result := shr(224, calldataload(add(certificate.offset, add(HEAD_BYTES, mul(seat, SEAT_BYTES)))))
        }
    }

    /// @dev One loop over at most 64 seats, which writes their words beyond the free memory pointer (scratch, given back at
    /// the end) and after them the precompile's input of four words: digest, v, r, s. The precompile returns nothing for
    /// what is no signature; then the scratch space holds an earlier signer, so this is an error of its own. An s above half
    /// of the curve's order almost never fits beside the parity, and nothing here depends on a signature being unique.
    function _rebuild(
        bytes calldata certificate,
        uint256 size,
        uint256 signers,
        bytes32 digest
    ) private view returns (bytes32 rebuilt) {
        uint256 unsigned = type(uint256).max;
        assembly ("memory-safe") {
            let words := mload(0x40)
            let input := add(words, shl(5, size))
            mstore(input, digest)
            let member := add(certificate.offset, HEAD_BYTES)
            let proof := add(member, mul(size, SEAT_BYTES))
            let bits := signers
            for {
                let word := words
            } lt(word, input) {
                word := add(word, 0x20)
            } {
                // The highest 8 bytes, moved to where a seat's word has them.
                let seat := shl(160, shr(192, calldataload(member)))
                switch and(bits, 1)
                case 0 {
                    mstore(word, or(seat, shr(96, calldataload(proof))))
                    proof := add(proof, ADDRESS_BYTES)
                }
                default {
                    let parityAndS := calldataload(add(proof, 0x20))
                    mstore(add(input, 0x20), add(27, shr(255, parityAndS)))
                    mstore(add(input, 0x40), calldataload(proof))
                    mstore(add(input, 0x60), shr(1, shl(1, parityAndS)))
                    // Cannot fail but for lack of gas, and then returns nothing, too.
                    pop(staticcall(gas(), 1, input, 0x80, 0x00, 0x20))
                    if iszero(returndatasize()) {
                        unsigned := shr(5, sub(word, words))
                        break
                    }
                    mstore(word, or(seat, mload(0x00)))
                    proof := add(proof, SIGNATURE_BYTES)
                }
                member := add(member, SEAT_BYTES)
                bits := shr(1, bits)
            }
            rebuilt := keccak256(words, shl(5, size))
        }
        require(unsigned == type(uint256).max, IDecisionOracle.InvalidSignature(unsigned));
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
