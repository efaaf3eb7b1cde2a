// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {AgentId, Currency, Permit, Pot, Seat, Service} from "../types/Types.sol";

/// @title Agents, the stakes behind them and their reputations
/// @notice An operator (cold key) registers an agent with a hot signer key and an ERC-20 stake, to which anybody may
/// delegate. The agent's earnings are divided: the operator gets a commission, and the holders of the bonded stake get
/// the rest by their shares. An agent is active, and can be drawn, while its operator's own bonded stake is at least
/// minStake and the agent has not exited. Every change emits one event, and the events suffice to rebuild the whole
/// state.
/// @dev Nobody administers this contract. Three addresses are bound at deployment: only the oracle records service (pay
/// and reputation changes) and holds the pay, only the slasher slashes, and the treasury gets what is slashed less the
/// reporter's reward. See docs/adr/006-no-power-over-stake.md.
/// @dev Draws see the registry as it was when an epoch began, the running one or the one before it: epoch = block.number /
/// epochBlocks. A change in an epoch (register, bond, unbond, rotate, reputation) takes effect in the next one, so nobody
/// who knows a seed can change what it draws. See docs/adr/004-draw-from-a-frozen-epoch.md.
/// @dev Order of events: first the events of the transition (`AgentActivated`, `AgentDeactivated`, `AgentExited`,
/// `AgentProven`, `AgentFellAsleep`), then the event of its cause (`StakeBonded`, `UnbondingStarted`, `StakeSlashed`,
/// `AgentWoke`, `ServicesRecorded`); `AgentRegistered` comes before all events of its agent.
/// @dev Warning: the stake token must move and keep exact amounts. Deposits with a fee are refused; a token that
/// changes balances later (rebasing) is not supported: the last account to withdraw would get too little.
/// @dev EIP-712 domain: name "ConclaveRegistry", version "1", this chain, this contract.
interface IAgentRegistry {
    /// @param stakeToken the token that is staked
    /// @param minStake smallest own stake of an active agent's operator, above 0
    /// @param maxStake largest bonded stake of an agent, at most 16 * minStake and below 2^96
    /// @param unbondingDelay seconds, 16 to 365 days
    /// @param epochBlocks blocks between two states of the registry that draws see, 25 to 7200
    /// @param oracle the contract that records service and holds the pay
    /// @param slasher the contract that slashes
    /// @param treasury the account that gets what is slashed, less the reporter's reward
    struct Deployment {
        IERC20 stakeToken;
        uint128 minStake;
        uint128 maxStake;
        uint40 unbondingDelay;
        uint256 epochBlocks;
        address oracle;
        address slasher;
        address treasury;
    }

    /// @param operator the account that answers for the agent with its own stake and gets the commission
    /// @param offered the account that the operator offers the agent to; 0 = nobody
    /// @param signer address of the hot key that signs messages and decisions
    /// @param reputation parts per million, in (0, 1_000_000]
    /// @param active true if the agent takes part in draws
    /// @param service how many settled requests paid the agent or raised its reputation, up to 16; from 16 on its stake
    /// weighs in full
    /// @param misses how many seats in a row the agent missed
    /// @param asleep true if it missed 3 in a row and was not woken since: it takes no part in draws
    /// @param exited true if the agent has left the draw for good
    /// @param contested contested decisions that count for its skill
    /// @param agreed in how many of them its blind answer agreed; SK6 of docs/spec/skill.md says which skill follows
    /// @param bonded the stake that weighs in the draw, the operator's and the delegators' together
    /// @param joining how many shares of it do not earn yet
    /// @param unbonding the stake that waits to be withdrawn, the operator's and the delegators' together
    /// @param commission the operator's part of the agent's pay, taken before the rest is divided by shares, in parts
    /// per million
    /// @param announcedCommission a higher commission that the operator may put into effect from `raiseTime` on
    /// @param raiseTime unix seconds; 0 = no raise is announced
    struct Agent {
        address operator;
        address offered;
        address signer;
        uint32 reputation;
        bool active;
        uint8 service;
        uint8 misses;
        bool asleep;
        bool exited;
        uint8 contested;
        uint8 agreed;
        Pot bonded;
        uint128 joining;
        Pot unbonding;
        uint24 commission;
        uint24 announcedCommission;
        uint40 raiseTime;
    }

