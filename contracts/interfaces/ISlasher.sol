// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {AgentId, DecidedRound, Request, RequestId, Round} from "../types/Types.sol";
import {IAgentRegistry} from "./IAgentRegistry.sol";

/// @title Slashing by proof
/// @notice An agent that signs two different things for one place loses a tenth of its stake. Anybody may submit the
/// two signatures as proof, for a reward. An agent that certified a decision about a secured request loses a twentieth if two larger
/// committees overturn it (docs/spec/security.md). Nothing else slashes.
/// @dev An agent is slashed once per request and attempt for what it signed twice, however many proofs there are, and once for a
/// decision that was overturned: this bounds the cost of a single fault. And it is slashed once in seven days for each of the two: this
/// bounds the worth of a leaked key. Evidence that came too soon after a slash stays valid, about an overturned decision for its time.
/// @dev A reporter commits to its evidence first and shows it in a later block. Whoever copies it from the public pool
/// of transactions has no commitment and would have to keep the reporter's proof out of two blocks.
/// @dev The proof shows two signatures of the key that held the seat when its committee was drawn, whether or not it was rotated out
/// since, and the record of the request, which shows that seat. So a leaked key proves nothing about requests in which its agent did not
/// sit, and nothing about seats that were drawn with the key after it. An attempt without a decision has no record, and nobody is
/// slashed for what was signed in it (docs/adr/018). The record is proven from the block of the decision on, also while a later
/// committee is at work: no appeal and no retry puts evidence off.
/// @dev The signed structs are those of the oracle's domain (EIP-712: "Conclave", "1", this chain, the oracle), so a
/// signature for another chain or another oracle proves nothing here.
interface ISlasher {
    /// @notice The kind of fault that was proven.
    enum Fault {
        Messages,
        Decisions,
        Overturned
    }

    /// @notice A seat that was held in a round on record.
    /// @param rounds all rounds that decided or hung so far, as in `settlement.settle`; while a later committee is at work, the last one
    /// with the account that appealed against it
    /// @param index the index of the round
    /// @param seat the seat in its committee
    /// @param running the running round, as in the latest `RequestReopened` event; ignored unless the request is `Requested`
    /// @param seedBlock as in the same event; ignored unless the request is `Requested`
    struct HeldSeat {
        DecidedRound[] rounds;
        uint256 index;
        uint256 seat;
        Round running;
        uint64 seedBlock;
    }

    /// @notice The place of a message among those of one seat in one attempt. An honest agent signs one payload for it.
    /// @param phase the phase of the protocol
    /// @param round the round of the phase
    struct MessageSlot {
        uint32 phase;
        uint32 round;
    }

    /// @notice The rest of a decision, with the keccak256 of each byte string.
    /// @param status the number of the `Status`
    /// @param outcome the canonical outcome
    /// @param answerHash the keccak256 of the answer
    /// @param confidence parts per million
    /// @param answered the seats that the decision teaches about
    /// @param agreed those of them whose blind answers agree
    /// @param transcript digest of the root block
    /// @param reputationChangesHash the keccak256 of the pairs (seat, steps)
    /// @param sharesHash the keccak256 of the shares
    struct DecisionBody {
        uint8 status;
        bytes32 outcome;
        bytes32 answerHash;
        uint32 confidence;
        uint64 answered;
        uint64 agreed;
        bytes32 transcript;
        bytes32 reputationChangesHash;
        bytes32 sharesHash;
    }

    /// @notice The slasher was deployed; emitted once.
    /// @param registry the registry of the agents
    /// @param oracle the oracle in whose EIP-712 domain the agents sign
    event SlasherDeployed(IAgentRegistry registry, address oracle);

    /// @notice An agent signed two things for one place. The registry's `StakeSlashed` event has the amounts.
    /// @param agentId the agent
    /// @param requestId the request
    /// @param reporter who submitted the proof
    /// @param attempt the attempt of the request
    /// @param fault what it signed twice
    /// @param requestHash the hash of the request, which the agent signed
    event EquivocationProven(
        AgentId indexed agentId,
        RequestId indexed requestId,
        address indexed reporter,
        uint32 attempt,
        Fault fault,
        bytes32 requestHash
    );

    /// @notice An agent certified a decision about a secured request that two larger committees overturned. The registry's
    /// `StakeSlashed` event has the amounts, unless there was nothing to take.
    /// @param agentId the agent
    /// @param requestId the request
    /// @param appellant who appealed against the decision
    /// @param attempt the attempt of the decision
    event DecisionOverturned(
        AgentId indexed agentId,
        RequestId indexed requestId,
        address indexed appellant,
        uint32 attempt
    );

    /// @notice A reporter has committed to evidence.
    /// @param commitment see `commitEvidence`
    event EvidenceCommitted(bytes32 indexed commitment);

