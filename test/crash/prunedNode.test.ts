import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeBigChain } from '../../bench/bigChain/makeBigChain.ts'
import type { Genesis } from '../../src/chain/genesis/genesisSchema.ts'
import { SEGMENT_BLOCKS } from '../../src/chain/segments/segments.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { directoryBytes } from '../../src/storage/diskBytes.ts'
import { SEGMENT_EXTENSION, segmentsDirectory } from '../../src/storage/segmentFile.ts'
import { rpc } from '../e2e/rpc.ts'
import { runCoind } from '../e2e/runCoind.ts'
import { startNode, type TestNode } from '../e2e/startNode.ts'
import { firstSeed } from '../propertyRuns.ts'
import { createRandom } from '../support/state/randomChain.ts'
import { readChain } from './compareChains.ts'

/** Milliseconds that a node serves before it is killed, or after something has changed that the test waits for. */
const MAX_SERVE_MS = 8_000
const LEAST_KILLS = 6
const BLOCK_HISTORY = 1_200
const PRUNING = 1_000
/** With the next blocks nothing needs those of the first two segments. */
const BLOCKS = 2 * SEGMENT_BLOCKS + BLOCK_HISTORY + 100
const BLOCK_MS = 50
const EVIDENCE_BLOCKS = 100
/** What is kept of old blocks for ever. */
const LIGHT_BLOCKS = [1_000, 8_000, 16_000]
/** How long all of it may take on a slow machine. */
const DROPPED_MS = 1_500_000

const ENVIRONMENT = {
  NETWORK: 'devnet',
  BLOCK_HISTORY: `${BLOCK_HISTORY}`,
  PRUNING: `${PRUNING}`,
  RPC_THREADS: '1',
  VIEW_THREADS: '1',
}

let directory: string
let home: string
/** consensus hashes of the chain */
const hashes = new Map<number, string>()

/** So that evidence, and the trust in a header, are over soon. */
function withShortTimes(genesis: Genesis): Genesis {
  const { consensus, app_state } = genesis
  const seconds = (EVIDENCE_BLOCKS * BLOCK_MS) / 1_000
  const evidence = {
    ...consensus.params.evidence,
    max_age_num_blocks: `${EVIDENCE_BLOCKS}`,
    max_age_duration: `${seconds}000000000`,
  }
  const { staking, timing } = app_state
  return {
    ...genesis,
    consensus: { ...consensus, params: { ...consensus.params, evidence } },
    app_state: {
      ...app_state,
      staking: { ...staking, params: { ...staking.params, unbonding_time: `${seconds}s` } },
      timing: { ...timing, params: { ...timing.params, block_interval_ms: `${BLOCK_MS}` } },
    },
  }
}

function start(): Promise<TestNode> {
  return startNode({ command: 'start', homedir: home, environment: ENVIRONMENT })
}

async function oldestOf(node: TestNode): Promise<number> {
  const answer = (await (await fetch(`${node.url}rpc/status`)).json()) as {
    readonly result: { readonly sync_info: { readonly earliest_block_height: string } }
  }
  return Number(answer.result.sync_info.earliest_block_height)
}

/** Names of the files of old blocks, complete ones alone. */
function segmentFiles(): string {
  const place = segmentsDirectory(dataPaths(home).db)
  if (!existsSync(place)) return ''
  return readdirSync(place)
    .filter((name) => name.endsWith(SEGMENT_EXTENSION))
    .sort()
    .join(' ')
}

/** What clients are told of what is kept fits together. */
async function expectConsistent(node: TestNode): Promise<void> {
  const { blocks } = await rpc<{ readonly blocks: { readonly oldestBlock: string } }>(node.url, 'eth_capabilities')
  const oldest = Number(blocks.oldestBlock)
  if (oldest > 1) {
    const refusal = await rpc(node.url, 'eth_getBlockByNumber', '0x1', true).catch((error: Error) => error.message)
    // Meanwhile more may have been dropped.
    const named = Number(/oldest block is (\d+)/.exec(String(refusal))?.[1])
    expect(named, String(refusal)).toBeGreaterThanOrEqual(oldest)
  }
  for (const height of LIGHT_BLOCKS) {
    const answer = (await (await fetch(`${node.url}rpc/commit?height=${height}`)).json()) as {
      readonly result?: {
        readonly signed_header: { readonly commit: { readonly block_id: { readonly hash: string } } }
      }
    }
    expect(answer.result?.signed_header.commit.block_id.hash.toLowerCase()).toBe(hashes.get(height))
  }
}

