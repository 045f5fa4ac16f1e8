// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// COIN as an ERC-20 token for chains whose genesis does not register the native token contract.
/// Each token is backed by one native coin that this contract holds: `deposit` mints against coins received and
/// `withdraw` burns and pays them out. Interface and events are those of WETH9; errors are those of ERC-6093.
contract WrappedCoin {
    string public constant name = "Wrapped COIN";
    string public constant symbol = "WCOIN";
    uint8 public constant decimals = 18;

    uint256 public totalSupply;
    mapping(address account => uint256) public balanceOf;
    mapping(address owner => mapping(address spender => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event Deposit(address indexed dst, uint256 wad);
    event Withdrawal(address indexed src, uint256 wad);

    error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed);
    error ERC20InvalidReceiver(address receiver);
    error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed);
    error ERC20InvalidSpender(address spender);
    error CoinTransferFailed(address to, uint256 amount);

    receive() external payable {
        deposit();
    }

    function deposit() public payable {
        totalSupply += msg.value;
        balanceOf[msg.sender] += msg.value;
        emit Deposit(msg.sender, msg.value);
        emit Transfer(address(0), msg.sender, msg.value);
    }

    /// State is final before the coins leave, so a receiver that calls back finds nothing to take twice.
    function withdraw(uint256 amount) external {
        _debit(msg.sender, amount);
        totalSupply -= amount;
        emit Withdrawal(msg.sender, amount);
        emit Transfer(msg.sender, address(0), amount);
        (bool sent,) = msg.sender.call{value: amount}("");
        if (!sent) revert CoinTransferFailed(msg.sender, amount);
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        if (spender == address(0)) revert ERC20InvalidSpender(spender);
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        _transfer(msg.sender, to, amount);
        return true;
    }

    /// An allowance of 2^256 - 1 is unlimited and does not fall.
    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed != type(uint256).max) {
            if (allowed < amount) revert ERC20InsufficientAllowance(msg.sender, allowed, amount);
            unchecked {
                allowance[from][msg.sender] = allowed - amount;
            }
            emit Approval(from, msg.sender, allowed - amount);
        }
        _transfer(from, to, amount);
        return true;
    }

    /// Tokens sent to this contract could never be taken out again.
    function _transfer(address from, address to, uint256 amount) private {
        if (to == address(0) || to == address(this)) revert ERC20InvalidReceiver(to);
        _debit(from, amount);
        unchecked {
            balanceOf[to] += amount; // at most totalSupply
        }
        emit Transfer(from, to, amount);
    }

    function _debit(address from, uint256 amount) private {
        uint256 balance = balanceOf[from];
        if (balance < amount) revert ERC20InsufficientBalance(from, balance, amount);
        unchecked {
            balanceOf[from] = balance - amount;
        }
    }
}
