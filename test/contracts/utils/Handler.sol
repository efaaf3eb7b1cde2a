// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {DecisionHeadLib} from "../../../contracts/libraries/DecisionHeadLib.sol";
import {RelayLib} from "../../../contracts/libraries/RelayLib.sol";
import {RequestTermsLib} from "../../../contracts/libraries/RequestTermsLib.sol";
import {RoundLib} from "../../../contracts/libraries/RoundLib.sol";
import {SeatLib} from "../../../contracts/libraries/SeatLib.sol";
import {ISlasher} from "../../../contracts/interfaces/ISlasher.sol";
import {HostileConsumer} from "../../support/contracts/HostileConsumer.sol";
import {
    AgentId,
    Currency,
    DecidedRound,
    HashedRound,
    PastRound,
    PriceTerms,
    Relay,
    Request,
    RequestTerms,
    Round,
    Seat,
    Seed,
    Status,
    Terms
} from "../../../contracts/types/Types.sol";
import {AgentModel} from "./AgentModel.sol";
import {ConclaveTest} from "./ConclaveTest.sol";
import {Draft} from "./Draft.sol";
import {HeaderMaker} from "./HeaderMaker.sol";
import {Bill, Case, PaidRound, PayModel} from "./PayModel.sol";
import {RoundTool} from "./RoundTool.sol";
import {SecurityModel} from "./SecurityModel.sol";
import {vm} from "./Vm.sol";

