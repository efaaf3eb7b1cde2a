// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../interfaces/IAgentRegistry.sol";
import {EXIT_REPUTATION, MAX_AGENTS, PPM_ONE, PROVEN_SERVICE} from "../types/Limits.sol";
import {AgentId, Currency, Service} from "../types/Types.sol";
import {AgentAccount, AgentAccountLib} from "./AgentAccountLib.sol";
import {Candidate, CandidateLib, Candidates} from "./Candidates.sol";
import {ReputationLib} from "./ReputationLib.sol";
import {RewardsLib} from "./RewardsLib.sol";
import {ServiceLib} from "./ServiceLib.sol";
import {StakePool} from "./StakePool.sol";

/// @title The agents, and the active ones as candidates of the draw
/// @notice Owns every transition of an agent; the registry adds permissions, tokens and events. Each transition also
/// updates the agent's latest word among the candidates, so the two always agree.
library AgentBook {
    using Candidates for Candidates.State;
    using RewardsLib for RewardsLib.State;
    using ServiceLib for Service;
    using StakePool for StakePool.State;

    /// @param account all that a settlement writes, in a slot of its own. `exited` means that the reputation once fell
    /// below EXIT_REPUTATION, or that the agent was slashed while its operator had less than the minimum
    /// @param position position of the agent among the candidates, see `Candidates`; 0 = the agent is not active
    /// @param offered the account that may become the operator; 0 = the operator offers the agent to nobody
    /// @param commission the operator's part of the pay, in parts per million
    /// @param announced a higher commission that the operator may put into force from `raiseTime` on
    /// @param raiseTime unix seconds; 0 = no raise is announced
    struct Record {
        AgentAccount account;
        address operator;
        uint32 position;
        address signer;
        uint24 commission;
        uint24 announced;
        uint40 raiseTime;
        address offered;
        StakePool.State pool;
        RewardsLib.State rewards;
    }

    /// @param agentId the agent that the key belongs to for ever; 0 = no agent has used the key
    /// @param end unix seconds after which the key proves nothing any more; 0 = the key is in use
    struct Key {
        AgentId agentId;
        uint40 end;
    }

    struct State {
        uint32 count;
        Candidates.State active;
        mapping(AgentId agentId => Record record) records;
        mapping(address signer => Key key) keys;
    }

    /// @param minStake smallest own stake of an active agent's operator
    /// @param maxStake largest bonded stake
    /// @param epoch the current epoch: draws see its changes from the next epoch on
    struct Rules {
        uint128 minStake;
        uint128 maxStake;
        uint64 epoch;
    }

    function create(
        State storage self,
        address operator,
        address signer,
        uint24 commission
    ) internal returns (AgentId agentId) {
        uint32 id = self.count + 1;
        require(id <= MAX_AGENTS, IAgentRegistry.TooManyAgents(MAX_AGENTS));
        self.count = id;
        agentId = AgentId.wrap(id);
        claimSigner(self, agentId, signer);
        Record storage record = self.records[agentId];
        record.operator = operator;
        record.signer = signer;
        record.account = AgentAccountLib.fresh();
        record.commission = commission;
    }

    /// @notice Binds a key to an agent, forever.
    function claimSigner(State storage self, AgentId agentId, address signer) internal {
        require(AgentId.unwrap(self.keys[signer].agentId) == 0, IAgentRegistry.SignerInUse(signer));
        self.keys[signer].agentId = agentId;
    }

    /// @param end unix seconds after which the earlier key proves nothing any more
    function rotate(State storage self, Rules memory rules, AgentId agentId, address signer, uint40 end) internal {
        claimSigner(self, agentId, signer);
        Record storage record = self.records[agentId];
        self.keys[record.signer].end = end;
        record.signer = signer;
        _sync(self, rules, agentId, record);
    }

    /// @dev While the agent is not active, only its operator may bond, and the account to which it is offered. Others could use
    /// up the room below the maximum that the operator needs to make the agent active again.
    function bond(
        State storage self,
        Rules memory rules,
        AgentId agentId,
        address account,
        uint128 amount
    ) internal returns (uint128 shares, uint40 joiningEnd) {
        Record storage record = self.records[agentId];
        require(!record.account.exited(), IAgentRegistry.AgentHasExited(agentId));
        require(
            account == record.operator || account == record.offered || record.position != 0,
            IAgentRegistry.AgentNotActive(agentId)
        );
        _touch(agentId, record, account);
        (shares, joiningEnd) = record.pool.bond(agentId, account, amount, rules.maxStake);
        _sync(self, rules, agentId, record);
    }

    function unbond(
        State storage self,
        Rules memory rules,
        AgentId agentId,
        address account,
        uint128 shares,
        uint40 end
    ) internal returns (uint128 amount, uint128 unbondingShares) {
        Record storage record = self.records[agentId];
        _touch(agentId, record, account);
        (amount, unbondingShares) = record.pool.unbond(agentId, account, shares, end);
        _sync(self, rules, agentId, record);
    }

    /// @notice Lets the account's shares earn that have joined for long enough.
    function startEarning(State storage self, AgentId agentId, address account) internal {
        require(_touch(agentId, self.records[agentId], account) != 0, IAgentRegistry.NoSharesDue(agentId, account));
    }

    /// @notice Slashes the agent, see `StakePool.slash`. A slash makes an agent exit whose operator has less than the minimum.
    /// Otherwise the agent could have the evidence against it consumed while almost nothing is at stake, then bond and be drawn
    /// for the same request. One that sleeps has its stake.
    /// @param ppm what it loses, in parts per million of its stake
    /// @param most the most that it loses, at most a uint128; rounded down to a part per million of its stake, so that both pots
    /// lose the same part, and then up to a unit in each
    function slash(
        State storage self,
        Rules memory rules,
        AgentId agentId,
        uint256 ppm,
        uint256 most
    ) internal returns (uint128 bonded, uint128 unbonding, uint256 ownLoss) {
        Record storage record = self.records[agentId];
        StakePool.State storage pool = record.pool;
        unchecked {
            // Stakes and `most` are at most a uint128.
            uint256 stake = uint256(pool.bonded.assets) + pool.unbonding.assets;
            if (stake * ppm > most * PPM_ONE) ppm = (most * PPM_ONE) / stake;
        }
        // Who is active has the minimum.
        bool lacksStake = record.position == 0 && pool.bondedOf(record.operator) < rules.minStake;
        (bonded, unbonding, ownLoss) = pool.slash(record.operator, ppm);
        AgentAccount account = record.account;
        if (lacksStake && !account.exited()) {
            record.account = account.withExited();
            emit IAgentRegistry.AgentExited(agentId);
        }
        _sync(self, rules, agentId, record);
    }

    /// @notice Records what a settled request did to an agent: its pay, its reputation, whether it missed its seat, what a contested
    /// decision teaches about it, and that it has served if the request paid it or raised its reputation.
    /// @dev For a proven agent whose reputation stays, this reads and writes one slot and nothing else.
    function serve(State storage self, Rules memory rules, Currency currency, Service service) internal {
        Record storage record = self.records[service.agentId()];
        AgentAccount earlier = record.account;
        AgentAccount latest = earlier;
        (int8 steps, uint256 earned) = (service.steps(), service.earned());
        if (earned != 0) latest = _paid(record, latest, currency, earned);
        if (service.missed()) {
            // A miss costs one slash; what the decision takes anyway includes it.
            if (steps > -1) steps = -1;
            latest = latest.withMiss();
        } else {
            latest = latest.withoutMisses();
        }
        if (steps > 0 || (steps == 0 && earned != 0)) latest = latest.withService();
        if (steps != 0) latest = _moved(service.agentId(), latest, steps);
        if (service.answered()) latest = latest.withLesson(service.agreed());
        if (AgentAccount.unwrap(latest) == AgentAccount.unwrap(earlier)) return;
        record.account = latest;
        _follow(self, rules, service.agentId(), record, earlier);
    }

    /// @notice Makes the account that the agent was offered to its operator.
    /// @dev Divides the pay so far first: its commission is the earlier operator's. Shares and earnings stay with their
    /// accounts. The new operator's own stake must suffice, since a reporter is paid out of what an operator's own stake
    /// loses (ST9): a proof against an agent whose operator has nothing would pay nobody.
    function acceptOperator(
        State storage self,
        Rules memory rules,
        AgentId agentId,
        address account
    ) internal returns (address before) {
        Record storage record = self.records[agentId];
        require(account == record.offered, IAgentRegistry.NotOffered(agentId, account));
        uint128 own = record.pool.bondedOf(account);
        require(own >= rules.minStake, IAgentRegistry.StakeBelowMinimum(own, rules.minStake));
        _dividePay(record);
        before = record.operator;
        (record.operator, record.offered) = (account, address(0));
        _sync(self, rules, agentId, record);
    }

    /// @notice Ends the sleep of an agent.
    function wake(State storage self, Rules memory rules, AgentId agentId) internal {
        Record storage record = self.records[agentId];
        AgentAccount account = record.account;
        require(account.asleep(), IAgentRegistry.AgentNotAsleep(agentId));
        record.account = account.awake();
        _sync(self, rules, agentId, record);
    }

    /// @notice Lowers the commission, or announces a higher one. Either replaces an earlier announcement.
    /// @param due unix seconds from which on a higher commission may take effect
    /// @return lowered true if the commission was lowered or stays the same
    function setCommission(
        State storage self,
        AgentId agentId,
        uint24 commission,
        uint40 due
    ) internal returns (bool lowered) {
        Record storage record = self.records[agentId];
        lowered = commission <= record.commission;
        if (!lowered) {
            (record.announced, record.raiseTime) = (commission, due);
            return lowered;
        }
        _changeCommission(record, commission);
    }

    /// @notice Puts the announced commission into force.
    function raiseCommission(State storage self, AgentId agentId) internal returns (uint24 commission) {
        Record storage record = self.records[agentId];
        uint40 due = record.raiseTime;
        require(due != 0, IAgentRegistry.NoRaiseAnnounced(agentId));
        require(block.timestamp >= due, IAgentRegistry.RaiseNotDue(agentId, due));
        commission = record.announced;
        _changeCommission(record, commission);
    }

    /// @notice Takes everything that the agent's pay owes to the account.
    function takeRewards(
        State storage self,
        AgentId agentId,
        address account,
        Currency currency
    ) internal returns (uint256 amount) {
        Record storage record = self.records[agentId];
        _touch(agentId, record, account);
        amount = record.rewards.take(account, currency);
        require(amount != 0, IAgentRegistry.NoRewards(agentId, account, currency));
    }

    /// @notice Returns what `takeRewards` would take.
    function rewardsOf(
        State storage self,
        AgentId agentId,
        address account,
        Currency currency
    ) internal view returns (uint256) {
        Record storage record = self.records[agentId];
        return
            record.rewards.rewardsOf(
                record.account,
                _division(record),
                account,
                record.pool.earningOf(account),
                currency
            );
    }

    /// @dev Divides the pending pay by the old commission first.
    function _changeCommission(Record storage record, uint24 commission) private {
        _dividePay(record);
        (record.commission, record.announced, record.raiseTime) = (commission, 0, 0);
    }

    /// @dev Divides the pay so far, then lets the account's shares earn that are due. Call this before the account's shares
    /// change.
    /// @return started how many shares earn from now on
    function _touch(AgentId agentId, Record storage record, address account) private returns (uint128 started) {
        _dividePay(record);
        record.rewards.update(account, record.pool.earningOf(account));
        started = record.pool.startEarning(account);
        if (started != 0) emit IAgentRegistry.EarningStarted(agentId, account, started);
    }

    function _dividePay(Record storage record) private {
        AgentAccount pending = record.account;
        if (!pending.hasPay()) return;
        record.account = pending.withoutPay();
        record.rewards.divide(pending, _division(record));
    }

    /// @dev Divides the pay so far if the word has no room for more. So the sum never overflows, and no settlement
    /// reverts for it.
    function _paid(
        Record storage record,
        AgentAccount account,
        Currency currency,
        uint256 earned
    ) private returns (AgentAccount) {
        if (!account.fits(currency, earned)) {
            record.rewards.divide(account, _division(record));
            account = account.withoutPay();
        }
        return account.paid(currency, earned);
    }

    /// @dev Returns the account after the slashes that count, or the recovery steps.
    function _moved(AgentId agentId, AgentAccount account, int8 steps) private returns (AgentAccount) {
        if (steps < 0) {
            (account, steps) = account.withFall(steps);
            if (steps == 0) return account;
        }
        uint32 reputation = ReputationLib.moved(account.reputation(), steps);
        emit IAgentRegistry.ReputationChanged(agentId, steps, reputation);
        account = account.withReputation(reputation);
        if (reputation < EXIT_REPUTATION && !account.exited()) {
            account = account.withExited();
            emit IAgentRegistry.AgentExited(agentId);
        }
        return account;
    }

    /// @dev Lets the agent's candidate follow its account.
    function _follow(
        State storage self,
        Rules memory rules,
        AgentId agentId,
        Record storage record,
        AgentAccount earlier
    ) private {
        AgentAccount latest = record.account;
        if (latest.onlyPayDiffers(earlier)) return;
        bool isProven = latest.service() == PROVEN_SERVICE && earlier.service() != PROVEN_SERVICE;
        if (isProven) emit IAgentRegistry.AgentProven(agentId);
        bool fellAsleep = latest.asleep() && !earlier.asleep();
        if (fellAsleep) emit IAgentRegistry.AgentFellAsleep(agentId);
        // Only these changes affect the part of the stake that weighs, or whether the agent is active.
        if (isProven || fellAsleep || latest.exited() != earlier.exited()) {
            _sync(self, rules, agentId, record);
        } else if (
            (latest.reputation() != earlier.reputation() || latest.skill() != earlier.skill()) && record.position != 0
        ) {
            _reweigh(self, rules.epoch, record);
        }
    }

    function _division(Record storage record) private view returns (RewardsLib.Division memory) {
        return
            RewardsLib.Division({
                operator: record.operator,
                commission: record.commission,
                shares: record.pool.earning()
            });
    }

    /// @dev Adds, updates or removes the agent's candidate, as its account and the operator's own stake demand.
    function _sync(State storage self, Rules memory rules, AgentId agentId, Record storage record) private {
        uint32 position = record.position;
        AgentAccount account = record.account;
        if (!account.exited() && !account.asleep() && record.pool.bondedOf(record.operator) >= rules.minStake) {
            Candidate candidate = CandidateLib.pack(
                record.pool.bonded.assets,
                rules.maxStake,
                account.service() < PROVEN_SERVICE,
                account.reputation(),
                account.skill(),
                agentId,
                record.signer
            );
            _put(self, rules.epoch, record, candidate);
            if (position == 0) emit IAgentRegistry.AgentActivated(agentId);
        } else if (position != 0) {
            _takeOut(self, rules.epoch, position);
            record.position = 0;
            emit IAgentRegistry.AgentDeactivated(agentId);
        }
    }

    /// @dev Gives the agent's candidate the reputation and the skill of its account.
    function _reweigh(State storage self, uint64 epoch, Record storage record) private {
        AgentAccount account = record.account;
        Candidate candidate = self.active.at(record.position).withMerits(account.reputation(), account.skill());
        _put(self, epoch, record, candidate);
    }

    /// @dev Writes the agent's candidate, into another bucket if its weight now belongs there.
    function _put(State storage self, uint64 epoch, Record storage record, Candidate candidate) private {
        uint32 position = record.position;
        if (position != 0) {
            if (Candidates.bucketAt(position) == candidate.bucket()) {
                self.active.set(epoch, position, candidate);
                return;
            }
            _takeOut(self, epoch, position);
        }
        record.position = self.active.insert(epoch, candidate);
    }

    /// @dev Removes the candidate at the position, and notes who moved there. The caller changes the removed agent's own position.
    function _takeOut(State storage self, uint64 epoch, uint32 position) private {
        AgentId moved = self.active.remove(epoch, position);
        self.records[moved].position = position;
    }
}
