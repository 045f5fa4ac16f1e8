import { parseAddress } from '../../primitives/address.ts'
import { defineMessage, message, string } from '../../primitives/protoSchema.ts'
import { event } from '../context.ts'
import { requireAuthority } from '../gov/authority.ts'
import { defineHandler, EMPTY_RESPONSE, type MessageHandler } from '../message.ts'
import { sdkError } from '../sdkError.ts'
import {
  AbciParams,
  BlockParams,
  CONSENSUS_PARAMS,
  EvidenceParams,
  type ProposedParams,
  ValidatorParams,
  validateChange,
} from './params.ts'

export const MsgUpdateParams = defineMessage('cosmos.consensus.v1.MsgUpdateParams', {
  authority: string(1),
  block: message(2, BlockParams),
  evidence: message(3, EvidenceParams),
  validator: message(4, ValidatorParams),
  abci: message(5, AbciParams),
})
const MsgUpdateParamsResponse = defineMessage('cosmos.consensus.v1.MsgUpdateParamsResponse', {})

const UPDATE_GAS = 20_000n

/** The consensus module's messages (x/consensus/keeper/keeper.go); a change takes effect in the next block. */
export const CONSENSUS_MESSAGES: readonly MessageHandler[] = [
  defineHandler({
    type: MsgUpdateParams,
    response: MsgUpdateParamsResponse,
    aminoName: 'cosmos-sdk/x/consensus/MsgUpdateParams',
    module: 'consensus',
    signers: ({ authority }) => [parseAddress(authority)],
    validate: ({ block, evidence, validator }) =>
      block === undefined || evidence === undefined || validator === undefined
        ? sdkError('invalidRequest', 'all parameters must be present')
        : undefined,
    gas: () => UPDATE_GAS,
    run: ({ world }, { authority, ...proposed }) => {
      const current = CONSENSUS_PARAMS.get(world.native)
      const refused = requireAuthority(authority) ?? validateChange(current, proposed)
      if (refused !== undefined) return refused
      CONSENSUS_PARAMS.set(world.native, { ...current, block: proposed.block })
      world.emitEvent(event('update_consensus_params', { authority, parameters: paramsText(proposed) }))
      return EMPTY_RESPONSE
    },
  }),
]

const NANOS_PER_SECOND = 1_000_000_000n

/** Consensus parameters as the event of their change shows them: gogoproto's text form, which leaves zeros out. */
function paramsText({ block, evidence, validator, abci }: ProposedParams): string {
  const { maxAgeNumBlocks = 0n, maxAgeDuration = 0n, maxBytes = 0n } = evidence ?? {}
  const age = number('seconds', maxAgeDuration / NANOS_PER_SECOND) + number('nanos', maxAgeDuration % NANOS_PER_SECOND)
  const keyTypes = (validator?.pubKeyTypes ?? []).map((type) => `pub_key_types:${JSON.stringify(type)} `).join('')
  const sections = [
    `block:<${number('max_bytes', block?.maxBytes)}${number('max_gas', block?.maxGas)}> `,
    `evidence:<${number('max_age_num_blocks', maxAgeNumBlocks)}max_age_duration:<${age}> ${number('max_bytes', maxBytes)}> `,
    `validator:<${keyTypes}> `,
    'version:<> ',
    abci === undefined ? '' : `abci:<${number('vote_extensions_enable_height', abci.voteExtensionsEnableHeight)}> `,
  ]
  return sections.join('')
}

function number(name: string, value: bigint | undefined): string {
  return value === undefined || value === 0n ? '' : `${name}:${value} `
}
