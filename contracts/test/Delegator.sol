// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

import {Coin, DecCoin, PageRequest, PageResponse} from "../Types.sol";
import {BANK, IBank} from "../IBank.sol";
import {DISTRIBUTION, IDistribution} from "../IDistribution.sol";
import {GOV, IGov} from "../IGov.sol";
import {SLASHING, ISlashing} from "../ISlashing.sol";
import {STAKING, IStaking} from "../IStaking.sol";

/// A contract that uses the native layer in all the ways that could leave something behind.
contract Delegator {
    event Seen(uint256 balance);

    error AfterSuccess(uint256 delegated);

    receive() external payable {}

    function delegate(string calldata validator, uint256 amount) external {
        STAKING.delegate(address(this), validator, amount);
    }

    /// Delegates, and then fails or not.
    function delegateAnd(string calldata validator, uint256 amount, bool fails) external {
        STAKING.delegate(address(this), validator, amount);
        if (fails) revert AfterSuccess(delegated(validator));
    }

    /// Delegates 1, 2 and 4 times the amount in three frames, the second of which fails, and sends
    /// coins between them. Shows the balance after every step.
    function interleave(string calldata validator, uint256 amount, address payable sink) external {
        emit Seen(address(this).balance);
        STAKING.delegate(address(this), validator, amount);
        emit Seen(address(this).balance);
        try this.delegateAnd(validator, 2 * amount, true) {
            revert("did not fail");
        } catch (bytes memory data) {
            require(bytes4(data) == AfterSuccess.selector, "failed otherwise");
        }
        emit Seen(address(this).balance);
        sink.transfer(amount);
        emit Seen(address(this).balance);
        this.delegateAnd(validator, 4 * amount, false);
        emit Seen(address(this).balance);
        DISTRIBUTION.withdrawDelegatorRewards(address(this), validator);
        emit Seen(address(this).balance);
    }

    /// Goes down `depth` frames, delegating in each; the deepest and every other one on the way back fail.
    function nest(string calldata validator, uint256 amount, uint256 depth) external returns (uint256 survived) {
        STAKING.delegate(address(this), validator, amount);
        if (depth == 0) revert("deepest");
        uint256 below;
        try this.nest(validator, amount, depth - 1) returns (uint256 survivors) {
            below = survivors;
        } catch {}
        if (depth % 2 == 1 && msg.sender == address(this)) revert("odd");
        return below + 1;
    }

    /// Makes calls with more than there is, for another account, with too little gas: all are
    /// caught.
    function failEverywhere(string calldata validator, uint256 amount, address other) external returns (uint256 failures) {
        try STAKING.delegate(address(this), validator, amount) {} catch Error(string memory) { failures++; }
        try STAKING.delegate(other, validator, 1) {} catch Error(string memory) { failures++; }
        try STAKING.undelegate(address(this), validator, 1) {} catch Error(string memory) { failures++; }
        try STAKING.delegate{gas: 40_000}(address(this), validator, 1) {} catch { failures++; }
        try DISTRIBUTION.withdrawDelegatorRewards(address(this), validator) {} catch Error(string memory) { failures++; }
        try GOV.vote(address(this), 99, IGov.VoteOption.Yes, "") {} catch Error(string memory) { failures++; }
        try SLASHING.unjail(address(this)) {} catch Error(string memory) { failures++; }
    }

    function createValidator(string calldata key) external {
        IStaking.Description memory description = IStaking.Description("contract", "", "", "", "");
        IStaking.CommissionRates memory rates = IStaking.CommissionRates(0, 1e18, 1e18);
        STAKING.createValidator(description, rates, 1, address(this), key, 1 ether);
    }

    /// Withdraws rewards and forwards them in the same call.
    function withdrawAndForward(string calldata validator, address payable to) external returns (uint256 earned) {
        uint256 before = address(this).balance;
        Coin[] memory paid = DISTRIBUTION.withdrawDelegatorRewards(address(this), validator);
        earned = address(this).balance - before;
        require(earned == paid[0].amount, "not visible");
        (bool ok,) = to.call{value: earned}("");
        require(ok, "not paid");
    }

    /// 0 a call, 1 a static call, 2 a delegated call, 3 a call code
    function raw(uint256 kind, address target, bytes calldata data) external returns (bool ok, bytes memory result) {
        if (kind == 0) return target.call(data);
        if (kind == 1) return target.staticcall(data);
        if (kind == 2) return target.delegatecall(data);
        bytes memory input = data;
        assembly {
            ok := callcode(gas(), target, 0, add(input, 32), mload(input), 0, 0)
            result := mload(0x40)
            mstore(result, returndatasize())
            returndatacopy(add(result, 32), 0, returndatasize())
            mstore(0x40, add(result, and(add(returndatasize(), 63), not(31))))
        }
    }

    /// As often as gas allows.
    function delegateMany(string calldata validator, uint256 amount, uint256 times) external {
        for (uint256 i = 0; i < times; i++) STAKING.delegate(address(this), validator, amount);
    }

    function delegated(string memory validator) public view returns (uint256) {
        (, Coin memory balance) = STAKING.delegation(address(this), validator);
        return balance.amount;
    }

    /// Reads through the interfaces, so that the compiler's decoder judges what the precompiles encode.
    function readAll(string calldata validator, uint64 proposal)
        external
        view
        returns (uint256 validators, uint256 tokens, uint256 infos, string memory title, uint256 supply)
    {
        PageRequest memory page = PageRequest("", 0, 0, true, false);
        (IStaking.Validator[] memory list, PageResponse memory response) = STAKING.validators("", page);
        validators = response.total;
        for (uint256 i = 0; i < list.length; i++) tokens += list[i].tokens;
        STAKING.unbondingDelegation(address(this), validator);
        STAKING.redelegations(address(this), "", "", page);
        (ISlashing.SigningInfo[] memory signing,) = SLASHING.getSigningInfos(page);
        infos = signing.length;
        SLASHING.getParams();
        DISTRIBUTION.delegationTotalRewards(address(this));
        DISTRIBUTION.validatorDistributionInfo(validator);
        DISTRIBUTION.communityPool();
        (IGov.ProposalData[] memory proposals,) = GOV.getProposals(0, address(0), address(0), page);
        title = proposals[proposal - 1].title;
        GOV.getParams();
        GOV.getTallyResult(proposal);
        supply = BANK.totalSupply()[0].amount;
    }
}