    /// @notice Deployment: the registry is bound to this other slasher.
    error NotBound(address bound);
    /// @notice The two are equal: they prove nothing.
    error NoConflict();
    /// @notice `first` and `second` recovered from the signatures differ, or are 0: malformed or malleable.
    error InvalidEvidence(address first, address second);
    /// @notice The round on record has no such seat, or another key holds it.
    error SeatNotHeld(RequestId requestId, uint256 index, uint256 seat);
    /// @notice The agent has been slashed for this attempt.
    error EvidenceConsumed(AgentId agentId, RequestId requestId, uint32 attempt);
    /// @notice The key was rotated out too long ago: its signatures prove nothing any more.
    error KeyHasEnded(address signer, uint40 end);

    /// @notice The agent was slashed for a double signature less than seven days ago; the evidence can be submitted from `due` on.
    error SlashedRecently(AgentId agentId, uint256 due);
    /// @notice Nobody has opted for stake behind the answer: the terms say 0 for `security`.
    error NotSecured(RequestId requestId);
    /// @notice The request is not settled.
    error NotSettled(RequestId requestId);
    /// @notice The last two of the three rounds did not overturn the first: one hung, agrees with it or is not larger, another one
    /// agrees with it, two committees share an agent, or no more than a third of the seats of one of the last two earned by its decision.
    error NotOverturned(RequestId requestId);
    /// @notice The time to slash for this request ended at `end`.
    error EvidenceTooLate(RequestId requestId, uint256 end);
    /// @notice All seats that signed were slashed for this decision, or for another overturned one in the last seven days, or nothing can be
    /// taken from them.
    error NobodyToSlash(RequestId requestId, uint32 attempt);
    /// @notice It is a proof, but the caller has not committed to it.
    error EvidenceNotCommitted(bytes32 commitment);
    /// @notice It is a proof, but the caller committed to it in this block: submit it in a later one.
    error EvidenceTooEarly(bytes32 commitment, uint256 blockNumber);

    /// @notice Commits to evidence without showing it. The proof may follow in any later block.
    /// @param commitment keccak256(abi.encode(reporter, firstSignature, secondSignature)), where `reporter` is the account
    /// that will submit the proof
    function commitEvidence(bytes32 commitment) external;

    /// @notice Slashes an agent for two payloads that its seat signed for one slot; the order does not matter.
    /// @dev An agent that reports itself loses nine tenths of the penalty on its operator's stake, and its delegators lose
    /// theirs: see `IAgentRegistry.slash`.
    /// @param request_ as in the `Requested` event
    /// @param held the seat
    /// @param slot the place
    /// @param firstPayload digest of one payload
    /// @param firstSignature 65 bytes (r, s, v), low s
    /// @param secondPayload digest of the other
    /// @param secondSignature by the same key
    function submitMessages(
        Request calldata request_,
        HeldSeat calldata held,
        MessageSlot calldata slot,
        bytes32 firstPayload,
        bytes calldata firstSignature,
        bytes32 secondPayload,
        bytes calldata secondSignature
    ) external;

    /// @notice Slashes an agent for two decisions that its seat signed in one ballot; the order does not matter. In a later ballot an
    /// honest agent may sign another one, after an unlock (docs/spec/certify.md).
    /// @param request_ as in the `Requested` event
    /// @param held the seat
    /// @param ballot the ballot of certify
    /// @param first one decision
    /// @param firstSignature 65 bytes (r, s, v), low s
    /// @param second the other
    /// @param secondSignature by the same key
    function submitDecisions(
        Request calldata request_,
        HeldSeat calldata held,
        uint32 ballot,
        DecisionBody calldata first,
        bytes calldata firstSignature,
        DecisionBody calldata second,
        bytes calldata secondSignature
    ) external;

    /// @notice Slashes the seats that certified a decision about a secured request which two larger committees overturned, after the
    /// request was settled. Anybody may call, until seven days after the last deadline on record.
    /// @dev Each seat loses a twentieth of its agent's stake, but at most a hundred times what a seat of the later committees earns.
    /// @dev A small reward goes to two appellants in equal parts: to the one against the decision, and to the one whose appeal
    /// called the last committee. It belongs to the seats in equal parts. The caller gets nothing, so there is nothing to copy.
    /// @dev Seats that were slashed for another overturned decision in the last seven days are left out; call again after that.
    /// @param request_ as in the `Requested` event
    /// @param rounds all rounds, as in `settlement.settle`
    /// @param first index of the round of the decision
    /// @param second index of a later round with a larger committee that agrees with the last one, whose committee is larger still
    function submitOverturned(
        Request calldata request_,
        DecidedRound[] calldata rounds,
        uint256 first,
        uint256 second
    ) external;

    /// @notice Whether the agent has been slashed for what it signed twice in this attempt.
    /// @param agentId the agent
    /// @param requestId the id of the request
    /// @param attempt from 0
    /// @return true after one accepted proof
    function isConsumed(AgentId agentId, RequestId requestId, uint32 attempt) external view returns (bool);

    /// @notice The registry of the agents.
    /// @return the registry
    function registry() external view returns (IAgentRegistry);

    /// @notice The oracle in whose EIP-712 domain the agents sign.
    /// @return its address
    function oracle() external view returns (address);
}
