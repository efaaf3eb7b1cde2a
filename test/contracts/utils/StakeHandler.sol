// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../../contracts/interfaces/IAgentRegistry.sol";
import {AgentId, Currency, DecidedRound, Pot, Seat} from "../../../contracts/types/Types.sol";
import {SeatLib} from "../../../contracts/libraries/SeatLib.sol";
import {ConclaveTest} from "./ConclaveTest.sol";
import {vm} from "./Vm.sol";

/// @dev Plays operators, delegators, reporters and a committee that changes reputations, at random. Each action checks
/// what it must not change. An action that makes no sense returns early.
contract StakeHandler is ConclaveTest {
    using SeatLib for Seat;

    uint32 public constant AGENTS = 6;
    uint256 public constant ACCOUNTS = 5;

    /// @dev Accounts that all delegate. The first two are operators, each of every other agent.
    address[ACCOUNTS] public accounts = [address(0xa1), address(0xa2), address(0xa3), address(0xa4), address(0xa5)];
    /// @dev Units that each account put into stakes and got out of them.
    mapping(address account => uint256 amount) public put;
    mapping(address account => uint256 amount) public got;
    /// @dev Number of bonds, unbondings and withdrawals: each rounds at most twice, by less than a unit.
    uint256 public moves;
    uint256 public slashed;
    uint256 public claimed;
    uint256 public donated;
    uint256 public broken;
    string public brokenBecause;
    mapping(bytes32 action => uint256 count) public done;
    /// @dev Proofs that counted, encoded.
    bytes[] private _submitted;
    /// @dev The requests of `decideForEvidence` in which an agent sat and for which it was not slashed, the newest last.
    mapping(AgentId id => uint256[] indexes) private _open;
    mapping(AgentId id => uint256 time) private _slashTimes;

    /// @dev ST2: an action on one agent lowers no share's price and does not change another agent's stake.
    modifier keepsPrices(uint256 agent) {
        AgentId mover = _id(agent);
        Pot[2][] memory before = _pots();
        _;
        Pot[2][] memory current = _pots();
        for (uint256 i = 0; i < AGENTS; ++i) {
            if (i + 1 != AgentId.unwrap(mover) && _differ(before[i], current[i])) _break("another agent's stake moved");
            if (_fell(before[i][0], current[i][0]) || _fell(before[i][1], current[i][1]))
                _break("a share's price fell");
        }
    }

    constructor() {
        deployConclave();
        for (uint256 i = 0; i < ACCOUNTS; ++i) {
            token.mint(accounts[i], 1e24);
            vm.prank(accounts[i]);
            token.approve(address(registry), type(uint256).max);
        }
        for (uint256 i = 0; i < AGENTS; ++i) {
            address operator = accounts[i % 2];
            IAgentRegistry.Registration memory registration = registrationOf(operator, MIN_STAKE * uint128(1 + i));
            vm.prank(operator);
            registry.register(registration);
            put[operator] += registration.stake;
        }
        nextEpoch();
    }

    function bond(uint256 agent, uint256 account, uint256 amount, bool small) external keepsPrices(agent) {
        AgentId id = _id(agent);
        address from = accounts[account % ACCOUNTS];
        IAgentRegistry.Agent memory found = registry.getAgent(id);
        uint256 room = MAX_STAKE - found.bonded.assets;
        if (room == 0) return;
        if (found.exited || (found.operator != from && !found.active)) {
            vm.prank(from);
            try registry.bond(id, 1) {
                _break("a stranger bonded to an inactive agent");
            } catch {}
            return;
        }
        amount = bound(amount, 1, small && room > 1000 ? 1000 : room);
        vm.prank(from);
        registry.bond(id, uint128(amount));
        put[from] += amount;
        ++moves;
        ++done["bond"];
    }

    function startUnbonding(uint256 agent, uint256 account, uint256 shares) external keepsPrices(agent) {
        AgentId id = _id(agent);
        address from = accounts[account % ACCOUNTS];
        IAgentRegistry.Position memory position = registry.positionOf(id, from);
        if (position.bonded == 0) return;
        // Shares worth at least one unit, since a single share may be worth less.
        uint256 least = (uint256(position.shares) + position.bonded - 1) / position.bonded + 1;
        if (least > position.shares) least = position.shares;
        shares = bound(shares, least, position.shares);
        vm.prank(from);
        registry.startUnbonding(id, uint128(shares));
        ++moves;
        ++done["startUnbonding"];
    }

    function withdrawStake(uint256 agent, uint256 account) external keepsPrices(agent) {
        AgentId id = _id(agent);
        address from = accounts[account % ACCOUNTS];
        IAgentRegistry.Position memory position = registry.positionOf(id, from);
        if (position.unbonding == 0) return;
        if (block.timestamp < position.unbondingEnd) vm.warp(position.unbondingEnd);
        vm.prank(from);
        got[from] += registry.withdrawStake(id, from);
        ++moves;
        ++done["withdrawStake"];
    }

    function slash(uint256 agent, uint256 reporter) external {
        if (_submitted.length == EVIDENCE) return;
        AgentId id = _id(agent);
        _decide();
        uint256[] storage open = _open[id];
        if (open.length == 0) return;
        Pot[2][] memory before = _pots();
        uint256 own = _own(id);
        uint256 owing = _owed();
        bool leaves = _leaves(id);
        Equivocation memory pair = equivocation(id, open[open.length - 1]);
        address from = accounts[reporter % ACCOUNTS];
        uint256 reward = registry.owedTo(from);
        if (block.timestamp < _slashTimes[id] + 7 days) vm.warp(_slashTimes[id] + 7 days);
        bool isOver = _hasEnded(pair);
        try this.submitPair(from, pair) {
            if (isOver) _break("a key that ended counted");
            open.pop();
            _slashTimes[id] = block.timestamp;
            _submitted.push(abi.encode(pair));
            _assertSlash(id, before);
            if (registry.getAgent(id).exited != leaves) _break("a slash ends what is not active, and only that");
            reward = registry.owedTo(from) - reward;
            if (reward > (own - _own(id)) / 2) _break("a reward above half of the operator's loss");
            slashed += _owed() - owing;
            ++done["slash"];
        } catch {
            if (!isOver && before[AgentId.unwrap(id) - 1][0].assets != 0) _break("evidence was refused");
        }
    }

    /// @dev ST6: each proof counts once.
    function slashAgain(uint256 index) external keepsPrices(0) {
        if (_submitted.length == 0) return;
        Equivocation memory pair = abi.decode(_submitted[index % _submitted.length], (Equivocation));
        try this.submitPair(address(this), pair) {
            _break("evidence counted twice");
        } catch {}
        ++done["slashAgain"];
    }

    /// @dev ST10: a key proves nothing about another agent's seat, nor about a seat of its agent that was drawn with another key.
    function slashAbsent(uint256 agent) external keepsPrices(0) {
        if (decidedIds.length == 0) return;
        Equivocation memory pair;
        (pair.request, pair.held.rounds) = decided(decidedIds.length - 1);
        address signer = registry.getAgent(_id(agent)).signer;
        if (pair.held.rounds[0].committee[0].signer() == signer) return;
        try this.submitPair(address(this), equivocationBy(keys[signer], pair.request, pair.held)) {
            _break("a key counted for a seat that it did not hold");
        } catch {}
        ++done["slashAbsent"];
    }

    function submitPair(address reporter, Equivocation memory pair) external {
        submitAs(reporter, pair);
    }

    function rotate(uint256 agent) external keepsPrices(agent) {
        AgentId id = _id(agent);
        address operator = registry.operatorOf(id);
        (bytes memory publicKey, bytes memory possession) = freshKey(operator);
        vm.prank(operator);
        registry.rotateSigner(id, publicKey, possession);
        ++done["rotate"];
    }

    function moveReputation(uint256 agent, uint8 down) external keepsPrices(agent) {
        AgentId id = _id(agent);
        bool exited = registry.getAgent(id).exited;
        recordService(Currency.Token, id, down % 4 == 0 ? int8(1) : -int8(uint8(down % 4)), 0);
        IAgentRegistry.Agent memory found = registry.getAgent(id);
        if (exited && !found.exited) _break("an exited agent came back");
        if (found.exited != (exited || found.reputation < 100_000)) _break("exit is not at the threshold");
        if (found.exited && !exited) ++done["exit"];
        ++done["moveReputation"];
    }

    function claim(uint256 account) external keepsPrices(0) {
        address from = account % (ACCOUNTS + 1) == ACCOUNTS ? TREASURY : accounts[account % ACCOUNTS];
        if (registry.owedTo(from) == 0) return;
        vm.prank(from);
        claimed += registry.claim(from);
        ++done["claim"];
    }

    /// @dev Sends tokens to the registry, which belong to nobody.
    function donate(uint256 amount) external {
        Pot[2][] memory before = _pots();
        amount = bound(amount, 1, 1e20);
        token.mint(address(registry), amount);
        donated += amount;
        Pot[2][] memory current = _pots();
        for (uint256 i = 0; i < AGENTS; ++i) if (_differ(before[i], current[i])) _break("a donation moved a pot");
        ++done["donate"];
    }

    function pass(uint256 time) external {
        vm.warp(block.timestamp + bound(time, 1, 3 days));
        nextEpoch();
        ++done["pass"];
    }

    function tokens() external view returns (uint256) {
        return token.balanceOf(address(registry));
    }

    function owed() external view returns (uint256) {
        return _owed();
    }

    function agentAt(uint32 id) external view returns (IAgentRegistry.Agent memory) {
        return registry.getAgent(AgentId.wrap(id));
    }

    function positionAt(uint32 id, address account) external view returns (IAgentRegistry.Position memory) {
        return registry.positionOf(AgentId.wrap(id), account);
    }

    /// @dev Returns the agents that the next epoch will draw from.
    function drawable() external returns (bool[] memory drawn) {
        uint256 number = block.number;
        nextEpoch();
        Seat[] memory all = committeeNow("all", registry.drawableCount());
        drawn = new bool[](AGENTS + 1);
        for (uint256 i = 0; i < all.length; ++i) drawn[AgentId.unwrap(all[i].agentId())] = true;
        vm.roll(number);
    }

    /// @dev Makes a request in which all agents sit that can be drawn, if they are enough for a committee.
    function _decide() private {
        nextEpoch();
        if (registry.drawableCount() < 4) return;
        decideForEvidence(1);
        uint256 index = decidedIds.length - 1;
        (, DecidedRound[] memory rounds) = decided(index);
        Seat[] memory committee = rounds[0].committee;
        for (uint256 i = 0; i < committee.length; ++i) _open[committee[i].agentId()].push(index);
    }

    /// @dev ST6: true if the key of the seat was rotated out longer ago than an unbonding delay.
    function _hasEnded(Equivocation memory pair) private view returns (bool) {
        (, uint40 end) = registry.keyOf(pair.held.rounds[0].committee[pair.held.seat].signer());
        return end != 0 && block.timestamp > end;
    }

    function _assertSlash(AgentId id, Pot[2][] memory before) private {
        Pot[2][] memory current = _pots();
        for (uint256 i = 0; i < AGENTS; ++i) {
            if (i + 1 != AgentId.unwrap(id)) {
                if (_differ(before[i], current[i])) _break("a slash touched another agent");
                continue;
            }
            for (uint256 pot = 0; pot < 2; ++pot) {
                uint256 cut = (uint256(before[i][pot].assets) + 9) / 10;
                uint256 left = before[i][pot].assets - cut;
                bool dust = left << 32 < before[i][pot].shares;
                if (current[i][pot].assets != (dust ? 0 : left)) _break("not a tenth");
            }
        }
    }

    /// @dev ST8: true if the agent has exited, or exits when it is slashed now.
    function _leaves(AgentId id) private view returns (bool) {
        IAgentRegistry.Agent memory found = registry.getAgent(id);
        return found.exited || !found.active;
    }

    function _own(AgentId id) private view returns (uint256) {
        IAgentRegistry.Position memory position = registry.positionOf(id, registry.operatorOf(id));
        return uint256(position.bonded) + position.unbonding;
    }

    function _owed() private view returns (uint256 sum) {
        for (uint256 i = 0; i < ACCOUNTS; ++i) sum += registry.owedTo(accounts[i]);
        return sum + registry.owedTo(TREASURY);
    }

    function _pots() private view returns (Pot[2][] memory pots) {
        pots = new Pot[2][](AGENTS);
        for (uint32 i = 0; i < AGENTS; ++i) {
            IAgentRegistry.Agent memory found = registry.getAgent(AgentId.wrap(i + 1));
            (pots[i][0], pots[i][1]) = (found.bonded, found.unbonding);
        }
    }

    function _differ(Pot[2] memory left, Pot[2] memory right) private pure returns (bool) {
        return keccak256(abi.encode(left)) != keccak256(abi.encode(right));
    }

    function _fell(Pot memory before, Pot memory current) private pure returns (bool) {
        if (before.shares == 0 || current.shares == 0) return false;
        return uint256(current.assets) * before.shares < uint256(before.assets) * current.shares;
    }

    function _break(string memory because) private {
        ++broken;
        brokenBecause = because;
    }

    function _id(uint256 agent) private pure returns (AgentId) {
        return AgentId.wrap(uint32(1 + (agent % AGENTS)));
    }
}
