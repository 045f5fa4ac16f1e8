import type { ValidatorSet } from '../../chain/comet/types.ts'
import { validatorSetHash } from '../../chain/comet/validatorSet.ts'
import type { DecidedBlock } from '../../consensus/application.ts'
import type { ConsensusState } from '../../consensus/consensusState.ts'
import type { Misbehaviour, PeerId } from '../../consensus/transport.ts'
import { bytesKey } from '../../primitives/bytes.ts'
import { type CommitCheck, isCovered } from './commitChecks.ts'
import type { ReadBlock } from './readFetchedBlock.ts'

/** A block that waits for its turn. */
interface Slot {
  readonly peer: PeerId
  readonly read: ReadBlock
  commit: 'unchecked' | 'checking' | 'valid'
  lastCommit: 'unchecked' | 'checking' | 'valid' | 'invalid'
  /** hash of the validators that the last commit was checked with */
  lastSet: string
  /** why the last commit is invalid */
  reason: string
}

interface PendingCheck {
  readonly slot: Slot
  readonly what: 'commit' | 'lastCommit'
}

/** The buffer's reports to block sync. */
interface BlockBufferEvents {
  /** These commits have to be checked; answered by `verified` with this number. */
  readonly verify: (id: number, checks: readonly CommitCheck[]) => void
  /** The block's commit is valid: it was decided, and will be applied when its turn comes. */
  readonly decided: (peer: PeerId, block: DecidedBlock) => void
  /** The peer sent a block that no honest peer sends and has to be banned. */
  readonly ban: (peer: PeerId, what: Misbehaviour, reason: string) => void
  readonly nextId: () => number
}

const FIRST_BLOCK_BYTES = 1024
const LEAST_BLOCK_BYTES = 256

/**
 * Fetched blocks that wait for their turn, and the checks of their commits. A commit is checked as soon as the validators that its
 * block's header names are known. The last commit in a block is checked when the previous block is known to be decided; signatures
 * that are also in that block's commit are not verified again.
 */
export class BlockBuffer {
  readonly #events: BlockBufferEvents
  readonly #slots = new Map<number, Slot>()
  readonly #checks = new Map<number, readonly PendingCheck[]>()
  /** heights of slots whose commit or last commit is not checked yet */
  readonly #unchecked = new Set<number>()
  /** validator sets that the node knows from its own state, by hash */
  readonly #sets = new Map<string, ValidatorSet>()
  #state: ConsensusState
  #bytes = 0
  #blockBytes = FIRST_BLOCK_BYTES

  constructor(state: ConsensusState, events: BlockBufferEvents) {
    this.#state = state
    this.#events = events
    this.#updateSets()
  }

  /** size of all blocks in the buffer */
  get bytes(): number {
    return this.#bytes
  }

  /** average size of recent blocks */
  get blockBytes(): number {
    return this.#blockBytes
  }

  has(height: number): boolean {
    return this.#slots.has(height)
  }

  get(height: number): Slot | undefined {
    return this.#slots.get(height)
  }

