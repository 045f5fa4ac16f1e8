import { Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import { formatDecimal, parseDecimal } from '../../primitives/decimal.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import { coinJson, type MessageJson, parseAmount, readJsonFile, type TxCommand, type TxInput } from './txCommand.ts'

const PROPOSAL = ['<proposal>', 'number of the proposal'] as const
const OPTIONS: Readonly<Record<string, string>> = {
  yes: 'VOTE_OPTION_YES',
  abstain: 'VOTE_OPTION_ABSTAIN',
  no: 'VOTE_OPTION_NO',
  'no-with-veto': 'VOTE_OPTION_NO_WITH_VETO',
}

export const GOV_COMMANDS: readonly TxCommand[] = [
  {
    group: 'gov',
    name: 'submit-proposal',
    description: 'Submit a governance proposal',
    arguments: [
      ['<file>', 'JSON file with title, summary and deposit (such as 10COIN); optional: messages, metadata, expedited'],
    ],
    build: (input) => [{ '@type': '/cosmos.gov.v1.MsgSubmitProposal', ...readProposal(input) }],
  },
  {
    group: 'gov',
    name: 'deposit',
    description: 'Add to the deposit of a proposal',
    arguments: [PROPOSAL, ['<amount>', 'amount with its unit, such as 10COIN']],
    build: ({ from, args: [proposal, amount] }) => [
      {
        '@type': '/cosmos.gov.v1.MsgDeposit',
        proposal_id: proposal!,
        depositor: from,
        amount: [coinJson(parseAmount(amount!))],
      },
    ],
  },
  {
    group: 'gov',
    name: 'vote',
    description: 'Vote on a proposal',
    arguments: [PROPOSAL, ['<option>', Object.keys(OPTIONS).join(', ')]],
    options: [new Option('--metadata <text>', 'remark stored with the vote').default('')],
    build: ({ from, args: [proposal, option], options }) => [
      {
        '@type': '/cosmos.gov.v1.MsgVote',
        proposal_id: proposal!,
        voter: from,
        option: voteOption(option!),
        metadata: String(options['metadata']),
      },
    ],
  },
  {
    group: 'gov',
    name: 'weighted-vote',
    description: 'Split a vote',
    arguments: [PROPOSAL, ['<options...>', 'shares such as yes=0.6 no=0.4, with a sum of 1']],
    options: [new Option('--metadata <text>', 'remark stored with the vote').default('')],
    build: ({ from, args: [proposal, ...shares], options }) => [
      {
        '@type': '/cosmos.gov.v1.MsgVoteWeighted',
        proposal_id: proposal!,
        voter: from,
        options: shares.flatMap((share) => share.split(',')).map(weightedOption),
        metadata: String(options['metadata']),
      },
    ],
  },
  {
    group: 'gov',
    name: 'cancel-proposal',
    description: "Cancel the sender's proposal; part of its deposits is burnt",
    arguments: [PROPOSAL],
    build: ({ from, args: [proposal] }) => [
      { '@type': '/cosmos.gov.v1.MsgCancelProposal', proposal_id: proposal!, proposer: from },
    ],
  },
]

function voteOption(text: string): string {
  const name = text.replaceAll('_', '-')
  const option = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : undefined
  if (option === undefined) {
    throw new ConfigError(`${text} is not a vote option: expected ${Object.keys(OPTIONS).join(', ')}`)
  }
  return option
}

function weightedOption(text: string): { readonly option: string; readonly weight: string } {
  const [option = '', share = ''] = text.split('=')
  const weight = parseDecimal(share)
  if (weight === undefined) throw new ConfigError(`${text} is not a share of a vote: expected one such as yes=0.6`)
  return { option: voteOption(option), weight: formatDecimal(weight) }
}

/** Reads the file of a proposal, whose amounts may have units. */
function readProposal({ from, args, terminal }: TxInput): Omit<MessageJson, '@type'> {
  const path = args[0]!
  const file = readJsonFile(path, terminal)
  if (typeof file !== 'object' || file === null || Array.isArray(file))
    throw new ConfigError(`${path} must hold a JSON object`)
  const {
    title,
    summary,
    deposit,
    messages = [],
    metadata = '',
    expedited = false,
    ...unknown
  } = file as Readonly<Record<string, Json>>
  const [extra] = Object.keys(unknown)
  if (extra !== undefined) throw new ConfigError(`${path} has an unknown field ${extra}`)
  if (typeof title !== 'string' || typeof summary !== 'string' || typeof deposit !== 'string') {
    throw new ConfigError(`${path} must have the strings title, summary and deposit (such as 10COIN)`)
  }
  return {
    title,
    summary,
    metadata,
    expedited,
    messages,
    proposer: from,
    initial_deposit: [coinJson(parseAmount(deposit))],
  }
}
