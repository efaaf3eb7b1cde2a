// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";

import {IAccounts} from "./interfaces/IAccounts.sol";
import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {AgentAccount} from "./libraries/AgentAccountLib.sol";
import {AgentBook} from "./libraries/AgentBook.sol";
import {Candidates} from "./libraries/Candidates.sol";
import {DrawLib} from "./libraries/DrawLib.sol";
import {PossessionLib} from "./libraries/PossessionLib.sol";
import {RewardsLib} from "./libraries/RewardsLib.sol";
import {StakePool} from "./libraries/StakePool.sol";
import {TokenLib} from "./libraries/TokenLib.sol";
import {
    EQUIVOCATION_SLASH_PPM,
    LEAST_REWARD_DIVISOR,
    MAX_COMMISSION_PPM,
    MAX_ENDPOINT_BYTES,
    MAX_EPOCH_BLOCKS,
    MAX_MODEL_BYTES,
    MAX_REQUEST_SEATS,
    MAX_STAKE_BOUND,
    MAX_STAKE_RATIO,
    MAX_UNBONDING_DELAY,
    MIN_EPOCH_BLOCKS,
    MIN_UNBONDING_DELAY,
    OVERTURN_SLASH_PPM,
    PPM_ONE,
    REPORTER_PPM,
    REPUTATION_ONE,
    REWARD_LOSS_DIVISOR
} from "./types/Limits.sol";
import {AgentId, Currency, Permit, Seat, Service} from "./types/Types.sol";

