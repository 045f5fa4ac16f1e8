// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

interface IERC20 {
    function balanceOf(address account) external view returns (uint256);
    function totalSupply() external view returns (uint256);
    function transfer(address to, uint256 value) external returns (bool);
    function approve(address spender, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

interface IWrapped is IERC20 {
    function deposit() external payable;
    function withdraw(uint256 amount) external;
}

/// Uses a token through typed interfaces, as contracts in the wild do: the compiler checks code size and return data.
contract TokenCaller {
    IWrapped public immutable token;

    constructor(IWrapped token_, address to, uint256 amount) payable {
        token = token_;
        if (amount > 0) require(token_.transfer(to, amount), "transfer in constructor");
    }

    receive() external payable {}

    /// Balances must agree at every point of a frame.
    function sendAndCompare(address to, uint256 amount) external returns (uint256 before, uint256 afterwards) {
        before = address(this).balance;
        require(token.balanceOf(address(this)) == before, "before");
        require(token.transfer(to, amount), "transfer");
        afterwards = address(this).balance;
        require(token.balanceOf(address(this)) == afterwards, "after");
        require(token.balanceOf(to) == to.balance, "receiver");
    }

    function wrapAndUnwrap(uint256 amount) external payable {
        uint256 balance = address(this).balance;
        token.deposit{value: amount}();
        require(token.balanceOf(address(this)) == balance, "deposit");
        token.withdraw(amount);
        require(address(this).balance == balance, "withdraw");
        (bool ok,) = address(token).call{value: amount}("");
        require(ok && address(this).balance == balance, "receive");
    }

    function tryTransfer(address to, uint256 amount) external returns (bool ok, bytes memory data) {
        (ok, data) = address(token).call(abi.encodeCall(IERC20.transfer, (to, amount)));
    }

    function staticTransfer(address to, uint256 amount) external view returns (bool ok, bytes memory data) {
        (ok, data) = address(token).staticcall(abi.encodeCall(IERC20.transfer, (to, amount)));
    }

    function delegateTransfer(address to, uint256 amount) external returns (bool ok, bytes memory data) {
        (ok, data) = address(token).delegatecall(abi.encodeCall(IERC20.transfer, (to, amount)));
    }

    /// A call that moves tokens and then fails, caught by its caller.
    function transferAndRevert(address to, uint256 amount) external {
        token.transfer(to, amount);
        revert("undone");
    }

    function catchRevert(address to, uint256 amount) external {
        try this.transferAndRevert(to, amount) {
            revert("did not revert");
        } catch Error(string memory reason) {
            require(keccak256(bytes(reason)) == keccak256("undone"), reason);
        }
    }

    function destroyInto(address payable beneficiary) external {
        selfdestruct(beneficiary);
    }
}
