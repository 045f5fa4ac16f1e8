import { headerHash } from '../../src/chain/comet/block.ts'
import {
  BLOCK_ID_FLAGS,
  type BlockId,
  type Commit,
  type Evidence,
  equalBlockId,
  isNilBlockId,
  NIL_BLOCK_ID,
  type Proposal,
  type RankedValidatorSet,
  SIGNED_MESSAGE_TYPES,
  type ValidatorSet,
  type Vote,
  type VoteType,
} from '../../src/chain/comet/types.ts'
import { proposalSignBytes, voteSignBytes } from '../../src/chain/comet/vote.ts'
import { bytesKey, bytesToHex, equalBytes } from '../../src/primitives/bytes.ts'
import type { VerifySignature } from '../../src/primitives/ed25519.ts'
import { type ExecutedBlock, INVALID_TX } from './simApplication.ts'
import type { SimChain } from './simChain.ts'

/** Something happened that must not. */
export interface Violation {
  readonly atMs: number
  readonly rule: string
  readonly details: string
}

interface MonitorOptions {
  readonly chain: SimChain
  readonly verify: VerifySignature
  readonly nowMs: () => number
  readonly isHonest: (address: Uint8Array) => boolean
}

/** A message that an honest validator sent out of its process. */
interface Emitted {
  readonly vote: Vote | undefined
  /** the sign bytes without the time */
  readonly what: string
  readonly signBytes: Uint8Array
  readonly signature: Uint8Array
}

/** What was signed at one height. */
interface HeightRecord {
  /** by validator, round and type */
  readonly emitted: Map<string, Emitted>
  /** by round and block: who signed a prevote for it, ever */
  readonly prevotes: Map<string, Set<string>>
  /** by validator: for which blocks it precommitted, by round */
  readonly precommitted: Map<string, Map<number, BlockId>>
}

/** Signatures of heights older than this are forgotten: no node of a simulation gets further behind and still votes. */
const KEPT_HEIGHTS = 300

/** A block that all honest nodes must have at its height. */
interface CanonicalBlock {
  readonly blockId: BlockId
  readonly appHash: Uint8Array
  readonly validators: RankedValidatorSet
  readonly timeMs: number
}

/**
 * The rules that hold whatever happens to the network, the disks and at most a third of the power. The monitor sees all messages that are
 * signed, sent and decided, and keeps its own records; it uses nothing of the engine to check the engine.
 */
export class Monitor {
  readonly violations: Violation[] = []
  readonly #options: MonitorOptions
  readonly #heights = new Map<number, HeightRecord>()
  readonly #canonical: CanonicalBlock[] = []
  maxRound = 0
  /** heights that were decided in a later round than the first */
  laterRounds = 0

  constructor(options: MonitorOptions) {
    this.#options = options
  }

  get height(): number {
    return this.#canonical.length
  }

