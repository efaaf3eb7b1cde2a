// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {GAS_PRICE_UNIT, MAX_TIP} from "../types/Limits.sol";
import {Relay} from "../types/Types.sol";

/// @title The relay of a decision, in one word
/// @dev The casts to narrower types in the accessors cut the word to the member's width on purpose.
library RelayLib {
    /// @dev Rounds the price down, against the relayer. The price saturates at about 4.3 million gwei.
    /// @param signers_ bit i set = seat i signed
    /// @param gasPriceWei wei per gas
    /// @param relayer_ the account that submits
    function pack(uint64 signers_, uint256 gasPriceWei, address relayer_) internal pure returns (Relay) {
        uint256 units = gasPriceWei / GAS_PRICE_UNIT;
        if (units > type(uint32).max) units = type(uint32).max;
        return Relay.wrap((uint256(signers_) << 192) | (units << 160) | uint256(uint160(relayer_)));
    }

    /// @notice Returns the gas price that the caller is paid for: its own gas price, at most the base fee plus
    /// `MAX_TIP`. The oracle pays for more gas than a commit uses, so without this bound a relayer would earn most by a
    /// bid at the cap.
    /// @return wei per gas
    function paidGasPrice() internal view returns (uint256) {
        unchecked {
            // Gas prices in wei stay far below 2^255.
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
