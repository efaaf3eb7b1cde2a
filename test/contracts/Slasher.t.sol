// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {Slasher} from "../../contracts/Slasher.sol";
import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {ISlasher} from "../../contracts/interfaces/ISlasher.sol";
import {DecisionLib} from "../../contracts/libraries/DecisionLib.sol";
import {RequestState} from "../../contracts/libraries/RequestState.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {AgentId, Currency, Request, RequestId, Seat, Service, Status} from "../../contracts/types/Types.sol";
import {ConclaveTest} from "./utils/ConclaveTest.sol";
import {Draft} from "./utils/Draft.sol";
import {Vm, vm} from "./utils/Vm.sol";

/// @dev An oracle that reads its answer from the id.
contract StatusStub {
    function stateOf(RequestId requestId) external pure returns (RequestState) {
        return RequestState.wrap(RequestId.unwrap(requestId));
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
        uint256 key = keys[registry.getAgent(AGENT).signer];
        other.firstSignature = signMessage(key, other.request, other.slot, other.firstPayload);
        other.secondSignature = signMessage(key, other.request, other.slot, other.secondPayload);
        bytes memory consumed = abi.encodeWithSelector(ISlasher.EvidenceConsumed.selector, AGENT, other.request.id, 0);
        vm.expectRevert(consumed);
        this.submitPair(other);
        ISlasher.DecisionSlot memory slot = ISlasher.DecisionSlot("committee", 0, 0);
        vm.expectRevert(consumed);
        this.submitBodies(key, slot, _body("a"), slot, _body("b"));

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

    /// @dev ST7: the agent is drawn, leaves at once, and is proven guilty in the last second of the longest request's
    /// window.
    function test_unbondingCannotOutrunEvidence() public {
        fund(1 ether);
        (Request memory request, uint64 seedBlock) = ask(termsFor(4, 0));
        uint256 end = block.timestamp + 7 days + 7 days;
        Seat[] memory committee = drawCommittee(request, seedBlock);
        AgentId drawn = committee[0].agentId();
        Equivocation memory pair = equivocation(drawn, 0);
        registry.startUnbonding(drawn, registry.positionOf(drawn, address(this)).shares);
        uint256 leaving = registry.getAgent(drawn).unbonding.assets;

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
        submit(equivocation(AGENT, 1));
        assertEq(registry.getAgent(AGENT).bonded.assets, 6.48 ether, "the key in use");
    }

    /// @dev ST6: a proof counts for one attempt, whatever it claims about the rest of the request.
    function test_anInventedRequestIsNoOtherFault() public {
        submit(equivocation(AGENT, 0));
        Request memory invented = decidedRequest(0);
        (invented.consumer, invented.questionHash) = (address(1), "another question");
        Equivocation memory pair = equivocation(AGENT, invented, 0);
        _assertRefused(pair, abi.encodeWithSelector(ISlasher.EvidenceConsumed.selector, AGENT, decidedIds[0], 0));
    }

    /// @dev ST6: the event names the request, even when the proof has terms that nobody asked for.
    function test_anInventedRequestHidesNothing() public {
        Request memory invented = decidedRequest(0);
        invented.questionHash = "another question";
        bytes32 inventedHash = keccak256(abi.encode(invented));
        Equivocation memory pair = equivocation(AGENT, invented, 0);
        commitAs(address(this), pair.firstSignature, pair.secondSignature);
        vm.expectEmit(address(slasher));
        emit ISlasher.EquivocationProven(AGENT, decidedIds[0], address(this), 0, ISlasher.Fault.Messages, inventedHash);
        showPair(pair);
        _assertRefused(
            equivocation(AGENT, 0),
            abi.encodeWithSelector(ISlasher.EvidenceConsumed.selector, AGENT, decidedIds[0], 0)
        );
    }

    /// @dev ST6: a leaked key costs a tenth a week, whatever it signed, until it proves nothing any more. Here everything
    /// that is left after 50 proofs was once 0.5 %.
    function test_aLeakedKeyTakesATenthAWeek() public {
        decideForEvidence(48);
        uint256 key = keys[registry.getAgent(AGENT).signer];
        (bytes memory publicKey, bytes memory possession) = freshKey(address(this));
        registry.rotateSigner(AGENT, publicKey, possession);
        uint256 slashes = 0;
        for (uint256 i = 0; i < 50; ++i) {
            try this.submitPair(equivocationBy(key, decidedRequest(i), 0)) {
                ++slashes;
            } catch (bytes memory reason) {
                bytes4 name = bytes4(reason);
                bool isOver = i == 49 && name == ISlasher.KeyHasEnded.selector;
                assertTrue(name == ISlasher.SlashedRecently.selector || isOver, "another reason");
            }
            vm.warp(vm.getBlockTimestamp() + 14 days / 48);
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

    /// @dev ST10: evidence about an attempt that may still be answered cannot be consumed.
    function test_nothingIsConsumedBeforeTheDecision() public {
        (Request memory request, uint64 seedBlock) = ask(termsFor(4, 0));
        Equivocation memory pair = equivocation(AGENT, request, 0);
        bytes memory reason = abi.encodeWithSelector(ISlasher.AttemptNotOver.selector, request.id, 0);
        _assertRefused(pair, reason);
        uint256 key = keys[registry.getAgent(AGENT).signer];
        ISlasher.DecisionSlot memory slot = ISlasher.DecisionSlot("committee", 0, 0);
        vm.expectRevert(reason);
        this.submitDecisionsAbout(request, key, slot, _body("a"), _body("b"));

        // The hash covers the id, so the signatures do not count for a request that is decided.
        Equivocation memory disguised = _copy(pair);
        disguised.request.id = decidedIds[0];
        _assertRefusedAsUnknown(disguised);
        Seat[] memory committee = drawCommittee(request, seedBlock);
        _assertRefused(pair, reason);
        Draft memory decision = decisionFor(4);
        commitWith(request, decision.packed(), certify(request, committee, decision, quorumOf(4)));
        submit(pair);
        assertEq(registry.getAgent(AGENT).bonded.assets, 7.2 ether, "slashed after the decision");
    }

    /// @dev ST10: tries every state of a request, with attempts before, at and after the current one.
    function test_onlyAttemptsThatAreOverCount() public {
        vm.etch(address(oracle), type(StatusStub).runtimeCode);
        for (uint8 status = 0; status <= uint8(type(Status).max); ++status) {
            for (uint32 attempt = 0; attempt < 5; ++attempt) {
                Request memory request;
                // The stub reads the status from the id: the request is at attempt 2.
                request.id = RequestId.wrap((2 << 8) | status);
                request.questionHash = keccak256(abi.encode(status, attempt));
                Equivocation memory pair = equivocation(AgentId.wrap(3), request, attempt);
                vm.warp(vm.getBlockTimestamp() + 7 days);
                if (attempt < 2 || (attempt == 2 && status > uint8(Status.Requested))) submit(pair);
                else
                    _assertRefused(pair, abi.encodeWithSelector(ISlasher.AttemptNotOver.selector, request.id, attempt));
            }
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
        bad.secondSignature = signMessage(keys[second], bad.request, bad.slot, bad.secondPayload);
        _assertRefused(bad, abi.encodeWithSelector(ISlasher.InvalidEvidence.selector, signer, second));

        bad = equivocationBy(1, decidedRequest(0), 0);
        _assertRefused(bad, abi.encodeWithSelector(ISlasher.UnknownSigner.selector, vm.addr(1)));

        bad = _copy(pair);
        bad.firstSignature = _twin(bad.firstSignature);
        _assertRefused(bad, abi.encodeWithSelector(ISlasher.InvalidEvidence.selector, address(0), signer));
        bad.secondSignature = _twin(bad.secondSignature);
        _assertRefused(bad, abi.encodeWithSelector(ISlasher.InvalidEvidence.selector, address(0), address(0)));

        bad = _copy(pair);
        bad.firstSignature[64] = bytes1(uint8(bad.firstSignature[64]) - 27);
        _assertRefused(bad, abi.encodeWithSelector(ISlasher.InvalidEvidence.selector, address(0), signer));
        bad.firstSignature = bytes.concat(pair.firstSignature, hex"00");
        _assertRefused(bad, abi.encodeWithSelector(ISlasher.InvalidEvidence.selector, address(0), signer));

        // Two slots are no conflict: every member of the slot counts.
        for (uint256 member = 0; member < 7; ++member) {
            bad = _copy(pair);
            (Request memory request, ISlasher.MessageSlot memory slot) = (decidedRequest(0), pair.slot);
            if (member == 0) request.questionHash = "x";
            else if (member == 1) slot.committeeHash = "x";
            else if (member == 2) slot.attempt = 9;
            else if (member == 3) slot.protocol = 9;
            else if (member == 4) slot.phase = 9;
            else if (member == 5) slot.round = 9;
            else slot.seat = 9;
            bad.secondSignature = signMessage(key, request, slot, bad.secondPayload);
            _assertRefusedAsUnknown(bad);
            pair = equivocation(AGENT, 0);
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
        uint256 key = keys[registry.getAgent(AGENT).signer];
        deployRegistry(EPOCH_BLOCKS);
        Equivocation memory foreign = equivocationBy(key, decidedRequest(0), 0);
        (slasher, earlier) = (earlier, slasher);
        _assertRefusedAsUnknown(foreign);
        submit(pair);
    }

    function test_decisionsOfOneRound() public {
        uint256 key = keys[registry.getAgent(AGENT).signer];
        ISlasher.DecisionSlot memory slot = ISlasher.DecisionSlot("committee", 0, 3);
        vm.expectRevert(abi.encodeWithSelector(ISlasher.NoConflict.selector));
        this.submitBodies(key, slot, _body("a"), slot, _body("a"));
        // After an unlock, an honest agent may sign another decision in another round.
        ISlasher.DecisionSlot memory later = ISlasher.DecisionSlot("committee", 0, 4);
        vm.expectPartialRevert(ISlasher.InvalidEvidence.selector);
        this.submitBodies(key, slot, _body("a"), later, _body("b"));
        bytes memory first = _signDecision(key, _hashOf(0), slot, _body("a"));
        bytes memory second = _signDecision(key, _hashOf(0), slot, _body("b"));
        vm.expectPartialRevert(ISlasher.EvidenceNotCommitted.selector);
        slasher.submitDecisions(decidedRequest(0), slot, _body("a"), first, _body("b"), second);
        commitAs(REPORTER, first, second);
        vm.prank(REPORTER);
        slasher.submitDecisions(decidedRequest(0), slot, _body("a"), first, _body("b"), second);
        assertEq(registry.getAgent(AGENT).bonded.assets, 7.2 ether, "slashed");
        assertEq(registry.owedTo(REPORTER), 0.05 ether, "rewarded");
    }

    /// @dev The slasher hashes the same struct that seats sign for the oracle.
    function test_decisionHashIsTheOracles() public {
        fund(1 ether);
        (Request memory request, uint64 seedBlock) = ask(termsFor(4, 0));
        Seat[] memory committee = drawCommittee(request, seedBlock);
        bytes32 committeeHash = SeatLib.hashMemory(committee);
        uint256 key = keys[committee[2].signer()];
        Draft memory decision = decisionFor(4);
        decision.reputationChanges = hex"0001";
        bytes memory first = signDigest(key, decisionDigest(request, committee, decision));
        ISlasher.DecisionBody memory yes = _bodyOf(decision);
        decision.outcome = 0;
        decision.answer = "no";
        bytes memory second = signDigest(key, decisionDigest(request, committee, decision));
        commitWith(request, decision.packed(), certify(request, committee, decision, quorumOf(4)));
        ISlasher.DecisionSlot memory slot = ISlasher.DecisionSlot(committeeHash, decision.attempt, decision.round);
        commitAs(address(this), first, second);
        slasher.submitDecisions(request, slot, yes, first, _bodyOf(decision), second);
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

    function submitDecisionsAbout(
        Request memory request,
        uint256 key,
        ISlasher.DecisionSlot memory slot,
        ISlasher.DecisionBody memory first,
        ISlasher.DecisionBody memory second
    ) external {
        bytes32 requestHash = keccak256(abi.encode(request));
        slasher.submitDecisions(
            request,
            slot,
            first,
            _signDecision(key, requestHash, slot, first),
            second,
            _signDecision(key, requestHash, slot, second)
        );
    }

    function submitBodies(
        uint256 key,
        ISlasher.DecisionSlot memory firstSlot,
        ISlasher.DecisionBody memory first,
        ISlasher.DecisionSlot memory secondSlot,
        ISlasher.DecisionBody memory second
    ) external {
        slasher.submitDecisions(
            decidedRequest(0),
            firstSlot,
            first,
            _signDecision(key, _hashOf(0), firstSlot, first),
            second,
            _signDecision(key, _hashOf(0), secondSlot, second)
        );
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
            assertTrue(name == ISlasher.InvalidEvidence.selector || name == ISlasher.UnknownSigner.selector, "reason");
        }
    }

    function _assertPosition(address account, uint256 bonded, uint256 unbonding) private view {
        IAgentRegistry.Position memory position = registry.positionOf(AGENT, account);
        assertEq(position.bonded, bonded, "position bonded");
        assertEq(position.unbonding, unbonding, "position unbonding");
    }

    /// @dev Returns the hash of a `decidedRequest`.
    function _hashOf(uint256 index) private view returns (bytes32) {
        return keccak256(abi.encode(decidedRequest(index)));
    }

    function _othersHash() private view returns (bytes32 all) {
        for (uint32 id = 2; id <= 5; ++id) all = keccak256(abi.encode(all, registry.getAgent(AgentId.wrap(id))));
    }

    function _copy(Equivocation memory pair) private pure returns (Equivocation memory) {
        return abi.decode(abi.encode(pair), (Equivocation));
    }

    /// @dev Returns the malleable twin: s' = order - s, with the other v.
    function _twin(bytes memory signature) private pure returns (bytes memory) {
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
                transcript: decision.transcript,
                reputationChangesHash: keccak256(decision.reputationChanges),
                sharesHash: keccak256(decision.shares)
            });
    }

    function _signDecision(
        uint256 key,
        bytes32 requestHash,
        ISlasher.DecisionSlot memory slot,
        ISlasher.DecisionBody memory body
    ) private view returns (bytes memory) {
        bytes32 structHash = keccak256(
            abi.encodePacked(
                abi.encode(DecisionLib.DECISION_TYPEHASH, requestHash, slot.attempt, slot.committeeHash, slot.round),
                abi.encode(body)
            )
        );
        return signDigest(key, typedDigest("Conclave", address(oracle), structHash));
    }
}
