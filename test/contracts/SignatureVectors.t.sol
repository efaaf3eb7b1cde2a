// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {Assertions, vm} from "./utils/Vm.sol";

/// @dev Reads test/vectors/secp256k1.json, which the agents' curves also read: contracts and agents accept the same
/// signatures.
contract SignatureVectorsTest is Assertions {
    string private _json;

    function setUp() public {
        _json = vm.readFile("test/vectors/secp256k1.json");
    }

    function test_signed() public view {
        assertEq(_check("signed", ".address"), 15, "signed");
    }

    function test_recovered() public view {
        assertEq(_check("recovered", ".signer"), 46, "recovered");
    }

    function recover(bytes32 digest, bytes calldata signature) external pure returns (address signer) {
        // slither-disable-next-line unused-return: nobody is the zero address
        (signer, , ) = ECDSA.tryRecoverCalldata(digest, signature);
    }

    function _check(string memory list, string memory signer) private view returns (uint256 count) {
        for (; vm.keyExistsJson(_json, _at(list, count)); ++count) {
            string memory at = _at(list, count);
            address found = this.recover(
                vm.parseJsonBytes32(_json, string.concat(at, ".digest")),
                vm.parseJsonBytes(_json, string.concat(at, ".signature"))
            );
            address expected = vm.parseJsonAddress(_json, string.concat(at, signer));
            assertEq(found, expected, vm.parseJsonString(_json, string.concat(at, ".name")));
        }
    }

    function _at(string memory list, uint256 index) private pure returns (string memory) {
        return string.concat(".", list, "[", vm.toString(index), "]");
    }
}
