// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {AgentRegistry} from "../../contracts/AgentRegistry.sol";
import {DecisionOracle} from "../../contracts/DecisionOracle.sol";
import {IDecisionOracle} from "../../contracts/interfaces/IDecisionOracle.sol";
import {RoundLib} from "../../contracts/libraries/RoundLib.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {
    Decision,
    DecisionHead,
    PastRound,
    Request,
    RequestTerms,
    Round,
    Seat,
    Seed,
    Status,
    Terms
} from "../../contracts/types/Types.sol";
import {ConclaveTest} from "./utils/ConclaveTest.sol";
import {Draft} from "./utils/Draft.sol";
import {HistoryChain} from "./utils/HistoryChain.sol";
import {vm} from "./utils/Vm.sol";

contract OracleTest is ConclaveTest {
    using RoundLib for Round;
    using SeatLib for Seat;

    /// @dev The request of the walk, and a certificate for it.
    Request private _running;
    bytes private _certificate;

    function setUp() public {
        deployConclave();
        registerAgents(15, MAX_STAKE);
        fund(1e24);
    }

    /// @dev Exactly the sets of more than two thirds of the seats settle, whatever other bits the bitmap has.
    function testFuzz_onlyQuorumsSettle(uint256 size, uint256 signers) public {
        size = bound(size, 4, 10);
        signers = bound(signers, 0, (1 << size) - 1);
        (Request memory request, Seat[] memory committee) = _drawn(size, 1 ether);
        Draft memory decision = decisionFor(size);
        uint256 count = 0;
        for (uint256 bits = signers; bits != 0; bits >>= 1) count += bits & 1;
        bytes memory certificate = certify(request, committee, decision, signers);
        bool settles = 3 * count > 2 * size;
        if (!settles) {
            vm.expectRevert(
                abi.encodeWithSelector(IDecisionOracle.QuorumNotReached.selector, count, (2 * size) / 3 + 1)
            );
        }
        commitWith(request, decision.packed(), certificate);
        assertTrue(statusOf(request) == (settles ? Status.Decided : Status.Requested), "status");
    }

    /// @dev The submitter cannot change any field of a signed decision.
    function testFuzz_everyFieldIsSigned(uint256 field, uint256 change) public {
        field = bound(field, 0, 9);
        (Request memory request, Seat[] memory committee) = _drawn(4, 1 ether);
        Draft memory decision = decisionFor(4);
        bytes memory certificate = certify(request, committee, decision, quorumOf(4));
        change = bound(change, 1, 200);
        if (field == 0) decision.round = uint32(change);
        // The other answer to a yes-or-no question.
        if (field == 1) decision.outcome = 0;
        if (field == 2) decision.answer = abi.encodePacked(change);
        if (field == 3) decision.confidence = uint32(change);
        if (field == 4) decision.transcript = bytes32(change);
        if (field == 5) decision.reputationChanges = abi.encodePacked(uint8(change % 4), int8(-1));
        if (field == 6) decision.shares[change % 4] = 0x02;
        if (field == 8) decision.answered = uint64(change);
        if (field == 9) decision.agreed = uint64(change);
        if (field == 7) (decision.status, decision.outcome, decision.answer) = (Status.Hung, 0, "");
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.InvalidSignature.selector, 0));
        this.tryCommit(request, decision.packed(), certificate);
    }

    function testFuzz_everyWitnessIsChecked(uint256 field, uint256 change) public {
        field = bound(field, 0, 5);
        change = bound(change, 1, type(uint64).max);
        (Request memory request, Seat[] memory committee) = _drawn(4, 1 ether);
        Draft memory decision = decisionFor(4);
        bytes memory certificate = certify(request, committee, decision, quorumOf(4));
        if (field == 0) request.consumer = address(uint160(request.consumer) ^ uint160(change));
        if (field == 1) request.questionHash ^= bytes32(change);
        // The fee is in the highest bits of the terms.
        if (field == 2) request.terms = _flip(request, change << 160);
        // The duration changes.
        if (field == 3) request.terms = _flip(request, 1 << 159);
        if (field == 4) seedBlocks[request.id] ^= uint64(change);
        if (field == 5) firstRounds[request.id] = Round.wrap(Round.unwrap(firstRounds[request.id]) ^ change);
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WitnessMismatch.selector, request.id));
        this.tryCommit(request, decision.packed(), certificate);
    }

    /// @dev The state fixes the attempt: nobody can commit for another one.
    function testFuzz_attemptIsTheRunningOne(uint8 attempt) public {
        vm.assume(attempt != 0);
        (Request memory request, Seat[] memory committee) = _drawn(4, 1 ether);
        Draft memory decision = decisionFor(4);
        decision.attempt = attempt;
        bytes memory certificate = certify(request, committee, decision, quorumOf(4));
        vm.expectRevert(
            abi.encodeWithSelector(IDecisionOracle.InvalidDecision.selector, bytes32("attempt"), uint256(attempt))
        );
        this.tryCommit(request, decision.packed(), certificate);
    }

    /// @dev Changes one bit of the signatures, cuts bytes off and adds some.
    function testFuzz_everyByteOfTheCertificateCounts(uint256 place, uint8 change, uint8 length) public {
        (Request memory request, Seat[] memory committee) = _drawn(4, 1 ether);
        Draft memory decision = decisionFor(4);
        bytes memory certificate = certify(request, committee, decision, quorumOf(4));
        place = bound(place, 8, certificate.length - 1);
        bytes memory wrong = bytes.concat(certificate);
        wrong[place] ^= bytes1(uint8(bound(change, 1, 255)));
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.InvalidSignature.selector, (place - 8) / 64));
        this.tryCommit(request, decision.packed(), wrong);
        vm.assume(length != certificate.length);
        wrong = bytes.concat(certificate, new bytes(64));
        assembly {
            mstore(wrong, length)
        }
        vm.expectPartialRevert(
            // An empty certificate has no signers: they are read from the decision that follows it in calldata.
            length != 0 && length < 8
                ? IDecisionOracle.QuorumNotReached.selector
                : IDecisionOracle.InvalidDecision.selector
        );
        this.tryCommit(request, decision.packed(), wrong);
        this.tryCommit(request, decision.packed(), certificate);
    }

    /// @dev A signature stands for its own seat only, whoever else signs.
    function testFuzz_signatureOfAnotherSeat(uint256 from, uint256 to) public {
        (Request memory request, Seat[] memory committee) = _drawn(7, 1 ether);
        Draft memory decision = decisionFor(7);
        (from, to) = (bound(from, 0, 6), bound(to, 0, 6));
        vm.assume(from != to);
        bytes memory certificate = certify(request, committee, decision, 127);
        for (uint256 i = 0; i < 64; ++i) certificate[8 + 64 * to + i] = certificate[8 + 64 * from + i];
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.InvalidSignature.selector, to));
        this.tryCommit(request, decision.packed(), certificate);
    }

    /// @dev The other signature of the same key, with a high s, does not fit beside the parity.
    function test_highSIsNoSignature() public {
        (Request memory request, Seat[] memory committee) = _drawn(4, 1 ether);
        Draft memory decision = decisionFor(4);
        bytes memory certificate = certify(request, committee, decision, quorumOf(4));
        uint256 order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;
        uint256 parityAndS;
        assembly {
            parityAndS := mload(add(certificate, 0x48))
        }
        uint256 high = order - ((parityAndS << 1) >> 1);
        assembly {
            mstore(add(certificate, 0x48), high)
        }
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.InvalidSignature.selector, 0));
        this.tryCommit(request, decision.packed(), certificate);
    }

    /// @dev Changes the bits above the head's members, and tries every other number of seats.
    function testFuzz_headIsClean(uint256 bit, uint8 seats) public {
        bit = bound(bit, 211, 255);
        vm.assume(seats != 4);
        (Request memory request, Seat[] memory committee) = _drawn(4, 1 ether);
        Draft memory draft = decisionFor(4);
        bytes memory certificate = certify(request, committee, draft, quorumOf(4));
        Decision memory decision = draft.packed();
        DecisionHead clean = decision.head;
        decision.head = DecisionHead.wrap(DecisionHead.unwrap(clean) | (1 << bit));
        vm.expectRevert(
            abi.encodeWithSelector(
                IDecisionOracle.InvalidDecision.selector,
                bytes32("status"),
                DecisionHead.unwrap(decision.head) >> 208
            )
        );
        this.tryCommit(request, decision, certificate);
        decision.head = DecisionHead.wrap((DecisionHead.unwrap(clean) ^ (4 << 192)) | (uint256(seats) << 192));
        vm.expectRevert(
            abi.encodeWithSelector(IDecisionOracle.InvalidDecision.selector, bytes32("seats"), uint256(seats))
        );
        this.tryCommit(request, decision, certificate);
        decision.head = clean;
        this.tryCommit(request, decision, certificate);
    }

    /// @dev The submitter may choose where the byte strings lie in calldata, but not their bytes.
    function test_bytesElsewhereInCalldata() public {
        (Request memory request, Seat[] memory committee) = _drawn(4, 1 ether);
        Draft memory draft = decisionFor(4);
        bytes memory certificate = certify(request, committee, draft, quorumOf(4));
        bytes memory header = headerOf(seedBlocks[request.id]);
        bytes memory data = abi.encodeCall(
            IDecisionOracle.commit,
            (
                request,
                firstRounds[request.id],
                Seed(seedBlocks[request.id], header, new PastRound[](0)),
                certificate,
                draft.packed()
            )
        );
        // The decision begins after 8 words, the seed of 5 words with its header, and the certificate. Its 4th word is the
        // answer's offset, its 5th the merits'.
        uint256 words = 8 + 5 + (header.length + 31) / 32 + 1 + (certificate.length + 31) / 32;
        uint256 position = 4 + 32 * (words + 4) + 31;
        assertEq(uint8(data[position]), 0xe0, "the merits' offset");
        data[position] = 0xa0;
        (bool success, bytes memory reason) = address(oracle).call(data);
        assertTrue(!success, "the answer is no merits");
        assertEq(bytes4(reason), IDecisionOracle.InvalidDecision.selector, "too short");
        // Calldata has zeros beyond its end, so the merits are empty.
        data[position - 1] = 0xff;
        (success, reason) = address(oracle).call(data);
        assertTrue(!success, "nothing is no merits");
        (data[position - 1], data[position]) = (0, 0xe0);
        (success, ) = address(oracle).call(data);
        assertTrue(success, "as it was");
    }

    /// @dev The commit pays everything at once, to the last unit.
    function testFuzz_payReachesOperatorsOrConsumer(uint80 fee, bytes32 shares, bool hung) public {
        fee = uint80(bound(fee, 0, 1e23));
        uint256 before = balance();
        (Request memory request, Seat[] memory committee) = _drawn(7, fee);
        assertEq(balance(), before - fee, "in escrow");
        Draft memory decision = decisionFor(7);
        decision.shares = abi.encodePacked(bytes7(shares));
        if (hung) (decision.status, decision.outcome, decision.answer) = (Status.Hung, 0, "");
        commitWith(request, decision.packed(), certify(request, committee, decision, quorumOf(7)));
        // This contract is consumer and operator of all agents, so everything must come back, to the last unit.
        assertEq(balance(), before, "sum");
        (, , , , bool settled) = oracle.statusOf(request.id);
        assertTrue(settled, "settled by the commit");
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.AlreadySettled.selector, request.id));
        settleWith(request, committee, decision.packed(), relayOf(quorumOf(7)));
    }

    function testFuzz_refundOnlyAfterTheDeadline(uint256 delay, bool drawn, address anybody) public {
        uint256 before = balance();
        (Request memory request, uint64 seedBlock) = ask(termsFor(4, 5 ether));
        if (drawn) drawCommittee(request, seedBlock);
        delay = bound(delay, 0, 2 hours);
        vm.warp(block.timestamp + delay);
        bool late = delay > 1 hours;
        if (!late) vm.expectPartialRevert(IDecisionOracle.DeadlineNotPassed.selector);
        vm.prank(anybody);
        this.passRefund(request, seedBlock);
        assertEq(balance(), late ? before : before - 5 ether, "balance");
        if (!late) return;
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WrongStatus.selector, request.id, Status.Refunded));
        refundWith(request, seedBlock);
    }

    /// @dev SE23: the consumer gets its whole fee back until six blocks before the seed block, and nobody else can.
    function testFuzz_cancelOnlyBeforeAnybodyCanKnow(uint256 at, uint256 blocks, address anybody) public {
        vm.assume(anybody != address(this));
        vm.roll(block.number + bound(at, 0, EPOCH_BLOCKS));
        uint256 before = balance();
        Terms memory terms = termsFor(4, 5 ether);
        terms.callbackGasLimit = 100_000;
        (Request memory request, uint64 seedBlock) = ask(terms);
        Round round = firstRounds[request.id];
        uint256 number = vm.getBlockNumber() + bound(blocks, 0, 40);
        vm.roll(number);
        vm.prank(anybody);
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.NotConsumerOf.selector, request.id, anybody));
        oracle.cancel(request, round, seedBlock);
        if (number + 6 > seedBlock) {
            vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.TooLateToCancel.selector, request.id, 0, seedBlock));
            oracle.cancel(request, round, seedBlock);
            return;
        }
        oracle.cancel(request, round, seedBlock);
        assertEq(balance(), before, "the whole fee is back");
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WrongStatus.selector, request.id, Status.Refunded));
        oracle.cancel(request, round, seedBlock);
        vm.warp(round.deadline() + 1);
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WrongStatus.selector, request.id, Status.Refunded));
        refundWith(request, seedBlock);
    }

    /// @dev RE5: exactly one of the calls that end an attempt succeeds, whatever the block and the time. In the blocks
    /// before the seed block, and in it, only a cancellation can.
    function testFuzz_exactlyOneCallEndsAnAttempt(uint256 blocks, uint256 delay, uint256 retries, bool history) public {
        Terms memory terms = termsFor(4, 5 ether);
        terms.retries = uint8(retries % 2);
        (_running, ) = ask(terms);
        uint64 seedBlock = seedBlocks[_running.id];
        _certificate = certify(_running, drawCommittee(_running, seedBlock), decisionFor(4), quorumOf(4));
        if (history) {
            HistoryChain.install();
            HistoryChain.remember(seedBlock, keccak256(headerOf(seedBlock)));
        } else HistoryChain.uninstall();
        // Many cases lie around the end of the epoch after the seed's, and around the deadline.
        uint256 number = seedBlock - 8 + bound(blocks, 0, blocks % 3 == 0 ? 600 : 3 * EPOCH_BLOCKS);
        vm.roll(number);
        vm.warp(block.timestamp + (delay % 3 == 0 ? bound(delay, 0, 2 hours) : 1 hours - 1 + (delay % 3)));
        bool isKept = number / EPOCH_BLOCKS <= seedBlock / EPOCH_BLOCKS + 1;
        bool isOver = vm.getBlockTimestamp() > firstRounds[_running.id].deadline() || (number > seedBlock && !isKept);
        bool isEarly = number + 6 <= seedBlock;
        bool[4] memory expected = [
            !isOver && number > seedBlock,
            isOver && terms.retries == 0,
            isOver && terms.retries == 1,
            isEarly
        ];
        bytes[4] memory calls = [
            abi.encodeCall(this.commitRunning, ()),
            abi.encodeCall(this.refundRunning, ()),
            abi.encodeCall(this.replaceRunning, ()),
            abi.encodeCall(this.cancelRunning, ())
        ];
        // Each call first, so that no other one hides what it does.
        for (uint256 first = 0; first < 4; ++first) {
            uint256 snapshot = vm.snapshotState();
            bool ended = false;
            for (uint256 i = 0; i < 4; ++i) {
                uint256 index = (first + i) % 4;
                (bool success, ) = address(this).call(calls[index]);
                assertTrue(success == (expected[index] && !ended), "one of them, once");
                ended = ended || success;
            }
            assertTrue(ended == (isOver || isEarly || number > seedBlock), "none only just before the seed block");
            vm.revertToState(snapshot);
        }
    }

    function commitRunning() external {
        commitWith(_running, decisionFor(4).packed(), _certificate);
    }

    function refundRunning() external {
        refundWith(_running, seedBlocks[_running.id]);
    }

    function replaceRunning() external {
        oracle.replace(_running, firstRounds[_running.id], seedBlocks[_running.id]);
    }

    function cancelRunning() external {
        oracle.cancel(_running, firstRounds[_running.id], seedBlocks[_running.id]);
    }

    function test_seedThatCannotBeProvenEndsTheAttempt() public {
        uint256 before = balance();
        (Request memory request, uint64 seedBlock) = ask(termsFor(4, 1 ether));
        vm.roll(seedBlock);
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.SeedNotReady.selector, request.id, seedBlock));
        this.show(request, seedBlock, "");
        Seat[] memory committee = drawCommittee(request, seedBlock);
        // The last block of the next epoch still knows the committee.
        vm.roll((seedBlock / EPOCH_BLOCKS + 2) * EPOCH_BLOCKS - 1);
        bytes memory header = headerOf(seedBlock);
        assertEq(
            keccak256(abi.encode(this.show(request, seedBlock, header))),
            keccak256(abi.encode(committee)),
            "the same"
        );
        vm.roll(block.number + 1);
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.SeedExpired.selector, request.id, seedBlock));
        this.show(request, seedBlock, header);
        Draft memory decision = decisionFor(4);
        bytes memory certificate = certify(request, committee, decision, quorumOf(4));
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.SeedExpired.selector, request.id, seedBlock));
        this.tryCommit(request, decision.packed(), certificate);
        refundWith(request, seedBlock);
        assertEq(balance(), before, "refunded before the deadline");
    }

    function test_seedOfALongEpochLeavesTime() public {
        deployRegistry(7200);
        token.approve(address(registry), type(uint256).max);
        token.approve(address(oracle), type(uint256).max);
        registerAgents(6, MAX_STAKE);
        vm.roll(2 * 7200);
        // The epoch needs 16 more blocks; block 21,599 is its last.
        uint64[2] memory asked = [uint64(21_575), 21_576];
        uint64[2] memory seeds = [uint64(21_583), 21_608];
        for (uint256 i = 0; i < 2; ++i) {
            vm.roll(asked[i]);
            (Request memory request, ) = ask(termsFor(4, 0));
            vm.roll(seeds[i]);
            vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.SeedNotReady.selector, request.id, seeds[i]));
            this.show(request, seeds[i], "");
        }
    }

    /// @dev Later calls of one transaction may leave out the header that the first one brought; other transactions and
    /// other seed blocks may not.
    function test_headerIsProvenOnceInATransaction() public {
        (Request memory one, uint64 seedBlock) = ask(termsFor(4, 1 ether));
        (Request memory two, ) = ask(termsFor(4, 1 ether));
        assertEq(seedBlocks[two.id], seedBlock, "the same block");
        bytes[] memory calls = new bytes[](2);
        calls[0] = _commitOf(two, "");
        calls[1] = _commitOf(one, "");
        oracle.tryMulticall(calls);
        assertTrue(statusOf(one) == Status.Requested && statusOf(two) == Status.Requested, "nobody brought it");
        calls[0] = _commitOf(one, headerOf(seedBlock));
        calls[1] = _commitOf(two, "");
        oracle.tryMulticall(calls);
        assertTrue(statusOf(one) == Status.Decided && statusOf(two) == Status.Decided, "both");
    }

    /// @dev A signer is rotated before the commit: the seat's key signs, the new key does not.
    function test_rotatedSignerStillOwesItsSignature() public {
        (Request memory request, Seat[] memory committee) = _drawn(4, 1 ether);
        Draft memory decision = decisionFor(4);
        bytes memory certificate = certify(request, committee, decision, quorumOf(4));
        for (uint256 i = 0; i < 4; ++i) {
            (bytes memory publicKey, bytes memory possession) = freshKey(address(this));
            registry.rotateSigner(committee[i].agentId(), publicKey, possession);
        }
        commitWith(request, decision.packed(), certificate);
        assertTrue(statusOf(request) == Status.Decided, "status");
    }

    function test_chainAndContractAreSigned() public {
        (Request memory request, Seat[] memory committee) = _drawn(4, 1 ether);
        Draft memory decision = decisionFor(4);
        bytes memory certificate = certify(request, committee, decision, quorumOf(4));
        uint256 chain = this.chainId();
        vm.chainId(chain + 1);
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.InvalidSignature.selector, 0));
        this.tryCommit(request, decision.packed(), certificate);
        vm.chainId(chain);
        this.tryCommit(request, decision.packed(), certificate);
    }

    function tryCommit(Request calldata request, Decision calldata decision, bytes calldata certificate) external {
        commitWith(request, decision, certificate);
    }

    function passRefund(Request calldata request, uint64 seedBlock) external {
        refundWith(request, seedBlock);
    }

    function show(
        Request calldata request,
        uint64 seedBlock,
        bytes calldata header
    ) external view returns (Seat[] memory) {
        return committeeWith(request, seedBlock, header);
    }

    function _commitOf(Request memory request, bytes memory header) private returns (bytes memory) {
        uint64 seedBlock = seedBlocks[request.id];
        Seat[] memory committee = drawCommittee(request, seedBlock);
        Draft memory decision = decisionFor(4);
        bytes memory certificate = certify(request, committee, decision, quorumOf(4));
        Seed memory seed = Seed(seedBlock, header, new PastRound[](0));
        return abi.encodeCall(oracle.commit, (request, firstRounds[request.id], seed, certificate, decision.packed()));
    }

    function _drawn(uint256 size, uint80 fee) private returns (Request memory request, Seat[] memory committee) {
        uint64 seedBlock;
        (request, seedBlock) = ask(termsFor(size, fee));
        committee = drawCommittee(request, seedBlock);
    }

    function _flip(Request memory request, uint256 bits) private pure returns (RequestTerms) {
        return RequestTerms.wrap(RequestTerms.unwrap(request.terms) ^ bits);
    }
}
