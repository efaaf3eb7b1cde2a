// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {Currency} from "../../contracts/types/Types.sol";
import {Handler} from "./utils/Handler.sol";
import {WalkTest} from "./utils/WalkTest.sol";

/// @dev What holds of a handler, and the actions that a walk chooses from.
abstract contract Rules is WalkTest {
    Handler internal _handler;

    /// @dev MO1: in each currency, to the last unit.
    function requireMoney() internal view {
        for (uint8 i = 0; i < 2; ++i) {
            Currency currency = Currency(i);
            assertEq(_handler.holdings(currency), _handler.mustHold(currency), "MO1: what it holds");
        }
        _handler.requireLedger();
    }

    /// @dev RE1, RE2: every request is in the state that its rules led to, and no consumer was called twice for it.
    function requireCourse() internal view {
        for (uint256 i = 0; i < _handler.requestCount(); ++i) _handler.requireState(i);
        (uint256 counted, uint256 actual) = _handler.deliveries();
        assertEq(actual, counted, "RE2: deliveries");
        assertEq(_handler.broken(), 0, _handler.brokenBecause());
    }

    /// @dev Liveness: third parties can end every request, whatever agents, askers and appellants did before.
    function requireEnd() internal {
        _handler.endAll();
        requireMoney();
        requireCourse();
        _handler.requireAgents();
    }

    function handler() internal view override returns (address) {
        return address(_handler);
    }

    function argumentsOf(bytes4, uint256 random) internal pure override returns (bytes memory) {
        return abi.encode(random >> 8, uint64(random >> 16), random >> 18);
    }

    /// @dev The steps of a request come up more often than the rest.
    function weightedSelectors() internal pure override returns (bytes4[] memory selectors) {
        bytes4[38] memory weighted = [
            Handler.fundSubscription.selector,
            Handler.withdrawFunds.selector,
            Handler.withdraw.selector,
            Handler.claimRewards.selector,
            Handler.wake.selector,
            Handler.leave.selector,
            Handler.comeBack.selector,
            Handler.comeBack.selector,
            Handler.accuse.selector,
            Handler.overturn.selector,
            Handler.overturn.selector,
            Handler.setPrices.selector,
            Handler.ask.selector,
            Handler.ask.selector,
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
            Handler.commitAgain.selector,
            Handler.appeal.selector,
            Handler.appeal.selector,
            Handler.appeal.selector,
            Handler.appeal.selector,
            Handler.finalize.selector,
            Handler.expire.selector,
            Handler.expire.selector,
            Handler.settle.selector,
            Handler.settle.selector,
            Handler.hurry.selector,
            Handler.cancel.selector,
            Handler.retryCallback.selector
        ];
        selectors = new bytes4[](weighted.length);
        for (uint256 i = 0; i < weighted.length; ++i) selectors[i] = weighted[i];
    }
}

contract InvariantsTest is Rules {
    /// @dev What costs much is looked at every so many actions, and at the end of each run.
    uint256 private constant DEEP = 16;

    function setUp() public {
        _handler = new Handler();
    }

    /// @dev At each step money and states are as the rules say; now and then every request is brought to its end. The chain
    /// forgets what an invariant does, so the walk goes on.
    function invariant_moneyStatesAndEnds() public {
        requireMoney();
        requireCourse();
        if (_handler.steps() % DEEP == 0) requireEnd();
    }

    /// @dev SE13: no call of a third party takes more gas than it is paid for, and a settlement at most what its seats
    /// take at their worst. Under another name, because mutants and
    /// coverage change what gas is used.
    function invariantOfGas_callersArePaid() public {
        if (_handler.steps() % DEEP == 0) _handler.endAll();
        assertEq(_handler.overrun(), 0, "SE13: gas beyond the bound");
    }

    /// @dev A walk that settles nothing shows nothing.
    function afterInvariant() public {
        assertTrue(_handler.done("settleRounds") != 0, "no request of several rounds was settled");
        assertEq(_handler.done("endAll"), 0, "the chain forgets what an invariant does");
        requireEnd();
    }
}

