// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../../contracts/interfaces/IDecisionOracle.sol";
import {BlockHashLib} from "../../contracts/libraries/BlockHashLib.sol";
import {HeaderLib} from "../../contracts/libraries/HeaderLib.sol";
import {RoundLib} from "../../contracts/libraries/RoundLib.sol";
import {Request, Seat, Status} from "../../contracts/types/Types.sol";
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
        assertEq(keccak256(abi.encode(committeeWith(_request, _seedBlock, header))), expected, "committee");
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
        _proves(header);
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
        _proves(header);
    }

    function test_refusesAChainWithoutABeacon() public {
        bytes memory header = HeaderMaker.make(_seedBlock, abi.encodePacked(hex"a0", bytes32(0)), "");
        vm.setBlockhash(_seedBlock, keccak256(header));
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.NoBeacon.selector, _request.id, _seedBlock));
        this.show(header);
        // The request is not stuck: the attempt ends with its deadline.
        vm.warp(block.timestamp + DURATION + 1);
        refundWith(_request, _seedBlock);
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
        _malformed(_cut(good, good.length - 1), "list", 0);
        _malformed(bytes.concat(good, hex"00"), "list", 0);
        // Twelve members; then thirteen; then the member that counts is cut short.
        _refusedAsMalformed(_list(12));
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
        _refusedAsMalformed(hex"f90000");
        _refusedAsMalformed(hex"f90002b001");
        // The header is one byte too short.
        _refusedAsMalformed(hex"f9000181");
        _refusedAsMalformed(hex"f90003b80201");
        _refusedAsMalformed(hex"f90001b8");
        _refusedAsMalformed(hex"f90002b938");
        _refusedAsMalformed(hex"f90003b9ffff");
        _refusedAsMalformed(hex"f90004ba000001");
        _refusedAsMalformed(hex"f90001c0");
        _refusedAsMalformed(hex"f90009bfffffffffffffffff");
        _refusedAsMalformed(hex"f90001ff");
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
        _proves(header);
    }

    function test_oldSeedWithoutHistoryIsExpired() public {
        bytes memory header = HeaderMaker.make(_seedBlock);
        vm.roll(_seedBlock + 256);
        vm.setBlockhash(_seedBlock, keccak256(header));
        _proves(header);
        vm.expectRevert(_notOver());
        refundWith(_request, _seedBlock);
        vm.roll(_seedBlock + 257);
        // No code, a contract that fails, and contracts that return nothing, too little and too much.
        bytes[5] memory codes = [bytes(""), hex"5f5ffd", hex"00", hex"600160005260016000f3", hex"600160005260406000f3"];
        for (uint256 i = 0; i < codes.length; ++i) {
            vm.etch(HistoryChain.HISTORY, codes[i]);
            _expired(header);
        }
        refundWith(_request, _seedBlock);
        assertTrue(statusOf(_request) == Status.Refunded, "over before its deadline");
    }

    /// @dev The history of block hashes does not extend a seed beyond the epoch after its own.
    function test_epochsBoundTheSeed() public {
        bytes memory header = HeaderMaker.make(_seedBlock);
        HistoryChain.install();
        HistoryChain.remember(_seedBlock, keccak256(header));
        bytes32 committee = keccak256(abi.encode(committeeWith(_request, _seedBlock, headerOf(_seedBlock))));
        vm.roll(3 * LONG_EPOCH);
        assertEq(keccak256(abi.encode(committeeWith(_request, _seedBlock, header))), committee, "the epoch after it");
        vm.expectRevert(_notOver());
        refundWith(_request, _seedBlock);
        vm.roll(4 * LONG_EPOCH);
        HistoryChain.remember(_seedBlock, keccak256(header));
        vm.etch(HistoryChain.HISTORY, abi.encodePacked(hex"7f", keccak256(header), hex"60005260206000f3"));
        assertEq(BlockHashLib.hashOf(_seedBlock), keccak256(header), "known");
        _expired(header);
        refundWith(_request, _seedBlock);
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

    /// @dev The caller gives little gas, so that the history fails and the attempt seems to be over. The call runs out
    /// of gas instead.
    function test_historyCannotBeStarved() public {
        bytes memory header = HeaderMaker.make(_seedBlock);
        HistoryChain.install();
        HistoryChain.remember(_seedBlock, keccak256(header));
        vm.roll(_seedBlock + 257);
        bytes memory call = abi.encodeCall(oracle.refund, (_request, firstRounds[_request.id], _seedBlock));
        for (uint256 limit = 5_000; limit < 60_000; limit += 100) {
            (bool success, ) = address(oracle).call{gas: limit}(call);
            assertTrue(!success, "not over");
        }
        HistoryChain.uninstall();
        (bool refunded, ) = address(oracle).call{gas: 100_000}(call);
        assertTrue(refunded, "with another history it is");
    }

    function prevRandao(bytes calldata header) external pure returns (bytes32) {
        return HeaderLib.prevRandao(header);
    }

    function _refused(bytes memory header, bytes32 blockHash) private {
        vm.expectRevert(
            abi.encodeWithSelector(IDecisionOracle.HeaderMismatch.selector, _request.id, blockHash, keccak256(header))
        );
        this.show(header);
    }

    function _malformed(bytes memory header, bytes32 part, uint256 offset) private {
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.MalformedHeader.selector, part, offset));
        this.prevRandao(header);
        vm.setBlockhash(_seedBlock, keccak256(header));
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.MalformedHeader.selector, part, offset));
        this.show(header);
    }

    /// @dev Where the member should begin follows from bytes behind the header.
    function _refusedAsMalformed(bytes memory header) private {
        vm.expectPartialRevert(IDecisionOracle.MalformedHeader.selector);
        this.prevRandao(header);
    }

    function show(bytes calldata header) external view returns (Seat[] memory) {
        return committeeWith(_request, _seedBlock, header);
    }

    function _proves(bytes memory header) private view {
        assertEq(
            keccak256(abi.encode(committeeWith(_request, _seedBlock, header))),
            keccak256(abi.encode(committeeNow(seedOf(_request, _seedBlock), 4))),
            "proven"
        );
    }

    function _expired(bytes memory header) private {
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.SeedExpired.selector, _request.id, _seedBlock));
        this.show(header);
    }

    function _notOver() private view returns (bytes memory) {
        return
            abi.encodeWithSelector(
                IDecisionOracle.DeadlineNotPassed.selector,
                _request.id,
                RoundLib.deadline(firstRounds[_request.id])
            );
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
