// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {AgentRegistry} from "../../contracts/AgentRegistry.sol";
import {DecisionOracle} from "../../contracts/DecisionOracle.sol";
import {IDecisionOracle} from "../../contracts/interfaces/IDecisionOracle.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {Decision, DecisionHead, Relay, Request, RequestTerms, Seat, Status} from "../../contracts/types/Types.sol";
import {ConclaveTest} from "./utils/ConclaveTest.sol";
import {Draft} from "./utils/Draft.sol";
import {vm} from "./utils/Vm.sol";

contract OracleTest is ConclaveTest {
    using SeatLib for Seat;

    function setUp() public {
        deployConclave();
        registerAgents(10, MAX_STAKE);
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
        assertTrue(statusOf(request) == (settles ? Status.Decided : Status.Drawn), "status");
    }

    /// @dev The submitter cannot change any field of a signed decision.
    function testFuzz_everyFieldIsSigned(uint256 field, uint256 change) public {
        field = bound(field, 0, 7);
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
        if (field == 7) (decision.status, decision.outcome, decision.answer) = (Status.Hung, 0, "");
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WitnessMismatch.selector, request.id));
        this.tryCommit(request, decision.packed(), certificate);
    }

    function testFuzz_everyWitnessIsChecked(uint256 field, uint256 change) public {
        field = bound(field, 0, 7);
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
        // The committee's hash changes.
        if (field == 4) certificate[change % 32] ^= bytes1(uint8(change) | 1);
        // Agent id and reputation of a signer change, or the whole seat that did not sign.
        if (field == 5) certificate[40 + 72 * (change % 3) + (change % 8)] ^= bytes1(uint8(change) | 1);
        if (field == 6) certificate[40 + 72 * 3 + (change % 28)] ^= bytes1(uint8(change) | 1);
        if (field == 7) decision.attempt = uint32(bound(change, 1, 255));
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WitnessMismatch.selector, request.id));
        this.tryCommit(request, decision.packed(), certificate);
    }

    /// @dev A signature for another seat, or for two seats, makes another committee.
    function test_signatureOfAnotherSeat() public {
        (Request memory request, Seat[] memory committee) = _drawn(4, 1 ether);
        Draft memory decision = decisionFor(4);
        bytes memory certificate = certify(request, committee, decision, quorumOf(4));
        // The signature of seat 0 also stands on seat 1.
        for (uint256 i = 0; i < 64; ++i) certificate[40 + 72 + 8 + i] = certificate[40 + 8 + i];
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WitnessMismatch.selector, request.id));
        this.tryCommit(request, decision.packed(), certificate);
    }

    /// @dev Changes the bits above the head's members, and tries every other number of seats.
    function testFuzz_headIsClean(uint256 bit, uint8 seats) public {
        bit = bound(bit, 83, 255);
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
                DecisionHead.unwrap(decision.head) >> 80
            )
        );
        this.tryCommit(request, decision, certificate);
        decision.head = DecisionHead.wrap((DecisionHead.unwrap(clean) ^ (4 << 64)) | (uint256(seats) << 64));
        vm.expectRevert(
            abi.encodeWithSelector(IDecisionOracle.InvalidDecision.selector, bytes32("seats"), uint256(seats))
        );
        this.tryCommit(request, decision, certificate);
        decision.head = clean;
        this.tryCommit(request, decision, certificate);
        // The oracle does not accept another head for the settled decision either.
        decision.head = DecisionHead.wrap(DecisionHead.unwrap(clean) | (1 << bit));
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WitnessMismatch.selector, request.id));
        settleWith(request, committee, decision, relayOf(quorumOf(4)));
    }

    /// @dev The submitter may choose where the byte strings lie in calldata, but not their bytes.
    function test_bytesElsewhereInCalldata() public {
        (Request memory request, Seat[] memory committee) = _drawn(4, 1 ether);
        Draft memory draft = decisionFor(4);
        bytes memory certificate = certify(request, committee, draft, quorumOf(4));
        bytes memory data = abi.encodeCall(
            IDecisionOracle.commit,
            (request, firstRounds[request.id], certificate, draft.packed())
        );
        // The decision begins after 7 words and the certificate. Its 4th word is the answer's offset, its 5th the
        // merits'.
        uint256 position = 4 + 32 * (7 + 1 + (certificate.length + 31) / 32 + 4) + 31;
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

    /// @dev The stored decision covers the relay: nobody can claim pay for another gas price or under another name.
    function testFuzz_relayIsKept(uint256 flip) public {
        vm.assume(flip != 0);
        (Request memory request, Seat[] memory committee) = _drawn(4, 1 ether);
        Decision memory decision = decisionFor(4).packed();
        commitWith(request, decision, certify(request, committee, decisionFor(4), quorumOf(4)));
        Relay relay = relayOf(quorumOf(4));
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WitnessMismatch.selector, request.id));
        settleWith(request, committee, decision, Relay.wrap(Relay.unwrap(relay) ^ flip));
        settleWith(request, committee, decision, relay);
    }

    function testFuzz_payReachesOperatorsOrConsumer(uint96 fee, bytes32 shares, bool hung) public {
        fee = uint96(bound(fee, 0, 1e23));
        (Request memory request, Seat[] memory committee) = _drawn(7, fee);
        Draft memory decision = decisionFor(7);
        decision.shares = abi.encodePacked(bytes7(shares));
        if (hung) (decision.status, decision.outcome, decision.answer) = (Status.Hung, 0, "");
        commitWith(request, decision.packed(), certify(request, committee, decision, quorumOf(7)));
        uint256 before = balance();
        // This contract is consumer and operator of all agents, so everything must come back, to the last unit.
        settleWith(request, committee, decision.packed(), relayOf(quorumOf(7)));
        assertEq(balance(), before + fee, "sum");
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.AlreadySettled.selector, request.id));
        settleWith(request, committee, decision.packed(), relayOf(quorumOf(7)));
    }

    function testFuzz_refundOnlyAfterTheDeadline(uint256 delay, bool drawn, address anybody) public {
        (Request memory request, uint64 seedBlock) = ask(termsFor(4, 5 ether));
        bytes memory witness = abi.encode(seedBlock);
        if (drawn) {
            Seat[] memory committee = drawCommittee(request, seedBlock);
            witness = abi.encode(uint32(0), SeatLib.hashMemory(committee));
        }
        delay = bound(delay, 0, 2 hours);
        vm.warp(block.timestamp + delay);
        uint256 before = balance();
        bool late = delay > 1 hours;
        if (!late) vm.expectPartialRevert(IDecisionOracle.DeadlineNotPassed.selector);
        vm.prank(anybody);
        this.passRefund(request, witness);
        assertEq(balance(), late ? before + 5 ether : before, "balance");
        if (!late) return;
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WrongStatus.selector, request.id, Status.Refunded));
        refundWith(request, witness);
    }

    function test_seedOfAnotherEpochIsRescheduled() public {
        (Request memory request, uint64 seedBlock) = ask(termsFor(4, 0));
        vm.roll(seedBlock);
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.SeedNotReady.selector, request.id, seedBlock));
        drawWith(request, seedBlock, "");
        for (uint256 i = 0; i < 3; ++i) {
            vm.roll(seedBlock + 257);
            drawWith(request, seedBlock, "");
            assertTrue(statusOf(request) == Status.Requested, "not drawn");
            vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WitnessMismatch.selector, request.id));
            drawWith(request, seedBlock, "");
            seedBlock = seedBlockAfter(block.number);
        }
        vm.roll(seedBlock + 1);
        drawWith(request, seedBlock, headerOf(seedBlock));
        assertTrue(statusOf(request) == Status.Drawn, "drawn in time");
    }

    function test_seedOfALongEpochLeavesTimeToDraw() public {
        deployRegistry(7200);
        token.approve(address(registry), type(uint256).max);
        // The epoch needs 16 more blocks; block 21,599 is its last.
        uint64[2] memory asked = [uint64(21_575), 21_576];
        uint64[2] memory seeds = [uint64(21_583), 21_608];
        for (uint256 i = 0; i < 2; ++i) {
            vm.roll(asked[i]);
            (Request memory request, ) = ask(termsFor(4, 0));
            vm.roll(seeds[i]);
            vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.SeedNotReady.selector, request.id, seeds[i]));
            drawWith(request, seeds[i], "");
        }
    }

    /// @dev A signer is rotated between draw and commit: the seat's key signs, the new key does not.
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
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.WitnessMismatch.selector, request.id));
        this.tryCommit(request, decision.packed(), certificate);
        vm.chainId(chain);
        this.tryCommit(request, decision.packed(), certificate);
    }

    function tryCommit(Request calldata request, Decision calldata decision, bytes calldata certificate) external {
        commitWith(request, decision, certificate);
    }

    function passRefund(Request calldata request, bytes calldata witness) external {
        refundWith(request, witness);
    }

    function _drawn(uint256 size, uint96 fee) private returns (Request memory request, Seat[] memory committee) {
        uint64 seedBlock;
        (request, seedBlock) = ask(termsFor(size, fee));
        committee = drawCommittee(request, seedBlock);
    }

    function _flip(Request memory request, uint256 bits) private pure returns (RequestTerms) {
        return RequestTerms.wrap(RequestTerms.unwrap(request.terms) ^ bits);
    }
}
