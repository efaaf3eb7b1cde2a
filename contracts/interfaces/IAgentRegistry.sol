// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {AgentId, Permit, Seat} from "../types/Types.sol";

/// @title Agents, their stakes and their reputations
/// @notice An operator (cold key) registers an agent with a hot signer key and an ERC-20 stake. Only active agents
/// (stake >= minStake) are drawn. Every change emits one event; the events rebuild the whole state.
/// @dev Draws see the registry as it was when the current epoch began: epoch = block.number / epochBlocks. Whatever is done
/// in an epoch (register, bond, unbond, rotate, reputation) counts from the next one on, so nobody who knows a seed can
/// change what it draws. See docs/adr/004-draw-from-a-frozen-epoch.md.
/// @dev Order of events: those of the transition first (`AgentActivated` or `AgentDeactivated`), then what caused it
/// (`StakeAdded`, `UnbondingStarted`); `AgentRegistered` comes before all events of its agent.
/// @dev Warning: the stake token must move and keep exact amounts. Deposits with a fee are refused; a token that changes
/// balances later (rebasing) is not supported and leaves the last to withdraw with too little.
/// @dev EIP-712 domain: name "ConclaveRegistry", version "1", this chain, this contract.
interface IAgentRegistry {
    /// @param operator owns the stake and receives the pay
    /// @param signer address of the hot key that signs messages and decisions
    /// @param reputation parts per million, in (0, 1_000_000]
    /// @param stake bonded stake
    /// @param unbonding stake on its way out
    /// @param unbondingEnd unix seconds at which `unbonding` may be withdrawn
    /// @param active in the draw
    struct Agent {
        address operator;
        address signer;
        uint32 reputation;
        uint128 stake;
        uint128 unbonding;
        uint40 unbondingEnd;
        bool active;
    }

    /// @param publicKey uncompressed secp256k1 key without the 0x04 prefix (64 bytes); its address is the signer and its
    /// libp2p peer id the agent's peer id, so the binding needs no second field
    /// @param possession signature of the signer over the EIP-712 `Possession(address operator,bytes publicKey)`
    /// @param model model descriptor, UTF-8, at most 256 bytes
    /// @param endpoint comma separated multiaddrs without the peer id, at most 512 bytes
    /// @param stake amount of the stake token to bond
    struct Registration {
        bytes publicKey;
        bytes possession;
        string model;
        string endpoint;
        uint128 stake;
    }

    /// @notice The registry was deployed; emitted once.
    /// @param stakeToken what is staked
    /// @param minStake smallest stake of an active agent
    /// @param maxStake largest stake of an agent
    /// @param unbondingDelay seconds
    /// @param epochBlocks blocks of an epoch
    event RegistryDeployed(
        IERC20 stakeToken,
        uint128 minStake,
        uint128 maxStake,
        uint40 unbondingDelay,
        uint256 epochBlocks
    );

    /// @notice An agent was registered; `AgentActivated` and then `StakeAdded` follow.
    /// @param agentId consecutive from 1
    /// @param operator owner of the stake
    /// @param signer address of the public key
    /// @param publicKey 64 bytes
    /// @param model model descriptor
    /// @param endpoint comma separated multiaddrs
    /// @param reputation parts per million
    event AgentRegistered(
        AgentId indexed agentId,
        address indexed operator,
        address indexed signer,
        bytes publicKey,
        string model,
        string endpoint,
        uint32 reputation
    );

    /// @notice Stake was bonded.
    /// @param agentId the agent
    /// @param amount what was added
    /// @param stake the bonded stake after it
    event StakeAdded(AgentId indexed agentId, uint128 amount, uint128 stake);

    /// @notice Stake began to unbond; the delay starts again for all that is unbonding.
    /// @param agentId the agent
    /// @param amount what left the bonded stake
    /// @param stake the bonded stake after it
    /// @param unbonding everything that is unbonding now
    /// @param unbondingEnd unix seconds at which it may be withdrawn
    event UnbondingStarted(
        AgentId indexed agentId,
        uint128 amount,
        uint128 stake,
        uint128 unbonding,
        uint40 unbondingEnd
    );

