import { type ConsensusBlock, dataHash } from '../../../src/chain/comet/block.ts'
import type { BlockId, Commit, Evidence, RankedValidatorSet } from '../../../src/chain/comet/types.ts'
import { incrementPriorities, updateValidators } from '../../../src/chain/comet/validatorSet.ts'
import type {
  Application,
  ApplicationInfo,
  DecidedBlock,
  EvidenceVerdict,
  FinalizeResult,
  ProposalRequest,
  ProposedData,
  ValidatorUpdate,
} from '../../../src/consensus/application.ts'
import { concatBytes } from '../../../src/primitives/bytes.ts'
import { sha256 } from '../../../src/primitives/hash.ts'

const GENESIS_TIME_MS = 1_790_000_000_000

interface Stored {
  readonly block: ConsensusBlock
  readonly blockId: BlockId
  readonly seenCommit: Commit
  readonly appHash: Uint8Array
  /** of the block after the next */
  readonly nextValidators: RankedValidatorSet
}

/** What a test may have happen at. */
type ApplicationStep = 'prepareProposal' | 'processProposal' | 'finalizeBlock'

/** A state machine whose state is the hash of all transactions so far; it survives "restarts" of consensus. */
export class FakeApplication implements Application {
  readonly blocks: Stored[] = []
  readonly #genesisValidators: RankedValidatorSet
  /** what the next proposals hold; by default nothing */
  txsFor: (request: ProposalRequest) => readonly Uint8Array[] = () => []
  /** the changes that a block brings about */
  updatesFor: (height: number) => readonly ValidatorUpdate[] = () => []
  /** heights of which only the last so many are durable */
  durableLag = 1
  /** runs before a step is carried out; may throw or wait */
  before: (step: ApplicationStep, height: number) => void | Promise<void> = () => {}
  /** what a check takes: waits for the time, or for the budget if that is less; by default nothing */
  checkFor: (block: ConsensusBlock, budgetMs: number) => Promise<'checked' | 'stopped'> = async () => 'checked'
  /** height and budget of every check */
  readonly checks: { readonly height: number; readonly budgetMs: number }[] = []
  /** how many blocks others had not accepted when a proposal was asked for, by height */
  readonly refusals = new Map<number, number>()
  /** whether it comes upon unexpected error when it builds a block */
  cannotBuild: (request: ProposalRequest) => boolean = () => false
  /** the same when it checks one */
  cannotCheck: (block: ConsensusBlock) => boolean = () => false
  evidenceVerdict: (evidence: Evidence) => EvidenceVerdict = () => ({ verdict: 'valid' })
  /** of the last proposal that was asked for */
  budgetMs = 0
  /** heights for which proposals were asked for */
  readonly built: number[] = []
  genesisTimeMs = GENESIS_TIME_MS
  #isBusy = false

  constructor(genesisValidators: RankedValidatorSet) {
    this.#genesisValidators = genesisValidators
  }

  /** A copy as of an earlier height: what a database that lost its unsynced end holds. */
  at(height: number): FakeApplication {
    const copy = new FakeApplication(this.#genesisValidators)
    copy.blocks.push(...this.blocks.slice(0, height))
    copy.txsFor = this.txsFor
    copy.updatesFor = this.updatesFor
    copy.genesisTimeMs = this.genesisTimeMs
    return copy
  }

  /** Of that height; known up to two above the last block. */
  validatorsAt(height: number): RankedValidatorSet {
    if (height <= 1) return this.#genesisValidators
    if (height === 2) return incrementPriorities(this.#genesisValidators, 1)
    return this.blocks[height - 3]!.nextValidators
  }

  info(): Promise<ApplicationInfo> {
    const height = this.blocks.length
    const last = this.blocks.at(-1)
    return Promise.resolve({
      height,
      appHash: this.#appHash(),
      lastResultsHash: sha256(new Uint8Array()),
      lastBlockId: last?.blockId,
      lastSeenCommit: last?.seenCommit,
      lastBlockTimeMs: last?.block.header.timeMs ?? this.genesisTimeMs,
      lastValidators: this.validatorsAt(height),
      validators: this.validatorsAt(height + 1),
      nextValidators: this.validatorsAt(height + 2),
    })
  }

  #appHash(): Uint8Array {
    return this.blocks.at(-1)?.appHash ?? sha256(Uint8Array.of(0))
  }

  /** Calls must not overlap: the state would change under one of them. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isBusy) throw new Error('calls overlap')
    this.#isBusy = true
    try {
      return await work()
    } finally {
      this.#isBusy = false
    }
  }

  prepareProposal(request: ProposalRequest, budgetMs: number): Promise<ProposedData | undefined> {
    this.budgetMs = budgetMs
    this.built.push(request.height)
    this.refusals.set(request.height, request.refusals ?? 0)
    return this.#alone(async () => {
      await this.before('prepareProposal', request.height)
      if (request.height !== this.blocks.length + 1) throw new Error(`a proposal for ${request.height}`)
      if (this.cannotBuild(request)) return undefined
      const txs = this.txsFor(request)
      return { txs, evidence: request.evidence, dataHash: dataHash(txs) }
    })
  }

  checkEvidence(evidence: Evidence): Promise<EvidenceVerdict> {
    return Promise.resolve(this.evidenceVerdict(evidence))
  }

  processProposal(block: ConsensusBlock, budgetMs = Number.POSITIVE_INFINITY): Promise<{ accepted: true } | undefined> {
    return this.#alone(async () => {
      this.checks.push({ height: block.header.height, budgetMs })
      await this.before('processProposal', block.header.height)
      if (block.header.height !== this.blocks.length + 1) throw new Error(`a check of ${block.header.height}`)
      if ((await this.checkFor(block, budgetMs)) === 'stopped') return undefined
      return this.cannotCheck(block) ? undefined : { accepted: true }
    })
  }

  finalizeBlock(decided: DecidedBlock): Promise<FinalizeResult> {
    return this.#alone(() => this.#finalize(decided))
  }

  async #finalize({ block, blockId, seenCommit }: DecidedBlock): Promise<FinalizeResult> {
    const { height } = block.header
    await this.before('finalizeBlock', height)
    if (height !== this.blocks.length + 1) throw new Error(`block ${height} after ${this.blocks.length}`)
    const appHash = sha256(concatBytes(this.#appHash(), ...block.txs))
    const validatorUpdates = this.updatesFor(height)
    const nextValidators = incrementPriorities(updateValidators(this.validatorsAt(height + 1), validatorUpdates), 1)
    this.blocks.push({ block, blockId, seenCommit, appHash, nextValidators })
    const durableHeight = Math.max(0, height - this.durableLag)
    return { appHash, lastResultsHash: sha256(new Uint8Array()), validatorUpdates, durableHeight }
  }
}
