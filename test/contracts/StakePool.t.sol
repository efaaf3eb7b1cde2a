// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "../../contracts/interfaces/IAgentRegistry.sol";
import {StakePool} from "../../contracts/libraries/StakePool.sol";
import {EQUIVOCATION_SLASH_PPM} from "../../contracts/types/Limits.sol";
import {AgentId, Pot} from "../../contracts/types/Types.sol";
import {Assertions, vm} from "./utils/Vm.sol";

/// @dev Tests the pool alone: any order of moves by four accounts, at any scale.
contract StakePoolTest is Assertions {
    using StakePool for StakePool.State;

    AgentId private constant AGENT = AgentId.wrap(1);
    uint128 private constant MAXIMUM = type(uint96).max;

    StakePool.State private _pool;
    address[4] private _accounts = [address(1), address(2), address(3), address(4)];
    /// @dev Units that each account put in and took out.
    mapping(address account => uint256 amount) private _in;
    mapping(address account => uint256 amount) private _out;
    bool private _slashed;

    /// @dev ST2, ST3, ST4 hold after each of 40 random moves, with amounts from 1 to 2^96.
    function testFuzz_noMoveTakesFromOthers(uint256 seed, bool withSlashes, uint8 scale) public {
        for (uint256 i = 0; i < 40; ++i) {
            uint256 random = uint256(keccak256(abi.encode(seed, i)));
            address mover = _accounts[random % 4];
            uint256[4] memory before = _worths();
            (Pot memory bonded, Pot memory unbonding) = (_pool.bonded, _pool.unbonding);
            bool slashed = withSlashes && (random >> 8) % 4 == 0;
            if (slashed) _slash();
            else _move(mover, (random >> 16) % 4, random >> 32, scale);
            if (!slashed) {
                _assertPriceNotBelow(_pool.bonded, bonded);
                _assertPriceNotBelow(_pool.unbonding, unbonding);
                _assertOthersKeep(mover, before);
            }
            _assertSums();
        }
    }

    /// @dev RW6: no share of a bond earns before 14 days, and all of them can after 28, however often the account bonds.
    /// What leaves joined last.
    function testFuzz_sharesJoinForOneToTwoDelays(uint256 seed) public {
        _bond(_accounts[0], 1000);
        uint256 begin = vm.getBlockTimestamp();
        uint256[] memory totals = new uint256[](30);
        for (uint256 day = 0; day < 30; ++day) {
            vm.warp(begin + day * 1 days);
            uint256 amount = 1 + (uint256(keccak256(abi.encode(seed, day))) % 1000);
            _pool.startEarning(_accounts[1]);
            _bond(_accounts[1], uint128(amount));
            totals[day] = (day == 0 ? 0 : totals[day - 1]) + amount;
            uint256 earning = _pool.earningOf(_accounts[1]);
            assertTrue(day < 14 ? earning == 0 : earning <= totals[day - 14], "too early");
            assertTrue(day < 28 || earning >= totals[day - 28], "too late");
        }
        uint128 before = _pool.earningOf(_accounts[1]);
        uint128 joining = _pool.joiningOf(_accounts[1]);
        uint128 leaving = uint128(1 + (seed % (joining + before)));
        _pool.unbond(AGENT, _accounts[1], leaving, 0);
        assertEq(_pool.joiningOf(_accounts[1]), leaving < joining ? joining - leaving : 0, "those that join go first");
        assertEq(_pool.earningOf(_accounts[1]), leaving < joining ? before : before + joining - leaving, "then others");
        _assertSums();
    }

    function test_theFirstSharesOfAPotEarnAtOnce() public {
        _bond(_accounts[0], 10);
        assertEq(_pool.earningOf(_accounts[0]), 10, "the first");
        _bond(_accounts[0], 5);
        assertEq(_pool.earningOf(_accounts[0]), 10, "not the next");
        assertEq(_pool.joiningEndOf(_accounts[0]), vm.getBlockTimestamp() + 14 days, "end");
        _pool.unbond(AGENT, _accounts[0], 15, 0);
        assertEq(_pool.joiningEndOf(_accounts[0]), 0, "none");
        _bond(_accounts[1], 7);
        assertEq(_pool.earningOf(_accounts[1]), 7, "the first of the empty pot");
    }

    function testFuzz_slashTakesATenthRoundedUp(uint96 stake, uint96 leaving) public {
        vm.assume(stake != 0 && leaving <= stake);
        _bond(_accounts[0], stake);
        if (leaving != 0) _pool.unbond(AGENT, _accounts[0], leaving, 0);
        (uint128 bonded, uint128 unbonding, uint256 ownLoss) = _pool.slash(_accounts[0], EQUIVOCATION_SLASH_PPM);
        assertEq(bonded, (uint256(stake - leaving) + 9) / 10, "bonded");
        assertEq(unbonding, (uint256(leaving) + 9) / 10, "unbonding");
        assertEq(ownLoss, uint256(bonded) + unbonding, "all of it is the operator's");
    }

    /// @dev ST3: whoever bonds first, with one unit, before or after slashes, a later account gets at least as many
    /// shares as units.
    function testFuzz_firstDepositorCannotInflate(uint96 amount, uint8 slashes) public {
        vm.assume(amount != 0 && amount < MAXIMUM);
        _bond(_accounts[0], 1);
        for (uint256 i = 0; i < slashes % 8; ++i) _pool.slash(_accounts[0], EQUIVOCATION_SLASH_PPM);
        if (_pool.bonded.assets == 0) return;
        assertTrue(_bond(_accounts[1], amount) >= amount, "shares");
        assertTrue(_pool.bondedOf(_accounts[1]) + 1 >= amount, "worth");
    }

    function test_emptiedPoolTakesNoBonds() public {
        _bond(_accounts[0], 1);
        _pool.slash(_accounts[0], EQUIVOCATION_SLASH_PPM);
        assertEq(_pool.bonded.assets, 0, "one unit, rounded up");
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.PoolEmptied.selector, AGENT));
        this.bondBy(_accounts[1], 10);
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.AmountIsZero.selector));
        this.unbondBy(_accounts[0], 1);
    }

    /// @dev An operator that unbonds a unit and has it slashed must not stop others from unbonding.
    function test_emptiedUnbondingPotBeginsAnew() public {
        _bond(_accounts[0], 101);
        _bond(_accounts[1], 100);
        _pool.unbond(AGENT, _accounts[0], 1, 0);
        _pool.slash(_accounts[0], EQUIVOCATION_SLASH_PPM);
        assertEq(_pool.unbonding.assets, 0, "emptied");
        assertEq(_pool.unbonding.shares, 0, "given up");
        _pool.unbond(AGENT, _accounts[1], 100, 0);
        assertEq(_pool.unbondingOf(_accounts[1]), 90, "all of the new pot");
        assertEq(_pool.unbondingOf(_accounts[0]), 0, "the old ticket");
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.NothingToWithdraw.selector, AGENT, _accounts[0]));
        this.withdrawBy(_accounts[0]);
        _pool.unbond(AGENT, _accounts[0], 50, 0);
        assertEq(_pool.unbondingOf(_accounts[0]), 45, "a ticket of the new pot, without the old shares");
        (uint128 amount, ) = _pool.withdraw(AGENT, _accounts[1]);
        assertEq(amount, 90, "withdrawn");
    }

    /// @dev 400 slashes of a full pool: the number of shares that a bond mints stays bounded, and the last slash takes
    /// the rest.
    function test_manySlashesEndInAnEmptyPool() public {
        _bond(_accounts[0], MAXIMUM);
        uint256 slashes = 0;
        while (_pool.bonded.assets != 0) {
            _pool.slash(_accounts[0], EQUIVOCATION_SLASH_PPM);
            ++slashes;
            if (_pool.bonded.assets != 0) {
                assertTrue(
                    uint256(_pool.bonded.assets) << 32 >= _pool.bonded.shares,
                    "a share is worth 2^-32 at least"
                );
            }
        }
        // 0.9^210 is the first power below 2^-32.
        assertEq(slashes, 211, "slashes");
    }

    /// @dev ST3: if an account bonds at the lowest allowed price, the last slash takes less than 2^-16 of its bond.
    function test_noBondIsTakenForDust() public {
        _bond(_accounts[0], 2 ** 80);
        while (uint256(_pool.bonded.assets) << 16 >= _pool.bonded.shares)
            _pool.slash(_accounts[0], EQUIVOCATION_SLASH_PPM);
        Pot memory pot = _pool.bonded;
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.SharesAreDust.selector, AGENT, pot.assets, pot.shares));
        this.bondBy(_accounts[1], 1 ether);
        assertTrue(this.unbondBy(_accounts[0], pot.shares / 2) != 0, "whoever is in gets out");

        delete _pool.bonded;
        _pool.bonded = Pot({assets: 2 ** 64, shares: 2 ** 80});
        _bond(_accounts[1], 1 ether);
        uint128 rest = 0;
        for (; _pool.bonded.assets != 0; _pool.slash(_accounts[0], EQUIVOCATION_SLASH_PPM))
            rest = _pool.bondedOf(_accounts[1]);
        assertTrue(rest < 1 ether >> 15, "little is left when all is taken");
    }

    /// @dev Half of three units is cut by two.
    function test_aRestOfExactly32BitsAShareIsLeft() public {
        _pool.bonded = Pot({assets: 3, shares: 2 ** 32});
        _pool.slash(_accounts[0], 500_000);
        assertEq(_pool.bonded.assets, 1, "left");
        _pool.bonded = Pot({assets: 3, shares: 2 ** 32 + 1});
        _pool.slash(_accounts[0], 500_000);
        assertEq(_pool.bonded.assets, 0, "taken");
    }

    function test_priceOfTheLastBond() public {
        _pool.bonded = Pot({assets: 1, shares: 2 ** 16});
        _bond(_accounts[1], 10);
        _pool.bonded = Pot({assets: 1, shares: 2 ** 16 + 1});
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.SharesAreDust.selector, AGENT, 1, 2 ** 16 + 1));
        this.bondBy(_accounts[1], 10);
    }

    /// @dev Makes by hand a state that would need a pot of 2^96 units.
    function test_sharesThatDoNotFitAreRefused() public {
        _pool.bonded = Pot({assets: 2 ** 112, shares: type(uint128).max});
        uint256 total = type(uint128).max + (uint256(2 ** 112) * type(uint128).max) / 2 ** 112;
        vm.expectRevert(abi.encodeWithSelector(IAgentRegistry.TooManyShares.selector, total));
        this.bondUpTo(_accounts[0], 2 ** 112, type(uint128).max);
    }

    function bondBy(address account, uint128 amount) external {
        _pool.bond(AGENT, account, amount, MAXIMUM);
    }

    function bondUpTo(address account, uint128 amount, uint128 maximum) external {
        _pool.bond(AGENT, account, amount, maximum);
    }

    function unbondBy(address account, uint128 shares) external returns (uint128 amount) {
        (amount, ) = _pool.unbond(AGENT, account, shares, 0);
    }

    function withdrawBy(address account) external returns (uint128 amount) {
        (amount, ) = _pool.withdraw(AGENT, account);
    }

    function _bond(address account, uint128 amount) private returns (uint128) {
        (uint128 shares, ) = _pool.bond(AGENT, account, amount, MAXIMUM);
        return shares;
    }

    function _slash() private {
        _pool.slash(_accounts[0], EQUIVOCATION_SLASH_PPM);
        _slashed = true;
    }

    function _move(address mover, uint256 action, uint256 random, uint8 scale) private {
        if (action == 0) {
            uint256 room = MAXIMUM - _pool.bonded.assets;
            if (room == 0 || uint256(_pool.bonded.assets) << 16 < _pool.bonded.shares) return;
            uint256 limit = uint256(1) << (scale % 97);
            uint128 amount = uint128(bound(random, 1, room < limit ? room : limit));
            uint128 shares = _bond(mover, amount);
            assertTrue(shares >= amount, "ST3: a share is never worth more than a unit");
            _in[mover] += amount;
        } else if (action == 1) {
            uint128 held = _pool.sharesOf(mover);
            if (held == 0) return;
            try this.unbondBy(mover, uint128(bound(random, 1, held))) {} catch {}
        } else if (action == 2) {
            vm.warp(vm.getBlockTimestamp() + (random % 8 days));
            _pool.startEarning(mover);
        } else {
            try this.withdrawBy(mover) returns (uint128 amount) {
                _out[mover] += amount;
            } catch {}
        }
    }

    function _worths() private view returns (uint256[4] memory worths) {
        for (uint256 i = 0; i < 4; ++i) {
            worths[i] = uint256(_pool.bondedOf(_accounts[i])) + _pool.unbondingOf(_accounts[i]);
        }
    }

    /// @dev Compares assets / shares by cross multiplication. An empty pot has no price.
    function _assertPriceNotBelow(Pot memory current, Pot memory earlier) private pure {
        if (current.shares == 0 || earlier.shares == 0) return;
        assertTrue(
            uint256(current.assets) * earlier.shares >= uint256(earlier.assets) * current.shares,
            "ST2: the price of a share fell"
        );
    }

    function _assertOthersKeep(address mover, uint256[4] memory before) private view {
        uint256[4] memory current = _worths();
        for (uint256 i = 0; i < 4; ++i) {
            if (_accounts[i] != mover) assertTrue(current[i] >= before[i], "ST2: another lost");
        }
    }

    function _assertSums() private view {
        (uint256 bonded, uint256 unbonding, uint256 shares, uint256 tickets) = (0, 0, 0, 0);
        uint256 joining = 0;
        for (uint256 i = 0; i < 4; ++i) {
            address account = _accounts[i];
            bonded += _pool.bondedOf(account);
            unbonding += _pool.unbondingOf(account);
            shares += _pool.sharesOf(account);
            joining += _pool.joiningOf(account);
            assertEq(_pool.joiningOf(account) + _pool.earningOf(account), _pool.sharesOf(account), "RW6: parts");
            tickets += _pool.ticketOf(account).shares;
            assertTrue(_slashed || _out[account] <= _in[account], "ST4: more out than in");
        }
        assertTrue(bonded <= _pool.bonded.assets && unbonding <= _pool.unbonding.assets, "solvent");
        assertEq(shares, _pool.bonded.shares, "shares");
        assertEq(joining, _pool.joining, "RW6: joining");
        assertEq(tickets, _pool.unbonding.shares, "tickets");
        assertTrue(_pool.bonded.assets <= _pool.bonded.shares, "ST3: bonded");
        assertTrue(_pool.unbonding.assets <= _pool.unbonding.shares, "ST3: unbonding");
    }
}
