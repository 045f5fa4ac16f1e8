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

/// Gives coins or tokens to many accounts in one transaction.
contract Distributor {
    function giveCoins(address[] calldata to) external payable {
        uint256 share = msg.value / to.length;
        for (uint256 i = 0; i < to.length; i++) payable(to[i]).transfer(share);
    }

    function giveTokens(IToken token, address[] calldata to, uint256 share) external {
        for (uint256 i = 0; i < to.length; i++) token.transfer(to[i], share);
    }
}

/// What Uniswap v2's router does for two tokens: takes the caller's, pays the pair, sends the caller what was bought.
contract Router {
    IPair private immutable pair;
    IToken private immutable token0;
    IToken private immutable token1;

    constructor(IPair pair_, IToken token0_, IToken token1_) {
        pair = pair_;
        token0 = token0_;
        token1 = token1_;
    }

    function swap(bool sells0, uint256 paid, uint256 least) external {
        (uint256 reserve0, uint256 reserve1,) = pair.getReserves();
        (uint256 reserveIn, uint256 reserveOut) = sells0 ? (reserve0, reserve1) : (reserve1, reserve0);
        uint256 bought = (paid * 997 * reserveOut) / (reserveIn * 1000 + paid * 997);
        require(bought >= least, "too little");
        (sells0 ? token0 : token1).transferFrom(msg.sender, address(pair), paid);
        pair.swap(sells0 ? 0 : bought, sells0 ? bought : 0, msg.sender, "");
    }
}
