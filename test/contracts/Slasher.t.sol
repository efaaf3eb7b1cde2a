// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {Slasher} from "../../contracts/Slasher.sol";
import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {IDecisionOracle} from "../../contracts/interfaces/IDecisionOracle.sol";
import {ISlasher} from "../../contracts/interfaces/ISlasher.sol";
import {DecisionLib} from "../../contracts/libraries/DecisionLib.sol";
import {RequestLib} from "../../contracts/libraries/RequestLib.sol";
import {RequestState, RequestStateLib} from "../../contracts/libraries/RequestState.sol";
import {RoundLib} from "../../contracts/libraries/RoundLib.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {
    AgentId,
    Currency,
    DecidedRound,
    DecisionHead,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Seat,
    Service,
    Status,
    Terms
} from "../../contracts/types/Types.sol";
import {ConclaveTest} from "./utils/ConclaveTest.sol";
import {Draft} from "./utils/Draft.sol";
import {Vm, vm} from "./utils/Vm.sol";

/// @dev An oracle whose answer can be set.
contract StateStub {
    RequestState private _state;

    function setState(RequestState state) external {
        _state = state;
    }

    function stateOf(RequestId) external view returns (RequestState) {
        return _state;
    }
}

/// @dev Which stake a proof takes, and which evidence is not a proof.
contract SlasherTest is ConclaveTest {
    using SeatLib for Seat;

    AgentId private constant AGENT = AgentId.wrap(1);
    address private constant REPORTER = address(0x4e90);
    address private constant DELEGATOR = address(0xde1e);
    uint256 private constant ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;

    function setUp() public {
        deployConclave();
        registerAgents(6, 2 ether);
        token.mint(DELEGATOR, 1e24);
        vm.startPrank(DELEGATOR);
        token.approve(address(registry), type(uint256).max);
        registry.bond(AGENT, 6 ether);
        vm.stopPrank();
        decideForEvidence(2);
    }

    /// @dev ST6, ST9: every account loses a tenth. The reporter gets a tenth of the operator's loss, the treasury gets
    /// the rest.
    function test_slashesBondedAndUnbondingStake() public {
        registry.startUnbonding(AGENT, 1 ether);
        vm.prank(DELEGATOR);
        registry.startUnbonding(AGENT, 2 ether);
        bytes32 others = _othersHash();
        Equivocation memory pair = equivocation(AGENT, 0);
        submitAs(REPORTER, pair);

        IAgentRegistry.Agent memory agent = registry.getAgent(AGENT);
        assertEq(agent.bonded.assets, 4.5 ether, "bonded");
        assertEq(agent.unbonding.assets, 2.7 ether, "unbonding");
        assertTrue(!agent.active, "the operator's own is below the minimum");
        _assertPosition(address(this), 0.9 ether, 0.9 ether);
        _assertPosition(DELEGATOR, 3.6 ether, 1.8 ether);
        assertEq(registry.owedTo(REPORTER), 0.05 ether, "the least: a twentieth of minStake");
        assertEq(registry.owedTo(TREASURY), 0.75 ether, "the rest");
        assertEq(_othersHash(), others, "ST6: nobody else's");

        vm.prank(REPORTER);
        registry.claim(address(0xbeef));
        assertEq(token.balanceOf(address(0xbeef)), 0.05 ether, "claimed");
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NothingOwed.selector, REPORTER));
        vm.prank(REPORTER);
        registry.claim(REPORTER);
    }

    /// @dev ST6: one slash for each agent, request and attempt, whatever the proof.
    function test_isConsumedOnce() public {
        assertTrue(!slasher.isConsumed(AGENT, decidedIds[0], 0), "open");
        submit(equivocation(AGENT, 0));
        assertTrue(slasher.isConsumed(AGENT, decidedIds[0], 0), "consumed");
        Equivocation memory other = equivocation(AGENT, 0);
        other.slot.phase = 7;
        _sign(other, keys[registry.getAgent(AGENT).signer]);
        bytes memory consumed = abi.encodeWithSelector(ISlasher.EvidenceConsumed.selector, AGENT, other.request.id, 0);
        vm.expectRevert(consumed);
        this.submitPair(other);
        vm.expectRevert(consumed);
        this.submitBodies(AGENT, 0, _body("a"), 0, _body("b"));

        vm.warp(vm.getBlockTimestamp() + 7 days);
        submit(equivocation(AGENT, 1));
        submit(equivocation(AgentId.wrap(2), 0));
        assertEq(registry.getAgent(AGENT).bonded.assets, 6.48 ether, "8 x 0.9^2");
    }

    function test_orderOfThePairDoesNotMatter() public {
        Equivocation memory pair = equivocation(AGENT, 0);
        (pair.firstPayload, pair.secondPayload) = (pair.secondPayload, pair.firstPayload);
        (pair.firstSignature, pair.secondSignature) = (pair.secondSignature, pair.firstSignature);
        submit(pair);
        assertTrue(slasher.isConsumed(AGENT, decidedIds[0], 0), "consumed");
    }

    /// @dev ST7: the agent leaves in the first block of the longest epoch, is drawn at its end, its committee decides in the last second,
    /// and the agent is proven guilty in the last second of the longest request's window.
    function test_unbondingCannotOutrunEvidence() public {
        nextEpoch();
        for (uint32 id = 1; id <= 6; ++id) {
            AgentId agentId = AgentId.wrap(id);
            registry.startUnbonding(agentId, registry.positionOf(agentId, address(this)).shares);
        }
        vm.warp(block.timestamp + 2 days);
        Terms memory terms = termsFor(4, 0);
        terms.duration = 7 days;
        (Request memory request, uint64 seedBlock) = ask(terms);
        uint256 end = vm.getBlockTimestamp() + 7 days + 7 days;
        Seat[] memory committee = drawCommittee(request, seedBlock);
        AgentId drawn = committee[0].agentId();
        uint256 leaving = registry.getAgent(drawn).unbonding.assets;
        vm.warp(end - 7 days);
        Equivocation memory pair = _decided(request, committee, committee[0].signer());

        vm.warp(end - 1);
        vm.expectPartialRevert(IAgentRegistry.StillUnbonding.selector);
        registry.withdrawStake(drawn, address(this));
        submit(pair);
        assertEq(registry.getAgent(drawn).unbonding.assets, leaving - leaving / 10, "slashed");
        vm.warp(end);
        assertEq(registry.withdrawStake(drawn, address(this)), leaving - leaving / 10, "what is left");
    }

    /// @dev ST6: a key that was rotated out proves what it signed as long as stake that left with it can be slashed.
    function test_worksAfterRotation() public {
        (Equivocation memory pair, Equivocation memory late) = (equivocation(AGENT, 0), equivocation(AGENT, 1));
        address signer = registry.getAgent(AGENT).signer;
        (bytes memory publicKey, bytes memory possession) = freshKey(address(this));
        registry.rotateSigner(AGENT, publicKey, possession);
        uint40 end = uint40(block.timestamp) + UNBONDING_DELAY;
        vm.warp(end);
        submit(pair);
        assertEq(registry.getAgent(AGENT).bonded.assets, 7.2 ether, "slashed");
        vm.warp(end + 1);
        vm.expectRevert(abi.encodeWithSelector(ISlasher.KeyHasEnded.selector, signer, end));
        this.submitPair(late);
        vm.warp(end + 7 days);
        nextEpoch();
        decideForEvidence(1);
        submit(equivocation(AGENT, 2));
        assertEq(registry.getAgent(AGENT).bonded.assets, 6.48 ether, "the key in use");
    }

    /// @dev ST10: a proof counts for what is on record, and for nothing else.
    function test_anInventedRecordProvesNothing() public {
        Equivocation memory good = equivocation(AGENT, 0);
        uint256 key = keys[registry.getAgent(AGENT).signer];
        bytes memory reason = abi.encodeWithSelector(IDecisionOracle.WitnessMismatch.selector, decidedIds[0]);
        for (uint256 member = 0; member < 12; ++member) {
            Equivocation memory bad = _copy(good);
            DecidedRound memory round = bad.held.rounds[0];
            if (member == 0) bad.request.consumer = address(1);
            else if (member == 1) bad.request.terms = RequestTerms.wrap(RequestTerms.unwrap(bad.request.terms) ^ 1);
            else if (member == 2) bad.request.questionHash = "another question";
            else if (member == 3) bad.held.rounds = new DecidedRound[](0);
            else if (member == 4) bad.held.rounds = _twice(round);
            else if (member == 5) round.round = Round.wrap(Round.unwrap(round.round) + 1);
            else if (member == 6) round.committee[5] = SeatLib.pack(2, AGENT, 1_000_000, vm.addr(key));
            else if (member == 7) round.decision.head = DecisionHead.wrap(DecisionHead.unwrap(round.decision.head) + 1);
            else if (member == 8) round.decision.outcome = "other";
            else if (member == 9) round.decision.answer = "other";
            else if (member == 10) round.relay = Relay.wrap(Relay.unwrap(round.relay) + 1);
            else round.round = Round.wrap(Round.unwrap(round.round) | (1 << 48));
            if (member != 3) _sign(bad, key);
            _assertRefused(bad, reason);
        }
        submit(good);
    }

    /// @dev ST10: what an agent signed proves nothing about a request in which it did not sit, also in the place of another seat.
    function test_aLeakedKeyProvesNothingWhereItsAgentDidNotSit() public {
        decideForEvidence(48);
        AgentId newcomer = registerAgent(2 ether);
        uint256 key = keys[registry.getAgent(newcomer).signer];
        for (uint256 i = 0; i < 50; ++i) {
            (Request memory request, DecidedRound[] memory rounds) = decided(i);
            ISlasher.HeldSeat memory held;
            (held.rounds, held.seat) = (rounds, i % 6);
            _assertRefused(equivocationBy(key, request, held), _notHeld(request, 0, i % 6));
        }
        Equivocation memory pair = equivocation(AGENT, 0);
        pair.held.seat = 6;
        _sign(pair, key);
        _assertRefused(pair, _notHeld(pair.request, 0, 6));
        pair.held.seat = uint256(type(uint32).max) + 1;
        _assertRefused(pair, _notHeld(pair.request, 0, pair.held.seat));
        (pair.held.seat, pair.held.index) = (0, 1);
        _assertRefused(pair, _notHeld(pair.request, 1, 0));
        assertEq(registry.getAgent(newcomer).bonded.assets, 2 ether, "nothing is lost");
        submit(equivocation(AGENT, 0));
    }

    /// @dev ST10: a seat is held with one key. A key that its agent got later signed nothing for it.
    function test_aLaterKeyOfTheAgentProvesNothing() public {
        (bytes memory publicKey, bytes memory possession) = freshKey(address(this));
        registry.rotateSigner(AGENT, publicKey, possession);
        Equivocation memory pair = equivocation(AGENT, 0);
        uint256 seat = pair.held.seat;
        _sign(pair, keys[registry.getAgent(AGENT).signer]);
        _assertRefused(pair, _notHeld(pair.request, 0, seat));
        submit(equivocation(AGENT, 0));
    }

    /// @dev ST6: a leaked key costs a tenth a week, whatever it signed, until it proves nothing any more. Here everything
    /// that is left after 50 proofs was once 0.5 %.
    function test_aLeakedKeyTakesATenthAWeek() public {
        decideForEvidence(48);
        (bytes memory publicKey, bytes memory possession) = freshKey(address(this));
        registry.rotateSigner(AGENT, publicKey, possession);
        uint256 slashes = 0;
        for (uint256 i = 0; i < 50; ++i) {
            try this.submitPair(equivocation(AGENT, i)) {
                ++slashes;
            } catch (bytes memory reason) {
                bytes4 name = bytes4(reason);
                bool isOver = i == 49 && name == ISlasher.KeyHasEnded.selector;
                assertTrue(name == ISlasher.SlashedRecently.selector || isOver, "another reason");
            }
            vm.warp(vm.getBlockTimestamp() + UNBONDING_DELAY / 48);
        }
        assertEq(slashes, 3, "at once, after seven days, after fourteen");
        assertEq(registry.getAgent(AGENT).bonded.assets, 5.832 ether, "8 x 0.9^3");
    }

    /// @dev ST6: what came too soon is still evidence.
    function test_evidenceWaitsForTheNextWeek() public {
        submit(equivocation(AGENT, 0));
        uint256 due = vm.getBlockTimestamp() + 7 days;
        Equivocation memory pair = equivocation(AGENT, 1);
        _assertRefused(pair, abi.encodeWithSelector(ISlasher.SlashedRecently.selector, AGENT, due));
        vm.warp(due - 1);
        _assertRefused(pair, abi.encodeWithSelector(ISlasher.SlashedRecently.selector, AGENT, due));
        vm.warp(due);
        submit(pair);
        assertEq(registry.getAgent(AGENT).bonded.assets, 6.48 ether, "8 x 0.9^2");
    }

    /// @dev ST11: who sees a proof on its way to the chain has committed to nothing.
    function test_copiedEvidenceIsRefused() public {
        Equivocation memory pair = equivocation(AGENT, 0);
        commitAs(REPORTER, pair.firstSignature, pair.secondSignature);
        address copier = address(0xbad);
        vm.expectPartialRevert(ISlasher.EvidenceNotCommitted.selector);
        this.showAs(copier, pair);
        vm.prank(copier);
        slasher.commitEvidence(keccak256(abi.encode(copier, pair.firstSignature, pair.secondSignature)));
        vm.expectPartialRevert(ISlasher.EvidenceTooEarly.selector);
        this.showAs(copier, pair);
        // A second commitment to the same is no later one.
        vm.prank(copier);
        slasher.commitEvidence(keccak256(abi.encode(REPORTER, pair.firstSignature, pair.secondSignature)));
        this.showAs(REPORTER, pair);
        assertEq(registry.owedTo(REPORTER), 0.05 ether, "the reporter has the reward");
        assertEq(registry.owedTo(copier), 0, "the copier has nothing");
    }

    /// @dev ST9: the reward is a tenth of the operator's loss, at least minStake / 20, at most half of that loss.
    function test_theLeastReward() public {
        registry.bond(AgentId.wrap(2), 6 ether);
        submitAs(REPORTER, equivocation(AgentId.wrap(2), 0));
        assertEq(registry.owedTo(REPORTER), 0.08 ether, "a tenth of 0.8");
        registry.startUnbonding(AgentId.wrap(3), 2 ether);
        vm.warp(vm.getBlockTimestamp() + UNBONDING_DELAY);
        registry.withdrawStake(AgentId.wrap(3), address(this));
        registry.bond(AgentId.wrap(3), 0.6 ether);
        submitAs(REPORTER, equivocation(AgentId.wrap(3), 0));
        assertEq(registry.owedTo(REPORTER), 0.11 ether, "half of 0.06");
    }

    function showAs(address reporter, Equivocation memory pair) external {
        vm.prank(reporter);
        showPair(pair);
    }

    /// @dev ST9: an operator that leaves first and then reports itself gets no part of its delegators' loss.
    function test_selfReportDoesNotPay() public {
        submit(equivocation(AGENT, 0));
        assertEq(registry.owedTo(address(this)), 0.05 ether, "a quarter of its own 0.2");
        registry.startUnbonding(AGENT, registry.positionOf(AGENT, address(this)).shares);
        vm.warp(block.timestamp + UNBONDING_DELAY);
        registry.withdrawStake(AGENT, address(this));
        submit(equivocation(AGENT, 1));
        assertEq(registry.owedTo(address(this)), 0.05 ether, "nothing for its delegators' 0.54");
        assertEq(registry.owedTo(TREASURY), 0.75 ether + 0.54 ether, "the treasury");
    }

    /// @dev ST8: an agent that has evidence consumed with almost no stake exits for good.
    function test_aSlashOfAnInactiveAgentIsItsExit() public {
        AgentId agentId = AgentId.wrap(2);
        registry.startUnbonding(agentId, 2 ether);
        vm.warp(block.timestamp + UNBONDING_DELAY);
        registry.withdrawStake(agentId, address(this));
        registry.bond(agentId, 1000);
        assertTrue(!registry.getAgent(agentId).exited, "it may come back");
        vm.recordLogs();
        submit(equivocation(agentId, 0));
        assertEq(_exitsAnnounced(), 1, "announced");
        assertEq(registry.getAgent(agentId).bonded.assets, 900, "100 units");
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.AgentHasExited.selector, agentId));
        registry.bond(agentId, MAX_STAKE - 900);
        nextEpoch();
        assertEq(registry.drawableCount(), 5, "never drawn");

        vm.recordLogs();
        submit(equivocation(AGENT, 0));
        assertTrue(!registry.getAgent(AGENT).exited, "an active agent only pays");
        vm.warp(vm.getBlockTimestamp() + 7 days);
        submit(equivocation(agentId, 1));
        assertEq(_exitsAnnounced(), 0, "once");
    }

    function _exitsAnnounced() private returns (uint256 count) {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].topics[0] == IAgentRegistry.AgentExited.selector) ++count;
        }
    }

    /// @dev ST10: an attempt without a decision has no record, so nobody is slashed for it.
    function test_nothingIsConsumedBeforeTheDecision() public {
        (Request memory request, uint64 seedBlock) = ask(termsFor(4, 0));
        Seat[] memory committee = drawCommittee(request, seedBlock);
        Draft memory decision = decisionFor(4);
        ISlasher.HeldSeat memory held;
        held.rounds = oneRound(request, committee, decision, quorumOf(4));
        Equivocation memory pair = equivocationBy(keys[committee[0].signer()], request, held);
        (pair.held.running, pair.held.seedBlock) = (firstRounds[request.id], seedBlock);
        bytes memory reason = abi.encodeWithSelector(IDecisionOracle.WitnessMismatch.selector, request.id);
        _assertRefused(pair, reason);
        pair.held.rounds = new DecidedRound[](0);
        _assertRefused(pair, reason);

        submit(_decided(request, committee, committee[0].signer()));
        assertTrue(slasher.isConsumed(committee[0].agentId(), request.id, 0), "slashed after the decision");
    }

    /// @dev ST10: a record is proven by the last decision, or by the link of the running round, whichever the status says.
    function test_theStatusSaysWhatProvesARecord() public {
        Equivocation memory pair = equivocation(AGENT, 0);
        DecidedRound memory round = pair.held.rounds[0];
        bytes32 committeeHash = keccak256(abi.encodePacked(round.committee));
        bytes32 structHash = structHashOf(pair.request, round.committee, decisionFor(6));
        uint256 link = RoundLib.linkAfter(round.round, committeeHash, structHash, round.relay, address(0));
        pair.held.running = RoundLib.pack(link, 0, 7);
        pair.held.seedBlock = 9;
        bytes32 requestHash = keccak256(abi.encode(pair.request));
        bytes32 requested = RequestLib.requestedCommitment(requestHash, pair.held.running, 9);
        bytes32 settled = RequestLib.settledCommitment(structHash, round.relay, round.round);
        bytes memory reason = abi.encodeWithSelector(IDecisionOracle.WitnessMismatch.selector, pair.request.id);
        vm.etch(address(oracle), type(StateStub).runtimeCode);
        for (uint8 status = 0; status <= uint8(type(Status).max); ++status) {
            bool isRequested = status == uint8(Status.Requested);
            bool isDecided = status == uint8(Status.Decided) || status == uint8(Status.Hung);
            _setState(
                status,
                isRequested
                    ? settled
                    : isDecided
                        ? requested
                        : bytes32(0)
            );
            _assertRefused(pair, reason);
            _setState(status, isRequested ? requested : settled);
            if (!isRequested && !isDecided) continue;
            if (isRequested) {
                Equivocation memory bad = _copy(pair);
                bad.held.seedBlock = 10;
                _assertRefused(bad, reason);
                // The link is another one, and the word covers it.
                bad = _copy(pair);
                bad.held.running = RoundLib.pack(link + 1, 0, 7);
                _setState(status, RequestLib.requestedCommitment(requestHash, bad.held.running, 9));
                _assertRefused(bad, reason);
                _setState(status, requested);
            }
            uint256 before = vm.snapshotState();
            submit(pair);
            assertTrue(vm.revertToState(before), "reverted");
        }
    }

    function test_nothingToSlashIsNotConsumed() public {
        AgentId agentId = AgentId.wrap(2);
        registry.startUnbonding(agentId, 2 ether);
        vm.warp(block.timestamp + UNBONDING_DELAY);
        registry.withdrawStake(agentId, address(this));
        Equivocation memory pair = equivocation(agentId, 0);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NothingToSlash.selector, agentId));
        this.submitPair(pair);
        registry.bond(agentId, 1 ether);
        submit(pair);
        assertEq(registry.getAgent(agentId).bonded.assets, 0.9 ether, "slashed once it has something");
    }

    function test_refusesWhatIsNoProof() public {
        Equivocation memory pair = equivocation(AGENT, 0);
        address signer = registry.getAgent(AGENT).signer;
        uint256 key = keys[signer];

        Equivocation memory bad = _copy(pair);
        (bad.secondPayload, bad.secondSignature) = (bad.firstPayload, bad.firstSignature);
        _assertRefused(bad, abi.encodeWithSelector(ISlasher.NoConflict.selector));

        bad = _copy(pair);
        address second = registry.getAgent(AgentId.wrap(2)).signer;
        bad.secondSignature = signMessage(keys[second], _hashOf(0), placeOf(bad), bad.secondPayload);
        _assertRefused(bad, abi.encodeWithSelector(ISlasher.InvalidEvidence.selector, signer, second));

        bad = _copy(pair);
        _sign(bad, 1);
        _assertRefused(bad, _notHeld(bad.request, 0, bad.held.seat));

        bad = _copy(pair);
        bad.firstSignature = _malleable(bad.firstSignature);
        _assertRefused(bad, abi.encodeWithSelector(ISlasher.InvalidEvidence.selector, address(0), signer));
        bad.secondSignature = _malleable(bad.secondSignature);
        _assertRefused(bad, abi.encodeWithSelector(ISlasher.InvalidEvidence.selector, address(0), address(0)));

        bad = _copy(pair);
        bad.firstSignature[64] = bytes1(uint8(bad.firstSignature[64]) - 27);
        _assertRefused(bad, abi.encodeWithSelector(ISlasher.InvalidEvidence.selector, address(0), signer));
        bad.firstSignature = bytes.concat(pair.firstSignature, hex"00");
        _assertRefused(bad, abi.encodeWithSelector(ISlasher.InvalidEvidence.selector, address(0), signer));

        // Two slots are no conflict: every member of the slot counts.
        for (uint256 member = 0; member < 7; ++member) {
            bad = _copy(pair);
            (bytes32 requestHash, Slot memory place) = (_hashOf(0), placeOf(pair));
            if (member == 0) requestHash = "x";
            else if (member == 1) place.committeeHash = "x";
            else if (member == 2) place.attempt = 9;
            else if (member == 3) place.protocol = 9;
            else if (member == 4) place.phase = 9;
            else if (member == 5) place.round = 9;
            else place.seat = 9;
            bad.secondSignature = signMessage(key, requestHash, place, bad.secondPayload);
            _assertRefusedAsUnknown(bad);
        }
    }

    /// @dev A signature for another chain or another oracle proves nothing.
    function test_refusesOtherDomains() public {
        Equivocation memory pair = equivocation(AGENT, 0);
        uint256 chain = this.chainId();
        vm.chainId(chain + 1);
        _assertRefusedAsUnknown(pair);
        vm.chainId(chain);
        Slasher earlier = slasher;
        deployRegistry(EPOCH_BLOCKS);
        Equivocation memory foreign = equivocation(AGENT, 0);
        (slasher, earlier) = (earlier, slasher);
        _assertRefusedAsUnknown(foreign);
        submit(pair);
    }

    function test_decisionsOfOneBallot() public {
        vm.expectRevert(abi.encodeWithSelector(ISlasher.NoConflict.selector));
        this.submitBodies(AGENT, 3, _body("a"), 3, _body("a"));
        // After an unlock, an honest agent may sign another decision in another ballot.
        vm.expectPartialRevert(ISlasher.InvalidEvidence.selector);
        this.submitBodies(AGENT, 3, _body("a"), 4, _body("b"));
        vm.expectPartialRevert(ISlasher.EvidenceNotCommitted.selector);
        this.submitBodies(AGENT, 3, _body("a"), 3, _body("b"));
        Equivocation memory pair = equivocation(AGENT, 0);
        bytes memory first = _signDecision(pair, 3, _body("a"));
        bytes memory second = _signDecision(pair, 3, _body("b"));
        commitAs(REPORTER, first, second);
        vm.prank(REPORTER);
        slasher.submitDecisions(pair.request, pair.held, 3, _body("a"), first, _body("b"), second);
        assertEq(registry.getAgent(AGENT).bonded.assets, 7.2 ether, "slashed");
        assertEq(registry.owedTo(REPORTER), 0.05 ether, "rewarded");
    }

    /// @dev The slasher hashes the same struct that seats sign for the oracle.
    function test_decisionHashIsTheOracles() public {
        fund(1 ether);
        (Request memory request, uint64 seedBlock) = ask(termsFor(4, 0));
        Seat[] memory committee = drawCommittee(request, seedBlock);
        uint256 key = keys[committee[2].signer()];
        Draft memory decision = decisionFor(4);
        decision.reputationChanges = hex"0001";
        bytes memory first = signDigest(key, decisionDigest(request, committee, decision));
        ISlasher.DecisionBody memory yes = _bodyOf(decision);
        decision.outcome = 0;
        decision.answer = "no";
        bytes memory second = signDigest(key, decisionDigest(request, committee, decision));
        commitWith(request, decision.packed(), certify(request, committee, decision, quorumOf(4)));
        ISlasher.HeldSeat memory held;
        held.rounds = oneRound(request, committee, decision, quorumOf(4));
        held.seat = 2;
        commitAs(address(this), first, second);
        slasher.submitDecisions(request, held, decision.round, yes, first, _bodyOf(decision), second);
        assertTrue(slasher.isConsumed(committee[2].agentId(), request.id, 0), "slashed");
    }

    function test_onlyTheSlasherSlashes() public {
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NotSlasher.selector, address(this)));
        registry.slash(AGENT, address(this));
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NotOracle.selector, address(this)));
        registry.recordServices(Currency.Token, new Service[](0));
        vm.expectRevert(abi.encodeWithSelector(ISlasher.NotBound.selector, address(slasher)));
        new Slasher(registry);
    }

    /// @dev ST8: an agent below the exit reputation stays out for good, whatever happens later.
    function test_exitIsForGood() public {
        for (uint256 i = 0; i < 10; ++i) {
            moveReputation(AGENT, -1);
            vm.warp(vm.getBlockTimestamp() + 7 days);
        }
        assertEq(registry.getAgent(AGENT).reputation, 107_373, "0.8^10, rounded down at each step");
        assertTrue(registry.getAgent(AGENT).active, "still in");
        moveReputation(AGENT, -1);
        assertTrue(registry.getAgent(AGENT).exited && !registry.getAgent(AGENT).active, "out");
        assertEq(registry.activeCount(), 5, "five are left");
        moveReputation(AGENT, 127);
        assertEq(registry.getAgent(AGENT).reputation, 1_000_000, "a reputation comes back");
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.AgentHasExited.selector, AGENT));
        registry.bond(AGENT, 1 ether);
        (bytes memory publicKey, bytes memory possession) = freshKey(address(this));
        registry.rotateSigner(AGENT, publicKey, possession);
        nextEpoch();
        assertEq(registry.drawableCount(), 5, "never drawn");
        submit(equivocation(AGENT, 0));
        vm.prank(DELEGATOR);
        (uint128 amount, ) = registry.startUnbonding(AGENT, 6 ether);
        assertEq(amount, 5.4 ether, "delegators leave");
        assertEq(registry.activeCount(), 5, "still out");
    }

    function submitPair(Equivocation memory pair) external {
        submit(pair);
    }

    /// @dev Shows two decisions that the agent signed in these ballots; the first ballot is the one in the call.
    function submitBodies(
        AgentId agentId,
        uint32 ballot,
        ISlasher.DecisionBody memory first,
        uint32 otherBallot,
        ISlasher.DecisionBody memory second
    ) external {
        Equivocation memory pair = equivocation(agentId, 0);
        bytes memory firstSignature = _signDecision(pair, ballot, first);
        bytes memory secondSignature = _signDecision(pair, otherBallot, second);
        slasher.submitDecisions(pair.request, pair.held, ballot, first, firstSignature, second, secondSignature);
    }

    /// @dev Lets the first three seats decide, and returns two payloads that a signer of the first seat signed for one slot.
    function _decided(
        Request memory request,
        Seat[] memory committee,
        address signer
    ) private returns (Equivocation memory) {
        Draft memory decision = decisionFor(4);
        commitWith(request, decision.packed(), certify(request, committee, decision, quorumOf(4)));
        ISlasher.HeldSeat memory held;
        held.rounds = oneRound(request, committee, decision, quorumOf(4));
        return equivocationBy(keys[signer], request, held);
    }

    /// @dev Signs both payloads with a key, for the place that the proof has now.
    function _sign(Equivocation memory pair, uint256 key) private view {
        (bytes32 requestHash, Slot memory place) = (keccak256(abi.encode(pair.request)), placeOf(pair));
        pair.firstSignature = signMessage(key, requestHash, place, pair.firstPayload);
        pair.secondSignature = signMessage(key, requestHash, place, pair.secondPayload);
    }

    function _setState(uint8 status, bytes32 commitment) private {
        StateStub(address(oracle)).setState(RequestStateLib.make(Status(status), 0, commitment));
    }

    function _notHeld(Request memory request, uint256 index, uint256 seat) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ISlasher.SeatNotHeld.selector, request.id, index, seat);
    }

    function _twice(DecidedRound memory round) private pure returns (DecidedRound[] memory rounds) {
        rounds = new DecidedRound[](2);
        (rounds[0], rounds[1]) = (round, round);
    }

    function _assertRefused(Equivocation memory pair, bytes memory reason) private {
        vm.expectRevert(reason);
        this.submitPair(pair);
    }

    /// @dev The signatures recover to accounts, but not to one and the same agent.
    function _assertRefusedAsUnknown(Equivocation memory pair) private {
        try this.submitPair(pair) {
            revert NotTrue("refused");
        } catch (bytes memory reason) {
            bytes4 name = bytes4(reason);
            assertTrue(name == ISlasher.InvalidEvidence.selector || name == ISlasher.SeatNotHeld.selector, "reason");
        }
    }

    function _assertPosition(address account, uint256 bonded, uint256 unbonding) private view {
        IAgentRegistry.Position memory position = registry.positionOf(AGENT, account);
        assertEq(position.bonded, bonded, "position bonded");
        assertEq(position.unbonding, unbonding, "position unbonding");
    }

    /// @dev Returns the hash of a request of `decideForEvidence`.
    function _hashOf(uint256 index) private view returns (bytes32) {
        (Request memory request, ) = decided(index);
        return keccak256(abi.encode(request));
    }

    function _othersHash() private view returns (bytes32 all) {
        for (uint32 id = 2; id <= 5; ++id) all = keccak256(abi.encode(all, registry.getAgent(AgentId.wrap(id))));
    }

    function _copy(Equivocation memory pair) private pure returns (Equivocation memory) {
        return abi.decode(abi.encode(pair), (Equivocation));
    }

    /// @dev Returns the malleable form: s' = order - s, with the other v.
    function _malleable(bytes memory signature) private pure returns (bytes memory) {
        (bytes32 r, uint256 s, uint8 v) = (bytes32(0), 0, uint8(signature[64]));
        assembly {
            r := mload(add(signature, 0x20))
            s := mload(add(signature, 0x40))
        }
        return abi.encodePacked(r, ORDER - s, v == 27 ? uint8(28) : uint8(27));
    }

    function _body(bytes memory answer) private pure returns (ISlasher.DecisionBody memory body) {
        body.status = uint8(Status.Decided);
        body.outcome = keccak256(answer);
        body.answerHash = keccak256(answer);
    }

    function _bodyOf(Draft memory decision) private pure returns (ISlasher.DecisionBody memory) {
        return
            ISlasher.DecisionBody({
                status: uint8(decision.status),
                outcome: decision.outcome,
                answerHash: keccak256(decision.answer),
                confidence: decision.confidence,
                answered: decision.answered,
                agreed: decision.agreed,
                transcript: decision.transcript,
                reputationChangesHash: keccak256(decision.reputationChanges),
                sharesHash: keccak256(decision.shares)
            });
    }

    /// @dev Signs a decision in this ballot with the key of the seat.
    function _signDecision(
        Equivocation memory pair,
        uint32 ballot,
        ISlasher.DecisionBody memory body
    ) private view returns (bytes memory) {
        (Slot memory place, Seat seat) = (placeOf(pair), pair.held.rounds[0].committee[pair.held.seat]);
        bytes memory head = abi.encode(
            DecisionLib.DECISION_TYPEHASH,
            keccak256(abi.encode(pair.request)),
            place.attempt,
            place.committeeHash,
            ballot
        );
        bytes32 structHash = keccak256(abi.encodePacked(head, abi.encode(body)));
        return signDigest(keys[seat.signer()], typedDigest("Conclave", address(oracle), structHash));
    }
}
