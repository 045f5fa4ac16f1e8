// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.18;

import {Dec, PageRequest, PageResponse} from "./Types.sol";

/// Liveness of validators. Times are seconds since the epoch.
interface ISlashing {
    struct SigningInfo {
        /// of the consensus key: the first 20 bytes of its sha256
        address validatorAddress;
        /// block in which it was last bonded
        int64 startHeight;
        int64 indexOffset;
        int64 jailedUntil;
        /// jailed permanently, for signing twice
        bool tombstoned;
        int64 missedBlocksCounter;
    }

    struct Params {
        int64 signedBlocksWindow;
        Dec minSignedPerWindow;
        /// seconds
        int64 downtimeJailDuration;
        Dec slashFractionDoubleSign;
        Dec slashFractionDowntime;
    }

    event ValidatorUnjailed(address indexed validator);

    /// Lets the caller's validator back in after its time in jail. Reverts when it is not jailed, has to wait, is tombstoned
    /// or has too little stake.
    function unjail(address validatorAddress) external returns (bool success);

    /// Reverts for an address that no validator ever had.
    /// @param consAddress of the consensus key, not of the operator
    function getSigningInfo(address consAddress) external view returns (SigningInfo memory signingInfo);

    function getSigningInfos(PageRequest calldata pagination)
        external
        view
        returns (SigningInfo[] memory signingInfos, PageResponse memory pageResponse);

    function getParams() external view returns (Params memory params);
}

ISlashing constant SLASHING = ISlashing(0x0000000000000000000000000000000000000806);
