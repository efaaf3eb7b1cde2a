// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {AgentId, Service} from "../types/Types.sol";

/// @title What a settled request did to one agent, in one word
/// @dev The casts to narrower types in the accessors cut the word to the member's width on purpose.
library ServiceLib {
    /// @dev `PayLib` adds what the decision teaches about the agent.
    /// @param earned_ below 2^96, as every fee is
    function pack(AgentId agentId_, int8 steps_, bool missed_, uint256 earned_) internal pure returns (Service) {
        return
            Service.wrap(
                (uint256(AgentId.unwrap(agentId_)) << 128) |
                    (uint256(uint8(steps_)) << 120) |
                    (missed_ ? uint256(1) << 112 : 0) |
                    earned_
            );
    }

    function agentId(Service service) internal pure returns (AgentId) {
        return AgentId.wrap(uint32(Service.unwrap(service) >> 128));
    }

    function steps(Service service) internal pure returns (int8) {
        // The byte is a two's complement number.
        return int8(uint8(Service.unwrap(service) >> 120));
    }

    function missed(Service service) internal pure returns (bool) {
        return uint8(Service.unwrap(service) >> 112) != 0;
    }

    function answered(Service service) internal pure returns (bool) {
        return uint8(Service.unwrap(service) >> 104) != 0;
    }

    function agreed(Service service) internal pure returns (bool) {
        return uint8(Service.unwrap(service) >> 96) != 0;
    }

    function earned(Service service) internal pure returns (uint256) {
        return uint96(Service.unwrap(service));
    }
}
