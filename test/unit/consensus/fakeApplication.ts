import type { ConsensusBlock } from '../../../src/chain/consensus/block.ts'
import { dataHash } from '../../../src/chain/consensus/blockCodec.ts'
import type { BlockId, Commit } from '../../../src/chain/consensus/types.ts'
import type {
  Application,
  ApplicationInfo,
  DecidedBlock,
  FinalizeResult,
  ProposalRequest,
  ProposedData,
} from '../../../src/consensus/application.ts'
import { concatBytes } from '../../../src/primitives/bytes.ts'
import { sha256 } from '../../../src/primitives/hash.ts'

const GENESIS_TIME_MS = 1_790_000_000_000

interface Stored {
  readonly block: ConsensusBlock
  readonly blockId: BlockId
  readonly seenCommit: Commit
  readonly appHash: Uint8Array
}

/** A state machine whose state is the hash of all transactions so far; it survives "restarts" of the driver. */
export class FakeApplication implements Application {
  readonly blocks: Stored[] = []
  /** what the next proposals hold; by default nothing */
  txsFor: (request: ProposalRequest) => readonly Uint8Array[] = () => []
  /** heights of which only the last so many are durable */
  durableLag = 1
  /** runs before a step is carried out; may throw or wait */
  before: (step: 'prepareProposal' | 'finalizeBlock', height: number) => void | Promise<void> = () => {}
  genesisTimeMs = GENESIS_TIME_MS

  /** A copy as of an earlier height: what a database that lost its unsynced end holds. */
  at(height: number): FakeApplication {
    const copy = new FakeApplication()
    copy.blocks.push(...this.blocks.slice(0, height))
    copy.txsFor = this.txsFor
    copy.genesisTimeMs = this.genesisTimeMs
    return copy
  }

  info(): Promise<ApplicationInfo> {
    const last = this.blocks.at(-1)
    return Promise.resolve({
      height: this.blocks.length,
      appHash: this.#appHash(),
      lastResultsHash: sha256(new Uint8Array()),
      lastBlockId: last?.blockId,
      lastSeenCommit: last?.seenCommit,
      lastBlockTimeMs: last?.block.header.timeMs ?? this.genesisTimeMs,
    })
  }

  #appHash(): Uint8Array {
    return this.blocks.at(-1)?.appHash ?? sha256(Uint8Array.of(0))
  }

  async prepareProposal(request: ProposalRequest): Promise<ProposedData> {
    await this.before('prepareProposal', request.height)
    const txs = this.txsFor(request)
    return { txs, dataHash: dataHash(txs) }
  }

  processProposal(): Promise<{ accepted: true }> {
    return Promise.resolve({ accepted: true })
  }

  async finalizeBlock({ block, blockId, seenCommit }: DecidedBlock): Promise<FinalizeResult> {
    const { height } = block.header
    await this.before('finalizeBlock', height)
    if (height !== this.blocks.length + 1) throw new Error(`block ${height} after ${this.blocks.length}`)
    const appHash = sha256(concatBytes(this.#appHash(), ...block.txs))
    this.blocks.push({ block, blockId, seenCommit, appHash })
    const durableHeight = Math.max(0, height - this.durableLag)
    return { appHash, lastResultsHash: sha256(new Uint8Array()), validatorUpdates: [], durableHeight }
  }
}
