import { type ConsensusBlock, dataHash, maxDataBytes } from '../../src/chain/comet/block.ts'
import { encodeEvidence } from '../../src/chain/comet/evidence.ts'
import type { Evidence, RankedValidatorSet } from '../../src/chain/comet/types.ts'
import { incrementPriorities, updateValidators } from '../../src/chain/comet/validatorSet.ts'
import { voteSignBytes } from '../../src/chain/comet/vote.ts'
import { encodedTxSize } from '../../src/chain/comet/wire.ts'
import type {
  ApplicationInfo,
  DecidedBlock,
  EvidenceVerdict,
  FinalizeResult,
  ProposalRequest,
  ProposedData,
  ValidatorUpdate,
} from '../../src/consensus/application.ts'
import { bytesKey, concatBytes, equalBytes } from '../../src/primitives/bytes.ts'
import type { VerifySignature } from '../../src/primitives/ed25519.ts'
import { sha256 } from '../../src/primitives/hash.ts'
import type { Random } from '../fuzz/random.ts'
import { compareBlockIds } from './compareBlockIds.ts'
import type { SimChain } from './simChain.ts'

/** A transaction that starts with this byte makes a block invalid. */
export const INVALID_TX = 0xff

/** A block with what its execution gave. */
export interface ExecutedBlock extends DecidedBlock {
  readonly result: FinalizeResult
}

interface SimApplicationOptions {
  readonly chain: SimChain
  readonly verify: VerifySignature
  /** validator changes that block `height` makes: a function of the height alone */
  readonly updatesAt: (height: number) => readonly ValidatorUpdate[]
  /** transactions for a block of `height` */
  readonly makeTxs: (height: number, random: Random) => readonly Uint8Array[]
  /** a validator that evidence is about is removed from the set */
  readonly jails: boolean
  readonly random: Random
  /** blocks between those that are written durably */
  readonly durableEvery: number
}

/** The state machine of one node: a chain of hashes, a script of validator changes, the evidence that blocks held. */
export class SimApplication {
  readonly #options: SimApplicationOptions
  /** index = height - 1 */
  readonly #blocks: ExecutedBlock[] = []
  /** index = height - 1: one more than there are blocks, and the one after */
  readonly #sets: RankedValidatorSet[]
  readonly #committed = new Map<string, number>()
  #durableHeight = 0
  /** from that height on this node's execution gives another hash than the others' */
  faultyFrom: number | undefined

  constructor(options: SimApplicationOptions) {
    this.#options = options
    const { validators } = options.chain
    this.#sets = [validators, incrementPriorities(validators, 1)]
  }

