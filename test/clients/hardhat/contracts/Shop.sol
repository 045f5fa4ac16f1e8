// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

contract Stock {
    uint256 public left;

    constructor(uint256 amount) {
        left = amount;
    }

    function take(uint256 amount) external {
        left -= amount;
    }
}

contract Shop {
    Stock public immutable stock;
    event Sold(address indexed buyer, uint256 amount);

    constructor(Stock stock_) payable {
        stock = stock_;
    }

    function buy(uint256 amount) external payable {
        stock.take(amount);
        emit Sold(msg.sender, amount);
    }
}
