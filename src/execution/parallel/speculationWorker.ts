import { decodeTransaction, type SignedTransaction } from '../../chain/block/transaction.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import type { Engine } from '../../evm/engine.ts'
import type { PrecompileTable } from '../../evm/precompile.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { StateReader } from '../../state/reader.ts'
import { blockContextOf } from '../blockContext.ts'
import type { Offer } from './parallelExecution.ts'
import { createSpeculator } from './speculator.ts'
import { type TableMemory, VersionTable } from './versionTable.ts'

/** The state after a block, and the hashes of the blocks before it. */
export interface OpenParent {
  readonly state: StateReader
  readonly chain: Pick<ChainReader, 'hash'>
  close(): void
}

export interface SpeculationWorkerOptions {
  readonly memory: TableMemory
  /** which of the speculators this is, from 0 on */
  readonly index: number
  /**
   * undefined when another block is the newest stored one, or it cannot be read: the executor hits
   * the same error then
   */
  readonly openParent: (height: number) => OpenParent | undefined
  readonly engine: Engine
  readonly precompiles: PrecompileTable
  /** see `SpeculationContext` */
  readonly now: () => number
}

/**
 * After this many unsuccessful waits of at most a millisecond the thread checks for messages: the
 * executor may have left the block.
 */
const MOST_WAITS = 100

/** No code reads the hash of its transaction. */
const NO_HASH: Hash = new Uint8Array(32)

interface OfferedEntry {
  readonly raw: Uint8Array
  readonly sender: Uint8Array
}

/**
 * Creates the work of a speculator thread: it takes entries that the executor offers, one after
 * another, until there are no more.
 */
export function createSpeculationWorker(options: SpeculationWorkerOptions): (offer: Offer) => Promise<void> {
  const table = new VersionTable(options.memory, options.index)
  const { engine, precompiles, now } = options
  let session = 0
  let entries: OfferedEntry[] = []

  const work = async (offer: Offer, { state, chain }: OpenParent): Promise<void> => {
    const { seed, timeMs, rules, precompileGas, collectsParties } = offer
    const block = blockContextOf(seed, timeMs, chain, rules)
    const speculate = createSpeculator(table, {
      state,
      block,
      rules,
      engine,
      precompiles,
      precompileGas,
      collectsParties,
      now,
    })
    for (let waits = 0; waits < MOST_WAITS; waits++) {
      const index = table.claim(entries.length)
      if (index !== undefined) {
        await speculate(index, signedOf(entries[index]!))
        waits = 0
      } else if (!table.waitForFree(entries.length)) return
    }
  }

  const take = async (offer: Offer): Promise<void> => {
    try {
      if (!table.enter(offer.session)) return
      if (offer.session !== session) {
        session = offer.session
        entries = []
        table.clearRegion()
      }
      entries.push(...entriesOf(offer))
      const parent = options.openParent(offer.seed.number - 1)
      if (parent === undefined) return
      try {
        await work(offer, parent)
      } finally {
        parent.close()
      }
    } finally {
      table.leave()
    }
  }

  let former = Promise.resolve()
  return (offer) => {
    former = former.then(() => take(offer))
    return former
  }
}

function entriesOf({ raws, lengths, senders }: Offer): OfferedEntry[] {
  let at = 0
  return Array.from(lengths, (length, place) => {
    at += length
    return { raw: raws.subarray(at - length, at), sender: senders.subarray(place * 20, place * 20 + 20) }
  })
}

function signedOf({ raw, sender }: OfferedEntry): SignedTransaction {
  // A copy of its own: the offer's is memory that threads share, which not every function takes.
  return { transaction: decodeTransaction(raw.slice(), NO_HASH), sender }
}
