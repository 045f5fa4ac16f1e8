// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// Does what its calldata says, step by step, in its constructor too: property tests compose call trees from it.
contract Puppet {
    enum Kind {
        Call,
        StaticCall,
        DelegateCall,
        Create,
        SelfDestruct,
        Revert
    }

    struct Step {
        Kind kind;
        /// LAST_CREATED stands for what the latest Create of this run gave (the zero address when it failed), SELF for the
        /// account that runs
        address target;
        uint256 value;
        /// gas forwarded by the three calls
        uint256 gas;
        /// calldata, or the init code of Create
        bytes data;
        /// a failure of this step reverts the run
        bool mustSucceed;
    }

    address private constant LAST_CREATED = address(0xC4EA7ED);
    address private constant SELF = address(0x5E1F);

    constructor(Step[] memory steps) payable {
        _run(steps);
    }

    receive() external payable {}

    function run(Step[] memory steps) external payable {
        _run(steps);
    }

    function _run(Step[] memory steps) private {
        address created = LAST_CREATED;
        for (uint256 i = 0; i < steps.length; i++) {
            Step memory step = steps[i];
            address target = step.target;
            if (target == LAST_CREATED) target = created;
            else if (target == SELF) target = address(this);
            bytes memory data = step.data;
            bool ok;
            if (step.kind == Kind.Call) {
                (ok,) = target.call{value: step.value, gas: step.gas}(data);
            } else if (step.kind == Kind.StaticCall) {
                (ok,) = target.staticcall{gas: step.gas}(data);
            } else if (step.kind == Kind.DelegateCall) {
                (ok,) = target.delegatecall{gas: step.gas}(data);
            } else if (step.kind == Kind.Create) {
                uint256 value = step.value;
                assembly {
                    created := create(value, add(data, 32), mload(data))
                }
                ok = created != address(0);
            } else if (step.kind == Kind.SelfDestruct) {
                selfdestruct(payable(target));
            }
            // what is left is Revert, which never succeeds
            if (!ok && step.mustSucceed) revert();
        }
    }
}
