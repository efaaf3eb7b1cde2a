// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {EQUIVOCATION_SLASH_PPM, PPM_ONE, PROVEN_SERVICE} from "../../../contracts/types/Limits.sol";
import {AgentAccount} from "../../../contracts/libraries/AgentAccountLib.sol";
import {AgentBook} from "../../../contracts/libraries/AgentBook.sol";
import {Candidate, CandidateLib, Candidates} from "../../../contracts/libraries/Candidates.sol";
import {DrawLib} from "../../../contracts/libraries/DrawLib.sol";
import {ServiceLib} from "../../../contracts/libraries/ServiceLib.sol";
import {StakePool} from "../../../contracts/libraries/StakePool.sol";
import {AgentId, Currency, Service} from "../../../contracts/types/Types.sol";
import {withLesson} from "./Draft.sol";
import {Assertions, vm} from "./Vm.sol";

/// @dev Moves agents of a book at random, without keys and tokens, and keeps what each epoch showed when it began.
contract BookHandler is Assertions {
    using AgentBook for AgentBook.State;
    using Candidates for Candidates.State;
    using StakePool for StakePool.State;

    uint32 private constant MAX_AGENTS = 16;
    uint128 private constant MIN_STAKE = 1 ether;
    uint128 private constant MAX_STAKE = 16 ether;
    address private constant OPERATOR = address(0x0e);
    address private constant DELEGATOR = address(0xde);

    uint64 public epoch = 3;
    mapping(bytes32 action => uint256 count) public done;

    AgentBook.State private _book;
    uint256 private _keys;
    mapping(uint64 epoch => bytes32 view_) private _views;

    /// @dev Not the constructor, since draws are calls to this contract.
    function begin() external {
        for (uint256 i = 0; i < 4; ++i) _create(MIN_STAKE * uint128(1 + 5 * i));
        _views[epoch] = _viewOf(epoch);
        pass(0);
    }

    function create(uint256 stake) external {
        if (_book.count == MAX_AGENTS) return;
        _create(uint128(bound(stake, MIN_STAKE, MAX_STAKE)));
        ++done["create"];
    }

    function bond(uint256 agent, uint256 amount, bool delegated) external {
        AgentId id = _id(agent);
        AgentBook.Record storage record = _book.records[id];
        uint128 room = MAX_STAKE - record.pool.bonded.assets;
        if (room == 0 || record.account.exited() || (delegated && record.position == 0)) return;
        _book.bond(_rules(), id, delegated ? DELEGATOR : OPERATOR, uint128(bound(amount, 1, room)));
        ++done["bond"];
    }

    function unbond(uint256 agent, uint256 shares, bool delegated) external {
        AgentId id = _id(agent);
        AgentBook.Record storage record = _book.records[id];
        address account = delegated ? DELEGATOR : OPERATOR;
        uint128 held = record.pool.sharesOf(account);
        // Shares of a slashed pot are worth less than a unit.
        if (held < 1000) return;
        bool isActive = record.position != 0;
        _book.unbond(_rules(), id, account, uint128(bound(shares, 1000, held)), 1);
        if (isActive && record.position == 0) ++done["leave"];
        ++done["unbond"];
    }

    function settle(uint256 agent, uint256 steps) external {
        AgentId id = _id(agent);
        AgentBook.Record storage record = _book.records[id];
        uint256 bucket = record.position == 0 ? 0 : Candidates.bucketAt(record.position);
        // Each week has another deepest fall. Services come often enough that agents are proven.
        vm.warp(vm.getBlockTimestamp() + 7 days);
        int8 change = steps % 3 == 0 ? -int8(uint8(1 + ((steps >> 2) % 3))) : int8(uint8(steps % 3));
        bool missed = (steps >> 4) % 4 == 0;
        // An agent that is off misses some seats in a row.
        uint256 seats = missed ? 1 + ((steps >> 6) % 3) : 1;
        uint256 reputation = record.account.reputation();
        // Half of all agents are often outvoted, the others seldom.
        uint256 lot = (steps >> 8) % 4;
        bool isTypical = lot != 1;
        bool agrees = isTypical == (AgentId.unwrap(id) % 2 == 0);
        for (uint256 i = 1; i <= seats; ++i) {
            // The last fall of a week is the deepest.
            Service service = ServiceLib.pack(id, i == seats ? change : int8(0), missed, missed ? 0 : 1);
            if (lot != 0) service = withLesson(service, agrees);
            _book.serve(_rules(), Currency.Token, service);
        }
        // RE4: all these seats are of one week, so only the deepest of their falls counts. A miss costs one slash at least.
        if (missed) {
            reputation = _fallen(reputation, change < -1 ? uint8(-change) : 1);
            assertEq(record.account.reputation(), reputation, "the falls of one week");
        }
        if (record.position != 0 && Candidates.bucketAt(record.position) != bucket) ++done["anotherBucket"];
        if (record.account.service() == PROVEN_SERVICE) ++done["proven"];
        if (record.account.exited()) ++done["exited"];
        if (record.account.asleep()) ++done["asleep"];
        if (record.account.skill() != 2) ++done[record.account.skill() == 1 ? bytes32("skill 1") : bytes32("skill 3")];
        ++done["settle"];
    }

    /// @dev SK5: more contested decisions in one week than it has room for.
    function crowd(uint256 agent, uint256 more) external {
        AgentId id = _id(agent);
        AgentBook.Record storage record = _book.records[id];
        vm.warp(vm.getBlockTimestamp() + 7 days);
        uint256 contested = record.account.contested();
        Service service = withLesson(ServiceLib.pack(id, 0, false, 1), AgentId.unwrap(id) % 2 == 0);
        for (uint256 i = 0; i < 9 + (more % 4); ++i) _book.serve(_rules(), Currency.Token, service);
        // SK4: where they reach 128 they are halved.
        contested += 8;
        if (contested >= 128) contested = 64 + contested - 128;
        assertEq(record.account.contested(), contested, "the lessons of one week");
        ++done["crowd"];
    }

    function wake(uint256 agent) external {
        for (uint256 i = 0; i < _book.count; ++i) {
            AgentId id = _id((agent % MAX_AGENTS) + i);
            if (!_book.records[id].account.asleep()) continue;
            _book.wake(_rules(), id);
            if (_book.records[id].position != 0) ++done["wake"];
            return;
        }
    }

    /// @dev SC3: no more is taken than allowed, but for rounding: up to a part per million of the stake less, up to a unit in each pot more.
    function slash(uint256 agent, uint256 most) external {
        StakePool.State storage pool = _book.records[_id(agent)].pool;
        uint256 stake = uint256(pool.bonded.assets) + pool.unbonding.assets;
        // One in two slashes is bounded by this.
        most = bound(most, 0, stake / 5);
        (uint128 bonded, uint128 unbonding, ) = _book.slash(_rules(), _id(agent), EQUIVOCATION_SLASH_PPM, most);
        uint256 taken = uint256(bonded) + unbonding;
        uint256 allowed = most < stake / 10 ? most : stake / 10;
        assertTrue(taken + stake / PPM_ONE + 1 >= allowed, "too little was slashed");
        // A rest that is worth next to nothing is taken as well.
        bool isEmptied = (bonded != 0 && pool.bonded.assets == 0) || (unbonding != 0 && pool.unbonding.assets == 0);
        assertTrue(isEmptied || taken <= allowed + 3, "too much was slashed");
        if (most < stake / 10) ++done["slashBounded"];
        ++done["slash"];
    }

    function rotate(uint256 agent) external {
        _book.rotate(_rules(), _id(agent), _newKey(), 1);
        ++done["rotate"];
    }

    /// @dev Begins the next epoch, or one that is further off.
    function pass(uint256 epochs) public {
        for (uint256 i = 0; i <= epochs % 3; ++i) {
            ++epoch;
            _views[epoch] = _viewOf(epoch);
        }
        ++done["pass"];
    }

    /// @dev DR3, SK7: the running epoch and the one before it show what they showed when they began.
    function requireViews() external view {
        assertTrue(_viewOf(epoch) == _views[epoch], "the running epoch");
        assertTrue(_viewOf(epoch - 1) == _views[epoch - 1], "the epoch before");
    }

    /// @dev DR1: buckets, positions and records agree.
    function requireAgreement() external view {
        uint256 active = 0;
        // Nobody writes in the epoch after this one, so it shows the latest words.
        uint256 counts = _book.active.countsIn(epoch + 1);
        for (uint32 id = 1; id <= _book.count; ++id) {
            AgentBook.Record storage record = _book.records[AgentId.wrap(id)];
            AgentAccount account = record.account;
            // SK4, SK6
            assertTrue(account.agreed() <= account.contested() && account.contested() < 128, "the counters of a skill");
            assertTrue(account.skill() >= 1 && account.skill() <= 3, "skill");
            bool isActive = !account.exited() && !account.asleep() && record.pool.bondedOf(OPERATOR) >= MIN_STAKE;
            assertTrue(isActive == (record.position != 0), "active");
            if (!isActive) continue;
            ++active;
            Candidate candidate = _book.active.at(record.position);
            Candidate expected = CandidateLib.pack(
                record.pool.bonded.assets,
                MAX_STAKE,
                account.service() < PROVEN_SERVICE,
                account.reputation(),
                account.skill(),
                AgentId.wrap(id),
                record.signer
            );
            assertEq(Candidate.unwrap(candidate) >> 28, Candidate.unwrap(expected) >> 28, "its own word");
            uint256 bucket = Candidates.bucketAt(record.position);
            assertTrue(bucket < Candidates.BUCKETS, "bucket");
            assertTrue(candidate.weight() << bucket <= CandidateLib.WEIGHT_ONE, "upper bound");
            assertTrue(candidate.weight() << (bucket + 1) > CandidateLib.WEIGHT_ONE, "lower bound");
            uint256 size = (counts >> (22 * bucket)) & 0x3fffff;
            assertTrue(record.position - 1 < Candidates.placeOf(bucket, size), "inside its bucket");
        }
        assertEq(_book.active.count(), active, "nobody else");
    }

    /// @dev Used through `this`, since a draw takes the excluded agents from calldata.
    function drawn(uint64 epoch_, uint256 size, AgentId[] calldata excluded) external view returns (bytes32) {
        return keccak256(abi.encode(DrawLib.draw(_book.active, epoch_, keccak256(abi.encode(size)), size, excluded)));
    }

    /// @dev Hashes all words that an epoch shows, and a draw.
    function _viewOf(uint64 epoch_) private view returns (bytes32 hash) {
        uint256 counts = _book.active.countsIn(epoch_);
        for (uint256 bucket = 0; counts != 0; ++bucket) {
            uint256 size;
            (size, counts) = Candidates.nextCount(counts);
            for (uint256 i = 0; i < size; ++i)
                hash = keccak256(abi.encode(hash, _book.active.atIn(epoch_, Candidates.placeOf(bucket, i))));
        }
        uint256 count = _book.active.countIn(epoch_);
        AgentId[] memory nobody = new AgentId[](0);
        hash = keccak256(abi.encode(hash, count, this.drawn(epoch_, count / 2, nobody)));
    }

    /// @dev Four fifths for each slash, rounded down, but not below a hundredth.
    function _fallen(uint256 reputation, uint256 slashes) private pure returns (uint256) {
        for (uint256 i = 0; i < slashes; ++i) reputation = reputation * 4 > 50_000 ? (reputation * 4) / 5 : 10_000;
        return reputation;
    }

    function _create(uint128 stake) private {
        AgentId id = _book.create(OPERATOR, _newKey(), 0);
        _book.bond(_rules(), id, OPERATOR, stake);
    }

    function _newKey() private returns (address) {
        return address(uint160(++_keys));
    }

    function _id(uint256 agent) private view returns (AgentId) {
        return AgentId.wrap(uint32(1 + (agent % _book.count)));
    }

    function _rules() private view returns (AgentBook.Rules memory) {
        return AgentBook.Rules({minStake: MIN_STAKE, maxStake: MAX_STAKE, epoch: epoch});
    }
}
