// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {OwnableUpgradeable} from "@openzeppelin/contracts-upgradeable/access/OwnableUpgradeable.sol";
import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";

contract Box is OwnableUpgradeable {
    uint256 public value;
    event Stored(address indexed by, uint256 value);
    error TooLarge(uint256 value);

    /// @custom:oz-upgrades-unsafe-allow constructor
    constructor() {
        _disableInitializers();
    }

    function initialize(address owner_, uint256 value_) external initializer {
        __Ownable_init(owner_);
        value = value_;
    }

    function store(uint256 value_) external onlyOwner {
        if (value_ > 1000) revert TooLarge(value_);
        value = value_;
        emit Stored(msg.sender, value_);
    }
}

/// @custom:oz-upgrades-unsafe-allow missing-initializer
contract LargerBox is Box {
    function increment() external {
        value += 1;
    }
}

/// Its state does not lie where that of a Box lies.
/// @custom:oz-upgrades-unsafe-allow missing-initializer
contract ShiftedBox is OwnableUpgradeable {
    address public first;
    uint256 public value;
}

/// @custom:oz-upgrades-unsafe-allow missing-initializer
contract UupsBox is Box, UUPSUpgradeable {
    function _authorizeUpgrade(address) internal override onlyOwner {}
}

/// @custom:oz-upgrades-unsafe-allow missing-initializer
contract LargerUupsBox is UupsBox {
    function increment() external {
        value += 1;
    }
}
