import { createDuplicateVoteEvidence, evidenceSize } from '../chain/comet/evidence.ts'
import type { Evidence, ValidatorSet, Vote } from '../chain/comet/types.ts'
import type { EvidenceParams } from '../chain/genesis/chainConfig.ts'
import { isEvidenceExpired } from '../chain/retention/headerRetention.ts'
import { bytesKey, bytesToHex, equalBytes } from '../primitives/bytes.ts'
import { decodeEvidenceRecord, type EvidenceRecord, type EvidenceStore, encodeEvidenceRecord } from './evidenceStore.ts'

export interface EvidencePoolOptions {
  /** evidence of other networks is dropped */
  readonly genesisHash: Uint8Array
  readonly genesisTimeMs: number
  readonly params: Pick<EvidenceParams, 'maxAgeBlocks' | 'maxAgeMs'>
  /** of the keys of this node's validator */
  readonly ownAddresses: readonly Uint8Array[]
  readonly store: EvidenceStore
  /** the newest decided block */
  readonly last: DecidedHeight
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void
}

interface DecidedHeight {
  readonly height: number
  /** of its header, milliseconds since the epoch */
  readonly timeMs: number
}

/**
 * An entry of kind `pair` is two votes of an undecided height. When that height is decided, they become evidence with its block's
 * time, which then waits to be put into a block.
 */
interface Entry extends EvidenceRecord {
  readonly key: string
  isSaved: boolean
  /** how often a block of this node with it was not accepted */
  refusals: number
  /** lowest height at which it may be proposed */
  notBefore: number
}

/** The most pieces for one validator, which is tombstoned for the first one. The second is there in case others cannot check the first. */
const MAX_PER_VALIDATOR = 2
const MAX_TOTAL = 512

/** How many validators that a block has reported are remembered: a piece that was being checked meanwhile must not be added again. */
const MAX_REPORTED = 1024

/** Heights for which a piece is left out after the first block with it that was not accepted, and at most; each time twice as many. */
const FIRST_PAUSE = 8
const LONGEST_PAUSE = 8_192

/** How many decided heights are remembered, because late votes may still come. */
const MAX_HEIGHTS = 4

/**
 * Evidence of conflicting votes, until a block reports it: one piece for each validator and height, and few for each validator. Once a
 * block reports a validator, all of its pieces go: it is punished once. Votes that this node saw are on disk when `addEquivocation`
 * returns, so a crash before the height is decided does not lose them.
 */
export class EvidencePool {
  readonly #options: EvidencePoolOptions
  readonly #entries = new Map<string, Entry>()
  /** addresses of validators that blocks have reported, oldest first */
  readonly #reported = new Set<string>()
  /** oldest first */
  readonly #heights: DecidedHeight[]

  /** Reads the store. Entries that are damaged, expired or of another network are removed. */
  constructor(options: EvidencePoolOptions) {
    this.#options = options
    this.#heights = [options.last]
    for (const { name, text } of options.store.read()) {
      const record = decodeEvidenceRecord(text, options.genesisHash)
      if (record !== undefined && entryKey(record.evidence) === name && this.#hasRoom(record.evidence)) {
        this.#entries.set(name, { ...record, key: name, isSaved: true, refusals: 0, notBefore: 0 })
        continue
      }
      options.warn('evidence on disk is damaged or of another network, and dropped', { file: name, text })
      this.#removeText(name)
    }
    this.#update()
  }

  /** Returns the number of entries, pairs of undecided heights included. */
  get size(): number {
    return this.#entries.size
  }

