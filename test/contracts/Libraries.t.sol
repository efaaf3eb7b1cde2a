// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionOracle} from "../../contracts/interfaces/IDecisionOracle.sol";
import {AgentAccount, AgentAccountLib} from "../../contracts/libraries/AgentAccountLib.sol";
import {Balances} from "../../contracts/libraries/BalancesLib.sol";
import {CertificateLib} from "../../contracts/libraries/CertificateLib.sol";
import {DecisionHeadLib} from "../../contracts/libraries/DecisionHeadLib.sol";
import {DecisionLib} from "../../contracts/libraries/DecisionLib.sol";
import {PayLib} from "../../contracts/libraries/PayLib.sol";
import {PricesLib} from "../../contracts/libraries/PricesLib.sol";
import {RelayLib} from "../../contracts/libraries/RelayLib.sol";
import {ReputationLib} from "../../contracts/libraries/ReputationLib.sol";
import {RequestIdLib} from "../../contracts/libraries/RequestIdLib.sol";
import {RequestState, RequestStateLib} from "../../contracts/libraries/RequestState.sol";
import {RequestTermsLib} from "../../contracts/libraries/RequestTermsLib.sol";
import {RoundLib} from "../../contracts/libraries/RoundLib.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {ServiceLib} from "../../contracts/libraries/ServiceLib.sol";
import {
    AgentId,
    Currency,
    Decision,
    DecisionHead,
    PriceTerms,
    Prices,
    Relay,
    RequestId,
    RequestTerms,
    Round,
    Seat,
    Service,
    Status,
    Terms
} from "../../contracts/types/Types.sol";
import {
    CHANGE_GAS,
    FALL_BACK_GAS,
    PAST_SEAT_GAS,
    PAY_BASE_GAS,
    PAY_SEAT_GAS,
    RELAY_BASE_GAS,
    RELAY_SEAT_GAS,
    REPLACE_GAS,
    SETTLE_GAS,
    SETTLE_ROUND_GAS
} from "../../contracts/types/Limits.sol";
import {CertificateMaker, Draft} from "./utils/Draft.sol";
import {Assertions, vm} from "./utils/Vm.sol";

