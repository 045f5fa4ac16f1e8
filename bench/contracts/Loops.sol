// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

interface IToken {
    function transfer(address to, uint256 amount) external returns (bool);
}

interface IPair {
    function getReserves() external view returns (uint112, uint112, uint32);
    function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes calldata data) external;
}

/// Takes a count as its whole call data, does something so many times, and returns the gas that it took.
abstract contract Loop {
    fallback(bytes calldata input) external returns (bytes memory) {
        uint256 count = abi.decode(input, (uint256));
        uint256 before = gasleft();
        for (uint256 i = 0; i < count; i++) step(i);
        return abi.encode(before - gasleft());
    }

    function step(uint256 index) internal virtual;
}

/// Transfers of a token to 256 accounts in turn.
contract TransferLoop is Loop {
    IToken private immutable token;

    constructor(IToken token_) {
        token = token_;
    }

    function step(uint256 index) internal override {
        token.transfer(address(uint160(0x100000 + (index & 0xff))), 1);
    }
}

/// Swaps on a Uniswap v2 pair, one way and back.
contract SwapLoop is Loop {
    IPair private immutable pair;
    IToken private immutable token0;
    IToken private immutable token1;

    constructor(IPair pair_, IToken token0_, IToken token1_) {
        pair = pair_;
        token0 = token0_;
        token1 = token1_;
    }

    function step(uint256 index) internal override {
        (uint256 reserve0, uint256 reserve1,) = pair.getReserves();
        uint256 paid = 1e15 + index;
        if (index & 1 == 0) {
            token0.transfer(address(pair), paid);
            pair.swap(0, bought(paid, reserve0, reserve1), address(this), "");
        } else {
            token1.transfer(address(pair), paid);
            pair.swap(bought(paid, reserve1, reserve0), 0, address(this), "");
        }
    }

    function bought(uint256 paid, uint256 reserveIn, uint256 reserveOut) private pure returns (uint256) {
        return (paid * 997 * reserveOut) / (reserveIn * 1000 + paid * 997);
    }
}
