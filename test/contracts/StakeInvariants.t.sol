// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {StakeHandler} from "./utils/StakeHandler.sol";
import {WalkTest} from "./utils/WalkTest.sol";

/// @dev The invariants of stake, with the numbers of docs/spec/invariants.md.
contract StakeInvariantsTest is WalkTest {
    StakeHandler private _handler;

    function setUp() public {
        _handler = new StakeHandler();
    }

    /// @dev Invariants that nothing exercises prove nothing: a random walk reaches every action, and no action reverts.
    function test_everyActionIsReached() public {
        _walk(0, 1_200);
        bytes32[12] memory actions = [
            bytes32("bond"),
            "startUnbonding",
            "withdrawStake",
            "slash",
            "slashAgain",
            "slashAbsent",
            "rotate",
            "moveReputation",
            "exit",
            "claim",
            "donate",
            "pass"
        ];
        for (uint256 i = 0; i < actions.length; ++i) {
            assertTrue(_handler.done(actions[i]) > 0, string(abi.encodePacked(actions[i])));
        }
        invariant_everyTokenIsAccountedFor();
        invariant_nobodyTakesOutMoreThanItPutIn();
        invariant_activeIffOwnStakeAndNotExited();
        invariant_nothingForbiddenHappened();
    }

    /// @dev ST1.
    function invariant_everyTokenIsAccountedFor() public view {
        (uint256 stake, uint256 put, uint256 got) = (0, 0, 0);
        for (uint32 id = 1; id <= _handler.AGENTS(); ++id) {
            IAgentRegistry.Agent memory agent = _handler.agentAt(id);
            stake += uint256(agent.bonded.assets) + agent.unbonding.assets;
        }
        for (uint256 i = 0; i < _handler.ACCOUNTS(); ++i) {
            put += _handler.put(_handler.accounts(i));
            got += _handler.got(_handler.accounts(i));
        }
        assertEq(stake + _handler.owed() + _handler.donated(), _handler.tokens(), "pots and what is owed");
        assertEq(stake + got + _handler.slashed(), put, "what came in");
        assertEq(_handler.owed() + _handler.claimed(), _handler.slashed(), "what was slashed");
    }

    /// @dev ST4: up to the rounding of other accounts' moves, less than two units for each move.
    function invariant_nobodyTakesOutMoreThanItPutIn() public view {
        for (uint256 i = 0; i < _handler.ACCOUNTS(); ++i) {
            address account = _handler.accounts(i);
            uint256 worth = _handler.got(account);
            for (uint32 id = 1; id <= _handler.AGENTS(); ++id) {
                IAgentRegistry.Position memory position = _handler.positionAt(id, account);
                worth += uint256(position.bonded) + position.unbonding;
            }
            assertTrue(worth <= _handler.put(account) + 2 * _handler.moves(), "more than it put in");
        }
    }

    /// @dev ST5, ST8.
    function invariant_activeIffOwnStakeAndNotExited() public {
        bool[] memory drawn = _handler.drawable();
        for (uint32 id = 1; id <= _handler.AGENTS(); ++id) {
            IAgentRegistry.Agent memory agent = _handler.agentAt(id);
            uint256 own = _handler.positionAt(id, agent.operator).bonded;
            assertTrue(agent.active == (own >= 1 ether && !agent.exited), "active");
            assertTrue(drawn[id] == agent.active, "drawn");
            assertTrue(agent.bonded.assets <= 16 ether, "above the maximum");
            assertTrue(agent.bonded.assets <= agent.bonded.shares, "ST3: a share above one unit");
            assertTrue(agent.unbonding.assets <= agent.unbonding.shares, "ST3: a share above one unit");
        }
    }

    /// @dev ST2, ST6, ST9: the handler checks them at every action.
    function invariant_nothingForbiddenHappened() public view {
        assertEq(_handler.broken(), 0, _handler.brokenBecause());
    }

    function handler() internal view override returns (address) {
        return address(_handler);
    }

    function argumentsOf(bytes4 selector, uint256 random) internal pure override returns (bytes memory) {
        if (selector == StakeHandler.moveReputation.selector) return abi.encode(random >> 8, uint8(random >> 16));
        return abi.encode(random >> 8, random >> 16, random >> 24, random >> 255);
    }

    function weightedSelectors() internal pure override returns (bytes4[] memory selectors) {
        bytes4[15] memory weighted = [
            StakeHandler.bond.selector,
            StakeHandler.bond.selector,
            StakeHandler.bond.selector,
            StakeHandler.startUnbonding.selector,
            StakeHandler.startUnbonding.selector,
            StakeHandler.withdrawStake.selector,
            StakeHandler.slash.selector,
            StakeHandler.slash.selector,
            StakeHandler.slashAgain.selector,
            StakeHandler.slashAbsent.selector,
            StakeHandler.rotate.selector,
            StakeHandler.moveReputation.selector,
            StakeHandler.claim.selector,
            StakeHandler.donate.selector,
            StakeHandler.pass.selector
        ];
        selectors = new bytes4[](weighted.length);
        for (uint256 i = 0; i < weighted.length; ++i) selectors[i] = weighted[i];
    }
}
