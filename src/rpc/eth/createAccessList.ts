import type { AccessListItem } from '../../chain/block/transaction.ts'
import { recoverAuthority } from '../../evm/authorization.ts'
import { createAddress } from '../../evm/contractAddress.ts'
import { standardPrecompiles } from '../../evm/precompileAddresses.ts'
import type { OpcodeStep, Tracer } from '../../evm/tracer.ts'
import type { CallMessage } from '../../evm/transition.ts'
import type { Address } from '../../primitives/address.ts'
import { bigIntToBytes, bytesKey, keyBytes, toQuantity } from '../../primitives/bytes.ts'
import { formatAccessList } from '../format/transaction.ts'
import { serverError } from '../jsonrpc/errors.ts'
import { defineMethod } from '../jsonrpc/method.ts'
import { LATEST, readBlockNumberOrHash } from '../params/blockSelector.ts'
import { readCallRequest, readStateOverrides } from '../params/callRequest.ts'
import { type CallEnvironment, openCall, runCall, toCallMessage } from './call.ts'

/** EIP-7702: the minimum cost of an authorization. */
const AUTHORIZATION_GAS = 25_000n

/**
 * The access list with which a transaction would touch nothing cold, and the gas it uses with that
 * list. A run that fails still has a list; the reason is in `error`.
 */
export const createAccessList = defineMethod({
  name: 'eth_createAccessList',
  runs: 'heavy',
  params: [readCallRequest, readBlockNumberOrHash, readStateOverrides],
  required: 1,
  run: async (context, request, selector = LATEST, state) => {
    const environment = openCall(context, selector, { state })
    const message = toCallMessage(request, context)
    checkAuthorizations(message)
    const excluded = warmAddresses(message, environment, request.nonce)
    let tracer = createAccessListTracer(message.accessList ?? [], excluded)
    // The list makes calls cheaper, which can change what the code does: repeat until the list does not grow.
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

/**
 * Refuses authorizations that the gas does not cover, before their signatures are recovered.
 * @throws RpcError with geth's text
 */
function checkAuthorizations({ authorizationList = [], gasLimit }: CallMessage): void {
  if (BigInt(authorizationList.length) * AUTHORIZATION_GAS > gasLimit) {
    throw serverError('insufficient gas to process all authorizations')
  }
}

/**
 * Returns the addresses that are warm without being listed, by `bytesKey`: sender, recipient,
 * precompiles and EIP-7702 authorities.
 */
function warmAddresses(message: CallMessage, environment: CallEnvironment, nonce: bigint | undefined): Set<string> {
  const { sender, to, authorizationList = [] } = message
  const { world, rules, precompiles } = environment
  const recipient = to ?? createAddress(sender, nonce ?? world.getNonce(sender))
  const authorities = authorizationList.map(recoverAuthority).filter((address) => address !== undefined)
  const addresses = [sender, recipient, ...standardPrecompiles(rules.fork), ...authorities]
  return new Set([...addresses.map(bytesKey), ...precompiles.keys()])
}

/** Collects the accounts and slots that a run touches (geth: logger.AccessListTracer). */
interface AccessListTracer extends Tracer {
  onOpcode(step: OpcodeStep): void
  accessList(): readonly AccessListItem[]
  /** Returns how many accounts and slots are known. */
  size(): number
}

const SLOT_OPCODES = new Set([0x54, 0x55])
/** BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH, SELFDESTRUCT: the address is on top. */
const ADDRESS_OPCODES = new Set([0x31, 0x3b, 0x3c, 0x3f, 0xff])
/** CALL, CALLCODE, DELEGATECALL, STATICCALL: the address is second. */
const CALL_OPCODES = new Set([0xf1, 0xf2, 0xf4, 0xfa])

const ADDRESS_MASK = (1n << 160n) - 1n

/**
 * Creates a tracer that starts with the entries of `known`. Accounts in `excluded` (by `bytesKey`)
 * cost nothing extra, so they are listed for their slots only.
 */
function createAccessListTracer(known: readonly AccessListItem[], excluded: ReadonlySet<string>): AccessListTracer {
  const slotsByAddress = new Map<string, Set<string>>()
  const slotsOf = (key: string): Set<string> => {
    const slots = slotsByAddress.get(key) ?? new Set<string>()
    slotsByAddress.set(key, slots)
    return slots
  }
  const addAddress = (address: Address): void => {
    const key = bytesKey(address)
    if (!excluded.has(key)) slotsOf(key)
  }
  for (const { address, storageKeys } of known) {
    addAddress(address)
    for (const slot of storageKeys) slotsOf(bytesKey(address)).add(bytesKey(slot))
  }
  return {
    onOpcode({ op, stack, address }) {
      const top = stack.at(-1)
      if (top === undefined) return
      if (SLOT_OPCODES.has(op)) slotsOf(bytesKey(address)).add(bytesKey(bigIntToBytes(top, 32)))
      else if (ADDRESS_OPCODES.has(op)) addAddress(toAddress(top))
      else if (CALL_OPCODES.has(op) && stack.length >= 5) addAddress(toAddress(stack.at(-2)!))
    },
    accessList: () =>
      [...slotsByAddress].map(([key, slots]) => ({ address: keyBytes(key), storageKeys: [...slots].map(keyBytes) })),
    size: () => {
      let size = slotsByAddress.size
      for (const slots of slotsByAddress.values()) size += slots.size
      return size
    },
  }
}

function toAddress(word: bigint): Address {
  return bigIntToBytes(word & ADDRESS_MASK, 20)
}
