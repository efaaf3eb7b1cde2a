// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

// Every bound of the contracts, in one place. Nothing here can be changed after deployment.

/// @dev Fewest blocks between the request (or its reopening) and its seed block, and fewest blocks of the epoch before
/// the seed block.
uint256 constant SEED_DELAY = 8;
/// @dev Fewest blocks of the epoch after the seed block. With the epoch after it they are the time to commit, at least.
uint256 constant DRAW_BLOCKS = 16;
/// @dev Fewest blocks from a cancellation to the seed block: only who proposes so many blocks in a row, up to the seed block, can
/// know the committee when it cancels (SE23). That asker draws as often as it likes: all requests of up to 24 blocks share a seed block.
uint256 constant CANCEL_BLOCKS = 6;
/// @dev A smaller prevrandao is no randomness, but a difficulty (EIP-4399) or the constant of a chain without a beacon. A random
/// one is smaller once in 2^192 blocks.
uint256 constant MIN_PREVRANDAO = 2 ** 64;
/// @dev Smallest committee: n = 3f + 1 with f = 1.
uint256 constant MIN_COMMITTEE = 4;
/// @dev Largest committee; the seat bitmap and every loop over seats are bounded by it.
uint256 constant MAX_COMMITTEE = 64;
/// @dev Longest question, in bytes.
uint256 constant MAX_QUESTION_BYTES = 8192;
/// @dev Longest answer to a question for a text, in bytes.
uint256 constant MAX_ANSWER_BYTES = 1024;
/// @dev Longest answer of any other kind: a number has at most 79 characters.
uint256 constant MAX_SHORT_ANSWER_BYTES = 128;
/// @dev Most gas a consumer can ask for its callback.
uint256 constant MAX_CALLBACK_GAS = 2_000_000;
/// @dev Gas that must remain beside the callback's: cold account access, the last storage write, the last event.
uint256 constant CALLBACK_RESERVE_GAS = 15_000;
/// @dev Most calls in one `tryMulticall`.
uint256 constant MAX_CALLS = 128;
/// @dev Most bytes of a failed call's reason that are kept: our longest error, a selector and three words.
uint256 constant MAX_REASON_BYTES = 100;
/// @dev Unit of the gas price in a `Relay`, in wei.
uint256 constant GAS_PRICE_UNIT = 1e6;
/// @dev Shortest period of a request, in seconds: long enough for honest seats to answer, so that no draw is free (docs/adr/011).
uint256 constant MIN_DURATION = 30 minutes;
/// @dev Longest period of a request, in seconds: what one committee has, and how long an appeal may take.
uint256 constant MAX_DURATION = 7 days;
/// @dev Longest wait before the first committee, in seconds.
uint256 constant MAX_DELAY = 30 days;
/// @dev How long a request waits after a committee found that it is too early to answer, in seconds (SE25).
uint256 constant TOO_EARLY_WAIT = 1 days;
/// @dev Stands for the seed block while a request waits and has no committee. No chain has so many blocks.
uint64 constant NO_SEED_BLOCK = type(uint48).max;
/// @dev Most appeals that terms may allow.
uint256 constant MAX_APPEALS = 3;
/// @dev Greatest `finality` of terms, in percent.
uint256 constant MAX_FINALITY = 100;
/// @dev One percent of confidence, in parts per million.
uint256 constant CONFIDENCE_PERCENT = 10_000;
/// @dev Fewest appeals of secured terms: two larger committees must be able to overturn the first (SC1).
uint256 constant MIN_SECURED_APPEALS = 2;
/// @dev Most replacements of hung committees that terms may allow.
uint256 constant MAX_RETRIES = 3;
/// @dev Most seats of all committees that terms may allow: settling them all, at the worst, takes some 13.5 million gas, four
/// fifths of what a transaction may take.
uint256 constant MAX_REQUEST_SEATS = 160;
/// @dev Units of pay for each seat of a committee that decided; each seat of a committee that hung earns one unit.
uint256 constant DECIDED_UNITS = 2;
/// @dev Gas that a relayer is paid for a commit, without its seats and its callback: what `npm run bench:gas` measures.
uint256 constant RELAY_BASE_GAS = 65_000;
/// @dev Gas that a relayer is paid for each seat of the committee: its place in the proof, two thirds of a signature.
uint256 constant RELAY_SEAT_GAS = 8_000;
/// @dev Gas that a relayer is paid for each seat of the rounds before, which its commit brings along, and of which the draw leaves out
/// some. Where it met and left out each of them it used up to 4,830, usually 1,000 to 2,000.
uint256 constant PAST_SEAT_GAS = 5_000;
/// @dev Gas that a relayer is paid for each byte of a text.
uint256 constant ANSWER_BYTE_GAS = 26;
/// @dev Gas that whoever pays the seats is paid for: the relayer whose commit settles, or the caller of `settle`.
uint256 constant PAY_BASE_GAS = 35_000;
/// @dev Gas that whoever pays the seats is paid for each seat of all rounds.
uint256 constant PAY_SEAT_GAS = 8_000;
/// @dev Gas that whoever pays the seats is paid for each reputation that their decisions change: the draw's word of the agent is
/// written, too, and what it was before.
uint256 constant CHANGE_GAS = 16_000;
/// @dev Gas that the caller of `settle` is paid for beside that: a transaction of its own.
uint256 constant SETTLE_GAS = 55_000;
/// @dev Gas that the caller of `settle` is paid for each round of the record: its decision in calldata, its credits and its events.
uint256 constant SETTLE_ROUND_GAS = 35_000;
/// @dev Gas that the caller of `replace` is paid for: with the first credit of a payer.
uint256 constant REPLACE_GAS = 74_000;
/// @dev Gas that the caller of `finalize` or `refund` is paid for, without the callback's gas: with the first credit of a
/// payer, a callback that fails, and a seed block that only EIP-2935 proves (delivery-cost.test.ts).
uint256 constant DELIVERY_GAS = 83_000;
/// @dev Gas that the caller of `fallBack` is paid for, likewise, and with the first credit of an appellant.
uint256 constant FALL_BACK_GAS = 111_000;
/// @dev Most wei per gas above the block's base fee that a relayer or caller is paid. Where blocks take no smaller tip than this,
/// relaying is paid below its cost; where it is much, the cap of the price list is the bound.
uint256 constant MAX_TIP = 1 gwei;
/// @dev The committees that an appeal calls earn at most this many times the list's unit price for each unit. So the asker's fee
/// does not set the bond: twice the list leaves an asker room where prices lag behind what models cost.
uint256 constant BOND_UNIT_CAP = 2;
/// @dev An upheld appeal earns what the seats of the overturned round would have got, divided by this: with all of it, a
/// committee that knows it is wrong would lose nothing by appealing against itself.
uint256 constant APPEAL_REWARD_DIVISOR = 2;
/// @dev Most that the treasury can get of a round's pay, in parts per million.
uint256 constant MAX_TREASURY_PPM = 200_000;
/// @dev A gas rate is the price of this many wei of gas.
uint256 constant GAS_RATE_WEI = 1e18;
/// @dev Most decimals of a number: the outcome stays far inside int256.
uint256 constant MAX_DECIMALS = 18;
/// @dev Fewest options of a choice, fewest policies to choose from.
uint256 constant MIN_OPTIONS = 2;
/// @dev Most options of a choice, most policies to choose from: one letter each.
uint256 constant MAX_OPTIONS = 26;
/// @dev Confidence is in parts per million.
uint256 constant CONFIDENCE_ONE = 1_000_000;

