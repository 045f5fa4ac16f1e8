// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {Coin, DecCoin} from "../Types.sol";
import {DISTRIBUTION} from "../IDistribution.sol";
import {STAKING} from "../IStaking.sol";

/// Stakes coins of many users with one validator and shares its rewards among them.
///
/// Users hold shares. Deposits are delegated at once. Rewards are withdrawn before every change of
/// shares, so that each user gets the rewards earned while the deposit was in (the usual accumulator of
/// rewards per share). Withdrawn coins come back after the unbonding time, first to the vault and
/// from there to the user who withdrew them.
///
/// What it shows of the native layer:
/// - the vault is the delegator (`address(this)`), and rewards arrive in `address(this).balance` within the call;
/// - calls of precompiles can be caught: a failed one has done nothing (`tryDelegate`, `depositOrRefund`);
/// - a revert after a successful call undoes that too (`simulateDeposit`).
///
/// An example: not audited. A slash of the validator is shared by users who withdraw later than
/// others; a vault for more than an example would price its shares. And as one delegator it has at
/// most 7 (`max_entries`) pending withdrawals from its validator, for all users together: a vault
/// for many users collects their withdrawals and undelegates them together.
contract StakingVault {
    /// Rewards per share are stored with this many extra places.
    uint256 private constant SCALE = 1e36;
    /// operator of the validator, `coinvaloper1…`
    string public validator;
    address public immutable owner;

    struct Withdrawal {
        uint256 amount;
        /// seconds; the coins can be paid from then on
        uint64 readyAt;
    }

    mapping(address user => uint256) public sharesOf;
    mapping(address user => Withdrawal[]) private _withdrawals;
    mapping(address user => uint256) private _accumulatorPaid;
    mapping(address user => uint256) private _owed;
    uint256 public totalShares;
    uint256 public accumulator;
    /// Rewards in the vault's balance that users may take.
    uint256 public rewardsHeld;

    event Deposited(address indexed user, uint256 amount);
    event Refunded(address indexed user, uint256 amount, string reason);
    event WithdrawalRequested(address indexed user, uint256 amount, uint64 readyAt);
    event Paid(address indexed user, uint256 amount);
    event RewardsCollected(uint256 amount);

    error NotOwner();
    error NotSelf();
    error NothingToPay();
    error NotEnoughShares(uint256 has, uint256 wanted);
    error PaymentFailed();
    /// Carries the result of a simulation out of the call that it undoes.
    error Simulated(uint256 delegated);

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner();
        _;
    }

    constructor(string memory validator_) {
        validator = validator_;
        owner = msg.sender;
    }

    /// Plain transfers are not deposits: they stay unused.
    receive() external payable {}

    /// Delegates the value for the sender; reverts as a whole when the delegation fails.
    function deposit() external payable {
        _collect();
        _settle(msg.sender);
        STAKING.delegate(address(this), validator, msg.value);
        _credit(msg.sender, msg.value);
    }

    /// The same, but returns the value when the delegation fails: a caught call leaves nothing
    /// behind.
    function depositOrRefund() external payable {
        _collect();
        _settle(msg.sender);
        try STAKING.delegate(address(this), validator, msg.value) returns (bool) {
            _credit(msg.sender, msg.value);
        } catch Error(string memory reason) {
            _pay(msg.sender, msg.value);
            emit Refunded(msg.sender, msg.value, reason);
        }
    }

    /// Delegates and undoes it: tells what the vault would have delegated with the value. A revert in Solidity undoes native
    /// effects as it undoes storage.
    function simulateDeposit() external payable returns (uint256 delegated) {
        try this.delegateAndRevert(msg.value) {
            delegated = 0;
        } catch (bytes memory data) {
            if (bytes4(data) == Simulated.selector) {
                assembly {
                    delegated := mload(add(data, 36))
                }
            }
        }
        _pay(msg.sender, msg.value);
    }

    /// Only for `simulateDeposit`.
    function delegateAndRevert(uint256 amount) external {
        if (msg.sender != address(this)) revert NotSelf();
        STAKING.delegate(address(this), validator, amount);
        revert Simulated(delegated());
    }

    /// Begins to take stake back.
    function requestWithdrawal(uint256 amount) external {
        uint256 shares = sharesOf[msg.sender];
        if (shares < amount) revert NotEnoughShares(shares, amount);
        _collect();
        _settle(msg.sender);
        sharesOf[msg.sender] = shares - amount;
        totalShares -= amount;
        int64 completionTime = STAKING.undelegate(address(this), validator, amount);
        uint64 readyAt = uint64(completionTime);
        _withdrawals[msg.sender].push(Withdrawal(amount, readyAt));
        emit WithdrawalRequested(msg.sender, amount, readyAt);
    }

    /// Pays the sender's rewards and all withdrawals that are ready.
    function claim() external {
        _collect();
        _settle(msg.sender);
        uint256 amount = _owed[msg.sender];
        rewardsHeld -= amount;
        _owed[msg.sender] = 0;
        Withdrawal[] storage waiting = _withdrawals[msg.sender];
        // coins that came back from unbondings, and are not a user's rewards
        uint256 available = address(this).balance - rewardsHeld - amount;
        for (uint256 i = waiting.length; i > 0; i--) {
            Withdrawal memory each = waiting[i - 1];
            // the coins come at the end of the block in which the time is over
            if (block.timestamp <= each.readyAt || available < each.amount) continue;
            available -= each.amount;
            amount += each.amount;
            waiting[i - 1] = waiting[waiting.length - 1];
            waiting.pop();
        }
        if (amount == 0) revert NothingToPay();
        _pay(msg.sender, amount);
        emit Paid(msg.sender, amount);
    }

    /// Moves all of the vault's stake to another validator.
    function changeValidator(string memory validator_) external onlyOwner {
        _collect();
        uint256 amount = delegated();
        if (amount > 0) STAKING.redelegate(address(this), validator, validator_, amount);
        validator = validator_;
    }

    /// What a user could claim of rewards now.
    function rewardsOf(address user) external view returns (uint256) {
        uint256 current = accumulator;
        if (totalShares > 0) {
            DecCoin[] memory rewards = DISTRIBUTION.delegationRewards(address(this), validator);
            if (rewards.length > 0) current += (rewards[0].amount * SCALE) / totalShares;
        }
        return _owed[user] + (sharesOf[user] * (current - _accumulatorPaid[user])) / SCALE;
    }

    function withdrawalsOf(address user) external view returns (Withdrawal[] memory) {
        return _withdrawals[user];
    }

    /// acoin that the vault's delegation is worth.
    function delegated() public view returns (uint256) {
        (, Coin memory balance) = STAKING.delegation(address(this), validator);
        return balance.amount;
    }

    /// Takes what the delegation earned into the vault.
    function _collect() private {
        if (totalShares == 0) return;
        uint256 before = address(this).balance;
        DISTRIBUTION.withdrawDelegatorRewards(address(this), validator);
        uint256 earned = address(this).balance - before;
        rewardsHeld += earned;
        accumulator += (earned * SCALE) / totalShares;
        emit RewardsCollected(earned);
    }

    /// Notes what the user earned with the shares it has so far.
    function _settle(address user) private {
        _owed[user] += (sharesOf[user] * (accumulator - _accumulatorPaid[user])) / SCALE;
        _accumulatorPaid[user] = accumulator;
    }

    function _credit(address user, uint256 amount) private {
        sharesOf[user] += amount;
        totalShares += amount;
        emit Deposited(user, amount);
    }

    function _pay(address user, uint256 amount) private {
        (bool ok,) = user.call{value: amount}("");
        if (!ok) revert PaymentFailed();
    }
}