contract LibrariesTest is Assertions {
    using DecisionHeadLib for DecisionHead;
    using RelayLib for Relay;
    using SeatLib for Seat;
    using ServiceLib for Service;

    /// @dev A price list in which every value is zero.
    Prices private constant FREE = Prices.wrap(0);

    function testFuzz_roundSurvivesPacking(uint256 link, uint8 appeals, uint40 deadline, uint40 other) public pure {
        link = bound(link, 0, (1 << 208) - 1);
        Round round = RoundLib.pack(link, appeals, deadline);
        assertEq(RoundLib.link(round), link, "link");
        assertEq(RoundLib.appeals(round), appeals, "appeals");
        assertEq(RoundLib.deadline(round), deadline, "deadline");
        assertEq(
            Round.unwrap(RoundLib.withDeadline(round, other)),
            Round.unwrap(RoundLib.pack(link, appeals, other)),
            "other"
        );
    }

    function testFuzz_requestIdsSurvivePacking(uint16 version, uint48 subscription, uint48 count) public pure {
        RequestId id = RequestIdLib.pack(version, subscription, count);
        assertEq(RequestIdLib.priceVersion(id), version, "priceVersion");
        assertEq(RequestIdLib.subscription(id), subscription, "subscription");
        assertEq(uint48(RequestId.unwrap(id)), count, "count");
    }

    function testFuzz_pricesSurvivePacking(PriceTerms memory terms, uint16 version, bool open) public pure {
        terms.gasPriceCap = uint64(bound(terms.gasPriceCap, 0, type(uint32).max)) * 1e6;
        Prices prices = PricesLib.pack(terms, version, open);
        assertEq(PricesLib.unitPrice(prices), terms.unitPrice, "unitPrice");
        assertEq(PricesLib.gasRate(prices), terms.gasRate, "gasRate");
        assertEq(PricesLib.gasPriceCap(prices), terms.gasPriceCap, "gasPriceCap");
        assertEq(PricesLib.treasuryPpm(prices), terms.treasuryPpm, "treasuryPpm");
        assertEq(PricesLib.version(prices), version, "version");
        assertTrue(PricesLib.isOpen(prices) == open, "open");
        assertTrue(PricesLib.isOpen(PricesLib.withOpen(prices, !open)) == !open, "other");
    }

    /// @dev SE19: a move in one currency never changes the other currency or the count.
    function testFuzz_currenciesNeverMix(uint104 tokens, uint104 coins, uint104 added, uint104 taken) public view {
        Balances balances = Balances.wrap(0).add(Currency.Token, tokens).add(Currency.Native, coins).counted();
        if (uint256(tokens) + added > type(uint104).max) {
            try this.add(balances, Currency.Token, added) {
                assertTrue(false, "overflow");
            } catch {}
            return;
        }
        balances = balances.add(Currency.Token, added);
        taken = uint104(bound(taken, 0, coins));
        balances = balances.sub(Currency.Native, taken).counted();
        assertEq(balances.amountIn(Currency.Token), uint256(tokens) + added, "tokens");
        assertEq(balances.amountIn(Currency.Native), coins - taken, "coins");
        assertEq(balances.count(), 2, "count");
    }

    function add(Balances balances, Currency currency, uint256 amount) external pure returns (Balances) {
        return balances.add(currency, amount);
    }

    /// @dev SE10: U is the sum over all committees. Each bond is the most that the committee and its retries can earn
    /// if gas costs nothing.
    function testFuzz_unitsAddUp(uint8 size, uint8 appeals, uint8 retries, uint80 fee) public pure {
        appeals = uint8(bound(appeals, 0, 3));
        size = uint8(bound(size, 4, (65 >> appeals) - 1));
        retries = uint8(bound(retries, 0, 3));
        Terms memory terms;
        (terms.fee, terms.committeeSize, terms.appeals, terms.retries) = (fee, size, appeals, retries);
        RequestTerms packed = RequestTermsLib.pack(terms);
        uint256 units = 0;
        uint256 seats = 0;
        uint256 committee = size;
        for (uint256 level = 0; level <= appeals; ++level) {
            assertEq(RoundLib.sizeAfter(size, level), committee, "size");
            units += 2 * committee;
            seats += committee;
            assertEq(RoundLib.seatsUpTo(size, level), seats, "seats");
            if (level < appeals) {
                committee = 2 * committee + 1;
                uint256 bond = PricesLib.bondOf(FREE, packed, RoundLib.pack(7, level, 8));
                assertEq(bond, (2 + uint256(retries)) * committee * PricesLib.unitOf(FREE, packed), "bond");
            }
        }
        units += retries * committee;
        assertEq(PricesLib.maxUnits(packed), units, "units");
        assertEq(PricesLib.unitOf(FREE, packed), fee / units, "unit");
    }

    /// @dev SE5, SE13, SE15: whatever course a request takes, the units and the reserve are enough for it, and the bond
    /// of an appeal is enough for the committees that the appeal called.
    function testFuzz_everyCourseIsPaidFor(
        uint256 random,
        PriceTerms memory list,
        uint24 callbackGas,
        uint8 size
    ) public pure {
        Terms memory terms;
        terms.appeals = uint8(random % 4);
        terms.retries = uint8((random >> 2) % 4);
        terms.committeeSize = uint8(bound(size, 4, (65 >> terms.appeals) - 1));
        terms.callbackGasLimit = uint24(bound(callbackGas, 0, 2_000_000));
        list.gasRate = uint80(bound(list.gasRate, 0, 1e21));
        list.gasPriceCap = uint64(bound(list.gasPriceCap, 0, 1e6)) * 1e6;
        list.unitPrice = uint80(bound(list.unitPrice, 0, 1e20));
        Prices prices = PricesLib.pack(list, 0, true);
        terms.fee = uint80(PricesLib.quote(prices, RequestTermsLib.pack(terms)) + ((random >> 4) % 1e20));
        _play(prices, RequestTermsLib.pack(terms), random >> 100);
    }

    /// @dev Makes the rounds of a random course. One round decides at every level that is reached; some hang at each
    /// level before.
    function _play(Prices prices, RequestTerms terms, uint256 random) private pure {
        uint256 unit = PricesLib.unitOf(prices, terms);
        uint256 appealUnit = PricesLib.appealUnitOf(prices, terms);
        {
            uint256 price = PricesLib.unitPrice(prices);
            assertTrue(unit >= price, "a unit is worth its price");
            assertTrue(appealUnit >= price && appealUnit <= unit, "a unit of an appeal, too");
            assertTrue(price == 0 || appealUnit <= 2 * price, "and at most twice its price");
        }
        uint256 last = (random & 0xff) % (RequestTermsLib.appeals(terms) + 1);
        uint256 retries = RequestTermsLib.retries(terms);
        uint256 left = RequestTermsLib.fee(terms);
        uint256 seats = 0;
        for (uint256 level = 0; level <= last; ++level) {
            random = uint256(keccak256(abi.encode(random)));
            uint256 size = RoundLib.sizeAfter(RequestTermsLib.committeeSize(terms), level);
            uint256 hung = (random & 0xff) % (retries + 1);
            retries -= hung;
            uint256 cost = (2 + hung) * size * (level == 0 ? unit : appealUnit);
            for (uint256 i = 0; i <= hung; ++i) {
                uint256 gasPrice = ((random >> (8 + 40 * i)) % 2e6) * 1e6;
                cost += PricesLib.gasCost(prices, PricesLib.relayGas(size, seats), gasPrice);
                seats += size;
            }
            // The subtraction reverts if the result is below 0.
            left -= cost;
            if (level == 0) continue;
            Round before = RoundLib.pack(7, level - 1, 8);
            assertTrue(cost <= PricesLib.bondOf(prices, terms, before), "the bond pays for it");
        }
        // The retries that are left replace silent committees.
        left -= PricesLib.replaceReserve(prices, retries);
        bool atOnce = last == RequestTermsLib.appeals(terms) && random % 2 == 0;
        uint256 callback = RequestTermsLib.callbackGasLimit(terms);
        if (RequestTermsLib.appeals(terms) + RequestTermsLib.retries(terms) == 0) {
            left -= PricesLib.gasCost(prices, callback + PricesLib.payGas(seats, seats), type(uint256).max);
        } else {
            // One round decided at each level; the others hung.
            uint256 rounds = 1 + last + RequestTermsLib.retries(terms) - retries;
            left -= PricesLib.atCap(prices, PricesLib.settleGas(seats, rounds, seats));
            left -= PricesLib.atCap(prices, atOnce ? callback : PricesLib.fallBackGas(terms));
        }
        // The call that ends an unanswered appeal takes its gas out of the bond.
        assertTrue(PricesLib.relayGas(9, 4) >= FALL_BACK_GAS, "the least bond holds the gas of fallBack");
    }

    /// @dev SE18: the quote covers the units at the unit price, and the gas of all rounds and of one delivery at the
    /// cap, rounded down.
    function testFuzz_quoteAddsUp(
        PriceTerms memory prices,
        uint24 callbackGas,
        uint8 appeals,
        uint8 retries
    ) public pure {
        appeals = uint8(bound(appeals, 0, 2));
        retries = uint8(bound(retries, 0, 3));
        callbackGas = uint24(bound(callbackGas, 0, 2_000_000));
        prices.gasPriceCap = uint64(bound(prices.gasPriceCap, 0, type(uint32).max)) * 1e6;
        Terms memory terms;
        (terms.committeeSize, terms.appeals, terms.retries, terms.callbackGasLimit) = (
            4,
            appeals,
            retries,
            callbackGas
        );
        uint256[3] memory sizes = [uint256(4), 9, 19];
        // Each attempt's relay, each seat's place in a committee and its pay.
        uint256 gas = callbackGas + PAY_BASE_GAS + retries * REPLACE_GAS;
        if (appeals + retries != 0) gas += FALL_BACK_GAS + SETTLE_GAS + (1 + appeals + retries) * SETTLE_ROUND_GAS;
        uint256 units = retries * sizes[appeals];
        uint256 seats = 0;
        for (uint256 level = 0; level <= appeals; ++level) {
            gas += seats * PAST_SEAT_GAS;
            seats += sizes[level];
            units += 2 * sizes[level];
        }
        for (uint256 i = 0; i < retries; ++i) {
            gas += seats * PAST_SEAT_GAS;
            seats += sizes[appeals];
        }
        gas += (1 + appeals + retries) * RELAY_BASE_GAS + seats * (RELAY_SEAT_GAS + PAY_SEAT_GAS + CHANGE_GAS);
        uint256 cost = gas * prices.gasPriceCap * prices.gasRate;
        uint256 quote = units * prices.unitPrice + cost / 1e18;
        assertEq(PricesLib.quote(PricesLib.pack(prices, 0, true), RequestTermsLib.pack(terms)), quote, "quote");
    }

    /// @dev SE13: whoever refunds is paid out of the reserve, as are all calls of `replace` before, each rounded on its own.
    function testFuzz_reserveHoldsARefund(
        PriceTerms memory prices,
        uint24 callbackGas,
        uint8 size,
        uint8 appeals,
        uint8 retries
    ) public pure {
        prices.gasPriceCap = uint64(bound(prices.gasPriceCap, 0, type(uint32).max)) * 1e6;
        Terms memory terms;
        terms.committeeSize = uint8(bound(size, 4, 64));
        terms.appeals = uint8(bound(appeals, 0, 3));
        terms.retries = uint8(bound(retries, 0, 3));
        terms.callbackGasLimit = uint24(bound(callbackGas, 0, 2_000_000));
        (Prices list, RequestTerms packed) = (PricesLib.pack(prices, 0, true), RequestTermsLib.pack(terms));
        uint256 taken =
            PricesLib.replaceReserve(list, terms.retries) + PricesLib.atCap(list, PricesLib.deliveryGas(packed));
        assertTrue(taken <= PricesLib.reserve(list, packed), "the reserve holds it");
    }

    function testFuzz_headSurvivesPacking(
        uint8 status,
        uint8 attempt,
        uint8 seats,
        uint32 round,
        uint32 confidence,
        uint64[2] memory masks
    ) public pure {
        status = uint8(bound(status, 0, 4));
        DecisionHead head = DecisionHeadLib.pack(Status(status), attempt, seats, round, confidence, masks[0], masks[1]);
        assertEq(uint8(head.status()), status, "status");
        assertEq(head.statusCode(), status, "statusCode");
        assertEq(head.attempt(), attempt, "attempt");
        assertEq(head.seats(), seats, "seats");
        assertEq(head.round(), round, "round");
        assertEq(head.confidence(), confidence, "confidence");
        assertEq(head.answered(), masks[0], "answered");
        assertEq(head.agreed(), masks[1], "agreed");
    }

    function testFuzz_relaySurvivesPacking(uint64 signers, uint32 units, uint256 rest, address relayer) public pure {
        rest = bound(rest, 0, 999_999);
        Relay relay = RelayLib.pack(signers, uint256(units) * 1e6 + rest, relayer);
        assertEq(relay.signers(), signers, "signers");
        assertEq(relay.gasPrice(), uint256(units) * 1e6, "rounded down");
        assertEq(relay.relayer(), relayer, "relayer");
    }

    function testFuzz_gasPriceSaturates(uint256 price) public pure {
        price = bound(price, uint256(type(uint32).max) * 1e6, type(uint256).max);
        assertEq(RelayLib.pack(0, price, address(0)).gasPrice(), uint256(type(uint32).max) * 1e6, "saturated");
    }

    function testFuzz_seatSurvivesPacking(uint8 skill, uint32 agentId, uint32 reputation, address signer) public pure {
        Seat seat = SeatLib.pack(skill, AgentId.wrap(agentId), reputation, signer);
        assertEq(seat.skill(), skill, "skill");
        assertEq(AgentId.unwrap(seat.agentId()), agentId, "agentId");
        assertEq(seat.reputation(), reputation, "reputation");
        assertEq(seat.signer(), signer, "signer");
    }

    function testFuzz_stateKeepsItsParts(uint8 status, uint8 attempt, bytes32 commitment) public pure {
        status = uint8(bound(status, 0, 4));
        RequestState state = RequestStateLib.make(Status(status), attempt, commitment);
        state = state.set(RequestStateLib.CALLBACK_PENDING).set(RequestStateLib.SETTLED).set(
            RequestStateLib.PROVISIONAL
        );
        assertTrue(state.has(RequestStateLib.CALLBACK_PENDING), "pending");
        state = state.clear(RequestStateLib.CALLBACK_PENDING);
        assertTrue(!state.has(RequestStateLib.CALLBACK_PENDING), "not pending");
        assertTrue(state.has(RequestStateLib.SETTLED), "settled");
        assertEq(uint8(state.status()), status, "status");
        assertEq(state.attempt(), attempt, "attempt");
        assertTrue(state.covers(commitment), "covers its own");
        for (uint256 bit = 0; bit < 256; ++bit) {
            assertTrue(state.covers(commitment ^ bytes32(1 << bit)) == (bit < 24), "covers no other");
        }
    }

    /// @dev RE4: falls of one week count as the deepest of them; falls of different weeks add up.
    function testFuzz_onlyTheDeepestFallOfAWeekCounts(
        uint32 start,
        uint8[6] memory depths,
        bool[6] memory weekPasses
    ) public {
        vm.warp(start);
        AgentAccount account = AgentAccountLib.fresh();
        (uint256 sum, uint256 deepest, uint256 earlier) = (0, 0, 0);
        for (uint256 i = 0; i < depths.length; ++i) {
            if (weekPasses[i]) {
                vm.warp(vm.getBlockTimestamp() + 7 days);
                (earlier, deepest) = (earlier + deepest, 0);
            }
            uint256 depth = 1 + (depths[i] % 3);
            if (depth > deepest) deepest = depth;
            int8 counted;
            (account, counted) = account.withFall(-int8(uint8(depth)));
            assertTrue(counted <= 0, "a fall");
            sum += uint8(-counted);
            assertEq(sum, earlier + deepest, "the deepest of each week");
        }
    }

    /// @dev RE4: everybody counts weeks from 1970.
    function test_weeksOfFalls() public {
        vm.warp(10 * 7 days - 1);
        (AgentAccount account, int8 counted) = AgentAccountLib.fresh().withFall(-3);
        assertEq(uint8(-counted), 3, "all of it");
        (account, counted) = account.withFall(-3);
        assertEq(uint8(-counted), 0, "the same week");
        vm.warp(10 * 7 days);
        (account, counted) = account.withFall(-2);
        assertEq(uint8(-counted), 2, "another week");
    }

    function testFuzz_reputationStaysInBounds(uint32 reputation, int8 steps) public pure {
        reputation = uint32(bound(reputation, 10_000, 1_000_000));
        uint256 moved = ReputationLib.moved(reputation, steps);
        assertTrue(moved >= 10_000 && moved <= 1_000_000, "bounds");
        if (steps > 0) assertTrue(moved > reputation || moved == 1_000_000, "recovers");
        if (steps < 0) assertTrue(moved < reputation || moved == 10_000, "is slashed");
        if (steps == 0) assertEq(moved, reputation, "does not move");
    }

    function test_reputationFigures() public pure {
        assertEq(ReputationLib.moved(1_000_000, -1), 800_000, "one slash");
        assertEq(ReputationLib.moved(1_000_000, -2), 640_000, "two slashes");
        assertEq(ReputationLib.moved(800_000, 1), 810_000, "one recovery");
        assertEq(ReputationLib.moved(999_999, 1), 1_000_000, "never above one");
        assertEq(ReputationLib.moved(1_000_000, -128), 10_000, "never below the floor");
        assertEq(ReputationLib.moved(10_001, -1), 10_000, "never below the floor");
        assertEq(ReputationLib.moved(123_457, -1), 98_765, "rounded down");
    }

    /// @dev SE11, SE20: 255 says that the seat was absent, and is no share.
    function testFuzz_amountsSumToThePay(uint96 pay, bytes memory shares, uint64 absent) public view {
        vm.assume(shares.length <= 64);
        for (uint256 seat = 0; seat < shares.length; ++seat) if ((absent >> seat) & 1 == 1) shares[seat] = 0xff;
        (Service[] memory services, uint256 earned) = this.servicesOf(shares.length, 0, 0, shares, pay);
        uint256 paid = 0;
        uint256 total = 0;
        for (uint256 seat = 0; seat < shares.length; ++seat) {
            uint256 amount = services[seat].earned();
            paid += amount;
            bool missed = shares[seat] == 0xff;
            if (!missed) total += uint8(shares[seat]);
            assertTrue((shares[seat] != 0 && !missed) || amount == 0, "no share, no pay");
            assertEq(AgentId.unwrap(services[seat].agentId()), seat + 1, "the seat's agent");
            assertTrue(services[seat].steps() == 0, "no change");
            assertTrue(services[seat].missed() == missed, "as the committee says");
        }
        assertEq(paid, earned, "sum");
        if (total == 0) assertEq(earned, 0, "nobody earned");
        else assertTrue(earned <= pay && pay - earned < shares.length, "rounding leaves less than a unit per seat");
    }

    /// @dev SE12: one share of any seat is enough. An absent seat has none, and the pairs behind the shares are none.
    function testFuzz_oneShareIsEnough(uint8 size, uint8 seat, uint8 share, uint64 absent) public view {
        size = uint8(bound(size, 4, 64));
        bytes memory shares = new bytes(size);
        for (uint256 i = 0; i < size; ++i) if ((absent >> i) & 1 == 1) shares[i] = 0xff;
        assertTrue(this.paysNobody(size, bytes.concat(shares, hex"00fd01ff")), "no share");
        shares[bound(seat, 0, size - 1)] = bytes1(uint8(bound(share, 1, 254)));
        assertTrue(!this.paysNobody(size, shares), "a share");
    }

    /// @dev SE11: each pair names its seat, and a committee of fewer than 13 seats slashes once at most.
    function test_changesReachTheirSeats() public view {
        for (uint256 size = 12; size < 14; ++size) {
            bytes memory merits = bytes.concat(new bytes(size), hex"00fd01ff03010bfe");
            (Service[] memory services, ) = this.servicesOf(size, 0, 0, merits, 7);
            int8[4] memory expected = size < 13 ? [int8(-1), -1, 1, -1] : [int8(-3), -1, 1, -2];
            uint8[4] memory seats = [0, 1, 3, 11];
            uint256 changed = 0;
            for (uint256 i = 0; i < 4; ++i) assertTrue(services[seats[i]].steps() == expected[i], "steps");
            for (uint256 seat = 0; seat < size; ++seat) if (services[seat].steps() != 0) ++changed;
            assertEq(changed, 4, "no other seat");
        }
    }

    /// @dev SK3: each seat that the decision teaches about has its lesson, and no other.
    function testFuzz_lessonsReachTheirSeats(uint64 answered, uint64 agreed, uint8 size) public view {
        size = uint8(bound(size, 4, 64));
        (Service[] memory services, ) = this.servicesOf(size, answered, agreed, new bytes(size), 0);
        for (uint256 seat = 0; seat < size; ++seat) {
            bool isTaught = (answered / 2 ** seat) % 2 == 1;
            assertTrue(services[seat].answered() == isTaught, "answered");
            if (isTaught) assertTrue(services[seat].agreed() == ((agreed / 2 ** seat) % 2 == 1), "agreed");
        }
    }

    function servicesOf(
        uint256 size,
        uint64 answered,
        uint64 agreed,
        bytes calldata merits,
        uint96 pay
    ) external pure returns (Service[] memory, uint256) {
        Seat[] memory committee = new Seat[](size);
        for (uint256 i = 0; i < size; ++i) committee[i] = SeatLib.pack(2, AgentId.wrap(uint32(i + 1)), 1, address(1));
        DecisionHead head = DecisionHeadLib.pack(Status.Decided, 0, uint8(size), 0, 0, answered, agreed);
        return PayLib.servicesOf(committee, head, merits, pay);
    }

    function paysNobody(uint8 size, bytes calldata merits) external view returns (bool) {
        DecisionHead head = DecisionHeadLib.pack(Status.Decided, 0, size, 0, 0, 0, 0);
        return this.paysNobody(Decision(head, 0, 0, "", merits));
    }

    function paysNobody(Decision calldata decision) external pure returns (bool) {
        return PayLib.paysNobody(decision);
    }

    /// @dev SE2: as many as the committees of the first round and of all appeals have seats together.
    function testFuzz_agentsNeeded(uint8 size, uint8 appeals) public pure {
        appeals = uint8(bound(appeals, 0, 3));
        size = uint8(bound(size, 4, (65 >> appeals) - 1));
        Terms memory terms;
        (terms.committeeSize, terms.appeals, terms.retries) = (size, appeals, 3);
        (uint256 last, uint256 sum) = (size, size);
        for (uint256 level = 0; level < appeals; ++level) {
            last = 2 * last + 1;
            sum += last;
        }
        assertEq(RequestTermsLib.agentsNeeded(RequestTermsLib.pack(terms)), sum, "agents");
    }
}

