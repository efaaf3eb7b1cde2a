// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {GAS_PRICE_UNIT} from "../types/Limits.sol";
import {Relay} from "../types/Types.sol";

/// @title Who relayed a decision, in one word
/// @dev The casts to narrower types in the accessors cut the word to the member's width on purpose.
library RelayLib {
    /// @dev The price is rounded down, against the relayer, and saturates at about 4,295 gwei.
    /// @param signers_ bit i set = seat i
    /// @param gasPriceWei wei per gas
    /// @param relayer_ who submits
    function pack(uint64 signers_, uint256 gasPriceWei, address relayer_) internal pure returns (Relay) {
        uint256 units = gasPriceWei / GAS_PRICE_UNIT;
        if (units > type(uint32).max) units = type(uint32).max;
        return Relay.wrap((uint256(signers_) << 192) | (units << 160) | uint256(uint160(relayer_)));
    }

    function signers(Relay relay) internal pure returns (uint64) {
        return uint64(Relay.unwrap(relay) >> 192);
    }

    /// @return wei per gas, a multiple of `GAS_PRICE_UNIT`
    function gasPrice(Relay relay) internal pure returns (uint256) {
        return uint32(Relay.unwrap(relay) >> 160) * GAS_PRICE_UNIT;
    }

    function relayer(Relay relay) internal pure returns (address) {
        return address(uint160(Relay.unwrap(relay)));
    }
}
