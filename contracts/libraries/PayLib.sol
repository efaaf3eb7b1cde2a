// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {DECIDED_UNITS, SLASHING_COMMITTEE} from "../types/Limits.sol";
import {Decision, DecisionHead, RequestTerms, Seat, Service, Status} from "../types/Types.sol";
import {DecisionHeadLib} from "./DecisionHeadLib.sol";
import {RequestTermsLib} from "./RequestTermsLib.sol";
import {SeatLib} from "./SeatLib.sol";
import {ServiceLib} from "./ServiceLib.sol";

/// @title The pay of a round, and what its decision says of those before it (SE10, SE11)
library PayLib {
    using DecisionHeadLib for DecisionHead;
    using RequestTermsLib for RequestTerms;
    using SeatLib for Seat;

    /// @dev The share of a seat where nothing could be scored (PY6): it says that the seat worked, not that it was right.
    uint256 private constant FLAT = 1;
    /// @dev The share of a seat that said nothing.
    uint256 private constant ABSENT = 0xff;
    /// @dev Of 32 bytes, all bits but the top one of each.
    // slither-disable-next-line divide-before-multiply: 255 divides 2^256 - 1
    bytes32 private constant SHARE_BITS = bytes32((type(uint256).max / 0xff) * 0x7f);

    /// @notice True if a decision is an answer.
    /// @dev The head may be unchecked: dirty bits turn the status into another one, and then the commitment differs.
    function isDecided(Decision calldata decision) internal pure returns (bool) {
        return DecisionHeadLib.statusCode(decision.head) == uint256(Status.Decided);
    }

    /// @notice True if a committee decided nothing. A non-answer is a decision, which costs as much work as an answer.
    function isHung(Decision calldata decision) internal pure returns (bool) {
        return DecisionHeadLib.statusCode(decision.head) == uint256(Status.Hung);
    }

    /// @notice Returns the units of pay of a round.
    function units(Decision calldata decision) internal pure returns (uint256) {
        uint256 size = DecisionHeadLib.seats(decision.head);
        return isHung(decision) ? size : DECIDED_UNITS * size;
    }

    /// @notice True if a decision can overturn those of the rounds before it. A hung committee says nothing about them, and nor does one
    /// that found no answer if no seat said so at first: it could read nothing (SG8), and whoever serves a source can bring that about.
    /// @param decision a decision whose struct hash was made, which proves that its merits hold a share for each seat
    function canOverturn(Decision calldata decision) internal pure returns (bool) {
        if (isHung(decision)) return false;
        return isDecided(decision) || _isKnown(decision);
    }

    /// @notice True if two decisions have another status, or another answer.
    /// @param terms the terms of the request: numbers agree within their tolerance
    function differ(RequestTerms terms, Decision calldata one, Decision calldata other) internal pure returns (bool) {
        if (DecisionHeadLib.statusCode(one.head) != DecisionHeadLib.statusCode(other.head)) return true;
        if (terms.kind() != RequestTermsLib.KIND_NUMBER) return one.outcome != other.outcome;
        // The outcomes are two's complement numbers, and their distance may need all 256 bits.
        (int256 left, int256 right) = (int256(uint256(one.outcome)), int256(uint256(other.outcome)));
        unchecked {
            uint256 distance = left > right ? uint256(left) - uint256(right) : uint256(right) - uint256(left);
            return distance > terms.tolerance();
        }
    }

    /// @notice True if no seat has a share of the pay.
    /// @param decision a decision whose struct hash was made, which proves that its merits hold a share for each seat
    function paysNobody(Decision calldata decision) internal pure returns (bool) {
        bytes calldata shares = decision.merits[:DecisionHeadLib.seats(decision.head)];
        // There are at most 64 shares, and a slice that ends early is filled up with zeros.
        return _allZeroOrAbsent(bytes32(shares)) && (shares.length <= 32 || _allZeroOrAbsent(bytes32(shares[32:])));
    }

    /// @notice True if a seat answered so before it saw what others answer: its share is a score (PY4, PY6).
    /// @param decision a decision whose struct hash was made, which proves that its merits hold a share for each seat
    function knew(Decision calldata decision, uint256 seat) internal pure returns (bool) {
        uint256 share = uint8(decision.merits[seat]);
        return share > FLAT && share != ABSENT;
    }

    /// @notice Returns what a round that stands means for each of its seats: pay, reputation, absence, skill (SE11, SE20, SK3).
    /// @dev Every division rounds down, in favour of the asker, who gets what is left. Who missed is what the committee
    /// signed: the relayer, who chooses the signatures, has no say in it. A small committee slashes a seat once even where
    /// its decision says more.
    /// @param committee the seats in order, at most 64
    /// @param head the decision's head, which names the seats that it teaches about
    /// @param merits the shares, then the reputation changes, see `Decision`
    /// @param pay the pay of the whole committee, below 2^96
    /// @return services one for each seat
    /// @return earned what all seats earn together; 0 if all shares are 0
    function servicesOf(
        Seat[] memory committee,
        DecisionHead head,
        bytes calldata merits,
        uint256 pay
    ) internal pure returns (Service[] memory services, uint256 earned) {
        uint256 size = committee.length;
        services = new Service[](size);
        uint256 total = _sumOf(merits[:size]);
        uint256 change = size;
        for (uint256 seat = 0; seat < size; ++seat) {
            uint256 amount = uint8(merits[seat]);
            bool missed = amount == ABSENT;
            if (missed) {
                amount = 0;
            } else if (amount != 0) {
                unchecked {
                    // The product is below 2^104, the total includes this share, and the sum of the amounts is at most pay.
                    amount = (amount * pay) / total;
                    earned += amount;
                }
            }
            int8 steps = 0;
            // The changes name their seats in ascending order.
            if (change < merits.length && uint8(merits[change]) == seat) {
                unchecked {
                    // The changes come in pairs, and are at most as many as the seats.
                    steps = _stepsOf(merits[change + 1], size);
                    change += 2;
                }
            }
            services[seat] = ServiceLib.pack(committee[seat].agentId(), steps, missed, amount);
        }
        if (head.answered() != 0) _teach(services, head);
    }

    /// @dev Gives each seat that the decision teaches about its lesson, see `ServiceLib`. Bits beyond the committee say nothing.
    function _teach(Service[] memory services, DecisionHead head) private pure {
        uint256 answered = head.answered() & ((1 << services.length) - 1);
        uint256 agreed = head.agreed();
        assembly ("memory-safe") {
            for {
                let service := add(services, 0x20)
            } answered {
                answered := shr(1, answered)
                agreed := shr(1, agreed)
                service := add(service, 0x20)
            } {
                mstore(service, or(mload(service), or(shl(104, and(answered, 1)), shl(96, and(agreed, 1)))))
            }
        }
    }

    function _isKnown(Decision calldata decision) private pure returns (bool) {
        uint256 seats = DecisionHeadLib.seats(decision.head);
        // There are at most 64 seats.
        for (uint256 seat = 0; seat < seats; ++seat) if (knew(decision, seat)) return true;
        return false;
    }

    function _sumOf(bytes calldata shares) private pure returns (uint256 sum) {
        for (uint256 seat = 0; seat < shares.length; ++seat) {
            uint256 share = uint8(shares[seat]);
            unchecked {
                // There are at most 64 shares.
                if (share != ABSENT) sum += share;
            }
        }
    }

    /// @dev True if each of 32 shares is 0 or ABSENT: all bits of the byte are the same. The top bit of each byte is left out, since the
    /// shift brings it the lowest bit of the byte before.
    function _allZeroOrAbsent(bytes32 shares) private pure returns (bool) {
        return (shares ^ (shares >> 1)) & SHARE_BITS == 0;
    }

    /// @param change a two's complement number
    function _stepsOf(bytes1 change, uint256 size) private pure returns (int8 steps) {
        steps = int8(uint8(change));
        if (steps < -1 && size < SLASHING_COMMITTEE) steps = -1;
    }
}
