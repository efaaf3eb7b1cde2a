// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {IDecisionOracle} from "../../contracts/interfaces/IDecisionOracle.sol";
import {RequestTermsLib} from "../../contracts/libraries/RequestTermsLib.sol";
import {RoundLib} from "../../contracts/libraries/RoundLib.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {
    AgentId,
    Currency,
    DecidedRound,
    HashedRound,
    PastRound,
    PriceTerms,
    Relay,
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
import {vm} from "./utils/Vm.sol";

/// @dev Attacks that once worked.
contract AttackTest is ConclaveTest {
    using SeatLib for Seat;
    using RoundLib for Round;

    address private constant MALLORY = address(0xbad);
    address private constant ALICE = address(0xa11ce);

    Request private _request;
    Seat[] private _committee;
    Draft private _lie;
    Round private _first;
    Round private _second;
    Relay private _relay;

    function setUp() public {
        deployConclave();
        for (uint256 i = 0; i < 2; ++i) {
            address who = i == 0 ? MALLORY : ALICE;
            token.mint(who, 1e30);
            vm.startPrank(who);
            token.approve(address(registry), type(uint256).max);
            token.approve(address(oracle), type(uint256).max);
            vm.stopPrank();
        }
    }

    /// @dev A request for 40 seats in a network of 13 made keepers reschedule its seed for four weeks, for nothing. The
    /// oracle refuses it.
    function test_requestsThatCannotBeDrawnCostNobody() public {
        registerAgents(13, MAX_STAKE);
        oracle.setPrices(Currency.Token, PriceTerms(1e15, 1e18, 20 gwei, 0));
        Terms memory terms = termsFor(40, 0);
        (terms.retries, terms.duration) = (3, 7 days);
        terms.fee = uint80(oracle.quote(RequestTermsLib.pack(terms)));
        RequestTerms packed = RequestTermsLib.pack(terms);
        vm.prank(MALLORY);
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.TooFewAgents.selector, 13, 40));
        oracle.request(0, packed, "question");
    }

    /// @dev Each attempt that nobody answers costs one call, and its caller is paid more than its gas at the cap's price.
    function test_silentAttemptsPayTheirCallers() public {
        registerAgents(13, MAX_STAKE);
        oracle.setPrices(Currency.Token, PriceTerms(1e15, 1e18, 20 gwei, 0));
        fund(1e24);
        Terms memory terms = termsFor(7, 0);
        terms.retries = 3;
        terms.fee = uint80(oracle.quote(RequestTermsLib.pack(terms)));
        (Request memory request, uint64 seedBlock) = ask(terms);
        Round round = firstRounds[request.id];
        vm.fee(19 gwei);
        vm.txGasPrice(20 gwei);
        for (uint256 attempt = 0; attempt < 3; ++attempt) {
            vm.warp(round.deadline() + 1);
            uint256 credit = oracle.creditOf(ALICE, Currency.Token);
            vm.prank(ALICE);
            uint256 used = gasleft();
            oracle.replace(request, round, seedBlock);
            used -= gasleft();
            // A transaction of its own costs 21,000 and some 5,000 of calldata more.
            assertTrue(oracle.creditOf(ALICE, Currency.Token) - credit >= (used + 26_000) * 20 gwei, "paid");
            round = RoundLib.pack(0, 0, vm.getBlockTimestamp() + DURATION);
            seedBlock = seedBlockAfter(vm.getBlockNumber());
        }
        vm.warp(round.deadline() + 1);
        oracle.refund(request, round, seedBlock);
        assertEq(balance(), 1e24 - 3 * 74_000 * 20 gwei, "the asker has paid for three calls");
    }

    /// @dev Mallory holds three of four seats, decides wrongly, and unbonds two agents elsewhere, so that fewer than nine
    /// others are left for the appeal. Its committee is drawn all the same, with one agent of the first.
    function test_aCapturedCommitteeCannotSwitchItsAppealOff() public {
        uint64 seedBlock = _appealedLie();
        vm.roll(seedBlock + 1);
        Seed memory seed = _seed(seedBlock);
        Seat[] memory committee = settlement.committeeOf(_request, _second, seed);
        assertEq(committee.length, 9, "nine seats");
        Draft memory truth = decisionFor(9);
        truth.attempt = 1;
        bytes memory certificate = certify(_request, committee, truth, quorumOf(9));
        oracle.commit(_request, _second, seed, certificate, truth.packed());
        DecidedRound[] memory rounds = new DecidedRound[](2);
        rounds[0] = DecidedRound(_first, _committee, _lie.packed(), _relay, ALICE);
        rounds[1] = DecidedRound(_second, committee, truth.packed(), relayOf(quorumOf(9)), address(0));
        settlement.settle(_request, rounds);
        assertTrue(statusOf(_request) == Status.Decided, "the truth is final");
        assertEq(oracle.creditOf(ALICE, Currency.Token), 18 ether + 4 ether, "her bond, and half of the liars' pay");
        assertEq(registry.getAgent(_committee[3].agentId()).reputation, 1_000_000, "the honest seat keeps its own");
    }

    /// @dev If nobody answers the appeal, the lie is still not the answer.
    function test_anUnansweredAppealEndsAsHung() public {
        uint64 seedBlock = _appealedLie();
        vm.warp(_second.deadline() + 1);
        bytes32 structHash = structHashOf(_request, _committee, _lie);
        HashedRound memory last = HashedRound(_first, SeatLib.hashMemory(_committee), structHash, _relay, ALICE);
        oracle.fallBack(_request, _second, seedBlock, last);
        assertTrue(statusOf(_request) == Status.Hung, "no answer");
        assertEq(oracle.creditOf(ALICE, Currency.Token), 18 ether, "gas is free here: her whole bond");
    }

    /// @dev Mallory bonded fifteen times the operators' stake in front of the settlement and took 750 of 800. She gets
    /// nothing, whether the committee's commit pays, or a settlement an appeal period later.
    function test_lateStakeEarnsNothing() public {
        registerAgents(13, MIN_STAKE);
        fund(2000 ether);
        for (uint8 appeals = 0; appeals < 2; ++appeals) {
            Terms memory terms = termsFor(4, 0);
            (terms.appeals, terms.duration) = (appeals, 7 days);
            // The whole fee of a request without appeals is for its four seats; else 8 of 26 units.
            terms.fee = appeals == 0 ? 800 ether : 2600 ether;
            if (appeals == 1) fund(2600 ether);
            (Request memory request, uint64 seedBlock) = ask(terms);
            Seat[] memory committee = drawCommittee(request, seedBlock);
            Draft memory decision = decisionFor(4);
            bytes memory certificate = certify(request, committee, decision, quorumOf(4));
            uint256 before = oracle.creditOf(address(registry), Currency.Token);
            for (uint256 i = 0; i < 4; ++i) _bondAll(committee[i].agentId());
            commitWith(request, decision.packed(), certificate);
            if (appeals == 1) _finalizeAndSettle(request, committee, decision);
            assertEq(oracle.creditOf(address(registry), Currency.Token) - before, 800 ether, "the pay of four seats");
            for (uint256 i = 0; i < 4; ++i) {
                AgentId id = committee[i].agentId();
                assertEq(registry.rewardsOf(id, MALLORY, Currency.Token), 0, "nothing for late stake");
                vm.prank(MALLORY);
                vm.expectPartialRevert(IAgentRegistry.NoRewards.selector);
                registry.claimRewards(id, Currency.Token, MALLORY);
                assertTrue(registry.rewardsOf(id, address(this), Currency.Token) >= 200 ether, "all for the operator");
            }
            nextEpoch();
        }
    }

    function _bondAll(AgentId id) private {
        uint128 room = MAX_STAKE - registry.getAgent(id).bonded.assets;
        if (room == 0) return;
        vm.prank(MALLORY);
        registry.bond(id, room);
    }

    /// @dev Waits for the whole appeal period. Mallory lets her stake earn if she can.
    function _finalizeAndSettle(Request memory request, Seat[] memory committee, Draft memory decision) private {
        Round round = firstRounds[request.id].withDeadline(vm.getBlockTimestamp() + 7 days);
        vm.warp(round.deadline() + 1);
        vm.roll(vm.getBlockNumber() + 7 * 7200);
        bytes32 committeeHash = SeatLib.hashMemory(committee);
        oracle.finalize(request, round, committeeHash, decision.packed(), relayOf(quorumOf(4)));
        for (uint256 i = 0; i < 4; ++i) {
            AgentId id = committee[i].agentId();
            if (registry.positionOf(id, MALLORY).joining == 0) continue;
            vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NoSharesDue.selector, id, MALLORY));
            registry.startEarning(id, MALLORY);
        }
        DecidedRound[] memory rounds = new DecidedRound[](1);
        rounds[0] = DecidedRound(round, committee, decision.packed(), relayOf(quorumOf(4)), address(0));
        settlement.settle(request, rounds);
    }

    function _appealedLie() private returns (uint64 seedBlock) {
        // 14 agents: the fewest that a request of four seats with one appeal may have.
        registerAgents(14, MAX_STAKE);
        fund(100 ether);
        oracle.setPrices(Currency.Token, PriceTerms(1 ether, 0, 0, 0));
        Terms memory terms = termsFor(4, 26 ether);
        terms.appeals = 1;
        (_request, seedBlock) = ask(terms);
        Seat[] memory committee = drawCommittee(_request, seedBlock);
        for (uint256 i = 0; i < 4; ++i) _committee.push(committee[i]);
        Draft memory lie = decisionFor(4);
        (lie.outcome, lie.answer) = (bytes32(0), "no");
        lie.shares = hex"01010100";
        lie.reputationChanges = abi.encodePacked(uint8(3), int8(-3));
        _lie = lie;
        commitWith(_request, lie.packed(), certify(_request, _committee, lie, quorumOf(4)));
        _first = firstRounds[_request.id].withDeadline(vm.getBlockTimestamp() + DURATION);
        _relay = relayOf(quorumOf(4));
        _unbondTwoOthers();
        nextEpoch();
        bytes32 committeeHash = SeatLib.hashMemory(_committee);
        vm.prank(ALICE);
        oracle.appeal(_request, _first, committeeHash, _lie.packed(), _relay);
        seedBlock = seedBlockAfter(vm.getBlockNumber());
        bytes32 structHash = structHashOf(_request, _committee, _lie);
        _second = RoundLib.pack(
            RoundLib.linkAfter(_first, committeeHash, structHash, _relay, ALICE),
            1,
            vm.getBlockTimestamp() + DURATION
        );
    }

    function _seed(uint64 seedBlock) private returns (Seed memory) {
        PastRound[] memory past = new PastRound[](1);
        past[0] = PastRound(_first, _committee, structHashOf(_request, _committee, _lie), _relay, ALICE);
        return Seed(seedBlock, headerOf(seedBlock), past);
    }

    function _unbondTwoOthers() private {
        uint256 left;
        for (uint32 id = 1; id <= 14 && left < 2; ++id) {
            bool sits;
            for (uint256 i = 0; i < 4; ++i) if (AgentId.unwrap(_committee[i].agentId()) == id) sits = true;
            if (sits) continue;
            registry.startUnbonding(AgentId.wrap(id), MAX_STAKE);
            ++left;
        }
    }
}
