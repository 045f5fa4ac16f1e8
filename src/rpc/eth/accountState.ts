import { bigIntToBytes, bytesToBigInt, bytesToHex, equalBytes, padLeft, toQuantity } from '../../primitives/bytes.ts'
import { EMPTY_CODE_HASH } from '../../primitives/hash.ts'
import { RPC_CODES, RpcError } from '../jsonrpc/errors.ts'
import { defineMethod, type ParamReader } from '../jsonrpc/method.ts'
import { LATEST, readBlockNumberOrHash } from '../params/blockSelector.ts'
import { jsonKind, listReader, readAddress, readHash, recordReader, TypeMismatch } from '../params/values.ts'
import { hashRead, selectState, stateError, stateHeight } from './blockLookup.ts'

export const getBalance = defineMethod({
  name: 'eth_getBalance',
  runs: 'socket',
  params: [readAddress, readBlockNumberOrHash],
  required: 1,
  reads: (chain, _, block = LATEST) => hashRead(chain, block),
  run: ({ view }, address, block = LATEST) => {
    const { state } = selectState(view, block)
    return toQuantity(state.getAccount(address)?.balance ?? 0n)
  },
})

/**
 * The account as the state's trie has it; null for an absent one (reth, Besu and Nethermind:
 * eth_getAccount).
 */
export const getAccount = defineMethod({
  name: 'eth_getAccount',
  runs: 'heavy',
  params: [readAddress, readBlockNumberOrHash],
  required: 1,
  run: async ({ view, execution, limits, monotonicMs }, address, block = LATEST) => {
    const { height, state } = selectState(view, block)
    if (state.getAccount(address) === undefined) return null
    const pause = execution?.yieldUntil(monotonicMs() + limits.callTimeoutMs)
    // Only the proof knows the root of the account's storage.
    const account = await view.proofAt(height, address, [], pause).catch((error: unknown) => {
      throw stateError(error)
    })
    return {
      balance: toQuantity(account.balance),
      nonce: toQuantity(account.nonce),
      codeHash: bytesToHex(account.codeHash),
      storageRoot: bytesToHex(account.storageRoot),
    }
  },
})

/** At `pending`, the nonce after the sender's contiguous transactions in the pool. */
export const getTransactionCount = defineMethod({
  name: 'eth_getTransactionCount',
  runs: 'socket',
  params: [readAddress, readBlockNumberOrHash],
  required: 1,
  reads: (chain, _, block = LATEST) => hashRead(chain, block),
  run: async ({ view, txs }, address, block = LATEST) => {
    const { state } = selectState(view, block)
    const nonce = state.getAccount(address)?.nonce ?? 0n
    if (block.kind !== 'number' || block.number !== 'pending') return toQuantity(nonce)
    const pooled = (await txs.pendingNonce(address)) ?? 0n
    // The pool may not have processed the newest block yet, or this view may be older than the
    // pool's.
    return toQuantity(pooled > nonce ? pooled : nonce)
  },
})

export const getCode = defineMethod({
  name: 'eth_getCode',
  runs: 'socket',
  params: [readAddress, readBlockNumberOrHash],
  required: 1,
  reads: (chain, _, block = LATEST) => hashRead(chain, block),
  run: ({ view }, address, block = LATEST) => {
    const { state } = selectState(view, block)
    const codeHash = state.getAccount(address)?.codeHash
    if (codeHash === undefined || equalBytes(codeHash, EMPTY_CODE_HASH)) return '0x'
    return bytesToHex(state.getCode(codeHash))
  },
})

/** A storage slot as the client wrote it. */
interface StorageSlot {
  /** 32 bytes */
  readonly slot: Uint8Array
  /** whether it was written as 32 bytes (the prefix and the very first digit may be missing) */
  readonly isWholeWord: boolean
}

/**
 * Reads a slot in geth's lenient form (ethapi `decodeStorageKey`): the prefix is optional, an odd
 * length allowed.
 */
export const readStorageSlot: ParamReader<StorageSlot> = (json) => {
  if (typeof json !== 'string') throw new TypeMismatch(jsonKind(json), 'string')
  const digits = /^0x/i.test(json) ? json.slice(2) : json
  if (digits.length > 64) {
    throw invalidKey(`storage key too long (want at most 32 bytes): ${JSON.stringify(json.slice(0, 100))}`)
  }
  if (!/^[0-9a-f]*$/i.test(digits)) {
    throw invalidKey(`invalid hex in storage key: ${JSON.stringify(json)}`)
  }
  return { slot: bigIntToBytes(BigInt(`0x${digits || '0'}`), 32), isWholeWord: digits.length >= 63 }
}

