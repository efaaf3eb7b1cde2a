// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {AgentRegistry} from "../../../contracts/AgentRegistry.sol";
import {ConclaveAccessManager} from "../../../contracts/ConclaveAccessManager.sol";
import {DecisionOracle} from "../../../contracts/DecisionOracle.sol";
import {Slasher} from "../../../contracts/Slasher.sol";
import {IAgentRegistry} from "../../../contracts/interfaces/IAgentRegistry.sol";
import {ISettlement} from "../../../contracts/interfaces/ISettlement.sol";
import {ISlasher} from "../../../contracts/interfaces/ISlasher.sol";
import {DecisionLib} from "../../../contracts/libraries/DecisionLib.sol";
import {RelayLib} from "../../../contracts/libraries/RelayLib.sol";
import {RequestTermsLib} from "../../../contracts/libraries/RequestTermsLib.sol";
import {RoundLib} from "../../../contracts/libraries/RoundLib.sol";
import {SeatLib} from "../../../contracts/libraries/SeatLib.sol";
import {ServiceLib} from "../../../contracts/libraries/ServiceLib.sol";
import {PossessionLib} from "../../../contracts/libraries/PossessionLib.sol";
import {TestToken} from "../../../devnet/contracts/TestToken.sol";
import {
    AgentId,
    Currency,
    DecidedRound,
    Decision,
    DecisionHead,
    PastRound,
    PriceTerms,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Seat,
    Seed,
    Service,
    Status,
    Terms
} from "../../../contracts/types/Types.sol";
import {CertificateMaker, Draft, withLesson} from "./Draft.sol";
import {HeaderMaker} from "./HeaderMaker.sol";
import {KeyChain} from "./KeyChain.sol";
import {Assertions, vm} from "./Vm.sol";

