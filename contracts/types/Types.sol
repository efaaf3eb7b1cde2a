// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

/// @notice A registered agent. Ids start at 1, are never reused, and are below 2^22.
type AgentId is uint32;

/// @notice The id of a request, see `RequestIdLib`: priceVersion uint16 (the price list in force) | subscription uint48 (0 = its
/// consumer paid directly) | count uint48 (of that subscription's requests, this one included). From the highest bit to the lowest;
/// the bits above are 0.
type RequestId is uint256;

/// @notice All numeric terms of a request in one word, see `RequestTermsLib` and `Terms`: fee uint80 | delay uint24 | finality uint8 | duration uint24 | appeals uint4
/// | retries uint4 | tolerance uint40 | callbackGasLimit uint24 | committeeSize uint8 | assurance uint2 | nonAnswers uint2 | security uint2 | currency uint2 |
/// decimals uint8 | options uint8 | kind uint8 | protocol uint8. From the highest bit to the lowest.
type RequestTerms is uint256;

/// @notice Where a request stands, in one word, see `RoundLib`: link uint208 (the upper bits of the hash of the
/// rounds before; 0 in the first round) | appeals uint8 (made so far) | deadline uint40 (end of the running period in unix seconds).
/// From the highest bit to the lowest.
type Round is uint256;

/// @notice The price list of one currency in one word, see `PricesLib` and `PriceTerms`: unitPrice uint80 | gasRate uint80 |
/// gasPriceCap uint32 (in units of 10^6 wei) | treasuryPpm uint24 | version uint16 | open uint8 (1 = requests are taken). From the
/// highest bit to the lowest; the bits above are 0.
type Prices is uint256;

/// @notice One drawn seat in one word, see `SeatLib`: skill uint8 (at the draw) | agentId uint32 | reputation uint32 (parts per million, at the draw) | signer
/// address. From the highest bit to the lowest; the bits above are 0. The index in the committee array is the seat number.
type Seat is uint256;

/// @notice The small members of a decision in one word, see `DecisionHeadLib`: status uint8 | attempt uint8 (from
/// 0) | seats uint8 (size of the committee) | round uint32 (the ballot of the precommits) | confidence uint32
/// (parts per million) | answered uint64 (bit i set = the decision teaches about seat i, 0 = about nobody) | agreed uint64 (bit i set =
/// its blind answer agrees). From the highest bit to the lowest; the bits above are 0.
type DecisionHead is uint256;

/// @notice Who brought a decision on chain, at which gas price and with whose signatures, in one word, see `RelayLib`: signers uint64
/// (bit i set = seat i signed) | gasPrice uint32 (in units of 10^6 wei, saturating) | relayer address. From the highest bit to the
/// lowest.
type Relay is uint256;

/// @notice What a settled request did to one agent that sat for it, in one word, see `ServiceLib`: agentId uint32 | steps uint8 (an
/// int8 in two's complement: negative = that many slashes, positive = that many recovery steps, 0 = none) | missed uint8 (1 = its seat
/// is attested as absent) | answered uint8 (1 = the decision teaches about the
/// agent) | agreed uint8 (1 = its blind answer agrees) | earned uint96 (what the seat was paid, in the smallest unit of the
/// payout's currency). From the highest bit to the lowest; the bits above are 0.
type Service is uint256;

/// @notice The currency of fees, bonds and pay: the oracle's fee token, or the coin of the chain. They never mix.
enum Currency {
    Token,
    Native
}

/// @notice The state of a request. `Refunded` is final; what a committee can decide, `Decided` to `TooEarly`, is final unless the decision is
/// provisional. `Hung`: it found no consensus. `Unanswerable`: the sources do not tell. `TooEarly`: what is asked about is still to come. A committee is
/// never stored, so nothing tells a request that waits for its seed block from one whose committee is at work.
enum Status {
    None,
    Requested,
    Decided,
    Hung,
    Unanswerable,
    TooEarly,
    Refunded
}

