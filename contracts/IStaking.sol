// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.18;

import {Coin, PageRequest, PageResponse} from "./Types.sol";

/// Validators and delegations.
///
/// - Only the delegator itself (`msg.sender`) can act for it; a contract delegates its own coins, which it must hold: nothing
///   is sent along with the call, and value reverts.
/// - Validators are named by their operator, `coinvaloper1…` or `0x…`.
/// - Amounts are acoin (10^18 are 1 COIN), times are seconds since the epoch, shares and rates are in units of 10^-18.
/// - Every change of a delegation first pays out what it earned so far, to the delegator's withdraw address.
/// - A call that fails reverts with `Error(string)` and leaves nothing behind, so `try`/`catch` is safe.
interface IStaking {
    struct Description {
        string moniker;
        string identity;
        string website;
        string securityContact;
        string details;
    }

    struct CommissionRates {
        uint256 rate;
        uint256 maxRate;
        uint256 maxChangeRate;
    }

    enum BondStatus {
        Unspecified,
        Unbonded,
        Unbonding,
        Bonded
    }

    struct Validator {
        /// in hex
        string operatorAddress;
        /// ed25519, in base64
        string consensusPubkey;
        bool jailed;
        BondStatus status;
        uint256 tokens;
        uint256 delegatorShares;
        Description description;
        int64 unbondingHeight;
        int64 unbondingTime;
        /// the current rate
        uint256 commission;
        uint256 minSelfDelegation;
    }

    struct UnbondingDelegationEntry {
        int64 creationHeight;
        int64 completionTime;
        uint256 initialBalance;
        /// the balance that slashing left
        uint256 balance;
        uint64 unbondingId;
        int64 unbondingOnHoldRefCount;
    }

    struct UnbondingDelegationOutput {
        string delegatorAddress;
        string validatorAddress;
        UnbondingDelegationEntry[] entries;
    }

    struct RedelegationEntry {
        int64 creationHeight;
        int64 completionTime;
        uint256 initialBalance;
        uint256 sharesDst;
    }

    struct RedelegationOutput {
        string delegatorAddress;
        string validatorSrcAddress;
        string validatorDstAddress;
        RedelegationEntry[] entries;
    }

    struct RedelegationEntryResponse {
        RedelegationEntry redelegationEntry;
        /// what its shares are worth now
        uint256 balance;
    }

    struct RedelegationResponse {
        /// without entries: these are in `entries`
        RedelegationOutput redelegation;
        RedelegationEntryResponse[] entries;
    }

    event CreateValidator(address indexed validatorAddress, uint256 value);
    event EditValidator(address indexed validatorAddress, int256 commissionRate, int256 minSelfDelegation);
    event Delegate(
        address indexed delegatorAddress, address indexed validatorAddress, uint256 amount, uint256 newShares
    );
    event Unbond(
        address indexed delegatorAddress, address indexed validatorAddress, uint256 amount, uint256 completionTime
    );
    event Redelegate(
        address indexed delegatorAddress,
        address indexed validatorSrcAddress,
        address indexed validatorDstAddress,
        uint256 amount,
        uint256 completionTime
    );
    event CancelUnbondingDelegation(
        address indexed delegatorAddress, address indexed validatorAddress, uint256 amount, uint256 creationHeight
    );

    /// Makes the caller's account a validator that delegates `value` to itself. Not for contracts; an account with a key that
    /// delegates to code (EIP-7702) may.
    /// @param pubkey its ed25519 consensus key in base64, as its node shows it (`validator_info.pub_key` of `/rpc/status`)
    function createValidator(
        Description calldata description,
        CommissionRates calldata commissionRates,
        uint256 minSelfDelegation,
        address validatorAddress,
        string memory pubkey,
        uint256 value
    ) external returns (bool success);

    /// Changes the description and settings of the caller's validator. A text `[do-not-modify]` and
    /// a number -1 stay as they are. The rate can change once per day. Not for contracts, as
    /// `createValidator`.
    function editValidator(
        Description calldata description,
        address validatorAddress,
        int256 commissionRate,
        int256 minSelfDelegation
    ) external returns (bool success);

    function delegate(address delegatorAddress, string memory validatorAddress, uint256 amount)
        external
        returns (bool success);

    /// Takes stake back. The coins come to the delegator by themselves after the unbonding time.
    /// @return completionTime when that will be
    function undelegate(address delegatorAddress, string memory validatorAddress, uint256 amount)
        external
        returns (int64 completionTime);

    /// Moves stake to another validator at once. Stake that came by a redelegation cannot be
    /// redelegated until `completionTime`.
    function redelegate(
        address delegatorAddress,
        string memory validatorSrcAddress,
        string memory validatorDstAddress,
        uint256 amount
    ) external returns (int64 completionTime);

    /// Delegates coins that are on their way back, to the validator that they left.
    /// @param creationHeight block in which they were undelegated
    function cancelUnbondingDelegation(
        address delegatorAddress,
        string memory validatorAddress,
        uint256 amount,
        uint256 creationHeight
    ) external returns (bool success);

    /// Zeros when there is no such delegation.
    /// @return shares of the validator
    /// @return balance what they are worth
    function delegation(address delegatorAddress, string memory validatorAddress)
        external
        view
        returns (uint256 shares, Coin memory balance);

    /// Empty when nothing is on its way back.
    function unbondingDelegation(address delegatorAddress, string memory validatorAddress)
        external
        view
        returns (UnbondingDelegationOutput memory unbondingDelegation);

    /// Empty when there is no validator with this address.
    function validator(address validatorAddress) external view returns (Validator memory validator);

    /// @param status `BOND_STATUS_BONDED`, `BOND_STATUS_UNBONDING`, `BOND_STATUS_UNBONDED`, or empty for all
    function validators(string memory status, PageRequest calldata pageRequest)
        external
        view
        returns (Validator[] memory validators, PageResponse memory pageResponse);

    /// Empty when there is no such redelegation.
    function redelegation(
        address delegatorAddress,
        string memory srcValidatorAddress,
        string memory dstValidatorAddress
    ) external view returns (RedelegationOutput memory redelegation);

    /// Of a delegator (an address of 0 stands for none), or from a validator; with all three addresses, the one there is.
    function redelegations(
        address delegatorAddress,
        string memory srcValidatorAddress,
        string memory dstValidatorAddress,
        PageRequest calldata pageRequest
    ) external view returns (RedelegationResponse[] memory response, PageResponse memory pageResponse);
}

IStaking constant STAKING = IStaking(0x0000000000000000000000000000000000000800);
