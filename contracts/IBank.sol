// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.18;

/// What the bank module knows, with ERC-20 contracts as the names of coins. The only coin is COIN, whose contract is
/// 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE; lists have at most that one item, and none for an amount of 0.
interface IBank {
    struct Balance {
        address contractAddress;
        uint256 amount;
    }

    function balances(address account) external view returns (Balance[] memory balances);

    function totalSupply() external view returns (Balance[] memory totalSupply);

    /// 0 for a contract that is not a coin's.
    function supplyOf(address erc20Address) external view returns (uint256 totalSupply);
}

IBank constant BANK = IBank(0x0000000000000000000000000000000000000804);
