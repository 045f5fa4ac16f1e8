import type { StdSignDoc } from '@cosmjs/amino'

/*
 * Typed data (EIP-712) of native transactions, which a Ledger signs with its Ethereum app. The form is that of Keplr and of cosmos/evm's
 * legacy encoding: the document of the amino form is the message, and `fee.feePayer` names the account.
 */

interface Field {
  readonly name: string
  readonly type: string
}

/** A wallet's input; the document itself is the message. */
export interface TypedData {
  readonly types: Readonly<Record<string, readonly Field[]>>
  readonly domain: Readonly<Record<string, string | number>>
  readonly primaryType: 'Tx'
}

const field = (name: string, type = 'string'): Field => ({ name, type })
const strings = (...names: readonly string[]): readonly Field[] => names.map((name) => field(name))
const COIN = strings('denom', 'amount')

/** Members of the values of messages, in the order of their .proto files, and the types of theirs. */
const VALUES: Readonly<Record<string, readonly Field[]>> = {
  'cosmos-sdk/MsgSend': [...strings('from_address', 'to_address'), field('amount', 'TypeAmount[]')],
  'cosmos-sdk/MsgDelegate': [...strings('delegator_address', 'validator_address'), field('amount', 'TypeAmount')],
  'cosmos-sdk/MsgUndelegate': [...strings('delegator_address', 'validator_address'), field('amount', 'TypeAmount')],
  'cosmos-sdk/MsgBeginRedelegate': [
    ...strings('delegator_address', 'validator_src_address', 'validator_dst_address'),
    field('amount', 'TypeAmount'),
  ],
  'cosmos-sdk/MsgCancelUnbondingDelegation': [
    ...strings('delegator_address', 'validator_address'),
    field('amount', 'TypeAmount'),
    field('creation_height', 'int64'),
  ],
  'cosmos-sdk/MsgWithdrawDelegationReward': strings('delegator_address', 'validator_address'),
  'cosmos-sdk/MsgVote': [field('proposal_id', 'uint64'), field('voter'), field('option', 'int32')],
  'cosmos-sdk/v1/MsgVoteWeighted': [field('proposal_id', 'uint64'), field('voter'), field('options', 'TypeOptions[]')],
  'cosmos-sdk/v1/MsgDeposit': [field('proposal_id', 'uint64'), field('depositor'), field('amount', 'TypeAmount[]')],
  'cosmos-sdk/v1/MsgSubmitProposal': [
    field('initial_deposit', 'TypeInitialDeposit[]'),
    ...strings('proposer', 'metadata', 'title', 'summary'),
    field('expedited', 'bool'),
  ],
}

const INNER: Readonly<Record<string, readonly Field[]>> = {
  TypeAmount: COIN,
  TypeInitialDeposit: COIN,
  TypeOptions: [field('option', 'int32'), field('weight')],
}

/**
 * The typed data of a document whose messages are of one type.
 * @param evmId EVM chain ID
 * @throws Error for messages of several types, or of one that has no typed data here
 */
export function typedDataOf({ msgs }: Pick<StdSignDoc, 'msgs'>, evmId: number): TypedData {
  const [first] = msgs
  const known = first === undefined ? undefined : VALUES[first.type]
  if (first === undefined || known === undefined || msgs.some(({ type }) => type !== first.type)) {
    throw new Error(
      `A Ledger cannot sign these messages: ${[...new Set(msgs.map(({ type }) => type))].join(', ')}. Use another account.`,
    )
  }
  // Members without a value have no type.
  const members = known.filter(({ name }) => !isEmpty(first.value[name]))
  const inner = Object.entries(INNER).filter(([name]) =>
    members.some(({ type }) => type === name || type === `${name}[]`),
  )
  return {
    types: {
      EIP712Domain: [
        ...strings('name', 'version'),
        field('chainId', 'uint256'),
        ...strings('verifyingContract', 'salt'),
      ],
      Tx: [
        ...strings('account_number', 'chain_id'),
        field('fee', 'Fee'),
        field('memo'),
        field('msgs', 'Msg[]'),
        field('sequence'),
      ],
      Fee: [field('feePayer'), field('amount', 'Coin[]'), field('gas')],
      Coin: COIN,
      Msg: [field('type'), field('value', 'MsgValue')],
      MsgValue: members,
      ...Object.fromEntries(inner),
    },
    domain: { name: 'Cosmos Web3', version: '1.0.0', chainId: evmId, verifyingContract: 'cosmos', salt: '0' },
    primaryType: 'Tx',
  }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === '' || value === false || (Array.isArray(value) && value.length === 0)
}
