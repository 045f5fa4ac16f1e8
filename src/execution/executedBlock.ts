import { hash } from 'node:crypto'
import type { BlockEvents, EvmEntry, NativeEntry, SkippedEntry } from '../chain/block/entries.ts'
import type { EthereumHeader } from '../chain/block/ethereumBlock.ts'
import { resultsHash, type TxResult } from '../chain/comet/block.ts'
import { encodeEvidence } from '../chain/comet/evidence.ts'
import type { Commit, Evidence } from '../chain/comet/types.ts'
import type { ValidatorUpdate } from '../consensus/application.ts'
import type { NativeTransaction } from '../modules/tx/nativeTransaction.ts'
import { concatBytes, EMPTY_BYTES } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import type { StateChanges } from '../state/changes.ts'
import type { PendingState } from '../state/stateStore.ts'
import type { RunningParams } from './blockContext.ts'
import type { HeadValidators } from './chainHead.ts'

/** A block that was executed and whose state root is known, but that is not stored yet. */
export interface ExecutedBlock {
  readonly header: EthereumHeader
  /** keccak256(rlp(header)): the next consensus header's app_hash */
  readonly hash: Hash
  /** in order of data.txs */
  readonly results: readonly EntryResult[]
  /** of native modules around the entries */
  readonly events: BlockEvents
  /** see `BlockExecution` */
  readonly calls: ReadonlySet<string>
  /** CometBFT's last_results_hash of the next consensus header */
  readonly resultsHash: Uint8Array
  /** new powers of validators, which take effect two blocks later */
  readonly validatorUpdates: readonly ValidatorUpdate[]
  /** with these updates: of this block and the two after it */
  readonly validators: HeadValidators
  /** of the next block */
  readonly nextParams: RunningParams
  readonly changes: StateChanges
  /** spendable acoin of the changed vesting accounts, by `bytesKey` */
  readonly vesting: ReadonlyMap<string, bigint>
  readonly state: PendingState
}

/** Everything that decides the outcome of executing a block on a given parent. */
export interface ExecutionInput {
  readonly height: number
  readonly timeMs: number
  readonly proposerAddress: Uint8Array
  readonly parentConsensusHash: Uint8Array
  readonly lastCommit: Commit
  readonly evidence: readonly Evidence[]
  readonly txs: readonly Uint8Array[]
}

/**
 * Returns a key that is equal for equal inputs, so that a block that was executed while it was
 * built or proposed is not executed again. It has one hash over all transactions with their lengths
 * before them: a full block is hashed in a millisecond, twice. Of the last commit, execution reads
 * only who signed.
 */
export function executionKey(input: ExecutionInput): string {
  const { height, timeMs, proposerAddress, parentConsensusHash, lastCommit, evidence, txs } = input
  const head = new Uint8Array(20)
  const view = new DataView(head.buffer)
  view.setBigUint64(0, BigInt(height))
  view.setBigUint64(8, BigInt(timeMs))
  view.setUint32(16, lastCommit.round)
  const flags = Uint8Array.from(lastCommit.signatures, ({ flag }) => flag)
  const parts = [proposerAddress, parentConsensusHash, flags, ...evidence.map(encodeEvidence)]
  const lengths = [...parts, ...txs].map(({ length }) => length)
  const sizes = new Uint8Array(Uint32Array.of(parts.length, lengths.length, ...lengths).buffer)
  return hash('sha256', concatBytes(head, sizes, ...parts, ...txs), 'base64')
}

/** The result of one entry of a consensus block's data.txs, as it is stored; a native transaction is decoded. */
export type EntryResult = EvmEntry | ExecutedNative | SkippedEntry

interface ExecutedNative extends NativeEntry {
  readonly transaction: NativeTransaction
}

/** ABCI `code` of an EVM entry in `last_results_hash` and block results. */
const RESULT_CODES = { success: 0, failed: 1, skipped: 2 } as const
/** Codespace of every `code` that is not 0. */
const EVM_CODESPACE = 'evm'

/**
 * Returns the result of an entry that could not start: an EVM transaction, or bytes that are not a
 * transaction.
 */
export function skippedEvm(reason: string, gasWanted: bigint): SkippedEntry {
  return { kind: 'skipped', code: RESULT_CODES.skipped, codespace: EVM_CODESPACE, reason, gasWanted }
}

/** CometBFT's last_results_hash over a block's entries: code, data, gas wanted and gas used of each. */
export function resultsHashOf(results: readonly EntryResult[]): Uint8Array {
  return resultsHash(results.map(transactionResult))
}

function transactionResult(result: EntryResult): TxResult {
  if (result.kind === 'skipped') {
    return { code: result.code, data: EMPTY_BYTES, gasWanted: result.gasWanted, gasUsed: 0n }
  }
  if (result.kind === 'native') return result.result
  const { signed, receipt } = result
  return {
    code: receipt.status === 1 ? RESULT_CODES.success : RESULT_CODES.failed,
    data: EMPTY_BYTES,
    gasWanted: signed.transaction.gasLimit,
    gasUsed: receipt.gasUsed,
  }
}