  report(rule: string, details: string): void {
    this.violations.push({ atMs: this.#options.nowMs(), rule, details })
  }

  /** A vote was signed, by any validator, whether or not it will be sent. */
  voteSigned(vote: Vote): void {
    if (vote.type !== SIGNED_MESSAGE_TYPES.prevote || isNilBlockId(vote.blockId)) return
    const { prevotes } = this.#at(vote.height)
    const key = polkaKey(vote.round, vote.blockId)
    const voters = prevotes.get(key)
    if (voters === undefined) prevotes.set(key, new Set([bytesKey(vote.validatorAddress)]))
    else voters.add(bytesKey(vote.validatorAddress))
  }

  /** An honest validator's vote leaves its process. */
  voteEmitted(vote: Vote, validators: ValidatorSet): void {
    const { height, round, type, blockId } = vote
    const validator = bytesKey(vote.validatorAddress)
    const what = voteSignBytes(this.#options.chain.chainId, { ...vote, timestampMs: 0 })
    const signBytes = voteSignBytes(this.#options.chain.chainId, vote)
    if (!this.#emit(height, `${validator}/${round}/${type}`, what, signBytes, vote.signature, vote)) return
    if (type === SIGNED_MESSAGE_TYPES.prevote) this.#checkLock(vote, validators)
    else if (!isNilBlockId(blockId)) {
      if (!this.#hasPolka(height, round, blockId, validators)) {
        this.report('precommit without polka', describeVote(vote))
      }
      const { precommitted } = this.#at(height)
      let rounds = precommitted.get(validator)
      if (rounds === undefined) {
        rounds = new Map()
        precommitted.set(validator, rounds)
      }
      rounds.set(round, blockId)
    }
  }

  /** What an honest validator voted in that step, as it left its process. */
  emittedVote(address: Uint8Array, height: number, round: number, type: VoteType): Vote | undefined {
    return this.#at(height).emitted.get(`${bytesKey(address)}/${round}/${type}`)?.vote
  }

  /** An honest validator's proposal leaves its process. */
  proposalEmitted(proposal: Proposal, address: Uint8Array, validators: ValidatorSet): void {
    const { height, round, polRound, blockId } = proposal
    const { chainId } = this.#options.chain
    const what = proposalSignBytes(chainId, { ...proposal, timestampMs: 0 })
    const signBytes = proposalSignBytes(chainId, proposal)
    const key = `${bytesKey(address)}/${round}/${SIGNED_MESSAGE_TYPES.proposal}`
    if (!this.#emit(height, key, what, signBytes, proposal.signature)) return
    if (polRound >= 0 && !this.#hasPolka(height, polRound, blockId, validators)) {
      this.report('proposal names a polka that never was', `height ${height} round ${round} polRound ${polRound}`)
    }
  }

  /** @returns whether it is new */
  #emit(
    height: number,
    key: string,
    what: Uint8Array,
    signBytes: Uint8Array,
    signature: Uint8Array,
    vote?: Vote,
  ): boolean {
    const { emitted } = this.#at(height)
    const known = emitted.get(key)
    if (known === undefined) {
      emitted.set(key, { what: bytesKey(what), signBytes, signature, vote })
      return true
    }
    if (known.what !== bytesKey(what)) this.report('double sign', `height ${height} ${printable(key)}`)
    else if (!equalBytes(known.signBytes, signBytes))
      this.report('signed again with another time', `height ${height} ${printable(key)}`)
    else if (!equalBytes(known.signature, signature)) this.report('signed again', `height ${height} ${printable(key)}`)
    return false
  }

  /** An honest prevote for another value than the one last precommitted needs a polka for it since (paper lines 22 to 33). */
  #checkLock(vote: Vote, validators: ValidatorSet): void {
    const { height, round, blockId } = vote
    if (isNilBlockId(blockId)) return
    const rounds = this.#at(height).precommitted.get(bytesKey(vote.validatorAddress))
    if (rounds === undefined) return
    let lockedRound = -1
    for (const at of rounds.keys()) if (at < round) lockedRound = Math.max(lockedRound, at)
    if (lockedRound < 0 || equalBlockId(rounds.get(lockedRound)!, blockId)) return
    for (let at = lockedRound; at < round; at++) if (this.#hasPolka(height, at, blockId, validators)) return
    this.report('prevote against the lock', `${describeVote(vote)}, locked in round ${lockedRound}`)
  }

  #hasPolka(height: number, round: number, blockId: BlockId, validators: ValidatorSet): boolean {
    const voters = this.#at(height).prevotes.get(polkaKey(round, blockId))
    if (voters === undefined) return false
    let power = 0n
    for (const validator of validators.validators) if (voters.has(bytesKey(validator.address))) power += validator.power
    return power * 3n > validators.totalPower * 2n
  }

  /** An honest node decided and executed a block. */
  decided(node: number, executed: ExecutedBlock, validators: RankedValidatorSet): void {
    const { block, blockId, seenCommit, result } = executed
    const { height } = block.header
    if (!equalBytes(headerHash(block.header), blockId.hash))
      this.report('validity', `node ${node}: block hash ${height}`)
    const reason = this.#commitFault(height, blockId, seenCommit, validators)
    if (reason !== undefined) this.report('commit', `node ${node} height ${height}: ${reason}`)
    const canonical = this.#canonical[height - 1]
    if (canonical === undefined) this.#extend(executed, validators)
    else {
      if (!equalBlockId(canonical.blockId, blockId)) {
        this.report(
          'agreement',
          `node ${node} decided ${bytesToHex(blockId.hash)} at height ${height} round ${seenCommit.round}, others ${bytesToHex(canonical.blockId.hash)}`,
        )
        return
      }
      if (!equalBytes(canonical.appHash, result.appHash)) this.report('app hash', `node ${node} height ${height}`)
      if (!equalSets(canonical.validators, validators)) this.report('validator sets', `node ${node} height ${height}`)
    }
  }

  #extend({ block, blockId, seenCommit, result }: ExecutedBlock, validators: RankedValidatorSet): void {
    const { header } = block
    const { height } = header
    if (height !== this.height + 1) {
      this.report('validity', `block ${height} is decided before block ${this.height + 1}`)
      return
    }
    const { chain } = this.#options
    const parent = this.#canonical.at(-1)
    if (!equalBlockId(header.lastBlockId, parent?.blockId ?? NIL_BLOCK_ID))
      this.report('validity', `parent of ${height}`)
    if (!equalBytes(header.appHash, parent?.appHash ?? chain.genesisAppHash))
      this.report('validity', `appHash ${height}`)
    if (header.timeMs <= (parent?.timeMs ?? chain.genesisTimeMs)) this.report('validity', `time of ${height}`)
    if (!validators.validators.some(({ address }) => equalBytes(address, header.proposerAddress))) {
      this.report('validity', `proposer of ${height}`)
    }
    if (height > 1) {
      const fault = this.#commitFault(height - 1, parent!.blockId, block.lastCommit, parent!.validators)
      if (fault !== undefined) this.report('validity', `last commit of ${height}: ${fault}`)
    }
    if (block.txs.some((tx) => tx[0] === INVALID_TX)) this.report('validity', `invalid transaction in ${height}`)
    for (const item of block.evidence) this.#checkEvidence(height, item)
    this.#canonical.push({ blockId, appHash: result.appHash, validators, timeMs: header.timeMs })
    if (seenCommit.round > 0) this.laterRounds++
    this.maxRound = Math.max(this.maxRound, seenCommit.round)
    this.#heights.delete(height - KEPT_HEIGHTS)
  }

  #at(height: number): HeightRecord {
    let record = this.#heights.get(height)
    if (record === undefined) {
      record = { emitted: new Map(), prevotes: new Map(), precommitted: new Map() }
      this.#heights.set(height, record)
    }
    return record
  }

  #checkEvidence(height: number, { voteA }: Evidence): void {
    if (this.#options.isHonest(voteA.validatorAddress)) {
      this.report('evidence against an honest validator', `block ${height}, ${describeVote(voteA)}`)
    }
  }

  /** The commit is counted again, with the powers of the height. */
  #commitFault(height: number, blockId: BlockId, commit: Commit, set: ValidatorSet): string | undefined {
    if (commit.height !== height || !equalBlockId(commit.blockId, blockId)) return 'for another block'
    if (commit.signatures.length !== set.validators.length) return 'another number of signatures'
    let power = 0n
    for (const [index, sig] of commit.signatures.entries()) {
      if (sig.flag === BLOCK_ID_FLAGS.absent) continue
      const validator = set.validators[index]!
      const signBytes = voteSignBytes(this.#options.chain.chainId, {
        type: SIGNED_MESSAGE_TYPES.precommit,
        height,
        round: commit.round,
        blockId: sig.flag === BLOCK_ID_FLAGS.commit ? blockId : NIL_BLOCK_ID,
        timestampMs: sig.timestampMs,
      })
      if (!equalBytes(validator.address, sig.validatorAddress)) return `address ${index}`
      if (!this.#options.verify(validator.publicKey, signBytes, sig.signature)) return `signature ${index}`
      if (sig.flag === BLOCK_ID_FLAGS.commit) power += validator.power
    }
    return power * 3n > set.totalPower * 2n ? undefined : `power ${power} of ${set.totalPower}`
  }

