import { blobBaseFee } from '../../src/chain/block/baseFee.ts'
import {
  buildTransaction,
  decodeTransaction,
  type SignedTransaction,
  type UnsignedTransaction,
} from '../../src/chain/block/transaction.ts'
import { recoverSender } from '../../src/chain/block/transactionSender.ts'
import type { BlockContext } from '../../src/evm/blockContext.ts'
import type { Engine } from '../../src/evm/engine.ts'
import { applyTransaction } from '../../src/evm/transition.ts'
import { bytesKey, bytesToHex, EMPTY_BYTES, hexToBytes, padLeft, stripZeros } from '../../src/primitives/bytes.ts'
import { type Hash, keccak256 } from '../../src/primitives/hash.ts'
import { DecodingError, encodeRLP } from '../../src/primitives/rlp.ts'
import type { StateChanges } from '../../src/state/changes.ts'
import { Journal } from '../../src/state/journal.ts'
import { StateTrie, type TrieAccountChange } from '../../src/state/trie.ts'
import { signEvmTransaction } from '../signEvmTransaction.ts'
import { MemoryStateReader } from '../support/state/memoryReader.ts'
import type { StateTest, StateTestCase, StateTestPost, StateTestTransaction } from './stateTestCases.ts'

/** Of all state tests. */
export const CHAIN_ID = 1n

/** Runs one expectation with our journal, transition and engine; says what differs, or undefined. */
export async function runStateTest({ test, post, fork }: StateTestCase, engine: Engine): Promise<string | undefined> {
  const state = readPreState(test)
  const world = new Journal(state)
  const block = readBlock(test, fork)
  let logs: Hash = keccak256(encodeRLP([]))
  let skipped: string | undefined
  const signed = readTransaction(test.transaction, post)
  if ('reason' in signed) {
    skipped = signed.reason
  } else {
    const outcome = await applyTransaction({
      world,
      block,
      engine,
      ...signed,
      rules: { fork, chainId: CHAIN_ID },
      precompiles: new Map(),
      gasAvailable: block.gasLimit,
      acceptsBlobs: true,
      // Ethereum: the tip is the coinbase's, all other fees are burnt
      routeFees: ({ tipAcoin }) => world.addBalance(block.coinbase, tipAcoin),
    })
    if (outcome.kind === 'skipped') skipped = outcome.reason
    else logs = keccak256(encodeRLP(outcome.logs.map((log) => [log.address, log.topics, log.data])))
  }
  if (post.expectException === undefined && skipped !== undefined) return `not applied: ${skipped}`
  if (post.expectException !== undefined && skipped === undefined) return `applied, but expects ${post.expectException}`
  const root = bytesToHex(stateRoot(state, world.changes()))
  if (root !== post.hash) return `state root ${root}, expected ${post.hash}`
  if (bytesToHex(logs) !== post.logs) return `logs hash ${bytesToHex(logs)}, expected ${post.logs}`
  return undefined
}

export function readPreState(test: Pick<StateTest, 'pre'>): MemoryStateReader {
  const state = new MemoryStateReader()
  for (const [hex, account] of Object.entries(test.pre)) {
    const address = hexToBytes(hex)
    state.setAccount(address, {
      nonce: BigInt(account.nonce),
      balance: BigInt(account.balance),
      code: hexToBytes(account.code),
    })
    for (const [slot, value] of Object.entries(account.storage)) {
      state.setStorage(address, padLeft(readBytes(slot), 32), stripZeros(readBytes(value)))
    }
  }
  return state
}

/** Bytes of a quantity, which may have an odd number of digits. */
function readBytes(hex: string): Uint8Array {
  return hexToBytes(hex.length % 2 === 0 ? hex : `0x0${hex.slice(2)}`)
}

export function readBlock({ env }: StateTest, fork: StateTestCase['fork']): BlockContext {
  const field = (name: string) => BigInt(env[name] ?? '0x0')
  return {
    number: Number(field('currentNumber')),
    timestamp: Number(field('currentTimestamp')),
    timeMs: Number(field('currentTimestamp')) * 1000,
    gasLimit: field('currentGasLimit'),
    coinbase: hexToBytes(env.currentCoinbase!),
    baseFeePerGas: env.currentBaseFee === undefined ? undefined : BigInt(env.currentBaseFee),
    prevRandao: padLeft(readBytes(env.currentRandom ?? '0x00'), 32),
    difficulty: field('currentDifficulty'),
    blobBaseFee: blobBaseFee(field('currentExcessBlobGas'), fork),
    blockHash: (number) => keccak256(new TextEncoder().encode(String(number))),
  }
}