/// @dev A deployed system, and short ways through it.
abstract contract ConclaveTest is Assertions, KeyChain {
    using SeatLib for Seat;

    struct Equivocation {
        Request request;
        ISlasher.HeldSeat held;
        ISlasher.MessageSlot slot;
        bytes32 firstPayload;
        bytes firstSignature;
        bytes32 secondPayload;
        bytes secondSignature;
    }

    /// @dev Where a signed message belongs, in the order of the type.
    struct Slot {
        bytes32 committeeHash;
        uint32 attempt;
        uint32 protocol;
        uint32 phase;
        uint32 round;
        uint32 seat;
    }

    uint128 internal constant MIN_STAKE = 1 ether;
    uint128 internal constant MAX_STAKE = 16 ether;
    uint40 internal constant UNBONDING_DELAY = 16 days;
    /// @dev Number of faults that a handler can prove in a walk.
    uint256 internal constant EVIDENCE = 64;
    uint256 internal constant EPOCH_BLOCKS = 32;
    uint256 internal constant PROTOCOLS = 2;
    uint24 internal constant DURATION = 1 hours;
    address internal constant TREASURY = address(0x7eea);

    TestToken internal token;
    ConclaveAccessManager internal manager;
    AgentRegistry internal registry;
    DecisionOracle internal oracle;
    ISettlement internal settlement;
    Slasher internal slasher;
    /// @dev The subscription of this contract, which is also its consumer.
    uint48 internal subscriptionId;
    /// @dev The first round of each request that `ask` made.
    mapping(RequestId requestId => Round round) internal firstRounds;
    /// @dev The first seed block of each request that `ask` made.
    mapping(RequestId requestId => uint64 seedBlock) internal seedBlocks;
    /// @dev Requests that `decideForEvidence` made.
    RequestId[] internal decidedIds;
    /// @dev Each of them with its record, encoded.
    bytes[] private _records;
    /// @dev Private keys by signer.
    mapping(address signer => uint256 privateKey) internal keys;

    function deployConclave() internal {
        // Block 1 has no earlier blocks whose hashes it could read.
        vm.roll(1000);
        vm.warp(1_800_000_000);
        vm.prevrandao(uint256(keccak256("prevrandao")));
        token = new TestToken();
        manager = new ConclaveAccessManager(address(this));
        deployRegistry(EPOCH_BLOCKS);
        token.mint(address(this), 1e30);
        token.approve(address(registry), type(uint256).max);
        token.approve(address(oracle), type(uint256).max);
    }

    /// @dev Deploys registry, oracle and slasher, in the order of the addresses that the registry is bound to.
    function deployRegistry(uint256 epochBlocks) internal {
        uint256 nonce = vm.getNonce(address(this));
        registry = new AgentRegistry(
            IAgentRegistry.Deployment({
                stakeToken: token,
                minStake: MIN_STAKE,
                maxStake: MAX_STAKE,
                unbondingDelay: UNBONDING_DELAY,
                epochBlocks: epochBlocks,
                oracle: vm.computeCreateAddress(address(this), nonce + 1),
                slasher: vm.computeCreateAddress(address(this), nonce + 2),
                treasury: TREASURY
            })
        );
        oracle = new DecisionOracle(
            address(manager),
            registry,
            token,
            PROTOCOLS,
            PriceTerms(0, 0, 0, 0),
            PriceTerms(0, 1e18, 0, 0)
        );
        slasher = new Slasher(registry);
        assertEq(registry.oracle(), address(oracle), "oracle");
        settlement = ISettlement(oracle.settlement());
        subscriptionId = oracle.createSubscription();
        oracle.setConsumer(subscriptionId, address(this), type(uint104).max, type(uint104).max);
    }

    /// @dev Makes requests that decide at once. All agents that can be drawn sit in each.
    function decideForEvidence(uint256 count) internal {
        uint256 size = registry.drawableCount();
        for (uint256 i = 0; i < count; ++i) {
            (Request memory request, uint64 seedBlock) = ask(termsFor(size, 0));
            Seat[] memory committee = drawCommittee(request, seedBlock);
            Draft memory decision = decisionFor(size);
            uint256 all = (1 << size) - 1;
            bytes memory certificate = certify(request, committee, decision, all);
            decidedIds.push(request.id);
            _records.push(abi.encode(request, oneRound(request, committee, decision, all)));
            // Comes last: the optimizer's build would have too many variables on the stack.
            commitWith(request, decision.packed(), certificate);
        }
    }

    /// @dev Returns the record of a request that its first committee decided.
    function oneRound(
        Request memory request,
        Seat[] memory committee,
        Draft memory decision,
        uint256 signers
    ) internal view returns (DecidedRound[] memory rounds) {
        rounds = new DecidedRound[](1);
        rounds[0] = DecidedRound(firstRounds[request.id], committee, decision.packed(), relayOf(signers), address(0));
    }

    /// @dev Returns what `decideForEvidence` made.
    function decided(uint256 index) internal view returns (Request memory request, DecidedRound[] memory rounds) {
        return abi.decode(_records[index], (Request, DecidedRound[]));
    }

    /// @dev Returns the seat of an agent in the first round.
    function seatOf(
        AgentId agentId,
        DecidedRound[] memory rounds
    ) internal pure returns (ISlasher.HeldSeat memory held) {
        held.rounds = rounds;
        while (AgentId.unwrap(rounds[0].committee[held.seat].agentId()) != AgentId.unwrap(agentId)) ++held.seat;
    }

    /// @dev Returns two payloads that the agent's seat in a request of `decideForEvidence` signed for one slot.
    function equivocation(AgentId agentId, uint256 index) internal view returns (Equivocation memory) {
        (Request memory request, DecidedRound[] memory rounds) = decided(index);
        ISlasher.HeldSeat memory held = seatOf(agentId, rounds);
        return equivocationBy(keys[rounds[0].committee[held.seat].signer()], request, held);
    }

    /// @dev Returns two payloads that a key signed for one slot of a seat.
    function equivocationBy(
        uint256 privateKey,
        Request memory request,
        ISlasher.HeldSeat memory held
    ) internal view returns (Equivocation memory pair) {
        (pair.request, pair.held) = (request, held);
        pair.slot = ISlasher.MessageSlot(2, 3);
        (pair.firstPayload, pair.secondPayload) = (keccak256("yes"), keccak256("no"));
        (bytes32 requestHash, Slot memory place) = (keccak256(abi.encode(request)), placeOf(pair));
        pair.firstSignature = signMessage(privateKey, requestHash, place, pair.firstPayload);
        pair.secondSignature = signMessage(privateKey, requestHash, place, pair.secondPayload);
    }

    /// @dev Returns the members of the signed message that say where it belongs.
    function placeOf(Equivocation memory pair) internal pure returns (Slot memory) {
        DecidedRound memory round = pair.held.rounds[pair.held.index];
        return
            Slot({
                committeeHash: keccak256(abi.encodePacked(round.committee)),
                attempt: uint8(DecisionHead.unwrap(round.decision.head) >> 200),
                protocol: uint8(RequestTerms.unwrap(pair.request.terms)),
                phase: pair.slot.phase,
                round: pair.slot.round,
                seat: uint32(pair.held.seat)
            });
    }

    function signMessage(
        uint256 privateKey,
        bytes32 requestHash,
        Slot memory place,
        bytes32 payload
    ) internal view returns (bytes memory) {
        bytes32 structHash = keccak256(abi.encode(DecisionLib.MESSAGE_TYPEHASH, requestHash, place, payload));
        return signDigest(privateKey, typedDigest("Conclave", address(oracle), structHash));
    }

    /// @dev Commits, and submits the proof in the next block.
    function submit(Equivocation memory pair) internal {
        submitAs(address(this), pair);
    }

    function submitAs(address reporter, Equivocation memory pair) internal {
        commitAs(reporter, pair.firstSignature, pair.secondSignature);
        vm.prank(reporter);
        showPair(pair);
    }

    function commitAs(address reporter, bytes memory firstSignature, bytes memory secondSignature) internal {
        vm.prank(reporter);
        slasher.commitEvidence(keccak256(abi.encode(reporter, firstSignature, secondSignature)));
        vm.roll(vm.getBlockNumber() + 1);
    }

    function showPair(Equivocation memory pair) internal {
        slasher.submitMessages(
            pair.request,
            pair.held,
            pair.slot,
            pair.firstPayload,
            pair.firstSignature,
            pair.secondPayload,
            pair.secondSignature
        );
    }

    /// @dev Makes a fresh key: returns its public key and its proof of possession for `operator`.
    function freshKey(address operator) internal returns (bytes memory publicKey, bytes memory possession) {
        uint256 privateKey;
        (privateKey, publicKey) = nextKey();
        keys[vm.addr(privateKey)] = privateKey;
        bytes32 structHash = keccak256(abi.encode(PossessionLib.POSSESSION_TYPEHASH, operator, keccak256(publicKey)));
        possession = signDigest(privateKey, typedDigest("ConclaveRegistry", address(registry), structHash));
    }

    function registrationOf(
        address operator,
        uint128 stake
    ) internal returns (IAgentRegistry.Registration memory registration) {
        (bytes memory publicKey, bytes memory possession) = freshKey(operator);
        return IAgentRegistry.Registration(publicKey, possession, "test", "/ip4/127.0.0.1/tcp/4001", stake, 0);
    }

    /// @dev Does what the oracle does when it settles a request that paid the agent nothing.
    function moveReputation(AgentId agentId, int8 steps) internal {
        recordService(Currency.Token, agentId, steps, 0);
    }

    /// @dev Does what the oracle does when it settles a request.
    function recordService(Currency currency, AgentId agentId, int8 steps, uint256 earned) internal {
        _record(currency, ServiceLib.pack(agentId, steps, false, earned));
    }

    /// @dev Does what the oracle does when it settles a contested decision that paid the agent nothing.
    function teach(AgentId agentId, bool agrees) internal {
        _record(Currency.Token, withLesson(ServiceLib.pack(agentId, 0, false, 0), agrees));
    }

    /// @dev Does what the oracle does when it settles a request for which the agent's seat stayed empty.
    function missSeat(AgentId agentId, int8 steps) internal {
        _record(Currency.Token, ServiceLib.pack(agentId, steps, true, 0));
    }

    function _record(Currency currency, Service service) private {
        Service[] memory services = new Service[](1);
        services[0] = service;
        vm.prank(address(oracle));
        registry.recordServices(currency, services);
    }

    /// @dev Registers an agent that belongs to this contract.
    function registerAgent(uint128 stake) internal returns (AgentId) {
        return registry.register(registrationOf(address(this), stake));
    }

    /// @dev Registers agents that can be drawn when this returns.
    function registerAgents(uint256 count, uint128 stake) internal {
        for (uint256 i = 0; i < count; ++i) registerAgent(stake);
        nextEpoch();
    }

    /// @dev Begins the next epoch, so that draws see all changes so far.
    function nextEpoch() internal {
        vm.roll((vm.getBlockNumber() / EPOCH_BLOCKS + 1) * EPOCH_BLOCKS);
    }

    function termsFor(uint256 size, uint80 fee) internal pure returns (Terms memory terms) {
        terms.fee = fee;
        terms.duration = DURATION;
        terms.committeeSize = uint8(size);
        terms.protocol = 1;
    }

    /// @dev Asks with this contract's subscription.
    function ask(Terms memory terms) internal returns (Request memory request, uint64 seedBlock) {
        request.consumer = address(this);
        request.terms = RequestTermsLib.pack(terms);
        request.questionHash = keccak256("question");
        request.id = oracle.request(subscriptionId, request.terms, "question");
        firstRounds[request.id] = RoundLib.pack(0, 0, block.timestamp + terms.duration);
        seedBlock = seedBlockAfter(vm.getBlockNumber());
        seedBlocks[request.id] = seedBlock;
    }

    function seedBlockAfter(uint256 number) internal pure returns (uint64) {
        return seedBlockAfter(number, EPOCH_BLOCKS);
    }

    /// @dev States the rule again and finds the block by counting: at least 8 blocks from now, with 8 blocks of its
    /// epoch before it and 16 after it.
    function seedBlockAfter(uint256 number, uint256 epochBlocks) internal pure returns (uint64) {
        uint256 seedBlock = number + 8;
        while ((seedBlock - 8) / epochBlocks != (seedBlock + 16) / epochBlocks) ++seedBlock;
        return uint64(seedBlock);
    }

    /// @dev Makes a header for one of the last 256 blocks and gives the block the header's hash.
    function headerOf(uint64 blockNumber) internal returns (bytes memory header) {
        header = HeaderMaker.make(blockNumber);
        vm.setBlockhash(blockNumber, keccak256(header));
    }

    /// @dev Returns the seed of the first attempt.
    function seedOf(Request memory request, uint64 seedBlock) internal pure returns (bytes32) {
        return seedOf(request, seedBlock, 0);
    }

    function seedOf(Request memory request, uint64 seedBlock, uint32 attempt) internal pure returns (bytes32) {
        return keccak256(abi.encode(HeaderMaker.prevRandaoOf(seedBlock), request.id, attempt));
    }

    /// @dev Rolls past the seed block, and returns the committee, which depends only on the seed.
    function drawCommittee(Request memory request, uint64 seedBlock) internal returns (Seat[] memory) {
        vm.roll(seedBlock + 1);
        headerOf(seedBlock);
        uint256 size = uint8(RequestTerms.unwrap(request.terms) >> 40);
        return committeeNow(seedOf(request, seedBlock), size);
    }

    /// @dev Returns the committee that a seed of the running epoch draws.
    function committeeNow(bytes32 seed, uint256 size) internal view returns (Seat[] memory) {
        return registry.committee(seed, epochNow(), size, nobody());
    }

    function epochNow() internal view returns (uint64) {
        return uint64(vm.getBlockNumber() / registry.epochBlocks());
    }

    function nobody() internal pure returns (AgentId[] memory) {
        return new AgentId[](0);
    }

    /// @dev The functions below call the oracle in the first round of a request.
    function committeeWith(
        Request memory request,
        uint64 seedBlock,
        bytes memory header
    ) internal view returns (Seat[] memory) {
        return settlement.committeeOf(request, firstRounds[request.id], Seed(seedBlock, header, new PastRound[](0)));
    }

    function commitWith(Request memory request, Decision memory decision, bytes memory certificate) internal {
        bytes memory header = HeaderMaker.make(seedBlocks[request.id]);
        commitFrom(request, header, decision, certificate);
    }

    function commitFrom(
        Request memory request,
        bytes memory header,
        Decision memory decision,
        bytes memory certificate
    ) internal {
        Seed memory seed = Seed(seedBlocks[request.id], header, new PastRound[](0));
        oracle.commit(request, firstRounds[request.id], seed, certificate, decision);
    }

    function refundWith(Request memory request, uint64 seedBlock) internal {
        oracle.refund(request, firstRounds[request.id], seedBlock);
    }

    function retryWith(Request memory request, bytes32 committeeHash, Decision memory decision, Relay relay) internal {
        oracle.retryCallback(request, firstRounds[request.id], committeeHash, decision, relay);
    }

    function settleWith(
        Request memory request,
        Seat[] memory committee,
        Decision memory decision,
        Relay relay
    ) internal {
        DecidedRound[] memory rounds = new DecidedRound[](1);
        rounds[0] = DecidedRound(firstRounds[request.id], committee, decision, relay, address(0));
        settlement.settle(request, rounds);
    }

    function fund(uint256 amount) internal {
        oracle.fund(subscriptionId, amount);
    }

    /// @dev Returns this contract's tokens at the oracle: its subscription's, its credit, and its agents' pay.
    function balance() internal view returns (uint256) {
        (, , uint256 tokens, , ) = oracle.subscriptionOf(subscriptionId);
        return
            tokens +
            oracle.creditOf(address(this), Currency.Token) +
            oracle.creditOf(address(registry), Currency.Token);
    }

    function decisionFor(uint256 size) internal pure returns (Draft memory decision) {
        decision.status = Status.Decided;
        decision.outcome = bytes32(uint256(1));
        decision.answer = "yes";
        decision.confidence = 900_000;
        decision.transcript = keccak256("transcript");
        decision.shares = new bytes(size);
        for (uint256 i = 0; i < size; ++i) decision.shares[i] = 0x1e;
    }

    /// @dev Returns a certificate with the seats whose bits are set.
    function certify(
        Request memory request,
        Seat[] memory committee,
        Draft memory decision,
        uint256 signers
    ) internal view returns (bytes memory certificate) {
        bytes32 digest = decisionDigest(request, committee, decision);
        bytes[] memory signatures = new bytes[](committee.length);
        for (uint256 seat = 0; seat < committee.length; ++seat) {
            if ((signers >> seat) & 1 == 0) continue;
            (uint8 v, bytes32 r, bytes32 s) = vm.sign(keys[committee[seat].signer()], digest);
            signatures[seat] = CertificateMaker.compact(v, r, s);
        }
        return CertificateMaker.pack(signers, signatures);
    }

    /// @dev Returns the EIP-712 digest that the committee signs, in plain steps.
    function decisionDigest(
        Request memory request,
        Seat[] memory committee,
        Draft memory decision
    ) internal view returns (bytes32) {
        return typedDigest("Conclave", address(oracle), structHashOf(request, committee, decision));
    }

    function structHashOf(
        Request memory request,
        Seat[] memory committee,
        Draft memory decision
    ) internal pure returns (bytes32) {
        bytes memory first = abi.encode(
            keccak256(
                "Decision(bytes32 requestHash,uint32 attempt,bytes32 committeeHash,uint32 round,uint8 status,bytes32 outcome,bytes answer,uint32 confidence,uint64 answered,uint64 agreed,bytes32 transcript,bytes reputationChanges,bytes shares)"
            ),
            keccak256(abi.encode(request)),
            decision.attempt,
            keccak256(abi.encodePacked(committee)),
            decision.round,
            decision.status
        );
        bytes memory second = abi.encode(
            decision.outcome,
            keccak256(decision.answer),
            decision.confidence,
            decision.answered,
            decision.agreed,
            decision.transcript,
            keccak256(decision.reputationChanges),
            keccak256(decision.shares)
        );
        return keccak256(bytes.concat(first, second));
    }

    /// @dev Returns the relay that the oracle makes when this contract submits.
    function relayOf(uint256 signers) internal view returns (Relay) {
        return RelayLib.pack(uint64(signers), RelayLib.paidGasPrice(), address(this));
    }

    /// @dev Returns the bitmap of the first seats, just more than two thirds.
    function quorumOf(uint256 size) internal pure returns (uint256) {
        return (1 << ((size * 2) / 3 + 1)) - 1;
    }

    function statusOf(Request memory request) internal view returns (Status status) {
        (status, , , , ) = oracle.statusOf(request.id);
    }

    /// @dev Reads the chain id through a call. An optimiser assumes that the chain stays the same within one call, and
    /// may move a read of `block.chainid`.
    function chainId() external view returns (uint256) {
        return block.chainid;
    }

    function typedDigest(string memory name, address verifier, bytes32 structHash) internal view returns (bytes32) {
        bytes32 domainType = keccak256(
            "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
        );
        bytes32 separator = keccak256(
            abi.encode(domainType, keccak256(bytes(name)), keccak256("1"), block.chainid, verifier)
        );
        return keccak256(abi.encodePacked(hex"1901", separator, structHash));
    }

    function signDigest(uint256 privateKey, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(privateKey, digest);
        return abi.encodePacked(r, s, v);
    }
}