/// @notice The unpacked form of `RequestTerms`.
/// @param fee the amount that the asker escrows for all rounds that can follow, in the smallest unit of the currency;
/// at least `quote`
/// @param delay seconds before the first committee is called, at most 30 days; 0 = at once. The wait takes one of the retries: whoever calls
/// `replace` after it is paid for that
/// @param finality 0 = a decision waits for an appeal, if the terms allow any. 1 to 100 = it never waits: it is final at once if its confidence is
/// at least this many percent, otherwise the oracle calls the larger committee that an appeal would call, until `appeals` were called
/// @param duration seconds that each committee has to decide, and that an appealable decision waits for an appeal
/// @param appeals the most appeals, 0 to 3; 0 = the first decision is final. Each appeal calls a committee of twice the
/// size plus one. Must be 0 for texts: a contract cannot tell whether two committees' texts agree
/// @param retries how often another committee of the same size replaces one that hung or stayed silent, 0 to 3. Before any appeal, two of them
/// ask again a day after a committee found that it is too early
/// @param tolerance numbers only: two answers agree iff they differ by at most this much, in units of 10^-decimals.
/// Choose it above 0 with appeals: with 0, a committee whose answer differs in the last digit overturns the one before
/// @param callbackGasLimit the gas that the callback gets; 0 = no callback
/// @param committeeSize the number of seats of the first committee. The committee of the last appeal may have at most
/// 64 seats, and all committees with their retries at most 160
/// @param assurance 0 normal (accept quorum > 1/2), 1 high (> 2/3)
/// @param nonAnswers 0 accepted, 1 refused: then no decision says `Unanswerable` or `TooEarly`, and a committee that finds so hangs
/// @param security 0 none, 1 secured: the seats that certified a decision lose stake if two larger committees overturn it
/// (docs/spec/security.md). Needs high assurance, at least 2 appeals that somebody pays (a finality of 0), and a fee in the stake token, and all periods together
/// may last at most seven days
/// @param currency the currency of the fee, bonds and pay, see `Currency`
/// @param decimals numbers only: the outcome is the value times 10^decimals
/// @param options choice and policies only: how many options or policies, 2 to 26
/// @param kind `RequestTermsLib.KIND_BOOLEAN` and the constants after it
/// @param protocol the on-chain code of the deliberation protocol
struct Terms {
    uint80 fee;
    uint24 delay;
    uint8 finality;
    uint24 duration;
    uint8 appeals;
    uint8 retries;
    uint40 tolerance;
    uint24 callbackGasLimit;
    uint8 committeeSize;
    uint8 assurance;
    uint8 nonAnswers;
    uint8 security;
    uint8 currency;
    uint8 decimals;
    uint8 options;
    uint8 kind;
    uint8 protocol;
}

/// @notice A request. The oracle stores only its hash; the `Requested` event holds it, and callers pass it back in
/// calldata.
struct Request {
    RequestId id;
    address consumer;
    RequestTerms terms;
    bytes32 questionHash;
}

/// @notice What a committee decided. See `DecisionLib` for the EIP-712 type that it signs, where every member stands alone.
/// @param head status, attempt, seats, round, confidence, answered and agreed, see `DecisionHead`
/// @param outcome the canonical outcome, by kind as `DecisionLib` and docs/spec/answers.md say; 0 when `Hung`, 2^256 - 1 when
/// `Unanswerable`, 2^256 - 2 when `TooEarly`, as Reality.eth writes them. The status tells a non-answer from the number -1
/// @param transcript sha2-256 digest of the dag-cbor root block (CIDv1)
/// @param answer the canonical answer as UTF-8; empty unless `Decided`
/// @param merits first the shares, one byte per seat: the seat's share, where all may be 0; 255 = the seat was
/// absent; then the reputation changes, pairs of bytes (seat, int8 steps): -1 to -3 = that many slashes, +1 = one recovery step; seats strictly ascending
struct Decision {
    DecisionHead head;
    bytes32 outcome;
    bytes32 transcript;
    bytes answer;
    bytes merits;
}

