import { recoverAuthority } from '../../evm/authorization.ts'
import { createAddress } from '../../evm/contractAddress.ts'
import { standardPrecompiles } from '../../evm/precompileAddresses.ts'
import type { CallMessage } from '../../evm/transition.ts'
import { bytesKey } from '../../primitives/bytes.ts'
import { serverError } from '../errors.ts'
import { toQuantity } from '../format/quantity.ts'
import { formatAccessList } from '../format/transaction.ts'
import { defineMethod } from '../method.ts'
import { LATEST, readBlockNumberOrHash } from '../params/blockNumberOrHash.ts'
import { readCallRequest } from '../params/callRequest.ts'
import { readStateOverrides } from '../params/stateOverrides.ts'
import { createAccessListTracer } from './accessListTracer.ts'
import { type CallEnvironment, openCall, runCall, toCallMessage } from './callExecution.ts'

/** EIP-7702: what each authorization costs at least. */
const AUTHORIZATION_GAS = 25_000n

/**
 * The access list with which a transaction would touch nothing cold, and the gas it uses with it. A run that fails still
 * has a list; why it failed is in `error`.
 */
export const createAccessList = defineMethod({
  name: 'eth_createAccessList',
  queue: 'heavy',
  params: [readCallRequest, readBlockNumberOrHash, readStateOverrides],
  required: 1,
  run: async (context, request, selector = LATEST, state) => {
    const environment = openCall(context, selector, { state })
    const message = toCallMessage(request, context)
    checkAuthorizations(message)
    const excluded = alwaysWarm(message, environment, request.nonce)
    let tracer = createAccessListTracer(message.accessList ?? [], excluded)
    // The list makes later calls cheaper, which can lead the run elsewhere: repeat until it adds nothing.
    for (;;) {
      const accessList = tracer.accessList()
      const knownSize = tracer.size()
      tracer = createAccessListTracer(accessList, excluded)
      const outcome = await runCall(environment, { ...message, accessList }, tracer)
      if (outcome.kind === 'skipped') throw serverError(`failed to apply transaction: err: ${outcome.reason}`)
      if (tracer.size() !== knownSize) continue
      return {
        accessList: formatAccessList(accessList),
        ...(outcome.failure === undefined ? {} : { error: outcome.failure }),
        gasUsed: toQuantity(outcome.gasUsed),
      }
    }
  },
})

/** Before signatures are recovered for nothing. @throws RpcError in geth's words */
function checkAuthorizations({ authorizationList = [], gasLimit }: CallMessage): void {
  if (BigInt(authorizationList.length) * AUTHORIZATION_GAS > gasLimit) {
    throw serverError('insufficient gas to process all authorizations')
  }
}

/** Sender, recipient, precompiles and EIP-7702 authorities, by `bytesKey`: warm in any case. */
function alwaysWarm(message: CallMessage, environment: CallEnvironment, nonce: bigint | undefined): Set<string> {
  const { sender, to, authorizationList = [] } = message
  const { world, rules, precompiles } = environment
  const recipient = to ?? createAddress(sender, nonce ?? world.getNonce(sender))
  const authorities = authorizationList.map(recoverAuthority).filter((address) => address !== undefined)
  const addresses = [sender, recipient, ...standardPrecompiles(rules.fork), ...authorities]
  return new Set([...addresses.map(bytesKey), ...precompiles.keys()])
}
