/**
 * Measures the disk of a node that drops old data (BLOCK_HISTORY, PRUNING), over many more blocks than it retains: bytes of its
 * database at several heights, which must not grow. Its blocks are empty and were never executed (`makeBigChain`), but they pass
 * through the code that moves blocks to segments and drops bodies and headers, as in a node. Then it computes from a chain of 1 and
 * of 50 validators what such a node takes with the evidence age of a default genesis.
 *
 * A block takes about a millisecond of processor time: 2 million take half an hour on an idle machine. `--help` lists the flags.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChainConfig } from '../src/chain/genesis/chainConfig.ts'
import type { Genesis } from '../src/chain/genesis/genesisSchema.ts'
import { makeNextHashFile } from '../src/chain/indexes/makeHashFiles.ts'
import { type HeaderRules, headerRules } from '../src/chain/retention/headerRetention.ts'
import { makeNextSegment, moveRules, readMoved } from '../src/chain/segments/moveBlocks.ts'
import { openChainReader } from '../src/chain/store/chainReader.ts'
import { trustPeriodOf } from '../src/config/syncDecision.ts'
import { createPruner } from '../src/execution/pruner.ts'
import type { Database, WritableDatabase } from '../src/storage/database.ts'
import { columnBytes, directoryBytes } from '../src/storage/diskBytes.ts'
import { segmentsDirectory } from '../src/storage/segmentFile.ts'
import { makeBigChain, type Upkeep } from './bigChain/makeBigChain.ts'
import { numberFlag, readFlags } from './flags.ts'

const HELP = `node bench/prunedNode.ts [flags]
  --home DIR            is made, and stays (a temporary one)
  --blocks 2000000
  --every 100000        blocks after which the bytes are printed
  --history 50000       BLOCK_HISTORY
  --pruning 1000        PRUNING
  --evidence 100000     age of evidence in blocks
  --sample 24576        blocks of the chains from which is computed what a default genesis takes
`

const values = readFlags(HELP, {
  home: { type: 'string' },
  blocks: numberFlag('2000000'),
  every: numberFlag('100000'),
  history: numberFlag('50000'),
  pruning: numberFlag('1000'),
  evidence: numberFlag('100000'),
  sample: numberFlag('24576'),
})
const [blocks, every, blockHistory, pruning, evidenceBlocks, sample] = [
  values.blocks,
  values.every,
  values.history,
  values.pruning,
  values.evidence,
  values.sample,
].map(Number) as [number, number, number, number, number, number]

const BLOCK_MS = 400
const GENESIS_TIME_MS = 1_790_000_000_000
/** Of a default genesis: 21 days. */
const DEFAULT_EVIDENCE_BLOCKS = 4_536_000
const SIZE = { accounts: 1_000, slots: 1_000, delegations: 10 }
/** Of the sample chain, whose blocks are to be in segments soon. */
const SAMPLE_HISTORY = 1_024

/** Sets evidence age and unbonding time of a genesis to so many blocks. */
function withEvidenceAge(age: number): (genesis: Genesis) => Genesis {
  return (genesis) => {
    const seconds = Math.ceil((age * BLOCK_MS) / 1_000)
    const { consensus, app_state } = genesis
    const { params } = consensus
    const evidence = {
      ...params.evidence,
      max_age_num_blocks: String(age),
      max_age_duration: `${seconds}000000000`,
    }
    const staking = {
      ...app_state.staking,
      params: { ...app_state.staking.params, unbonding_time: `${seconds}s` },
    }
    return {
      ...genesis,
      consensus: { ...consensus, params: { ...params, evidence } },
      app_state: { ...app_state, staking },
    }
  }
}

/** Does with old blocks what a node does. @param onWritten with all blocks up to a height on the disk */
function nodeUpkeep(blockHistory: number, onWritten: (database: Database, height: number) => Promise<void>) {
  const segmentRules = moveRules(pruning, blockHistory)
  return (buffered: WritableDatabase, chain: ChainConfig): Upkeep => {
    let durable = 0
    const pruner = createPruner({
      database: buffered,
      // Empty blocks that were never executed leave no history of the state.
      state: { dropHistory: () => undefined },
      pruning,
      blockHistory,
      headers: rulesOf(chain, blockHistory),
      durableHeight: () => durable,
    })
    return {
      withBlock: (batch, height) => pruner.drop(batch, height),
      afterWrite: async (database, height) => {
        durable = height
        await makeNextSegment(database, segmentRules, async () => undefined)
        await makeNextHashFile(database, async () => undefined)
        await onWritten(database, height)
      },
    }
  }
}

/** Returns the rules with the default of TRUST_PERIOD. */
function rulesOf({ evidence }: ChainConfig, blockHistory: number): HeaderRules {
  const times = { unbondingMs: evidence.maxAgeMs }
  const trustPeriodMs = trustPeriodOf({ trustPeriodMs: undefined }, times)
  return headerRules({ pruning, blockHistory, snapshots: { interval: 0, keep: 0 }, evidence, trustPeriodMs })
}