  /** What all honest nodes have at that height. */
  canonicalBlock(height: number): CanonicalBlock | undefined {
    return this.#canonical[height - 1]
  }
}

function polkaKey(round: number, { hash }: BlockId): string {
  return `${round}/${bytesKey(hash)}`
}

function equalSets(a: RankedValidatorSet, b: RankedValidatorSet): boolean {
  return (
    a.totalPower === b.totalPower &&
    a.proposer === b.proposer &&
    a.validators.length === b.validators.length &&
    a.validators.every((validator, index) => {
      const other = b.validators[index]!
      return (
        validator.power === other.power &&
        a.priorities[index] === b.priorities[index] &&
        equalBytes(validator.publicKey, other.publicKey)
      )
    })
  )
}

export function describeVote({ type, height, round, blockId, validatorIndex }: Vote): string {
  const name = type === SIGNED_MESSAGE_TYPES.prevote ? 'prevote' : 'precommit'
  const value = isNilBlockId(blockId) ? 'nil' : bytesToHex(blockId.hash).slice(2, 10)
  return `${name} ${height}/${round} ${value} of ${validatorIndex}`
}

function printable(key: string): string {
  const slash = key.indexOf('/', 20)
  return `${Buffer.from(key.slice(0, slash), 'latin1').toString('hex').slice(0, 8)}${key.slice(slash)}`
}