/**
 * Returns the error for a wrong key. geth reads the key inside the method, so the text does not
 * name the argument.
 */
function invalidKey(message: string): RpcError {
  return new RpcError(RPC_CODES.invalidParams, message)
}

/** Always 32 bytes, also for an absent account. */
export const getStorageAt = defineMethod({
  name: 'eth_getStorageAt',
  runs: 'socket',
  params: [readAddress, readStorageSlot, readBlockNumberOrHash],
  required: 2,
  reads: (chain, _, __, block = LATEST) => hashRead(chain, block),
  run: ({ view }, address, { slot }, block = LATEST) => {
    const { state } = selectState(view, block)
    return bytesToHex(padLeft(state.getStorage(address, slot), 32))
  },
})

/** Slots that one eth_getStorageValues may ask for, as in geth. */
const MAX_SLOTS = 1024

const readSlots = recordReader(readAddress, listReader(readHash, '[]common.Hash'), 'map[common.Address][]common.Hash')

/** Reads slots by address, after it has counted them: a request may have far more than are allowed. */
const readSlotsByAddress: typeof readSlots = (json) => {
  if (typeof json === 'object' && json !== null) {
    const entries: readonly unknown[] = Object.values(json)
    const count = entries.reduce<number>((sum, slots) => sum + (Array.isArray(slots) ? slots.length : 1), 0)
    if (count > MAX_SLOTS) throw new RpcError(RPC_CODES.clientLimitExceeded, `too many slots (max ${MAX_SLOTS})`)
  }
  return readSlots(json)
}

/**
 * Many slots of many accounts at once: takes `{address: [slots]}`, returns `{address: [32-byte
 * values]}`.
 */
export const getStorageValues = defineMethod({
  name: 'eth_getStorageValues',
  runs: 'cheap',
  params: [readSlotsByAddress, readBlockNumberOrHash],
  required: 1,
  reads: (chain, _, block = LATEST) => hashRead(chain, block),
  run: ({ view }, request, block = LATEST) => {
    const count = request.reduce((sum, [, slots]) => sum + slots.length, 0)
    if (count === 0) throw new RpcError(RPC_CODES.invalidParams, 'empty request')
    const { state } = selectState(view, block)
    return Object.fromEntries(
      request.map(([address, slots]) => [
        bytesToHex(address),
        slots.map((slot) => bytesToHex(padLeft(state.getStorage(address, slot), 32))),
      ]),
    )
  },
})

/** Slots that one proof may cover, as in geth. */
const MAX_PROOF_SLOTS = 1024

const readKeys = listReader(readStorageSlot, '[]string')

/** Merkle proof of an account and slots of its storage (EIP-1186); exclusion proofs for what is absent. */
export const getProof = defineMethod({
  name: 'eth_getProof',
  runs: 'heavy',
  params: [readAddress, readKeys, readBlockNumberOrHash],
  required: 2,
  run: async ({ view, execution, limits, monotonicMs }, address, keys, block = LATEST) => {
    if (keys.length > MAX_PROOF_SLOTS)
      throw new RpcError(RPC_CODES.clientLimitExceeded, `too many slots (max ${MAX_PROOF_SLOTS})`)
    const height = stateHeight(view, block)
    const slots = keys.map(({ slot }) => slot)
    const pause = execution?.yieldUntil(monotonicMs() + limits.callTimeoutMs)
    const proof = await view.proofAt(height, address, slots, pause).catch((error: unknown) => {
      throw stateError(error)
    })
    return {
      address: bytesToHex(address),
      accountProof: proof.accountProof.map(bytesToHex),
      balance: toQuantity(proof.balance),
      codeHash: bytesToHex(proof.codeHash),
      nonce: toQuantity(proof.nonce),
      storageHash: bytesToHex(proof.storageRoot),
      storageProof: proof.storageProofs.map(({ slot, value, proof: nodes }, index) => ({
        // geth returns the key in the form of the request.
        key: keys[index]!.isWholeWord ? bytesToHex(slot) : toQuantity(bytesToBigInt(slot)),
        value: toQuantity(bytesToBigInt(value)),
        proof: nodes.map(bytesToHex),
      })),
    }
  },
})
