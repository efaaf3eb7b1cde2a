// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

/// @title The EIP-712 domain in which committees and agents sign
/// @dev Name "Conclave", version "1", this chain and the oracle. It reads the chain's id at every call, so a signature made
/// before the chain splits counts on one side only.
library DomainLib {
    bytes32 private constant DOMAIN_TYPEHASH = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    bytes32 private constant NAME_HASH = keccak256("Conclave");
    bytes32 private constant VERSION_HASH = keccak256("1");

    /// @notice Returns the digest that is signed for a struct.
    /// @param oracle the verifying contract
    function digest(address oracle, bytes32 structHash) internal view returns (bytes32 result) {
        (bytes32 typeHash, bytes32 name, bytes32 version) = (DOMAIN_TYPEHASH, NAME_HASH, VERSION_HASH);
        assembly ("memory-safe") {
            // Five words beyond the free memory pointer, then 66 bytes in the same place.
            let pointer := mload(0x40)
            mstore(pointer, typeHash)
            mstore(add(pointer, 0x20), name)
            mstore(add(pointer, 0x40), version)
            mstore(add(pointer, 0x60), chainid())
            mstore(add(pointer, 0x80), oracle)
            let separator := keccak256(pointer, 0xa0)
            mstore(pointer, shl(240, 0x1901))
            mstore(add(pointer, 0x02), separator)
            mstore(add(pointer, 0x22), structHash)
            result := keccak256(pointer, 0x42)
        }
    }
}