/// @dev Most slashes of one seat by one decision, and of one agent in a week: no committee can destroy a reputation at once.
uint256 constant MAX_SLASHES = 3;
/// @dev A smaller committee slashes a seat once at most: it is cheap to ask until one's own agents hold it (docs/adr/012).
uint256 constant SLASHING_COMMITTEE = 13;
/// @dev Length of a week in seconds, counted from 1970. Only the deepest fall of an agent's reputation in a week takes effect
/// (docs/adr/012), and only its first lessons.
uint256 constant WEEK_SECONDS = 7 days;
/// @dev Most lessons of an agent in a week that change its skill: a whole memory of 127 contested decisions takes sixteen weeks (SK5).
uint256 constant MAX_WEEKLY_LESSONS = 8;
/// @dev When an agent's contested decisions reach this number, both of its counters are halved: older decisions count for less (SK4).
uint256 constant SKILL_MEMORY = 128;
/// @dev An agent that misses so many seats in a row sleeps: it is not drawn until it is woken.
uint256 constant MAX_MISSES = 3;

/// @dev The reputation 1, in parts per million.
uint256 constant REPUTATION_ONE = 1_000_000;
/// @dev Reputation never falls below this, so that no weight is 0.
uint256 constant REPUTATION_FLOOR = 10_000;
/// @dev An agent whose reputation falls below this leaves the draw for good.
uint256 constant EXIT_REPUTATION = 100_000;
/// @dev One slash multiplies the reputation by this many parts per million (sigma).
uint256 constant SLASH_FACTOR_PPM = 800_000;
/// @dev One recovery step adds this many parts per million.
uint256 constant RECOVERY_STEP_PPM = 10_000;
/// @dev How many settled requests must pay an agent or raise its reputation until its stake weighs in full in the draw;
/// before, it weighs half.
uint256 constant PROVEN_SERVICE = 16;
/// @dev maxStake <= minStake * this: the weights of all candidates lie in `Candidates.BUCKETS` buckets.
uint256 constant MAX_STAKE_RATIO = 16;
/// @dev Most agents that can ever be registered: an index in a bucket has 22 bits.
uint256 constant MAX_AGENTS = (1 << 22) - 1;
/// @dev Most probes of a draw, besides `PROBES_PER_DRAWN` for each wanted seat and each excluded agent. More than half of all probes
/// draw a candidate, so more are needed with a probability below 2^-256.
uint256 constant BASE_PROBES = 256;
/// @dev See `BASE_PROBES`.
uint256 constant PROBES_PER_DRAWN = 8;
/// @dev A committee leaves out agents of those that it reviews as long as they hold at most the draw's tickets divided by this (DR4).
uint256 constant LEFT_OUT_DIVISOR = 8;
/// @dev Shortest epoch, in blocks: one seed block with what must lie before and after it.
uint256 constant MIN_EPOCH_BLOCKS = SEED_DELAY + 1 + DRAW_BLOCKS;
/// @dev Longest epoch, in blocks: a day of 12-second blocks.
uint256 constant MAX_EPOCH_BLOCKS = 7200;
/// @dev How long after the end of a request its evidence still finds the stake, in seconds.
uint256 constant EVIDENCE_WINDOW = 7 days;
/// @dev Longest time that an epoch takes, in seconds: `MAX_EPOCH_BLOCKS` of twelve seconds, where fewer than half of the slots are empty.
uint256 constant MAX_EPOCH_SECONDS = 2 days;
/// @dev Shortest unbonding delay, in seconds: stake cannot leave before the evidence window of what its agent was drawn for. A draw
/// sees the registry as its epoch began, so an agent that leaves in the first block is drawn until the last.
uint256 constant MIN_UNBONDING_DELAY = MAX_EPOCH_SECONDS + MAX_DURATION + EVIDENCE_WINDOW;
/// @dev Longest unbonding delay, in seconds.
uint256 constant MAX_UNBONDING_DELAY = 365 days;
/// @dev How long shares are stake before they earn, in seconds: the longest time from a request to the pay of its committee if
/// nobody appeals and nobody retries (docs/adr/017).
uint256 constant JOINING_DELAY = 2 * MAX_DURATION;
/// @dev Most that an operator may keep of its agent's pay before it is divided by shares, in parts per million.
uint256 constant MAX_COMMISSION_PPM = 500_000;
/// @dev Largest maxStake: with `MAX_SHARE_BITS` no number of shares exceeds a uint128.
uint256 constant MAX_STAKE_BOUND = type(uint96).max;
/// @dev Shares are worth at least 2^-32 of the stake token's smallest unit, or nothing at all.
uint256 constant MAX_SHARE_BITS = 32;
/// @dev Nobody bonds to a pot whose shares are worth less than 2^-16 units; see `StakePool.bond`.
uint256 constant MAX_BOND_SHARE_BITS = 16;
/// @dev The cost of an equivocation, in parts per million of the bonded and of the unbonding stake.
uint256 constant EQUIVOCATION_SLASH_PPM = 100_000;
/// @dev The cost of certifying a decision that two larger committees overturned, in parts per million of the bonded and of the
/// unbonding stake: half of an equivocation, which no honest agent commits, while honest models can be wrong (SC3).
uint256 constant OVERTURN_SLASH_PPM = 50_000;
/// @dev No seat loses more for it than so many times what a seat of the committees that appeals call earns (docs/adr/020): so an agent
/// that is overturned less often than once in so many secured requests gains by them, and an asker cannot burn much stake for little.
uint256 constant OVERTURN_PAY_MULTIPLE = 100;
/// @dev Each of two appellants gets a unit of these committees' pay for it, but at most what so much gas costs at the base fee. Together
/// that is less than half of the gas of the call that slashes, so nobody who makes both appeals and the call lives on it (docs/adr/020).
uint256 constant OVERTURN_REWARD_GAS = 100_000;
/// @dev What the reporter gets, in parts per million of what the operator's own stake lost by it.
uint256 constant REPORTER_PPM = 100_000;
/// @dev The least reward, where the operator's own loss allows it, is minStake divided by this: half of what an active agent
/// loses at least.
uint256 constant LEAST_REWARD_DIVISOR = 20;
/// @dev The least reward of a reporter is at most an operator's own loss divided by this,
/// so that a report never pays its author.
uint256 constant REWARD_LOSS_DIVISOR = 2;
/// @dev The whole, in parts per million.
uint256 constant PPM_ONE = 1_000_000;
/// @dev Longest model descriptor, in bytes.
uint256 constant MAX_MODEL_BYTES = 256;
/// @dev Longest endpoint list, in bytes.
uint256 constant MAX_ENDPOINT_BYTES = 512;
