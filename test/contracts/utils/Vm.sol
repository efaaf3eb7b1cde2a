// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

/// @dev The cheat codes of Hardhat's Solidity tests that these tests use.
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function record() external;
    function accesses(address target) external returns (bytes32[] memory reads, bytes32[] memory writes);
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory logs);
    function addr(uint256 privateKey) external pure returns (address);
    function computeCreateAddress(address deployer, uint256 nonce) external pure returns (address);
    function getNonce(address account) external view returns (uint64);
    function assume(bool condition) external pure;
    function expectRevert() external;
    function expectPartialRevert(bytes4 selector) external;
    function expectRevert(bytes calldata data) external;
    function expectEmit(address emitter) external;
    function prank(address sender) external;
    function startPrank(address sender) external;
    function stopPrank() external;
    function snapshotState() external returns (uint256 id);
    function revertToState(uint256 id) external returns (bool success);
    function roll(uint256 number) external;
    function deal(address account, uint256 balance) external;
    function txGasPrice(uint256 price) external;
    function fee(uint256 baseFee) external;
    function prevrandao(uint256 value) external;
    function warp(uint256 timestamp) external;
    /// @dev Read the block through this call: after `roll` and `warp` in the same function, the IR compiler may use the
    /// old `block.number` and `block.timestamp`.
    function getBlockNumber() external view returns (uint256);
    function getBlockTimestamp() external view returns (uint256);
    function setBlockhash(uint256 number, bytes32 hash) external;
    function chainId(uint256 id) external;
    function etch(address target, bytes calldata code) external;
    function store(address target, bytes32 slot, bytes32 value) external;
    function load(address target, bytes32 slot) external view returns (bytes32);
    function sign(uint256 privateKey, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function readFile(string calldata path) external view returns (string memory);
    function parseJsonUint(string calldata json, string calldata key) external pure returns (uint256);
    function parseJsonBytes32(string calldata json, string calldata key) external pure returns (bytes32);
    function parseJsonBytes32Array(string calldata json, string calldata key) external pure returns (bytes32[] memory);
    function parseJsonBytes(string calldata json, string calldata key) external pure returns (bytes memory);
    function parseJsonString(string calldata json, string calldata key) external pure returns (string memory);
    function parseJsonAddress(string calldata json, string calldata key) external pure returns (address);
    function parseJsonUintArray(string calldata json, string calldata key) external pure returns (uint256[] memory);
    function keyExistsJson(string calldata json, string calldata key) external view returns (bool);
    function toString(uint256 value) external pure returns (string memory);
    function parseUint(string calldata text) external pure returns (uint256);
}

Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

/// @dev Assertions that tell what differed.
abstract contract Assertions {
    error NotEqual(string what, uint256 actual, uint256 expected);
    error NotTrue(string what);

    function assertEq(uint256 actual, uint256 expected, string memory what) internal pure {
        if (actual != expected) revert NotEqual(what, actual, expected);
    }

    function assertEq(bytes32 actual, bytes32 expected, string memory what) internal pure {
        if (actual != expected) revert NotEqual(what, uint256(actual), uint256(expected));
    }

    function assertEq(address actual, address expected, string memory what) internal pure {
        if (actual != expected) revert NotEqual(what, uint160(actual), uint160(expected));
    }

    function assertTrue(bool condition, string memory what) internal pure {
        if (!condition) revert NotTrue(what);
    }

    /// @dev Maps any number into low..high.
    function bound(uint256 value, uint256 low, uint256 high) internal pure returns (uint256) {
        return low + (value % (high - low + 1));
    }
}