    /// @notice What one account holds of an agent's stake.
    /// @param shares how many shares of the bonded pot
    /// @param bonded what they are worth, rounded down
    /// @param joining how many of them do not earn yet
    /// @param joiningEnd unix seconds from which on the first of these may begin to earn; 0 if there are none
    /// @param unbondingShares how many shares of the unbonding pot
    /// @param unbonding what they are worth, rounded down
    /// @param unbondingEnd unix seconds from which on they may be withdrawn; 0 if there are none
    struct Position {
        uint128 shares;
        uint128 bonded;
        uint128 joining;
        uint40 joiningEnd;
        uint128 unbondingShares;
        uint128 unbonding;
        uint40 unbondingEnd;
    }

    /// @param publicKey uncompressed secp256k1 key without the 0x04 prefix (64 bytes); its address is the signer and its
    /// libp2p peer id the agent's peer id, so the binding needs no second field
    /// @param possession signature of the signer over the EIP-712 `Possession(address operator,bytes publicKey)`
    /// @param model model descriptor, UTF-8, at most 256 bytes
    /// @param endpoint comma separated multiaddrs without the peer id, at most 512 bytes
    /// @param stake amount of the stake token that the operator bonds
    /// @param commission the commission of the operator, in parts per million, at most 500_000
    struct Registration {
        bytes publicKey;
        bytes possession;
        string model;
        string endpoint;
        uint128 stake;
        uint24 commission;
    }

    /// @notice The registry was deployed; emitted once.
    /// @param deployment what it was deployed with
    event RegistryDeployed(Deployment deployment);

    /// @notice An agent was registered; `AgentActivated` and then `StakeBonded` follow.
    /// @param agentId consecutive from 1
    /// @param operator who registered it
    /// @param signer address of the public key
    /// @param publicKey 64 bytes
    /// @param model model descriptor
    /// @param endpoint comma separated multiaddrs
    /// @param reputation parts per million
    /// @param commission parts per million
    event AgentRegistered(
        AgentId indexed agentId,
        address indexed operator,
        address indexed signer,
        bytes publicKey,
        string model,
        string endpoint,
        uint32 reputation,
        uint24 commission
    );

    /// @notice Stake was bonded.
    /// @param agentId the agent
    /// @param account the holder of the shares: the operator or a delegator
    /// @param amount what was added to the bonded pot
    /// @param shares minted for it
    /// @param joiningEnd unix seconds from which on they may begin to earn; 0 = they earn at once
    event StakeBonded(
        AgentId indexed agentId,
        address indexed account,
        uint128 amount,
        uint128 shares,
        uint40 joiningEnd
    );

    /// @notice Bonded shares take part in pay from now on.
    /// @param agentId the agent
    /// @param account the holder of the shares
    /// @param shares how many
    event EarningStarted(AgentId indexed agentId, address indexed account, uint128 shares);

    /// @notice Stake began to unbond; the delay starts again for all the stake that the account unbonds from this
    /// agent.
    /// @param agentId the agent
    /// @param account the holder of the shares
    /// @param shares burnt in the bonded pot: first those that do not earn yet
    /// @param amount what moved from the bonded to the unbonding pot
    /// @param unbondingShares minted in the unbonding pot
    /// @param unbondingEnd unix seconds from which on all of the account's may be withdrawn
    event UnbondingStarted(
        AgentId indexed agentId,
        address indexed account,
        uint128 shares,
        uint128 amount,
        uint128 unbondingShares,
        uint40 unbondingEnd
    );

