import { bytesToHex, equalBytes, padLeft } from '../../primitives/bytes.ts'
import { EMPTY_CODE_HASH } from '../../primitives/hash.ts'
import { RPC_CODES, RpcError } from '../errors.ts'
import { toQuantity } from '../format/quantity.ts'
import { defineMethod } from '../method.ts'
import { LATEST, readBlockNumberOrHash } from '../params/blockNumberOrHash.ts'
import { readAddress } from '../params/data.ts'
import { listReader, recordReader } from '../params/object.ts'
import { readStorageSlot } from '../params/storageSlot.ts'
import { selectState } from './blockLookup.ts'

export const getBalance = defineMethod({
  name: 'eth_getBalance',
  queue: 'socket',
  params: [readAddress, readBlockNumberOrHash],
  required: 1,
  run: ({ view }, address, block = LATEST) => {
    const { state } = selectState(view, block)
    return toQuantity(state.getAccount(address)?.balance ?? 0n)
  },
})

/** At `pending`, the nonce after the sender's contiguous transactions in the pool. */
export const getTransactionCount = defineMethod({
  name: 'eth_getTransactionCount',
  queue: 'socket',
  params: [readAddress, readBlockNumberOrHash],
  required: 1,
  run: async ({ view, txs }, address, block = LATEST) => {
    const { state } = selectState(view, block)
    const nonce = state.getAccount(address)?.nonce ?? 0n
    if (block.kind !== 'number' || block.number !== 'pending') return toQuantity(nonce)
    const pooled = (await txs.pendingNonce(address)) ?? 0n
    // A block may have been published since the pool last counted, or before this view was opened.
    return toQuantity(pooled > nonce ? pooled : nonce)
  },
})

export const getCode = defineMethod({
  name: 'eth_getCode',
  queue: 'socket',
  params: [readAddress, readBlockNumberOrHash],
  required: 1,
  run: ({ view }, address, block = LATEST) => {
    const { state } = selectState(view, block)
    const codeHash = state.getAccount(address)?.codeHash
    if (codeHash === undefined || equalBytes(codeHash, EMPTY_CODE_HASH)) return '0x'
    return bytesToHex(state.getCode(codeHash))
  },
})

/** Always 32 bytes, also for an absent account. */
export const getStorageAt = defineMethod({
  name: 'eth_getStorageAt',
  queue: 'socket',
  params: [readAddress, readStorageSlot, readBlockNumberOrHash],
  required: 2,
  run: ({ view }, address, { slot }, block = LATEST) => {
    const { state } = selectState(view, block)
    return bytesToHex(padLeft(state.getStorage(address, slot), 32))
  },
})

/** Slots that one eth_getStorageValues may ask for, as in geth. */
const MAX_SLOTS = 1024

const readSlotsByAddress = recordReader(
  readAddress,
  listReader(readStorageSlot, '[]common.Hash'),
  'map[common.Address][]common.Hash',
)

/** Many slots of many accounts at once: `{address: [slots]}` gives `{address: [32-byte values]}`. */
export const getStorageValues = defineMethod({
  name: 'eth_getStorageValues',
  queue: 'cheap',
  params: [readSlotsByAddress, readBlockNumberOrHash],
  required: 1,
  run: ({ view }, request, block = LATEST) => {
    const count = request.reduce((sum, [, slots]) => sum + slots.length, 0)
    if (count === 0) throw new RpcError(RPC_CODES.invalidParams, 'empty request')
    if (count > MAX_SLOTS) throw new RpcError(RPC_CODES.tooManySlots, `too many slots (max ${MAX_SLOTS})`)
    const { state } = selectState(view, block)
    return Object.fromEntries(
      request.map(([address, slots]) => [
        bytesToHex(address),
        slots.map(({ slot }) => bytesToHex(padLeft(state.getStorage(address, slot), 32))),
      ]),
    )
  },
})
