// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.0;

/// COIN as an ERC-20 token, at 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE where the genesis registers it.
/// Token balances are native balances, so a contract must not count `address(this).balance` and its token balance twice.
interface ICoinToken {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event Deposit(address indexed dst, uint256 wad);
    event Withdrawal(address indexed src, uint256 wad);

    error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed);
    error ERC20InvalidSender(address sender);
    error ERC20InvalidReceiver(address receiver);
    error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed);
    error ERC20InvalidApprover(address approver);
    error ERC20InvalidSpender(address spender);

    function name() external view returns (string memory);
    function symbol() external view returns (string memory);
    function decimals() external view returns (uint8);
    function totalSupply() external view returns (uint256);
    function balanceOf(address account) external view returns (uint256);
    function allowance(address owner, address spender) external view returns (uint256);
    function transfer(address to, uint256 value) external returns (bool);
    function approve(address spender, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);

    /// Returns the value at once and emits Deposit: there is nothing to wrap.
    function deposit() external payable;
    /// Needs a balance of `wad`, moves nothing and emits Withdrawal.
    function withdraw(uint256 wad) external;
}

ICoinToken constant COIN_TOKEN = ICoinToken(0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE);
