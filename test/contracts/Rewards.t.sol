// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {AgentAccount, AgentAccountLib} from "../../contracts/libraries/AgentAccountLib.sol";
import {RewardsLib} from "../../contracts/libraries/RewardsLib.sol";
import {AgentId, Currency} from "../../contracts/types/Types.sol";
import {ConclaveTest} from "./utils/ConclaveTest.sol";
import {vm} from "./utils/Vm.sol";

/// @dev The earnings of delegators and operators. This contract is the agent's operator.
contract RewardsTest is ConclaveTest {
    using RewardsLib for RewardsLib.State;

    AgentId private constant AGENT = AgentId.wrap(1);
    address private constant ALICE = address(0xa11ce);
    address private constant BOB = address(0xb0b);
    uint24 private constant TENTH = 100_000;
    uint256 private constant JOINING_DELAY = 14 days;
    /// @dev Nearly the largest credit of the registry, and the most shares of a pot.
    uint256 private constant MOST = 256 * uint256(type(uint96).max);
    uint256 private constant SHARES = type(uint128).max;

    RewardsLib.State private _rewards;

    function setUp() public {
        deployConclave();
        for (uint256 i = 0; i < 2; ++i) {
            address account = i == 0 ? ALICE : BOB;
            token.mint(account, 1e24);
            vm.prank(account);
            token.approve(address(registry), type(uint256).max);
        }
        IAgentRegistry.Registration memory registration = registrationOf(address(this), MIN_STAKE);
        registration.commission = TENTH;
        registry.register(registration);
    }

    /// @dev RW2: a tenth is commission. The operator gets a quarter of the rest, Alice three quarters.
    function test_payIsDividedByCommissionAndShares() public {
        _join(ALICE, 3 * MIN_STAKE);
        _earn(1000);
        _assertRewards(address(this), 100 + 225);
        _assertRewards(ALICE, 675);
        _assertRewards(BOB, 0);
    }

    /// @dev RW2: an account that bonds later gets no part of earlier pay, even if nobody has claimed it. An account
    /// that unbonds gets no part of later pay.
    function test_onlySharesOfTheMomentCount() public {
        _earn(1000);
        _join(ALICE, MIN_STAKE);
        _assertRewards(address(this), 1000);
        _assertRewards(ALICE, 0);
        _earn(1000);
        _join(BOB, 2 * MIN_STAKE);
        _assertRewards(ALICE, 450);
        _assertRewards(BOB, 0);
        vm.prank(ALICE);
        registry.startUnbonding(AGENT, MIN_STAKE);
        _earn(3000);
        _assertRewards(address(this), 1550 + 300 + 900);
        _assertRewards(ALICE, 450);
        _assertRewards(BOB, 1800);
    }

    /// @dev RW6: bonded stake is stake at once, and earns nothing before the delay, nor before somebody lets it.
    function test_newStakeEarnsAfterTheDelay() public {
        _bond(ALICE, 3 * MIN_STAKE);
        assertEq(registry.getAgent(AGENT).bonded.assets, 4 * MIN_STAKE, "it weighs");
        uint256 end = vm.getBlockTimestamp() + JOINING_DELAY;
        IAgentRegistry.Position memory position = registry.positionOf(AGENT, ALICE);
        assertEq(position.shares, 3 * MIN_STAKE, "shares");
        assertEq(position.joining, 3 * MIN_STAKE, "joining");
        assertEq(position.joiningEnd, end, "until");
        _earn(1000);
        vm.warp(end - 1);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NoSharesDue.selector, AGENT, ALICE));
        registry.startEarning(AGENT, ALICE);
        vm.warp(end);
        _earn(1000);
        _assertRewards(ALICE, 0);
        vm.expectEmit(address(registry));
        emit IAgentRegistry.EarningStarted(AGENT, ALICE, 3 * MIN_STAKE);
        vm.prank(BOB);
        registry.startEarning(AGENT, ALICE);
        _assertRewards(ALICE, 0);
        _assertRewards(address(this), 2000);
        assertEq(registry.getAgent(AGENT).joining, 0, "all earn");
        _earn(1000);
        _assertRewards(ALICE, 675);
        vm.expectPartialRevert(IAgentRegistry.NoSharesDue.selector);
        registry.startEarning(AGENT, ALICE);
    }

    /// @dev RW6: a further bond delays nothing that was bonded before, and each of the account's own calls lets it earn.
    function test_ownCallsStartEarningAndBondsDelayNothing() public {
        _bond(ALICE, MIN_STAKE);
        vm.warp(vm.getBlockTimestamp() + JOINING_DELAY - 1);
        _bond(ALICE, 1);
        vm.warp(vm.getBlockTimestamp() + 1);
        _bond(ALICE, 1);
        assertEq(registry.positionOf(AGENT, ALICE).joining, 2, "a bond");
        _earn(1000);
        _assertRewards(ALICE, 450);
        vm.warp(vm.getBlockTimestamp() + JOINING_DELAY);
        vm.prank(ALICE);
        registry.startUnbonding(AGENT, 3);
        assertEq(registry.positionOf(AGENT, ALICE).joining, 0, "an unbonding");
    }

    /// @dev RW2, RW6: while no share earns, all pay is the operator's.
    function test_withoutSharesThatEarnTheOperatorGetsAll() public {
        _bond(ALICE, MIN_STAKE);
        registry.startUnbonding(AGENT, MIN_STAKE);
        _earn(1000);
        _assertRewards(address(this), 1000);
        vm.warp(vm.getBlockTimestamp() + JOINING_DELAY);
        registry.startEarning(AGENT, ALICE);
        _earn(1000);
        _assertRewards(address(this), 1100);
        _assertRewards(ALICE, 900);
    }

    function test_aSlashChangesNobodysPart() public {
        _join(ALICE, 3 * MIN_STAKE);
        drawForSlash();
        _earn(1000);
        submit(equivocation(AGENT, 0));
        _assertRewards(ALICE, 675);
        _earn(1000);
        _assertRewards(ALICE, 1350);
    }

    function test_withoutSharesTheOperatorGetsAll() public {
        registry.startUnbonding(AGENT, MIN_STAKE);
        _earn(1001);
        _assertRewards(address(this), 1001);
    }

    /// @dev The account word has room for 2^96 - 1 units. More pay divides what waits, and nothing is lost.
    function test_moreThanTheWordHoldsIsDividedFirst() public {
        _join(ALICE, MIN_STAKE);
        _earn(type(uint96).max);
        recordService(Currency.Native, AGENT, 0, 1000);
        _earn(1000);
        _earn(type(uint96).max - 1000);
        _earn(1);
        uint256 paid = 2 * uint256(type(uint96).max) + 1;
        _assertRewards(ALICE, (paid * 9) / 20);
        _assertRewards(address(this), paid - (paid * 9) / 20);
        assertEq(registry.rewardsOf(AGENT, ALICE, Currency.Native), 449, "the other currency, rounded down");
    }

    function test_currenciesNeverMix() public {
        _join(ALICE, MIN_STAKE);
        _earn(1000);
        recordService(Currency.Native, AGENT, 0, 500);
        vm.prank(ALICE);
        registry.startUnbonding(AGENT, 1);
        assertEq(registry.rewardsOf(AGENT, ALICE, Currency.Token), 449, "tokens, rounded down");
        assertEq(registry.rewardsOf(AGENT, ALICE, Currency.Native), 224, "coins, rounded down");
        assertEq(registry.rewardsOf(AgentId.wrap(2), ALICE, Currency.Native), 0, "nobody's agent");
    }

    function test_nothingToClaim() public {
        vm.expectRevert(
            abi.encodeWithSelector(IAgentRegistry.NoRewards.selector, AGENT, address(this), Currency.Token)
        );
        registry.claimRewards(AGENT, Currency.Token, ALICE);
    }

    /// @dev RW4: a lower commission takes effect at once.
    function test_commissionIsLoweredAtOnceForLaterPay() public {
        _join(ALICE, MIN_STAKE);
        _earn(1000);
        registry.setCommission(AGENT, 0);
        _assertRewards(ALICE, 450);
        _earn(1000);
        _assertRewards(ALICE, 950);
        assertEq(registry.getAgent(AGENT).commission, 0, "commission");
    }

    /// @dev RW4: delegators keep the old commission for the whole delay, and can leave with what they earned under it.
    function test_commissionIsRaisedAfterTheDelay() public {
        _join(ALICE, MIN_STAKE);
        registry.setCommission(AGENT, 500_000);
        uint40 due = uint40(block.timestamp) + UNBONDING_DELAY;
        IAgentRegistry.Agent memory agent = registry.getAgent(AGENT);
        assertEq(agent.commission, TENTH, "not yet");
        assertEq(agent.announcedCommission, 500_000, "announced");
        assertEq(agent.raiseTime, due, "when");
        vm.warp(due - 1);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.RaiseNotDue.selector, AGENT, due));
        registry.raiseCommission(AGENT);
        vm.warp(due);
        _earn(1000);
        registry.raiseCommission(AGENT);
        _assertRewards(ALICE, 450);
        _earn(1000);
        _assertRewards(ALICE, 700);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NoRaiseAnnounced.selector, AGENT));
        registry.raiseCommission(AGENT);
    }

    /// @dev RW4: a later announcement begins its own delay. A lower commission, or the same one, cancels the
    /// announcement.
    function test_anAnnouncementIsReplaced() public {
        registry.setCommission(AGENT, 200_000);
        vm.warp(block.timestamp + UNBONDING_DELAY - 1);
        registry.setCommission(AGENT, 300_000);
        vm.warp(block.timestamp + 1);
        vm.expectPartialRevert(IAgentRegistry.RaiseNotDue.selector);
        registry.raiseCommission(AGENT);
        registry.setCommission(AGENT, TENTH);
        assertEq(registry.getAgent(AGENT).announcedCommission, 0, "taken back");
        vm.warp(block.timestamp + UNBONDING_DELAY);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NoRaiseAnnounced.selector, AGENT));
        registry.raiseCommission(AGENT);
        assertEq(registry.getAgent(AGENT).commission, TENTH, "as it was");
    }

    /// @dev RW7: pay so far is the earlier operator's, and nobody's stake moves.
    function test_anOperatorHandsItsAgentOver() public {
        _join(ALICE, 3 * MIN_STAKE);
        _earn(1000);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NotOffered.selector, AGENT, ALICE));
        vm.prank(ALICE);
        registry.acceptOperator(AGENT);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NotOperator.selector, AGENT, ALICE));
        vm.prank(ALICE);
        registry.transferOperator(AGENT, ALICE);
        registry.transferOperator(AGENT, BOB);
        registry.transferOperator(AGENT, ALICE);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NotOffered.selector, AGENT, BOB));
        vm.prank(BOB);
        registry.acceptOperator(AGENT);
        vm.expectEmit(address(registry));
        emit IAgentRegistry.OperatorTransferred(AGENT, address(this), ALICE);
        vm.prank(ALICE);
        registry.acceptOperator(AGENT);
        assertEq(registry.operatorOf(AGENT), ALICE, "operator");
        assertTrue(registry.getAgent(AGENT).active, "the new operator's own stake suffices");
        _assertRewards(address(this), 100 + 225);
        _assertRewards(ALICE, 675);
        assertEq(registry.positionOf(AGENT, address(this)).bonded, MIN_STAKE, "the earlier operator's stake");
        _earn(1000);
        _assertRewards(address(this), 325 + 225);
        _assertRewards(ALICE, 675 + 100 + 675);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NotOperator.selector, AGENT, address(this)));
        registry.setCommission(AGENT, 0);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NotOffered.selector, AGENT, ALICE));
        vm.prank(ALICE);
        registry.acceptOperator(AGENT);
    }

    function test_commissionHasABound() public {
        bytes memory refusal = abi.encodeWithSelector(
            IAgentRegistry.CommissionAboveMaximum.selector,
            500_001,
            uint256(500_000)
        );
        vm.expectRevert(refusal);
        registry.setCommission(AGENT, 500_001);
        IAgentRegistry.Registration memory registration = registrationOf(address(this), MIN_STAKE);
        registration.commission = 500_001;
        vm.expectRevert(refusal);
        registry.register(registration);
        registration.commission = 500_000;
        assertEq(registry.getAgent(registry.register(registration)).commission, 500_000, "the bound itself");
    }

    /// @dev RW1, RW2 at the limits of all numbers: nothing overflows, and the accounts are not owed more than came in.
    /// The unpaid rest is less than one unit for each of the three accounts and one for the division, wherever growth
    /// begins.
    function testFuzz_anyAmountsAndShares(
        uint96 amount,
        uint128 shares,
        uint128 part,
        uint256 growth,
        uint24 ppm
    ) public {
        shares = uint128(bound(shares, 1, SHARES));
        part = uint128(bound(part, 0, shares));
        RewardsLib.Division memory by = RewardsLib.Division(address(this), bound(ppm, 0, 500_000), shares);
        for (uint256 i = 0; i < 2; ++i) {
            _rewards.growth[i] = growth;
            _rewards.holders[ALICE][i].counted = growth;
            _rewards.holders[BOB][i].counted = growth;
            _rewards.holders[address(this)][i].counted = growth;
        }
        AgentAccount pending = AgentAccountLib.fresh().paid(Currency.Native, amount);
        uint256[3] memory expected = [
            _of(pending, by, address(this), 0),
            _of(pending, by, ALICE, part),
            _of(pending, by, BOB, shares - part)
        ];
        _rewards.divide(pending, by);
        _rewards.update(ALICE, part);
        _rewards.update(BOB, shares - part);
        uint256 commission = _rewards.take(address(this), Currency.Native);
        uint256 alice = _rewards.take(ALICE, Currency.Native);
        uint256 bob = _rewards.take(BOB, Currency.Native);
        assertEq(commission, (uint256(amount) * by.commission) / 1e6, "commission");
        assertEq(commission, expected[0], "the view's commission");
        assertEq(alice, expected[1], "the view's part");
        assertEq(bob, expected[2], "the view's other part");
        assertTrue(commission + alice + bob <= amount, "more than came in");
        assertTrue(commission + alice + bob + 3 >= amount, "more than roundings is left");
        assertEq(_of(pending.withoutPay(), by, ALICE, part), 0, "all of it was taken");
        uint256 exact = (uint256(amount) * (1e6 - by.commission) * part) / shares / 1e6;
        assertTrue(alice <= exact && alice + 1 + (part >> 127) >= exact, "not by the shares");
    }

    /// @dev One account's part of one share is the whole range of the credit.
    function test_theLargestAmountForASingleShare() public {
        _rewards.growth[0] = type(uint256).max;
        _rewards.holders[ALICE][0].counted = type(uint256).max;
        AgentAccount pending = AgentAccountLib.fresh().paid(Currency.Token, type(uint96).max);
        for (uint256 i = 0; i < 256; ++i) _rewards.divide(pending, RewardsLib.Division(address(this), 0, 1));
        _rewards.update(ALICE, 1);
        assertEq(_rewards.take(ALICE, Currency.Token), MOST, "all of it");
    }

    function drawForSlash() private {
        registerAgents(5, MIN_STAKE);
        decideForEvidence(2);
    }

    function _of(
        AgentAccount pending,
        RewardsLib.Division memory by,
        address account,
        uint256 shares
    ) private view returns (uint256) {
        return _rewards.rewardsOf(pending, by, account, shares, Currency.Native);
    }

    /// @dev Bonds, and lets the stake earn after the delay.
    function _join(address account, uint128 amount) private {
        _bond(account, amount);
        vm.warp(vm.getBlockTimestamp() + JOINING_DELAY);
        registry.startEarning(AGENT, account);
    }

    function _bond(address account, uint128 amount) private {
        vm.prank(account);
        registry.bond(AGENT, amount);
    }

    function _earn(uint256 amount) private {
        recordService(Currency.Token, AGENT, 0, amount);
    }

    function _assertRewards(address account, uint256 expected) private view {
        uint256 actual = registry.rewardsOf(AGENT, account, Currency.Token);
        assertTrue(actual <= expected && actual + 1 >= expected, "not its part, rounded down");
    }
}