    /// @notice An account's unbonded stake was paid out.
    /// @param agentId the agent
    /// @param account the account that it belonged to
    /// @param to who received it
    /// @param amount how much left the unbonding pot
    /// @param unbondingShares burnt in it
    event StakeWithdrawn(
        AgentId indexed agentId,
        address indexed account,
        address indexed to,
        uint128 amount,
        uint128 unbondingShares
    );

    /// @notice An agent's stake was slashed. A bonded pot that is now empty takes no more stake; an unbonding pot that
    /// is now empty starts again without shares.
    /// @param agentId the agent
    /// @param reporter the account that is owed the reward; for an overturned decision the account that appealed against it
    /// @param bonded what was taken from the bonded pot
    /// @param unbonding what was taken from the unbonding pot
    /// @param reward the reporter's part of both; the rest is owed to the treasury. 0 for an overturned decision, see
    /// `AppellantRewarded`
    event StakeSlashed(
        AgentId indexed agentId,
        address indexed reporter,
        uint128 bonded,
        uint128 unbonding,
        uint256 reward
    );

    /// @notice An appellant got a part of what the seats of an overturned decision lost; the treasury is owed that much less.
    /// @param appellant the account that is owed the amount
    /// @param amount in the smallest unit of the stake token
    event AppellantRewarded(address indexed appellant, uint256 amount);

    /// @notice An account was paid what it was owed.
    /// @param account a reporter, an appellant or the treasury
    /// @param to who received it
    /// @param amount the amount in the smallest unit of the stake token
    event Claimed(address indexed account, address indexed to, uint256 amount);

    /// @notice The hot key was replaced; committees drawn from the next epoch on use the new one.
    /// @param agentId the agent
    /// @param signer address of the new key
    /// @param publicKey 64 bytes
    event SignerRotated(AgentId indexed agentId, address indexed signer, bytes publicKey);

    /// @notice The operator offers the agent to another account.
    /// @param agentId the agent
    /// @param operator the operator
    /// @param to the account that may accept; 0 = nobody any more
    event OperatorTransferStarted(AgentId indexed agentId, address indexed operator, address indexed to);

    /// @notice The agent has another operator; stake and earnings stay with their accounts.
    /// @param agentId the agent
    /// @param before the earlier operator, which is a delegator now if it holds shares
    /// @param operator the new operator
    event OperatorTransferred(AgentId indexed agentId, address indexed before, address indexed operator);

    /// @notice The multiaddrs changed.
    /// @param agentId the agent
    /// @param endpoint comma separated multiaddrs
    event EndpointUpdated(AgentId indexed agentId, string endpoint);

    /// @notice The model descriptor changed.
    /// @param agentId the agent
    /// @param model model descriptor
    event ModelUpdated(AgentId indexed agentId, string model);

    /// @notice The agent takes part in draws from the next epoch on.
    /// @param agentId the agent
    event AgentActivated(AgentId indexed agentId);

    /// @notice The operator's own stake fell below the minimum, or the agent exited or fell asleep; the agent takes no
    /// part in draws from the next epoch on. Its duties in committees drawn until then remain.
    /// @param agentId the agent
    event AgentDeactivated(AgentId indexed agentId);

    /// @notice The agent's reputation fell below 100_000, or it was slashed while its operator had less than minStake; it is never drawn
    /// again from the next epoch on and takes no more stake. Its bonded stake can be unbonded as before.
    /// @param agentId the agent
    event AgentExited(AgentId indexed agentId);

    /// @notice The agent has served 16 settled requests: its stake weighs in full in draws from the next epoch on.
    /// @param agentId the agent
    event AgentProven(AgentId indexed agentId);

    /// @notice The agent has missed 3 seats in a row: it takes no part in draws from the next epoch on, until it is
    /// woken.
    /// @param agentId the agent
    event AgentFellAsleep(AgentId indexed agentId);

