// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {ISlasher} from "../../contracts/interfaces/ISlasher.sol";
import {CertificateLib} from "../../contracts/libraries/CertificateLib.sol";
import {DecisionHeadLib} from "../../contracts/libraries/DecisionHeadLib.sol";
import {DecisionLib} from "../../contracts/libraries/DecisionLib.sol";
import {EvidenceLib} from "../../contracts/libraries/EvidenceLib.sol";
import {PossessionLib} from "../../contracts/libraries/PossessionLib.sol";
import {RelayLib} from "../../contracts/libraries/RelayLib.sol";
import {RequestIdLib} from "../../contracts/libraries/RequestIdLib.sol";
import {RequestLib} from "../../contracts/libraries/RequestLib.sol";
import {RequestTermsLib} from "../../contracts/libraries/RequestTermsLib.sol";
import {RoundLib} from "../../contracts/libraries/RoundLib.sol";
import {SeatLib} from "../../contracts/libraries/SeatLib.sol";
import {
    AgentId,
    Decision,
    DecisionHead,
    Relay,
    Request,
    RequestId,
    RequestTerms,
    Round,
    Seat,
    Status,
    Terms
} from "../../contracts/types/Types.sol";
import {Draft} from "./utils/Draft.sol";
import {Assertions, vm} from "./utils/Vm.sol";

