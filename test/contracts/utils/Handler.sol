// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

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
    PastRound,
    PriceTerms,
    Prices,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Seat,
    Seed,
    Status,
    Terms
} from "../../../contracts/types/Types.sol";
import {REPLACE_GAS} from "../../../contracts/types/Limits.sol";
import {ConclaveTest} from "./ConclaveTest.sol";
import {Draft} from "./Draft.sol";
import {HeaderMaker} from "./HeaderMaker.sol";
import {RoundTool} from "./RoundTool.sol";
import {vm} from "./Vm.sol";

/// @dev Plays askers, committees, appellants and governance at random, and remembers what it must see again. An action
/// that makes no sense returns early. An action that must succeed and does not reverts, and counts as broken.
contract Handler is ConclaveTest {
    using PricesLib for Prices;
    using RequestIdLib for RequestId;
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;
    using SeatLib for Seat;

    uint256 private constant MAX_REQUESTS = 96;
    /// @dev Enough agents for a request of four seats with one appeal, too few for one of five seats. Appeals of requests
    /// with retries run out of agents that have not sat yet.
    uint256 private constant AGENTS = 14;

    /// @param round the running round
    /// @param attempt the attempt of the round
    /// @param rounds the rounds before, and the decided one that nobody has reopened
    /// @param bonds the bonds that the oracle holds
    /// @param spent the part of the fee that was given out before the settlement: for replacements and for the delivery
    /// @param delivered true if the part for the delivery was
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
        uint256 spent;
        bool delivered;
        uint256 deliveries;
        DecidedRound[] rounds;
        bytes32[] structHashes;
    }

    enum Stage {
        Requested,
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
        oracle.setConsumer(subscriptionId, address(consumer), type(uint104).max, type(uint104).max);
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
        // SE2: 14 agents are too few for an appeal against five seats, which would call eleven.
        if (terms.committeeSize == 5 && terms.appeals == 1) {
            try oracle.request(subscriptionId, RequestTermsLib.pack(terms), "question") {
                _break("a request that cannot be drawn");
            } catch {
                ++done["tooFewAgents"];
            }
            return;
        }
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

    function commit(uint256 index, uint256 random, uint64 shares, uint256 slashed) external {
        (bool found, Entry storage entry) = _next(index, Stage.Requested, false);
        if (!found) return;
        // The commit comes in time, in the epoch after the seed's, or when the seed is gone.
        uint256 late = (random >> 200) % 16;
        uint256 due =
            entry.seedBlock +
                (
                    late == 0
                        ? 2 * EPOCH_BLOCKS + 1
                        : late == 1
                            ? EPOCH_BLOCKS
                            : 1
                );
        if (block.number < due) vm.roll(due);
        Seed memory seed = Seed(entry.seedBlock, headerOf(entry.seedBlock), new PastRound[](0));
        AgentId[] memory agents;
        (seed.past, agents) = _tool.past(entry.rounds, entry.structHashes);
        if (block.number / EPOCH_BLOCKS > entry.seedBlock / EPOCH_BLOCKS + 1) {
            try oracle.committeeOf(entry.request, entry.round, seed) {
                _break("a committee of an expired seed");
            } catch {
                ++done["seedExpired"];
            }
            return;
        }
        entry.committee = oracle.committeeOf(entry.request, entry.round, seed);
        _checkCommittee(entry, agents);
        Draft memory decision = _draft(entry, random, shares, slashed);
        _priceGas(random >> 16);
        _commit(entry, seed, decision);
        ++done["commit"];
    }

    function _checkCommittee(Entry storage entry, AgentId[] memory agents) private {
        uint256 size = RoundLib.sizeAfter(entry.request.terms.committeeSize(), entry.round.appeals());
        if (entry.committee.length != size) _break("a committee of another size");
        // RE3: agents of earlier committees sit again only as far as too few others are left.
        uint256 again = _tool.inBoth(entry.committee, agents);
        uint256 others = AGENTS - _tool.distinct(agents);
        if (again != (others < size ? size - others : 0)) _break("another number of agents sits again");
        if (again != 0) ++done["sitAgain"];
    }

    function _commit(Entry storage entry, Seed memory seed, Draft memory decision) private {
        bytes memory certificate = certify(entry.request, entry.committee, decision, quorumOf(entry.committee.length));
        uint256 calls = consumer.calls();
        oracle.commit(entry.request, entry.round, seed, certificate, decision.packed());
        _decided(entry, decision, calls);
    }

    function _draft(
        Entry storage entry,
        uint256 random,
        uint64 shares,
        uint256 slashed
    ) private view returns (Draft memory decision) {
        uint256 size = entry.committee.length;
        decision = decisionFor(size);
        decision.attempt = entry.attempt;
        decision.outcome = bytes32((random >> 8) % 2);
        for (uint256 i = 0; i < size; ++i) decision.shares[i] = bytes8(shares)[i % 8];
        if (random % 3 == 0) (decision.status, decision.outcome, decision.answer) = (Status.Hung, 0, "");
        if (slashed % 2 == 1) {
            decision.reputationChanges = abi.encodePacked(uint8(slashed % size), slashed % 3 == 0 ? int8(1) : int8(-2));
        }
    }

    /// @dev Commits another validly signed decision on a request that no committee works on. The oracle must refuse it.
    function commitAgain(uint256 index) external {
        if (_entries.length == 0) return;
        Entry storage entry = _entries[index % _entries.length];
        if (entry.status == Status.Requested || entry.committee.length == 0) return;
        Draft memory decision = decisionFor(entry.committee.length);
        (decision.round, decision.attempt) = (9, entry.attempt);
        bytes memory certificate = certify(entry.request, entry.committee, decision, quorumOf(entry.committee.length));
        Seed memory seed = Seed(entry.seedBlock, HeaderMaker.make(entry.seedBlock), new PastRound[](0));
        (seed.past, ) = _tool.past(entry.rounds, entry.structHashes);
        try oracle.commit(entry.request, entry.round, seed, certificate, decision.packed()) {
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
        (address caller, uint256 credit) = _caller(entry, index);
        oracle.finalize(entry.request, last.round, SeatLib.hashMemory(last.committee), last.decision, last.relay);
        entry.provisional = false;
        _delivers(entry, caller, credit);
        _delivered(entry, calls);
        ++done["finalize"];
    }

    /// @dev Ends an attempt whose committee has not decided in time.
    function expire(uint256 index) external {
        (bool found, Entry storage entry) = _overdue(index, Stage.Requested);
        if (!found) return;
        // Read before `_caller`, whose prank is for the next call.
        uint256 calls = consumer.calls();
        (address caller, uint256 credit) = _caller(entry, index);
        if (entry.round.hasRetry(entry.request.terms.retries(), entry.attempt)) {
            oracle.replace(entry.request, entry.round, entry.seedBlock);
            _paid(entry, caller, credit, REPLACE_GAS);
            ++entry.attempt;
            uint256 end = block.timestamp + DURATION;
            _opened(entry, RoundLib.pack(entry.round.link(), entry.round.appeals(), end));
            ++done["replace"];
            return;
        }
        if (entry.rounds.length == 0) {
            oracle.refund(entry.request, entry.round, entry.seedBlock);
            (entry.status, entry.settled) = (Status.Refunded, true);
            ++done["refund"];
            return;
        }
        DecidedRound memory last = entry.rounds[entry.rounds.length - 1];
        oracle.fallBack(entry.request, entry.round, entry.seedBlock, last);
        if (last.appellant != address(0)) {
            // The bond comes back less the gas of the call without the callback, which the asker gets.
            uint256 bond = settlement.bondOf(entry.request.id, entry.request.terms, last.round);
            uint256 cost = _payOf(entry, 70_000);
            entry.bonds -= bond;
            if (last.appellant == caller) credit += bond - cost;
            ++done["appealUnanswered"];
        }
        _delivers(entry, caller, credit);
        (entry.status, entry.round, entry.committee) = (Status.Hung, last.round, last.committee);
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
            sum += entry.request.terms.fee() + entry.bonds - entry.spent;
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

    /// @dev Begins a round that waits for its committee.
    function _opened(Entry storage entry, Round round) private {
        entry.status = Status.Requested;
        entry.round = round;
        entry.seedBlock = seedBlockAfter(block.number);
        delete entry.committee;
    }

    /// @dev Notes the state that a commit must have led to (SE4).
    function _decided(Entry storage entry, Draft memory decision, uint256 calls) private {
        RequestTerms terms = entry.request.terms;
        bool retried = decision.status == Status.Hung && entry.round.hasRetry(terms.retries(), entry.attempt);
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
            // SE21: the first round is paid by its commit.
            if (entry.rounds.length == 1) {
                entry.settled = true;
                ++done["settleAtOnce"];
            }
            _delivered(entry, calls);
        }
    }

    /// @dev Chooses the account and the gas price of the next call.
    /// @return caller the account
    /// @return credit the credit of the account
    function _caller(Entry storage entry, uint256 random) private returns (address caller, uint256 credit) {
        caller = _operator(random);
        credit = oracle.creditOf(caller, entry.request.terms.currency());
        _priceGas(random >> 8);
        vm.prank(caller);
    }

    /// @dev Chooses a tip below, at or above the tip that the oracle pays.
    function _priceGas(uint256 random) private {
        uint256 baseFee = (random % 30) * 1 gwei;
        vm.fee(baseFee);
        vm.txGasPrice(baseFee + ((random >> 8) % 5) * 0.5 gwei);
    }

    /// @dev SE13: the oracle pays for the caller's gas at no more than the cap, out of the reserve, and refunds the rest.
    /// @param credit the credit that the caller would have without this pay
    function _paid(Entry storage entry, address caller, uint256 credit, uint256 gas) private {
        RequestTerms terms = entry.request.terms;
        uint256 pay = _payOf(entry, gas);
        if (oracle.creditOf(caller, terms.currency()) != credit + pay) _break("another pay of a call");
        Prices prices = oracle.priceListOf(terms.currency(), entry.request.id.priceVersion());
        entry.spent += gas * prices.gasPriceCap();
        if (pay != 0) ++done["callerPaid"];
    }

    function _delivers(Entry storage entry, address caller, uint256 credit) private {
        if (entry.delivered) _break("a second delivery");
        entry.delivered = true;
        _paid(entry, caller, credit, 70_000 + entry.request.terms.callbackGasLimit());
    }

    function _payOf(Entry storage entry, uint256 gas) private view returns (uint256) {
        Prices prices = oracle.priceListOf(entry.request.terms.currency(), entry.request.id.priceVersion());
        uint256 cap = prices.gasPriceCap();
        uint256 price = tx.gasprice < block.basefee + 1 gwei ? tx.gasprice : block.basefee + 1 gwei;
        // In either currency, a wei of gas costs one unit.
        return gas * (price < cap ? price : cap);
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
        return entry.status == Status.Requested ? Stage.Requested : Stage.Over;
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