  /**
   * Adds two different votes of one validator, for the same height, round and type, with valid signatures.
   * @param validators of the votes' height
   * @returns the evidence for the peers, if that height is decided; otherwise `decided` will return it
   */
  addEquivocation(first: Vote, second: Vote, validators: ValidatorSet): Evidence | undefined {
    const { ownAddresses, genesisTimeMs, warn } = this.#options
    const { height, round, type, validatorAddress } = first
    const fields = { validator: bytesToHex(validatorAddress), height, round, type }
    if (ownAddresses.some((own) => equalBytes(own, validatorAddress))) {
      warn('THIS VALIDATOR SIGNED TWO DIFFERENT VOTES: its key is used twice, stop one of the nodes', fields)
    } else {
      warn('a validator signed two different votes', fields)
    }
    if (Math.min(first.timestampMs, second.timestampMs) < genesisTimeMs) {
      warn('votes from before the genesis time are not evidence', fields)
      return undefined
    }
    const timeMs = this.#heights.find((decided) => decided.height === height)?.timeMs
    if (timeMs === undefined && height <= this.#last().height) return undefined
    const isPair = timeMs === undefined
    const evidence = createDuplicateVoteEvidence(first, second, { validators, timeMs: timeMs ?? 0 })
    return this.#add({ kind: isPair ? 'pair' : 'evidence', evidence }) && !isPair ? evidence : undefined
  }

  /** Whether evidence from a peer would be added if it is valid: to be asked before the application, which does the costly checks. */
  wants(evidence: Evidence): boolean {
    return !this.#isExpired(evidence) && !this.#isKnown(evidence) && this.#hasRoom(evidence)
  }

  /** Adds evidence from a peer that the application found valid. @returns whether it is new */
  addFromPeer(evidence: Evidence): boolean {
    return !this.#isExpired(evidence) && this.#add({ kind: 'evidence', evidence })
  }

  /**
   * Takes a decided block. Must be called for each height in order, also for synced and replayed
   * ones; a second call changes nothing.
   * @param evidence that the block reports
   * @returns new evidence of faults at that height, for the peers
   */
  decided(decided: DecidedHeight, evidence: readonly Evidence[]): readonly Evidence[] {
    for (const item of evidence) this.#commit(item)
    if (decided.height > this.#last().height) {
      this.#heights.push(decided)
      if (this.#heights.length > MAX_HEIGHTS) this.#heights.shift()
    }
    return this.#update()
  }

  /**
   * Postpones the pieces of a block of this node that was not accepted: the node does not report
   * them again for a growing number of heights. Others may lack the blocks that they need to judge
   * them (a node that started from a snapshot), or the time.
   */
  postpone(evidence: readonly Evidence[]): void {
    for (const item of evidence) {
      const entry = this.#entries.get(entryKey(item))
      if (entry === undefined) continue
      const pause = Math.min(FIRST_PAUSE * 2 ** entry.refusals, LONGEST_PAUSE)
      entry.refusals++
      entry.notBefore = this.#last().height + 1 + pause
    }
  }

  /** Drops evidence that the application says is committed, expired or invalid. */
  remove(evidence: Evidence): void {
    this.#drop(entryKey(evidence))
  }

  /**
   * Returns the evidence for a proposal of the next height, oldest first; as many pieces as fit
   * `maxBytes`.
   */
  pending(maxBytes: number): readonly Evidence[] {
    const next = this.#last().height + 1
    const ready = [...this.#entries.values()].filter((entry) => entry.kind === 'evidence' && entry.notBefore <= next)
    ready.sort((a, b) => (a.key < b.key ? -1 : 1))
    const fitting: Evidence[] = []
    let bytes = 0
    for (const { evidence } of ready) {
      bytes += evidenceSize([evidence])
      if (bytes > maxBytes) break
      fitting.push(evidence)
    }
    return fitting
  }

  #add(record: EvidenceRecord): boolean {
    const key = entryKey(record.evidence)
    if (this.#isKnown(record.evidence)) return false
    if (!this.#hasRoom(record.evidence)) {
      this.#options.warn('no room for more evidence', { key })
      return false
    }
    this.#put({ ...record, key, isSaved: false, refusals: 0, notBefore: 0 })
    return true
  }

  #isKnown(evidence: Evidence): boolean {
    return this.#entries.has(entryKey(evidence)) || this.#reported.has(bytesKey(evidence.voteA.validatorAddress))
  }

  #put(entry: Entry): void {
    this.#entries.set(entry.key, entry)
    this.#save(entry)
  }

  #hasRoom({ voteA }: Evidence): boolean {
    if (this.#entries.size >= MAX_TOTAL) return false
    let ofValidator = 0
    for (const { evidence } of this.#entries.values()) {
      if (equalBytes(evidence.voteA.validatorAddress, voteA.validatorAddress)) ofValidator++
    }
    return ofValidator < MAX_PER_VALIDATOR
  }

  #commit({ voteA: { validatorAddress } }: Evidence): void {
    this.#reported.add(bytesKey(validatorAddress))
    if (this.#reported.size > MAX_REPORTED) this.#reported.delete(this.#reported.keys().next().value!)
    for (const { key, evidence } of [...this.#entries.values()]) {
      if (equalBytes(evidence.voteA.validatorAddress, validatorAddress)) this.#drop(key)
    }
  }

  /**
   * After a decision: turns pairs of decided heights into evidence, removes old entries, and saves entries that could not be saved
   * before.
   */
  #update(): Evidence[] {
    const made: Evidence[] = []
    for (const entry of [...this.#entries.values()]) {
      const { evidence, key, kind } = entry
      const { height } = evidence.voteA
      // A pair has no time yet, and does not expire by itself.
      if (kind === 'evidence' && this.#isExpired(evidence)) {
        this.#drop(key)
      } else if (kind === 'pair' && height <= this.#last().height) {
        const timeMs = this.#heights.find((decided) => decided.height === height)?.timeMs
        if (timeMs === undefined) {
          this.#options.warn('the block time for evidence is not known, it is dropped', { key })
          this.#drop(key)
          continue
        }
        const timed = { ...evidence, timestampMs: timeMs }
        this.#put({ ...entry, kind: 'evidence', evidence: timed, isSaved: false })
        made.push(timed)
      } else if (!entry.isSaved) {
        this.#save(entry)
      }
    }
    return made
  }

  #isExpired({ voteA: { height }, timestampMs: timeMs }: Evidence): boolean {
    return isEvidenceExpired({ height, timeMs }, this.#last(), this.#options.params)
  }

  #last(): DecidedHeight {
    return this.#heights.at(-1)!
  }

  #drop(key: string): void {
    if (this.#entries.delete(key)) this.#removeText(key)
  }

  /**
   * Saves an entry. A full disk must not stop consensus: then the entry stays in memory and is
   * saved at the next block.
   */
  #save(entry: Entry): void {
    try {
      this.#options.store.write(entry.key, encodeEvidenceRecord(entry, this.#options.genesisHash))
      entry.isSaved = true
    } catch (error) {
      this.#options.warn('evidence cannot be written to disk', { key: entry.key, error })
    }
  }

  #removeText(name: string): void {
    try {
      this.#options.store.remove(name)
    } catch (error) {
      this.#options.warn('evidence cannot be removed from disk', { key: name, error })
    }
  }
}

/** One key for each validator and height. Keys sort by height. */
function entryKey({ voteA }: Evidence): string {
  return `${String(voteA.height).padStart(16, '0')}-${bytesToHex(voteA.validatorAddress).slice(2)}`
}
