// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {DecisionHeadLib} from "../../../contracts/libraries/DecisionHeadLib.sol";
import {Decision, Service, Status} from "../../../contracts/types/Types.sol";

/// @dev A decision with separate members, as it is signed.
struct Draft {
    uint32 attempt;
    uint32 round;
    Status status;
    bytes32 outcome;
    bytes answer;
    uint32 confidence;
    uint64 answered;
    uint64 agreed;
    bytes32 transcript;
    bytes reputationChanges;
    bytes shares;
}

using DraftLib for Draft global;

/// @dev Returns what a share counts in the pay: 255 stands for absence (SE20).
function payShareOf(bytes1 share) pure returns (uint256) {
    return share == 0xff ? 0 : uint8(share);
}

/// @dev Returns a service of a decision that teaches about its agent.
function withLesson(Service service, bool agrees) pure returns (Service) {
    return Service.wrap(Service.unwrap(service) | (1 << 104) | (agrees ? 1 << 96 : 0));
}

library DraftLib {
    /// @dev Returns the decision in the form that calldata has.
    function packed(Draft memory draft) internal pure returns (Decision memory decision) {
        decision.head = DecisionHeadLib.pack(
            draft.status,
            uint8(draft.attempt),
            uint8(draft.shares.length),
            draft.round,
            draft.confidence,
            draft.answered,
            draft.agreed
        );
        decision.outcome = draft.outcome;
        decision.transcript = draft.transcript;
        decision.answer = draft.answer;
        decision.merits = bytes.concat(draft.shares, draft.reputationChanges);
    }
}

library CertificateMaker {
    /// @dev Returns a certificate in the form that `CertificateLib` reads.
    /// @param signatures one for each seat, of 64 bytes; those of seats that did not sign are left out
    function pack(uint256 signers, bytes[] memory signatures) internal pure returns (bytes memory certificate) {
        certificate = abi.encodePacked(uint64(signers));
        for (uint256 i = 0; i < signatures.length; ++i) {
            if ((signers >> i) & 1 == 1) certificate = bytes.concat(certificate, signatures[i]);
        }
    }

    /// @dev Returns the short form of a signature (EIP-2098).
    function compact(uint8 v, bytes32 r, bytes32 s) internal pure returns (bytes memory) {
        return abi.encodePacked(r, uint256(s) | (uint256(v - 27) << 255));
    }
}
