// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {AgentId, Permit, Seat} from "../types/Types.sol";

/// @title Agents, their stakes and their reputations
/// @notice An operator (cold key) registers an agent with a hot signer key and an ERC-20 stake. Only active agents
/// (stake >= minStake) are drawn. Every change emits one event; the events rebuild the whole state.
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

    /// @notice An agent was registered; `StakeAdded` and `AgentActivated` follow.
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

    /// @notice The hot key was replaced, for committees drawn from now on.
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

    /// @notice The agent takes part in draws from now on.
    /// @param agentId the agent
    event AgentActivated(AgentId indexed agentId);

    /// @notice The agent's stake fell below the minimum; it takes no part in draws, its open duties remain.
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
    error TooFewAgents(uint256 active, uint256 wanted);
    error InvalidCommitteeSize(uint256 size, uint256 maximum);
    error InsufficientStake(uint128 stake, uint128 amount);
    /// @notice Deployment: 0 < minimum <= maximum <= 16 * minimum is broken.
    error InvalidStakeBounds(uint128 minimum, uint128 maximum);
    /// @notice The stake token moved another amount than asked (fee on transfer, rebasing): refused.
    error TransferMismatch(uint256 expected, uint256 received);
    /// @notice Reputation changes are not pairs, or name a seat that does not exist.
    error InvalidReputationChanges(uint256 length);

    /// @notice Registers an agent of the caller and bonds its first stake; it is active at once.
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

    /// @notice Bonds more stake; reactivates the agent once the minimum is reached. Only the operator.
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
    /// falls below the minimum leaves the draw; its duties in committees drawn before remain.
    /// @param agentId the agent
    /// @param amount of the stake token
    function startUnbonding(AgentId agentId, uint128 amount) external;

    /// @notice Pays out everything that has unbonded. Only the operator.
    /// @param agentId the agent
    /// @param to receives the tokens
    function withdrawStake(AgentId agentId, address to) external;

    /// @notice Replaces the hot key. Only the operator.
    /// @dev Warning: committees drawn before keep the old signer, so keep the old key until they have settled. A key can
    /// never be used again, by no agent.
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
    /// @dev Warning: trusts the caller that the seats are real and the steps well formed, see `Decision.reputationChanges`.
    /// @param committee the seats of the attempt
    /// @param changes pairs of bytes (seat, int8 steps)
    function applyReputationChanges(Seat[] calldata committee, bytes calldata changes) external;

    /// @notice Draws `size` distinct active agents with probability proportional to stake x reputation.
    /// @dev Acceptance-rejection over the dense array of active agents: the expected cost depends on the mean of stake x
    /// reputation, not on the number of agents.
    /// @dev Warning: after 64 probes per seat the remaining seats are filled with the next free agents from a random index
    /// on, whatever their weight, so that a draw always ends. With stakes and reputations near their maximum this is
    /// never seen; with a mean acceptance of 1/16 about once in 10,000 draws, more often if the registry is hardly larger than
    /// the committee; with nearly all reputations at the floor it is the rule, and the draw is then close to uniform.
    /// @param seed 32 unpredictable bytes
    /// @param size number of seats, 1 to 64
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

    /// @notice How many agents take part in draws.
    /// @return the count
    function activeCount() external view returns (uint256);

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
    /// @return seconds
    function unbondingDelay() external view returns (uint40);

    /// @notice The token that is staked.
    /// @return the token
    function stakeToken() external view returns (IERC20);
}
