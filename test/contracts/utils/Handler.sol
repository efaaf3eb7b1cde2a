// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../../contracts/interfaces/IAgentRegistry.sol";
import {RequestTermsLib} from "../../../contracts/libraries/RequestTermsLib.sol";
import {SeatLib} from "../../../contracts/libraries/SeatLib.sol";
import {HostileConsumer} from "../../../contracts/mocks/HostileConsumer.sol";
import {
    AgentId,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Seat,
    Status,
    Terms
} from "../../../contracts/types/Types.sol";
import {ConclaveTest} from "./ConclaveTest.sol";
import {Draft} from "./Draft.sol";
import {vm} from "./Vm.sol";

/// @dev Plays everybody, at random, and remembers what it must see again. Actions that make no sense return early; an
/// action that must succeed and does not reverts, and is counted as broken.
contract Handler is ConclaveTest {
    using RequestTermsLib for RequestTerms;
    using SeatLib for Seat;

    uint256 private constant MAX_REQUESTS = 24;
    uint256 private constant MAX_AGENTS = 16;

    struct Entry {
        Request request;
        uint64 seedBlock;
        Seat[] committee;
        Draft decision;
        Status status;
        uint256 commits;
        bool escrowed;
    }

    Entry[] private _entries;
    HostileConsumer public consumer;
    /// @dev The operators and consumers, everybody who can have a balance.
    address[] public accounts;
    /// @dev How often something happened that must not, and what.
    uint256 public broken;
    string public brokenBecause;
    /// @dev How often each action went through: an invariant over nothing proves nothing.
    mapping(bytes32 action => uint256 count) public done;
    /// @dev What everybody's draw was when the epoch was first seen.
    uint256 private _watchedEpoch;
    bytes32 private _watchedDraw;

    modifier watched() {
        watch();
        _;
        watch();
    }

    constructor() {
        deployConclave();
        consumer = new HostileConsumer(oracle);
        accounts = [address(this), address(consumer), address(0xa1), address(0xa2), address(0xa3)];
        for (uint256 i = 2; i < accounts.length; ++i) {
            token.mint(accounts[i], 1e24);
            vm.startPrank(accounts[i]);
            token.approve(address(registry), type(uint256).max);
            token.approve(address(oracle), type(uint256).max);
            vm.stopPrank();
        }
        for (uint256 i = 0; i < 5; ++i) register(i, MAX_STAKE);
        nextEpoch();
        deposit(0, 1 ether);
        deposit(1, 1 ether);
    }

    function deposit(uint256 account, uint256 amount) public {
        amount = bound(amount, 0, 100 ether);
        oracle.deposit(_account(account), amount);
        ++done["deposit"];
    }

    function withdraw(uint256 account, uint256 amount) external {
        address from = _account(account);
        if (from == address(consumer)) return;
        amount = bound(amount, 0, oracle.balanceOf(from));
        vm.prank(from);
        oracle.withdraw(amount, from);
        ++done["withdraw"];
    }

    function ask(uint256 size, uint96 fee, bool byConsumer, uint256 mode) external {
        if (_entries.length == MAX_REQUESTS) return;
        size = bound(size, 4, 7);
        address asker = byConsumer ? address(consumer) : address(this);
        fee = uint96(bound(fee, 0, oracle.balanceOf(asker)));
        if (size > registry.activeCount()) size = 4;
        Terms memory terms = termsFor(size, fee);
        terms.callbackGasLimit = byConsumer ? 100_000 : 0;
        Entry storage entry = _entries.push();
        entry.request.consumer = asker;
        entry.request.terms = RequestTermsLib.pack(terms);
        entry.request.questionHash = keccak256("question");
        if (byConsumer) {
            consumer.setMode(_mode(mode));
            entry.request.id = consumer.ask(terms, "question");
        } else {
            entry.request.id = oracle.request(entry.request.terms, "question");
        }
        entry.seedBlock = seedBlockAfter(block.number);
        entry.escrowed = true;
        _moved(entry, Status.Requested);
        ++done["ask"];
    }

    function draw(uint256 index, uint256 late) external watched {
        (bool found, Entry storage entry) = _entry(index, Status.Requested);
        if (!found || block.timestamp > entry.request.terms.deadline()) return;
        uint256 size = entry.request.terms.committeeSize();
        // In time, in the next epoch, or when the hash is gone.
        uint256 due =
            entry.seedBlock +
                (
                    late % 8 == 0
                        ? 300
                        : late % 8 == 1
                            ? EPOCH_BLOCKS
                            : 1
                );
        if (block.number < due) vm.roll(due);
        watch();
        if (block.number / EPOCH_BLOCKS != entry.seedBlock / EPOCH_BLOCKS) {
            oracle.draw(entry.request, entry.seedBlock, "");
            entry.seedBlock = seedBlockAfter(block.number);
            ++done["reschedule"];
            return;
        }
        if (registry.drawableCount() < size) return;
        entry.committee = registry.draw(seedOf(entry.request, entry.seedBlock), size);
        oracle.draw(entry.request, entry.seedBlock, headerOf(entry.seedBlock));
        _moved(entry, Status.Drawn);
        ++done["draw"];
    }

    function commit(uint256 index, uint256 hung, uint64 shares, uint256 slashed) external watched {
        (bool found, Entry storage entry) = _entry(index, Status.Drawn);
        if (!found || block.timestamp > entry.request.terms.deadline()) return;
        uint256 size = entry.committee.length;
        Draft memory decision = decisionFor(size);
        for (uint256 i = 0; i < size; ++i) decision.shares[i] = bytes8(shares)[i];
        if (hung % 4 == 0) (decision.status, decision.outcome, decision.answer) = (Status.Hung, 0, "");
        if (slashed % 2 == 1) {
            decision.reputationChanges = abi.encodePacked(uint8(slashed % size), slashed % 3 == 0 ? int8(1) : int8(-2));
        }
        entry.decision = decision;
        bytes memory certificate = certify(entry.request, entry.committee, decision, quorumOf(size));
        oracle.commit(entry.request, decision.packed(), certificate);
        ++entry.commits;
        _moved(entry, decision.status);
        (, , bool pending, ) = oracle.statusOf(entry.request.id);
        if (pending) ++done["callbackFailed"];
        ++done["commit"];
    }

    /// @dev Any settled or refunded request, another validly signed decision: must be refused.
    function commitAgain(uint256 index) external {
        if (_entries.length == 0) return;
        Entry storage entry = _entries[index % _entries.length];
        if (entry.status <= Status.Drawn || entry.committee.length == 0) return;
        Draft memory decision = decisionFor(entry.committee.length);
        decision.round = 9;
        bytes memory certificate = certify(entry.request, entry.committee, decision, quorumOf(entry.committee.length));
        try oracle.commit(entry.request, decision.packed(), certificate) {
            ++entry.commits;
            _break("a second commit was accepted");
        } catch {}
        ++done["commitAgain"];
    }

    function creditPay(uint256 index) external {
        if (_entries.length == 0) return;
        Entry storage entry = _entries[index % _entries.length];
        if (entry.status != Status.Decided && entry.status != Status.Hung) return;
        Draft memory decision = entry.decision;
        Relay relay = relayOf(quorumOf(entry.committee.length));
        try oracle.creditPay(entry.request, entry.committee, decision.packed(), relay) {
            if (!entry.escrowed) _break("pay was credited twice");
            entry.escrowed = false;
            ++done["creditPay"];
        } catch {
            if (entry.escrowed) _break("pay could not be credited");
        }
    }

    function retryCallback(uint256 index, uint256 mode) external {
        if (_entries.length == 0) return;
        Entry storage entry = _entries[index % _entries.length];
        (, , bool pending, ) = oracle.statusOf(entry.request.id);
        if (!pending) return;
        consumer.setMode(_mode(mode));
        uint256 calls = consumer.calls();
        Draft memory decision = entry.decision;
        bytes32 committeeHash = SeatLib.hashMemory(entry.committee);
        Relay relay = relayOf(quorumOf(entry.committee.length));
        try oracle.retryCallback(entry.request, committeeHash, decision.packed(), relay) {
            ++done["retryCallback"];
            (, , pending, ) = oracle.statusOf(entry.request.id);
            if (pending) _break("still pending after a retry");
            if (consumer.calls() > calls + 1) _break("called twice");
        } catch {}
    }

    function refund(uint256 index) external {
        if (_entries.length == 0) return;
        Entry storage entry = _entries[index % _entries.length];
        if (entry.status != Status.Requested && entry.status != Status.Drawn) return;
        uint256 deadline = entry.request.terms.deadline();
        if (block.timestamp <= deadline) vm.warp(deadline + 1);
        bytes memory witness =
            entry.status == Status.Requested
                ? abi.encode(entry.seedBlock)
                : abi.encode(uint32(0), SeatLib.hashMemory(entry.committee));
        oracle.refund(entry.request, witness);
        entry.escrowed = false;
        _moved(entry, Status.Refunded);
        ++done["refund"];
    }

    function register(uint256 operator, uint128 stake) public watched {
        if (registry.agentCount() == MAX_AGENTS) return;
        address owner = _operator(operator);
        stake = uint128(bound(stake, MIN_STAKE, MAX_STAKE));
        IAgentRegistry.Registration memory registration = registrationOf(owner, stake);
        vm.prank(owner);
        registry.register(registration);
        ++done["register"];
    }

    function bond(uint256 agent, uint128 amount) external watched {
        (AgentId id, IAgentRegistry.Agent memory found) = _agent(agent);
        if (found.exited || found.bonded.assets == MAX_STAKE) return;
        amount = uint128(bound(amount, 1, MAX_STAKE - found.bonded.assets));
        vm.prank(found.operator);
        registry.bond(id, amount);
        ++done["bond"];
    }

    function startUnbonding(uint256 agent, uint128 shares) external watched {
        (AgentId id, IAgentRegistry.Agent memory found) = _agent(agent);
        // Leaves at least four for the committees.
        if (found.bonded.shares == 0 || registry.activeCount() <= 4) return;
        // Nobody is slashed here: a share is worth one unit.
        vm.prank(found.operator);
        registry.startUnbonding(id, uint128(bound(shares, 1, found.bonded.shares)));
        ++done["startUnbonding"];
    }

    function withdrawStake(uint256 agent) external {
        (AgentId id, IAgentRegistry.Agent memory found) = _agent(agent);
        if (found.unbonding.assets == 0) return;
        uint40 end = registry.positionOf(id, found.operator).unbondingEnd;
        if (block.timestamp < end) vm.warp(end);
        vm.prank(found.operator);
        registry.withdrawStake(id, found.operator);
        ++done["withdrawStake"];
    }

    function rotate(uint256 agent) external watched {
        (AgentId id, IAgentRegistry.Agent memory found) = _agent(agent);
        (bytes memory publicKey, bytes memory possession) = freshKey(found.operator);
        vm.prank(found.operator);
        registry.rotateSigner(id, publicKey, possession);
        ++done["rotate"];
    }

    function escrow() external view returns (uint256 sum) {
        for (uint256 i = 0; i < _entries.length; ++i) {
            if (_entries[i].escrowed) sum += _entries[i].request.terms.fee();
        }
    }

    function balances() external view returns (uint256 sum) {
        for (uint256 i = 0; i < accounts.length; ++i) sum += oracle.balanceOf(accounts[i]);
    }

    function tokensOfOracle() external view returns (uint256) {
        return token.balanceOf(address(oracle));
    }

    function tokensOfRegistry() external view returns (uint256) {
        return token.balanceOf(address(registry));
    }

    function agents() external view returns (IAgentRegistry.Agent[] memory list) {
        list = new IAgentRegistry.Agent[](registry.agentCount());
        for (uint256 i = 0; i < list.length; ++i) list[i] = registry.getAgent(AgentId.wrap(uint32(i + 1)));
    }

    function activeCount() external view returns (uint256) {
        return registry.activeCount();
    }

    /// @dev Draws everybody, as the next epoch will see it.
    function drawAll(bytes32 seed) external returns (Seat[] memory all) {
        uint256 number = block.number;
        nextEpoch();
        all = registry.draw(seed, registry.activeCount());
        vm.roll(number);
    }

    /// @dev Within an epoch the same seed draws the same committee, whatever happened to the registry.
    function watch() public {
        uint256 epoch = block.number / EPOCH_BLOCKS;
        bytes32 found = keccak256(abi.encode(registry.draw("watched", registry.drawableCount())));
        if (epoch == _watchedEpoch && found != _watchedDraw) _break("the draw changed within an epoch");
        (_watchedEpoch, _watchedDraw) = (epoch, found);
    }

    function requestCount() external view returns (uint256) {
        return _entries.length;
    }

    /// @return expected what the handler saw last
    /// @return actual what the oracle says
    /// @return commits how many commits were accepted
    function requestAt(uint256 index) external view returns (Status expected, Status actual, uint256 commits) {
        Entry storage entry = _entries[index];
        return (entry.status, statusOf(entry.request), entry.commits);
    }

    function _moved(Entry storage entry, Status status) private {
        if (status <= entry.status) _break("a status moved back");
        entry.status = status;
    }

    function _break(string memory because) private {
        ++broken;
        brokenBecause = because;
    }

    function _entry(uint256 index, Status status) private view returns (bool, Entry storage) {
        // The next one from `index` on that is in this status, so that few calls are wasted.
        uint256 count = _entries.length;
        for (uint256 i = 0; i < count; ++i) {
            Entry storage entry = _entries[((index % count) + i) % count];
            if (entry.status == status) return (true, entry);
        }
        Entry storage none;
        assembly {
            none.slot := 0
        }
        return (false, none);
    }

    /// @dev Half of them accept, the others fail in one of four ways.
    function _mode(uint256 random) private pure returns (HostileConsumer.Mode) {
        uint256 mode = random % 8;
        return mode < 4 ? HostileConsumer.Mode.Accept : HostileConsumer.Mode(mode - 3);
    }

    function _account(uint256 index) private view returns (address) {
        return accounts[index % accounts.length];
    }

    /// @dev Without the consumer, which cannot register.
    function _operator(uint256 index) private view returns (address) {
        return accounts[2 + (index % 3)];
    }

    function _agent(uint256 index) private view returns (AgentId id, IAgentRegistry.Agent memory agent) {
        id = AgentId.wrap(uint32(1 + (index % registry.agentCount())));
        agent = registry.getAgent(id);
    }
}