/// @dev Compares the quorum with plain arithmetic. One key sits on every seat.
contract CertificateTest is Assertions {
    uint256 private constant KEY = 0xa11ce;
    bytes32 private constant DIGEST = keccak256("digest");

    bytes private _signature;

    function setUp() public {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(KEY, DIGEST);
        _signature = CertificateMaker.compact(v, r, s);
    }

    function test_quorumIsMoreThanTwoThirds() public {
        for (uint256 size = 1; size <= 64; ++size) {
            // Counts up to the smallest c with 3c > 2n.
            uint256 quorum = 0;
            while (3 * quorum <= 2 * size) ++quorum;
            bytes memory certificate = _certificate(size, (1 << quorum) - 1);
            assertEq(this.verify(certificate, size), (1 << quorum) - 1, "signers");
            certificate = _certificate(size, (1 << (quorum - 1)) - 1);
            vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.QuorumNotReached.selector, quorum - 1, quorum));
            this.verify(certificate, size);
        }
    }

    function testFuzz_bitmapIsCounted(uint64 signers) public {
        uint256 count = 0;
        for (uint256 seat = 0; seat < 64; ++seat) count += (signers >> seat) & 1;
        bytes memory certificate = _certificate(64, signers);
        if (count < 43) {
            vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.QuorumNotReached.selector, count, 43));
        }
        this.verify(certificate, 64);
    }

    function testFuzz_seatsBeyondTheCommitteeAreRefused(uint64 signers, uint256 size) public {
        size = bound(size, 4, 63);
        vm.assume(signers >> size != 0);
        bytes memory certificate = _certificate(size, signers);
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.InvalidDecision.selector, bytes32("signers"), signers));
        this.verify(certificate, size);
    }

    /// @dev A certificate of another size, a truncated one and one with trailing bytes never pass.
    function testFuzz_lengthIsExact(uint256 size, uint256 length) public {
        size = bound(size, 4, 64);
        bytes memory certificate = _certificate(size, type(uint64).max >> (64 - size));
        length = bound(length, 0, certificate.length + 64);
        vm.assume(length != certificate.length);
        bytes memory changed = new bytes(length);
        for (uint256 i = 0; i < length && i < certificate.length; ++i) changed[i] = certificate[i];
        vm.expectRevert();
        this.verify(changed, size);
        if (length > certificate.length) {
            vm.expectRevert(
                abi.encodeWithSelector(IDecisionOracle.InvalidDecision.selector, bytes32("certificate"), length)
            );
            this.verify(changed, size);
        }
    }

    function test_shorterThanItsHead() public {
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.QuorumNotReached.selector, 0, 3));
        this.verify(new bytes(7), 4);
    }

    /// @dev A changed byte of a signature is found at its seat.
    function testFuzz_flippedByteIsFound(uint256 position, uint8 flip) public {
        vm.assume(flip != 0);
        bytes memory certificate = _certificate(7, 0x6b);
        position = bound(position, 8, certificate.length - 1);
        certificate[position] ^= bytes1(flip);
        uint8[5] memory seats = [0, 1, 3, 5, 6];
        vm.expectRevert(
            abi.encodeWithSelector(IDecisionOracle.InvalidSignature.selector, uint256(seats[(position - 8) / 64]))
        );
        this.verify(certificate, 7);
    }

    /// @dev The key of a seat that signs for another seat.
    function testFuzz_anotherKeyIsFound(uint256 seat, uint160 signer) public {
        seat = bound(seat, 0, 6);
        vm.assume(address(signer) != vm.addr(KEY));
        Seat[] memory seats = _seats(7);
        seats[seat] = SeatLib.pack(2, AgentId.wrap(1), 1_000_000, address(signer));
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.InvalidSignature.selector, seat));
        this.verifyFor(_certificate(7, 127), seats);
    }

    /// @dev The precompile recovers nothing from r and s of zero, from r above the field and from an empty signature.
    /// The address recovered for the seat before must not count as the seat's own.
    function test_unrecoverableSignatureNamesItsSeat() public {
        uint256 order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;
        uint256 s = 0x1111;
        bytes[4] memory malformed = [
            abi.encodePacked(uint256(0), s),
            abi.encodePacked(uint256(7), uint256(0)),
            abi.encodePacked(order, s),
            abi.encodePacked(type(uint256).max, type(uint256).max)
        ];
        for (uint256 i = 0; i < malformed.length; ++i) {
            for (uint256 seat = 0; seat < 3; ++seat) {
                bytes[] memory signatures = _signatures(4);
                signatures[seat] = malformed[i];
                bytes memory certificate = CertificateMaker.pack(7, signatures);
                vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.InvalidSignature.selector, seat));
                this.verify(certificate, 4);
            }
        }
    }

    /// @dev A malleable signature has a high s. Its highest bit counts as the parity, so another account is
    /// recovered.
    function test_malleableSignatureIsSomebodyElse() public {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(KEY, DIGEST);
        uint256 order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;
        bytes32 highS = bytes32(order - uint256(s));
        assertEq(ecrecover(DIGEST, v == 27 ? 28 : 27, r, highS), vm.addr(KEY), "the other form of the signature");
        for (uint256 parity = 0; parity < 2; ++parity) {
            bytes[] memory signatures = _signatures(4);
            signatures[1] = abi.encodePacked(r, uint256(highS) | (parity << 255));
            vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.InvalidSignature.selector, 1));
            this.verify(CertificateMaker.pack(7, signatures), 4);
        }
    }

    /// @dev The library borrows the first words of memory. Allocations before and after the call must stay intact.
    function test_memoryIsPutBack() public view {
        this.verifyAmongMemory(_certificate(4, 7));
    }

    function verifyAmongMemory(bytes calldata certificate) external view {
        bytes memory before = bytes.concat("before", certificate);
        bytes32 digestBefore = keccak256(before);
        CertificateLib.verify(certificate, _seats(4), DIGEST);
        bytes memory empty;
        assertEq(empty.length, 0, "zero slot");
        bytes memory afterwards = new bytes(300);
        for (uint256 i = 0; i < 300; ++i) {
            assertTrue(afterwards[i] == 0, "clean");
            afterwards[i] = 0xff;
        }
        assertEq(keccak256(before), digestBefore, "before");
    }

    function verify(bytes calldata certificate, uint256 size) external view returns (uint64) {
        return CertificateLib.verify(certificate, _seats(size), DIGEST);
    }

    function verifyFor(bytes calldata certificate, Seat[] memory seats) external view returns (uint64) {
        return CertificateLib.verify(certificate, seats, DIGEST);
    }

    function _seats(uint256 size) private pure returns (Seat[] memory seats) {
        seats = new Seat[](size);
        for (uint256 i = 0; i < size; ++i) {
            seats[i] = SeatLib.pack(2, AgentId.wrap(uint32(i + 1)), 1_000_000, vm.addr(KEY));
        }
    }

    function _signatures(uint256 size) private view returns (bytes[] memory signatures) {
        signatures = new bytes[](size);
        for (uint256 i = 0; i < size; ++i) signatures[i] = _signature;
    }

    function _certificate(uint256 size, uint256 signers) private view returns (bytes memory) {
        return CertificateMaker.pack(signers, _signatures(size));
    }
}