/** Of a copy, so that the next start finds what the killed node has left. */
async function expectWhole(least: number): Promise<number> {
  const copy = join(directory, 'copy')
  cpSync(home, copy, { recursive: true })
  try {
    const environment = { ...ENVIRONMENT, HOMEDIR: copy }
    expect(await runCoind(['repair', '--dry-run'], { environment })).toEqual({
      code: 0,
      output: 'No damage was found\n',
    })
    return await readChain(copy, (chain) => {
      expect(chain.base).toBeGreaterThanOrEqual(least)
      for (let height = Math.max(1, chain.base); height <= BLOCKS; height += 97) {
        expect(chain.blockId(height) && bytesToHex(chain.blockId(height)!.hash).slice(2)).toBe(hashes.get(height))
      }
      return chain.base
    })
  } finally {
    rmSync(copy, { recursive: true })
  }
}

describe('a node that drops old blocks', () => {
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coind-pruned-'))
    home = join(directory, 'home')
    await makeBigChain({
      ...{ accounts: 100, slots: 10, delegations: 0, validators: 1, signers: 1 },
      homedir: home,
      blocks: BLOCKS,
      genesisTimeMs: Date.now() - BLOCKS * BLOCK_MS - 60_000,
      adapt: withShortTimes,
    })
    await readChain(home, (chain) => {
      for (let height = 1; height <= BLOCKS; height++) {
        hashes.set(height, bytesToHex(chain.blockId(height)!.hash).slice(2))
      }
    })
  }, 300_000)
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  it('is killed again and again, and goes on until two segments are gone', { timeout: 2 * DROPPED_MS }, async () => {
    const random = createRandom(firstSeed(51))
    const bytesBefore = await directoryBytes(dataPaths(home).db)
    const deadline = performance.now() + DROPPED_MS
    let [oldest, base, kills] = [0, 0, 0]
    while (base < 2 * SEGMENT_BLOCKS) {
      const node = await start()
      // A file that was not complete is made anew by the next start: every second one is killed only after files have changed.
      const before = segmentFiles()
      while (kills % 2 === 1 && segmentFiles() === before && performance.now() < deadline) {
        await sleep(20)
      }
      await sleep(random(MAX_SERVE_MS))
      const now = await oldestOf(node)
      expect(now).toBeGreaterThanOrEqual(oldest)
      oldest = now
      expect(performance.now(), `oldest block ${oldest}, first header ${base}`).toBeLessThan(deadline)
      await expectConsistent(node)
      await node.kill('SIGKILL')
      kills++
      base = await expectWhole(base)
    }
    console.log(`${kills} kills until the first header was that of ${base}, and the oldest block ${oldest}`)
    expect(kills).toBeGreaterThanOrEqual(LEAST_KILLS)
    // A start removes the files that the killed one could not.
    const node = await start()
    await expectConsistent(node)
    expect(await node.kill('SIGTERM')).toBe(0)
    const { db } = dataPaths(home)
    // Where the machine is busy, the chain may have got to the end of the next segment.
    const first = segmentFiles().split('-')[0]!
    expect(first === '' || Number(first) >= 2 * SEGMENT_BLOCKS, segmentFiles()).toBe(true)
    const environment = { ...ENVIRONMENT, HOMEDIR: home }
    const checked = await runCoind(['debug', 'invariants'], { environment })
    expect(checked).toMatchObject({ code: 0, output: expect.stringContaining('all invariants hold') })
    expect(await runCoind(['compact'], { environment })).toMatchObject({ code: 0 })
    // Although the chain is longer by the blocks of all these starts.
    expect(await directoryBytes(db)).toBeLessThan(bytesBefore)
  })
})