function readTransaction(
  fields: StateTestTransaction,
  post: StateTestPost,
): SignedTransaction | { readonly reason: string } {
  try {
    const transaction =
      post.txbytes === undefined
        ? signEvmTransaction(unsignedTransaction(fields, post), hexToBytes(fields.secretKey))
        : decodeTransaction(hexToBytes(post.txbytes))
    const recovery = recoverSender(transaction, { chainId: CHAIN_ID, allowUnprotected: true })
    return 'reason' in recovery ? recovery : { transaction, sender: recovery.sender }
  } catch (error) {
    if (error instanceof DecodingError) return { reason: error.message }
    throw error
  }
}

export function unsignedTransaction(fields: StateTestTransaction, { indexes }: StateTestPost): UnsignedTransaction {
  const optional = (hex: string | undefined) => BigInt(hex ?? '0x0')
  const accessList = fields.accessLists?.[indexes.data]
  const type = typeOf(fields, accessList !== undefined && accessList !== null)
  return buildTransaction({
    type,
    chainId: CHAIN_ID,
    nonce: BigInt(fields.nonce),
    gasLimit: BigInt(fields.gasLimit[indexes.gas]!),
    maxFeePerGas: optional(fields.maxFeePerGas ?? fields.gasPrice),
    maxPriorityFeePerGas: optional(fields.maxPriorityFeePerGas ?? fields.gasPrice),
    to: fields.to === '' ? undefined : hexToBytes(fields.to),
    value: BigInt(fields.value[indexes.value]!),
    data: hexToBytes(fields.data[indexes.data]!),
    accessList: (accessList ?? []).map(({ address, storageKeys }) => ({
      address: hexToBytes(address),
      storageKeys: storageKeys.map((key) => padLeft(readBytes(key), 32)),
    })),
    authorizationList: (fields.authorizationList ?? []).map((item) => ({
      chainId: BigInt(item.chainId),
      address: hexToBytes(item.address),
      nonce: BigInt(item.nonce),
      yParity: BigInt(item.v),
      r: BigInt(item.r),
      s: BigInt(item.s),
    })),
    maxFeePerBlobGas: optional(fields.maxFeePerBlobGas),
    blobVersionedHashes: (fields.blobVersionedHashes ?? []).map(hexToBytes),
  })
}

function typeOf(fields: StateTestTransaction, hasAccessList: boolean): UnsignedTransaction['type'] {
  if (fields.authorizationList !== undefined) return 4
  if (fields.maxFeePerBlobGas !== undefined) return 3
  if (fields.maxFeePerGas !== undefined) return 2
  return hasAccessList ? 1 : 0
}

/** No node is stored: all of them stay in memory. */
const NO_NODES = { get: () => undefined }

/** Root after `changes`, as the node computes it: an update of the trie of the state before. */
function stateRoot(before: MemoryStateReader, changes: StateChanges): Hash {
  const trie = new StateTrie(NO_NODES, Number.POSITIVE_INFINITY)
  const slotsBefore = new Map<string, readonly Uint8Array[]>()
  const accounts: TrieAccountChange[] = []
  for (const { address, account, slots } of before.accounts()) {
    slotsBefore.set(
      bytesKey(address),
      slots.map(([slot]) => slot),
    )
    accounts.push({ address, current: account, slots: slots.map(([slot, current]) => ({ slot, current })) })
  }
  trie.adopt(trie.compute(accounts), NO_NODES)
  const updates = changes.accounts.map(({ address, current, wiped, slots }) => {
    const kept = new Set(slots.map(({ slot }) => bytesKey(slot)))
    const unset = wiped ? (slotsBefore.get(bytesKey(address)) ?? []).filter((slot) => !kept.has(bytesKey(slot))) : []
    return { address, current, slots: [...slots, ...unset.map((slot) => ({ slot, current: EMPTY_BYTES }))] }
  })
  return trie.compute(updates).root
}
