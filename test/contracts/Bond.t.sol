// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {RoundLib} from "../../contracts/libraries/RoundLib.sol";
import {Currency, PriceTerms, Request, Terms} from "../../contracts/types/Types.sol";
import {ConclaveTest} from "./utils/ConclaveTest.sol";

contract BondTest is ConclaveTest {
    function setUp() public {
        deployConclave();
        registerAgents(40, MAX_STAKE);
        oracle.setPrices(Currency.Token, PriceTerms(1 ether, 0, 0, 50_000));
        fund(1e24);
    }

    /// @dev SE5: an asker that pays ten thousand times the list price makes appeals twice as dear, not ten thousand times.
    function test_bondDoesNotGrowWithTheFee() public {
        assertEq(_bondAt(26 ether), 18 ether, "at the list price");
        assertEq(_bondAt(39 ether), 27 ether, "at one and a half times the list price");
        assertEq(_bondAt(52 ether), 36 ether, "at twice the list price");
        assertEq(_bondAt(260_000 ether), 36 ether, "at ten thousand times the list price");
    }

    function _bondAt(uint80 fee) private returns (uint256) {
        Terms memory terms = termsFor(4, fee);
        terms.appeals = 1;
        (Request memory request, ) = ask(terms);
        return settlement.bondOf(request.id, request.terms, RoundLib.pack(0, 0, 0));
    }
}
