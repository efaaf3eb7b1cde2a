// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IDecisionConsumer} from "../../contracts/interfaces/IDecisionConsumer.sol";
import {CallbackLib} from "../../contracts/libraries/CallbackLib.sol";
import {DecisionHeadLib} from "../../contracts/libraries/DecisionHeadLib.sol";
import {RequestTermsLib} from "../../contracts/libraries/RequestTermsLib.sol";
import {Decision, Request, RequestId, Status, Terms} from "../../contracts/types/Types.sol";
import {Assertions} from "./utils/Vm.sol";

/// @dev What a consumer is called with is what the compiler would encode, whatever lay in the memory that it is written to.
contract CallbackTest is Assertions {
    bytes private _received;

    /// @dev The consumer.
    fallback() external {
        _received = msg.data;
    }

    function testFuzz_aDecisionIsDelivered(
        RequestId id,
        bytes32 outcome,
        bytes memory answer,
        uint32 confidence,
        bytes32 dirt
    ) public {
        Decision memory decision;
        decision.head = DecisionHeadLib.pack(Status.Decided, 1, 4, 2, confidence, 15, 7);
        decision.outcome = outcome;
        decision.answer = answer;
        decision.merits = hex"55555555";
        assertTrue(this.deliver(_request(id), decision, dirt), "delivered");
        _assertReceived(id, Status.Decided, outcome, answer, confidence);
    }

    function testFuzz_anEndIsDelivered(RequestId id, bytes32 dirt) public {
        assertTrue(this.end(_request(id), dirt), "delivered");
        _assertReceived(id, Status.Refunded, 0, "", 0);
    }

    function deliver(Request calldata request, Decision calldata decision, bytes32 dirt) external returns (bool) {
        _soil(dirt, 0x120 + decision.answer.length);
        return CallbackLib.tryDecision(request, decision);
    }

    function end(Request calldata request, bytes32 dirt) external returns (bool) {
        _soil(dirt, 0x120);
        return CallbackLib.tryEnd(request, Status.Refunded);
    }

    /// @dev Fills at least so many bytes beyond the free memory pointer.
    function _soil(bytes32 dirt, uint256 size) private pure {
        assembly ("memory-safe") {
            let free := mload(0x40)
            for {
                let i := 0
            } lt(i, size) {
                i := add(i, 0x20)
            } {
                mstore(add(free, i), dirt)
            }
        }
    }

    function _request(RequestId id) private view returns (Request memory) {
        Terms memory terms;
        terms.callbackGasLimit = 2_000_000;
        return Request({id: id, consumer: address(this), terms: RequestTermsLib.pack(terms), questionHash: 0});
    }

    function _assertReceived(
        RequestId id,
        Status status,
        bytes32 outcome,
        bytes memory answer,
        uint32 confidence
    ) private view {
        bytes memory expected = abi.encodeCall(IDecisionConsumer.onDecision, (id, status, outcome, answer, confidence));
        assertEq(_received.length, expected.length, "length");
        assertEq(keccak256(_received), keccak256(expected), "data");
    }
}
