// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../../contracts/interfaces/IDecisionOracle.sol";
import {BlockHashLib} from "../../contracts/libraries/BlockHashLib.sol";
import {HeaderLib} from "../../contracts/libraries/HeaderLib.sol";
import {PastRound, Request, Seat, Status} from "../../contracts/types/Types.sol";
import {ConclaveTest} from "./utils/ConclaveTest.sol";
import {HeaderMaker} from "./utils/HeaderMaker.sol";
import {HistoryChain} from "./utils/HistoryChain.sol";
import {vm} from "./utils/Vm.sol";

/// @dev The seed of a draw comes from the header of its block, however old the block is.
contract SeedTest is ConclaveTest {
    uint256 private constant LONG_EPOCH = 7200;

    Request private _request;
    uint64 private _seedBlock;

    function setUp() public {
        deployConclave();
        deployRegistry(LONG_EPOCH);
        token.approve(address(registry), type(uint256).max);
        token.approve(address(oracle), type(uint256).max);
        vm.roll(LONG_EPOCH);
        for (uint256 i = 0; i < 6; ++i) registerAgent(MAX_STAKE);
        vm.roll(2 * LONG_EPOCH);
        (_request, ) = ask(termsFor(4, 0));
        _seedBlock = uint64(2 * LONG_EPOCH + 8);
        vm.roll(_seedBlock + 1);
        // The chain has no system contract unless a test adds it.
        HistoryChain.uninstall();
    }

    function test_seedIsPrevRandao() public {
        bytes memory header = headerOf(_seedBlock);
        bytes32 seed = keccak256(abi.encode(HeaderMaker.prevRandaoOf(_seedBlock), _request.id, uint32(0)));
        bytes32 expected = keccak256(abi.encode(committeeNow(seed, 4)));
        assertEq(seedOf(_request, _seedBlock), seed, "seed");
        drawWith(_request, _seedBlock, header);
        _requireDrawn();
        assertEq(keccak256(abi.encode(committeeNow(seed, 4))), expected, "constant");
    }

    /// @dev The seed stays the same, whatever else the builder puts into the block.
    function testFuzz_restOfTheHeaderDoesNotShapeTheSeed(bytes32 other, bytes32 mixHash) public view {
        vm.assume(mixHash != 0);
        bytes memory word = abi.encodePacked(hex"a0", mixHash);
        bytes memory one = HeaderMaker.make(_seedBlock, word, "");
        bytes memory two = HeaderMaker.make(_seedBlock, word, abi.encodePacked(hex"a0", other));
        // The first member is the parent's hash.
        for (uint256 i = 0; i < 32; ++i) two[4 + i] = other[i];
        assertTrue(keccak256(one) != keccak256(two), "other blocks");
        assertEq(this.prevRandao(one), mixHash, "one");
        assertEq(this.prevRandao(two), mixHash, "two");
    }

    function test_refusesAnotherHeader() public {
        bytes memory header = headerOf(_seedBlock);
        bytes32 blockHash = keccak256(header);
        assertEq(blockhash(_seedBlock), blockHash, "known");
        _refused(headerOf(_seedBlock - 1), blockHash);
        _refused("", blockHash);
        _refused(bytes.concat(header, hex"00"), blockHash);
        _refused(_cut(header, header.length - 1), blockHash);
        // This header has another prevrandao.
        bytes memory forged = HeaderMaker.make(_seedBlock, abi.encodePacked(hex"a0", keccak256("mine")), "");
        _refused(forged, blockHash);
        drawWith(_request, _seedBlock, header);
        _requireDrawn();
    }

    function testFuzz_refusesAChangedByte(uint256 place, uint8 change) public {
        bytes memory header = headerOf(_seedBlock);
        bytes32 blockHash = keccak256(header);
        place = bound(place, 0, header.length - 1);
        header[place] ^= bytes1(uint8(bound(change, 1, 255)));
        _refused(header, blockHash);
    }

    /// @dev Later forks append members to the header.
    function test_readsHeadersWithMoreMembers() public {
        bytes memory word = abi.encodePacked(hex"a0", HeaderMaker.prevRandaoOf(_seedBlock));
        bytes memory more = abi.encodePacked(hex"a0", keccak256("access list"), hex"8203e8", hex"c20102");
        bytes memory header = HeaderMaker.make(_seedBlock, word, more);
        vm.setBlockhash(_seedBlock, keccak256(header));
        drawWith(_request, _seedBlock, header);
        _requireDrawn();
    }

    function test_refusesAChainWithoutABeacon() public {
        bytes memory header = HeaderMaker.make(_seedBlock, abi.encodePacked(hex"a0", bytes32(0)), "");
        vm.setBlockhash(_seedBlock, keccak256(header));
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.NoBeacon.selector, _request.id, _seedBlock));
        drawWith(_request, _seedBlock, header);
        assertTrue(statusOf(_request) == Status.Requested, "waits");
        // The request is not stuck: the seed ends with its epoch.
        vm.roll(3 * LONG_EPOCH);
        drawWith(_request, _seedBlock, "");
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WitnessMismatch.selector, _request.id));
        drawWith(_request, _seedBlock, "");
    }

    /// @dev Even if the chain vouches for the bytes, the library reads nothing outside of them.
    function test_refusesWhatIsNoHeader() public {
        bytes memory good = headerOf(_seedBlock);
        _malformed("", "list", 0);
        _malformed(hex"f9", "list", 0);
        _malformed(hex"f901", "list", 0);
        _malformed(hex"80", "list", 0);
        _malformed(hex"c0", "list", 0);
        // A string of the same length replaces the list.
        _malformed(_with(good, 0, 0xb9), "list", 0);
        _malformed(_with(good, 0, 0xf8), "list", 0);
        _malformed(_cut(good, good.length - 1), "length", 1);
        _malformed(bytes.concat(good, hex"00"), "length", 1);
        _malformed(hex"f90000", "item", 3);
        // Twelve members; then thirteen; then the member that counts is cut short.
        _malformed(_list(12), "item", 15);
        _malformed(_list(13), "mixHash", 16);
        bytes memory members = hex"01010101010101010101010101";
        _malformed(abi.encodePacked(hex"f9002d", members, hex"a0", new bytes(31)), "mixHash", 16);
        _malformed(HeaderMaker.make(_seedBlock, abi.encodePacked(hex"9f", bytes31("short")), ""), "mixHash", 470);
        _malformed(
            HeaderMaker.make(_seedBlock, abi.encodePacked(hex"a1", bytes32("long"), hex"01"), ""),
            "mixHash",
            470
        );
        _malformed(HeaderMaker.make(_seedBlock, hex"80", ""), "mixHash", 470);
        // Members that are longer than the list, and members that no header has: a list, and a string with more than
        // two bytes of length.
        _malformed(hex"f90002b001", "item", 3);
        // The header is one byte too short.
        _malformed(hex"f9000181", "item", 3);
        _malformed(hex"f90003b80201", "item", 3);
        _malformed(hex"f90001b8", "item", 3);
        _malformed(hex"f90002b938", "item", 3);
        _malformed(hex"f90003b9ffff", "item", 3);
        _malformed(hex"f90004ba000001", "item", 3);
        _malformed(hex"f90001c0", "item", 3);
        // The header with all its bytes is accepted.
        assertEq(
            this.prevRandao(abi.encodePacked(hex"f9002e", members, hex"a0", keccak256("x"))),
            keccak256("x"),
            "least"
        );
    }

    /// @dev Random bytes revert with the library's error. The library never reads beyond them and never accepts them as
    /// a header.
    function testFuzz_refusesAnything(bytes calldata anything) public view {
        (bool success, bytes memory result) = address(this).staticcall(abi.encodeCall(this.prevRandao, (anything)));
        assertTrue(!success, "no header");
        assertEq(bytes32(bytes4(result)), bytes32(IDecisionOracle.MalformedHeader.selector), "ours");
        bytes memory framed = abi.encodePacked(hex"f9", uint16(anything.length), anything);
        (success, result) = address(this).staticcall(abi.encodeCall(this.prevRandao, (framed)));
        if (!success) assertEq(bytes32(bytes4(result)), bytes32(IDecisionOracle.MalformedHeader.selector), "framed");
    }

    /// @dev The instruction does not return the hash of a block that is 257 blocks old.
    function test_oldSeedIsReadFromHistory() public {
        bytes memory header = HeaderMaker.make(_seedBlock);
        HistoryChain.install();
        HistoryChain.remember(_seedBlock, keccak256(header));
        vm.roll(_seedBlock + 257);
        assertEq(blockhash(_seedBlock), 0, "out of the window");
        _refused("", keccak256(header));
        drawWith(_request, _seedBlock, header);
        _requireDrawn();
    }

    function test_oldSeedWithoutHistoryIsRescheduled() public {
        // No code, a contract that fails, and contracts that return nothing, too little and too much.
        bytes[5] memory codes = [bytes(""), hex"5f5ffd", hex"00", hex"600160005260016000f3", hex"600160005260406000f3"];
        for (uint256 i = 0; i < codes.length; ++i) {
            vm.etch(HistoryChain.HISTORY, codes[i]);
            vm.roll(_seedBlock + 257);
            drawWith(_request, _seedBlock, "");
            assertTrue(statusOf(_request) == Status.Requested, "rescheduled");
            vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WitnessMismatch.selector, _request.id));
            drawWith(_request, _seedBlock, "");
            _seedBlock += 265;
        }
        vm.roll(_seedBlock + 256);
        drawWith(_request, _seedBlock, headerOf(_seedBlock));
        _requireDrawn();
    }

    /// @dev The history of block hashes does not extend a seed beyond its epoch.
    function test_historyOfAnotherEpochIsNotRead() public {
        bytes memory header = HeaderMaker.make(_seedBlock);
        HistoryChain.install();
        HistoryChain.remember(_seedBlock, keccak256(header));
        vm.roll(3 * LONG_EPOCH);
        assertEq(BlockHashLib.hashOf(_seedBlock), keccak256(header), "known");
        drawWith(_request, _seedBlock, header);
        assertTrue(statusOf(_request) == Status.Requested, "rescheduled");
    }

    function testFuzz_hashesOfTheWindows(uint256 age) public {
        age = bound(age, 1, 2 * HistoryChain.WINDOW);
        HistoryChain.install();
        vm.roll(100_000);
        uint256 blockNumber = block.number - age;
        HistoryChain.remember(blockNumber, keccak256("remembered"));
        bytes32 expected =
            age <= 256
                ? blockhash(blockNumber)
                : age <= HistoryChain.WINDOW
                    ? keccak256("remembered")
                    : bytes32(0);
        assertEq(BlockHashLib.hashOf(blockNumber), expected, "hash");
        assertEq(BlockHashLib.hashOf(block.number), 0, "not yet");
    }

    /// @dev The caller gives little gas, so that the history fails and another seed would be scheduled. The draw runs
    /// out of gas instead.
    function test_historyCannotBeStarved() public {
        bytes memory header = HeaderMaker.make(_seedBlock);
        HistoryChain.install();
        HistoryChain.remember(_seedBlock, keccak256(header));
        vm.roll(_seedBlock + 257);
        bytes memory call = abi.encodeCall(
            oracle.draw,
            (_request, firstRounds[_request.id], _seedBlock, header, new PastRound[](0))
        );
        bool success;
        uint256 limit = 5_000;
        for (; !success; limit += 250) {
            (success, ) = address(oracle).call{gas: limit}(call);
            assertTrue(success == (statusOf(_request) == Status.Drawn), "drawn or nothing");
        }
        assertTrue(limit > 20_000 && limit < 300_000, "tried what is too little");
    }

    function prevRandao(bytes calldata header) external pure returns (bytes32) {
        return HeaderLib.prevRandao(header);
    }

    function _refused(bytes memory header, bytes32 blockHash) private {
        vm.expectRevert(
            abi.encodeWithSelector(IDecisionOracle.HeaderMismatch.selector, _request.id, blockHash, keccak256(header))
        );
        drawWith(_request, _seedBlock, header);
    }

    function _malformed(bytes memory header, bytes32 part, uint256 offset) private {
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.MalformedHeader.selector, part, offset));
        this.prevRandao(header);
        vm.setBlockhash(_seedBlock, keccak256(header));
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.MalformedHeader.selector, part, offset));
        drawWith(_request, _seedBlock, header);
    }

    function _requireDrawn() private view {
        assertTrue(statusOf(_request) == Status.Drawn, "drawn");
    }

    /// @dev A list of this many single bytes.
    function _list(uint256 count) private pure returns (bytes memory) {
        bytes memory members = new bytes(count);
        return abi.encodePacked(hex"f9", uint16(count), members);
    }

    function _with(bytes memory header, uint256 place, uint8 value) private pure returns (bytes memory changed) {
        changed = bytes.concat(header);
        changed[place] = bytes1(value);
    }

    function _cut(bytes memory header, uint256 length) private pure returns (bytes memory shorter) {
        shorter = new bytes(length);
        for (uint256 i = 0; i < length; ++i) shorter[i] = header[i];
    }
}