    /// @notice All unbonded stake was paid out.
    /// @param agentId the agent
    /// @param to who received it
    /// @param amount how much
    event StakeWithdrawn(AgentId indexed agentId, address indexed to, uint128 amount);

    /// @notice The hot key was replaced, for committees drawn from the next epoch on.
    /// @param agentId the agent
    /// @param signer address of the new key
    /// @param publicKey 64 bytes
    event SignerRotated(AgentId indexed agentId, address indexed signer, bytes publicKey);

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

    /// @notice The agent's stake fell below the minimum; it takes no part in draws from the next epoch on, its duties in
    /// committees drawn until then remain.
    /// @param agentId the agent
    event AgentDeactivated(AgentId indexed agentId);

    /// @notice A committee changed an agent's reputation.
    /// @param agentId the agent
    /// @param steps negative: that many slashes; +1: one recovery step
    /// @param reputation parts per million, after it
    event ReputationChanged(AgentId indexed agentId, int8 steps, uint32 reputation);

    error UnknownAgent(AgentId agentId);
    error NotOperator(AgentId agentId, address caller);
    /// @notice The key is or was the signer of an agent.
    error SignerInUse(address signer);
    error InvalidPublicKey(uint256 length);
    /// @notice `recovered` is 0 for a malformed or malleable signature.
    error InvalidPossession(address recovered, address signer);
    error StakeBelowMinimum(uint128 stake, uint128 minimum);
    error StakeAboveMaximum(uint128 stake, uint128 maximum);
    error TextTooLong(uint256 length, uint256 maximum);
    error AmountIsZero();
    error NothingToWithdraw(AgentId agentId);
    error StillUnbonding(AgentId agentId, uint40 unbondingEnd);
    /// @notice Fewer than wanted were active when the epoch began.
    error TooFewAgents(uint256 drawable, uint256 wanted);
    error InvalidCommitteeSize(uint256 size, uint256 maximum);
    error InsufficientStake(uint128 stake, uint128 amount);
    /// @notice Deployment: 0 < minimum <= maximum <= 16 * minimum is broken.
    error InvalidStakeBounds(uint128 minimum, uint128 maximum);
    /// @notice Deployment: the delay is too long.
    error InvalidUnbondingDelay(uint40 unbondingDelay, uint40 maximum);
    /// @notice Deployment: the epoch is too short or too long.
    error InvalidEpochBlocks(uint256 epochBlocks, uint256 minimum, uint256 maximum);
    /// @notice The stake token moved another amount than asked (fee on transfer, rebasing): refused.
    error TransferMismatch(uint256 expected, uint256 received);
    /// @notice Not as many steps as agents, or more than 64.
    error InvalidReputationChanges(uint256 agents, uint256 steps);

    /// @notice Registers an agent of the caller and bonds its first stake; it is active at once and drawn from the next epoch
    /// on.
    /// @dev Warning: every registration starts at full reputation, so whoever can pay the stake again can leave a bad one
    /// behind.
    /// @param registration see `Registration`
    /// @return agentId consecutive from 1
    function register(Registration calldata registration) external returns (AgentId agentId);

    /// @notice `register` with an EIP-2612 permit of the caller.
    /// @dev A permit that somebody else submitted first does no harm: what counts is the allowance.
    /// @param registration see `Registration`
    /// @param permit signed by the caller for this contract
    /// @return agentId consecutive from 1
    function registerWithPermit(
        Registration calldata registration,
        Permit calldata permit
    ) external returns (AgentId agentId);

    /// @notice Bonds more stake, which weighs from the next epoch on; reactivates the agent once the minimum is reached. Only
    /// the operator.
    /// @param agentId the agent
    /// @param amount of the stake token
    function addStake(AgentId agentId, uint128 amount) external;

    /// @notice `addStake` with an EIP-2612 permit of the caller.
    /// @param agentId the agent
    /// @param amount of the stake token
    /// @param permit signed by the caller for this contract
    function addStakeWithPermit(AgentId agentId, uint128 amount, Permit calldata permit) external;

