// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

interface IToken {
    function transfer(address to, uint256 amount) external returns (bool);
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
}

interface IPair {
    function getReserves() external view returns (uint112, uint112, uint32);
    function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes calldata data) external;
}

/// Sends coins or tokens to many accounts in one transaction.
contract Distributor {
    function giveCoins(address[] calldata to) external payable {
        uint256 share = msg.value / to.length;
        for (uint256 i = 0; i < to.length; i++) payable(to[i]).transfer(share);
    }

    function giveTokens(IToken token, address[] calldata to, uint256 share) external {
        for (uint256 i = 0; i < to.length; i++) token.transfer(to[i], share);
    }
}

/// Knows a Uniswap v2 pair.
abstract contract Trader {
    IPair private immutable pair;
    IToken private immutable token0;
    IToken private immutable token1;

    constructor(IPair pair_, IToken token0_, IToken token1_) {
        pair = pair_;
        token0 = token0_;
        token1 = token1_;
    }

    /// Pays one token by `pay` and has the other sent to `receiver`, at the pair's price.
    function trade(bool sells0, uint256 paid, uint256 least, address receiver) internal {
        (uint256 reserve0, uint256 reserve1,) = pair.getReserves();
        (uint256 reserveIn, uint256 reserveOut) = sells0 ? (reserve0, reserve1) : (reserve1, reserve0);
        uint256 bought = (paid * 997 * reserveOut) / (reserveIn * 1000 + paid * 997);
        require(bought >= least, "too little");
        pay(sells0 ? token0 : token1, address(pair), paid);
        pair.swap(sells0 ? 0 : bought, sells0 ? bought : 0, receiver, "");
    }

    function pay(IToken token, address to, uint256 amount) internal virtual;
}

/// What Uniswap v2's router does for two tokens: takes the caller's, pays the pair, sends the caller what was bought.
contract Router is Trader {
    constructor(IPair pair, IToken token0, IToken token1) Trader(pair, token0, token1) {}

    function swap(bool sells0, uint256 paid, uint256 least) external {
        trade(sells0, paid, least, msg.sender);
    }

    function pay(IToken token, address to, uint256 amount) internal override {
        token.transferFrom(msg.sender, to, amount);
    }
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

/// Swaps of its own tokens, one way and back.
contract SwapLoop is Loop, Trader {
    constructor(IPair pair, IToken token0, IToken token1) Trader(pair, token0, token1) {}

    function step(uint256 index) internal override {
        trade(index & 1 == 0, 1e15 + index, 1, address(this));
    }

    function pay(IToken token, address to, uint256 amount) internal override {
        token.transfer(to, amount);
    }
}
