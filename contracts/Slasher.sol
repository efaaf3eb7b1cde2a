// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IDecisionOracle} from "./interfaces/IDecisionOracle.sol";
import {ISlasher} from "./interfaces/ISlasher.sol";
import {DecisionHeadLib} from "./libraries/DecisionHeadLib.sol";
import {EvidenceLib} from "./libraries/EvidenceLib.sol";
import {HistoryLib} from "./libraries/HistoryLib.sol";
import {OverturnLib} from "./libraries/OverturnLib.sol";
import {PricesLib} from "./libraries/PricesLib.sol";
import {RelayLib} from "./libraries/RelayLib.sol";
import {RequestIdLib} from "./libraries/RequestIdLib.sol";
import {RequestLib} from "./libraries/RequestLib.sol";
import {RequestState, RequestStateLib} from "./libraries/RequestState.sol";
import {RequestTermsLib} from "./libraries/RequestTermsLib.sol";
import {RoundLib} from "./libraries/RoundLib.sol";
import {SeatLib} from "./libraries/SeatLib.sol";
import {
    DECIDED_UNITS,
    EVIDENCE_WINDOW,
    GAS_RATE_WEI,
    OVERTURN_PAY_MULTIPLE,
    OVERTURN_REWARD_GAS,
    WEEK_SECONDS
} from "./types/Limits.sol";
import {
    AgentId,
    DecidedRound,
    DecisionHead,
    Prices,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Seat
} from "./types/Types.sol";

