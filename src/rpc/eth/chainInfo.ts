import { crc32 } from 'node:zlib'
import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import { type Hardfork, includesFork } from '../../chain/genesis/hardfork.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import { standardPrecompiles } from '../../evm/precompileAddresses.ts'
import { BEACON_ROOTS, HISTORY_STORAGE } from '../../evm/systemCalls.ts'
import { bigIntToBytes, bytesToHex, toQuantity } from '../../primitives/bytes.ts'
import type { JsonObject } from '../format/json.ts'
import { serverError } from '../jsonrpc/errors.ts'
import { defineMethod } from '../jsonrpc/method.ts'
import { prunedHistory } from './blockLookup.ts'

export const chainId = defineMethod({
  name: 'eth_chainId',
  runs: 'socket',
  run: ({ chain }) => toQuantity(chain.evmChainId),
})

export const blockNumber = defineMethod({
  name: 'eth_blockNumber',
  runs: 'socket',
  run: ({ view }) => toQuantity(view.chain.headHeight),
})

export const syncing = defineMethod({
  name: 'eth_syncing',
  runs: 'socket',
  run: ({ syncing }) => {
    const status = syncing()
    if (status === undefined) return false
    return {
      startingBlock: toQuantity(status.startingBlock),
      currentBlock: toQuantity(status.currentBlock),
      highestBlock: toQuantity(status.highestBlock),
    }
  },
})

/**
 * The fee recipient of the newest block, which is its proposer's: the node itself may not be a
 * validator.
 */
export const coinbase = defineMethod({
  name: 'eth_coinbase',
  runs: 'socket',
  run: ({ view }) => {
    const header = view.chain.header(view.chain.headHeight)
    if (header === undefined) throw serverError('header not found')
    return bytesToHex(header.miner)
  },
})

/** Always empty: the node has no keys of accounts. */
export const accounts = defineMethod({
  name: 'eth_accounts',
  runs: 'socket',
  run: () => [],
})

/**
 * How far back each kind of data reaches, and how many blocks the node retains it for
 * (`eth_capabilities` of Ethereum's execution-apis, with geth's members).
 */
export const capabilities = defineMethod({
  name: 'eth_capabilities',
  runs: 'socket',
  run: ({ view, retention }) => {
    const { headHeight, oldestBlock } = view.chain
    const hash = view.chain.hash(headHeight)
    if (hash === undefined) throw serverError('header not found')
    const since = (oldest: number, retained: number | undefined) => ({
      disabled: false,
      oldestBlock: toQuantity(oldest),
      ...(retained === undefined ? {} : { deleteStrategy: { type: 'window', retentionBlocks: toQuantity(retained) } }),
    })
    const state = since(view.oldestState, retention.states)
    const bodies = since(oldestBlock, retention.bodies)
    return {
      head: { number: toQuantity(headHeight), hash: bytesToHex(hash) },
      state,
      tx: bodies,
      logs: bodies,
      receipts: bodies,
      blocks: bodies,
      stateproofs: state,
    }
  },
})

/**
 * The rules that hold now and those that are scheduled (EIP-7910). Forks start at heights here, so
 * the activation time of a future fork is an estimate; so is that of a fork whose block this node
 * does not have, because it started from a snapshot. The chain takes no blobs: their schedule is 0.
 */
export const config = defineMethod({
  name: 'eth_config',
  runs: 'heavy',
  run: ({ view, chain }) => {
    const { forks } = chain
    const { headHeight } = view.chain
    const current = forks.findLastIndex(({ height }) => height <= headHeight)
    const describe = (index: number) => describeFork(view.chain, chain, index)
    const isLast = current === forks.length - 1
    return {
      current: describe(current),
      next: isLast ? null : describe(current + 1),
      last: isLast ? null : describe(forks.length - 1),
    }
  },
})

/** EIP-7910's names of the precompiles, from 0x01 on. */
const PRECOMPILE_NAMES = [
  'ECREC',
  'SHA256',
  'RIPEMD160',
  'ID',
  'MODEXP',
  'BN254_ADD',
  'BN254_MUL',
  'BN254_PAIRING',
  'BLAKE2F',
  'KZG_POINT_EVALUATION',
  'BLS12_G1ADD',
  'BLS12_G1MSM',
  'BLS12_G2ADD',
  'BLS12_G2MSM',
  'BLS12_PAIRING_CHECK',
  'BLS12_MAP_FP_TO_G1',
  'BLS12_MAP_FP2_TO_G2',
] as const

type Chain = Pick<ChainConfig, 'forks' | 'evmChainId' | 'blockIntervalMs'>

function describeFork(reader: ChainReader, chain: Chain, index: number): JsonObject {
  const { height, fork, time, blobs, systemContracts } = chain.forks[index]!
  const noBlobs = { target: 0, max: 0, baseFeeUpdateFraction: includesFork(fork, 'prague') ? 5_007_716 : 3_338_477 }
  return {
    activationTime: time ?? activationTime(reader, height, chain.blockIntervalMs),
    blobSchedule: { ...(blobs ?? noBlobs) },
    chainId: toQuantity(chain.evmChainId),
    forkId: forkId(reader, chain, index),
    precompiles: precompilesOf(fork),
    systemContracts: {
      BEACON_ROOTS_ADDRESS: bytesToHex(BEACON_ROOTS),
      ...(includesFork(fork, 'prague') ? { HISTORY_STORAGE_ADDRESS: bytesToHex(HISTORY_STORAGE) } : {}),
      ...systemContracts,
    },
  }
}

/**
 * Returns a block's time in seconds since the epoch. It is estimated for a future block, and for
 * one that the node does not have.
 */
function activationTime(reader: ChainReader, height: number, blockIntervalMs: number): number {
  const known = reader.header(Math.min(height, reader.headHeight))
  if (known === undefined) return timeBelowBase(reader, height)
  const blocksToCome = Math.max(0, height - reader.headHeight)
  return known.timestamp + Math.ceil((blocksToCome * blockIntervalMs) / 1000)
}

/**
 * Estimates the time of a block between block 0 and the oldest stored one, as if blocks had come at
 * a steady rate.
 */
function timeBelowBase(reader: ChainReader, height: number): number {
  const [genesis, oldest] = [reader.header(0), reader.header(reader.base)]
  if (genesis === undefined || oldest === undefined) throw prunedHistory(reader)
  return genesis.timestamp + Math.floor(((oldest.timestamp - genesis.timestamp) * height) / reader.base)
}

/**
 * Returns EIP-2124's fork ID: CRC-32 of the genesis hash and the heights (or times) of the forks
 * since, up to this one.
 */
function forkId(reader: ChainReader, { forks }: Chain, index: number): string {
  const genesis = reader.hash(0)
  if (genesis === undefined) throw prunedHistory(reader)
  let checksum = crc32(genesis)
  const begins = forks.slice(0, index + 1).map(({ height, time }) => time ?? height)
  for (const begin of new Set(begins)) {
    if (begin > 0) checksum = crc32(bigIntToBytes(BigInt(begin), 8), checksum)
  }
  return `0x${checksum.toString(16).padStart(8, '0')}`
}

function precompilesOf(fork: Hardfork): JsonObject {
  const named = standardPrecompiles(fork).map((address, index) => {
    const name = address[18] === 1 ? 'P256VERIFY' : PRECOMPILE_NAMES[index]!
    return [name, bytesToHex(address)] as const
  })
  return Object.fromEntries(named.sort(([a], [b]) => (a < b ? -1 : 1)))
}
