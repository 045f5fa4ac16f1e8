import { nextBaseFee } from '../chain/baseFee.ts'
import type { ChainConfig } from '../chain/chainConfig.ts'
import { encodeBlock } from '../chain/consensus/blockCodec.ts'
import { writeHead } from '../chain/headRecord.ts'
import { writeBlock } from '../chain/writeBlock.ts'
import type { DecidedBlock } from '../consensus/application.ts'
import { delegationTarget } from '../evm/delegation.ts'
import type { AccountState, PoolHeadUpdate } from '../mempool/types.ts'
import type { Address } from '../primitives/address.ts'
import { equalBytes } from '../primitives/bytes.ts'
import { EMPTY_CODE_HASH, type Hash } from '../primitives/hash.ts'
import type { Account, StateReader } from '../state/reader.ts'
import { WriteBatch } from '../storage/batch.ts'
import type { Database } from '../storage/database.ts'
import type { ChainHead } from './chainHead.ts'
import type { ExecutedBlock } from './executedBlock.ts'
import type { EntryResult } from './executionResults.ts'

export interface PublisherOptions {
  readonly database: Pick<Database, 'write'>
  readonly reader: Pick<StateReader, 'getCode'>
  readonly chain: Pick<ChainConfig, 'feeMarket'>
  /** the chain's present head; `head` of the returned object follows it */
  readonly head: ChainHead
  /** Called when a block is in the database: tells the other threads. */
  readonly onPublished: (head: ChainHead, update: PoolHeadUpdate, executed: ExecutedBlock) => void
  /** A block's batch was written: how long it took and its size. */
  readonly onWritten: (milliseconds: number, bytes: number) => void
  /** milliseconds, monotonic */
  readonly now: () => number
}

export interface Publisher {
  readonly head: () => ChainHead
  /** Stores and publishes a block, which is on stable storage then. */
  readonly publish: (decided: DecidedBlock, executed: ExecutedBlock) => Promise<void>
}

/**
 * Puts decided blocks into the database: state, block, receipts, indexes and head in one synced batch, and only then does
 * anybody see the block. Every batch is synced, because LevelDB gives up a full log file without syncing it: a sync of a
 * later batch would not reach the ones before, and power loss could take blocks from the middle.
 */
export function createPublisher(options: PublisherOptions): Publisher {
  let { head } = options

  return {
    head: () => head,
    publish: async (decided, executed) => {
      const batch = new WriteBatch()
      executed.state.write(batch)
      writeBlock(batch, {
        header: executed.header,
        hash: executed.hash,
        consensusBlock: encodeBlock(decided.block),
        results: storedResults(executed.results),
        transactionHashes: transactionHashes(executed.results),
      })
      const record = { height: executed.header.number, decided, resultsHash: executed.resultsHash }
      writeHead(batch, record)

      const beginMs = options.now()
      await options.database.write(batch, { sync: true })
      options.onWritten(options.now() - beginMs, batch.bytes)
      executed.state.publish()
      head = {
        header: executed.header,
        hash: executed.hash,
        consensusHash: decided.blockId.hash,
        timeMs: decided.block.header.timeMs,
        record,
      }
      options.onPublished(head, poolUpdate(executed, options), executed)
    },
  }
}

function storedResults(results: readonly EntryResult[]): Parameters<typeof writeBlock>[1]['results'] {
  const executed = []
  const skipped = []
  for (const [position, result] of results.entries()) {
    if (result.kind === 'evm') {
      executed.push({ position, sender: result.transaction.sender, receipt: result.receipt })
    } else {
      skipped.push({ position, reason: result.reason, gasWanted: result.gasWanted })
    }
  }
  return { executed, skipped }
}

function transactionHashes(results: readonly EntryResult[]): Hash[] {
  return results.flatMap((result) => (result.kind === 'evm' ? [result.transaction.transaction.hash] : []))
}

function poolUpdate(
  { header, results, changes }: ExecutedBlock,
  { chain, reader }: Pick<PublisherOptions, 'chain' | 'reader'>,
): PoolHeadUpdate {
  return {
    height: header.number,
    baseFeePerGas: nextBaseFee(header, chain.feeMarket),
    gasLimit: header.gasLimit,
    accounts: changes.accounts.map(({ address, current }): readonly [Address, AccountState] => [
      address,
      accountState(current, reader),
    ]),
    included: transactionHashes(results),
  }
}

/** What the mempool checks of an account. */
export function accountState(account: Account | undefined, reader: Pick<StateReader, 'getCode'>): AccountState {
  if (account === undefined) return { nonce: 0n, balance: 0n, code: 'none' }
  const { nonce, balance, codeHash } = account
  if (equalBytes(codeHash, EMPTY_CODE_HASH)) return { nonce, balance, code: 'none' }
  return { nonce, balance, code: delegationTarget(reader.getCode(codeHash)) === undefined ? 'contract' : 'delegation' }
}
