// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {Currency, Status} from "../../contracts/types/Types.sol";
import {Handler} from "./utils/Handler.sol";
import {Assertions} from "./utils/Vm.sol";

contract InvariantsTest is Assertions {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    error ActionReverted(uint256 step, bytes4 selector, bytes reason);

    Handler private _handler;

    function setUp() public {
        _handler = new Handler();
    }

    /// @dev The fuzzer gives coins to the callers, so no contract of the test may be a caller.
    function targetSenders() external pure returns (address[] memory senders) {
        senders = new address[](1);
        senders[0] = address(0xca11e2);
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_handler);
    }

    /// @dev The steps of a request come up more often than the rest.
    function targetSelectors() external view returns (FuzzSelector[] memory targets) {
        bytes4[27] memory weighted = [
            Handler.fundSubscription.selector,
            Handler.withdrawFunds.selector,
            Handler.withdraw.selector,
            Handler.claimRewards.selector,
            Handler.setPrices.selector,
            Handler.ask.selector,
            Handler.ask.selector,
            Handler.ask.selector,
            Handler.ask.selector,
            Handler.commit.selector,
            Handler.commit.selector,
            Handler.commit.selector,
            Handler.commit.selector,
            Handler.commit.selector,
            Handler.commit.selector,
            Handler.commit.selector,
            Handler.commit.selector,
            Handler.commitAgain.selector,
            Handler.appeal.selector,
            Handler.appeal.selector,
            Handler.finalize.selector,
            Handler.finalize.selector,
            Handler.expire.selector,
            Handler.settle.selector,
            Handler.settle.selector,
            Handler.retryCallback.selector,
            Handler.retryCallback.selector
        ];
        bytes4[] memory selectors = new bytes4[](weighted.length);
        for (uint256 i = 0; i < weighted.length; ++i) selectors[i] = weighted[i];
        targets = new FuzzSelector[](1);
        targets[0] = FuzzSelector(address(_handler), selectors);
    }

    /// @dev Invariants that nothing exercises prove nothing: a random walk reaches every action, and no action reverts.
    function test_everyActionIsReached() public {
        bytes32[25] memory actions = [
            bytes32("fund"),
            "withdrawFunds",
            "withdraw",
            "claimRewards",
            "setPrices",
            "ask",
            "askDirect",
            "seedExpired",
            "tooFewAgents",
            "sitAgain",
            "commit",
            "commitAgain",
            "retry",
            "appeal",
            "finalize",
            "replace",
            "refund",
            "fallBack",
            "callerPaid",
            "appealUnanswered",
            "settle",
            "settleAtOnce",
            "settleRounds",
            "retryCallback",
            "callbackFailed"
        ];
        bytes4[] memory selectors = this.targetSelectors()[0].selectors;
        for (uint256 i = 0; i < 900; ++i) {
            uint256 random = uint256(keccak256(abi.encode("walk", i)));
            bytes memory arguments = abi.encode(random >> 8, uint64(random >> 16), (random >> 17) & 1, random >> 18);
            bytes4 selector = selectors[random % selectors.length];
            // This action takes shares above 0 where others take a bool.
            if (selector == Handler.commit.selector)
                arguments = abi.encode(random >> 8, random >> 16, uint64(random >> 24), random >> 32);
            (bool success, bytes memory reason) = address(_handler).call(bytes.concat(selector, arguments));
            if (!success) revert ActionReverted(i, selector, reason);
        }
        string memory missing = "";
        for (uint256 i = 0; i < actions.length; ++i) {
            if (_handler.done(actions[i]) == 0) missing = string(abi.encodePacked(missing, actions[i], " "));
        }
        assertTrue(bytes(missing).length == 0, missing);
        invariant_oracleOwesExactlyWhatItHolds();
        invariant_nothingForbiddenHappened();
    }

    /// @dev MO1: in each currency, to the last unit.
    function invariant_oracleOwesExactlyWhatItHolds() public view {
        for (uint8 i = 0; i < 2; ++i) {
            Currency currency = Currency(i);
            assertEq(
                _handler.holdings(currency),
                _handler.balances(currency) + _handler.escrow(currency),
                "balances and escrow"
            );
        }
    }

    /// @dev RW1: up to less than one unit for each agent, and one unit for all divisions.
    function invariant_registryOwesNoMoreThanItsCredit() public view {
        for (uint8 i = 0; i < 2; ++i) {
            (uint256 rewards, uint256 credit) = (_handler.rewards(Currency(i)), _handler.credited(Currency(i)));
            assertTrue(rewards <= credit, "more than the credit");
            assertTrue(credit - rewards <= 15, "more than roundings is left");
        }
    }

    /// @dev RE1, RE2: every request is in the state that its rules led to, and no consumer was called twice for it.
    function invariant_requestsFollowTheirCourse() public view {
        for (uint256 i = 0; i < _handler.requestCount(); ++i) {
            (Status expected, Status actual, uint256 deliveries) = _handler.requestAt(i);
            assertEq(uint8(actual), uint8(expected), "status");
            assertTrue(deliveries <= 1, "one delivery");
        }
    }

    function invariant_nothingForbiddenHappened() public view {
        assertEq(_handler.broken(), 0, _handler.brokenBecause());
    }
}
