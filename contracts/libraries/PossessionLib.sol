// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";

/// @title Proof that an operator holds the hot key it registers
library PossessionLib {
    bytes32 internal constant POSSESSION_TYPEHASH = keccak256("Possession(address operator,bytes publicKey)");

    /// @notice Returns the address of an uncompressed public key without its 0x04 prefix.
    /// @dev A signature that recovers to this address proves that the point is on the curve.
    function signerOf(bytes calldata publicKey) internal pure returns (address) {
        require(publicKey.length == 64, IAgentRegistry.InvalidPublicKey(publicKey.length));
        // An address is the lowest 160 bits of the hash.
        return address(uint160(uint256(keccak256(publicKey))));
    }

    function structHash(address operator, bytes calldata publicKey) internal pure returns (bytes32) {
        return keccak256(abi.encode(POSSESSION_TYPEHASH, operator, keccak256(publicKey)));
    }

    /// @notice Reverts unless `signer` made `signature` on `digest`.
    function verify(bytes32 digest, bytes calldata signature, address signer) internal pure {
        // slither-disable-next-line unused-return: a failed recovery gives address(0), which no key has
        (address recovered, , ) = ECDSA.tryRecoverCalldata(digest, signature);
        require(recovered == signer, IAgentRegistry.InvalidPossession(recovered, signer));
    }
}