    /// @notice The agent's operator or signer has woken it: it takes part in draws from the next epoch on if its
    /// operator's own stake suffices, as `AgentActivated` before this says.
    /// @param agentId the agent
    event AgentWoke(AgentId indexed agentId);

    /// @notice A committee changed an agent's reputation, or the agent missed its seat.
    /// @param agentId the agent
    /// @param steps negative: that many falls by a fifth; +1: one recovery step
    /// @param reputation parts per million, after it
    event ReputationChanged(AgentId indexed agentId, int8 steps, uint32 reputation);

    /// @notice A request was settled: what it did to the agents that sat for it. Pay is divided by the shares that earn and
    /// the commission at this moment, whenever it is claimed.
    /// @param currency the currency of the pay
    /// @param services one word for each agent, see `Service`
    event ServicesRecorded(Currency currency, Service[] services);

    /// @notice An account's part of an agent's pay was paid out.
    /// @param agentId the agent
    /// @param account the account that it belonged to
    /// @param currency the currency of the amount
    /// @param to who received it
    /// @param amount in its smallest unit, above 0
    event RewardsClaimed(
        AgentId indexed agentId,
        address indexed account,
        Currency currency,
        address indexed to,
        uint256 amount
    );

    /// @notice The commission changed for pay from now on; a raise that was announced before is void.
    /// @param agentId the agent
    /// @param commission parts per million
    event CommissionChanged(AgentId indexed agentId, uint24 commission);

    /// @notice The operator may raise the commission later.
    /// @param agentId the agent
    /// @param commission parts per million
    /// @param raiseTime unix seconds from which on it may
    event CommissionRaiseAnnounced(AgentId indexed agentId, uint24 commission, uint40 raiseTime);

    error UnknownAgent(AgentId agentId);
    error NotOperator(AgentId agentId, address caller);
    /// @notice The key is or was the signer of an agent.
    error SignerInUse(address signer);
    error InvalidPublicKey(uint256 length);
    /// @notice `recovered` is 0 for a malformed or malleable signature.
    error InvalidPossession(address recovered, address signer);
    error StakeBelowMinimum(uint128 stake, uint128 minimum);
    error StakeAboveMaximum(uint256 stake, uint128 maximum);
    error TextTooLong(uint256 length, uint256 maximum);
    error AmountIsZero();
    error NothingToWithdraw(AgentId agentId, address account);
    error StillUnbonding(AgentId agentId, address account, uint40 unbondingEnd);
    error InsufficientShares(AgentId agentId, address account, uint128 shares, uint128 wanted);
    /// @notice Only the operator may bond to an agent that is not active.
    error AgentNotActive(AgentId agentId);
    /// @notice The agent is out of the draw for good; register a new one.
    error AgentHasExited(AgentId agentId);
    /// @notice The bonded stake was slashed to nothing and its shares are still there; register a new agent.
    error PoolEmptied(AgentId agentId);
    /// @notice A share of the bonded stake is worth less than 2^-16 units after many slashes; register a new agent.
    error SharesAreDust(AgentId agentId, uint128 assets, uint128 shares);
    /// @notice The pot would have too many shares. This happens only if one pot holds 2^96 of the stake token's
    /// smallest unit.
    error TooManyShares(uint256 shares);
    error NothingToSlash(AgentId agentId);
    /// @notice No shares of the account have joined for long enough, or all that have earn already.
    error NoSharesDue(AgentId agentId, address account);
    error NothingOwed(address account);
    error NotOracle(address caller);
    error NotSlasher(address caller);
    /// @notice Only `drawable` agents were active when the epoch began.
    error TooFewAgents(uint256 drawable, uint256 needed);
    /// @notice The registry shows its running epoch and the one before it, no other.
    error EpochNotKept(uint64 epoch, uint64 running);
    /// @notice No committee was found within so many probes. Less than one of 2^256 draws ends so.
    error ProbesUsedUp(uint256 probes);
    /// @notice No more agents can be registered.
    error TooManyAgents(uint256 maximum);
    error InvalidCommitteeSize(uint256 size, uint256 maximum);
    /// @notice Deployment: the bounds must satisfy 0 < minimum <= maximum <= 16 * minimum and maximum < 2^96.
    error InvalidStakeBounds(uint128 minimum, uint128 maximum);
    /// @notice Deployment: the delay is too short for evidence, or too long.
    error InvalidUnbondingDelay(uint40 unbondingDelay, uint256 minimum, uint256 maximum);
    /// @notice Deployment: the oracle, the slasher or the treasury is missing.
    error InvalidBinding(address oracle, address slasher, address treasury);
    /// @notice Deployment: the epoch is too short or too long.
    error InvalidEpochBlocks(uint256 epochBlocks, uint256 minimum, uint256 maximum);
    /// @notice The stake token moved another amount than asked (fee on transfer, rebasing): refused.
    error TransferMismatch(uint256 expected, uint256 received);
    error TooManyServices(uint256 services, uint256 maximum);
    error CommissionAboveMaximum(uint24 commission, uint256 maximum);
    /// @notice The operator has not offered the agent to this account.
    error NotOffered(AgentId agentId, address account);
    error AgentNotAsleep(AgentId agentId);
    error NoRaiseAnnounced(AgentId agentId);
    /// @notice The raise may not take effect before `raiseTime`: until then delegators can leave at the commission that
    /// they know.
    error RaiseNotDue(AgentId agentId, uint40 raiseTime);
    error NoRewards(AgentId agentId, address account, Currency currency);