/// Tries to become a validator while it is being created.
contract ValidatorFromConstructor {
    constructor(string memory key) payable {
        IStaking.Description memory description = IStaking.Description("contract", "", "", "", "");
        IStaking.CommissionRates memory rates = IStaking.CommissionRates(0, 1e18, 1e18);
        STAKING.createValidator(description, rates, 1, address(this), key, 1 ether);
    }
}

/// Lends coins for one call.
contract Lender {
    receive() external payable {}

    function lend(Exploiter borrower, uint256 amount) external {
        uint256 before = address(this).balance;
        borrower.borrowed{value: amount}();
        require(address(this).balance >= before, "not paid back");
    }
}

/// Wants to keep the stake that it bought with borrowed coins, and to pay those back.
contract Exploiter {
    string private _validator;

    constructor(string memory validator) {
        _validator = validator;
    }

    receive() external payable {}

    function run(Lender lender, uint256 amount) external {
        lender.lend(this, amount);
    }

    function borrowed() external payable {
        try this.stakeAndFail(msg.value) {} catch {}
        (bool ok,) = msg.sender.call{value: msg.value}("");
        require(ok, "coins are gone");
    }

    function stakeAndFail(uint256 amount) external {
        STAKING.delegate(address(this), _validator, amount);
        revert("give the coins back");
    }

    /// Stakes borrowed coins for good: then they cannot be paid back.
    function runWithoutFailing(Lender lender, uint256 amount) external {
        lender.lend(Exploiter(payable(address(new Keeper(_validator)))), amount);
    }
}

contract Keeper {
    string private _validator;

    constructor(string memory validator) {
        _validator = validator;
    }

    function borrowed() external payable {
        STAKING.delegate(address(this), _validator, msg.value);
    }
}
