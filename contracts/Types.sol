// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.18;

/// Structs that the interfaces of the native layer share.

/// An amount of a denomination. The only one is `acoin`: 10^18 acoin are 1 COIN, so an amount is in
/// the unit of `msg.value` and `address.balance`.
struct Coin {
    string denom;
    uint256 amount;
}

/// An amount with decimals, cut off after the point: `amount` is whole acoin. `precision` is the
/// number of decimals that were there (18).
struct DecCoin {
    string denom;
    uint256 amount;
    uint8 precision;
}

/// value / 10^precision
struct Dec {
    uint256 value;
    uint8 precision;
}

/// Which part of a list is wanted. All zero: the first 100 items and how many there are.
struct PageRequest {
    /// where the page begins: `nextKey` of the page before; empty for the first page
    bytes key;
    /// items to pass over, instead of a key
    uint64 offset;
    /// items at most; 0 stands for 100. Each one costs gas, see docs/precompiles.md
    uint64 limit;
    /// whether to count all items; that walks over all of them, and costs accordingly
    bool countTotal;
    /// from the last item to the first
    bool reverse;
}

struct PageResponse {
    /// empty when this was the last page
    bytes nextKey;
    /// set when it was counted
    uint64 total;
}