    /// @notice Registers an agent of the caller and bonds its first stake; it is active at once and drawn from the next epoch
    /// on.
    /// @dev Every registration starts at full reputation and half the weight in the draw, see `Agent.service`: an
    /// operator that abandons a bad reputation pays with stake and with time. See docs/adr/010-fresh-agents.md.
    /// @param registration see `Registration`
    /// @return agentId consecutive from 1
    function register(Registration calldata registration) external returns (AgentId agentId);

    /// @notice `register` with an EIP-2612 permit of the caller.
    /// @dev A permit that somebody else has submitted before does no harm: only the allowance counts.
    /// @param registration see `Registration`
    /// @param permit signed by the caller for this contract
    /// @return agentId consecutive from 1
    function registerWithPermit(
        Registration calldata registration,
        Permit calldata permit
    ) external returns (AgentId agentId);

    /// @notice Bonds stake behind an agent, which weighs from the next epoch on: the operator's own, or a delegation by
    /// anybody. The operator's bond reactivates the agent once the operator's own stake is at least minStake.
    /// @dev The new shares are stake at once: they weigh and are slashed. They take no part in pay for 14 days, since a
    /// request pays when it is settled, and after that from the next call of `startEarning`, `bond`, `startUnbonding` or
    /// `claimRewards` on. Shares that join an empty pot earn at once. See RW6 in docs/spec/rewards.md.
    /// @dev Warning: a delegation is slashed with the operator's stake, pro rata, for what the operator's key signs; and it
    /// trusts the operator not to sign two messages on purpose. The operator cannot hold it back, nor take it.
    /// @dev Reverts if the agent's bonded stake would exceed maxStake, if the caller is not the operator while the
    /// agent is not active, or if the agent has exited or its pool was slashed to nothing.
    /// @param agentId the agent
    /// @param amount the amount in the smallest unit of the stake token
    /// @return shares minted for the caller, at least `amount`
    function bond(AgentId agentId, uint128 amount) external returns (uint128 shares);

    /// @notice `bond` with an EIP-2612 permit of the caller.
    /// @param agentId the agent
    /// @param amount the amount in the smallest unit of the stake token
    /// @param permit signed by the caller for this contract
    /// @return shares minted for the caller
    function bondWithPermit(AgentId agentId, uint128 amount, Permit calldata permit) external returns (uint128 shares);

