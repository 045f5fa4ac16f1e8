import { bytesToHex } from '../../primitives/bytes.ts'
import { serverError } from '../errors.ts'
import { defineMethod } from '../method.ts'
import { LATEST, readBlockNumberOrHash } from '../params/blockNumberOrHash.ts'
import { readBlockOverrides } from '../params/blockOverrides.ts'
import { readCallRequest } from '../params/callRequest.ts'
import { readStateOverrides } from '../params/stateOverrides.ts'
import { openCall, runCall, toCallMessage } from './callExecution.ts'
import { revertError } from './revertReason.ts'

/** Runs a call without a transaction and answers with what it returns. */
export const call = defineMethod({
  name: 'eth_call',
  queue: 'heavy',
  params: [readCallRequest, readBlockNumberOrHash, readStateOverrides, readBlockOverrides],
  required: 1,
  run: async (context, request, selector = LATEST, state, block) => {
    const environment = openCall(context, selector, { state, block })
    const message = toCallMessage(request, context)
    const outcome = await runCall(environment, message)
    if (outcome.kind === 'skipped') throw serverError(`err: ${outcome.reason} (supplied gas ${message.gasLimit})`)
    if (outcome.failure === 'execution reverted') throw revertError(outcome.output)
    if (outcome.failure !== undefined) throw serverError(outcome.failure)
    return bytesToHex(outcome.output)
  },
})