/// @title Slashes agents by proof, and the seats whose secured decision two larger committees overturned
/// @dev The contract has no owner, no upgrade and no settings. A proof stays valid after a key rotation, as long as
/// stake that left with the key can be slashed.
contract Slasher is ISlasher {
    using DecisionHeadLib for DecisionHead;
    using EvidenceLib for EvidenceLib.ProvenSeat;
    using PricesLib for Prices;
    using RelayLib for Relay;
    using RequestIdLib for RequestId;
    using RequestLib for Request;
    using RequestTermsLib for RequestTerms;
    using RoundLib for Round;
    using SeatLib for Seat;
    using SeatLib for Seat[];

    /// @inheritdoc ISlasher
    IAgentRegistry public immutable registry;
    /// @inheritdoc ISlasher
    address public immutable oracle;

    mapping(bytes32 faultId => bool consumed) private _consumed;
    /// @dev Two times: a slash for an overturned answer is cheap to arrange, so it must not keep off one for a double signature.
    mapping(AgentId agentId => uint256 time) private _equivocationTimes;
    mapping(AgentId agentId => uint256 time) private _overturnTimes;
    mapping(bytes32 commitment => uint256 blockNumber) private _commitments;

    /// @param registry_ the registry that is bound to the oracle and to this contract's address
    constructor(IAgentRegistry registry_) {
        address slasher = registry_.slasher();
        require(slasher == address(this), NotBound(slasher));
        registry = registry_;
        oracle = registry_.oracle();
        emit SlasherDeployed(registry_, oracle);
    }

    /// @inheritdoc ISlasher
    function commitEvidence(bytes32 commitment) external {
        // The first block counts: a later commitment of the same must not delay the proof.
        if (_commitments[commitment] != 0) return;
        _commitments[commitment] = block.number;
        emit EvidenceCommitted(commitment);
    }

    /// @inheritdoc ISlasher
    function submitMessages(
        Request calldata request_,
        HeldSeat calldata held,
        MessageSlot calldata slot,
        bytes32 firstPayload,
        bytes calldata firstSignature,
        bytes32 secondPayload,
        bytes calldata secondSignature
    ) external {
        EvidenceLib.ProvenSeat memory seat = _provenSeat(request_, held);
        bytes32 firstHash = seat.messageHash(slot, firstPayload);
        bytes32 secondHash = seat.messageHash(slot, secondPayload);
        address signer = EvidenceLib.signerOf(oracle, firstHash, firstSignature, secondHash, secondSignature);
        _slash(request_.id, seat, held, signer, Fault.Messages);
        _requireCommitted(EvidenceLib.commitment(msg.sender, firstSignature, secondSignature));
    }

    /// @inheritdoc ISlasher
    function submitDecisions(
        Request calldata request_,
        HeldSeat calldata held,
        uint32 ballot,
        DecisionBody calldata first,
        bytes calldata firstSignature,
        DecisionBody calldata second,
        bytes calldata secondSignature
    ) external {
        EvidenceLib.ProvenSeat memory seat = _provenSeat(request_, held);
        bytes32 firstHash = seat.decisionHash(ballot, first);
        bytes32 secondHash = seat.decisionHash(ballot, second);
        address signer = EvidenceLib.signerOf(oracle, firstHash, firstSignature, secondHash, secondSignature);
        _slash(request_.id, seat, held, signer, Fault.Decisions);
        _requireCommitted(EvidenceLib.commitment(msg.sender, firstSignature, secondSignature));
    }

    /// @inheritdoc ISlasher
    function submitOverturned(
        Request calldata request_,
        DecidedRound[] calldata rounds,
        uint256 first,
        uint256 second
    ) external {
        RequestId requestId = request_.id;
        RequestTerms terms = request_.terms;
        bool stands = _requireRecord(request_, rounds);
        require(terms.security() == RequestTermsLib.SECURED, NotSecured(requestId));
        uint256 end = rounds[rounds.length - 1].round.deadline() + EVIDENCE_WINDOW;
        require(block.timestamp <= end, EvidenceTooLate(requestId, end));
        require(stands && OverturnLib.isOverturned(terms, rounds, first, second), NotOverturned(requestId));
        DecidedRound calldata round = rounds[first];
        Prices prices = IDecisionOracle(oracle).priceListOf(terms.currency(), requestId.priceVersion());
        uint256 reward = _slashSigners(requestId, round, prices, prices.appealUnitOf(terms));
        registry.rewardAppellant(round.appellant, reward);
        registry.rewardAppellant(OverturnLib.lastAppellant(rounds), reward);
    }

    /// @inheritdoc ISlasher
    function isConsumed(AgentId agentId, RequestId requestId, uint32 attempt) external view returns (bool) {
        return _consumed[_faultId(agentId, requestId, attempt)];
    }

    /// @dev Slashes the seats that signed the round's decision, but not twice for it, and nobody who was slashed for another such decision in the last week.
    /// @param prices the request's price list
    /// @param unit price of one unit of pay of the committees that appeals call
    /// @return reward what each appellant gets: the part of its reward that belongs to the slashed seats, so that calls that slash
    /// one seat after the other pay no more than one call; at most half of what was taken, rounded down in favour of the treasury
    function _slashSigners(
        RequestId requestId,
        DecidedRound calldata round,
        Prices prices,
        uint256 unit
    ) private returns (uint256 reward) {
        uint32 attempt = round.decision.head.attempt();
        uint256 most = OVERTURN_PAY_MULTIPLE * DECIDED_UNITS * unit;
        uint64 signers = round.relay.signers();
        uint256 total = 0;
        uint256 signed = 0;
        uint256 slashed = 0;
        // There are at most 64 seats, and the oracle has checked that only they signed.
        for (uint256 seat = 0; signers != 0; (++seat, signers >>= 1)) {
            if (signers & 1 == 0) continue;
            ++signed;
            AgentId agentId = round.committee[seat].agentId();
            bytes32 overturnId = keccak256(abi.encode(agentId, requestId, attempt, Fault.Overturned));
            if (_consumed[overturnId] || block.timestamp < _overturnTimes[agentId] + WEEK_SECONDS) continue;
            // slither-disable-next-line reentrancy-no-eth: the registry, called for the seat before, calls nobody back
            _consumed[overturnId] = true;
            // slither-disable-next-line reentrancy-no-eth: the registry, called for the seat before, calls nobody back
            _overturnTimes[agentId] = block.timestamp;
            emit DecisionOverturned(agentId, requestId, round.appellant, attempt);
            total += registry.slashOverturned(agentId, round.appellant, most);
            ++slashed;
        }
        require(total != 0, NobodyToSlash(requestId, attempt));
        // The base fee is burnt, so that nobody can pay it to itself.
        reward = (OVERTURN_REWARD_GAS * block.basefee * prices.gasRate()) / GAS_RATE_WEI;
        if (reward > unit) reward = unit;
        // slither-disable-next-line divide-before-multiply: the bound comes between; both round in favour of the treasury
        reward = (reward * slashed) / signed;
        if (reward > total / 2) reward = total / 2;
    }

    /// @dev Reverts unless these are all rounds of the request, and it is settled.
    /// @return stands false if nobody answered an attempt after the last round: then the request hung, whatever that decided
    function _requireRecord(
        Request calldata request_,
        DecidedRound[] calldata rounds
    ) private view returns (bool stands) {
        RequestState state = IDecisionOracle(oracle).stateOf(request_.id);
        require(state.has(RequestStateLib.SETTLED), NotSettled(request_.id));
        RequestLib.requireMatch(request_.id, state.covers(HistoryLib.commitment(request_, rounds)));
        stands = rounds[rounds.length - 1].decision.head.attempt() == state.attempt();
    }

    /// @param held as in the call
    /// @param signer who signed both
    function _slash(
        RequestId requestId,
        EvidenceLib.ProvenSeat memory seat,
        HeldSeat calldata held,
        address signer,
        Fault fault
    ) private {
        // The seat keeps the key with which it was drawn, so a later key of its agent proves nothing about it.
        require(signer == seat.held.signer(), SeatNotHeld(requestId, held.index, held.seat));
        // slither-disable-next-line unused-return: the agent stands in the seat's word
        (, uint40 end) = registry.keyOf(signer);
        require(end == 0 || block.timestamp <= end, KeyHasEnded(signer, end));
        (AgentId agentId, uint32 attempt) = (seat.held.agentId(), seat.attempt);
        bytes32 faultId = _faultId(agentId, requestId, attempt);
        require(!_consumed[faultId], EvidenceConsumed(agentId, requestId, attempt));
        uint256 due = _equivocationTimes[agentId] + WEEK_SECONDS;
        require(block.timestamp >= due, SlashedRecently(agentId, due));
        _consumed[faultId] = true;
        _equivocationTimes[agentId] = block.timestamp;
        emit EquivocationProven(agentId, requestId, msg.sender, attempt, fault, seat.requestHash);
        registry.slash(agentId, msg.sender);
    }

    /// @dev Comes last, so that a call without a commitment tells a reporter whether its evidence is a proof.
    function _requireCommitted(bytes32 commitment) private view {
        uint256 blockNumber = _commitments[commitment];
        require(blockNumber != 0, EvidenceNotCommitted(commitment));
        require(block.number > blockNumber, EvidenceTooEarly(commitment, blockNumber));
    }

    /// @dev Reverts unless the seat is that of a round on record.
    function _provenSeat(
        Request calldata request_,
        HeldSeat calldata held
    ) private view returns (EvidenceLib.ProvenSeat memory seat) {
        RequestId requestId = request_.id;
        RequestState state = IDecisionOracle(oracle).stateOf(requestId);
        HistoryLib.requireRecord(state, request_, held.rounds, held.running, held.seedBlock);
        require(held.index < held.rounds.length, SeatNotHeld(requestId, held.index, held.seat));
        DecidedRound calldata round = held.rounds[held.index];
        require(held.seat < round.committee.length, SeatNotHeld(requestId, held.index, held.seat));
        seat.requestHash = request_.hash();
        seat.committeeHash = round.committee.hash();
        seat.attempt = round.decision.head.attempt();
        seat.protocol = request_.terms.protocol();
        // A committee on record has at most 64 seats.
        seat.number = uint32(held.seat);
        seat.held = round.committee[held.seat];
    }

    /// @dev Identifies what an agent signed twice in one attempt, whatever it is.
    function _faultId(AgentId agentId, RequestId requestId, uint32 attempt) private pure returns (bytes32) {
        return keccak256(abi.encode(agentId, requestId, attempt));
    }
}
