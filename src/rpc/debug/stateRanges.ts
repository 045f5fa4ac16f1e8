import { type Address, toChecksumAddress } from '../../primitives/address.ts'
import {
  bytesKey,
  bytesToHex,
  compareBytes,
  EMPTY_BYTES,
  equalBytes,
  keyBytes,
  padLeft,
} from '../../primitives/bytes.ts'
import { EMPTY_CODE_HASH, keccak256 } from '../../primitives/hash.ts'
import type { AccountChange } from '../../state/changes.ts'
import { NATIVE_ACCOUNT } from '../../state/prepareChanges.ts'
import { equalAccounts, type StateReader } from '../../state/reader.ts'
import type { StateRange, TouchedState } from '../../state/stateRange.ts'
import { findHeader, readingState, stateHeight } from '../eth/blockLookup.ts'
import { executionOf } from '../eth/call.ts'
import { RPC_CODES, RpcError, serverError } from '../jsonrpc/errors.ts'
import { defineMethod, type ParamReader, type RpcContext, type RpcMethod } from '../jsonrpc/method.ts'
import {
  type BlockSelector,
  byHash,
  byNumber,
  readBlockNumberOrHash,
  readBlockNumberOrTag,
} from '../params/blockSelector.ts'
import { jsonKind, readAddress, readBool, readCount, readData, readHash, TypeMismatch } from '../params/values.ts'
import { beginReplay, replayUpTo } from './blockReplay.ts'
import { blockNotFound } from './raw.ts'

/**
 * Most slots in one answer of debug_storageRangeAt, and of all accounts in one answer of
 * debug_accountRange.
 */
const MAX_SLOTS = 4_096
/** geth's bound (eth/api_debug.go, AccountRangeMaxResults). */
const MAX_ACCOUNTS = 256
/**
 * Most entries that one answer passes, including those that were absent after the block. The client
 * continues from the next one.
 */
const MAX_PASSED = 200_000
/** Most state entries that the blocks of one request for modified accounts may have written. */
const MAX_TOUCHED = 500_000
const KEYS_PER_PAUSE = 200

/**
 * The storage of a contract before a transaction of a block: at most 4,096 slots, from `keyStart`
 * on. They are in the order of slots, where geth's are in that of the slots' hashes: keyStart and
 * nextKey are slots here.
 */
export const storageRangeAt = defineMethod({
  name: 'debug_storageRangeAt',
  runs: 'heavy',
  params: [readBlockNumberOrHash, readCount, readAddress, readData, readCount],
  run: async (context, selector, txIndex, address, keyStart, maxResult) => {
    const pause = pauseOf(context)
    const replay = await beginReplay(context, selector, pause)
    const { world, seed } = replay.execution
    const count = replay.transactions.length
    if (txIndex >= Math.max(1, count)) {
      throw serverError(`transaction index ${txIndex} out of range for block ${bytesToHex(replay.hash)}`)
    }
    if (count > 0) await replayUpTo(replay, txIndex, pause)
    const stored = rangeAt(context, seed.number - 1)
    const change = world.changes().accounts.find((changed) => equalBytes(changed.address, address))
    const storage: Record<string, unknown> = {}
    const left = Math.min(maxResult, MAX_SLOTS)
    let found = 0
    let passed = 0
    for await (const [slot, value] of slotsWith(stored, address, padRight(keyStart, 32), change)) {
      if (passed === MAX_PASSED) return { storage, nextKey: bytesToHex(slot) }
      if (++passed % KEYS_PER_PAUSE === 0) await pause()
      if (value.length === 0) continue
      if (found++ === left) return { storage, nextKey: bytesToHex(slot) }
      storage[bytesToHex(keccak256(slot))] = { key: bytesToHex(slot), value: bytesToHex(padLeft(value, 32)) }
    }
    return { storage, nextKey: null }
  },
})

/**
 * Accounts after a block from `start` on, at most 256, in the form of geth's state.Dump. They are
 * in the order of addresses, where geth's are in that of the addresses' hashes: `start` and `next`
 * are addresses here.
 */
