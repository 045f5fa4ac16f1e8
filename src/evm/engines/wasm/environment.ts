import {
  ENV_BASE_FEE,
  ENV_BLOB_BASE_FEE,
  ENV_BLOB_HASH_COUNT,
  ENV_BLOB_HASHES,
  ENV_CHAIN_ID,
  ENV_COINBASE,
  ENV_FORK,
  ENV_GAS_LIMIT,
  ENV_GAS_PRICE,
  ENV_HAS_VESTING,
  ENV_NUMBER,
  ENV_ORIGIN,
  ENV_PREV_RANDAO,
  ENV_REFUND_BEFORE,
  ENV_TIMESTAMP,
  ENV_TRACE,
  FORK_CANCUN,
  FORK_OSAKA,
  FORK_PRAGUE,
} from '../../../../assembly/evm/constants.ts'
import { includesFork } from '../../../chain/genesis/hardfork.ts'
import type { BlockContext, Rules } from '../../blockContext.ts'
import type { RunState } from './runState.ts'

const WORD_BYTES = 32

/** Returns whether the engine knows the rules; those before Cancun are the reference engine's. */
export function isKnownFork({ fork }: Pick<Rules, 'fork'>): boolean {
  return includesFork(fork, 'cancun')
}

/** Writes what opcodes can read of the block and the chain to the environment at `base`. */
export function writeBlock(
  { memory }: Pick<RunState, 'memory'>,
  base: number,
  block: BlockContext,
  rules: Rules,
): void {
  memory.writeBytesAsWord(base + ENV_COINBASE, block.coinbase)
  memory.writeWord(base + ENV_TIMESTAMP, BigInt(block.timestamp))
  memory.writeWord(base + ENV_NUMBER, BigInt(block.number))
  memory.writeBytesAsWord(base + ENV_PREV_RANDAO, block.prevRandao)
  memory.writeWord(base + ENV_GAS_LIMIT, block.gasLimit)
  memory.writeWord(base + ENV_CHAIN_ID, rules.chainId)
  memory.writeWord(base + ENV_BASE_FEE, block.baseFeePerGas ?? 0n)
  memory.writeWord(base + ENV_BLOB_BASE_FEE, block.blobBaseFee)
  memory.view.setUint32(base + ENV_FORK, forkNumber(rules), true)
}

/** Writes what belongs to the transaction. The blob hashes live until the engine's next reset. */
export function writeTransaction({ memory, engine, environment, tracing }: RunState, base: number): void {
  const { transaction, refundBefore = 0n, world } = environment
  const { blobHashes } = transaction
  memory.writeBytesAsWord(base + ENV_ORIGIN, transaction.origin)
  memory.writeWord(base + ENV_GAS_PRICE, transaction.gasPrice)
  const at = blobHashes.length === 0 ? 0 : engine.allocate(blobHashes.length * WORD_BYTES)
  for (const [index, hash] of blobHashes.entries()) memory.writeBytesAsWord(at + index * WORD_BYTES, hash)
  const { view } = memory
  view.setUint32(base + ENV_BLOB_HASHES, at, true)
  view.setUint32(base + ENV_BLOB_HASH_COUNT, blobHashes.length, true)
  view.setUint32(base + ENV_TRACE, tracing?.flags ?? 0, true)
  view.setBigInt64(base + ENV_REFUND_BEFORE, refundBefore, true)
  view.setUint32(base + ENV_HAS_VESTING, world.hasVesting() ? 1 : 0, true)
}

function forkNumber({ fork }: Rules): number {
  if (includesFork(fork, 'osaka')) return FORK_OSAKA
  return includesFork(fork, 'prague') ? FORK_PRAGUE : FORK_CANCUN
}
