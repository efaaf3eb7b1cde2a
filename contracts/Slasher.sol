// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IAgentRegistry} from "./interfaces/IAgentRegistry.sol";
import {IDecisionOracle} from "./interfaces/IDecisionOracle.sol";
import {ISlasher} from "./interfaces/ISlasher.sol";
import {EvidenceLib} from "./libraries/EvidenceLib.sol";
import {RequestLib} from "./libraries/RequestLib.sol";
import {FALL_PERIOD} from "./types/Limits.sol";
import {AgentId, Request, RequestId, Status} from "./types/Types.sol";

/// @title Slashes agents by proof
/// @dev The contract has no owner, no upgrade and no settings. A proof stays valid after a key rotation, as long as
/// stake that leaves can be slashed.
contract Slasher is ISlasher {
    using EvidenceLib for MessageSlot;
    using EvidenceLib for DecisionSlot;
    using RequestLib for Request;

    /// @inheritdoc ISlasher
    IAgentRegistry public immutable registry;
    /// @inheritdoc ISlasher
    address public immutable oracle;

    mapping(bytes32 faultId => bool consumed) private _consumed;
    mapping(AgentId agentId => uint256 time) private _slashTimes;
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
        MessageSlot calldata slot,
        bytes32 firstPayload,
        bytes calldata firstSignature,
        bytes32 secondPayload,
        bytes calldata secondSignature
    ) external {
        bytes32 requestHash = request_.hash();
        bytes32 firstHash = slot.messageHash(requestHash, firstPayload);
        bytes32 secondHash = slot.messageHash(requestHash, secondPayload);
        address signer = EvidenceLib.signerOf(oracle, firstHash, firstSignature, secondHash, secondSignature);
        _slash(signer, request_.id, requestHash, slot.attempt, Fault.Messages);
        _requireCommitted(EvidenceLib.commitment(msg.sender, firstSignature, secondSignature));
    }

    /// @inheritdoc ISlasher
    function submitDecisions(
        Request calldata request_,
        DecisionSlot calldata slot,
        DecisionBody calldata first,
        bytes calldata firstSignature,
        DecisionBody calldata second,
        bytes calldata secondSignature
    ) external {
        bytes32 requestHash = request_.hash();
        bytes32 firstHash = slot.decisionHash(requestHash, first);
        bytes32 secondHash = slot.decisionHash(requestHash, second);
        address signer = EvidenceLib.signerOf(oracle, firstHash, firstSignature, secondHash, secondSignature);
        _slash(signer, request_.id, requestHash, slot.attempt, Fault.Decisions);
        _requireCommitted(EvidenceLib.commitment(msg.sender, firstSignature, secondSignature));
    }

    /// @inheritdoc ISlasher
    function isConsumed(AgentId agentId, RequestId requestId, uint32 attempt) external view returns (bool) {
        return _consumed[_faultId(agentId, requestId, attempt)];
    }

    function _slash(address signer, RequestId requestId, bytes32 requestHash, uint32 attempt, Fault fault) private {
        (AgentId agentId, uint40 end) = registry.keyOf(signer);
        require(AgentId.unwrap(agentId) != 0, UnknownSigner(signer));
        require(end == 0 || block.timestamp <= end, KeyHasEnded(signer, end));
        _requireOver(requestId, attempt);
        bytes32 faultId = _faultId(agentId, requestId, attempt);
        require(!_consumed[faultId], EvidenceConsumed(agentId, requestId, attempt));
        uint256 due = _slashTimes[agentId] + FALL_PERIOD;
        require(block.timestamp >= due, SlashedRecently(agentId, due));
        _consumed[faultId] = true;
        _slashTimes[agentId] = block.timestamp;
        emit EquivocationProven(agentId, requestId, msg.sender, attempt, fault, requestHash);
        registry.slash(agentId, msg.sender);
    }

    /// @dev Comes last, so that a call without a commitment tells a reporter whether its evidence is a proof.
    function _requireCommitted(bytes32 commitment) private view {
        uint256 blockNumber = _commitments[commitment];
        require(blockNumber != 0, EvidenceNotCommitted(commitment));
        require(block.number > blockNumber, EvidenceTooEarly(commitment, blockNumber));
    }

    /// @dev Refuses an attempt that is to come or may still be answered: a proof made before its committee is known
    /// would use up the one slash that the attempt allows. Such attempts are the latest one while its request is
    /// `Requested`, and every later one. All other attempts are over (`commit`, `replace`, `refund`, `fallBack`). An
    /// attempt that nobody answered is over by its deadline, so stake that leaves can still be slashed (ST7).
    function _requireOver(RequestId requestId, uint32 attempt) private view {
        // slither-disable-next-line unused-return: the flags say nothing about the attempt
        (Status status, uint32 latest, , , ) = IDecisionOracle(oracle).statusOf(requestId);
        require(
            attempt < latest || (attempt == latest && status > Status.Requested),
            AttemptNotOver(requestId, attempt)
        );
    }

    /// @dev Identifies a fault by facts that the chain knows: a request hash may name a consumer, terms and a question
    /// that nobody asked.
    function _faultId(AgentId agentId, RequestId requestId, uint32 attempt) private pure returns (bytes32) {
        return keccak256(abi.encode(agentId, requestId, attempt));
    }
}
