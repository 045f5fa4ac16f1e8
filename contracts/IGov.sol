// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.18;

import {Coin, PageRequest, PageResponse} from "./Types.sol";

/// Governance: proposals, deposits, votes. Only the account itself (`msg.sender`) can act for it. Votes weigh what the voter
/// has delegated when voting ends.
interface IGov {
    enum VoteOption {
        Unspecified,
        Yes,
        Abstain,
        No,
        NoWithVeto
    }

    struct WeightedVoteOption {
        VoteOption option;
        /// a decimal like "0.7"; those of a vote sum to 1
        string weight;
    }

    struct WeightedVote {
        uint64 proposalId;
        address voter;
        WeightedVoteOption[] options;
        string metadata;
    }

    struct DepositData {
        uint64 proposalId;
        address depositor;
        Coin[] amount;
    }

    /// acoin, in digits
    struct TallyResultData {
        string yes;
        string abstain;
        string no;
        string noWithVeto;
    }

    struct ProposalData {
        uint64 id;
        /// types of what it executes when it passes, like `/cosmos.bank.v1beta1.MsgSend`
        string[] messages;
        /// 1 deposit period, 2 voting period, 3 passed, 4 rejected, 5 failed
        uint32 status;
        TallyResultData finalTallyResult;
        /// seconds, as all times of proposals; 0 for what has not begun
        uint64 submitTime;
        uint64 depositEndTime;
        Coin[] totalDeposit;
        uint64 votingStartTime;
        uint64 votingEndTime;
        string metadata;
        string title;
        string summary;
        address proposer;
    }

    struct Params {
        /// nanoseconds, as all periods
        int64 votingPeriod;
        Coin[] minDeposit;
        int64 maxDepositPeriod;
        string quorum;
        string threshold;
        string vetoThreshold;
        string minInitialDepositRatio;
        string proposalCancelRatio;
        string proposalCancelDest;
        int64 expeditedVotingPeriod;
        string expeditedThreshold;
        Coin[] expeditedMinDeposit;
        bool burnVoteQuorum;
        bool burnProposalDepositPrevote;
        bool burnVoteVeto;
        string minDepositRatio;
    }

    event SubmitProposal(address indexed proposer, uint64 proposalId);
    event CancelProposal(address indexed proposer, uint64 proposalId);
    event Deposit(address indexed depositor, uint64 proposalId, Coin[] amount);
    event Vote(address indexed voter, uint64 proposalId, uint8 option);
    event VoteWeighted(address indexed voter, uint64 proposalId, WeightedVoteOption[] options);

    /// @param jsonProposal UTF-8: {"messages": [{"@type": "/cosmos…", …}], "title", "summary", "metadata", "expedited"};
    /// messages are executed by governance's own account
    /// @param deposit taken from the caller's balance
    function submitProposal(address proposer, bytes calldata jsonProposal, Coin[] calldata deposit)
        external
        returns (uint64 proposalId);

    /// Takes back the caller's proposal before voting ends. A part of all deposits is lost.
    function cancelProposal(address proposer, uint64 proposalId) external returns (bool success);

    function deposit(address depositor, uint64 proposalId, Coin[] calldata amount) external returns (bool success);

    /// Replaces a vote that the caller cast before.
    function vote(address voter, uint64 proposalId, VoteOption option, string memory metadata)
        external
        returns (bool success);

    function voteWeighted(
        address voter,
        uint64 proposalId,
        WeightedVoteOption[] calldata options,
        string memory metadata
    ) external returns (bool success);

    /// Reverts when the voter has not voted. Votes are retained until they are counted.
    function getVote(uint64 proposalId, address voter) external view returns (WeightedVote memory vote);

    function getVotes(uint64 proposalId, PageRequest calldata pagination)
        external
        view
        returns (WeightedVote[] memory votes, PageResponse memory pageResponse);

    /// Reverts when the depositor has no deposit.
    function getDeposit(uint64 proposalId, address depositor) external view returns (DepositData memory deposit);

    function getDeposits(uint64 proposalId, PageRequest calldata pagination)
        external
        view
        returns (DepositData[] memory deposits, PageResponse memory pageResponse);

    /// During the voting period: returns the current tally, for gas of every vote and every
    /// delegation of a voter.
    function getTallyResult(uint64 proposalId) external view returns (TallyResultData memory tallyResult);

    function getProposal(uint64 proposalId) external view returns (ProposalData memory proposal);

    /// @param proposalStatus 0 for all
    /// @param voter only those that it voted on; the address 0 for all
    /// @param depositor only those that it deposited for; the address 0 for all
    function getProposals(uint32 proposalStatus, address voter, address depositor, PageRequest calldata pagination)
        external
        view
        returns (ProposalData[] memory proposals, PageResponse memory pageResponse);

    function getParams() external view returns (Params memory params);

    function getConstitution() external view returns (string memory constitution);
}

IGov constant GOV = IGov(0x0000000000000000000000000000000000000805);
