// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {Currency} from "../../contracts/types/Types.sol";
import {RewardsHandler} from "./utils/RewardsHandler.sol";
import {WalkTest} from "./utils/WalkTest.sol";

/// @dev The invariants of rewards, with the numbers of docs/spec/invariants.md.
contract RewardsInvariantsTest is WalkTest {
    RewardsHandler private _handler;

    function setUp() public {
        _handler = new RewardsHandler();
    }

    /// @dev Invariants that nothing exercises prove nothing: a random walk reaches every action, and no action reverts.
    function test_everyActionIsReached() public {
        _walk(0, 1_200);
        bytes32[15] memory actions = [
            bytes32("bond"),
            "bondLate",
            "startEarning",
            "startRefused",
            "startUnbonding",
            "leave",
            "slash",
            "serve",
            "noShares",
            "claim",
            "lower",
            "announce",
            "raise",
            "raiseRefused",
            "pass"
        ];
        for (uint256 i = 0; i < actions.length; ++i) {
            assertTrue(_handler.done(actions[i]) > 0, string(abi.encodePacked(actions[i])));
        }
        invariant_rewards();
    }

    /// @dev Checks all invariants at once, since each invariant test runs thousands of calls of its own.
    function invariant_rewards() public view {
        _assertNoMoreIsOwedThanIsThere();
        _assertEverybodyGetsItsPart();
        // RW3, RW4: the handler checks them at every action.
        assertEq(_handler.broken(), 0, _handler.brokenBecause());
        assertTrue(_handler.commissionsAgree(), "another commission");
        // RW6
        assertTrue(_handler.sharesAgree(), "other shares");
    }

    /// @dev RW1: the rest of the credit is less than one unit for each account of each agent, which the account gets
    /// with its next earnings, and one unit that belongs to nobody.
    function _assertNoMoreIsOwedThanIsThere() private view {
        for (uint8 i = 0; i < 2; ++i) {
            (uint256 owed, uint256 credit) = (0, _handler.creditIn(Currency(i)));
            for (uint32 id = 1; id <= _handler.AGENTS(); ++id) {
                for (uint256 account = 0; account < _handler.ACCOUNTS(); ++account) {
                    owed += _handler.rewardsAt(id, account, Currency(i));
                }
            }
            assertTrue(owed <= credit, "more is owed than is there");
            assertTrue(credit - owed <= _handler.AGENTS() * _handler.ACCOUNTS() + 1, "more than roundings is left");
        }
    }

    /// @dev RW2: each payment is divided by the shares that earn and the commission of its moment, up to less than one unit.
    function _assertEverybodyGetsItsPart() private view {
        uint256 one = _handler.ONE();
        for (uint32 id = 1; id <= _handler.AGENTS(); ++id) {
            for (uint256 i = 0; i < 2 * _handler.ACCOUNTS(); ++i) {
                (Currency currency, address account) = (Currency(i % 2), _handler.accounts(i / 2));
                uint256 got = _handler.claimed(id, account, currency) + _handler.rewardsAt(id, i / 2, currency);
                uint256 actual = got * one;
                uint256 expected = _handler.earned(id, account, currency);
                // The rounding of this test itself is at most a thousandth of a unit.
                assertTrue(actual <= expected + one / 1000, "more than its part");
                assertTrue(actual + one >= expected, "a unit less than its part");
            }
        }
    }

    function handler() internal view override returns (address) {
        return address(_handler);
    }

    function argumentsOf(bytes4 selector, uint256 random) internal pure override returns (bytes memory) {
        // The last argument of these actions is a bool.
        if (selector == RewardsHandler.startEarning.selector)
            return abi.encode(random >> 8, random >> 16, (random >> 24) % 2);
        if (selector == RewardsHandler.raiseCommission.selector) return abi.encode(random >> 8, (random >> 16) % 2);
        return abi.encode(random >> 8, random >> 16, uint64(random >> 24), random >> 255);
    }

    /// @dev Payments and claims come up more often than the rest.
    function weightedSelectors() internal pure override returns (bytes4[] memory selectors) {
        bytes4[16] memory weighted = [
            RewardsHandler.bond.selector,
            RewardsHandler.bond.selector,
            RewardsHandler.bond.selector,
            RewardsHandler.startEarning.selector,
            RewardsHandler.startEarning.selector,
            RewardsHandler.startUnbonding.selector,
            RewardsHandler.leave.selector,
            RewardsHandler.slash.selector,
            RewardsHandler.serve.selector,
            RewardsHandler.serve.selector,
            RewardsHandler.serve.selector,
            RewardsHandler.claimRewards.selector,
            RewardsHandler.claimRewards.selector,
            RewardsHandler.setCommission.selector,
            RewardsHandler.raiseCommission.selector,
            RewardsHandler.pass.selector
        ];
        selectors = new bytes4[](weighted.length);
        for (uint256 i = 0; i < weighted.length; ++i) selectors[i] = weighted[i];
    }
}