  /** A copy of this application with the same state. */
  copy(): SimApplication {
    const copy = new SimApplication(this.#options)
    copy.#blocks.push(...this.#blocks)
    copy.#sets.splice(0, copy.#sets.length, ...this.#sets)
    for (const [key, height] of this.#committed) copy.#committed.set(key, height)
    copy.#durableHeight = this.#durableHeight
    copy.faultyFrom = this.faultyFrom
    return copy
  }

  get height(): number {
    return this.#blocks.length
  }

  /** The block of `height`; undefined when it is not decided here. */
  block(height: number): ExecutedBlock | undefined {
    return this.#blocks[height - 1]
  }

  /** The validators of `height`, at most two above the last block. */
  validatorsAt(height: number): RankedValidatorSet | undefined {
    return this.#sets[height - 1]
  }

  /** All evidence in the chain, as keys of {@link offenceKey}, with the height of its block. */
  get offences(): ReadonlyMap<string, number> {
    return this.#committed
  }

  info(): ApplicationInfo {
    const { chain } = this.#options
    const height = this.height
    const last = this.#blocks.at(-1)
    return {
      height,
      appHash: last?.result.appHash ?? chain.genesisAppHash,
      lastResultsHash: last?.result.lastResultsHash ?? sha256(new Uint8Array()),
      lastBlockId: last?.blockId,
      lastSeenCommit: last?.seenCommit,
      lastBlockTimeMs: last?.block.header.timeMs ?? chain.genesisTimeMs,
      lastValidators: this.#sets[Math.max(0, height - 1)]!,
      validators: this.#sets[height]!,
      nextValidators: this.#sets[height + 1]!,
    }
  }

  prepareProposal(request: ProposalRequest): ProposedData {
    const { random, makeTxs, chain } = this.#options
    const evidence: Evidence[] = []
    let evidenceBytes = 0
    for (const item of request.evidence) {
      const size = encodeEvidence(item).length + 8
      if (evidenceBytes + size > chain.evidence.maxBytes || this.checkEvidence(item).verdict !== 'valid') continue
      const key = offenceKey(item)
      if (evidence.some((other) => offenceKey(other) === key)) continue
      evidence.push(item)
      evidenceBytes += size
    }
    let room = maxDataBytes(chain.params, request.lastCommit.signatures.length) - evidenceBytes
    const txs: Uint8Array[] = []
    for (const tx of makeTxs(request.height, random)) {
      room -= encodedTxSize(tx.length)
      if (room < 0) break
      txs.push(tx)
    }
    return { txs, evidence, dataHash: dataHash(txs) }
  }

  /** @returns why the block is refused */
  processProposal(block: ConsensusBlock): string | undefined {
    if (block.txs.some((tx) => tx[0] === INVALID_TX)) return 'a transaction is invalid'
    const keys = new Set<string>()
    for (const item of block.evidence) {
      const { verdict } = this.checkEvidence(item)
      if (verdict !== 'valid') return `evidence is ${verdict}`
      if (keys.size === keys.add(offenceKey(item)).size) return 'evidence is there twice'
    }
    return undefined
  }

  checkEvidence(evidence: Evidence): EvidenceVerdict {
    const { chain, verify } = this.#options
    const { voteA, voteB } = evidence
    const { height } = voteA
    const invalid = (reason: string): EvidenceVerdict => ({ verdict: 'invalid', reason })
    if (voteB.height !== height || voteA.round !== voteB.round || voteA.type !== voteB.type) {
      return invalid('the votes are not for one step')
    }
    if (!equalBytes(voteA.validatorAddress, voteB.validatorAddress)) return invalid('two validators')
    if (compareBlockIds(voteA.blockId, voteB.blockId) >= 0) return invalid('the votes are equal or in the wrong order')
    if (this.#committed.has(offenceKey(evidence))) return { verdict: 'committed' }
    if (height > this.height) return { verdict: 'early' }
    const { timeMs } = this.block(height)!.block.header
    const last = this.#blocks.at(-1)!.block.header
    const { maxAgeBlocks, maxAgeMs } = chain.evidence
    if (last.height - height > maxAgeBlocks && last.timeMs - timeMs > maxAgeMs) return { verdict: 'expired' }
    const set = this.validatorsAt(height)!
    const validator = set.validators.find(({ address }) => equalBytes(address, voteA.validatorAddress))
    if (validator === undefined) return invalid('not a validator')
    if (evidence.totalVotingPower !== set.totalPower || evidence.validatorPower !== validator.power) {
      return invalid('powers are wrong')
    }
    if (evidence.timestampMs !== timeMs) return invalid('the time is wrong')
    for (const vote of [voteA, voteB]) {
      if (!verify(validator.publicKey, voteSignBytes(chain.chainId, vote), vote.signature)) {
        return invalid('a signature is wrong')
      }
    }
    return { verdict: 'valid' }
  }

  /** @throws Error when the block is not the next one, or finalized with another content */
  finalizeBlock(decided: DecidedBlock): FinalizeResult {
    const { updatesAt, durableEvery } = this.#options
    const { block, blockId } = decided
    const { height } = block.header
    if (height !== this.height + 1) throw new Error(`block ${height} is finalized after block ${this.height}`)
    const previous = this.info().appHash
    const appHash = sha256(concatBytes(previous, blockId.hash, ...block.txs))
    if (this.faultyFrom !== undefined && height >= this.faultyFrom) appHash[0]! ^= 1
    const validatorUpdates = [...updatesAt(height), ...this.#removals(block.evidence)]
    for (const item of block.evidence) this.#committed.set(offenceKey(item), height)
    if (height % durableEvery === 0) this.#durableHeight = height
    const result = {
      appHash,
      lastResultsHash: sha256(concatBytes(appHash, Uint8Array.of(1))),
      validatorUpdates,
      durableHeight: this.#durableHeight,
    }
    this.#blocks.push({ ...decided, result })
    this.#sets.push(advanceSet(this.#sets[height]!, validatorUpdates))
    return result
  }

  #removals(evidence: readonly Evidence[]): ValidatorUpdate[] {
    if (!this.#options.jails) return []
    const next = this.#sets.at(-1)!
    const guilty = new Set(evidence.map(({ voteA }) => bytesKey(voteA.validatorAddress)))
    return next.validators
      .filter(({ address }) => guilty.has(bytesKey(address)))
      .map(({ publicKey }) => ({ publicKey, power: 0n }))
  }

  /** The machine died: blocks that were not written durably are gone. */
  loseUnsynced(): void {
    while (this.#blocks.length > this.#durableHeight) {
      const { block } = this.#blocks.pop()!
      this.#sets.pop()
      for (const item of block.evidence) this.#committed.delete(offenceKey(item))
    }
  }
}

/** V(H+2) of V(H+1) and the changes of block H (CometBFT state/execution.go updateState). */
function advanceSet(next: RankedValidatorSet, updates: readonly ValidatorUpdate[]): RankedValidatorSet {
  return incrementPriorities(updates.length === 0 ? next : updateValidators(next, updates), 1)
}

/** Names an offence: who voted twice, and at which height. */
function offenceKey({ voteA }: Evidence): string {
  return `${bytesKey(voteA.validatorAddress)}/${voteA.height}`
}
