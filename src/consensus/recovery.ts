import { decodeBlock, headerHash } from '../chain/comet/block.ts'
import { verifyCommitLight } from '../chain/comet/commit.ts'
import { type Part, PartCollector } from '../chain/comet/partSet.ts'
import { type BlockId, type Commit, equalBlockId, type ValidatorSet } from '../chain/comet/types.ts'
import { proposalSignBytes, voteSignBytes } from '../chain/comet/vote.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { VerifySignature } from '../primitives/ed25519.ts'
import type { DecidedBlock, FinalizeResult } from './application.ts'
import type { ConsensusKey } from './consensusKey.ts'
import { advanceState, type ConsensusState, checkBlock } from './consensusState.ts'
import { isQuorum } from './quorum.ts'
import { comparePositions, type LastSigned, lastSignedOf } from './signer.ts'
import type { ValidatorKeys } from './validatorKeys.ts'
import type { WalOptions } from './wal.ts'
import { entryHeight, isSignerEntry, type SignedEntry, type WalEntry } from './walEntry.ts'

/** The write-ahead log and the database do not belong together. The message tells the operator why. */
export class RecoveryError extends Error {
  override readonly name = 'RecoveryError'
}

interface LoggedEntry {
  readonly entry: WalEntry
  /** the highest height whose end mark is before this entry in the log */
  readonly after: number
}

/**
 * The parts of the write-ahead log that a restart needs: the last signature, the decided blocks that the application may lack, and the
 * entries of the open height. It gets every entry in the log's order, at the start and while consensus runs. A restart then calls
 * {@link checkRecovery} and {@link replayDecided}, and then replays the entries of the open height (replay.ts).
 */
export class Recovery {
  readonly #chainId: string
  #appHeight: number
  /** entries of heights above the application's, and late precommits of its last height */
  #entries: LoggedEntry[] = []
  readonly #commits = new Map<number, Commit>()
  #ended = 0
  #lastSigned: LastSigned | undefined
  #highest = 0

  /** @param appHeight of the application's last block: entries of earlier heights are dropped */
  constructor(chainId: string, appHeight: number) {
    this.#chainId = chainId
    this.#appHeight = appHeight
  }

  get lastSigned(): LastSigned | undefined {
    return this.#lastSigned
  }

  /** Whether the log has neither a signature nor an end of a height. */
  get isBlank(): boolean {
    return this.#lastSigned === undefined && this.#ended === 0
  }

  /** Returns the highest height in the log; 0 for an empty log. */
  get highest(): number {
    return this.#highest
  }