  add(peer: PeerId, height: number, read: ReadBlock): void {
    this.#bytes += read.size
    this.#blockBytes = Math.max(LEAST_BLOCK_BYTES, (this.#blockBytes * 7 + read.size) >> 3)
    this.#slots.set(height, {
      peer,
      read,
      commit: 'unchecked',
      lastCommit: 'unchecked',
      lastSet: '',
      reason: '',
    })
    this.#unchecked.add(height)
  }

  /** Drops the peer's blocks that are not known to be decided. */
  dropUndecided(peer: PeerId): void {
    for (const [height, slot] of this.#slots) {
      if (slot.peer === peer && slot.commit !== 'valid') this.#drop(height, slot)
    }
  }

  /** Called when the next blocks were applied, up to `state`. */
  advance(state: ConsensusState): void {
    for (let height = this.#state.lastHeight + 1; height <= state.lastHeight; height++) {
      const slot = this.#slots.get(height)
      if (slot !== undefined) this.#drop(height, slot)
    }
    this.#state = state
    this.#updateSets()
  }

  /** @param reasons for each check of a `verify` effect, why the commit is invalid */
  verified(id: number, reasons: readonly (string | undefined)[]): void {
    const pending = this.#checks.get(id)
    this.#checks.delete(id)
    for (const [index, check] of (pending ?? []).entries()) this.#applyVerdict(check, reasons[index])
  }

  /**
   * Returns the block at `height`, if it is known to be decided and its last commit was checked,
   * valid or not.
   * @param lastValidators of the block before
   */
  ready(height: number, lastValidators: ValidatorSet): Slot | undefined {
    const slot = this.#slots.get(height)
    if (slot === undefined || slot.commit !== 'valid') return undefined
    if (slot.lastCommit !== 'checking' && slot.lastSet !== setKey(lastValidators)) {
      if (height !== this.#state.lastHeight + 1) return undefined
      // It was checked with another previous block.
      slot.lastCommit = 'unchecked'
      this.#unchecked.add(height)
      this.check()
    }
    return slot.lastCommit === 'unchecked' || slot.lastCommit === 'checking' ? undefined : slot
  }

  #updateSets(): void {
    const { lastValidators, validators, nextValidators } = this.#state
    this.#sets.clear()
    for (const set of [lastValidators, validators, nextValidators]) this.#sets.set(setKey(set), set)
  }

  /** Requests the check of all commits whose validators are known. */
  check(): void {
    const pending: PendingCheck[] = []
    const checks: CommitCheck[] = []
    this.#banWrongValidators()
    for (const height of this.#unchecked) {
      const slot = this.#slots.get(height)!
      if (slot.commit === 'unchecked') {
        const check = this.#commitCheck(height, slot)
        if (check !== undefined) {
          slot.commit = 'checking'
          pending.push({ slot, what: 'commit' })
          checks.push(check)
        }
      }
      if (slot.commit === 'valid' && slot.lastCommit === 'unchecked') this.#checkLast(height, slot, pending, checks)
      if (slot.commit !== 'unchecked' && slot.lastCommit !== 'unchecked') this.#unchecked.delete(height)
    }
    if (checks.length === 0) return
    const id = this.#events.nextId()
    this.#checks.set(id, pending)
    this.#events.verify(id, checks)
  }

  /**
   * Bans peers that sent wrong validators: those of the next two blocks are known for certain, so
   * such a peer has invented the block.
   */
  #banWrongValidators(): void {
    const { validators, nextValidators } = this.#state
    for (const [ahead, set] of [validators, nextValidators].entries()) {
      const height = this.#state.lastHeight + 1 + ahead
      const slot = this.#slots.get(height)
      if (slot === undefined || bytesKey(slot.read.block.header.validatorsHash) === setKey(set)) continue
      this.#drop(height, slot)
      this.#events.ban(slot.peer, 'invalid block', `block ${height} is signed by validators of another height`)
    }
  }

  #commitCheck(height: number, { read }: Slot): CommitCheck | undefined {
    const validators = this.#sets.get(bytesKey(read.block.header.validatorsHash))
    if (validators === undefined) return undefined
    const { chainId } = this.#state
    const { blockId, commit, encoded } = read
    return { chainId, height, blockId, validators, commit, encoded: encoded.commit, known: undefined }
  }

  /** Checks a block's last commit if the previous block is known to be decided. Most of its signatures are in that block's commit. */
  #checkLast(height: number, slot: Slot, pending: PendingCheck[], checks: CommitCheck[]): void {
    const { header, lastCommit } = slot.read.block
    const before = this.#slots.get(height - 1)
    let validators: ValidatorSet | undefined
    let known = this.#state.lastSeenCommit
    if (height - 1 === this.#state.lastHeight) {
      validators = this.#state.lastValidators
    } else if (before?.commit === 'valid') {
      validators = this.#sets.get(bytesKey(before.read.block.header.validatorsHash))
      known = before.read.commit
    }
    if (validators === undefined) return
    slot.lastSet = setKey(validators)
    const { chainId } = this.#state
    const check: CommitCheck = {
      chainId,
      height: height - 1,
      blockId: header.lastBlockId,
      validators,
      commit: lastCommit,
      known,
    }
    if (isCovered(check)) {
      slot.lastCommit = 'valid'
      return
    }
    slot.lastCommit = 'checking'
    pending.push({ slot, what: 'lastCommit' })
    checks.push(check)
  }

  #applyVerdict({ slot, what }: PendingCheck, reason: string | undefined): void {
    const { block, blockId, commit } = slot.read
    const { height } = block.header
    if (this.#slots.get(height) !== slot) return
    if (what === 'lastCommit') {
      slot.lastCommit = reason === undefined ? 'valid' : 'invalid'
      slot.reason = reason ?? ''
      return
    }
    if (reason !== undefined) {
      this.#drop(height, slot)
      this.#events.ban(slot.peer, 'bad signature', `commit of block ${height}: ${reason}`)
      return
    }
    slot.commit = 'valid'
    this.#unchecked.add(height)
    if (this.#slots.has(height + 1)) this.#unchecked.add(height + 1)
    this.#events.decided(slot.peer, { block, blockId, seenCommit: commit })
  }

  #drop(height: number, slot: Slot): void {
    this.#slots.delete(height)
    this.#unchecked.delete(height)
    this.#bytes -= slot.read.size
  }
}

/** Cached hashes of validator sets. There are few sets and each is used for many blocks. */
const setKeys = new WeakMap<ValidatorSet['validators'], string>()

function setKey(set: ValidatorSet): string {
  const known = setKeys.get(set.validators)
  if (known !== undefined) return known
  const key = bytesKey(validatorSetHash(set))
  setKeys.set(set.validators, key)
  return key
}
