// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../../contracts/interfaces/IAgentRegistry.sol";
import {AgentId, Currency} from "../../../contracts/types/Types.sol";
import {Assertions, vm} from "./Vm.sol";

/// @dev Keeps what settlements, bonds and slashes must have made of each agent, in plain steps: pay, reputation, service, absence,
/// skill, stake, and from which epoch on it is drawn and with which skill. All agents belong to one account, which has all shares.
contract AgentModel is Assertions {
    /// @param week the last week that had a fall
    /// @param depth the deepest fall of that week, in slashes
    /// @param contested contested decisions that count
    /// @param agreed in how many of them the agent agreed
    /// @param lessonWeek the last week that had a lesson
    /// @param lessons lessons of that week that count
    /// @param assets bonded stake
    /// @param shares shares of it
    /// @param unbonding stake that leaves
    struct Agent {
        uint256 reputation;
        uint256 service;
        uint256 misses;
        uint256 week;
        uint256 depth;
        uint256 contested;
        uint256 agreed;
        uint256 lessonWeek;
        uint256 lessons;
        bool exited;
        uint256 assets;
        uint256 shares;
        uint256 unbonding;
        uint256[2] earned;
        uint256[2] claimed;
    }

    /// @param epoch the first epoch that draws by the change
    struct Change {
        uint256 epoch;
        bool drawn;
        uint256 skill;
        uint256 bucket;
    }

    IAgentRegistry private immutable _registry;
    uint256 private immutable _count;
    uint256 private immutable _minStake;
    mapping(uint256 id => Agent agent) private _agents;
    mapping(uint256 id => Change[] changes) private _changes;
    /// @dev Agents that served since `requireServed`.
    uint256[] private _served;
    /// @dev What all slashes took together.
    uint256 private _slashed;

    /// @param stake of each agent
    constructor(IAgentRegistry registry, uint256 count, uint256 stake) {
        (_registry, _count, _minStake) = (registry, count, registry.minStake());
        for (uint256 id = 1; id <= count; ++id) {
            Agent storage agent = _agents[id];
            agent.reputation = 1_000_000;
            (agent.assets, agent.shares) = (stake, stake);
            _changes[id].push(Change(0, true, 2, _bucketOf(agent)));
        }
    }

    /// @notice Records a seat of a round that stands.
    /// @param steps negative steps are slashes, positive ones recoveries
    /// @param missed true if the committee attests that the seat said nothing
    /// @param isTaught true if the decision teaches about the seat
    /// @param agrees true if its blind answer agrees
    function serve(
        AgentId agentId,
        Currency currency,
        int256 steps,
        bool missed,
        bool isTaught,
        bool agrees,
        uint256 pay
    ) external {
        uint256 id = AgentId.unwrap(agentId);
        Agent storage agent = _agents[id];
        bool slept = agent.misses == 3;
        _served.push(id);
        agent.earned[uint256(currency)] += pay;
        if (missed) {
            if (steps > -1) steps = -1;
            if (!slept) ++agent.misses;
        } else if (!slept) {
            agent.misses = 0;
        }
        if (agent.service < 16 && (steps > 0 || (steps == 0 && pay != 0))) ++agent.service;
        if (steps > 0) agent.reputation += 10_000;
        if (agent.reputation > 1_000_000) agent.reputation = 1_000_000;
        uint256 week = vm.getBlockTimestamp() / 7 days;
        if (steps < 0 && week != agent.week) (agent.week, agent.depth) = (week, 0);
        for (; steps < 0 && agent.depth < uint256(-steps); ++agent.depth) agent.reputation = (agent.reputation * 4) / 5;
        if (agent.reputation < 100_000) agent.exited = true;
        if (isTaught) _teach(agent, agrees, week);
        _change(id);
    }

    function wake(AgentId agentId) external {
        uint256 id = AgentId.unwrap(agentId);
        _agents[id].misses = 0;
        _change(id);
    }

    function claim(AgentId agentId, Currency currency, uint256 amount) external {
        _agents[AgentId.unwrap(agentId)].claimed[uint256(currency)] += amount;
    }

    /// @dev ST3: rounds the shares down.
    function bond(AgentId agentId, uint256 amount) external {
        uint256 id = AgentId.unwrap(agentId);
        Agent storage agent = _agents[id];
        agent.shares += agent.shares == 0 ? amount : (amount * agent.shares) / agent.assets;
        agent.assets += amount;
        _change(id);
    }

    /// @dev ST3: rounds the amount down.
    function unbond(AgentId agentId, uint256 shares) external {
        uint256 id = AgentId.unwrap(agentId);
        Agent storage agent = _agents[id];
        uint256 amount = (agent.assets * shares) / agent.shares;
        agent.shares -= shares;
        agent.assets -= amount;
        agent.unbonding += amount;
        _change(id);
    }

    /// @notice Takes a part of both pots, rounded up, but at most `most` in all (ST6, SC3). An agent with less than the minimum exits (ST8).
    /// @return taken what it lost
    function slash(AgentId agentId, uint256 ppm, uint256 most) external returns (uint256 taken) {
        uint256 id = AgentId.unwrap(agentId);
        Agent storage agent = _agents[id];
        if (agent.assets < _minStake) agent.exited = true;
        uint256 stake = agent.assets + agent.unbonding;
        if (stake * ppm > most * 1_000_000) ppm = (most * 1_000_000) / stake;
        uint256 bonded = (agent.assets * ppm + 999_999) / 1_000_000;
        uint256 unbonding = (agent.unbonding * ppm + 999_999) / 1_000_000;
        agent.assets -= bonded;
        agent.unbonding -= unbonding;
        taken = bonded + unbonding;
        _slashed += taken;
        _change(id);
    }

    function isActive(AgentId agentId) external view returns (bool) {
        return _isActive(_agents[AgentId.unwrap(agentId)]);
    }

    function isExited(AgentId agentId) external view returns (bool) {
        return _agents[AgentId.unwrap(agentId)].exited;
    }

    function assetsOf(AgentId agentId) external view returns (uint256) {
        return _agents[AgentId.unwrap(agentId)].assets;
    }

    function sharesOf(AgentId agentId) external view returns (uint256) {
        return _agents[AgentId.unwrap(agentId)].shares;
    }

    /// @notice ST1: returns what the registry must hold: all stake, and what was slashed, which nobody claims here.
    function mustHold() external view returns (uint256 sum) {
        sum = _slashed;
        for (uint256 id = 1; id <= _count; ++id) sum += _agents[id].assets + _agents[id].unbonding;
    }

    function asleep(AgentId agentId) external view returns (bool) {
        return _agents[AgentId.unwrap(agentId)].misses == 3;
    }

    /// @notice Returns how many agents an epoch draws from.
    function drawable(uint256 epoch) external view returns (uint256 count) {
        for (uint256 id = 1; id <= _count; ++id) if (isSampled(AgentId.wrap(uint32(id)), epoch)) ++count;
    }

    function isSampled(AgentId agentId, uint256 epoch) public view returns (bool) {
        return _at(agentId, epoch).drawn;
    }

    /// @notice Returns the skill with which an epoch draws the agent (SK7).
    function skillIn(AgentId agentId, uint256 epoch) external view returns (uint256) {
        return _at(agentId, epoch).skill;
    }

    /// @notice Returns how many of these agents an epoch draws from, and how many tickets they have: one in the lightest of ten buckets, twice as
    /// many in the next.
    /// @param set bit i stands for agent i
    function ticketsOf(uint256 set, uint256 epoch) external view returns (uint256 tickets, uint256 heads) {
        for (uint256 id = 1; id <= _count; ++id) {
            Change storage change = _at(AgentId.wrap(uint32(id)), epoch);
            if ((set >> id) & 1 == 0 || !change.drawn) continue;
            tickets += 1 << (9 - change.bucket);
            ++heads;
        }
    }

    /// @notice Reverts unless the registry knows the same of each agent.
    function requireSame(address owner) external view {
        for (uint256 id = 1; id <= _count; ++id) _requireSame(owner, id);
    }

    /// @notice Does the same for the agents that have served since the last call.
    function requireServed(address owner) external {
        for (uint256 i = 0; i < _served.length; ++i) _requireSame(owner, _served[i]);
        delete _served;
    }

    /// @dev Less than one unit of an agent's pay is left over.
    function _requireSame(address owner, uint256 id_) private view {
        AgentId id = AgentId.wrap(uint32(id_));
        Agent storage agent = _agents[id_];
        IAgentRegistry.Agent memory actual = _registry.getAgent(id);
        assertEq(actual.reputation, agent.reputation, "SE11: reputation");
        assertEq(actual.service, agent.service, "SE11: service");
        assertEq(actual.misses, agent.misses, "SE20: misses");
        assertEq(actual.contested, agent.contested, "SK4, SK5: contested");
        assertEq(actual.agreed, agent.agreed, "SK4, SK5: agreed");
        assertTrue(actual.exited == agent.exited, "ST8: exited");
        assertTrue(actual.active == _isActive(agent), "ST5: active");
        assertEq(actual.bonded.assets, agent.assets, "ST1: bonded stake");
        assertEq(actual.bonded.shares, agent.shares, "ST3: shares");
        assertEq(actual.unbonding.assets, agent.unbonding, "ST1: unbonding stake");
        for (uint8 currency = 0; currency < 2; ++currency) {
            uint256 owed = _registry.rewardsOf(id, owner, Currency(currency)) + agent.claimed[currency];
            assertTrue(owed <= agent.earned[currency], "RW1: more than the agent earned");
            assertTrue(owed + 1 >= agent.earned[currency], "RW1: less than the agent earned");
        }
    }

    /// @dev ST5, SE20.
    function _isActive(Agent storage agent) private view returns (bool) {
        return agent.misses < 3 && !agent.exited && agent.assets >= _minStake;
    }

    function _change(uint256 id) private {
        Change[] storage changes = _changes[id];
        bool drawn = _isActive(_agents[id]);
        uint256 next = vm.getBlockNumber() / _registry.epochBlocks() + 1;
        (uint256 skill, uint256 bucket) = (_skillOf(_agents[id]), _bucketOf(_agents[id]));
        Change storage last = changes[changes.length - 1];
        if (last.epoch == next) (last.drawn, last.skill, last.bucket) = (drawn, skill, bucket);
        else if (last.drawn != drawn || last.skill != skill || last.bucket != bucket)
            changes.push(Change(next, drawn, skill, bucket));
    }

    /// @dev DR1: how often the weight can be doubled without exceeding that of a proven agent with the largest stake and full reputation.
    function _bucketOf(Agent storage agent) private view returns (uint256 bucket) {
        uint256 stake = (agent.assets << 23) / _registry.maxStake();
        if (agent.service < 16) stake /= 2;
        for (uint256 weight = stake * agent.reputation; weight != 0 && weight << (bucket + 1) <= 1_000_000 << 23;)
            ++bucket;
    }

    /// @dev SK4, SK5: the first eight lessons of a week count, and 128 contested decisions become 64.
    function _teach(Agent storage agent, bool agrees, uint256 week) private {
        if (agent.lessonWeek != week) (agent.lessonWeek, agent.lessons) = (week, 0);
        if (agent.lessons == 8) return;
        ++agent.lessons;
        ++agent.contested;
        if (agrees) ++agent.agreed;
        if (agent.contested == 128) (agent.contested, agent.agreed) = (64, agent.agreed / 2);
    }

    /// @dev SK6: the part in which it agreed, with 3 of 5 decisions to begin with, is at least 0.6 or 0.8.
    function _skillOf(Agent storage agent) private view returns (uint256) {
        uint256 percent = (100 * (agent.agreed + 3)) / (agent.contested + 5);
        return
            percent >= 80
                ? 3
                : percent >= 60
                    ? 2
                    : 1;
    }

    function _at(AgentId agentId, uint256 epoch) private view returns (Change storage) {
        Change[] storage changes = _changes[AgentId.unwrap(agentId)];
        uint256 last = changes.length;
        while (changes[last - 1].epoch > epoch) --last;
        return changes[last - 1];
    }
}