    /// @notice Lets an account's bonded shares take part in pay once they have joined for 14 days. Anybody may call.
    /// @dev The account's own `bond`, `startUnbonding` and `claimRewards` do the same.
    /// @dev Warning: until one of these calls the shares earn nothing, even after the 14 days.
    /// @param agentId the agent
    /// @param account the holder of the shares
    function startEarning(AgentId agentId, address account) external;

    /// @notice Begins to unbond shares of the caller, at any time and of any agent.
    /// @dev Stake that unbonds earns nothing any more; earlier rewards stay claimable. Shares that do not earn yet leave
    /// first.
    /// @dev Warning: all stake that the caller unbonds from one agent is one ticket; a new start extends the end of all
    /// of it. Evidence can slash it until it is withdrawn, even after its end. An agent whose operator's own stake
    /// falls below the minimum leaves the draw with the next epoch: it can still be drawn in this one, and its duties
    /// remain.
    /// @param agentId the agent
    /// @param shares how many shares of the bonded pot, see `positionOf`; their value is rounded down and must not be 0
    /// @return amount the value of the shares
    /// @return unbondingEnd unix seconds from which on it may be withdrawn
    function startUnbonding(AgentId agentId, uint128 shares) external returns (uint128 amount, uint40 unbondingEnd);

    /// @notice Pays out the stake that the caller has unbonded from an agent, after the unbonding delay.
    /// @param agentId the agent
    /// @param to receives the tokens
    /// @return amount what was left of it after slashes
    function withdrawStake(AgentId agentId, address to) external returns (uint128 amount);

    /// @notice Pays out what the caller is owed: rewards of a reporter or an appellant, or the treasury's part of slashes.
    /// @param to receives the tokens
    /// @return amount all of it
    function claim(address to) external returns (uint256 amount);

    /// @notice Pays out what the caller has earned with an agent: by its shares, and the operator its commission.
    /// @dev It is paid from this contract's credit at the oracle, see `IAccounts.withdraw`.
    /// @param agentId the agent
    /// @param currency what to pay out
    /// @param to receives it
    /// @return amount all of it, above 0
    function claimRewards(AgentId agentId, Currency currency, address to) external returns (uint256 amount);

    /// @notice Lowers the commission at once, or announces a higher one, which `raiseCommission` puts into effect after
    /// the unbonding delay. Both replace a raise that was announced before. Only the operator may call.
    /// @dev Earlier pay is divided by the earlier commission.
    /// @param agentId the agent
    /// @param commission parts per million, at most 500_000
    function setCommission(AgentId agentId, uint24 commission) external;

    /// @notice Puts the announced commission into effect. Only the operator may call.
    /// @dev Warning: the operator may wait for as long as it likes. An account that delegates while a raise is
    /// announced has agreed to it.
    /// @param agentId the agent
    function raiseCommission(AgentId agentId) external;

    /// @notice Takes 100_000 ppm of an agent's bonded and of its unbonding stake, each rounded up. Only the slasher may
    /// call.
    /// @dev The reporter is owed 100_000 ppm, rounded down, of the loss of the operator's own stake, or minStake / 20 if
    /// that is more, but at most half of that loss; the treasury is owed the rest. So an operator that reports itself
    /// loses half of its own loss at least, and all of its delegators'. An active agent's reporter gets minStake / 20 at
    /// least: a deployment chooses a minStake of which that is worth more than the gas of a report.
    /// @dev A remainder worth less than 2^-32 of the smallest unit per share is taken as well.
    /// @dev The slash makes an agent exit whose operator has less than minStake. Otherwise an agent could make evidence, have it
    /// consumed while almost nothing is at stake, and bond afterwards.
    /// @param agentId the agent
    /// @param reporter is owed the reward
    function slash(AgentId agentId, address reporter) external;