/// @dev Invariants that nothing exercises prove nothing: walks as long as those of the invariants reach every action and
/// every shape of settlement, and no action reverts. The walks are in the set-up, which never fails: of a set-up or a
/// test that fails, Hardhat keeps every step.
contract ShapesTest is Rules {
    uint256 private constant WALKS = 26;
    mapping(bytes32 action => uint256 count) private _counts;
    bytes private _broken;

    function setUp() public {
        for (uint256 number = 0; number < WALKS && _broken.length == 0; ++number) {
            _handler = new Handler();
            try this.walk(number) {} catch (bytes memory reason) {
                _broken = reason;
            }
        }
    }

    function walk(uint256 number) external {
        _walk(number, 500);
        requireEnd();
        bytes32[93] memory expected = _expected();
        for (uint256 i = 0; i < expected.length; ++i) _counts[expected[i]] += _handler.done(expected[i]);
    }

    function test_everyShapeIsReached() public view {
        bytes memory broken = _broken;
        if (broken.length != 0) {
            // What the walk reverted with, as it was.
            assembly {
                revert(add(broken, 32), mload(broken))
            }
        }
        bytes32[93] memory expected = _expected();
        string memory missing = "";
        for (uint256 i = 0; i < expected.length; ++i)
            if (_counts[expected[i]] == 0) missing = string(abi.encodePacked(missing, expected[i], " "));
        assertTrue(bytes(missing).length == 0, missing);
    }

    function _expected() private pure returns (bytes32[93] memory) {
        return
            [
                bytes32("fund"),
                "withdrawFunds",
                "withdraw",
                "claimRewards",
                "wake",
                "leave",
                "comeBack",
                "accuse",
                "accuse: exits",
                "accuseAgain",
                "overturn",
                "overturnRefused",
                "deserted",
                "setPrices",
                "ask",
                "ask: secured",
                "askDirect",
                "askLater",
                "tooFewAgents",
                "seedExpired",
                "sitAgain",
                "commit",
                "commitTogether",
                "settleTogether",
                "commitInTheNextEpoch",
                "commitAgain",
                "retry",
                "appeal",
                "appealTooLate",
                "finalize",
                "finalizeTooEarly",
                "endTooEarly",
                "replace",
                "replace after a wait",
                "later",
                "callerPaid",
                "settleAgain",
                "retryCallback",
                "callbackFailed",
                "lesson: agreed",
                "lesson: outvoted",
                "skill 1",
                "skill 3",
                // The ends of requests.
                "refund",
                "refund:replaced",
                "refundHeard",
                "refundNotHeard",
                "cancel",
                "cancel in the wait",
                "cancelTooLate",
                "atOnce:decided",
                "atOnce:hung",
                "atOnce:no answer",
                "atOnce:replaced",
                "unanswered:appeal",
                "unanswered:retry",
                "settleRounds",
                "settle five rounds or more",
                "settled, replaced before",
                "settled in one transaction",
                "settled in tokens",
                "settled in coins",
                "last decided",
                "last hung",
                "upheld, last hung",
                "last without an answer",
                "no answer came",
                "no retry came",
                "retried",
                "asked again later",
                "retried inside an appeal",
                "against a hung, upheld",
                "against a hung, lost",
                "larger after a hung",
                "larger after an unsure",
                "unsure, stands",
                "unsure, overturned",
                "atOnce:sure",
                // Each appeal was upheld or lost, in this order.
                "appeals:",
                "appeals:U",
                "appeals:L",
                "appeals:UU",
                "appeals:UL",
                "appeals:LU",
                "appeals:LL",
                "appeals:UUU",
                "appeals:UUL",
                "appeals:ULU",
                "appeals:ULL",
                "appeals:LUU",
                "appeals:LUL",
                "appeals:LLU",
                "appeals:LLL"
            ];
    }
}
