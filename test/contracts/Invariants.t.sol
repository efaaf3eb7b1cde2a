// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {AgentId, Seat, Status} from "../../contracts/types/Types.sol";
import {Handler} from "./utils/Handler.sol";
import {Assertions} from "./utils/Vm.sol";

contract InvariantsTest is Assertions {
    using SeatLib for Seat;

    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    Handler private _handler;
    mapping(uint256 draw => mapping(uint256 agentId => bool drawn)) private _drawn;
    uint256 private _draws;

    function setUp() public {
        _handler = new Handler();
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_handler);
    }

    /// @dev The flow comes up more often than the rest.
    function targetSelectors() external view returns (FuzzSelector[] memory targets) {
        bytes4[20] memory weighted = [
            Handler.deposit.selector,
            Handler.withdraw.selector,
            Handler.ask.selector,
            Handler.ask.selector,
            Handler.ask.selector,
            Handler.draw.selector,
            Handler.draw.selector,
            Handler.draw.selector,
            Handler.commit.selector,
            Handler.commit.selector,
            Handler.commit.selector,
            Handler.commitAgain.selector,
            Handler.creditPay.selector,
            Handler.retryCallback.selector,
            Handler.refund.selector,
            Handler.register.selector,
            Handler.bond.selector,
            Handler.startUnbonding.selector,
            Handler.withdrawStake.selector,
            Handler.rotate.selector
        ];
        bytes4[] memory selectors = new bytes4[](weighted.length);
        for (uint256 i = 0; i < weighted.length; ++i) selectors[i] = weighted[i];
        targets = new FuzzSelector[](1);
        targets[0] = FuzzSelector(address(_handler), selectors);
    }

    /// @dev An invariant over nothing proves nothing: a random walk reaches every action, and no action reverts.
    function test_everyActionIsReached() public {
        bytes32[16] memory actions = [
            bytes32("deposit"),
            "withdraw",
            "ask",
            "draw",
            "reschedule",
            "commit",
            "commitAgain",
            "creditPay",
            "retryCallback",
            "refund",
            "register",
            "bond",
            "startUnbonding",
            "withdrawStake",
            "rotate",
            "callbackFailed"
        ];
        bytes4[] memory selectors = this.targetSelectors()[0].selectors;
        for (uint256 i = 0; i < 400; ++i) {
            uint256 random = uint256(keccak256(abi.encode("walk", i)));
            bytes memory arguments = abi.encode(random >> 8, uint64(random >> 16), (random >> 17) & 1, random >> 18);
            (bool success, ) = address(_handler).call(bytes.concat(selectors[random % selectors.length], arguments));
            assertTrue(success, "no action reverts");
        }
        for (uint256 i = 0; i < actions.length; ++i) {
            assertTrue(_handler.done(actions[i]) != 0, string(abi.encodePacked(actions[i])));
        }
        invariant_oracleOwesExactlyWhatItHolds();
        invariant_nothingForbiddenHappened();
    }

    function invariant_oracleOwesExactlyWhatItHolds() public view {
        assertEq(_handler.tokensOfOracle(), _handler.balances() + _handler.escrow(), "balances and escrow");
    }

    function invariant_registryOwesExactlyWhatItHolds() public view {
        IAgentRegistry.Agent[] memory agents = _handler.agents();
        uint256 sum = 0;
        for (uint256 i = 0; i < agents.length; ++i) {
            sum += uint256(agents[i].bonded.assets) + agents[i].unbonding.assets;
        }
        assertEq(_handler.tokensOfRegistry(), sum, "stake and unbonding");
    }

    /// @dev A draw of everybody in the next epoch shows the whole array: each active agent once, as it is now.
    function invariant_activeArrayMatchesTheAgents() public {
        IAgentRegistry.Agent[] memory agents = _handler.agents();
        uint256 active = 0;
        for (uint256 i = 0; i < agents.length; ++i) {
            bool eligible = agents[i].bonded.assets >= 1 ether && !agents[i].exited;
            assertTrue(agents[i].active == eligible, "active iff enough stake and not exited");
            if (agents[i].active) ++active;
        }
        Seat[] memory all = _handler.drawAll(keccak256("all"));
        assertEq(all.length, active, "everybody");
        assertEq(_handler.activeCount(), active, "activeCount");
        ++_draws;
        for (uint256 i = 0; i < active; ++i) {
            uint256 id = AgentId.unwrap(all[i].agentId());
            assertTrue(!_drawn[_draws][id], "once");
            _drawn[_draws][id] = true;
            assertEq(all[i].signer(), agents[id - 1].signer, "signer");
            assertEq(all[i].reputation(), agents[id - 1].reputation, "reputation");
        }
    }

    function invariant_oneRequestOneCommit() public view {
        for (uint256 i = 0; i < _handler.requestCount(); ++i) {
            (Status expected, Status actual, uint256 commits) = _handler.requestAt(i);
            assertEq(uint8(actual), uint8(expected), "status");
            bool settled = actual == Status.Decided || actual == Status.Hung;
            assertEq(commits, settled ? 1 : 0, "commits");
        }
    }

    function invariant_nothingForbiddenHappened() public view {
        assertEq(_handler.broken(), 0, _handler.brokenBecause());
    }
}
