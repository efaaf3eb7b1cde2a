// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {DecisionHeadLib} from "../../../contracts/libraries/DecisionHeadLib.sol";
import {PricesLib} from "../../../contracts/libraries/PricesLib.sol";
import {RequestIdLib} from "../../../contracts/libraries/RequestIdLib.sol";
import {RequestTermsLib} from "../../../contracts/libraries/RequestTermsLib.sol";
import {RoundLib} from "../../../contracts/libraries/RoundLib.sol";
import {SeatLib} from "../../../contracts/libraries/SeatLib.sol";
import {HostileConsumer} from "../../../contracts/mocks/HostileConsumer.sol";
import {
    AgentId,
    Currency,
    DecidedRound,
    DecisionHead,
    PastRound,
    PriceTerms,
    Prices,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Seat,
    Status,
    Terms
} from "../../../contracts/types/Types.sol";
import {ConclaveTest} from "./ConclaveTest.sol";
import {Draft} from "./Draft.sol";
import {RoundTool} from "./RoundTool.sol";
import {vm} from "./Vm.sol";

/// @dev Plays askers, committees, appellants and governance at random, and remembers what it must see again. An action
/// that makes no sense returns early. An action that must succeed and does not reverts, and counts as broken.
contract Handler is ConclaveTest {
    using DecisionHeadLib for DecisionHead;
    using PricesLib for Prices;
    using RequestIdLib for RequestId;
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;
    using SeatLib for Seat;

    uint256 private constant MAX_REQUESTS = 96;
    /// @dev Enough agents for one appeal against a committee of four, too few for one against a committee of five.
    uint256 private constant AGENTS = 10;

    /// @param round the running round
    /// @param attempt the attempt of the round
    /// @param rounds the rounds before, and the decided one that nobody has reopened
    /// @param bonds the bonds that the oracle holds
    /// @param delivery the part of the fee that was spent when the request was finalized
    struct Entry {
        Request request;
        uint64 seedBlock;
        Round round;
        uint32 attempt;
        Seat[] committee;
        Status status;
        bool provisional;
        bool settled;
        uint256 bonds;
        uint256 delivery;
        uint256 deliveries;
        DecidedRound[] rounds;
        bytes32[] structHashes;
    }

    enum Stage {
        Requested,
        Drawn,
        Provisional,
        Over
    }

    Entry[] private _entries;
    HostileConsumer public consumer;
    RoundTool private _tool = new RoundTool();
    /// @dev Operators, consumers and appellants: all accounts that can have a credit.
    address[] public accounts;
    /// @dev Number of events that must not happen, and a description of the last one.
    uint256 public broken;
    string public brokenBecause;
    /// @dev Number of times that each action succeeded: invariants that nothing exercises prove nothing.
    mapping(bytes32 action => uint256 count) public done;

    constructor() {
        deployConclave();
        consumer = new HostileConsumer(oracle);
        oracle.setConsumer(subscriptionId, address(consumer), true);
        accounts = [address(this), address(consumer), TREASURY, address(0xa1), address(0xa2), address(0xa3)];
        for (uint256 i = 3; i < accounts.length; ++i) {
            token.mint(accounts[i], 1e30);
            vm.deal(accounts[i], 1e30);
            vm.startPrank(accounts[i]);
            token.approve(address(registry), type(uint256).max);
            token.approve(address(oracle), type(uint256).max);
            vm.stopPrank();
        }
        vm.deal(address(this), 1e30);
        registerAgents(AGENTS, MAX_STAKE);
        fundSubscription(0, 1 ether);
        fundSubscription(1, 1 ether);
    }

    receive() external payable {}

    function fundSubscription(uint256 currency, uint256 amount) public {
        amount = bound(amount, 0, 100 ether);
        if (_currency(currency) == Currency.Token) oracle.fund(subscriptionId, amount);
        else oracle.fundNative{value: amount}(subscriptionId);
        ++done["fund"];
    }

    function withdrawFunds(uint256 currency, uint256 amount) external {
        (, , uint256 tokens, uint256 coins, ) = oracle.subscriptionOf(subscriptionId);
        Currency which = _currency(currency);
        amount = bound(amount, 0, (which == Currency.Token ? tokens : coins) / 8);
        oracle.withdrawFunds(subscriptionId, which, amount, address(this));
        ++done["withdrawFunds"];
    }

    function withdraw(uint256 account, uint256 currency, uint256 amount) external {
        address from = accounts[account % accounts.length];
        Currency which = _currency(currency);
        amount = bound(amount, 0, oracle.creditOf(from, which));
        vm.prank(from);
        oracle.withdraw(which, amount, address(this));
        ++done["withdraw"];
    }

    /// @dev Claims the pay of the next agent that has earned something. This contract owns all agents, and nobody
    /// delegates to them.
    function claimRewards(uint256 agent, uint256 currency) external {
        Currency which = _currency(currency);
        for (uint256 i = 0; i < AGENTS; ++i) {
            AgentId id = AgentId.wrap(uint32(1 + (((agent % AGENTS) + i) % AGENTS)));
            uint256 due = registry.rewardsOf(id, address(this), which);
            if (due == 0) continue;
            if (registry.claimRewards(id, which, accounts[3]) != due) _break("not what was due");
            ++done["claimRewards"];
            return;
        }
    }

    /// @dev Sets new prices. Requests keep the price list that they were made under.
    function setPrices(uint256 currency, uint256 random) external {
        PriceTerms memory prices = PriceTerms(0, 1e18, 0, uint24(random % 200_001));
        prices.unitPrice = uint80((random >> 20) % 1e12);
        prices.gasPriceCap = uint64((random >> 32) % 21) * 1 gwei;
        oracle.setPrices(_currency(currency), prices);
        ++done["setPrices"];
    }

    function ask(uint256 random, uint96 fee, bool byConsumer, uint256 mode) external {
        if (_entries.length == MAX_REQUESTS) return;
        Terms memory terms = termsFor(4 + (random % 2), 0);
        terms.appeals = uint8((random >> 8) % 2);
        terms.retries = uint8((random >> 16) % 2);
        terms.currency = uint8((random >> 24) % 2);
        Currency currency = Currency(terms.currency);
        bool direct = !byConsumer && (random >> 32) % 2 == 0;
        (, , uint256 tokens, uint256 coins, ) = oracle.subscriptionOf(subscriptionId);
        uint256 most = direct ? 10 ether : (currency == Currency.Token ? tokens : coins);
        terms.callbackGasLimit = byConsumer ? 100_000 : 0;
        uint256 least = oracle.quote(RequestTermsLib.pack(terms));
        if (least > most) return;
        terms.fee = uint96(bound(fee, least, most));
        Entry storage entry = _entries.push();
        entry.request.consumer = byConsumer ? address(consumer) : address(this);
        entry.request.terms = RequestTermsLib.pack(terms);
        entry.request.questionHash = keccak256("question");
        if (byConsumer) {
            consumer.setMode(_mode(mode));
            entry.request.id = consumer.ask(subscriptionId, terms, "question");
        } else {
            uint256 value = direct && currency == Currency.Native ? terms.fee : 0;
            entry.request.id = oracle.request{value: value}(
                direct ? 0 : subscriptionId,
                entry.request.terms,
                "question"
            );
        }
        _opened(entry, RoundLib.pack(0, 0, block.timestamp + DURATION));
        ++done[direct ? bytes32("askDirect") : bytes32("ask")];
    }

    function draw(uint256 index, uint256 late) external {
        (bool found, Entry storage entry) = _next(index, Stage.Requested, false);
        if (!found) return;
        // The draw happens in time, in the next epoch, or when the hash is gone.
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
        (PastRound[] memory past, AgentId[] memory agents) = _tool.past(entry.rounds, entry.structHashes);
        if (block.number / EPOCH_BLOCKS != entry.seedBlock / EPOCH_BLOCKS) {
            oracle.draw(entry.request, entry.round, entry.seedBlock, "", past);
            entry.seedBlock = seedBlockAfter(block.number);
            ++done["reschedule"];
            return;
        }
        bytes memory header = headerOf(entry.seedBlock);
        bytes32 seed = seedOf(entry.request, entry.seedBlock, entry.attempt);
        uint256 size = RoundLib.sizeAfter(entry.request.terms.committeeSize(), entry.round.appeals());
        try registry.committee(seed, epochNow(), size, agents) returns (Seat[] memory committee) {
            oracle.draw(entry.request, entry.round, entry.seedBlock, header, past);
            // RE3: agents of earlier committees get only the seats for which no other agents are left.
            Seat[] memory all = committeeNow("all", registry.drawableCount());
            uint256 others = all.length - _tool.seatsOf(all, agents);
            uint256 again = others < size ? size - others : 0;
            if (_tool.seatsOf(committee, agents) != again) _break("an agent sits twice");
            if (again != 0) ++done["sitAgain"];
            if (committee.length != size) _break("a committee of another size");
            entry.committee = committee;
            entry.status = Status.Drawn;
            ++done["draw"];
        } catch {
            ++done["tooFewAgents"];
        }
    }

    function commit(uint256 index, uint256 random, uint64 shares, uint256 slashed) external {
        (bool found, Entry storage entry) = _next(index, Stage.Drawn, false);
        if (!found) return;
        uint256 size = entry.committee.length;
        Draft memory decision = decisionFor(size);
        decision.attempt = entry.attempt;
        decision.outcome = bytes32((random >> 8) % 2);
        for (uint256 i = 0; i < size; ++i) decision.shares[i] = bytes8(shares)[i % 8];
        if (random % 3 == 0) (decision.status, decision.outcome, decision.answer) = (Status.Hung, 0, "");
        if (slashed % 2 == 1) {
            decision.reputationChanges = abi.encodePacked(uint8(slashed % size), slashed % 3 == 0 ? int8(1) : int8(-2));
        }
        bytes memory certificate = certify(entry.request, entry.committee, decision, quorumOf(size));
        uint256 calls = consumer.calls();
        _priceGas(random >> 16);
        oracle.commit(entry.request, entry.round, certificate, decision.packed());
        _decided(entry, decision, calls);
        ++done["commit"];
    }

    /// @dev Commits another validly signed decision on a request that no committee works on. The oracle must refuse it.
    function commitAgain(uint256 index) external {
        if (_entries.length == 0) return;
        Entry storage entry = _entries[index % _entries.length];
        if (entry.status == Status.Drawn || entry.committee.length == 0) return;
        Draft memory decision = decisionFor(entry.committee.length);
        (decision.round, decision.attempt) = (9, entry.attempt);
        bytes memory certificate = certify(entry.request, entry.committee, decision, quorumOf(entry.committee.length));
        try oracle.commit(entry.request, entry.round, certificate, decision.packed()) {
            _break("a second commit was accepted");
        } catch {}
        ++done["commitAgain"];
    }

    function appeal(uint256 index, uint256 account) external {
        (bool found, Entry storage entry) = _next(index, Stage.Provisional, false);
        if (!found) return;
        DecidedRound storage last = entry.rounds[entry.rounds.length - 1];
        uint256 bond = settlement.bondOf(entry.request.id, entry.request.terms, last.round);
        uint256 value = entry.request.terms.currency() == Currency.Native ? bond : 0;
        address appellant = _operator(account);
        vm.prank(appellant);
        oracle.appeal{value: value}(
            entry.request,
            last.round,
            SeatLib.hashMemory(last.committee),
            last.decision,
            last.relay
        );
        entry.bonds += bond;
        last.appellant = appellant;
        entry.provisional = false;
        ++entry.attempt;
        _opened(entry, RoundLib.pack(_linkAfter(entry), entry.round.appeals() + 1, block.timestamp + DURATION));
        ++done["appeal"];
    }

    function finalize(uint256 index) external {
        (bool found, Entry storage entry) = _overdue(index, Stage.Provisional);
        if (!found) return;
        DecidedRound memory last = entry.rounds[entry.rounds.length - 1];
        uint256 calls = consumer.calls();
        (address deliverer, uint256 credit) = _deliverer(entry, index);
        oracle.finalize(entry.request, last.round, SeatLib.hashMemory(last.committee), last.decision, last.relay);
        entry.provisional = false;
        _paid(entry, deliverer, credit);
        _delivered(entry, calls);
        ++done["finalize"];
    }

    /// @dev Replaces a committee that has not decided in time.
    function expire(uint256 index) external {
        (bool found, Entry storage entry) = _overdue(index, index % 3 == 0 ? Stage.Drawn : Stage.Requested);
        if (!found) return;
        bytes memory witness =
            entry.status == Status.Requested
                ? abi.encode(entry.seedBlock)
                : abi.encode(entry.attempt, SeatLib.hashMemory(entry.committee));
        if (entry.round.hasRetry(entry.request.terms, entry.attempt)) {
            oracle.replace(entry.request, entry.round, witness);
            ++entry.attempt;
            uint256 end = block.timestamp + DURATION;
            _opened(entry, RoundLib.pack(entry.round.link(), entry.round.appeals(), end));
            ++done["replace"];
            return;
        }
        if (entry.rounds.length == 0) {
            oracle.refund(entry.request, entry.round, witness);
            (entry.status, entry.settled) = (Status.Refunded, true);
            ++done["refund"];
            return;
        }
        DecidedRound memory last = entry.rounds[entry.rounds.length - 1];
        uint256 calls = consumer.calls();
        (address deliverer, uint256 credit) = _deliverer(entry, index);
        oracle.fallBack(entry.request, entry.round, witness, last);
        if (last.appellant == deliverer) credit += settlement.bondOf(entry.request.id, entry.request.terms, last.round);
        _paid(entry, deliverer, credit);
        if (last.appellant != address(0)) {
            entry.bonds -= settlement.bondOf(entry.request.id, entry.request.terms, last.round);
            ++done["appealUnanswered"];
        }
        (entry.status, entry.round, entry.committee) = (_statusOf(last), last.round, last.committee);
        _delivered(entry, calls);
        ++done["fallBack"];
    }

    function settle(uint256 index) external {
        if (_entries.length == 0) return;
        Entry storage entry = _entries[index % _entries.length];
        if (entry.status != Status.Decided && entry.status != Status.Hung) return;
        DecidedRound[] memory rounds = new DecidedRound[](entry.rounds.length);
        for (uint256 i = 0; i < rounds.length; ++i) rounds[i] = entry.rounds[i];
        try settlement.settle(entry.request, rounds) {
            // MO2.
            if (entry.settled) _break("settled twice");
            if (entry.provisional) _break("settled before it was final");
            entry.settled = true;
            ++done[rounds.length == 1 ? bytes32("settle") : bytes32("settleRounds")];
        } catch {
            if (!entry.settled && !entry.provisional) _break("could not be settled");
        }
    }

    function retryCallback(uint256 index, uint256 mode) external {
        (bool found, Entry storage entry) = _callbackPending(index);
        if (!found) return;
        consumer.setMode(_mode(mode));
        uint256 calls = consumer.calls();
        DecidedRound memory last = entry.rounds[entry.rounds.length - 1];
        bytes32 committeeHash = SeatLib.hashMemory(last.committee);
        try oracle.retryCallback(entry.request, last.round, committeeHash, last.decision, last.relay) {
            ++done["retryCallback"];
            (, , , bool pending, ) = oracle.statusOf(entry.request.id);
            if (pending) _break("still pending after a retry");
            entry.deliveries += consumer.calls() - calls;
        } catch {}
    }

    /// @dev Returns the fees and bonds that the oracle holds.
    function escrow(Currency currency) external view returns (uint256 sum) {
        for (uint256 i = 0; i < _entries.length; ++i) {
            Entry storage entry = _entries[i];
            if (entry.request.terms.currency() != currency || entry.settled) continue;
            sum += entry.request.terms.fee() + entry.bonds - entry.delivery;
        }
    }

    /// @dev Returns the sum of the subscription and all credits, with the registry's.
    function balances(Currency currency) external view returns (uint256 sum) {
        sum = oracle.creditOf(address(registry), currency);
        for (uint256 i = 0; i < accounts.length; ++i) sum += oracle.creditOf(accounts[i], currency);
        (, , uint256 tokens, uint256 coins, ) = oracle.subscriptionOf(subscriptionId);
        sum += currency == Currency.Token ? tokens : coins;
    }

    /// @dev Returns the pay that can be claimed. This contract has all shares.
    function rewards(Currency currency) external view returns (uint256 sum) {
        for (uint32 id = 1; id <= AGENTS; ++id) {
            sum += registry.rewardsOf(AgentId.wrap(id), address(this), currency);
        }
    }

    function credited(Currency currency) external view returns (uint256) {
        return oracle.creditOf(address(registry), currency);
    }

    function holdings(Currency currency) external view returns (uint256) {
        return currency == Currency.Token ? token.balanceOf(address(oracle)) : address(oracle).balance;
    }

    function requestCount() external view returns (uint256) {
        return _entries.length;
    }

    /// @return expected the status that the handler saw last
    /// @return actual the status that the oracle returns
    /// @return deliveries number of times that the consumer accepted its decision
    function requestAt(uint256 index) external view returns (Status expected, Status actual, uint256 deliveries) {
        Entry storage entry = _entries[index];
        (Status status, , bool provisional, , bool settled) = oracle.statusOf(entry.request.id);
        bool same = provisional == entry.provisional && settled == entry.settled;
        return (entry.status, same ? status : Status.None, entry.deliveries);
    }

    /// @dev Begins a round that waits for its draw.
    function _opened(Entry storage entry, Round round) private {
        entry.status = Status.Requested;
        entry.round = round;
        entry.seedBlock = seedBlockAfter(block.number);
        delete entry.committee;
    }

    /// @dev Notes the state that a commit must have led to (SE4).
    function _decided(Entry storage entry, Draft memory decision, uint256 calls) private {
        RequestTerms terms = entry.request.terms;
        bool retried = decision.status == Status.Hung && entry.round.hasRetry(terms, entry.attempt);
        entry.provisional = !retried && entry.round.appeals() < terms.appeals();
        if (entry.provisional) entry.round = entry.round.withDeadline(block.timestamp + terms.duration());
        entry.status = decision.status;
        Relay relay = relayOf(quorumOf(entry.committee.length));
        entry.rounds.push(DecidedRound(entry.round, entry.committee, decision.packed(), relay, address(0)));
        entry.structHashes.push(_tool.structHashOf(entry.request, entry.rounds[entry.rounds.length - 1]));
        if (retried) {
            ++entry.attempt;
            _opened(entry, RoundLib.pack(_linkAfter(entry), entry.round.appeals(), block.timestamp + DURATION));
            ++done["retry"];
        }
        if (retried || entry.provisional) {
            if (consumer.calls() != calls) _break("delivered before it was final");
        } else {
            _delivered(entry, calls);
        }
    }

    /// @dev Chooses the account and the gas price that finalize or fall back.
    /// @return deliverer the account
    /// @return credit the credit of the account
    function _deliverer(Entry storage entry, uint256 random) private returns (address deliverer, uint256 credit) {
        deliverer = _operator(random);
        credit = oracle.creditOf(deliverer, entry.request.terms.currency());
        _priceGas(random >> 8);
        vm.prank(deliverer);
    }

    /// @dev Chooses a tip below, at or above the tip that the oracle pays.
    function _priceGas(uint256 random) private {
        uint256 baseFee = (random % 30) * 1 gwei;
        vm.fee(baseFee);
        vm.txGasPrice(baseFee + ((random >> 8) % 5) * 0.5 gwei);
    }

    /// @dev SE13: the oracle pays for the deliverer's gas at no more than the cap, out of the reserve, and refunds the
    /// rest.
    /// @param credit the credit that the deliverer would have without this pay
    function _paid(Entry storage entry, address deliverer, uint256 credit) private {
        RequestTerms terms = entry.request.terms;
        Prices prices = oracle.priceListOf(terms.currency(), entry.request.id.priceVersion());
        uint256 cap = prices.gasPriceCap();
        uint256 price = tx.gasprice < block.basefee + 1 gwei ? tx.gasprice : block.basefee + 1 gwei;
        // In either currency, a wei of gas costs one unit.
        uint256 gas = 70_000 + terms.callbackGasLimit();
        uint256 pay = gas * (price < cap ? price : cap);
        if (oracle.creditOf(deliverer, terms.currency()) != credit + pay) _break("another pay of a delivery");
        if (entry.delivery != 0) _break("a second delivery");
        entry.delivery = gas * cap;
        if (pay != 0) ++done["deliveryPaid"];
    }

    function _delivered(Entry storage entry, uint256 calls) private {
        (, , , bool pending, ) = oracle.statusOf(entry.request.id);
        if (pending) ++done["callbackFailed"];
        entry.deliveries += consumer.calls() - calls;
    }

    /// @dev Returns the link of the round after the last one.
    function _linkAfter(Entry storage entry) private view returns (uint256) {
        uint256 last = entry.rounds.length - 1;
        return _tool.linkAfter(entry.rounds[last], entry.structHashes[last]);
    }

    function _statusOf(DecidedRound memory round) private pure returns (Status) {
        return round.decision.head.status();
    }

    function _break(string memory because) private {
        ++broken;
        brokenBecause = because;
    }

    /// @dev Returns a request whose deadline is over. If no deadline is over, it sometimes waits for one, and other
    /// deadlines may pass meanwhile.
    function _overdue(uint256 index, Stage stage) private returns (bool found, Entry storage entry) {
        (found, entry) = _next(index, stage, true);
        if (found || index % 4 != 0) return (found, entry);
        (found, entry) = _next(index, stage, false);
        if (found) vm.warp(entry.round.deadline() + 1);
    }

    /// @dev Returns the next request from `index` on that is at this stage, in time or overdue, so that few calls are
    /// wasted.
    function _next(uint256 index, Stage stage, bool overdue) private view returns (bool, Entry storage) {
        uint256 count = _entries.length;
        for (uint256 i = 0; i < count; ++i) {
            Entry storage entry = _entries[((index % count) + i) % count];
            bool late = block.timestamp > entry.round.deadline();
            if (_stageOf(entry) == stage && late == overdue) return (true, entry);
        }
        return (false, _none());
    }

    function _callbackPending(uint256 index) private view returns (bool, Entry storage) {
        uint256 count = _entries.length;
        for (uint256 i = 0; i < count; ++i) {
            Entry storage entry = _entries[((index % count) + i) % count];
            (, , , bool pending, ) = oracle.statusOf(entry.request.id);
            if (pending) return (true, entry);
        }
        return (false, _none());
    }

    function _stageOf(Entry storage entry) private view returns (Stage) {
        if (entry.provisional) return Stage.Provisional;
        if (entry.status == Status.Requested) return Stage.Requested;
        return entry.status == Status.Drawn ? Stage.Drawn : Stage.Over;
    }

    function _none() private pure returns (Entry storage none) {
        assembly {
            none.slot := 0
        }
    }

    /// @dev Half of the callbacks accept; the others fail in one of four ways.
    function _mode(uint256 random) private pure returns (HostileConsumer.Mode) {
        uint256 mode = random % 8;
        return mode < 4 ? HostileConsumer.Mode.Accept : HostileConsumer.Mode(mode - 3);
    }

    function _currency(uint256 random) private pure returns (Currency) {
        return Currency(random % 2);
    }

    /// @dev Returns an account that can appeal.
    function _operator(uint256 index) private view returns (address) {
        return accounts[3 + (index % 3)];
    }
}
