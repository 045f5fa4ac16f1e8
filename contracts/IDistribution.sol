// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.18;

import {Coin, Dec, DecCoin, PageRequest, PageResponse} from "./Types.sol";

/// Rewards of delegators and validators, and the community pool.
///
/// - Only the account itself (`msg.sender`) can act for it. A commission is its validator's operator's.
/// - Rewards go to the withdraw address, by default the delegator itself. A contract has them in `address(this).balance`
///   when the call returns; no code of the receiver runs.
/// - Amounts are acoin. Rewards have places after the point that lists do not show (see `DecCoin`); only whole acoin are paid.
interface IDistribution {
    struct ValidatorSlashEvent {
        uint64 validatorPeriod;
        Dec fraction;
    }

    struct ValidatorDistributionInfo {
        /// of the account, `coin1…`
        string operatorAddress;
        DecCoin[] selfBondRewards;
        DecCoin[] commission;
    }

    struct DelegationDelegatorReward {
        string validatorAddress;
        DecCoin[] reward;
    }

    event ClaimRewards(address indexed delegatorAddress, uint256 amount);
    event SetWithdrawerAddress(address indexed caller, string withdrawerAddress);
    event WithdrawDelegatorReward(address indexed delegatorAddress, address indexed validatorAddress, uint256 amount);
    /// The topic is the hash of the address as `coinvaloper1…`.
    event WithdrawValidatorCommission(string indexed validatorAddress, uint256 commission);
    event FundCommunityPool(address indexed depositor, string denom, uint256 amount);
    event DepositValidatorRewardsPool(
        address indexed depositor, address indexed validatorAddress, string denom, uint256 amount
    );

    /// Withdraws what the delegations to the first `maxRetrieve` validators (in order of their addresses) earned. Costs
    /// gas for each of them.
    function claimRewards(address delegatorAddress, uint32 maxRetrieve) external returns (bool success);

    /// Where rewards shall go, `coin1…` or `0x…`. Accounts of modules and precompiles are refused.
    function setWithdrawAddress(address delegatorAddress, string memory withdrawerAddress)
        external
        returns (bool success);

    function withdrawDelegatorRewards(address delegatorAddress, string memory validatorAddress)
        external
        returns (Coin[] memory amount);

    /// Reverts with `no validator commission to withdraw` when the commission is empty.
    function withdrawValidatorCommission(string memory validatorAddress) external returns (Coin[] memory amount);

    function fundCommunityPool(address depositor, Coin[] memory amount) external returns (bool success);

    /// Pays coins to a validator as if they were fees: its commission and its delegators' rewards.
    function depositValidatorRewardsPool(address depositor, string memory validatorAddress, Coin[] memory amount)
        external
        returns (bool success);

    function validatorDistributionInfo(string memory validatorAddress)
        external
        view
        returns (ValidatorDistributionInfo memory distributionInfo);

    /// What the validator and all its delegators could withdraw.
    function validatorOutstandingRewards(string memory validatorAddress)
        external
        view
        returns (DecCoin[] memory rewards);

    function validatorCommission(string memory validatorAddress) external view returns (DecCoin[] memory commission);

    function validatorSlashes(
        string memory validatorAddress,
        uint64 startingHeight,
        uint64 endingHeight,
        PageRequest calldata pageRequest
    ) external view returns (ValidatorSlashEvent[] memory slashes, PageResponse memory pageResponse);

    function delegationRewards(address delegatorAddress, string memory validatorAddress)
        external
        view
        returns (DecCoin[] memory rewards);

    /// Costs gas for each delegation.
    function delegationTotalRewards(address delegatorAddress)
        external
        view
        returns (DelegationDelegatorReward[] memory rewards, DecCoin[] memory total);

    function delegatorValidators(address delegatorAddress) external view returns (string[] memory validators);

    function delegatorWithdrawAddress(address delegatorAddress)
        external
        view
        returns (string memory withdrawAddress);

    function communityPool() external view returns (DecCoin[] memory coins);
}

IDistribution constant DISTRIBUTION = IDistribution(0x0000000000000000000000000000000000000801);