contract DecisionRulesTest is Assertions {
    RequestTerms private constant BOOLEAN = RequestTerms.wrap(0);
    RequestTerms private constant TEXT = RequestTerms.wrap(3 << 8);

    function test_hungHasNoOutcome() public {
        Draft memory decision = _hung();
        this.validate(decision.packed(), BOOLEAN, 4);
        decision.outcome = bytes32(uint256(1));
        _refused("outcome", 1);
        this.validate(decision.packed(), BOOLEAN, 4);
        decision = _hung();
        decision.answer = "no";
        _refused("answer", 2);
        this.validate(decision.packed(), BOOLEAN, 4);
    }

    function testFuzz_statusIsFinal(uint8 status) public {
        Draft memory decision = _hung();
        status = uint8(bound(status, 0, 6));
        decision.status = Status(status);
        unchecked {
            // 0, 2^256 - 1 and 2^256 - 2.
            decision.outcome = bytes32(3 - uint256(status));
        }
        if (status == 2) decision.outcome = 0;
        if (status < 2 || status == 6) _refused("status", status);
        this.validate(decision.packed(), BOOLEAN, 4);
    }

    function testFuzz_nonAnswersHaveTheirOutcomeAlone(uint256 outcome, bool isTooEarly) public {
        Draft memory decision = _hung();
        decision.status = isTooEarly ? Status.TooEarly : Status.Unanswerable;
        decision.outcome = bytes32(outcome);
        uint256 own = type(uint256).max - (isTooEarly ? 1 : 0);
        if (outcome != own) _refused("outcome", outcome);
        this.validate(decision.packed(), BOOLEAN, 4);
        decision.outcome = bytes32(own);
        decision.answer = "no";
        _refused("answer", 2);
        this.validate(decision.packed(), BOOLEAN, 4);
        decision.answer = "";
        // Terms may refuse them.
        _refused("status", uint256(decision.status));
        this.validate(decision.packed(), RequestTerms.wrap(1 << 36), 4);
    }

    function test_bounds() public {
        Draft memory decision = _hung();
        decision.confidence = 1_000_001;
        _refused("confidence", 1_000_001);
        this.validate(decision.packed(), BOOLEAN, 4);
        decision.confidence = 1_000_000;
        this.validate(decision.packed(), BOOLEAN, 4);
        decision = _hung();
        _refused("seats", 4);
        this.validate(decision.packed(), BOOLEAN, 5);
        Decision memory short = decision.packed();
        short.merits = new bytes(3);
        _refused("merits", 3);
        this.validate(short, BOOLEAN, 4);
        decision.status = Status.Decided;
        decision.answer = new bytes(128);
        this.validate(decision.packed(), BOOLEAN, 4);
        decision.answer = new bytes(129);
        _refused("answer", 129);
        this.validate(decision.packed(), BOOLEAN, 4);
        decision.answer = new bytes(1024);
        decision.outcome = keccak256(decision.answer);
        this.validate(decision.packed(), TEXT, 4);
        decision.answer = new bytes(1025);
        _refused("answer", 1025);
        this.validate(decision.packed(), TEXT, 4);
    }

    /// @dev States the rule again: pairs, ascending seats below n, steps of +1 or of -1 to -3.
    function testFuzz_reputationChanges(bytes memory changes, uint256 size) public {
        size = bound(size, 4, 64);
        Draft memory decision = _hung();
        decision.shares = new bytes(size);
        decision.reputationChanges = changes;
        bool valid = changes.length % 2 == 0;
        int256 last = -1;
        for (uint256 i = 0; valid && i < changes.length; i += 2) {
            int256 seat = int256(uint256(uint8(changes[i])));
            int8 steps = int8(uint8(changes[i + 1]));
            valid = seat > last && seat < int256(size) && (steps == 1 || (steps < 0 && steps >= -3));
            last = seat;
        }
        (bool accepted, ) = address(this).call(abi.encodeCall(this.validate, (decision.packed(), BOOLEAN, size)));
        assertTrue(accepted == valid, "accepted iff well formed");
    }

    function test_reputationChangesExamples() public {
        Draft memory decision = _hung();
        bytes[4] memory accepted = [bytes(hex"0001"), hex"00ff03fe", hex"00ff01ff02ff03ff", hex"03fd"];
        for (uint256 i = 0; i < accepted.length; ++i) {
            decision.reputationChanges = accepted[i];
            this.validate(decision.packed(), BOOLEAN, 4);
        }
        bytes[8] memory refused = [
            bytes(hex"00"),
            hex"0000",
            hex"0002",
            hex"04ff",
            hex"01ff00ff",
            hex"01ff01ff",
            hex"03fc",
            hex"0380"
        ];
        for (uint256 i = 0; i < refused.length; ++i) {
            decision.reputationChanges = refused[i];
            vm.expectRevert();
            this.validate(decision.packed(), BOOLEAN, 4);
        }
    }

    function test_outcomeFitsTheKind() public {
        Draft memory decision = _hung();
        decision.status = Status.Decided;
        decision.answer = unicode"Grüße";
        bytes32 text = keccak256(decision.answer);
        // The outcomes that each kind accepts and refuses.
        uint256[2][2][4] memory cases = [
            [[uint256(0), 1], [uint256(2), type(uint256).max]],
            [[uint256(0), 2], [uint256(3), type(uint256).max]],
            [[uint256(0), type(uint256).max], [uint256(0), 0]],
            [[uint256(text), uint256(text)], [uint256(text) ^ 1, 0]]
        ];
        for (uint8 kind = 0; kind < 4; ++kind) {
            RequestTerms terms = _terms(kind, kind == 1 ? 3 : 0);
            for (uint256 i = 0; i < 2; ++i) {
                decision.outcome = bytes32(cases[kind][0][i]);
                this.validate(decision.packed(), terms, 4);
                if (kind == 2) continue;
                decision.outcome = bytes32(cases[kind][1][i]);
                _refused("outcome", cases[kind][1][i]);
                this.validate(decision.packed(), terms, 4);
            }
        }
    }

    /// @dev States the rule again: only bits of the policies are set, and at least one of them (EQ4).
    function testFuzz_policiesFitTheirNumber(uint8 options, uint256 outcome, bool inRange) public {
        options = uint8(bound(options, 2, 26));
        if (inRange) outcome = bound(outcome, 0, (1 << options) + 1);
        uint256 known = 0;
        uint256 unknown = 0;
        for (uint256 bit = 0; bit < 256; ++bit) {
            uint256 isSet = (outcome >> bit) & 1;
            if (bit < options) known += isSet;
            else unknown += isSet;
        }
        Draft memory decision = _decided(outcome);
        if (known == 0 || unknown != 0) _refused("outcome", outcome);
        this.validate(decision.packed(), _terms(4, options), 4);
    }

    function test_policiesAtTheirBounds() public {
        for (uint8 options = 2; options <= 26; ++options) {
            uint256 all = (1 << options) - 1;
            uint256[3] memory accepted = [1, uint256(1) << (options - 1), all];
            for (uint256 i = 0; i < 3; ++i) this.validate(_decided(accepted[i]).packed(), _terms(4, options), 4);
            uint256[4] memory refused = [0, all + 1, all + 2, type(uint256).max];
            for (uint256 i = 0; i < 4; ++i) {
                _refused("outcome", refused[i]);
                this.validate(_decided(refused[i]).packed(), _terms(4, options), 4);
            }
        }
    }

    function validate(Decision calldata decision, RequestTerms terms, uint256 size) external pure {
        DecisionLib.structHash(decision, 0, 0, size);
        DecisionLib.validate(decision, terms, size);
    }

    function _terms(uint8 kind, uint8 options) private pure returns (RequestTerms) {
        Terms memory terms;
        (terms.kind, terms.options) = (kind, options);
        return RequestTermsLib.pack(terms);
    }

    function _hung() private pure returns (Draft memory decision) {
        decision.status = Status.Hung;
        decision.shares = new bytes(4);
    }

    function _decided(uint256 outcome) private pure returns (Draft memory decision) {
        decision.status = Status.Decided;
        decision.outcome = bytes32(outcome);
        decision.shares = new bytes(4);
    }

    function _refused(bytes32 field, uint256 value) private {
        vm.expectRevert(abi.encodeWithSelector(IDecisionOracle.InvalidDecision.selector, field, value));
    }
}
