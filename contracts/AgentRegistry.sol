// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {AccessManaged} from "@openzeppelin/contracts/access/manager/AccessManaged.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";

import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {AgentBook} from "./libraries/AgentBook.sol";
import {DrawLib} from "./libraries/DrawLib.sol";
import {EpochArray} from "./libraries/EpochArray.sol";
import {PossessionLib} from "./libraries/PossessionLib.sol";
import {TokenLib} from "./libraries/TokenLib.sol";
import {
    MAX_COMMITTEE,
    MAX_ENDPOINT_BYTES,
    MAX_EPOCH_BLOCKS,
    MAX_MODEL_BYTES,
    MAX_STAKE_RATIO,
    MAX_UNBONDING_DELAY,
    MIN_EPOCH_BLOCKS,
    REPUTATION_ONE
} from "./types/Limits.sol";
import {AgentId, Permit, Seat} from "./types/Types.sol";

/// @title Agents, their stakes and their reputations
/// @dev The access manager's only power is to say who may apply reputation changes; stakes are out of its reach.
/// Reentrancy: tokens come in before anything is credited (see `TokenLib.pullExact`) and go out after everything is
/// written.
contract AgentRegistry is IAgentRegistry, AccessManaged, EIP712 {
    using AgentBook for AgentBook.State;
    using EpochArray for EpochArray.State;
    using SafeERC20 for IERC20;
    using TokenLib for IERC20;

    /// @inheritdoc IAgentRegistry
    IERC20 public immutable stakeToken;
    /// @inheritdoc IAgentRegistry
    uint128 public immutable minStake;
    /// @inheritdoc IAgentRegistry
    uint128 public immutable maxStake;
    /// @inheritdoc IAgentRegistry
    uint40 public immutable unbondingDelay;
    /// @inheritdoc IAgentRegistry
    uint256 public immutable epochBlocks;

    AgentBook.State private _book;

    modifier onlyOperator(AgentId agentId) {
        _requireOperator(agentId);
        _;
    }

    /// @param authority access manager that grants the oracle `applyReputationChanges`
    /// @param stakeToken_ what is staked
    /// @param minStake_ smallest stake of an active agent, above 0
    /// @param maxStake_ largest stake of an agent, at most 16 * minStake
    /// @param unbondingDelay_ seconds, at most 365 days; should exceed the longest life of a request
    /// @param epochBlocks_ blocks between two states of the registry that draws see, 4 to 7200
    constructor(
        address authority,
        IERC20 stakeToken_,
        uint128 minStake_,
        uint128 maxStake_,
        uint40 unbondingDelay_,
        uint256 epochBlocks_
    ) AccessManaged(authority) EIP712("ConclaveRegistry", "1") {
        require(
            minStake_ != 0 && minStake_ <= maxStake_ && maxStake_ <= uint256(minStake_) * MAX_STAKE_RATIO,
            InvalidStakeBounds(minStake_, maxStake_)
        );
        require(
            unbondingDelay_ <= MAX_UNBONDING_DELAY,
            InvalidUnbondingDelay(unbondingDelay_, uint40(MAX_UNBONDING_DELAY))
        );
        require(
            epochBlocks_ >= MIN_EPOCH_BLOCKS && epochBlocks_ <= MAX_EPOCH_BLOCKS,
            InvalidEpochBlocks(epochBlocks_, MIN_EPOCH_BLOCKS, MAX_EPOCH_BLOCKS)
        );
        stakeToken = stakeToken_;
        minStake = minStake_;
        maxStake = maxStake_;
        unbondingDelay = unbondingDelay_;
        epochBlocks = epochBlocks_;
        emit RegistryDeployed(stakeToken_, minStake_, maxStake_, unbondingDelay_, epochBlocks_);
    }

    /// @inheritdoc IAgentRegistry
    function register(Registration calldata registration) external returns (AgentId agentId) {
        return _register(registration);
    }

    /// @inheritdoc IAgentRegistry
    function registerWithPermit(
        Registration calldata registration,
        Permit calldata permit
    ) external returns (AgentId agentId) {
        stakeToken.tryPermit(msg.sender, permit);
        return _register(registration);
    }

    /// @inheritdoc IAgentRegistry
    function addStake(AgentId agentId, uint128 amount) external onlyOperator(agentId) {
        _addStake(agentId, amount);
    }

    /// @inheritdoc IAgentRegistry
    function addStakeWithPermit(
        AgentId agentId,
        uint128 amount,
        Permit calldata permit
    ) external onlyOperator(agentId) {
        stakeToken.tryPermit(msg.sender, permit);
        _addStake(agentId, amount);
    }

    /// @inheritdoc IAgentRegistry
    function startUnbonding(AgentId agentId, uint128 amount) external onlyOperator(agentId) {
        require(amount != 0, AmountIsZero());
        // The cast is safe for 34,000 years, and the delay is at most one.
        uint40 end = uint40(block.timestamp) + unbondingDelay;
        _book.unbond(_rules(), agentId, amount, end);
        AgentBook.Record storage record = _book.records[agentId];
        emit UnbondingStarted(agentId, amount, record.stake, record.unbonding, end);
    }

    /// @inheritdoc IAgentRegistry
    function withdrawStake(AgentId agentId, address to) external onlyOperator(agentId) {
        uint128 amount = _book.takeUnbonded(agentId);
        emit StakeWithdrawn(agentId, to, amount);
        stakeToken.safeTransfer(to, amount);
    }

    /// @inheritdoc IAgentRegistry
    function rotateSigner(
        AgentId agentId,
        bytes calldata publicKey,
        bytes calldata possession
    ) external onlyOperator(agentId) {
        address signer = _provenSigner(publicKey, possession);
        _book.rotate(_rules(), agentId, signer);
        emit SignerRotated(agentId, signer, publicKey);
    }

    /// @inheritdoc IAgentRegistry
    function setEndpoint(AgentId agentId, string calldata endpoint) external {
        _requireOperatorOrSigner(agentId);
        _requireLength(bytes(endpoint), MAX_ENDPOINT_BYTES);
        emit EndpointUpdated(agentId, endpoint);
    }

    /// @inheritdoc IAgentRegistry
    function setModel(AgentId agentId, string calldata model) external {
        _requireOperatorOrSigner(agentId);
        _requireLength(bytes(model), MAX_MODEL_BYTES);
        emit ModelUpdated(agentId, model);
    }

    /// @inheritdoc IAgentRegistry
    function applyReputationChanges(AgentId[] calldata agentIds, int8[] calldata steps) external restricted {
        uint256 length = agentIds.length;
        require(length == steps.length && length <= MAX_COMMITTEE, InvalidReputationChanges(length, steps.length));
        uint64 epoch = _epoch();
        for (uint256 i = 0; i < length; ++i) {
            uint32 reputation = _book.moveReputation(epoch, agentIds[i], steps[i]);
            emit ReputationChanged(agentIds[i], steps[i], reputation);
        }
    }

    /// @inheritdoc IAgentRegistry
    function draw(bytes32 seed, uint256 size) external view returns (Seat[] memory committee) {
        return DrawLib.draw(_book.active, _epoch(), seed, size);
    }

    /// @inheritdoc IAgentRegistry
    function getAgent(AgentId agentId) external view returns (Agent memory) {
        AgentBook.Record storage record = _book.records[agentId];
        require(record.operator != address(0), UnknownAgent(agentId));
        return
            Agent({
                operator: record.operator,
                signer: record.signer,
                reputation: record.reputation,
                stake: record.stake,
                unbonding: record.unbonding,
                unbondingEnd: record.unbondingEnd,
                active: record.position != 0
            });
    }

    /// @inheritdoc IAgentRegistry
    function agentOf(address signer) external view returns (AgentId agentId) {
        return _book.agentOf[signer];
    }

    /// @inheritdoc IAgentRegistry
    function operatorOf(AgentId agentId) external view returns (address operator) {
        operator = _book.records[agentId].operator;
        require(operator != address(0), UnknownAgent(agentId));
    }

    /// @inheritdoc IAgentRegistry
    function activeCount() external view returns (uint256) {
        return _book.active.length();
    }

    /// @inheritdoc IAgentRegistry
    function drawableCount() external view returns (uint256) {
        return _book.active.lengthIn(_epoch());
    }

    /// @inheritdoc IAgentRegistry
    function agentCount() external view returns (uint256) {
        return _book.count;
    }

    function _register(Registration calldata registration) private returns (AgentId agentId) {
        require(registration.stake >= minStake, StakeBelowMinimum(registration.stake, minStake));
        _requireLength(bytes(registration.model), MAX_MODEL_BYTES);
        _requireLength(bytes(registration.endpoint), MAX_ENDPOINT_BYTES);
        address signer = _provenSigner(registration.publicKey, registration.possession);

        agentId = _book.create(msg.sender, signer);
        emit AgentRegistered(
            agentId,
            msg.sender,
            signer,
            registration.publicKey,
            registration.model,
            registration.endpoint,
            uint32(REPUTATION_ONE)
        );
        _addStake(agentId, registration.stake);
    }

    /// @dev Tokens first: nothing is credited, nor drawn, that has not arrived.
    function _addStake(AgentId agentId, uint128 amount) private {
        require(amount != 0, AmountIsZero());
        stakeToken.pullExact(msg.sender, amount);
        uint128 stake = _book.bond(_rules(), agentId, amount);
        emit StakeAdded(agentId, amount, stake);
    }

    function _provenSigner(bytes calldata publicKey, bytes calldata possession) private view returns (address signer) {
        signer = PossessionLib.signerOf(publicKey);
        PossessionLib.verify(_hashTypedDataV4(PossessionLib.structHash(msg.sender, publicKey)), possession, signer);
    }

    function _rules() private view returns (AgentBook.Rules memory) {
        return AgentBook.Rules({minStake: minStake, maxStake: maxStake, epoch: _epoch()});
    }

    /// @dev The cast is safe: block numbers stay below 2^64.
    function _epoch() private view returns (uint64) {
        return uint64(block.number / epochBlocks);
    }

    function _requireOperator(AgentId agentId) private view {
        address operator = _book.records[agentId].operator;
        require(operator != address(0), UnknownAgent(agentId));
        require(operator == msg.sender, NotOperator(agentId, msg.sender));
    }

    function _requireOperatorOrSigner(AgentId agentId) private view {
        if (_book.records[agentId].signer != msg.sender) _requireOperator(agentId);
    }

    function _requireLength(bytes calldata text, uint256 maximum) private pure {
        require(text.length <= maximum, TextTooLong(text.length, maximum));
    }
}
