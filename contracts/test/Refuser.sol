// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

import {WrappedCoin} from "WrappedCoin.sol";

/// Wraps what it is created with, and cannot receive coins.
contract Refuser {
    WrappedCoin private immutable wrapped;

    constructor(WrappedCoin wrapped_) payable {
        wrapped = wrapped_;
        wrapped_.deposit{value: msg.value}();
    }

    function unwrap(uint256 amount) external {
        wrapped.withdraw(amount);
    }
}