    /// @notice Takes 50_000 ppm of an agent's bonded and of its unbonding stake, or less where that is more than `most`, each
    /// rounded up, because two larger committees overturned a decision that it certified (docs/spec/security.md). Only the slasher may
    /// call.
    /// @dev The treasury is owed all of it; `rewardAppellant` follows. An agent exits as with `slash`.
    /// @param agentId the agent
    /// @param appellant who appealed against the decision, for the event
    /// @param most the most to take, rounded down to a part per million of the stake; at most two units more are taken
    /// @return slashed what was taken from both pots; 0 if there was nothing
    function slashOverturned(AgentId agentId, address appellant, uint256 most) external returns (uint256 slashed);

    /// @notice Gives an appellant a part of what `slashOverturned` took. Only the slasher may call, in the same transaction.
    /// @param appellant is owed the amount
    /// @param amount is taken off what the treasury is owed
    function rewardAppellant(address appellant, uint256 amount) external;

    /// @notice Replaces the hot key. Only the operator may call.
    /// @dev Warning: committees drawn before, and those still drawn in this epoch, keep the old signer, so keep the old
    /// key until they have settled. No agent can ever use the old key again.
    /// @param agentId the agent
    /// @param publicKey 64 bytes
    /// @param possession as in `Registration`, by the new key
    function rotateSigner(AgentId agentId, bytes calldata publicKey, bytes calldata possession) external;

    /// @notice Offers the agent to another account, in place of an earlier offer. Only the operator may call.
    /// @param agentId the agent
    /// @param to the account that may accept; 0 takes the offer back
    function transferOperator(AgentId agentId, address to) external;

    /// @notice Makes the caller, to whom the agent was offered, its operator.
    /// @dev What moves: the rights of the operator, the commission of all pay from now on, and an announced raise. What
    /// stays: everybody's stake, shares and earnings, the commission of pay so far, reputation, services and keys. Reverts
    /// unless the caller's own bonded stake is at least minStake, so bond before: the caller answers with it.
    /// @param agentId the agent
    function acceptOperator(AgentId agentId) external;

    /// @notice Replaces the multiaddrs. The operator or the signer may call.
    /// @param agentId the agent
    /// @param endpoint comma separated multiaddrs without the peer id, at most 512 bytes
    function setEndpoint(AgentId agentId, string calldata endpoint) external;

    /// @notice Replaces the model descriptor. The operator or the signer may call.
    /// @param agentId the agent
    /// @param model UTF-8, at most 256 bytes
    function setModel(AgentId agentId, string calldata model) external;

    /// @notice Lets an agent that sleeps take part in draws again, from the next epoch on. The operator or the signer may
    /// call.
    /// @param agentId the agent
    function wake(AgentId agentId) external;

    /// @notice Applies the reputation changes that committees decided for their members, counts their services and
    /// misses, and records their earnings. Only the oracle may call, when it settles a request and has credited this contract with
    /// the sum of the earnings.
    /// @dev One slash: reputation * 800_000 / 1_000_000, rounded down, never below 10_000. One recovery step: + 10_000, at
    /// most 1_000_000. Below 100_000 the agent exits.
    /// @dev A miss is one slash, unless the decision slashes the seat anyway. The third miss in a row lets the agent
    /// sleep. A seat that was not missed ends the row.
    /// @dev Warning: trusts the caller that the agents exist, the words are well formed (see `Service`) and the money is there.
    /// @param currency the currency of the earnings
    /// @param services the services of at most 160 agents
    function recordServices(Currency currency, Service[] calldata services) external;

