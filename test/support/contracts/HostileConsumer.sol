// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";

import {DecisionConsumer} from "../../../contracts/consumers/DecisionConsumer.sol";
import {IDecisionOracle} from "../../../contracts/interfaces/IDecisionOracle.sol";
import {Currency, Request, RequestId, Round, Status, Terms} from "../../../contracts/types/Types.sol";

/// @title A consumer that misbehaves as a test tells it
contract HostileConsumer is DecisionConsumer {
    /// @notice The behaviour when the consumer is called back or gets coins.
    enum Mode {
        Accept,
        Revert,
        BurnGas,
        ReturnBomb,
        RevertBomb,
        Reenter
    }

    /// @notice The current behaviour.
    Mode public mode;
    /// @notice Number of callbacks that succeeded.
    uint256 public calls;
    /// @notice How the latest request without an answer ended.
    Status public ended;
    /// @notice True if the call made from within the callback succeeded.
    bool public reentered;
    /// @notice The data that this call returned.
    bytes public reentryResult;
    address private _target;
    bytes private _reentry;

    error Refused();

    constructor(IDecisionOracle oracle_) DecisionConsumer(oracle_) {}

    receive() external payable {
        _react();
    }

    /// @notice Makes a request with any terms.
    function ask(uint48 subscriptionId, Terms calldata terms, bytes calldata question) external returns (RequestId) {
        return _ask(subscriptionId, terms, question);
    }

    /// @notice Takes a request back.
    function cancel(Request calldata request, Round round, uint64 seedBlock) external {
        _cancel(request, round, seedBlock);
    }

    /// @notice Withdraws the credit that the oracle holds for this contract.
    function withdrawCredit(Currency currency, uint256 amount, address to) external {
        _withdrawCredit(currency, amount, to);
    }

    /// @notice Calls any account, and passes on the coins that were sent.
    function execute(address target, bytes calldata data) external payable {
        Address.functionCallWithValue(target, data, msg.value);
    }

    /// @notice Changes the behaviour.
    function setMode(Mode mode_) external {
        mode = mode_;
    }

    /// @notice Sets the account that mode `Reenter` calls, and the data of the call.
    function setReentry(address target, bytes calldata data) external {
        _target = target;
        _reentry = data;
    }

    function _onDecision(RequestId, bytes32, bytes calldata, uint32) internal override {
        _react();
    }

    function _onNoDecision(RequestId, Status status_) internal override {
        _react();
        ended = status_;
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
