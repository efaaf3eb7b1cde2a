// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";

import {DecisionConsumer} from "../consumers/DecisionConsumer.sol";
import {IDecisionOracle} from "../interfaces/IDecisionOracle.sol";
import {Currency, RequestId, Status, Terms} from "../types/Types.sol";

/// @title A consumer that misbehaves as told, for tests
contract HostileConsumer is DecisionConsumer {
    /// @notice What it does when it is called back or gets coins.
    enum Mode {
        Accept,
        Revert,
        BurnGas,
        ReturnBomb,
        RevertBomb,
        Reenter
    }

    /// @notice What it does next.
    Mode public mode;
    /// @notice How often a callback went through.
    uint256 public calls;
    /// @notice Whether the call made from within the callback succeeded.
    bool public reentered;
    /// @notice What that call returned.
    bytes public reentryResult;
    address private _target;
    bytes private _reentry;

    error Refused();

    constructor(IDecisionOracle oracle_) DecisionConsumer(oracle_) {}

    receive() external payable {
        _react();
    }

    /// @notice Asks with any terms.
    function ask(uint48 subscriptionId, Terms calldata terms, bytes calldata question) external returns (RequestId) {
        return _ask(subscriptionId, terms, question);
    }

    /// @notice Takes what the oracle owes it.
    function withdrawCredit(Currency currency, uint256 amount, address to) external {
        _withdrawCredit(currency, amount, to);
    }

    /// @notice Calls anybody, with the coins that come along.
    function execute(address target, bytes calldata data) external payable {
        Address.functionCallWithValue(target, data, msg.value);
    }

    /// @notice Changes what it does next.
    function setMode(Mode mode_) external {
        mode = mode_;
    }

    /// @notice Whom it calls in mode `Reenter`, and with what.
    function setReentry(address target, bytes calldata data) external {
        _target = target;
        _reentry = data;
    }

    function _onDecision(RequestId, Status, bytes32, bytes calldata, uint32) internal override {
        _react();
    }

    function _react() private {
        Mode current = mode;
        require(current != Mode.Revert, Refused());
        if (current == Mode.BurnGas) {
            assembly {
                invalid()
            }
        }
        if (current == Mode.ReturnBomb) {
            assembly {
                return(0, 200000)
            }
        }
        if (current == Mode.RevertBomb) {
            assembly {
                revert(0, 200000)
            }
        }
        ++calls;
        if (current == Mode.Reenter) (reentered, reentryResult) = _target.call(_reentry);
    }
}