export const accountRange = defineMethod({
  name: 'debug_accountRange',
  runs: 'heavy',
  params: [readBlockNumberOrHash, readData, readCount, readBool, readBool, readBool],
  required: 3,
  run: async (context, selector, start, maxResults, noCode = false, noStorage = false) => {
    const pause = pauseOf(context)
    if (findHeader(context.view.chain, selector) === undefined) throw blockNotFound(context, selector)
    const height = stateHeight(context.view, selector)
    const state = readingState(() => context.view.stateAt(height))
    const range = rangeAt(context, height)
    const most = maxResults === 0 ? MAX_ACCOUNTS : Math.min(maxResults, MAX_ACCOUNTS)
    const accounts: Record<string, unknown> = {}
    const root = bytesToHex(context.view.chain.header(height)!.stateRoot).slice(2)
    let found = 0
    let slotsLeft = MAX_SLOTS
    let passed = 0
    const pass = async (): Promise<void> => {
      if (++passed % KEYS_PER_PAUSE === 0) await pause()
    }
    for await (const [address, account] of range.accounts(padRight(start, 20))) {
      if (passed >= MAX_PASSED) return { root, accounts, next: bytesToHex(address) }
      await pass()
      if (account === undefined) continue
      if (found++ === most) return { root, accounts, next: bytesToHex(address) }
      const { balance, nonce, codeHash } = account
      const storage: Record<string, string> = {}
      if (!noStorage) {
        for await (const [slot, value] of range.slots(address, new Uint8Array(32))) {
          await pass()
          if (value.length === 0 && passed < MAX_PASSED) continue
          if (passed >= MAX_PASSED || slotsLeft-- === 0) {
            throw new RpcError(
              RPC_CODES.limitExceeded,
              `the accounts have more than ${MAX_SLOTS} slots: ask for fewer accounts, or without storage and debug_storageRangeAt`,
            )
          }
          storage[bytesToHex(slot)] = bytesToHex(value).slice(2)
        }
      }
      const hasCode = !noCode && !equalBytes(codeHash, EMPTY_CODE_HASH)
      accounts[toChecksumAddress(address)] = {
        balance: balance.toString(),
        nonce: Number(nonce),
        root: bytesToHex(await range.storageRoot(address)),
        codeHash: bytesToHex(codeHash),
        ...(hasCode ? { code: bytesToHex(state.getCode(codeHash)) } : {}),
        ...(Object.keys(storage).length === 0 ? {} : { storage }),
        address: bytesToHex(address),
        key: bytesToHex(keccak256(address)),
      }
    }
    return { root, accounts }
  },
})

const readModifiedNumber: ParamReader<BlockSelector> = (json) =>
  byNumber(typeof json === 'number' ? readCount(json) : readBlockNumberOrTag(json))
const readModifiedHash: ParamReader<BlockSelector> = (json) => {
  if (typeof json !== 'string') throw new TypeMismatch(jsonKind(json), 'common.Hash')
  return byHash(readHash(json))
}

/**
 * Accounts that were changed by the blocks after the first one, up to the second. With one number:
 * by that block itself.
 */
export const getModifiedAccountsByNumber = defineMethod({
  name: 'debug_getModifiedAccountsByNumber',
  runs: 'heavy',
  params: [readModifiedNumber, readModifiedNumber],
  required: 1,
  run: (context, start, end) => modifiedAccounts(context, start, end),
})

export const getModifiedAccountsByHash = defineMethod({
  name: 'debug_getModifiedAccountsByHash',
  runs: 'heavy',
  params: [readModifiedHash, readModifiedHash],
  required: 1,
  run: (context, start, end) => modifiedAccounts(context, start, end),
})

/** The methods of the `debug` namespace that list parts of the state. */
export const stateRangeMethods: readonly RpcMethod[] = [
  accountRange,
  getModifiedAccountsByHash,
  getModifiedAccountsByNumber,
  storageRangeAt,
]