  add(entry: WalEntry): void {
    if (entry.kind === 'lastSigned') {
      this.#lastSigned ??= lastSignedOf(this.#chainId, entry.entry)
      return
    }
    const height = entryHeight(entry)
    this.#highest = Math.max(this.#highest, height)
    if (isSignerEntry(entry)) this.#remember(lastSignedOf(this.#chainId, entry))
    else if (entry.kind === 'commit') this.#commits.set(height, entry.commit)
    else if (entry.kind === 'endHeight') this.#ended = Math.max(this.#ended, height)
    if (entry.kind === 'commit' || entry.kind === 'endHeight') return
    if (height >= this.#appHeight) this.#entries.push({ entry, after: this.#ended })
  }

  /** A remote signer's answer may come after a later question. */
  #remember(signed: LastSigned): void {
    if (this.#lastSigned === undefined || comparePositions(signed, this.#lastSigned) >= 0) this.#lastSigned = signed
  }

  /**
   * Called when the application has the block of this height: entries before the height's end are
   * no longer needed.
   */
  finished(height: number): void {
    this.#appHeight = height
    this.#ended = Math.max(this.#ended, height)
    this.#entries = this.#entries.filter(
      ({ entry, after }) => entryHeight(entry) > height || (entryHeight(entry) === height && after >= height),
    )
    for (const decided of this.#commits.keys()) if (decided < height) this.#commits.delete(decided)
  }

  /** Whether the log has everything of this height, up to its end mark. */
  hasEnded(height: number): boolean {
    return height <= this.#ended
  }

  /**
   * Returns the highest height whose commit the log has, from the application's height on; 0: none.
   */
  get highestDecided(): number {
    return Math.max(0, ...this.#commits.keys())
  }

  /** Returns the block ID of the log's commit for this height. */
  decidedBlockId(height: number): BlockId | undefined {
    return this.#commits.get(height)?.blockId
  }

  /**
   * Returns the decided block of a height above the application's; undefined when the log does not
   * have its commit or all of its parts.
   * @throws RecoveryError when the block's hash is not the one that was decided
   */
  decided(height: number, maxBytes: number): DecidedBlock | undefined {
    const seenCommit = this.#commits.get(height)
    if (seenCommit === undefined) return undefined
    const { blockId } = seenCommit
    const collector = new PartCollector(blockId.partSetHeader, maxBytes)
    for (const part of this.#parts(height)) collector.add(part)
    const bytes = collector.bytes()
    if (bytes === undefined) return undefined
    const block = decodeBlock(bytes)
    if (!equalBytes(headerHash(block.header), blockId.hash)) {
      throw new RecoveryError(`the block at height ${height} of the write-ahead log has another hash than was decided`)
    }
    return { block, blockId, seenCommit }
  }

  *#parts(height: number): Iterable<Part> {
    for (const { entry } of this.#entries) if (entry.kind === 'part' && entry.height === height) yield entry.part
  }

  /**
   * Returns the log's entries of a height that is not decided, oldest first: those of the height
   * itself, and precommits of the previous height that came after its end.
   */
  openEntries(height: number): readonly WalEntry[] {
    return this.#entries
      .filter(({ entry, after }) => {
        const own = entryHeight(entry)
        return own === height || (own === height - 1 && after >= own)
      })
      .map(({ entry }) => entry)
  }
}

/** Facts that the checks of the log need. */
interface RecoveryContext {
  readonly recovery: Recovery
  readonly keys: Pick<ValidatorKeys, 'keyIn'>
  readonly verify: VerifySignature
  /** whether the application's last block came with a snapshot: no log has it. By default false. */
  readonly isFromSnapshot?: boolean
  readonly warn: WalOptions['warn']
}

/**
 * Refuses a log that cannot belong to the application's state. A log that ends before the application's last block is allowed: the
 * blocks may have come from block sync, or the log was lost.
 * @throws RecoveryError
 */
export function checkRecovery(
  { recovery, isFromSnapshot = false, warn }: RecoveryContext,
  state: ConsensusState,
): void {
  const { lastHeight, lastBlockId } = state
  const logged = recovery.decidedBlockId(lastHeight)
  if (lastHeight > 0 && logged !== undefined && !equalBlockId(logged, lastBlockId)) {
    throw new RecoveryError(
      `block ${lastHeight} of the database is not the one that the write-ahead log decided: they are from different copies, restore both from one backup`,
    )
  }
  if (lastHeight > 0 && recovery.highest < lastHeight && !isFromSnapshot) {
    warn('write-ahead log ends before the last block', { walHeight: recovery.highest, height: lastHeight })
  }
}

/**
 * Executes the decided blocks that the log has and the application lacks. For each height, in this order:
 * 1. Take the block only if the log has the height's end mark. Without it something may be missing: then consensus decides the height
 *    again, which completes the log.
 * 2. Check block and commit as if a peer had sent them: the disk may have corrupted them, or log and database may be from different
 *    copies.
 * 3. Execute the block. The next one is checked with the state after it.
 * 4. Drop the log's entries of the height. At the end, check that the open height can be continued with the log's entries.
 * @throws RecoveryError
 */
export async function replayDecided(
  context: RecoveryContext,
  start: ConsensusState,
  finalize: (decided: DecidedBlock, state: ConsensusState) => Promise<FinalizeResult>,
): Promise<ConsensusState> {
  const { recovery, verify } = context
  const { chainId, params } = start
  let state = start
  for (;;) {
    const height = state.lastHeight + 1
    // 1.
    const decided = recovery.hasEnded(height) ? recovery.decided(height, params.maxBytes) : undefined
    if (decided === undefined) break
    // 2.
    const { block, blockId, seenCommit } = decided
    const reason = checkBlock(state, block, verify)
    if (reason !== undefined) throw new RecoveryError(`block ${height} of the write-ahead log does not fit: ${reason}`)
    const target = { chainId, height, blockId, validators: state.validators }
    const verdict = verifyCommitLight(target, seenCommit, verify)
    if (!verdict.valid)
      throw new RecoveryError(`commit ${height} of the write-ahead log is not valid: ${verdict.reason}`)
    state = advanceState(state, decided, await finalize(decided, state)) // 3.
    recovery.finished(height) // 4.
  }
  checkOpenHeight(context, state)
  return state
}

/** Whether this validator alone decides the blocks: then no peer can have a block that this node lacks. */
export function decidesAlone(set: ValidatorSet, publicKey: Uint8Array): boolean {
  const own = set.validators.find((validator) => equalBytes(validator.publicKey, publicKey))
  return own !== undefined && isQuorum(own.power, set)
}

/**
 * The log's own entries of the open height must be signed with this node's key. When blocks are missing between database and log, they
 * have to come from peers; if no peer can have them, the node must not start.
 */
function checkOpenHeight(context: RecoveryContext, state: ConsensusState): void {
  const { recovery, keys, warn } = context
  const { lastHeight, validators } = state
  const height = lastHeight + 1
  checkOwnEntries(context, state)
  const signed = recovery.lastSigned?.height ?? 0
  const isLost = signed === height && !hasOwnEntry(recovery, height)
  if (recovery.highest <= height && signed <= height && !isLost) return
  if (!decidesAlone(validators, keys.keyIn(validators).publicKey)) {
    const fields = { height: lastHeight, walHeight: Math.max(recovery.highest, signed) }
    warn('the database is older than the write-ahead log; the blocks between have to come from peers', fields)
    return
  }
  if (recovery.highest > height) {
    throw new RecoveryError(
      `the write-ahead log is at height ${recovery.highest}, but the database ends at ${lastHeight} and block ${height} is in neither: restore both from one backup`,
    )
  }
  throw new RecoveryError(
    `this validator has signed for height ${signed}, but neither database nor write-ahead log holds the block: restore the data directory from a backup`,
  )
}

/** Whether the log has the messages that were signed for this height, and not only the mark `lastSigned`. */
export function hasOwnEntry(recovery: Recovery, height: number): boolean {
  return recovery.openEntries(height).some(isSignerEntry)
}

function checkOwnEntries({ recovery, keys, verify }: RecoveryContext, state: ConsensusState): void {
  const { chainId, lastHeight } = state
  const height = lastHeight + 1
  for (const entry of recovery.openEntries(height)) {
    if (entry.kind !== 'proposal' && entry.kind !== 'vote') continue
    const [bytes, { signature }] =
      entry.kind === 'proposal'
        ? [proposalSignBytes(chainId, entry.proposal), entry.proposal]
        : [voteSignBytes(chainId, entry.vote), entry.vote]
    const { publicKey } =
      entryHeight(entry) === height ? keys.keyIn(state.validators) : formerKey(entry, keys, state.lastValidators)
    if (verify(publicKey, bytes, signature)) continue
    throw new RecoveryError(
      `the ${entry.kind} for height ${height} in the write-ahead log was signed with another key: use that key, or move the wal directory away`,
    )
  }
}

/**
 * Returns the key of a late message of the last height. The node may no longer have it, if its
 * validator has another key since.
 */
function formerKey(
  entry: SignedEntry,
  keys: Pick<ValidatorKeys, 'keyIn'>,
  lastValidators: ValidatorSet,
): Pick<ConsensusKey, 'publicKey'> {
  const named = entry.kind === 'vote' ? lastValidators.validators[entry.vote.validatorIndex] : undefined
  return named ?? keys.keyIn(lastValidators)
}