    /// @notice Begins to unbond a part of the stake. Only the operator.
    /// @dev Warning: merges with what is unbonding already and starts the delay again for all of it. An agent whose stake
    /// falls below the minimum leaves the draw with the next epoch: it can still be drawn in this one, and its duties remain.
    /// @param agentId the agent
    /// @param amount of the stake token
    function startUnbonding(AgentId agentId, uint128 amount) external;

    /// @notice Pays out everything that has unbonded. Only the operator.
    /// @param agentId the agent
    /// @param to receives the tokens
    function withdrawStake(AgentId agentId, address to) external;

    /// @notice Replaces the hot key. Only the operator.
    /// @dev Warning: committees drawn before, and those still drawn in this epoch, keep the old signer, so keep the old key
    /// until they have settled. A key can never be used again, by no agent.
    /// @param agentId the agent
    /// @param publicKey 64 bytes
    /// @param possession as in `Registration`, by the new key
    function rotateSigner(AgentId agentId, bytes calldata publicKey, bytes calldata possession) external;

    /// @notice Replaces the multiaddrs. Operator or signer.
    /// @param agentId the agent
    /// @param endpoint comma separated multiaddrs without the peer id, at most 512 bytes
    function setEndpoint(AgentId agentId, string calldata endpoint) external;

    /// @notice Replaces the model descriptor. Operator or signer.
    /// @param agentId the agent
    /// @param model UTF-8, at most 256 bytes
    function setModel(AgentId agentId, string calldata model) external;

    /// @notice Applies what a committee decided about its members. Only the oracle (AccessManager role).
    /// @dev One slash: reputation * 800_000 / 1_000_000, rounded down, never below 10_000. One recovery step: + 10_000, at
    /// most 1_000_000.
    /// @dev Warning: trusts the caller that the agents exist and the steps are well formed, see `Decision.merits`.
    /// @param agentIds at most 64
    /// @param steps of each agent: negative = that many slashes, positive = that many recovery steps
    function applyReputationChanges(AgentId[] calldata agentIds, int8[] calldata steps) external;

    /// @notice Draws `size` distinct agents of the current epoch with probability proportional to stake x reputation.
    /// @dev The same seed and size draw the same committee until the epoch ends.
    /// @dev Acceptance-rejection over the dense array of active agents: the expected cost depends on the mean of stake x
    /// reputation, not on the number of agents.
    /// @dev Warning: after 192 + 24 * size probes each remaining seat goes to a random agent (or the next free one after
    /// it), whatever the weights, so that a draw always ends. With stakes and reputations near their maximum this is never
    /// seen, but for the last seats of a registry hardly larger than the committee; with a mean acceptance of 1/16 in less
    /// than one of 20,000 draws; with nearly all reputations at the floor it is the rule, and the draw is then close to
    /// uniform.
    /// @param seed 32 unpredictable bytes
    /// @param size number of seats, 0 to 64; 0 yields an empty committee
    /// @return committee one word per seat, see `Seat`
    function draw(bytes32 seed, uint256 size) external view returns (Seat[] memory committee);

    /// @notice Everything about an agent; reverts with `UnknownAgent`.
    /// @param agentId the agent
    /// @return see `Agent`
    function getAgent(AgentId agentId) external view returns (Agent memory);

    /// @notice The agent that uses or once used this key.
    /// @dev Warning: a rotated-out signer still answers its agent; compare with `getAgent(agentId).signer`.
    /// @param signer address of a hot key
    /// @return agentId 0 if the key was never used
    function agentOf(address signer) external view returns (AgentId agentId);

    /// @notice Who owns an agent; never changes. Reverts with `UnknownAgent`.
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

    /// @notice The smallest stake of an active agent.
    /// @return amount of the stake token
    function minStake() external view returns (uint128);

    /// @notice The largest stake of an agent.
    /// @return amount of the stake token
    function maxStake() external view returns (uint128);

    /// @notice Seconds from `startUnbonding` until the stake may be withdrawn.
    /// @return seconds, at most 365 days
    function unbondingDelay() external view returns (uint40);

    /// @notice Blocks of an epoch; draws see the registry as it was when the current epoch began.
    /// @return the count, 4 to 7200
    function epochBlocks() external view returns (uint256);

    /// @notice The token that is staked.
    /// @return the token
    function stakeToken() external view returns (IERC20);
}