/// @dev Reads test/vectors/eip712.json. Ethers made the file, and the TypeScript core also reads it.
contract VectorsTest is Assertions {
    using DecisionHeadLib for DecisionHead;
    using SeatLib for Seat;

    string private _json;
    /// @dev The widths of all terms, from the highest bits to the lowest.
    uint256[] private _termBits;

    function setUp() public {
        _json = vm.readFile("test/vectors/eip712.json");
        _termBits = vm.parseJsonUintArray(_json, ".termBits");
    }

    function test_typeHashes() public view {
        assertEq(DecisionLib.DECISION_TYPEHASH, _bytes32(".typeHashes.Decision"), "Decision");
        assertEq(DecisionLib.MESSAGE_TYPEHASH, _bytes32(".typeHashes.Message"), "Message");
        assertEq(PossessionLib.POSSESSION_TYPEHASH, _bytes32(".typeHashes.Possession"), "Possession");
    }

    function test_requests() public view {
        uint256 count = 0;
        for (; _exists("requests", count); ++count) {
            string memory at = _at("requests", count);
            bytes memory members = _bytes(at, ".termsStruct");
            RequestTerms packed = RequestTermsLib.pack(abi.decode(members, (Terms)));
            assertEq(RequestTerms.unwrap(packed), _word(at, ".termsWord"), "pack");
            assertEq(keccak256(abi.encode(RequestTermsLib.unpack(packed))), keccak256(members), "unpack");
            bytes32 requestHash = this.hashRequest(_request(at));
            assertEq(requestHash, _bytes32(_join(at, ".requestHash")), "requestHash");
            assertEq(
                RequestLib.requestedCommitment(
                    requestHash,
                    Round.wrap(_word(at, ".roundWord")),
                    uint64(_decimal(at, ".seedBlock"))
                ),
                _bytes32(_join(at, ".requestedCommitment")),
                "requestedCommitment"
            );
        }
        assertEq(count, 4, "requests read");
    }

    function testFuzz_everyWordIsTerms(uint256 word) public view {
        bytes memory members = "";
        uint256 shift = 256;
        for (uint256 i = 0; i < _termBits.length; ++i) {
            shift -= _termBits[i];
            members = bytes.concat(members, bytes32((word >> shift) & ((1 << _termBits[i]) - 1)));
        }
        assertEq(shift, 0, "the terms fill the word");
        Terms memory terms = RequestTermsLib.unpack(RequestTerms.wrap(word));
        assertEq(keccak256(abi.encode(terms)), keccak256(members), "unpack");
        assertEq(RequestTerms.unwrap(RequestTermsLib.pack(terms)), word, "pack");
    }

    function test_requestIds() public view {
        uint256 count = 0;
        for (; _exists("requestIds", count); ++count) {
            string memory at = _at("requestIds", count);
            RequestId id = RequestIdLib.pack(
                uint16(_decimal(at, ".priceVersion")),
                uint48(_decimal(at, ".subscription")),
                uint48(_decimal(at, ".count"))
            );
            assertEq(RequestId.unwrap(id), _decimal(at, ".id"), "id");
        }
        assertEq(count, 3, "ids read");
    }

    function test_rounds() public view {
        uint256 count = 0;
        for (; _exists("rounds", count); ++count) {
            string memory at = _at("rounds", count);
            Round round = RoundLib.pack(_word(at, ".link"), _number(at, ".appeals"), _number(at, ".deadline"));
            assertEq(Round.unwrap(round), _word(at, ".word"), "word");
        }
        assertEq(count, 3, "rounds read");
    }

    function test_committees() public view {
        uint256 count = 0;
        for (; _exists("committees", count); ++count) {
            string memory at = _at("committees", count);
            Seat[] memory committee = _committee(count);
            for (uint256 seat = 0; seat < committee.length; ++seat) {
                string memory one = _join(at, _join(".seats[", _join(vm.toString(seat), "]")));
                assertEq(committee[seat].skill(), _number(one, ".skill"), "skill");
                assertEq(AgentId.unwrap(committee[seat].agentId()), _number(one, ".agentId"), "agentId");
                assertEq(committee[seat].reputation(), _number(one, ".reputation"), "reputation");
                assertEq(committee[seat].signer(), vm.parseJsonAddress(_json, _join(one, ".signer")), "signer");
            }
            assertEq(this.hashCommittee(committee), _bytes32(_join(at, ".committeeHash")), "committeeHash");
            assertEq(SeatLib.hashMemory(committee), _bytes32(_join(at, ".committeeHash")), "the same from memory");
        }
        assertEq(count, 2, "committees read");
    }

    function test_decisions() public view {
        uint256 count = 0;
        for (; _exists("decisions", count); ++count) {
            string memory at = _at("decisions", count);
            Decision memory decision = _decision(at);
            bytes32 requestHash = _bytes32(_join(at, ".message.requestHash"));
            bytes32 committeeHash = _bytes32(_join(at, ".message.committeeHash"));
            uint256 size = _committee(_number(at, ".committee")).length;
            assertEq(DecisionHead.unwrap(decision.head), _word(at, ".packed.head"), "head");
            assertEq(keccak256(decision.merits), keccak256(_bytes(at, ".packed.merits")), "merits");
            bytes32 structHash = this.hashDecision(decision, requestHash, committeeHash, size);
            assertEq(structHash, _bytes32(_join(at, ".structHash")), "structHash");
            assertEq(_digest(".domainSeparator", structHash), _bytes32(_join(at, ".digest")), "digest");
            _settlement(at, structHash, committeeHash);
        }
        assertEq(count, 4, "decisions read");
    }

    function test_certificates() public view {
        uint256 count = 0;
        for (; _exists("certificates", count); ++count) {
            string memory at = _at("certificates", count);
            string memory decision = _at("decisions", _number(at, ".decision"));
            Seat[] memory committee = _committee(_number(decision, ".committee"));
            bytes memory certificate = _bytes(at, ".packed");
            bytes32 digest = _bytes32(_join(decision, ".digest"));
            assertEq(this.verify(certificate, committee, digest), _word(at, ".signers"), "signers");
        }
        assertEq(count, 5, "certificates read");
    }

    function test_relays() public view {
        uint256 count = 0;
        for (; _exists("relays", count); ++count) {
            string memory at = _at("relays", count);
            address relayer = vm.parseJsonAddress(_json, _join(at, ".relayer"));
            Relay relay = RelayLib.pack(uint64(_decimal(at, ".signers")), _decimal(at, ".gasPriceWei"), relayer);
            assertEq(Relay.unwrap(relay), _word(at, ".word"), "word");
        }
        assertEq(count, 3, "relays read");
    }

    function test_messages() public view {
        uint256 count = 0;
        for (; _exists("messages", count); ++count) {
            string memory at = _at("messages", count);
            EvidenceLib.ProvenSeat memory seat;
            seat.requestHash = _bytes32(_join(at, ".message.requestHash"));
            seat.committeeHash = _bytes32(_join(at, ".message.committeeHash"));
            seat.attempt = uint32(_number(at, ".message.attempt"));
            seat.protocol = uint32(_number(at, ".message.protocol"));
            seat.number = uint32(_number(at, ".message.seat"));
            ISlasher.MessageSlot memory slot = ISlasher.MessageSlot(
                uint32(_number(at, ".message.phase")),
                uint32(_number(at, ".message.round"))
            );
            bytes32 structHash = this.hashMessage(seat, slot, _bytes32(_join(at, ".message.payloadDigest")));
            assertEq(structHash, _bytes32(_join(at, ".structHash")), "structHash");
            assertEq(_digest(".domainSeparator", structHash), _bytes32(_join(at, ".digest")), "digest");
        }
        assertEq(count, 3, "messages read");
    }

    function test_possessions() public view {
        uint256 count = 0;
        for (; _exists("possessions", count); ++count) {
            string memory at = _at("possessions", count);
            bytes memory publicKey = vm.parseJsonBytes(_json, _join(at, ".message.publicKey"));
            address operator = vm.parseJsonAddress(_json, _join(at, ".message.operator"));
            bytes32 digest = _digest(".registryDomainSeparator", this.hashPossession(operator, publicKey));
            assertEq(digest, _bytes32(_join(at, ".digest")), "digest");
            address signer = this.signerOf(publicKey);
            assertEq(signer, vm.parseJsonAddress(_json, _join(at, ".signer")), "signer");
            this.verifyPossession(digest, vm.parseJsonBytes(_json, _join(at, ".signature")), signer);
        }
        assertEq(count, 2, "possessions read");
    }

    function hashRequest(Request calldata request) external pure returns (bytes32) {
        return RequestLib.hash(request);
    }

    function hashCommittee(Seat[] calldata committee) external pure returns (bytes32) {
        return SeatLib.hash(committee);
    }

    function hashDecision(
        Decision calldata decision,
        bytes32 request,
        bytes32 committee,
        uint256 size
    ) external pure returns (bytes32) {
        return DecisionLib.structHash(decision, request, committee, size);
    }

    function hashMessage(
        EvidenceLib.ProvenSeat calldata seat,
        ISlasher.MessageSlot calldata slot,
        bytes32 payload
    ) external pure returns (bytes32) {
        return EvidenceLib.messageHash(seat, slot, payload);
    }

    function verify(
        bytes calldata certificate,
        Seat[] memory committee,
        bytes32 digest
    ) external view returns (uint64) {
        return CertificateLib.verify(certificate, committee, digest);
    }

    function hashPossession(address operator, bytes calldata publicKey) external pure returns (bytes32) {
        return PossessionLib.structHash(operator, publicKey);
    }

    function signerOf(bytes calldata publicKey) external pure returns (address) {
        return PossessionLib.signerOf(publicKey);
    }

    function verifyPossession(bytes32 digest, bytes calldata signature, address signer) external pure {
        PossessionLib.verify(digest, signature, signer);
    }

    /// @dev Checks what is stored of a decision, and the link to the round after a retry or an appeal.
    function _settlement(string memory at, bytes32 structHash, bytes32 committeeHash) private view {
        Round round = Round.wrap(_word(at, ".roundWord"));
        Relay relay = Relay.wrap(_word(at, ".relayWord"));
        assertEq(
            RequestLib.settledCommitment(structHash, relay, round),
            _bytes32(_join(at, ".settledCommitment")),
            "settledCommitment"
        );
        for (uint256 i = 0; i < 2; ++i) {
            string memory one = _join(at, _join(".links[", _join(vm.toString(i), "]")));
            address appellant = vm.parseJsonAddress(_json, _join(one, ".appellant"));
            uint256 link = RoundLib.linkAfter(round, committeeHash, structHash, relay, appellant);
            assertEq(link, _word(one, ".link"), "link");
        }
    }

    function _request(string memory at) private view returns (Request memory) {
        bytes32 questionHash = keccak256(bytes(vm.parseJsonString(_json, _join(at, ".question"))));
        assertEq(questionHash, _bytes32(_join(at, ".questionHash")), "questionHash");
        return
            Request(
                RequestId.wrap(_decimal(at, ".id")),
                vm.parseJsonAddress(_json, _join(at, ".consumer")),
                RequestTerms.wrap(_word(at, ".termsWord")),
                questionHash
            );
    }

    function _committee(uint256 index) private view returns (Seat[] memory committee) {
        bytes32[] memory words = vm.parseJsonBytes32Array(_json, _join(_at("committees", index), ".words"));
        committee = new Seat[](words.length);
        for (uint256 i = 0; i < words.length; ++i) committee[i] = Seat.wrap(uint256(words[i]));
    }

    function _decision(string memory at) private view returns (Decision memory) {
        Draft memory decision;
        decision.attempt = uint32(_number(at, ".message.attempt"));
        decision.round = uint32(_number(at, ".message.round"));
        decision.status = Status(_number(at, ".message.status"));
        decision.outcome = _bytes32(_join(at, ".message.outcome"));
        decision.answer = vm.parseJsonBytes(_json, _join(at, ".message.answer"));
        decision.confidence = uint32(_number(at, ".message.confidence"));
        decision.answered = uint64(_number(at, ".message.answered"));
        decision.agreed = uint64(_number(at, ".message.agreed"));
        decision.transcript = _bytes32(_join(at, ".message.transcript"));
        decision.reputationChanges = vm.parseJsonBytes(_json, _join(at, ".message.reputationChanges"));
        decision.shares = vm.parseJsonBytes(_json, _join(at, ".message.shares"));
        return decision.packed();
    }

    function _digest(string memory separator, bytes32 structHash) private view returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", _bytes32(separator), structHash));
    }

    function _exists(string memory list, uint256 index) private view returns (bool) {
        return vm.keyExistsJson(_json, _at(list, index));
    }

    function _at(string memory list, uint256 index) private pure returns (string memory) {
        return string.concat(".", list, "[", vm.toString(index), "]");
    }

    function _join(string memory a, string memory b) private pure returns (string memory) {
        return string.concat(a, b);
    }

    function _bytes32(string memory key) private view returns (bytes32) {
        return vm.parseJsonBytes32(_json, key);
    }

    function _bytes(string memory at, string memory key) private view returns (bytes memory) {
        return vm.parseJsonBytes(_json, _join(at, key));
    }

    function _word(string memory at, string memory key) private view returns (uint256) {
        return uint256(_bytes32(_join(at, key)));
    }

    function _number(string memory at, string memory key) private view returns (uint256) {
        return vm.parseJsonUint(_json, _join(at, key));
    }

    /// @dev Big integers are decimal strings in the file.
    function _decimal(string memory at, string memory key) private view returns (uint256) {
        return vm.parseUint(vm.parseJsonString(_json, _join(at, key)));
    }
}
