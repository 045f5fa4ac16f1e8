import type { ConsensusBlock } from '../chain/comet/block.ts'
import type { BlockId, Commit, Evidence, RankedValidatorSet, ValidatorSet } from '../chain/comet/types.ts'

/**
 * The application's last block and facts that follow from it; consensus replays decided blocks from
 * `height` + 1.
 */
export interface ApplicationInfo {
  /** of the last block that is in the database; 0 after genesis */
  readonly height: number
  /** header.app_hash of block `height` + 1: the Ethereum hash of block `height` */
  readonly appHash: Uint8Array
  /** header.last_results_hash of block `height` + 1 */
  readonly lastResultsHash: Uint8Array
  /** consensus hash and block ID of block `height`; undefined at genesis */
  readonly lastBlockId: BlockId | undefined
  /** the commit for block `height` that this node saw; undefined at genesis */
  readonly lastSeenCommit: Commit | undefined
  /** milliseconds since the epoch of block `height`, or of the genesis */
  readonly lastBlockTimeMs: number
  /** that signed block `height`; those of the first block at genesis */
  readonly lastValidators: ValidatorSet
  /** of block `height` + 1 */
  readonly validators: RankedValidatorSet
  /** of block `height` + 2 */
  readonly nextValidators: RankedValidatorSet
  /** block.max_gas of block `height` + 1; by default the genesis' */
  readonly maxGas?: number
  /**
   * whether block `height` came with a snapshot: then it was not executed here, and no log has it;
   * false by default
   */
  readonly isFromSnapshot?: boolean
}

export interface ProposalRequest {
  readonly height: number
  /** PBTS: the proposer's clock, milliseconds since the epoch */
  readonly timeMs: number
  readonly proposerAddress: Uint8Array
  /** header.hash of the previous block; the genesis hash at the first height */
  readonly parentConsensusHash: Uint8Array
  /** of an encoded block, transactions and evidence included */
  readonly maxBytes: number
  /** for the previous height: who signed it; empty at the first height */
  readonly lastCommit: Commit
  /** pending evidence, oldest first; the application leaves out pieces that are expired, committed, or do not fit */
  readonly evidence: readonly Evidence[]
  /**
   * How many blocks of this node in a row more than a third of the power did not accept, probably because they took too long. The
   * budget is halved for each; the application may leave out more. By default 0.
   */
  readonly refusals?: number
}

/** The content of a proposed block. */
export interface ProposedData {
  readonly txs: readonly Uint8Array[]
  /** the pieces of the requested evidence that the block reports */
  readonly evidence: readonly Evidence[]
  /** header.data_hash of the transactions; computing it takes longer than all other hashes of a proposer */
  readonly dataHash: Uint8Array
}

export interface ValidatorUpdate {
  /** ed25519, 32 bytes */
  readonly publicKey: Uint8Array
  /** 0 removes the validator */
  readonly power: bigint
}

/** A block with the commit that decided it. */
export interface DecidedBlock {
  readonly block: ConsensusBlock
  readonly blockId: BlockId
  /** +2/3 precommits for the block, as seen by this node */
  readonly seenCommit: Commit
  /**
   * Further decided blocks follow at once (block sync): the application may write several of them together, a little later. By default
   * at most one block is still being written, and not yet visible to other threads, when `finalizeBlock` resolves.
   */
  readonly catchingUp?: boolean
  /** by position in data.txs: 20 bytes that this process recovered from the signature; undefined: not yet recovered */
  readonly senders?: readonly (Uint8Array | undefined)[]
  /** the bytes of block and commit (`encodeBlock`, `encodeCommit`), where they came from a peer and have been decoded */
  readonly encoded?: { readonly block: Uint8Array; readonly commit: Uint8Array }
}

/** Consecutive decided blocks to be executed in order (block sync). */
export interface DecidedRun {
  /** At least one. The header of each is checked, under the assumption that the one before has the results that this header names. */
  readonly blocks: readonly DecidedBlock[]
  /** block.max_gas of all of them */
  readonly maxGas: number
}

export interface RunResult {
  /** how many blocks, at least one, were executed and stored */
  readonly executed: number
  /** of the last executed block; each earlier one has the hashes that the next header names, and changed no validators or parameters */
  readonly last: FinalizeResult
}

export interface FinalizeResult {
  readonly appHash: Uint8Array
  readonly lastResultsHash: Uint8Array
  readonly validatorUpdates: readonly ValidatorUpdate[]
  /** block.max_gas of the next block; by default it stays */
  readonly maxGas?: number
  /** blocks up to this height are on stable storage, so the write-ahead log may drop them */
  readonly durableHeight: number
}

/**
 * - `valid`: may be put into a block
 * - `committed`, `expired`: may no longer be put into a block; the sender is not to blame
 * - `unpunishable`: no stake is left to punish: the validator is tombstoned, unbonded or removed
 * - `early`: its height is not decided on this node yet, or the block or its validators are not stored here
 * - `invalid`: no honest node sends it
 */
export type EvidenceVerdict =
  | { readonly verdict: 'valid' | 'committed' | 'expired' | 'unpunishable' | 'early' }
  | { readonly verdict: 'invalid'; readonly reason: string }

/** The application's answer about a proposed block. */
export type ProposalVerdict = { readonly accepted: true } | { readonly accepted: false; readonly reason: string }

/**
 * The state machine as consensus needs it, similar to ABCI 2.0. Consensus declares it, `app/` implements it, possibly in another
 * thread.
 */
export interface Application {
  info(): Promise<ApplicationInfo>
  /**
   * Chooses transactions for a block; executes them at once and retains the result for
   * `finalizeBlock`. Undefined: it hit an unforeseen error, which it has reported; this node
   * proposes nothing in this round.
   * @param budgetMs milliseconds after which it should be ready; affects only how many transactions
   * the block has
   */
  prepareProposal(request: ProposalRequest, budgetMs: number): Promise<ProposedData | undefined>
  /** The verdict on evidence that a peer sent or this node found. */
  checkEvidence(evidence: Evidence): Promise<EvidenceVerdict>
  /**
   * Checks everything that needs no execution, evidence included, and executes the block. Undefined: there is no verdict, because the
   * budget was used up, or because of an unforeseen error, which the application has reported. The node does not vote for such a block,
   * but the block may be valid: it is checked again when a later round proposes it, and `finalizeBlock` executes it if it is decided.
   * @param budgetMs milliseconds from the call after which the check is stopped; by default there is no limit. A verdict does not depend
   * on it.
   */
  processProposal(block: ConsensusBlock, budgetMs?: number): Promise<ProposalVerdict | undefined>
  /**
   * Executes a decided block (or uses the retained result), writes and publishes it. Heights come
   * in order. When it resolves, the next height can begin; `durableHeight` says which blocks are on
   * stable storage. If the write fails later, a later call throws.
   */
  finalizeBlock(decided: DecidedBlock): Promise<FinalizeResult>
  /** Finalizes the blocks of a run, or its first ones (see `runsOf`); by default `finalizeBlock` is called for each. */
  finalizeRun?(run: DecidedRun): Promise<RunResult>
}