/// @notice What proves the committee of a running attempt.
/// @param seedBlock as in the latest `Requested` or `RequestReopened` event
/// @param header RLP of the seed block's header, from eth_getBlockByNumber. It may be empty where an earlier call of the same
/// transaction has proven the seed block
/// @param past the rounds before this one, from the first
struct Seed {
    uint64 seedBlock;
    bytes header;
    PastRound[] past;
}

/// @notice An earlier round of a request, as far as a committee depends on it.
/// @param round as it was when the decision was made
/// @param committee the seats in order
/// @param structHash the EIP-712 struct hash of the decision, see `DecisionLib`
/// @param relay as in the `DecisionCommitted` event
/// @param appellant who appealed against the decision; 0 if another committee of the same size followed, or a larger
/// one because it was not sure enough (SE24)
struct PastRound {
    Round round;
    Seat[] committee;
    bytes32 structHash;
    Relay relay;
    address appellant;
}

/// @notice An earlier round of a request, as the link of the round after it is hashed.
/// @param round as it was when the decision was made; if that is provisional, the deadline is the end of its appeal period
/// @param committeeHash the hash of its committee, see `SeatLib`
/// @param structHash the EIP-712 struct hash of the decision, see `DecisionLib`
/// @param relay as in the `DecisionCommitted` event
/// @param appellant who appealed against the decision; 0 if another committee of the same size followed, or a larger
/// one because it was not sure enough (SE24)
struct HashedRound {
    Round round;
    bytes32 committeeHash;
    bytes32 structHash;
    Relay relay;
    address appellant;
}

/// @notice A round of a request with its whole decision.
/// @param round as it was when the decision was made; if that is provisional, the deadline is the end of its appeal period
/// @param committee the seats in order
/// @param decision as in the `DecisionCommitted` event
/// @param relay as in the `DecisionCommitted` event
/// @param appellant who appealed against the decision; 0 if another committee of the same size followed, or a larger
/// one because it was not sure enough (SE24); ignored for the last
/// round
struct DecidedRound {
    Round round;
    Seat[] committee;
    Decision decision;
    Relay relay;
    address appellant;
}

/// @notice What came of a request.
/// @param status what the last committee decided, or `Hung` where nobody answered after it; `None` where nobody has stored it
/// @param attempt the latest attempt, from 0
/// @param confidence parts per million
/// @param value see `Decision.outcome`
struct Outcome {
    Status status;
    uint32 attempt;
    uint32 confidence;
    bytes32 value;
}

/// @param amount in the smallest unit of the payout's currency
struct Payment {
    address account;
    uint256 amount;
}

/// @notice How the escrow of a request is distributed.
/// @param currency the currency of all amounts
/// @param consumer the account that asked
/// @param rest what goes back to the request's subscription, or to the consumer's credit
/// @param earned what all seats earn together
/// @param payments credits; an account may be there more than once
/// @param services one for each seat of the rounds that stand, in the order of rounds, then of seats
struct Payout {
    Currency currency;
    address consumer;
    uint256 rest;
    uint256 earned;
    Payment[] payments;
    Service[] services;
}

/// @notice The prices that governance sets for one currency.
/// @param unitPrice what a seat of a hung committee earns before shares and deductions; one of a committee that decided earns
/// twice as much. In the smallest unit of the currency
/// @param gasRate smallest units of the currency for 10^18 wei of gas; 10^18 for the native coin
/// @param gasPriceCap most wei per gas that relayers are paid, a multiple of 10^6
/// @param treasuryPpm what the treasury gets of a round's pay, in parts per million
struct PriceTerms {
    uint80 unitPrice;
    uint80 gasRate;
    uint64 gasPriceCap;
    uint24 treasuryPpm;
}

/// @notice Stake that belongs to the holders of its shares; a share is worth assets / shares, never more than 1.
/// @param assets in the smallest unit of the stake token
/// @param shares all that were minted and not yet burnt
struct Pot {
    uint128 assets;
    uint128 shares;
}

/// @notice An EIP-2612 permit for the stake token.
struct Permit {
    uint256 value;
    uint256 deadline;
    uint8 v;
    bytes32 r;
    bytes32 s;
}
