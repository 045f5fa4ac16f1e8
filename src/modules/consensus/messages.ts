import { parseAddress } from '../../primitives/address.ts'
import { defineMessage, message, string } from '../../primitives/protoSchema.ts'
import { event } from '../context.ts'
import { requireAuthority } from '../gov/authority.ts'
import { defineHandler, type MessageHandler } from '../message.ts'
import { sdkError } from '../sdkError.ts'
import { AbciParams, BlockParams, CONSENSUS_PARAMS, EvidenceParams, ValidatorParams, validateChange } from './params.ts'
import { paramsText } from './paramsText.ts'

export const MsgUpdateParams = defineMessage('cosmos.consensus.v1.MsgUpdateParams', {
  authority: string(1),
  block: message(2, BlockParams),
  evidence: message(3, EvidenceParams),
  validator: message(4, ValidatorParams),
  abci: message(5, AbciParams),
})
export const MsgUpdateParamsResponse = defineMessage('cosmos.consensus.v1.MsgUpdateParamsResponse', {})

const UPDATE_GAS = 20_000n

/** x/consensus/keeper/keeper.go; what it changes acts from the next block on. */
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
      return new Uint8Array(0)
    },
  }),
]
