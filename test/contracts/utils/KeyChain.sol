// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

/// @dev Makes keys with their public keys, which no cheat code of Hardhat returns. Each key is the one before plus 1,
/// so its public key is the one before plus the generator: one affine addition on secp256k1.
abstract contract KeyChain {
    uint256 private constant P = 0xfffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f;
    uint256 private constant GENERATOR_X = 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798;
    uint256 private constant GENERATOR_Y = 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8;

    // keccak256("conclave solidity test keys") and its public key.
    uint256 private _key = 0x77f1d96ca6ab5e4c2d1817c5837ee2bd9bc37909cd96520f1ad2e75dfab410b4;
    uint256 private _x = 0xc50c13aa17f8ee70d51d84ceec37a602e629666bd2eb458320f75149691c21a4;
    uint256 private _y = 0x7e781ec2b0db4b951504fec7692b13d7ac989d484ec4158efc3cff354dde30d1;

    function nextKey() internal returns (uint256 privateKey, bytes memory publicKey) {
        ++_key;
        uint256 slope = mulmod(addmod(_y, P - GENERATOR_Y, P), _inverse(addmod(_x, P - GENERATOR_X, P)), P);
        uint256 x = addmod(mulmod(slope, slope, P), P - addmod(_x, GENERATOR_X, P), P);
        _y = addmod(mulmod(slope, addmod(_x, P - x, P), P), P - _y, P);
        _x = x;
        return (_key, abi.encodePacked(_x, _y));
    }

    /// @dev Returns value^(P-2), computed by the precompile.
    function _inverse(uint256 value) private view returns (uint256) {
        (, bytes memory result) = address(5).staticcall(abi.encode(32, 32, 32, value, P - 2, P));
        return abi.decode(result, (uint256));
    }
}