async function modifiedAccounts(context: RpcContext, start: BlockSelector, end?: BlockSelector): Promise<string[]> {
  const pause = pauseOf(context)
  const [from, to] = blockRange(context, start, end)
  const { view } = context
  const before = readingState(() => view.stateAt(from))
  const after = view.stateAt(to)
  const touched: TouchedState = { accounts: new Map(), native: new Set() }
  let keys = 0
  for (let height = from + 1; height <= to; height++) {
    await pause()
    keys += view.addTouched(height, touched)
    if (keys > MAX_TOUCHED)
      throw new RpcError(
        RPC_CODES.limitExceeded,
        `the blocks write more than ${MAX_TOUCHED} entries: request fewer blocks`,
      )
  }
  const changed: Address[] = []
  let done = 0
  for (const [name, slots] of touched.accounts) {
    const address = keyBytes(name)
    done += 1 + slots.size
    if (done >= KEYS_PER_PAUSE) {
      await pause()
      done = 0
    }
    const account = after.getAccount(address)
    if (account === undefined) continue
    if (!equalAccounts(before.getAccount(address), account) || hasOtherSlots(before, after, address, slots)) {
      changed.push(address)
    }
  }
  if (!touched.accounts.has(bytesKey(NATIVE_ACCOUNT)) && hasOtherEntries(before, after, touched.native)) {
    changed.push(NATIVE_ACCOUNT)
  }
  return changed.sort(compareBytes).map(bytesToHex)
}

/** @throws RpcError with geth's text */
function blockRange({ view }: RpcContext, start: BlockSelector, end: BlockSelector | undefined): [number, number] {
  const heightOf = (selector: BlockSelector, which: string): number => {
    const found = findHeader(view.chain, selector)
    if (found !== undefined) return found.height
    const name = selector.kind === 'hash' ? bytesToHex(selector.hash).slice(2) : String(selector.number)
    throw serverError(`${which} block ${name} not found`)
  }
  const first = heightOf(start, 'start')
  if (end === undefined) {
    if (first === 0) throw serverError('block 0 has no parent')
    return [first - 1, first]
  }
  const last = heightOf(end, 'end')
  if (first < last) return [first, last]
  throw serverError(`start block height (${first}) must be less than end block height (${last})`)
}

function hasOtherSlots(before: StateReader, after: StateReader, address: Address, slots: ReadonlySet<string>): boolean {
  for (const name of slots) {
    const slot = keyBytes(name)
    if (!equalBytes(before.getStorage(address, slot), after.getStorage(address, slot))) return true
  }
  return false
}

function hasOtherEntries(before: StateReader, after: StateReader, keys: ReadonlySet<string>): boolean {
  for (const name of keys) {
    const key = keyBytes(name)
    if (!equalBytes(before.getNative(key) ?? EMPTY_BYTES, after.getNative(key) ?? EMPTY_BYTES)) return true
  }
  return false
}

/** Opens the state after a block. @throws RpcError when it is not retained */
function rangeAt({ view }: RpcContext, height: number): StateRange {
  return readingState(() => view.rangeAt(height))
}

/**
 * Yields stored slots with the changes that a block has made so far. A slot without bytes is not
 * set.
 */
async function* slotsWith(
  stored: StateRange,
  address: Address,
  start: Uint8Array,
  change: AccountChange | undefined,
): AsyncGenerator<readonly [Uint8Array, Uint8Array], void, void> {
  const changed = (change?.slots ?? []).filter(({ slot }) => compareBytes(slot, start) >= 0)
  const names = new Set(changed.map(({ slot }) => bytesKey(slot)))
  let at = 0
  // A wiped account has only the listed slots.
  if (change?.wiped !== true) {
    for await (const entry of stored.slots(address, start)) {
      for (; at < changed.length && compareBytes(changed[at]!.slot, entry[0]) < 0; at++) {
        if (changed[at]!.current.length > 0) yield [changed[at]!.slot, changed[at]!.current]
      }
      if (!names.has(bytesKey(entry[0]))) yield entry
    }
  }
  for (; at < changed.length; at++) if (changed[at]!.current.length > 0) yield [changed[at]!.slot, changed[at]!.current]
}

function pauseOf(context: RpcContext): () => Promise<void> {
  return executionOf(context).yieldUntil(context.monotonicMs() + context.limits.callTimeoutMs)
}

/** Pads a prefix to the first key that has it. */
function padRight(bytes: Uint8Array, length: number): Uint8Array {
  const out = new Uint8Array(length)
  out.set(bytes.subarray(0, length))
  return out
}
