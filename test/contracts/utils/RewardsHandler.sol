// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../../contracts/interfaces/IAgentRegistry.sol";
import {SeatLib} from "../../../contracts/libraries/SeatLib.sol";
import {AgentId, Currency, Request, Seat, Terms} from "../../../contracts/types/Types.sol";
import {ConclaveTest} from "./ConclaveTest.sol";
import {Draft, payShareOf} from "./Draft.sol";
import {vm} from "./Vm.sol";

/// @dev Plays operators and delegators at random: they move stake, claim and change commissions while requests pay. At
/// every payment the handler computes what each account must have earned, by the shares that earn and the commission of that
/// moment. An action that makes no sense returns early.
contract RewardsHandler is ConclaveTest {
    using SeatLib for Seat;

    uint32 public constant AGENTS = 9;
    uint256 public constant ACCOUNTS = 4;
    uint256 private constant SEATS = 4;
    /// @dev Fractions of one unit in `earned`.
    uint256 public constant ONE = 1e18;

    /// @dev RW6, told once more: an account's shares that earn, then two lots that join.
    struct Joined {
        uint256 earning;
        uint256[2] shares;
        uint256[2] ends;
    }

    /// @dev Accounts that all delegate. The first two are operators, each of every other agent.
    address[ACCOUNTS] public accounts = [address(0xa1), address(0xa2), address(0xa3), address(0xa4)];
    /// @dev Earnings in fractions of `ONE`; claims in units.
    mapping(uint32 agent => mapping(address account => mapping(Currency currency => uint256 amount))) public earned;
    mapping(uint32 agent => mapping(address account => mapping(Currency currency => uint256 amount))) public claimed;
    uint256 public broken;
    string public brokenBecause;
    mapping(bytes32 action => uint256 count) public done;
    mapping(uint32 agent => uint256 ppm) private _commission;
    mapping(uint32 agent => uint256 ppm) private _announced;
    mapping(uint32 agent => uint256 time) private _due;
    mapping(uint32 agent => mapping(address account => Joined)) private _joined;
    uint256 private _slashes;
    mapping(AgentId id => uint256 time) private _slashTimes;

    /// @dev RW3: whatever an action does, the claimable amount stays the same, except for claims and payments. (The
    /// invariants would notice a change of other agents.)
    modifier keepsRewards(uint256 agent) {
        uint256[] memory before = _rewards(_id(agent));
        _;
        uint256[] memory current = _rewards(_id(agent));
        for (uint256 i = 0; i < before.length; ++i) if (before[i] != current[i]) _break("rewards changed");
    }

    constructor() {
        deployConclave();
        for (uint256 i = 0; i < ACCOUNTS; ++i) {
            token.mint(accounts[i], 1e24);
            vm.prank(accounts[i]);
            token.approve(address(registry), type(uint256).max);
        }
        for (uint32 id = 1; id <= AGENTS; ++id) {
            address operator = accounts[(id - 1) % 2];
            IAgentRegistry.Registration memory registration = registrationOf(operator, MIN_STAKE * 2);
            registration.commission = uint24(((id - 1) % 6) * 100_000);
            _commission[id] = registration.commission;
            vm.prank(operator);
            registry.register(registration);
            _joined[id][operator].earning = MIN_STAKE * 2;
        }
        nextEpoch();
        oracle.fund(subscriptionId, 1e29);
        vm.deal(address(this), 1e29);
        oracle.fundNative{value: 1e29}(subscriptionId);
        decideForEvidence(EVIDENCE);
    }

    function bond(uint256 agent, uint256 account, uint256 amount, bool small) external keepsRewards(agent) {
        AgentId id = _id(agent);
        address from = accounts[account % ACCOUNTS];
        IAgentRegistry.Agent memory found = registry.getAgent(id);
        uint256 room = MAX_STAKE - found.bonded.assets;
        if (room == 0 || (found.operator != from && !found.active)) return;
        _bond(id, from, bound(amount, 1, small && room > 1000 ? 1000 : room));
        ++done["bond"];
    }

    function startUnbonding(uint256 agent, uint256 account, uint256 shares) external keepsRewards(agent) {
        AgentId id = _id(agent);
        address from = accounts[account % ACCOUNTS];
        IAgentRegistry.Position memory position = registry.positionOf(id, from);
        if (position.bonded == 0) return;
        // Shares worth at least one unit, since a single share may be worth less.
        uint256 least = (uint256(position.shares) + position.bonded - 1) / position.bonded + 1;
        if (least > position.shares) least = position.shares;
        _unbond(id, from, bound(shares, least, position.shares));
        ++done["startUnbonding"];
    }

    /// @dev Pays the whole amount, so that agents without shares are also paid.
    function leave(uint256 agent) external keepsRewards(agent) {
        AgentId id = _id(agent);
        for (uint256 i = 0; i < ACCOUNTS; ++i) {
            IAgentRegistry.Position memory position = registry.positionOf(id, accounts[i]);
            if (position.bonded == 0) continue;
            _unbond(id, accounts[i], position.shares);
            ++done["leave"];
        }
    }

    /// @dev RW6: a start fails before its time, and succeeds from then on.
    function startEarning(uint256 agent, uint256 account, bool wait) external keepsRewards(agent) {
        AgentId id = _id(agent);
        address of_ = accounts[account % ACCOUNTS];
        Joined storage joined = _joined[AgentId.unwrap(id)][of_];
        if (wait && joined.ends[0] > block.timestamp) vm.warp(joined.ends[0]);
        bool isDue = joined.shares[0] != 0 && joined.ends[0] <= block.timestamp;
        try registry.startEarning(id, of_) {
            if (!isDue) _break("earned before its time");
            ++done["startEarning"];
        } catch {
            if (isDue) _break("a start was refused");
            ++done["startRefused"];
        }
        _noteTouch(id, of_);
    }

    /// @dev Slashes an active agent, which stays active.
    function slash(uint256 agent) external keepsRewards(agent) {
        AgentId id = _id(agent);
        if (!registry.getAgent(id).active || _slashes == EVIDENCE) return;
        if (block.timestamp < _slashTimes[id] + 7 days) vm.warp(_slashTimes[id] + 7 days);
        submit(equivocation(id, _slashes++));
        _slashTimes[id] = block.timestamp;
        ++done["slash"];
    }

    /// @dev Plays a request from its fee to its settlement. Stake that is unbonded after the draw gets no part of the
    /// pay, nor does stake that is bonded after it.
    /// @param leaver names a seat of the committee whose agent loses all its stake, or gets more, before the pay
    function serve(uint256 fee, uint256 currency, uint64 shares, uint256 leaver) external {
        Terms memory terms = termsFor(SEATS, uint80(bound(fee, 0, fee % 2 == 0 ? 100 : 100 ether)));
        terms.currency = uint8(currency % 2);
        // SE2: one and a half times as many agents as seats.
        if (2 * registry.drawableCount() < 3 * SEATS) return;
        (Request memory request, uint64 seedBlock) = ask(terms);
        vm.roll(seedBlock + 1);
        if (registry.drawableCount() < SEATS) return;
        Seat[] memory committee = drawCommittee(request, seedBlock);
        Draft memory decision = decisionFor(SEATS);
        for (uint256 i = 0; i < SEATS; ++i) decision.shares[i] = bytes8(shares)[i];
        bytes memory certificate = certify(request, committee, decision, quorumOf(SEATS));
        if (leaver % 4 == 0) this.leave(AgentId.unwrap(committee[(leaver >> 8) % SEATS].agentId()) - 1);
        if (leaver % 4 == 1) _bondLate(committee[leaver % SEATS].agentId(), accounts[(leaver >> 8) % ACCOUNTS]);
        _pay(committee, Currency(terms.currency), terms.fee, decision.shares);
        commitWith(request, decision.packed(), certificate);
        ++done["serve"];
    }

    function claimRewards(uint256 agent, uint256 account, uint256 which) external {
        AgentId id = _id(agent);
        (Currency currency, address from) = (Currency(which % 2), accounts[account % ACCOUNTS]);
        uint256[] memory before = _rewards(id);
        uint256 due = registry.rewardsOf(id, from, currency);
        if (due == 0) return;
        uint256 credit = oracle.creditOf(address(registry), currency);
        vm.prank(from);
        uint256 amount = registry.claimRewards(id, currency, address(0xbeef));
        _noteTouch(id, from);
        if (amount != due || credit - oracle.creditOf(address(registry), currency) != due) _break("not what was due");
        claimed[AgentId.unwrap(id)][from][currency] += amount;
        uint256[] memory current = _rewards(id);
        uint256 index = 2 * (account % ACCOUNTS) + uint8(currency);
        for (uint256 i = 0; i < before.length; ++i) {
            if (current[i] != (i == index ? 0 : before[i])) _break("a claim changed another's rewards");
        }
        ++done["claim"];
    }

    function setCommission(uint256 agent, uint256 ppm) external keepsRewards(agent) {
        uint32 id = AgentId.unwrap(_id(agent));
        ppm = bound(ppm, 0, 500_000);
        vm.prank(_operatorOf(id));
        registry.setCommission(AgentId.wrap(id), uint24(ppm));
        if (ppm <= _commission[id]) {
            (_commission[id], _due[id]) = (ppm, 0);
            ++done["lower"];
        } else {
            (_announced[id], _due[id]) = (ppm, block.timestamp + UNBONDING_DELAY);
            ++done["announce"];
        }
    }

    /// @dev RW4: a raise fails before its time, and succeeds from then on.
    function raiseCommission(uint256 agent, bool wait) external keepsRewards(agent) {
        uint32 id = AgentId.unwrap(_id(agent));
        if (wait && _due[id] > block.timestamp) vm.warp(_due[id]);
        bool isDue = _due[id] != 0 && _due[id] <= block.timestamp;
        vm.prank(_operatorOf(id));
        try registry.raiseCommission(AgentId.wrap(id)) {
            if (!isDue) _break("a raise before its time");
            (_commission[id], _due[id]) = (_announced[id], 0);
            ++done["raise"];
        } catch {
            if (isDue) _break("a raise was refused");
            ++done["raiseRefused"];
        }
    }

    function pass(uint256 time) external keepsRewards(time) {
        vm.warp(block.timestamp + bound(time, 1, 10 days));
        nextEpoch();
        ++done["pass"];
    }

    function rewardsAt(uint32 id, uint256 account, Currency currency) external view returns (uint256) {
        return registry.rewardsOf(AgentId.wrap(id), accounts[account], currency);
    }

    function creditIn(Currency currency) external view returns (uint256) {
        return oracle.creditOf(address(registry), currency);
    }

    function commissionsAgree() external view returns (bool) {
        for (uint32 id = 1; id <= AGENTS; ++id) {
            IAgentRegistry.Agent memory found = registry.getAgent(AgentId.wrap(id));
            if (found.commission != _commission[id] || found.raiseTime != _due[id]) return false;
        }
        return true;
    }

    function sharesAgree() external view returns (bool) {
        for (uint32 id = 1; id <= AGENTS; ++id) {
            uint256 all = 0;
            for (uint256 i = 0; i < ACCOUNTS; ++i) {
                Joined storage joined = _joined[id][accounts[i]];
                IAgentRegistry.Position memory position = registry.positionOf(AgentId.wrap(id), accounts[i]);
                uint256 joining = joined.shares[0] + joined.shares[1];
                if (position.joining != joining || position.shares != joining + joined.earning) return false;
                if (position.joiningEnd != (joining == 0 ? 0 : joined.ends[0])) return false;
                all += joining;
            }
            if (registry.getAgent(AgentId.wrap(id)).joining != all) return false;
        }
        return true;
    }

    /// @dev Returns the pay of the seats of a decided request (SE11), and adds what each account earns by it now.
    function _pay(Seat[] memory committee, Currency currency, uint256 fee, bytes memory shares) private {
        uint256 total = 0;
        for (uint256 seat = 0; seat < SEATS; ++seat) total += payShareOf(shares[seat]);
        if (total == 0) return;
        uint256 pay = 2 * SEATS * (fee / (2 * SEATS));
        for (uint256 seat = 0; seat < SEATS; ++seat) {
            uint32 id = AgentId.unwrap(committee[seat].agentId());
            uint256 amount = ONE * ((pay * payShareOf(shares[seat])) / total);
            if (amount == 0) continue;
            uint256 all = 0;
            for (uint256 i = 0; i < ACCOUNTS; ++i) all += _joined[id][accounts[i]].earning;
            uint256 commission = all == 0 ? amount : (amount * _commission[id]) / 1e6;
            if (all == 0) ++done["noShares"];
            earned[id][_operatorOf(id)][currency] += commission;
            for (uint256 i = 0; i < ACCOUNTS && all != 0; ++i) {
                uint256 held = _joined[id][accounts[i]].earning;
                earned[id][accounts[i]][currency] += ((amount - commission) * held) / all;
            }
        }
    }

    /// @dev RW6: who bonds when the committee is known gets nothing of its pay.
    function _bondLate(AgentId id, address from) private {
        IAgentRegistry.Agent memory found = registry.getAgent(id);
        uint256 room = MAX_STAKE - found.bonded.assets;
        if (room == 0 || (found.operator != from && !found.active)) return;
        _bond(id, from, room);
        ++done["bondLate"];
    }

    function _bond(AgentId id, address from, uint256 amount) private {
        bool isFirst = registry.getAgent(id).bonded.shares == 0;
        vm.prank(from);
        uint256 shares = registry.bond(id, uint128(amount));
        _noteTouch(id, from);
        Joined storage joined = _joined[AgentId.unwrap(id)][from];
        if (isFirst) {
            joined.earning += shares;
            return;
        }
        uint256 lot = joined.shares[0] == 0 ? 0 : 1;
        joined.shares[lot] += shares;
        joined.ends[lot] = block.timestamp + 14 days;
    }

    function _unbond(AgentId id, address from, uint256 shares) private {
        vm.prank(from);
        registry.startUnbonding(id, uint128(shares));
        _noteTouch(id, from);
        Joined storage joined = _joined[AgentId.unwrap(id)][from];
        for (uint256 lot = 2; lot > 0; --lot) {
            uint256 taken = shares < joined.shares[lot - 1] ? shares : joined.shares[lot - 1];
            joined.shares[lot - 1] -= taken;
            shares -= taken;
        }
        joined.earning -= shares;
    }

    /// @dev Lets the lots earn that are due.
    function _noteTouch(AgentId id, address account) private {
        Joined storage joined = _joined[AgentId.unwrap(id)][account];
        while (joined.shares[0] != 0 && joined.ends[0] <= block.timestamp) {
            joined.earning += joined.shares[0];
            (joined.shares[0], joined.ends[0]) = (joined.shares[1], joined.ends[1]);
            joined.shares[1] = 0;
        }
    }

    function _break(string memory because) private {
        ++broken;
        brokenBecause = because;
    }

    /// @dev By account, then by currency.
    function _rewards(AgentId id) private view returns (uint256[] memory rewards) {
        rewards = new uint256[](2 * ACCOUNTS);
        for (uint256 i = 0; i < 2 * ACCOUNTS; ++i) {
            rewards[i] = registry.rewardsOf(id, accounts[i / 2], Currency(i % 2));
        }
    }

    function _operatorOf(uint32 id) private view returns (address) {
        return accounts[(id - 1) % 2];
    }

    function _id(uint256 agent) private pure returns (AgentId) {
        return AgentId.wrap(uint32(1 + (agent % AGENTS)));
    }
}