interface Sizes {
  readonly all: number
  readonly segments: number
  readonly columns: ReadonlyMap<string, number>
}

async function sizesOf(database: Database): Promise<Sizes> {
  const all = await directoryBytes(database.location)
  return {
    all,
    segments: await directoryBytes(segmentsDirectory(database.location)),
    columns: await columnBytes(database),
  }
}

async function withHome<T>(given: string | undefined, use: (home: string) => Promise<T>): Promise<T> {
  if (given !== undefined) return use(given)
  const directory = mkdtempSync(join(tmpdir(), 'coind-pruned-'))
  try {
    return await use(join(directory, 'home'))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1).padStart(9)

async function measureNode(home: string): Promise<void> {
  /** From three times the evidence age on, only the light blocks may grow. */
  const settled: number[] = []
  console.log(
    `BLOCK_HISTORY=${blockHistory} PRUNING=${pruning}, evidence age ${evidenceBlocks} blocks, 1 validator; MB on the disk\n`,
  )
  console.log(
    '   height   database  compacted  segments  LevelDB       light blocks  lowest header  lowest body  seconds',
  )
  const began = performance.now()
  await makeBigChain({
    homedir: home,
    ...SIZE,
    blocks,
    validators: 1,
    signers: 1,
    genesisTimeMs: GENESIS_TIME_MS,
    hasChangingRoots: true,
    adapt: withEvidenceAge(evidenceBlocks),
    upkeep: nodeUpkeep(blockHistory, async (database, height) => {
      if (height % every !== 0 && height !== blocks) return
      const { all } = await sizesOf(database)
      // LevelDB frees space when it merges its files, sooner or later.
      await database.compact(Uint8Array.of(0), Uint8Array.of(0xff))
      const { all: compacted, segments, columns } = await sizesOf(database)
      if (height >= 3 * evidenceBlocks) settled.push(compacted)
      const { base, oldestBlock } = openChainReader(database)
      const light = columns.get('lightBlock')! + columns.get('lightBlockIndex')!
      const seconds = (performance.now() - began) / 1_000
      const leveldb = megabytes(compacted - segments)
      const sizes = `${megabytes(all)}  ${megabytes(compacted)} ${megabytes(segments)}${leveldb}${megabytes(light).padStart(19)}`
      console.log(
        `${String(height).padStart(9)}  ${sizes}${String(base).padStart(15)}${String(oldestBlock).padStart(13)}${seconds.toFixed(0).padStart(9)}`,
      )
    }),
  })
  if (settled.length === 0) return
  const [least, most] = [Math.min(...settled), Math.max(...settled)]
  console.log(`\nfrom ${3 * evidenceBlocks} on, compacted: ${megabytes(least).trim()} to ${megabytes(most).trim()} MB`)
}

/** Computes what a node takes at the default evidence age, from bytes of old and new blocks in a chain of so many validators. */
async function measureSample(validators: number): Promise<void> {
  await withHome(undefined, async (home) => {
    let sizes: Sizes | undefined
    let moved = 0
    await makeBigChain({
      homedir: home,
      ...SIZE,
      blocks: sample,
      validators,
      signers: validators,
      genesisTimeMs: GENESIS_TIME_MS,
      hasChangingRoots: true,
      // Nothing is dropped.
      adapt: withEvidenceAge(DEFAULT_EVIDENCE_BLOCKS),
      upkeep: nodeUpkeep(SAMPLE_HISTORY, async (database, height) => {
        if (height !== sample) return
        moved = readMoved(database)
        if (moved === 0) throw new Error('--sample is too short: no block has left LevelDB')
        await database.compact(Uint8Array.of(0), Uint8Array.of(0xff))
        sizes = await sizesOf(database)
      }),
    })
    const of = (...columns: string[]): number => columns.reduce((sum, name) => sum + sizes!.columns.get(name)!, 0)
    const old = sizes!.segments / moved + of('proposerPriorities', 'proposerPrioritiesIndex') / sample
    const recent = of('header', 'blockHash', 'consensusBlock', 'consensusHash', 'results') / (sample - moved)
    const recentBlocks = blockHistory + 8_192
    const total = old * DEFAULT_EVIDENCE_BLOCKS + recent * recentBlocks
    console.log(
      `${String(validators).padStart(4)} validators: ${old.toFixed(0)} bytes for an old block, ${recent.toFixed(0)} for one of the newest ` +
        `${recentBlocks}: ${megabytes(total).trim()} MB with headers of ${DEFAULT_EVIDENCE_BLOCKS} blocks`,
    )
  })
}

await withHome(values.home, measureNode)
console.log('\nComputed for the evidence age of a default genesis, with empty blocks:')
for (const validators of [1, 50]) await measureSample(validators)
