import type { AminoConverters } from '@cosmjs/stargate'
import { type Action, type NewProposal, OPTION_NUMBERS, type WeightedOption } from './action.ts'
import { DENOM } from './chain.ts'

/* What a Cosmos wallet signs. CosmJS knows these types; it lacks the amino forms of governance's types of v1. */

interface NativeMessage {
  readonly typeUrl: string
  readonly value: object
}

const STAKING = '/cosmos.staking.v1beta1'
const GOV = '/cosmos.gov.v1'
export const SUBMIT_PROPOSAL = `${GOV}.MsgSubmitProposal`

/**
 * The messages of an action, the fields as CosmJS names them.
 * @param own coin1… of the account that signs
 * @throws Error when there is no message for it
 */
export function nativeMessages(action: Action, own: string): readonly NativeMessage[] {
  switch (action.kind) {
    case 'send': {
      const value = { fromAddress: own, toAddress: action.to.bech32, amount: coins(action.amount) }
      return [{ typeUrl: '/cosmos.bank.v1beta1.MsgSend', value }]
    }
    case 'call':
      throw new Error('This wallet signs native messages only. Use an Ethereum wallet to call contracts.')
    case 'delegate':
    case 'undelegate': {
      const name = action.kind === 'delegate' ? 'MsgDelegate' : 'MsgUndelegate'
      const value = { delegatorAddress: own, validatorAddress: action.validator, amount: coin(action.amount) }
      return [{ typeUrl: `${STAKING}.${name}`, value }]
    }
    case 'redelegate': {
      const validators = { validatorSrcAddress: action.from, validatorDstAddress: action.to }
      const value = { delegatorAddress: own, ...validators, amount: coin(action.amount) }
      return [{ typeUrl: `${STAKING}.MsgBeginRedelegate`, value }]
    }
    case 'cancelUnbonding': {
      const { validator: validatorAddress, amount, height } = action
      const value = { delegatorAddress: own, validatorAddress, amount: coin(amount), creationHeight: BigInt(height) }
      return [{ typeUrl: `${STAKING}.MsgCancelUnbondingDelegation`, value }]
    }
    case 'claim':
      return action.validators.map((validatorAddress) => ({
        typeUrl: '/cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward',
        value: { delegatorAddress: own, validatorAddress },
      }))
    case 'vote':
      return [voteMessage(BigInt(action.proposal), action.options, own)]
    case 'deposit': {
      const value = { proposalId: BigInt(action.proposal), depositor: own, amount: coins(action.amount) }
      return [{ typeUrl: `${GOV}.MsgDeposit`, value }]
    }
    case 'propose':
      return [{ typeUrl: SUBMIT_PROPOSAL, value: proposalValue(action.proposal, action.deposit, own) }]
  }
}

/**
 * Whether a wallet shows an action in words only in the amino form. Keplr does not know the types of these actions: in the direct form it
 * shows their bytes, in the amino form their fields.
 */
export function isShownInAmino(action: Action): boolean {
  switch (action.kind) {
    case 'vote':
      return action.options.length > 1
    case 'cancelUnbonding':
    case 'deposit':
      return true
    case 'propose':
      return action.proposal.messages.length === 0
    default:
      return false
  }
}

function coin(amount: bigint) {
  return { denom: DENOM, amount: amount.toString() }
}

function coins(amount: bigint) {
  return amount === 0n ? [] : [coin(amount)]
}

function voteMessage(proposalId: bigint, options: readonly WeightedOption[], voter: string): NativeMessage {
  const [first] = options
  if (first !== undefined && options.length === 1) {
    // Keplr knows this type and shows it in words, and not that of v1.
    return {
      typeUrl: '/cosmos.gov.v1beta1.MsgVote',
      value: { proposalId, voter, option: OPTION_NUMBERS[first.option] },
    }
  }
  const numbered = options.map(({ option, weight }) => ({ option: OPTION_NUMBERS[option], weight }))
  return { typeUrl: `${GOV}.MsgVoteWeighted`, value: { proposalId, voter, options: numbered, metadata: '' } }
}

function proposalValue({ title, summary, metadata, isExpedited }: NewProposal, deposit: bigint, proposer: string) {
  return {
    messages: [],
    initialDeposit: coins(deposit),
    proposer,
    metadata,
    title,
    summary,
    expedited: isExpedited,
  }
}

/** A proposal as the node's `/cosmos/tx/v1beta1/encode` reads it: what it executes may be of any type, which only the node knows. */
export function proposalJson(
  { title, summary, metadata, isExpedited, messages }: NewProposal,
  deposit: bigint,
  own: string,
) {
  return {
    '@type': SUBMIT_PROPOSAL,
    messages,
    initial_deposit: coins(deposit),
    proposer: own,
    metadata,
    title,
    summary,
    expedited: isExpedited,
  }
}

/** Fields of the messages above, as CosmJS has them. */
interface VoteFields {
  readonly proposalId: bigint
  readonly voter: string
  readonly options: readonly { readonly option: number; readonly weight: string }[]
}
interface DepositFields {
  readonly proposalId: bigint
  readonly depositor: string
  readonly amount: readonly { readonly denom: string; readonly amount: string }[]
}
type ProposalFields = ReturnType<typeof proposalValue> & { readonly messages: readonly unknown[] }

/**
 * Governance's messages in amino JSON, as the Cosmos SDK 0.53 names and orders them. Empty fields are left out. What a wallet signed is
 * read back, too: it may have changed the memo and the fee, never these.
 */
export const GOV_AMINO: AminoConverters = {
  [`${GOV}.MsgVoteWeighted`]: {
    aminoType: 'cosmos-sdk/v1/MsgVoteWeighted',
    toAmino: ({ proposalId, voter, options }: VoteFields) => ({ proposal_id: proposalId.toString(), voter, options }),
    fromAmino: ({ proposal_id, ...fields }) => ({ ...fields, proposalId: BigInt(proposal_id), metadata: '' }),
  },
  [`${GOV}.MsgDeposit`]: {
    aminoType: 'cosmos-sdk/v1/MsgDeposit',
    toAmino: ({ proposalId, depositor, amount }: DepositFields) => ({
      proposal_id: proposalId.toString(),
      depositor,
      amount,
    }),
    fromAmino: ({ proposal_id, ...fields }) => ({ ...fields, proposalId: BigInt(proposal_id) }),
  },
  [SUBMIT_PROPOSAL]: {
    aminoType: 'cosmos-sdk/v1/MsgSubmitProposal',
    toAmino: ({ messages, initialDeposit, proposer, metadata, title, summary, expedited }: ProposalFields) => {
      if (messages.length > 0) {
        throw new Error(
          'A hardware wallet can sign only proposals without messages. Use another account for this proposal.',
        )
      }
      return {
        initial_deposit: initialDeposit,
        proposer,
        ...(metadata !== '' && { metadata }),
        title,
        summary,
        ...(expedited && { expedited }),
      }
    },
    fromAmino: ({ initial_deposit, expedited = false, metadata = '', ...fields }) => ({
      ...fields,
      initialDeposit: initial_deposit,
      expedited,
      messages: [],
      metadata,
    }),
  },
}
