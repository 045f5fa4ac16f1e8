// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// Returns its arguments: what it accepts, and how it encodes them, is the compiler's own ABI
/// coder.
contract AbiEcho {
    struct Coin {
        bytes denom;
        uint256 amount;
    }

    struct Page {
        bytes key;
        uint64 offset;
        uint64 limit;
        bool countTotal;
        bool reverse;
    }

    struct Fixed {
        int64 height;
        uint8 status;
        address account;
    }

    struct Deep {
        bytes name;
        Coin[] coins;
        Fixed point;
        Fixed[] points;
        bytes[] texts;
        int64 time;
    }

    function scalars(address a, bool b, uint8 c, uint32 d, uint64 e, int64 f, int256 g, uint256 h)
        external
        pure
        returns (address, bool, uint8, uint32, uint64, int64, int256, uint256)
    {
        return (a, b, c, d, e, f, g, h);
    }

    function texts(bytes memory a, uint64 b, bytes memory c) external pure returns (bytes memory, uint64, bytes memory) {
        return (a, b, c);
    }

    function page(Page memory a) external pure returns (Page memory) {
        return a;
    }

    function coins(address a, bytes memory b, Coin[] memory c)
        external
        pure
        returns (address, bytes memory, Coin[] memory)
    {
        return (a, b, c);
    }

    function numbers(uint64[] memory a, Fixed[] memory b) external pure returns (uint64[] memory, Fixed[] memory) {
        return (a, b);
    }

    function deep(Deep[] memory a, Deep memory b) external pure returns (Deep[] memory, Deep memory) {
        return (a, b);
    }
}