/// @dev Plays askers, committees, appellants, keepers, reporters, operators that leave and come back, and governance at random, with
/// up to three appeals and three retries, and keeps a ledger of its own: what everybody must have after each action, by `PayModel` and `AgentModel`. An
/// action that makes no sense returns early. No action reverts.
contract Handler is ConclaveTest {
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;
    using SeatLib for Seat;

    uint256 private constant MAX_REQUESTS = 400;
    /// @dev A request that is asked while so many are open waits: otherwise few of them get far.
    uint256 private constant MAX_OPEN = 8;
    /// @dev Enough agents for six seats with three appeals (101), too few for seven (116). An eighth are as many as four and nine seats (DR4).
    uint256 private constant AGENTS = 112;
    uint256 private constant REPLACE_GAS = 74_000;
    uint256 private constant DELIVERY_GAS = 83_000;
    uint256 private constant FALL_BACK_GAS = 111_000;
    /// @dev What a credit takes more where the account had none before.
    uint256 private constant FIRST_CREDIT_GAS = 17_100;
    uint256 private constant AT_CAP = type(uint256).max;
    /// @dev Appeals as often as the terms allow, against a first decision that all later ones contradict: left to chance, hardly any
    /// secured decision is overturned.
    uint256 private constant OVERTURN_PLAN = 0xe01;
    /// @dev Stands for the seed block of a request that waits (SE25).
    uint64 private constant NO_SEED_BLOCK = type(uint48).max;

    /// @param round the running round
    /// @param attempt the attempt of the round
    /// @param direct true if the consumer paid, not a subscription
    /// @param plan how many appeals somebody wants to make, and what each committee will decide
    /// @param replaced number of silent committees that were replaced
    /// @param callback true if the consumer has not taken a final decision yet
    /// @param isDeserted true if fewer agents are left than the running committee has seats
    /// @param bonds the bonds that the oracle holds
    /// @param spent the part of the fee that was given out before the settlement: for replacements and for the delivery
    /// @param waited seconds that third parties had to wait, in `endAll`
    /// @param rounds the rounds before, and the decided one that nobody has reopened
    /// @param paid the same rounds, as the model wants them
    struct Entry {
        Request request;
        Terms terms;
        PriceTerms prices;
        uint64 seedBlock;
        Round round;
        uint32 attempt;
        bool direct;
        uint256 plan;
        uint256 replaced;
        bytes32 committeeHash;
        Seat[] committee;
        Status status;
        bool provisional;
        bool settled;
        bool callback;
        bool unanswered;
        bool isDeserted;
        uint256 bonds;
        uint256 spent;
        uint256 waited;
        DecidedRound[] rounds;
        PaidRound[] paid;
        bytes32[] structHashes;
    }

    /// @dev A commit that is ready to be sent.
    struct Ready {
        uint256 index;
        Draft decision;
        uint256 signers;
        bytes call;
    }

    enum Stage {
        Running,
        Provisional,
        Unsettled,
        Over
    }

    Entry[] private _entries;
    /// @dev Indices of the requests that are not over.
    uint256[] private _open;
    HostileConsumer public consumer;
    AgentModel public agents;
    PayModel private _model = new PayModel();
    SecurityModel private _security = new SecurityModel();
    RoundTool private _tool = new RoundTool();
    /// @dev Operators, consumers and appellants: all accounts that can have a credit.
    address[] public accounts;
    /// @dev What each account must have, and the subscription.
    mapping(address account => uint256[2] amounts) private _credits;
    uint256[2] private _subscription;
    PriceTerms[2] private _prices;
    uint256 private _gasPrice;
    uint256 private _baseFee;
    uint256 private _draws;
    /// @dev Number of decisions and refunds that the consumer has taken and counted.
    uint256 private _calls;
    /// @dev Number of events that must not happen, and a description of the last one.
    uint256 public broken;
    string public brokenBecause;
    /// @dev Faults that were proven, see `Slasher`.
    mapping(bytes32 fault => bool proven) private _faults;
    mapping(AgentId id => uint256[2] times) private _slashTimes;
    /// @dev The most gas that a call of a third party took beyond its bound: what it is paid for, or see `_settle`.
    uint256 public overrun;
    /// @dev Number of actions.
    uint256 public steps;
    /// @dev Number of times that each action succeeded, and that each shape of settlement occurred: invariants that
    /// nothing exercises prove nothing.
    mapping(bytes32 action => uint256 count) public done;

    modifier step() {
        ++steps;
        _;
    }

    constructor() {
        deployConclave();
        consumer = new HostileConsumer(oracle);
        oracle.setConsumer(subscriptionId, address(consumer), type(uint104).max, type(uint104).max);
        accounts = [address(this), address(consumer), TREASURY, address(0xa1), address(0xa2), address(0xa3)];
        for (uint256 i = 3; i < accounts.length; ++i) {
            token.mint(accounts[i], 1e30);
            vm.deal(accounts[i], 1e30);
            vm.startPrank(accounts[i]);
            token.approve(address(oracle), type(uint256).max);
            vm.stopPrank();
        }
        vm.deal(address(this), 1e30);
        registerAgents(AGENTS, MAX_STAKE);
        agents = new AgentModel(registry, AGENTS, MAX_STAKE);
        (_gasPrice, _baseFee) = (tx.gasprice, block.basefee);
        for (uint256 i = 0; i < 2; ++i) {
            setPrices(i, 3 + ((uint256(keccak256("prices")) >> 8) << 8));
            fundSubscription(i, 100 ether);
        }
    }

    receive() external payable {}

    function fundSubscription(uint256 currency, uint256 amount) public step {
        amount = bound(amount, 0, 100 ether);
        if (currency % 2 == 0) oracle.fund(subscriptionId, amount);
        else oracle.fundNative{value: amount}(subscriptionId);
        _subscription[currency % 2] += amount;
        ++done["fund"];
    }

    function withdrawFunds(uint256 currency, uint256 amount) external step {
        amount = bound(amount, 0, _subscription[currency % 2] / 8);
        oracle.withdrawFunds(subscriptionId, Currency(currency % 2), amount, address(this));
        _subscription[currency % 2] -= amount;
        ++done["withdrawFunds"];
    }

    function withdraw(uint256 account, uint256 currency, uint256 amount) external step {
        address from = accounts[account % accounts.length];
        amount = bound(amount, 0, _credits[from][currency % 2]);
        vm.prank(from);
        oracle.withdraw(Currency(currency % 2), amount, address(this));
        _credits[from][currency % 2] -= amount;
        ++done["withdraw"];
    }

    /// @dev Claims the pay of the next agent that has earned something. This contract owns all agents, and nobody
    /// delegates to them.
    function claimRewards(uint256 agent, uint256 currency) external step {
        Currency which = Currency(currency % 2);
        for (uint256 i = 0; i < AGENTS; ++i) {
            AgentId id = _agentAt(agent, i);
            uint256 due = registry.rewardsOf(id, address(this), which);
            if (due == 0) continue;
            if (registry.claimRewards(id, which, accounts[3]) != due) _break("not what was due");
            agents.claim(id, which, due);
            _credits[address(registry)][uint256(which)] -= due;
            ++done["claimRewards"];
            return;
        }
    }

    function wake(uint256 agent) external step {
        for (uint256 i = 0; i < AGENTS; ++i) {
            AgentId id = _agentAt(agent, i);
            if (!agents.asleep(id)) continue;
            registry.wake(id);
            agents.wake(id);
            ++done["wake"];
            return;
        }
    }

    /// @dev Lets a few agents unbond their stake, or half of it. One call in 16 leaves no more than four agents.
    function leave(uint256 agent, uint256 random) external step {
        random = _mix(random);
        uint256 count = random % 16 == 0 ? AGENTS - 4 : 1 + ((random >> 4) % 3);
        bool isHalf = count < AGENTS / 2 && (random >> 8) % 2 == 0;
        for (uint256 i = 0; i < count; ++i) {
            AgentId id = _agentAt(agent, i);
            uint256 shares = agents.sharesOf(id);
            if (isHalf && shares > 1e9) shares /= 2;
            if (shares == 0) continue;
            registry.startUnbonding(id, uint128(shares));
            agents.unbond(id, shares);
            ++done["leave"];
        }
    }

    /// @dev Bonds what the agents lack, for all that have not left for good.
    function comeBack(uint256 agent) external step {
        for (uint256 i = 0; i < AGENTS; ++i) {
            AgentId id = _agentAt(agent, i);
            uint256 lack = MAX_STAKE - agents.assetsOf(id);
            if (lack == 0 || agents.isExited(id)) continue;
            registry.bond(id, uint128(lack));
            agents.bond(id, lack);
            ++done["comeBack"];
        }
    }

    /// @dev ST6, ST8, ST10: proves that a seat of a round on record signed two things. The slasher must refuse a fault that it knows, and a
    /// second one of an agent in a week. An agent with less than the minimum exits by it.
    function accuse(uint256 index, uint256 which) external step {
        index = _mix(index);
        if (_entries.length == 0) return;
        Entry storage entry = _entries[index % _entries.length];
        if (entry.rounds.length == 0) return;
        ISlasher.HeldSeat memory held;
        held.rounds = entry.rounds;
        held.index = which % held.rounds.length;
        DecidedRound memory round = held.rounds[held.index];
        held.seat = (index >> 16) % round.committee.length;
        if (entry.status == Status.Requested) (held.running, held.seedBlock) = (entry.round, entry.seedBlock);
        Seat seat = round.committee[held.seat];
        AgentId id = seat.agentId();
        Equivocation memory pair = equivocationBy(keys[seat.signer()], entry.request, held);
        bytes32 fault = keccak256(abi.encode(id, entry.request.id, DecisionHeadLib.attempt(round.decision.head)));
        bool counts = !_faults[fault] && vm.getBlockTimestamp() >= _slashTimes[id][0] + 7 days;
        try this.submitPair(accounts[4], pair) {
            if (!counts) _break("ST6: a proof counted again");
            (_faults[fault], _slashTimes[id][0]) = (true, vm.getBlockTimestamp());
            agents.slash(id, 100_000, type(uint128).max);
            ++done[agents.isExited(id) ? bytes32("accuse: exits") : bytes32("accuse")];
        } catch {
            if (counts) _break("ST6: a proof was refused");
            ++done["accuseAgain"];
        }
    }

    function submitPair(address reporter, Equivocation memory pair) external {
        submitAs(reporter, pair);
    }

    /// @dev SC2 to SC6: shows which decision two larger committees overturned, while there is time. Where none was, it shows any two
    /// rounds, and must be refused.
    function overturn(uint256 index) external step {
        index = _mix(index);
        uint256 chosen = type(uint256).max;
        for (uint256 i = 0; i < _entries.length; ++i) {
            uint256 candidate = ((index % _entries.length) + i) % _entries.length;
            Entry storage entry = _entries[candidate];
            if (!entry.settled || entry.terms.security == 0 || entry.rounds.length < 3) continue;
            chosen = candidate;
            uint256 end = entry.rounds[entry.rounds.length - 1].round.deadline() + 7 days;
            if (entry.unanswered || vm.getBlockTimestamp() > end) continue;
            (bool found, uint256 first, uint256 second) = _security.overturned(entry.paid, entry.rounds);
            if (found) return _overturn(entry, first, second, _slashSigners(entry, first));
        }
        if (chosen != type(uint256).max) _overturn(_entries[chosen], (index >> 8) % 3, (index >> 16) % 4, 0);
    }

    /// @param taken what the seats must lose
    function _overturn(Entry storage entry, uint256 first, uint256 second, uint256 taken) private {
        try slasher.submitOverturned(entry.request, entry.rounds, first, second) {
            if (taken == 0) _break("SC2: slashed for nothing");
            // Here and not only in `requireAgents`, which comes after many other calls: Hardhat keeps every step of a walk that fails.
            Seat[] memory committee = entry.rounds[first].committee;
            for (uint256 i = 0; i < committee.length; ++i) {
                AgentId id = committee[i].agentId();
                if (registry.getAgent(id).bonded.assets != agents.assetsOf(id)) _break("SC3: another slice was taken");
            }
            ++done["overturn"];
        } catch {
            if (taken != 0) _break("SC2: a proof was refused");
            ++done["overturnRefused"];
        }
    }

    /// @dev SC3, SC6: what the seats that signed lose.
    function _slashSigners(Entry storage entry, uint256 first) private returns (uint256 taken) {
        (, uint256 unit) = _model.units(entry.terms, entry.prices);
        if (unit == 0) return 0;
        PaidRound memory note = entry.paid[first];
        for (uint256 seat = 0; seat < note.shares.length; ++seat) {
            if ((note.signers >> seat) & 1 == 0) continue;
            AgentId id = entry.rounds[first].committee[seat].agentId();
            bytes32 fault = keccak256(abi.encode(id, entry.request.id, first, "overturned"));
            if (_faults[fault] || vm.getBlockTimestamp() < _slashTimes[id][1] + 7 days) continue;
            (_faults[fault], _slashTimes[id][1]) = (true, vm.getBlockTimestamp());
            taken += agents.slash(id, 50_000, 200 * unit);
        }
    }

    /// @dev Sets new prices. Requests keep the price list that they were made under. One in eight lists is free.
    function setPrices(uint256 currency, uint256 random) public step {
        PriceTerms memory prices = PriceTerms(0, 1e18, 0, uint24((random >> 60) % 200_001));
        if (currency % 2 == 0) prices.gasRate = 700_000_000_000_000_003;
        if (random % 8 != 0) prices.unitPrice = uint80((random >> 20) % 1e12);
        if (random % 8 != 1) prices.gasPriceCap = uint64((random >> 100) % 21) * 1 gwei;
        oracle.setPrices(Currency(currency % 2), prices);
        _prices[currency % 2] = prices;
        ++done["setPrices"];
    }

    function ask(uint256 random, uint80 fee, uint256 mode) external step {
        if (_open.length == MAX_OPEN || _entries.length == MAX_REQUESTS) return;
        random = _mix(random);
        Terms memory terms = _terms(random);
        PriceTerms memory prices = _prices[terms.currency];
        bool direct = terms.callbackGasLimit == 0 && (random >> 32) % 2 == 0;
        uint256 most = direct ? 10 ether : _subscription[terms.currency] / 4;
        uint256 least = _model.mostUnits(terms) * prices.unitPrice + _model.reserveOf(terms, prices);
        if (oracle.quote(RequestTermsLib.pack(terms)) != least) _break("SE18: another quote");
        if (least > most) return;
        // Fees from the quote to four times the quote, and one in four from any range.
        if (fee % 4 != 0 && 4 * least < most) most = 4 * least;
        terms.fee = uint80(bound(_mix(fee), least, most));
        // SE2: every committee that appeals can call has enough agents.
        uint256 needed = 0;
        for (uint256 j = 0; j <= terms.appeals; ++j) needed += _model.sizeAfter(terms.committeeSize, j);
        if (agents.drawable(epochNow()) < needed) {
            try oracle.request(subscriptionId, RequestTermsLib.pack(terms), "question") {
                _break("SE2: a request that cannot be drawn");
            } catch {
                ++done["tooFewAgents"];
            }
            return;
        }
        _ask(terms, prices, direct, mode, random);
    }

    /// @dev Commits the decision of the committee whose seed comes first, or of all committees with this seed together.
    function commit(uint256 random, uint64 shares, uint256 slashed) external step {
        random = _mix(random);
        (bool found, uint256 index) = _first(Stage.Running);
        if (!found) return;
        Entry storage entry = _entries[index];
        // The commit comes in time, in the epoch after the seed's, or when the seed is gone.
        uint256 late = (random >> 200) % 64;
        uint256 due =
            entry.seedBlock +
                (
                    late == 0
                        ? 2 * EPOCH_BLOCKS + 1
                        : late < 3
                            ? EPOCH_BLOCKS
                            : 1
                );
        bool isLate = late < 3;
        if (isLate) _see(entry);
        if (vm.getBlockNumber() < due) vm.roll(due);
        if (_isExpired(entry)) {
            try settlement.committeeOf(entry.request, entry.round, _seedOf(entry, true)) {
                _break("SE8: a committee of an expired seed");
            } catch {
                ++done["seedExpired"];
            }
            return;
        }
        if (!_canSit(entry)) return;
        if (isLate) ++done["commitInTheNextEpoch"];
        _priceGas(random >> 16);
        address relayer = _operator(random >> 40);
        if ((random >> 64) % 4 == 0) _commitTogether(entry.seedBlock, relayer, random, shares, slashed);
        else _commitOne(index, relayer, random, shares, slashed);
        agents.requireServed(address(this));
    }

    /// @dev Commits another validly signed decision on a request that no committee works on. The oracle must refuse it.
    function commitAgain(uint256 index) external step {
        if (_entries.length == 0) return;
        Entry storage entry = _entries[index % _entries.length];
        if (entry.status == Status.Requested || entry.committee.length == 0) return;
        Draft memory decision = decisionFor(entry.committee.length);
        (decision.round, decision.attempt) = (9, entry.attempt);
        bytes memory certificate = certify(entry.request, entry.committee, decision, quorumOf(entry.committee.length));
        try oracle.commit(entry.request, entry.round, _seedOf(entry, true), certificate, decision.packed()) {
            _break("a second commit was accepted");
        } catch {}
        ++done["commitAgain"];
    }

    /// @dev Appeals where that is planned. One in sixteen appeals comes too late, and must be refused.
    function appeal(uint256 index, uint256 account) external step {
        index = _mix(index);
        bool late = index % 16 == 0;
        (bool found, uint256 chosen) = _next(index >> 8, Stage.Provisional, late, true);
        if (!found) return;
        Entry storage entry = _entries[chosen];
        DecidedRound memory last = entry.rounds[entry.rounds.length - 1];
        uint256 bond = _model.bondOf(entry.terms, entry.prices, entry.round.appeals());
        if (settlement.bondOf(entry.request.id, entry.request.terms, last.round) != bond) _break("SE5: another bond");
        uint256 value = entry.terms.currency == 1 ? bond : 0;
        bytes32 committeeHash = SeatLib.hashMemory(last.committee);
        address appellant = _operator(account);
        vm.prank(appellant);
        try oracle.appeal{value: value}(entry.request, last.round, committeeHash, last.decision, last.relay) {
            if (late) _break("SE5: an appeal after its time");
        } catch {
            if (!late) _break("SE5: an appeal in time was refused");
            ++done["appealTooLate"];
            return;
        }
        entry.bonds += bond;
        entry.rounds[entry.rounds.length - 1].appellant = appellant;
        entry.paid[entry.paid.length - 1].appellant = appellant;
        entry.provisional = false;
        ++entry.attempt;
        _opened(entry, _linkAfter(entry), entry.round.appeals() + 1, 0);
        ++done["appeal"];
    }

    /// @dev Makes a provisional decision final that nobody appeals against. It sometimes waits for the first deadline.
    function finalize(uint256 index, uint256 account) external step {
        index = _mix(index);
        (bool found, uint256 chosen) = _next(index >> 8, Stage.Provisional, true, false);
        if (!found && index % 4 == 0) {
            (found, chosen) = _next(index >> 8, Stage.Provisional, false, false);
            if (found) _wait(_entries[chosen]);
        }
        if (!found) return;
        _priceGas(index >> 16);
        _finalize(_entries[chosen], _operator(account));
    }

    /// @dev Ends an attempt whose committee has not decided in time. It sometimes waits for the first deadline.
    function expire(uint256 index, uint256 account) external step {
        index = _mix(index);
        (bool found, uint256 chosen) = _next(index >> 8, Stage.Running, true, false);
        if (!found && index % 4 == 0) {
            (found, chosen) = _next(index >> 8, Stage.Running, false, false);
            if (found) _wait(_entries[chosen]);
        }
        if (!found) return;
        _priceGas(index >> 16);
        _expire(_entries[chosen], _operator(account));
    }

    /// @dev SE23: takes a request back if nobody can know its committee yet, and must be refused otherwise. Nobody but the
    /// consumer can do it.
    function cancel(uint256 index) external step {
        index = _mix(index);
        if (_open.length == 0) return;
        Entry storage entry = _entries[_open[index % _open.length]];
        try oracle.cancel(entry.request, entry.round, entry.seedBlock) {
            if (entry.request.consumer != address(this)) _break("SE23: cancelled by another account");
            _cancelled(entry);
            return;
        } catch {
            if (entry.request.consumer == address(this)) return _requireTooLate(entry);
        }
        try consumer.cancel(entry.request, entry.round, entry.seedBlock) {
            _cancelled(entry);
        } catch {
            _requireTooLate(entry);
        }
    }

    /// @dev Settles the next request that is final, or tries to settle any request.
    function settle(uint256 index, uint256 account) external step {
        index = _mix(index);
        if (_entries.length == 0) return;
        _priceGas(index >> 16);
        (bool found, uint256 chosen) = _next(index >> 8, Stage.Unsettled, false, false);
        if (found && index % 16 != 0) {
            if (index % 4 == 1) _settleTogether(_operator(account));
            else _settle(_entries[chosen], _operator(account));
            return;
        }
        Entry storage entry = _entries[index % _entries.length];
        if (_stageOf(entry) == Stage.Unsettled || entry.rounds.length == 0) return;
        // MO2.
        try settlement.settle(entry.request, entry.rounds) {
            _break(entry.settled ? "MO2: settled twice" : "SE11: settled before it was final");
        } catch {
            ++done["settleAgain"];
        }
    }

    /// @dev RE5: before the deadline, while the seed can be proven, nobody ends an attempt or an appeal period.
    function hurry(uint256 index) external step {
        index = _mix(index);
        (bool found, uint256 chosen) = _next(index >> 8, Stage.Running, false, false);
        if (found) _refuse(_entries[chosen]);
        (found, chosen) = _next(index >> 8, Stage.Provisional, false, false);
        if (!found) return;
        Entry storage entry = _entries[chosen];
        DecidedRound memory last = entry.rounds[entry.rounds.length - 1];
        bytes32 committeeHash = SeatLib.hashMemory(last.committee);
        try oracle.finalize(entry.request, last.round, committeeHash, last.decision, last.relay) {
            _break("SE6: final before its time");
        } catch {
            ++done["finalizeTooEarly"];
        }
    }

    function retryCallback(uint256 index, uint256 mode) external step {
        for (uint256 i = 0; i < _entries.length; ++i) {
            Entry storage entry = _entries[((index % _entries.length) + i) % _entries.length];
            if (!entry.callback) continue;
            consumer.setMode(_mode(mode));
            DecidedRound memory last = entry.rounds[entry.rounds.length - 1];
            bytes32 committeeHash = SeatLib.hashMemory(last.committee);
            try oracle.retryCallback(entry.request, last.round, committeeHash, last.decision, last.relay) {
                ++done["retryCallback"];
                entry.callback = false;
                _tookDecision();
            } catch {}
            return;
        }
    }

    /// @dev Liveness: without a committee, an asker or an appellant, third parties bring every open request to its end,
    /// each within (retries + 1) durations and the wait that runs, by (retries + 2) calls, each at bounded gas and paid.
    function endAll() external {
        // Nobody answers any more.
        address keeper = accounts[5];
        while (_open.length != 0) {
            Entry storage entry = _entries[_open[_open.length - 1]];
            entry.waited = 0;
            uint256 calls = 0;
            uint256 most = (uint256(entry.terms.retries) + 1) * (entry.terms.duration + 1);
            if (_isWaiting(entry) && !_isOverdue(entry)) most += entry.round.deadline() + 1 - vm.getBlockTimestamp();
            while (_stageOf(entry) != Stage.Over) {
                _gasPriceOf(7 gwei, 8 gwei);
                Stage stage = _stageOf(entry);
                if (stage != Stage.Unsettled && !_isOverdue(entry)) _wait(entry);
                if (stage == Stage.Unsettled) _settle(entry, keeper);
                else if (stage == Stage.Provisional) _finalize(entry, keeper);
                else _expire(entry, keeper);
                ++calls;
            }
            if (calls > uint256(entry.terms.retries) + 2) _break("liveness: too many calls");
            if (entry.waited > most) _break("liveness: too long");
        }
        ++done["endAll"];
    }

    /// @dev MO1: returns what the oracle must hold.
    function mustHold(Currency currency) external view returns (uint256 sum) {
        uint256 which = uint256(currency);
        sum = _subscription[which] + _credits[address(registry)][which];
        for (uint256 i = 0; i < accounts.length; ++i) sum += _credits[accounts[i]][which];
        for (uint256 i = 0; i < _open.length; ++i) {
            Entry storage entry = _entries[_open[i]];
            if (entry.terms.currency == which) sum += entry.terms.fee + entry.bonds - entry.spent;
        }
    }

    function holdings(Currency currency) external view returns (uint256) {
        return currency == Currency.Token ? token.balanceOf(address(oracle)) : address(oracle).balance;
    }

    /// @dev Reverts unless each account has exactly what the models say.
    function requireLedger() external view {
        (, , uint256 tokens, uint256 coins, ) = oracle.subscriptionOf(subscriptionId);
        assertEq(tokens, _subscription[0], "SE14: the subscription's tokens");
        assertEq(coins, _subscription[1], "SE14: the subscription's coins");
        for (uint8 which = 0; which < 2; ++which) {
            for (uint256 i = 0; i < accounts.length; ++i) {
                address account = accounts[i];
                assertEq(
                    oracle.creditOf(account, Currency(which)),
                    _credits[account][which],
                    string(abi.encodePacked("SE15: credit of ", vm.toString(uint160(account))))
                );
            }
            uint256 credit = oracle.creditOf(address(registry), Currency(which));
            assertEq(credit, _credits[address(registry)][which], "RW1: the registry's credit");
        }
    }

    function requireAgents() external view {
        agents.requireSame(address(this));
        assertEq(token.balanceOf(address(registry)), agents.mustHold(), "ST1: what the registry holds");
    }

    /// @return counted the decisions and refunds that the consumer must have taken
    /// @return actual the callbacks that it has counted
    function deliveries() external view returns (uint256 counted, uint256 actual) {
        return (_calls, consumer.calls());
    }

    function requestCount() external view returns (uint256) {
        return _entries.length;
    }

    /// @dev RE1, RE2: reverts unless the oracle says what the model says of a request.
    function requireState(uint256 index) external view {
        Entry storage entry = _entries[index];
        (Status status, uint32 attempt, bool provisional, bool pending, bool settled) = oracle.statusOf(
            entry.request.id
        );
        assertEq(uint8(status), uint8(entry.status), "RE1: status");
        assertEq(attempt, entry.attempt, "RE1: attempt");
        assertTrue(provisional == entry.provisional, "RE1: provisional");
        assertTrue(settled == entry.settled, "RE1: settled");
        assertTrue(pending == entry.callback, "RE2: callback");
    }

    function _terms(uint256 random) private pure returns (Terms memory terms) {
        terms = termsFor(random % 8 == 0 ? 5 : 4, 0);
        terms.duration = [uint24(1 hours), 1 days, 7 days][(random >> 4) % 3];
        terms.appeals = uint8(bytes(hex"00000001010202030303")[(random >> 8) % 10]);
        if (terms.appeals != 0 && (random >> 12) % 4 == 0)
            terms.finality = uint8(bytes(hex"015a5b64")[(random >> 14) % 4]);
        terms.retries = uint8((random >> 16) % 4);
        terms.currency = uint8((random >> 24) % 2);
        terms.callbackGasLimit = (random >> 28) % 2 == 0 ? 0 : 100_000;
        if (terms.currency == 0 && terms.appeals > 1 && terms.finality == 0 && (random >> 34) % 4 != 0) {
            // SC1: all periods last at most seven days.
            terms.duration = 12 hours;
            (terms.security, terms.assurance) = (1, 1);
        }
        uint256 last = RoundLib.sizeAfter(terms.committeeSize, terms.appeals);
        while (RoundLib.seatsUpTo(terms.committeeSize, terms.appeals) + terms.retries * last > 160) --terms.retries;
        if (terms.retries != 0 && (random >> 40) % 8 == 0)
            terms.delay = [uint24(1), 2 days, 30 days][(random >> 43) % 3];
        terms.nonAnswers = (random >> 36) % 4 == 0 ? 1 : 0;
    }

    function _ask(Terms memory terms, PriceTerms memory prices, bool direct, uint256 mode, uint256 random) private {
        Entry storage entry = _entries.push();
        _open.push(_entries.length - 1);
        RequestTerms packed = RequestTermsLib.pack(terms);
        bool byConsumer = terms.callbackGasLimit != 0;
        (entry.terms, entry.prices, entry.plan) = (terms, prices, random >> 64);
        if (terms.security != 0 && (random >> 60) % 2 == 0) entry.plan = OVERTURN_PLAN;
        entry.direct = direct;
        entry.request.consumer = byConsumer ? address(consumer) : address(this);
        entry.request.terms = packed;
        entry.request.questionHash = keccak256("question");
        if (byConsumer) {
            consumer.setMode(_mode(mode));
            entry.request.id = consumer.ask(subscriptionId, terms, "question");
        } else {
            uint256 value = direct && terms.currency == 1 ? terms.fee : 0;
            entry.request.id = oracle.request{value: value}(direct ? 0 : subscriptionId, packed, "question");
        }
        if (!direct) _subscription[terms.currency] -= terms.fee;
        _opened(entry, 0, 0, terms.delay);
        if (terms.delay != 0) ++done["askLater"];
        ++done[direct ? bytes32("askDirect") : bytes32("ask")];
        if (terms.security != 0) ++done["ask: secured"];
    }

    function _commitOne(uint256 index, address relayer, uint256 random, uint64 shares, uint256 slashed) private {
        Entry storage entry = _entries[index];
        Seed memory seed = _seedOf(entry, true);
        (Draft memory decision, uint256 signers) = _prepare(entry, seed, random, shares, slashed);
        bytes memory certificate = certify(entry.request, entry.committee, decision, signers);
        bytes memory call = abi.encodeCall(
            oracle.commit,
            (entry.request, entry.round, seed, certificate, decision.packed())
        );
        uint256 gas = _callAs(relayer, address(oracle), call);
        uint256 most = _relayGas(entry, certificate.length);
        _decided(index, decision, signers, relayer);
        // What `_settle` says of a settlement holds of a commit that settles.
        if (entry.settled) most += entry.terms.callbackGasLimit + 180_000 + 90_000 * entry.committee.length;
        else if (entry.status != Status.Requested && !entry.provisional) most += entry.terms.callbackGasLimit;
        if (gas > most + overrun) overrun = gas - most;
        ++done["commit"];
    }

    /// @dev Returns the gas of a transaction before its call runs.
    function _transactionGas(bytes memory call) private pure returns (uint256 gas) {
        gas = 21_000;
        for (uint256 i = 0; i < call.length; ++i) gas += call[i] == 0 ? 4 : 16;
    }

    /// @dev Returns the gas for which the relayer of the running committee is paid, and that of the signatures beyond a quorum,
    /// which nobody needs.
    function _relayGas(Entry storage entry, uint256 certificateLength) private view returns (uint256) {
        uint256 past = 0;
        for (uint256 i = 0; i < entry.rounds.length; ++i) past += entry.rounds[i].committee.length;
        uint256 size = entry.committee.length;
        uint256 needless = certificateLength / 64 - ((size * 2) / 3 + 1);
        return _model.relayGas(size, past) + 4_000 * needless;
    }

    /// @dev Sends the commits of all committees of one seed block in one transaction. Only the first brings the header.
    function _commitTogether(
        uint64 seedBlock,
        address relayer,
        uint256 random,
        uint64 shares,
        uint256 slashed
    ) private {
        uint256 count = 0;
        Ready[] memory ready = new Ready[](MAX_OPEN);
        bytes[] memory calls = new bytes[](MAX_OPEN);
        for (uint256 i = 0; i < _open.length; ++i) {
            Entry storage entry = _entries[_open[i]];
            if (_stageOf(entry) != Stage.Running || _isOverdue(entry) || entry.seedBlock != seedBlock) continue;
            if (entry.isDeserted || !_canSit(entry)) continue;
            ready[count] = _readyAt(_open[i], count == 0, uint256(keccak256(abi.encode(random, i))), shares, slashed);
            calls[count] = ready[count].call;
            ++count;
        }
        assembly {
            mstore(calls, count)
        }
        vm.prank(relayer);
        oracle.tryMulticall(calls);
        uint256 settled = 0;
        for (uint256 i = 0; i < count; ++i) {
            _decided(ready[i].index, ready[i].decision, ready[i].signers, relayer);
            if (_entries[ready[i].index].settled) ++settled;
        }
        if (count > 1) ++done["commitTogether"];
        if (settled > 1) ++done["settleTogether"];
    }

    function _readyAt(
        uint256 index,
        bool withHeader,
        uint256 random,
        uint64 shares,
        uint256 slashed
    ) private returns (Ready memory ready) {
        Entry storage entry = _entries[index];
        ready.index = index;
        (ready.decision, ready.signers) = _prepare(entry, _seedOf(entry, true), random, shares, slashed);
        bytes memory certificate = certify(entry.request, entry.committee, ready.decision, ready.signers);
        Seed memory seed = _seedOf(entry, withHeader);
        ready.call = abi.encodeCall(
            oracle.commit,
            (entry.request, entry.round, seed, certificate, ready.decision.packed())
        );
    }

    /// @dev Asks for the committee, checks it, and chooses what it decides.
    function _prepare(
        Entry storage entry,
        Seed memory seed,
        uint256 random,
        uint64 shares,
        uint256 slashed
    ) private returns (Draft memory decision, uint256 signers) {
        entry.committee = settlement.committeeOf(entry.request, entry.round, seed);
        _checkCommittee(entry);
        uint256 size = entry.committee.length;
        signers = _signers(size, random >> 48);
        decision = decisionFor(size);
        decision.attempt = entry.attempt;
        decision.outcome = bytes32((entry.plan >> (8 + entry.round.appeals())) & 1);
        // One in four committees hangs.
        if (random % 4 == 0) (decision.status, decision.outcome, decision.answer) = (Status.Hung, 0, "");
        else if ((random >> 4) % (_canAskLater(entry) ? 2 : 8) == 0 && entry.terms.nonAnswers == 0)
            _saysNoAnswer(decision, (random >> 7) % 3 == 0);
        decision.confidence = [uint32(0), 900_000, 909_999, 910_000, 1_000_000][(random >> 2) % 5];
        // Fuzzers like small numbers, which pay few seats.
        if (random % 2 == 1) shares = uint64(uint256(keccak256(abi.encode(random, shares))));
        for (uint256 i = 0; i < size; ++i) {
            decision.shares[i] = bytes8(shares)[i % 8];
            // Where a whole committee is absent from the pay, all of it goes back. Where nothing was scored all earn alike.
            if ((random >> 56) % 16 < 2) decision.shares[i] = bytes1(uint8((random >> 56) % 16));
            // Committees attest most of those that did not sign as absent.
            if ((random >> 60) % 2 == 0 && (signers >> i) & 1 == 0) decision.shares[i] = 0xff;
        }
        // Two in three decisions teach, about any seats.
        if (decision.status == Status.Decided && (random >> 64) % 3 != 0) {
            decision.answered = uint64((random >> 72) % (1 << size));
            decision.agreed = uint64((random >> 140) | (random >> 150) | (random >> 160)) & decision.answered;
        }
        if (slashed % 2 == 1) {
            int8 change = (slashed >> 1) % 4 == 0 ? int8(1) : -int8(uint8((slashed >> 1) % 4));
            decision.reputationChanges = abi.encodePacked(uint8((slashed >> 8) % size), change);
        }
    }

    /// @dev Two in three non-answers are that it is too early.
    function _saysNoAnswer(Draft memory decision, bool isUnanswerable) private pure {
        decision.status = isUnanswerable ? Status.Unanswerable : Status.TooEarly;
        decision.outcome = bytes32(type(uint256).max - (isUnanswerable ? 0 : 1));
        decision.answer = "";
    }

    /// @dev SE8: a committee for which too few agents are left is a silent one.
    function _canSit(Entry storage entry) private returns (bool) {
        uint256 size = _model.sizeAfter(entry.terms.committeeSize, entry.round.appeals());
        if (agents.drawable(entry.seedBlock / EPOCH_BLOCKS) >= size) return true;
        try settlement.committeeOf(entry.request, entry.round, _seedOf(entry, true)) {
            _break("DR1: a committee of too few agents");
        } catch {
            ++done["deserted"];
        }
        entry.isDeserted = true;
        return false;
    }

    /// @dev Returns all seats, or a quorum that begins at any seat.
    function _signers(uint256 size, uint256 random) private pure returns (uint256 signers) {
        uint256 count = random % 4 == 0 ? size : (size * 2) / 3 + 1;
        for (uint256 i = 0; i < count; ++i) signers |= 1 << (((random >> 2) + i) % size);
    }

    /// @dev DR3: looks at the committee in the epoch of its seed, if that is still possible.
    function _see(Entry storage entry) private {
        if (vm.getBlockNumber() <= entry.seedBlock) vm.roll(entry.seedBlock + 1);
        if (_isExpired(entry) || vm.getBlockNumber() / EPOCH_BLOCKS != entry.seedBlock / EPOCH_BLOCKS) return;
        if (!_canSit(entry)) return;
        Seat[] memory committee = settlement.committeeOf(entry.request, entry.round, _seedOf(entry, true));
        entry.committeeHash = SeatLib.hashMemory(committee);
    }

    function _checkCommittee(Entry storage entry) private {
        uint256 size = _model.sizeAfter(entry.terms.committeeSize, entry.round.appeals());
        uint256 epoch = entry.seedBlock / EPOCH_BLOCKS;
        Seat[] memory committee = entry.committee;
        if (committee.length != size) _break("SE5: a committee of another size");
        bytes32 seen = entry.committeeHash;
        if (seen != 0 && seen != SeatLib.hashMemory(committee)) _break("DR3: another committee");
        uint256 earlier = _tool.reviewed(entry.rounds, entry.round.appeals());
        bool again = false;
        uint256 seats = 0;
        for (uint256 i = 0; i < size; ++i) {
            AgentId id = committee[i].agentId();
            if ((seats >> AgentId.unwrap(id)) & 1 == 1) _break("DR2: an agent has two seats");
            seats |= 1 << AgentId.unwrap(id);
            if ((earlier >> AgentId.unwrap(id)) & 1 == 1) again = true;
            if (!agents.isSampled(id, epoch)) _break("DR1: an agent that is not in the draw");
            if (committee[i].skill() != agents.skillIn(id, epoch)) _break("SK7: another skill");
            if (committee[i].skill() != 2) ++done[committee[i].skill() == 1 ? bytes32("skill 1") : bytes32("skill 3")];
        }
        if (!again) return;
        ++done["sitAgain"];
        (uint256 tickets, uint256 heads) = agents.ticketsOf(type(uint256).max, epoch);
        (uint256 held, uint256 reviewed) = agents.ticketsOf(earlier, epoch);
        // RE3: an agent of a committee that is reviewed sits only if these hold more than an eighth, or seats would stay empty.
        if (8 * held <= tickets && heads - reviewed >= size) _break("RE3: an agent that could be left out");
    }

    /// @dev Notes the state that a commit must have led to (SE4).
    function _decided(uint256 index, Draft memory decision, uint256 signers, address relayer) private {
        Entry storage entry = _entries[index];
        bool hung = decision.status == Status.Hung;
        bool retried = hung && _hasRetry(entry);
        // SE24: without a provisional decision, a larger committee follows one that hung or was not sure enough.
        uint256 finality = entry.terms.finality;
        bool last = entry.round.appeals() == entry.terms.appeals;
        bool later = decision.status == Status.TooEarly && _canAskLater(entry);
        bool unsure = !later && !last && finality != 0 && (hung || decision.confidence < finality * 10_000);
        entry.provisional = !retried && !later && !last && finality == 0;
        if (entry.provisional) entry.round = entry.round.withDeadline(_deadline(entry));
        entry.status = decision.status;
        Relay relay = RelayLib.pack(uint64(signers), _paidPrice(), relayer);
        entry.rounds.push(DecidedRound(entry.round, entry.committee, decision.packed(), relay, address(0)));
        entry.structHashes.push(_tool.structHashOf(entry.request, entry.rounds[entry.rounds.length - 1]));
        _note(entry, decision, signers, relayer);
        entry.paid[entry.paid.length - 1].delivers = !retried && !later && !unsure && !entry.provisional;
        if (retried) {
            ++entry.attempt;
            _opened(entry, _linkAfter(entry), entry.round.appeals(), 0);
            ++done["retry"];
        } else if (later) {
            ++entry.attempt;
            _opened(entry, _linkAfter(entry), 0, 1 days);
            ++done["later"];
        } else if (unsure) {
            ++entry.attempt;
            _opened(entry, _linkAfter(entry), entry.round.appeals() + 1, 0);
            ++done[hung ? bytes32("larger after a hung") : bytes32("larger after an unsure")];
        }
        if (retried || later || unsure || entry.provisional) return;
        _delivered(entry);
        // SE21: the first round is paid by its commit.
        if (entry.rounds.length != 1) return;
        _pay(entry, _caseOf(entry, true, address(0)));
        if (decision.status > Status.Hung) ++done["atOnce:no answer"];
        else ++done[hung ? bytes32("atOnce:hung") : bytes32("atOnce:decided")];
        if (entry.replaced != 0) ++done["atOnce:replaced"];
        if (finality != 0) ++done["atOnce:sure"];
    }

    function _note(Entry storage entry, Draft memory decision, uint256 signers, address relayer) private {
        PaidRound storage note = entry.paid.push();
        note.appeals = entry.round.appeals();
        note.status = decision.status;
        (note.outcome, note.shares, note.signers) = (decision.outcome, decision.shares, signers);
        note.changes = decision.reputationChanges.length / 2;
        (note.relayer, note.gasPrice) = (relayer, (_paidPrice() / 1e6) * 1e6);
    }

    function _finalize(Entry storage entry, address caller) private {
        DecidedRound memory last = entry.rounds[entry.rounds.length - 1];
        bytes32 committeeHash = SeatLib.hashMemory(last.committee);
        bytes memory call = abi.encodeCall(
            oracle.finalize,
            (entry.request, last.round, committeeHash, last.decision, last.relay)
        );
        uint256 callback = entry.terms.callbackGasLimit;
        uint256 used = _callAs(caller, address(oracle), call);
        _paid(entry, caller, FALL_BACK_GAS + callback, DELIVERY_GAS + callback, used);
        entry.provisional = false;
        _delivered(entry);
        ++done["finalize"];
    }

    function _expire(Entry storage entry, address caller) private {
        if (_hasRetry(entry)) _replace(entry, caller);
        else if (entry.rounds.length == 0) _refund(entry, caller);
        else _fallBack(entry, caller);
    }

    function _replace(Entry storage entry, address caller) private {
        bytes memory call = abi.encodeCall(oracle.replace, (entry.request, entry.round, entry.seedBlock));
        _paid(entry, caller, REPLACE_GAS, REPLACE_GAS, _callAs(caller, address(oracle), call));
        ++entry.attempt;
        ++entry.replaced;
        ++done[_isWaiting(entry) ? bytes32("replace after a wait") : bytes32("replace")];
        _opened(entry, entry.round.link(), entry.round.appeals(), 0);
    }

    function _refund(Entry storage entry, address caller) private {
        bytes memory call = abi.encodeCall(oracle.refund, (entry.request, entry.round, entry.seedBlock));
        uint256 gas = DELIVERY_GAS + entry.terms.callbackGasLimit;
        _paid(entry, caller, gas, gas, _callAs(caller, address(oracle), call));
        _tookRefund(entry);
        _givenBack(entry);
        ++done[entry.replaced == 0 ? bytes32("refund") : bytes32("refund:replaced")];
    }

    /// @dev What is left of the fee goes back to the asker.
    function _givenBack(Entry storage entry) private {
        _toAsker(entry, entry.terms.fee - entry.spent);
        (entry.status, entry.settled) = (Status.Refunded, true);
        _close(entry);
    }

    function _cancelled(Entry storage entry) private {
        if (!_isCancellable(entry)) _break("SE23: cancelled when the committee could be known");
        ++done[_isWaiting(entry) ? bytes32("cancel in the wait") : bytes32("cancel")];
        _givenBack(entry);
    }

    function _requireTooLate(Entry storage entry) private {
        if (_isCancellable(entry)) _break("SE23: a cancellation in time was refused");
        ++done["cancelTooLate"];
    }

    /// @dev Counts a refund that the consumer was told of. A consumer that fails or returns at once counts nothing.
    function _tookRefund(Entry storage entry) private {
        if (entry.terms.callbackGasLimit == 0) return;
        HostileConsumer.Mode mode = consumer.mode();
        if (mode != HostileConsumer.Mode.Accept && mode != HostileConsumer.Mode.Reenter) {
            ++done["refundNotHeard"];
            return;
        }
        if (consumer.ended() != Status.Refunded) _break("SE7: told of another end");
        ++_calls;
        ++done["refundHeard"];
    }

    function _fallBack(Entry storage entry, address caller) private {
        DecidedRound memory last = entry.rounds[entry.rounds.length - 1];
        bytes memory call = abi.encodeCall(
            oracle.fallBack,
            (entry.request, entry.round, entry.seedBlock, _hashed(entry))
        );
        uint256 gas = _callAs(caller, address(oracle), call);
        if (last.appellant != address(0)) {
            // The bond comes back less the gas of the call without the callback, which the asker gets.
            uint256 bond = _model.bondOf(entry.terms, entry.prices, last.round.appeals());
            uint256 cost = _model.cost(entry.prices, FALL_BACK_GAS, _paidPrice());
            entry.bonds -= bond;
            _credits[last.appellant][entry.terms.currency] += bond - cost;
            _toAsker(entry, cost);
            ++done["unanswered:appeal"];
        } else {
            ++done["unanswered:retry"];
        }
        uint256 paid = FALL_BACK_GAS + entry.terms.callbackGasLimit;
        _paid(entry, caller, paid, paid, gas);
        (entry.status, entry.round, entry.committee) = (Status.Hung, last.round, last.committee);
        entry.unanswered = true;
        _delivered(entry);
    }

    function _settle(Entry storage entry, address caller) private {
        bytes memory call = abi.encodeCall(settlement.settle, (entry.request, entry.rounds));
        uint256 gas = _callAs(caller, address(settlement), call);
        // The settler is paid for usual seats. First credits of five accounts take more, and so does a seat whose agent falls
        // asleep or leaves the draw: some 85,000 (settle-cost.test.ts).
        uint256 most = 180_000;
        for (uint256 i = 0; i < entry.rounds.length; ++i) most += 90_000 * entry.rounds[i].committee.length;
        if (gas > most + overrun) overrun = gas - most;
        _pay(entry, _caseOf(entry, false, caller));
        agents.requireServed(address(this));
        _countShape(entry);
    }

    /// @dev Settles all that is final in one transaction. The last call of it settles the first request again, which must not undo it.
    function _settleTogether(address caller) private {
        uint256 count = 0;
        uint256[] memory chosen = new uint256[](MAX_OPEN);
        bytes[] memory calls = new bytes[](MAX_OPEN + 1);
        for (uint256 i = 0; i < _open.length; ++i) {
            Entry storage entry = _entries[_open[i]];
            if (_stageOf(entry) != Stage.Unsettled) continue;
            chosen[count] = _open[i];
            calls[count] = abi.encodeCall(settlement.settle, (entry.request, entry.rounds));
            ++count;
        }
        calls[count] = calls[0];
        assembly {
            mstore(calls, add(count, 1))
        }
        vm.prank(caller);
        settlement.tryMulticall(calls);
        for (uint256 i = 0; i < count; ++i) {
            Entry storage entry = _entries[chosen[i]];
            _pay(entry, _caseOf(entry, false, caller));
            _countShape(entry);
        }
        agents.requireServed(address(this));
        if (count > 1) ++done["settled in one transaction"];
    }

    function _caseOf(Entry storage entry, bool atOnce, address settler) private view returns (Case memory) {
        return Case(entry.terms, entry.prices, entry.paid, entry.replaced, atOnce, settler, _paidPrice());
    }

    /// @dev Books what the model says of a settlement.
    function _pay(Entry storage entry, Case memory c) private {
        uint256 currency = c.terms.currency;
        Bill memory bill = _model.billOf(c);
        _credits[TREASURY][currency] += bill.treasury;
        if (!c.atOnce) _credits[c.settler][currency] += bill.settler;
        for (uint256 i = 0; i < c.rounds.length; ++i) {
            _credits[c.rounds[i].relayer][currency] += bill.relayers[i];
            if (bill.appellants[i] != 0) _credits[c.rounds[i].appellant][currency] += bill.appellants[i];
            if (!bill.overturned[i]) _serve(entry.rounds[i], c.rounds[i], Currency(currency), bill.seats[i]);
        }
        _toAsker(entry, bill.rest);
        entry.settled = true;
        _close(entry);
    }

    function _serve(DecidedRound memory round, PaidRound memory note, Currency currency, uint256[] memory pay) private {
        uint256 size = pay.length;
        bytes memory merits = round.decision.merits;
        for (uint256 seat = 0; seat < size; ++seat) {
            int256 steps_ = 0;
            for (uint256 i = size; i < merits.length; i += 2)
                if (uint8(merits[i]) == seat) steps_ = int8(uint8(merits[i + 1]));
            // SE11: a committee of fewer than 13 seats slashes once at most.
            if (size < 13 && steps_ < -1) steps_ = -1;
            bool missed = uint8(note.shares[seat]) == 0xff;
            bool isTaught = (DecisionHeadLib.answered(round.decision.head) >> seat) & 1 == 1;
            bool agrees = (DecisionHeadLib.agreed(round.decision.head) >> seat) & 1 == 1;
            if (isTaught) ++done[agrees ? bytes32("lesson: agreed") : bytes32("lesson: outvoted")];
            agents.serve(round.committee[seat].agentId(), currency, steps_, missed, isTaught, agrees, pay[seat]);
            _credits[address(registry)][uint256(currency)] += pay[seat];
        }
    }

    /// @dev Counts the shape of a settlement, by the retries, the appeals and which of them were upheld.
    function _countShape(Entry storage entry) private {
        uint256 count = entry.rounds.length;
        PaidRound memory last = entry.paid[count - 1];
        bytes memory appeals = "appeals:";
        for (uint256 i = 0; i + 1 < count; ++i) {
            PaidRound memory note = entry.paid[i];
            bool wasLarger = entry.paid[i + 1].appeals != note.appeals;
            if (note.appellant == address(0) && note.status != Status.Hung && wasLarger) {
                ++done[
                    !_model.isContradicted(entry.paid, i) ? bytes32("unsure, stands") : bytes32("unsure, overturned")
                ];
                continue;
            }
            if (note.appellant == address(0)) {
                if (note.status == Status.TooEarly) ++done["asked again later"];
                else ++done[note.appeals == 0 ? bytes32("retried") : bytes32("retried inside an appeal")];
                continue;
            }
            bool upheld = _model.isContradicted(entry.paid, i);
            if (upheld && last.status == Status.Hung) ++done["upheld, last hung"];
            appeals = bytes.concat(appeals, upheld ? bytes1("U") : bytes1("L"));
            if (note.status == Status.Hung)
                ++done[upheld ? bytes32("against a hung, upheld") : bytes32("against a hung, lost")];
        }
        ++done[bytes32(appeals)];
        if (last.status > Status.Hung) ++done["last without an answer"];
        else ++done[last.status == Status.Hung ? bytes32("last hung") : bytes32("last decided")];
        if (entry.unanswered)
            ++done[last.appellant == address(0) ? bytes32("no retry came") : bytes32("no answer came")];
        if (entry.replaced != 0) ++done["settled, replaced before"];
        ++done[entry.terms.currency == 0 ? bytes32("settled in tokens") : bytes32("settled in coins")];
        if (count > 1) ++done["settleRounds"];
        if (count > 4) ++done["settle five rounds or more"];
    }

    /// @dev RE5: tries everything that ends an attempt. Sometimes the committee could still answer.
    function _refuse(Entry storage entry) private {
        try oracle.replace(entry.request, entry.round, entry.seedBlock) {
            _break("SE8: replaced before its time");
        } catch {}
        try oracle.refund(entry.request, entry.round, entry.seedBlock) {
            _break("SE8: refunded before its time");
        } catch {}
        ++done["endTooEarly"];
        if (entry.rounds.length == 0) return;
        try oracle.fallBack(entry.request, entry.round, entry.seedBlock, _hashed(entry)) {
            _break("SE8: fell back before its time");
        } catch {}
    }

    /// @return used the gas of a transaction that makes this call
    function _callAs(address caller, address target, bytes memory call) private returns (uint256 used) {
        vm.prank(caller);
        used = gasleft();
        (bool success, bytes memory reason) = target.call(call);
        used -= gasleft();
        if (success) return used + _transactionGas(call);
        assembly {
            revert(add(reason, 0x20), mload(reason))
        }
    }

    /// @dev Begins a round that waits for its committee, or for the end of a wait.
    function _opened(Entry storage entry, uint256 link, uint256 appeals, uint256 wait) private {
        entry.status = Status.Requested;
        uint256 period = wait == 0 ? entry.terms.duration : wait;
        entry.round = RoundLib.pack(link, appeals, vm.getBlockTimestamp() + period);
        entry.seedBlock = wait == 0 ? seedBlockAfter(vm.getBlockNumber()) : NO_SEED_BLOCK;
        (entry.committeeHash, entry.isDeserted) = (0, false);
        delete entry.committee;
    }

    /// @dev Takes a request off the list of the open ones.
    function _close(Entry storage entry) private {
        (entry.bonds, entry.spent) = (0, 0);
        for (uint256 i = 0; i < _open.length; ++i) {
            if (!_entries[_open[i]].settled) continue;
            _open[i] = _open[_open.length - 1];
            _open.pop();
            return;
        }
    }

    /// @dev SE13: books the pay of a caller, out of the reserve, and the rest of what was put by, for the asker.
    /// @param held the gas that the reserve held for the call
    /// @param gas what the caller is paid for
    /// @param used what the caller's transaction used
    function _paid(Entry storage entry, address caller, uint256 held, uint256 gas, uint256 used) private {
        // A credit where the caller had none is the caller's own cost: it need not withdraw the last of it.
        uint256 bearable = gas + (_credits[caller][0] + _credits[caller][1] == 0 ? FIRST_CREDIT_GAS : 0);
        if (used > bearable + overrun) overrun = used - bearable;
        uint256 most = _model.cost(entry.prices, held, AT_CAP);
        uint256 pay = _model.cost(entry.prices, gas, _paidPrice());
        entry.spent += most;
        _credits[caller][entry.terms.currency] += pay;
        _toAsker(entry, most - pay);
        if (pay != 0) ++done["callerPaid"];
    }

    /// @dev Money goes back to the subscription, or to a consumer that paid directly.
    function _toAsker(Entry storage entry, uint256 amount) private {
        uint256 which = entry.terms.currency;
        if (entry.direct) _credits[entry.request.consumer][which] += amount;
        else _subscription[which] += amount;
    }

    /// @dev Notes what became of the callback of a final decision.
    function _delivered(Entry storage entry) private {
        if (entry.terms.callbackGasLimit == 0) return;
        (, , , entry.callback, ) = oracle.statusOf(entry.request.id);
        if (entry.callback) ++done["callbackFailed"];
        else _tookDecision();
    }

    /// @dev RE2: counts a decision that the consumer has taken. A consumer that returns at once counts nothing.
    function _tookDecision() private {
        HostileConsumer.Mode mode = consumer.mode();
        if (mode == HostileConsumer.Mode.Revert || mode == HostileConsumer.Mode.BurnGas)
            _break("RE2: a callback that fails was taken");
        if (mode != HostileConsumer.Mode.ReturnBomb) ++_calls;
    }

    function _break(string memory because) private {
        ++broken;
        brokenBecause = because;
    }

    function _wait(Entry storage entry) private {
        uint256 deadline = entry.round.deadline();
        uint256 time = vm.getBlockTimestamp();
        if (time > deadline) return;
        entry.waited += deadline + 1 - time;
        vm.warp(deadline + 1);
    }

    /// @dev Chooses a tip below, at or above the tip that the oracle pays.
    function _priceGas(uint256 random) private {
        uint256 baseFee = (random % 30) * 1 gwei + ((random >> 16) % 3) * 777_777;
        _gasPriceOf(baseFee, baseFee + ((random >> 8) % 5) * 0.5 gwei);
    }

    function _gasPriceOf(uint256 baseFee, uint256 gasPrice) private {
        (_baseFee, _gasPrice) = (baseFee, gasPrice);
        vm.fee(baseFee);
        vm.txGasPrice(gasPrice);
    }

    /// @dev SE13: at most the base fee plus 1 gwei.
    function _paidPrice() private view returns (uint256) {
        return _gasPrice < _baseFee + 1 gwei ? _gasPrice : _baseFee + 1 gwei;
    }

    /// @dev Returns the i-th agent from any one on.
    function _agentAt(uint256 agent, uint256 i) private pure returns (AgentId) {
        return AgentId.wrap(uint32(1 + (((agent % AGENTS) + i) % AGENTS)));
    }

    /// @dev Makes any argument random: fuzzers like small numbers.
    function _mix(uint256 random) private returns (uint256) {
        return uint256(keccak256(abi.encode(random, ++_draws)));
    }

    function _seedOf(Entry storage entry, bool withHeader) private returns (Seed memory seed) {
        seed = Seed(entry.seedBlock, withHeader ? HeaderMaker.make(entry.seedBlock) : bytes(""), new PastRound[](0));
        if (withHeader && vm.getBlockNumber() > entry.seedBlock && !_isExpired(entry)) headerOf(entry.seedBlock);
        seed.past = _tool.past(entry.rounds, entry.structHashes);
    }

    /// @dev Returns the last round that decided or hung.
    function _hashed(Entry storage entry) private view returns (HashedRound memory) {
        uint256 i = entry.rounds.length - 1;
        DecidedRound storage last = entry.rounds[i];
        bytes32 committeeHash = SeatLib.hashMemory(last.committee);
        return HashedRound(last.round, committeeHash, entry.structHashes[i], last.relay, last.appellant);
    }

    /// @dev Returns the link of the round after the last one.
    function _linkAfter(Entry storage entry) private view returns (uint256) {
        uint256 last = entry.rounds.length - 1;
        return _tool.linkAfter(entry.rounds[last], entry.structHashes[last]);
    }

    function _deadline(Entry storage entry) private view returns (uint256) {
        return vm.getBlockTimestamp() + entry.terms.duration;
    }

    /// @dev SE25: true while the request waits and has no committee.
    function _isWaiting(Entry storage entry) private view returns (bool) {
        return entry.status == Status.Requested && entry.seedBlock == NO_SEED_BLOCK;
    }

    /// @dev SE8: silent and hung committees use up the same retries.
    function _hasRetry(Entry storage entry) private view returns (bool) {
        return entry.attempt - entry.round.appeals() < entry.terms.retries;
    }

    /// @dev SE25: before any appeal, two retries ask again a day later.
    function _canAskLater(Entry storage entry) private view returns (bool) {
        return entry.round.appeals() == 0 && entry.attempt + 1 < entry.terms.retries;
    }

    /// @dev SE23: in the first attempt, at least six blocks before the seed block.
    function _isCancellable(Entry storage entry) private view returns (bool) {
        bool isFirst = entry.status == Status.Requested && entry.attempt == 0;
        return isFirst && vm.getBlockNumber() + 6 <= entry.seedBlock;
    }

    function _isExpired(Entry storage entry) private view returns (bool) {
        return vm.getBlockNumber() / EPOCH_BLOCKS > entry.seedBlock / EPOCH_BLOCKS + 1;
    }

    /// @dev True if the period of the request is over: by its deadline, or because nobody can prove its committee.
    function _isOverdue(Entry storage entry) private view returns (bool) {
        if (vm.getBlockTimestamp() > entry.round.deadline()) return true;
        return entry.status == Status.Requested && _isExpired(entry);
    }

    /// @dev Returns the request in time whose seed block comes first.
    function _first(Stage stage) private view returns (bool found, uint256 index) {
        uint64 seedBlock = type(uint64).max;
        for (uint256 i = 0; i < _open.length; ++i) {
            Entry storage entry = _entries[_open[i]];
            if (_isWaiting(entry)) continue;
            if (_stageOf(entry) != stage || _isOverdue(entry) || entry.seedBlock >= seedBlock) continue;
            if (entry.isDeserted) continue;
            (found, index, seedBlock) = (true, _open[i], entry.seedBlock);
        }
    }

    /// @dev Returns the request at this stage with the first deadline, in time or overdue.
    /// @param appealed true for requests of which an appeal is planned, false for the others; only at stage `Provisional`,
    /// in time
    function _next(
        uint256 random,
        Stage stage,
        bool overdue,
        bool appealed
    ) private view returns (bool found, uint256 index) {
        uint256 deadline = type(uint256).max;
        for (uint256 i = 0; i < _open.length; ++i) {
            uint256 candidate = _open[((random % MAX_OPEN) + i) % _open.length];
            Entry storage entry = _entries[candidate];
            if (_stageOf(entry) != stage) continue;
            if (stage != Stage.Unsettled && _isOverdue(entry) != overdue) continue;
            if (stage == Stage.Provisional && !overdue && _isAppealed(entry) != appealed) continue;
            if (entry.round.deadline() >= deadline) continue;
            (found, index, deadline) = (true, candidate, entry.round.deadline());
        }
    }

    /// @dev Most requests are appealed against as often as their terms allow.
    function _isAppealed(Entry storage entry) private view returns (bool) {
        uint256 most = entry.plan % 4 == 0 ? (entry.plan >> 2) % 4 : entry.terms.appeals;
        return entry.round.appeals() < most;
    }

    function _stageOf(Entry storage entry) private view returns (Stage) {
        if (entry.settled) return Stage.Over;
        if (entry.provisional) return Stage.Provisional;
        return entry.status == Status.Requested ? Stage.Running : Stage.Unsettled;
    }

    /// @dev Half of the callbacks accept; the others fail in one of four ways, or call back.
    function _mode(uint256 random) private pure returns (HostileConsumer.Mode) {
        uint256 mode = random % 8;
        return mode < 4 ? HostileConsumer.Mode.Accept : HostileConsumer.Mode(mode - 3);
    }

    /// @dev Returns an account that can appeal.
    function _operator(uint256 index) private view returns (address) {
        return accounts[3 + (index % 3)];
    }
}