    /// @notice Draws `size` distinct agents from the registry as it was when the epoch began: each seat goes to one of the agents left
    /// with a probability proportional to stake x reputation, where the stake of a fresh agent counts half.
    /// @dev The same arguments draw the same committee until the epoch after the next begins; then they revert with `EpochNotKept`.
    /// @dev Reverts with `TooFewAgents` if the epoch has fewer than `size` agents. See docs/spec/draw.md.
    /// @dev Looks at two agents for each seat at most on average, whatever the number of agents and their stakes.
    /// @param seed 32 unpredictable bytes
    /// @param epoch the running epoch or the one before it
    /// @param size number of seats, 0 to 64; 0 yields an empty committee
    /// @param excluded agents of committees that are reviewed: they are left out as long as they hold at most an eighth of the draw
    /// @return seats one word per seat, see `Seat`
    function committee(
        bytes32 seed,
        uint64 epoch,
        uint256 size,
        AgentId[] calldata excluded
    ) external view returns (Seat[] memory seats);

    /// @notice The record of an agent; reverts with `UnknownAgent`.
    /// @param agentId the agent
    /// @return see `Agent`
    function getAgent(AgentId agentId) external view returns (Agent memory);

    /// @notice The stake of an account behind an agent; zeros for an account without any.
    /// @param agentId the agent
    /// @param account the operator or a delegator
    /// @return see `Position`
    function positionOf(AgentId agentId, address account) external view returns (Position memory);

    /// @notice The amount that `claimRewards` would pay an account now.
    /// @param agentId the agent
    /// @param account the operator or a delegator
    /// @param currency the currency of the amount
    /// @return amount in its smallest unit
    function rewardsOf(AgentId agentId, address account, Currency currency) external view returns (uint256);

    /// @notice The amount that `claim` would pay an account.
    /// @param account a reporter or the treasury
    /// @return the amount in the smallest unit of the stake token
    function owedTo(address account) external view returns (uint256);

    /// @notice The agent that uses or once used this key.
    /// @dev Warning: a rotated-out signer still answers its agent; compare with `getAgent(agentId).signer`.
    /// @param signer address of a hot key
    /// @return agentId 0 if the key was never used
    /// @return end unix seconds after which a signature of the key proves nothing any more, an unbonding delay after
    /// its rotation; 0 = the key is in use
    function keyOf(address signer) external view returns (AgentId agentId, uint40 end);

    /// @notice The operator of an agent. Reverts with `UnknownAgent`.
    /// @param agentId the agent
    /// @return operator the owner
    function operatorOf(AgentId agentId) external view returns (address operator);

    /// @notice How many agents are active, and will take part in the draws of the next epoch if nothing changes.
    /// @return the count
    function activeCount() external view returns (uint256);

    /// @notice How many agents take part in the draws of the current epoch.
    /// @return the count
    function drawableCount() external view returns (uint256);

    /// @notice How many agents were ever registered; also the latest agent id.
    /// @return the count
    function agentCount() external view returns (uint256);

    /// @notice The smallest own stake of an active agent's operator.
    /// @return the amount in the smallest unit of the stake token
    function minStake() external view returns (uint128);

    /// @notice The largest bonded stake of an agent, the operator's and the delegators' together.
    /// @return the amount in the smallest unit of the stake token
    function maxStake() external view returns (uint128);

    /// @notice Seconds from `startUnbonding` until the stake may be withdrawn.
    /// @return seconds, 16 to 365 days
    function unbondingDelay() external view returns (uint40);

    /// @notice The contract that records service and holds the pay.
    /// @return its address
    function oracle() external view returns (address);

    /// @notice The contract that slashes.
    /// @return its address
    function slasher() external view returns (address);

    /// @notice The account that gets what is slashed, less the reporter's reward.
    /// @return its address
    function treasury() external view returns (address);

    /// @notice Blocks of an epoch; draws see the registry as it was when the current epoch began.
    /// @return the count, 4 to 7200
    function epochBlocks() external view returns (uint256);

    /// @notice The token that is staked.
    /// @return the token
    function stakeToken() external view returns (IERC20);
}
