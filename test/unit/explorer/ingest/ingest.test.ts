import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { IndexDatabase } from '../../../../explorer/database/indexDatabase.ts'
import { openDatabase } from '../../../../explorer/database/open.ts'
import { ingest } from '../../../../explorer/ingest/ingest.ts'
import type { NodeClient } from '../../../../explorer/node/nodeClient.ts'

const hashOf = (chain: number, height: number): string => `0x${chain}${String(height).padStart(63, '0')}`

/** A node whose blocks are empty. `chain` is another number after a reset. */
function emptyChain(state: { head: number; chain: number; earliest: number }): NodeClient {
  const block = (height: number) => ({
    number: `0x${height.toString(16)}`,
    hash: hashOf(state.chain, height),
    parentHash: hashOf(state.chain, height - 1),
    miner: `0x${'00'.repeat(20)}`,
    gasUsed: '0x0',
    gasLimit: '0x1',
    baseFeePerGas: '0x1',
    size: '0x1',
    transactions: [],
  })
  const consensus = (height: number) => ({
    block_id: { hash: '00'.repeat(32) },
    block: {
      header: { height: String(height), time: '2026-01-01T00:00:00Z', proposer_address: '00'.repeat(20) },
      data: { txs: [] },
    },
  })
  return {
    ethereum: (calls) =>
      Promise.resolve(
        calls.map(({ method, params }) => {
          if (method === 'eth_chainId') return '0x1'
          if (method === 'eth_blockNumber') return `0x${state.head.toString(16)}`
          const height = Number((params as readonly string[])[0])
          return height >= state.earliest && height <= state.head ? block(height) : null
        }),
      ),
    comet: (calls) =>
      Promise.resolve(
        calls.map(({ method, params }) => {
          const height = Number((params as { readonly height?: string }).height)
          if (method === 'block') return consensus(height)
          if (method === 'block_results') return { txs_results: null, finalize_block_events: [] }
          if (method === 'validators') return { validators: [], total: '0' }
          if (method === 'genesis') return { genesis: { app_state: { bank: { balances: [] } } } }
          return {
            node_info: { network: 'coin-1' },
            sync_info: { earliest_block_height: String(state.earliest), latest_block_height: String(state.head) },
          }
        }),
      ),
    rest: () => Promise.resolve({ denom_owners: [], validators: [], info: [], pagination: { next_key: null } }),
  }
}

let directory: string
let database: IndexDatabase
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-ingest-'))
  database = await openDatabase(join(directory, 'index.sqlite'))
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})

/** Indexes, and changes the node as `turns` say, one each time that the index has nothing to do. */
async function run(turns: readonly Partial<{ head: number; chain: number; earliest: number }>[]): Promise<string[]> {
  const stop = new AbortController()
  const state = { head: 5, chain: 1, earliest: 1 }
  const left = [...turns]
  const warnings: string[] = []
  await ingest({
    database: (await database.lock())!,
    node: emptyChain(state),
    stop: stop.signal,
    logger: { info: () => undefined, warn: (fields: unknown) => warnings.push(JSON.stringify(fields)) },
    nextHead: () => {
      const turn = left.shift()
      if (turn === undefined) stop.abort()
      else Object.assign(state, turn)
      return Promise.resolve()
    },
    onIndexed: () => undefined,
  })
  return warnings
}

const heights = async (): Promise<number[]> =>
  (await database.queries.selectFrom('block').select('height').orderBy('height').execute()).map(({ height }) => height)

it('stores each block once while the height of the node goes back and forth', async () => {
  const warnings = await run([{ head: 3 }, { head: 7 }, { head: 2 }, { head: 4 }, { head: 120 }])
  expect(await heights()).toEqual(Array.from({ length: 120 }, (_, index) => index + 1))
  expect(warnings.length).toBe(2)
})

it.each([
  ['shorter', { chain: 2, head: 3 }],
  ['longer', { chain: 2, head: 9 }],
])('stops when the network was reset and is %s than the index, without a block of it', async (_, reset) => {
  await expect(run([reset])).rejects.toThrow(/the network was reset.*EXPLORER_DATABASE/)
  expect(await heights()).toEqual([1, 2, 3, 4, 5])
})

it('stops when the node has dropped the blocks that come next', async () => {
  await expect(run([{ head: 100, earliest: 50 }])).rejects.toThrow('needs blocks 6 to 49, which the node has deleted')
})
