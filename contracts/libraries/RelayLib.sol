// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {GAS_PRICE_UNIT, MAX_TIP} from "../types/Limits.sol";
import {Relay} from "../types/Types.sol";

/// @title The relay of a decision, in one word
/// @dev The casts to narrower types in the accessors cut the word to the member's width on purpose.
library RelayLib {
    /// @dev The price is rounded down, against the relayer, and saturates at about 4,295 gwei.
    /// @param signers_ bit i set = seat i
    /// @param gasPriceWei wei per gas
    /// @param relayer_ the account that submits
    function pack(uint64 signers_, uint256 gasPriceWei, address relayer_) internal pure returns (Relay) {
        uint256 units = gasPriceWei / GAS_PRICE_UNIT;
        if (units > type(uint32).max) units = type(uint32).max;
        return Relay.wrap((uint256(signers_) << 192) | (units << 160) | uint256(uint160(relayer_)));
    }

    /// @notice The price per gas that the caller is paid: its gas price, at most the base fee plus `MAX_TIP`. Without
    /// that bound, a bid at the cap would earn most, since the oracle pays for more gas than a commit uses.
    /// @return wei per gas
    function paidGasPrice() internal view returns (uint256) {
        unchecked {
            // Wei per gas stay far below 2^255.
            uint256 most = block.basefee + MAX_TIP;
            return tx.gasprice < most ? tx.gasprice : most;
        }
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
