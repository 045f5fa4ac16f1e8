// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// What an application does, in small: a payable function, an event with indexed and other fields, a custom error, a
/// reason string, a panic, nested calls and code that uses as much gas as it is told to.
contract Vault {
    event Deposited(address indexed from, uint256 indexed number, uint256 amount, string note);

    error InsufficientDeposit(address account, uint256 held, uint256 wanted);

    mapping(address account => uint256) public deposits;
    uint256 public count;
    bytes32 private digest;

    constructor(uint256 firstNumber) payable {
        count = firstNumber;
    }

    function deposit(string calldata note) external payable {
        deposits[msg.sender] += msg.value;
        emit Deposited(msg.sender, count++, msg.value, note);
    }

    function withdraw(uint256 amount) external {
        uint256 held = deposits[msg.sender];
        if (held < amount) revert InsufficientDeposit(msg.sender, held, amount);
        deposits[msg.sender] = held - amount;
        (bool sent,) = msg.sender.call{value: amount}("");
        require(sent, "not sent");
    }

    function refuse() external pure {
        revert("refused");
    }

    function divide(uint256 a, uint256 b) external pure returns (uint256) {
        return a / b;
    }

    /// Hashes until about `gasLeft` gas is left.
    function work(uint256 gasLeft) external {
        bytes32 hash = digest;
        while (gasleft() > gasLeft + 30_000) hash = keccak256(abi.encode(hash));
        digest = hash;
    }
}