/// @title Agents, their stakes and their reputations
/// @dev Nobody has a role here: the oracle, the slasher and the treasury are bound at deployment. Reentrancy: tokens
/// come in before anything is credited (see `TokenLib.pullExact`) and go out after everything is written. The oracle
/// holds the agents' pay as this contract's credit: the pay comes with `recordServices` and leaves with `claimRewards`.
contract AgentRegistry is IAgentRegistry, EIP712 {
    using AgentBook for AgentBook.State;
    using Candidates for Candidates.State;
    using RewardsLib for RewardsLib.State;
    using SafeERC20 for IERC20;
    using StakePool for StakePool.State;
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

    /// @inheritdoc IAgentRegistry
    address public immutable oracle;
    /// @inheritdoc IAgentRegistry
    address public immutable slasher;
    /// @inheritdoc IAgentRegistry
    address public immutable treasury;

    AgentBook.State private _book;
    mapping(address account => uint256 amount) private _owed;

    modifier onlyOperator(AgentId agentId) {
        _requireOperator(agentId);
        _;
    }

    /// @param deployment see `Deployment`; it may name the addresses of an oracle and a slasher that are deployed later
    constructor(Deployment memory deployment) EIP712("ConclaveRegistry", "1") {
        _validate(deployment);
        stakeToken = deployment.stakeToken;
        minStake = deployment.minStake;
        maxStake = deployment.maxStake;
        unbondingDelay = deployment.unbondingDelay;
        epochBlocks = deployment.epochBlocks;
        oracle = deployment.oracle;
        slasher = deployment.slasher;
        treasury = deployment.treasury;
        emit RegistryDeployed(deployment);
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
    function bond(AgentId agentId, uint128 amount) external returns (uint128 shares) {
        _requireKnown(agentId);
        return _bond(agentId, amount);
    }

    /// @inheritdoc IAgentRegistry
    function bondWithPermit(AgentId agentId, uint128 amount, Permit calldata permit) external returns (uint128 shares) {
        _requireKnown(agentId);
        stakeToken.tryPermit(msg.sender, permit);
        return _bond(agentId, amount);
    }

    /// @inheritdoc IAgentRegistry
    function startEarning(AgentId agentId, address account) external {
        _requireKnown(agentId);
        _book.startEarning(agentId, account);
    }

    /// @inheritdoc IAgentRegistry
    function startUnbonding(AgentId agentId, uint128 shares) external returns (uint128 amount, uint40 unbondingEnd) {
        _requireKnown(agentId);
        unbondingEnd = _afterDelay();
        uint128 unbondingShares;
        (amount, unbondingShares) = _book.unbond(_rules(), agentId, msg.sender, shares, unbondingEnd);
        emit UnbondingStarted(agentId, msg.sender, shares, amount, unbondingShares, unbondingEnd);
    }

    /// @inheritdoc IAgentRegistry
    function withdrawStake(AgentId agentId, address to) external returns (uint128 amount) {
        _requireKnown(agentId);
        uint128 unbondingShares;
        (amount, unbondingShares) = _book.records[agentId].pool.withdraw(agentId, msg.sender);
        emit StakeWithdrawn(agentId, msg.sender, to, amount, unbondingShares);
        stakeToken.safeTransfer(to, amount);
    }

    /// @inheritdoc IAgentRegistry
    function claim(address to) external returns (uint256 amount) {
        amount = _owed[msg.sender];
        require(amount != 0, NothingOwed(msg.sender));
        _owed[msg.sender] = 0;
        emit Claimed(msg.sender, to, amount);
        stakeToken.safeTransfer(to, amount);
    }

    /// @inheritdoc IAgentRegistry
    function claimRewards(AgentId agentId, Currency currency, address to) external returns (uint256 amount) {
        _requireKnown(agentId);
        amount = _book.takeRewards(agentId, msg.sender, currency);
        emit RewardsClaimed(agentId, msg.sender, currency, to, amount);
        IAccounts(oracle).withdraw(currency, amount, to);
    }

    /// @inheritdoc IAgentRegistry
    function setCommission(AgentId agentId, uint24 commission) external onlyOperator(agentId) {
        _requireCommission(commission);
        uint40 due = _afterDelay();
        bool lowered = _book.setCommission(agentId, commission, due);
        if (lowered) emit CommissionChanged(agentId, commission);
        else emit CommissionRaiseAnnounced(agentId, commission, due);
    }

    /// @inheritdoc IAgentRegistry
    function raiseCommission(AgentId agentId) external onlyOperator(agentId) {
        uint24 commission = _book.raiseCommission(agentId);
        emit CommissionChanged(agentId, commission);
    }

    /// @inheritdoc IAgentRegistry
    function slash(AgentId agentId, address reporter) external {
        (uint128 bonded, uint128 unbonding, uint256 ownLoss) = _slash(
            agentId,
            EQUIVOCATION_SLASH_PPM,
            type(uint128).max
        );
        require(bonded | unbonding != 0, NothingToSlash(agentId));
        // The operator loses at most one unit more than was slashed. Half of that, rounded down, never exceeds what was
        // slashed.
        uint256 reward;
        unchecked {
            // A loss is at most a uint128.
            reward = (ownLoss * REPORTER_PPM) / PPM_ONE;
        }
        uint256 least = minStake / LEAST_REWARD_DIVISOR;
        if (least > ownLoss / REWARD_LOSS_DIVISOR) least = ownLoss / REWARD_LOSS_DIVISOR;
        if (reward < least) reward = least;
        _reward(reporter, reward);
        emit StakeSlashed(agentId, reporter, bonded, unbonding, reward);
    }

    /// @inheritdoc IAgentRegistry
    function slashOverturned(AgentId agentId, address appellant, uint256 most) external returns (uint256 slashed) {
        (uint128 bonded, uint128 unbonding, ) = _slash(agentId, OVERTURN_SLASH_PPM, most);
        slashed = uint256(bonded) + unbonding;
        emit StakeSlashed(agentId, appellant, bonded, unbonding, 0);
    }

    /// @inheritdoc IAgentRegistry
    function rewardAppellant(address appellant, uint256 amount) external {
        _requireSlasher();
        _reward(appellant, amount);
        emit AppellantRewarded(appellant, amount);
    }

    /// @inheritdoc IAgentRegistry
    function rotateSigner(
        AgentId agentId,
        bytes calldata publicKey,
        bytes calldata possession
    ) external onlyOperator(agentId) {
        address signer = _provenSigner(publicKey, possession);
        _book.rotate(_rules(), agentId, signer, _afterDelay());
        emit SignerRotated(agentId, signer, publicKey);
    }

    /// @inheritdoc IAgentRegistry
    function transferOperator(AgentId agentId, address to) external onlyOperator(agentId) {
        _book.records[agentId].offered = to;
        emit OperatorTransferStarted(agentId, msg.sender, to);
    }

    /// @inheritdoc IAgentRegistry
    function acceptOperator(AgentId agentId) external {
        address before = _book.acceptOperator(_rules(), agentId, msg.sender);
        emit OperatorTransferred(agentId, before, msg.sender);
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
    function wake(AgentId agentId) external {
        _requireOperatorOrSigner(agentId);
        _book.wake(_rules(), agentId);
        emit AgentWoke(agentId);
    }

    /// @inheritdoc IAgentRegistry
    function recordServices(Currency currency, Service[] calldata services) external {
        require(msg.sender == oracle, NotOracle(msg.sender));
        uint256 length = services.length;
        require(length <= MAX_REQUEST_SEATS, TooManyServices(length, MAX_REQUEST_SEATS));
        AgentBook.Rules memory rules = _rules();
        for (uint256 i = 0; i < length; ++i) _book.serve(rules, currency, services[i]);
        emit ServicesRecorded(currency, services);
    }

    /// @inheritdoc IAgentRegistry
    function committee(
        bytes32 seed,
        uint64 epoch,
        uint256 size,
        AgentId[] calldata excluded
    ) external view returns (Seat[] memory seats) {
        uint64 running = _epoch();
        unchecked {
            // An epoch that has not begun wraps around.
            require(running - epoch <= 1, EpochNotKept(epoch, running));
        }
        return DrawLib.draw(_book.active, epoch, seed, size, excluded);
    }

    /// @inheritdoc IAgentRegistry
    function getAgent(AgentId agentId) external view returns (Agent memory) {
        _requireKnown(agentId);
        AgentBook.Record storage record = _book.records[agentId];
        AgentAccount account = record.account;
        return
            Agent({
                operator: record.operator,
                offered: record.offered,
                signer: record.signer,
                reputation: account.reputation(),
                active: record.position != 0,
                service: account.service(),
                misses: account.misses(),
                asleep: account.asleep(),
                exited: account.exited(),
                contested: account.contested(),
                agreed: account.agreed(),
                bonded: record.pool.bonded,
                joining: record.pool.joining,
                unbonding: record.pool.unbonding,
                commission: record.commission,
                announcedCommission: record.announced,
                raiseTime: record.raiseTime
            });
    }

    /// @inheritdoc IAgentRegistry
    function positionOf(AgentId agentId, address account) external view returns (Position memory) {
        StakePool.State storage pool = _book.records[agentId].pool;
        StakePool.Ticket memory ticket = pool.ticketOf(account);
        return
            Position({
                shares: pool.sharesOf(account),
                bonded: pool.bondedOf(account),
                joining: pool.joiningOf(account),
                joiningEnd: pool.joiningEndOf(account),
                unbondingShares: ticket.shares,
                unbonding: pool.unbondingOf(account),
                unbondingEnd: ticket.end
            });
    }

    /// @inheritdoc IAgentRegistry
    function rewardsOf(AgentId agentId, address account, Currency currency) external view returns (uint256) {
        return _book.rewardsOf(agentId, account, currency);
    }

    /// @inheritdoc IAgentRegistry
    function owedTo(address account) external view returns (uint256) {
        return _owed[account];
    }

    /// @inheritdoc IAgentRegistry
    function keyOf(address signer) external view returns (AgentId agentId, uint40 end) {
        AgentBook.Key storage key = _book.keys[signer];
        return (key.agentId, key.end);
    }

    /// @inheritdoc IAgentRegistry
    function operatorOf(AgentId agentId) external view returns (address operator) {
        operator = _book.records[agentId].operator;
        require(operator != address(0), UnknownAgent(agentId));
    }

    /// @inheritdoc IAgentRegistry
    function activeCount() external view returns (uint256) {
        return _book.active.count();
    }

    /// @inheritdoc IAgentRegistry
    function drawableCount() external view returns (uint256) {
        return _book.active.countIn(_epoch());
    }

    /// @inheritdoc IAgentRegistry
    function agentCount() external view returns (uint256) {
        return _book.count;
    }

    function _register(Registration calldata registration) private returns (AgentId agentId) {
        require(registration.stake >= minStake, StakeBelowMinimum(registration.stake, minStake));
        _requireLength(bytes(registration.model), MAX_MODEL_BYTES);
        _requireLength(bytes(registration.endpoint), MAX_ENDPOINT_BYTES);
        _requireCommission(registration.commission);
        address signer = _provenSigner(registration.publicKey, registration.possession);

        agentId = _book.create(msg.sender, signer, registration.commission);
        emit AgentRegistered(
            agentId,
            msg.sender,
            signer,
            registration.publicKey,
            registration.model,
            registration.endpoint,
            uint32(REPUTATION_ONE),
            registration.commission
        );
        _bond(agentId, registration.stake);
    }

    /// @dev Takes the tokens first, so that no tokens are credited or count in a draw before they arrive.
    function _bond(AgentId agentId, uint128 amount) private returns (uint128 shares) {
        require(amount != 0, AmountIsZero());
        stakeToken.pullExact(amount);
        uint40 joiningEnd;
        (shares, joiningEnd) = _book.bond(_rules(), agentId, msg.sender, amount);
        emit StakeBonded(agentId, msg.sender, amount, shares, joiningEnd);
    }

    function _provenSigner(bytes calldata publicKey, bytes calldata possession) private view returns (address signer) {
        signer = PossessionLib.signerOf(publicKey);
        PossessionLib.verify(_hashTypedDataV4(PossessionLib.structHash(msg.sender, publicKey)), possession, signer);
    }

    function _rules() private view returns (AgentBook.Rules memory) {
        return AgentBook.Rules({minStake: minStake, maxStake: maxStake, epoch: _epoch()});
    }

    /// @dev The cast is safe for 34,000 years, and the delay is at most one year.
    function _afterDelay() private view returns (uint40) {
        return uint40(block.timestamp) + unbondingDelay;
    }

    /// @dev The cast is safe: block numbers stay below 2^64.
    function _epoch() private view returns (uint64) {
        return uint64(block.number / epochBlocks);
    }

    /// @dev Only for the slasher. The treasury is owed what is taken.
    function _slash(
        AgentId agentId,
        uint256 ppm,
        uint256 most
    ) private returns (uint128 bonded, uint128 unbonding, uint256 ownLoss) {
        _requireSlasher();
        _requireKnown(agentId);
        (bonded, unbonding, ownLoss) = _book.slash(_rules(), agentId, ppm, most);
        _owed[treasury] += uint256(bonded) + unbonding;
    }

    /// @dev Gives an account a part of what the treasury is owed.
    function _reward(address account, uint256 amount) private {
        _owed[treasury] -= amount;
        _owed[account] += amount;
    }

    function _requireKnown(AgentId agentId) private view {
        require(_book.records[agentId].operator != address(0), UnknownAgent(agentId));
    }

    function _requireOperator(AgentId agentId) private view {
        address operator = _book.records[agentId].operator;
        require(operator != address(0), UnknownAgent(agentId));
        require(operator == msg.sender, NotOperator(agentId, msg.sender));
    }

    function _requireSlasher() private view {
        require(msg.sender == slasher, NotSlasher(msg.sender));
    }

    function _requireOperatorOrSigner(AgentId agentId) private view {
        if (_book.records[agentId].signer != msg.sender) _requireOperator(agentId);
    }

    function _validate(Deployment memory deployment) private pure {
        (uint128 minimum, uint128 maximum) = (deployment.minStake, deployment.maxStake);
        require(
            minimum != 0 &&
                minimum <= maximum &&
                maximum <= uint256(minimum) * MAX_STAKE_RATIO &&
                maximum <= MAX_STAKE_BOUND,
            InvalidStakeBounds(minimum, maximum)
        );
        uint40 delay = deployment.unbondingDelay;
        require(
            delay >= MIN_UNBONDING_DELAY && delay <= MAX_UNBONDING_DELAY,
            InvalidUnbondingDelay(delay, MIN_UNBONDING_DELAY, MAX_UNBONDING_DELAY)
        );
        uint256 blocks = deployment.epochBlocks;
        require(
            blocks >= MIN_EPOCH_BLOCKS && blocks <= MAX_EPOCH_BLOCKS,
            InvalidEpochBlocks(blocks, MIN_EPOCH_BLOCKS, MAX_EPOCH_BLOCKS)
        );
        (address oracle_, address slasher_, address treasury_) = (
            deployment.oracle,
            deployment.slasher,
            deployment.treasury
        );
        require(
            oracle_ != address(0) && slasher_ != address(0) && treasury_ != address(0),
            InvalidBinding(oracle_, slasher_, treasury_)
        );
    }

    function _requireCommission(uint24 commission) private pure {
        require(commission <= MAX_COMMISSION_PPM, CommissionAboveMaximum(commission, MAX_COMMISSION_PPM));
    }

    function _requireLength(bytes calldata text, uint256 maximum) private pure {
        require(text.length <= maximum, TextTooLong(text.length, maximum));
    }
}
