import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCallsFrom } from '../../../src/chain/indexes/callIndex.ts'
import type { ChainReader } from '../../../src/chain/store/chainReader.ts'
import { ExecutionTimeout } from '../../../src/evm/engine.ts'
import { createReferenceEngine } from '../../../src/evm/engines/reference/referenceEngine.ts'
import { MODULE_HOOKS } from '../../../src/execution/blockHooks.ts'
import { pruneNow } from '../../../src/execution/pruner.ts'
import { precompileTable } from '../../../src/precompiles/registry.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { OWN_SCOPE } from '../../../src/rpc/jsonrpc/callScope.ts'
import type { RpcContext } from '../../../src/rpc/jsonrpc/method.ts'
import { filter } from '../../../src/rpc/trace/traceFilter.ts'
import { createViewCaches, type NodeView, openView } from '../../../src/state/view.ts'
import { Column, columnKey, prefixEnd } from '../../../src/storage/columns.ts'
import { Database } from '../../../src/storage/database.ts'
import { productionEngine } from '../../support/evm/productionEngine.ts'
import { createTestChain, type TestChain, WALLET, WALLET_KEY } from '../../support/execution/testChain.ts'
import { invoke } from '../../support/rpc/invoke.ts'
import { TEST_LIMITS } from '../../support/rpc/memoryNode.ts'

const wallet = privateKeyToAccount(WALLET_KEY)
const PAUSE = async (): Promise<void> => undefined

/** Two accounts without code, two precompiles of Ethereum, and one of this chain. */
const TARGETS = [
  `0x${'a1'.repeat(20)}`,
  `0x${'b2'.repeat(20)}`,
  '0x0000000000000000000000000000000000000002',
  '0x0000000000000000000000000000000000000004',
  '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee',
] as const

/** The same numbers each time (mulberry32). */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const NO_DATA = '5f5f5f5f'
const CALLS = [
  (to: string) => `${NO_DATA}5f73${to}612710f150`,
  (to: string) => `${NO_DATA}6001` + `73${to}612710f150`,
  (to: string) => `${NO_DATA}5f73${to}612710f250`,
  (to: string) => `${NO_DATA}73${to}612710f450`,
  (to: string) => `${NO_DATA}73${to}612710fa50`,
  () => '5f5f5ff050',
  () => '5f5f5f5ff550',
]
/** STOP, REVERT, an invalid opcode */
const ENDINGS = ['00', '5f5ffd', 'fe']

/** Init code that calls, creates, and ends in some way. */
function program(below: (limit: number) => number): `0x${string}` {
  const target = (): string => TARGETS[below(TARGETS.length)]!.slice(2)
  const calls = Array.from({ length: 1 + below(3) }, () => CALLS[below(CALLS.length)]!(target()))
  const end = below(4)
  return `0x${calls.join('')}${ENDINGS[end] ?? `73${target()}ff`}`
}

async function transactionsOf(height: number): Promise<readonly Uint8Array[]> {
  const below = numbersFrom(height)
  if (height % 4 === 0) return []
  const fields = { chainId: 76287, type: 'eip1559', gas: 300_000n, maxFeePerGas: 10n ** 10n } as const
  const nonce = nonceBefore(height)
  const creation = await wallet.signTransaction({ ...fields, nonce, data: program(below), value: 3n })
  const transfer = { nonce: nonce + 1, to: TARGETS[height % TARGETS.length]!, value: 1n } as const
  return [creation, await wallet.signTransaction({ ...fields, ...transfer })].map(hexToBytes)
}

/** Two transactions in each block but every fourth. */
function nonceBefore(height: number): number {
  return 2 * (height - 1 - Math.floor((height - 1) / 4))
}

async function produce(chain: TestChain, first: number, last: number): Promise<void> {
  for (let height = first; height <= last; height++) await chain.produce(await transactionsOf(height))
}

async function readView<T>({ location }: TestChain, read: (view: NodeView) => Promise<T>): Promise<T> {
  const database = await Database.open(location, { readOnly: true })
  try {
    return await read(openView(database, createViewCaches()))
  } finally {
    await database.close()
  }
}

async function entriesOf({ location }: TestChain): Promise<readonly string[]> {
  const database = await Database.open(location, { readOnly: true })
  const start = columnKey(Column.callTerm)
  const entries = await Array.fromAsync(database.entries({ start, end: prefixEnd(start) }))
  await database.close()
  return entries.map(([key]) => bytesToHex(key))
}

function traced({ chain }: TestChain, view: NodeView, wanted: object): Promise<unknown> {
  const context = {
    view,
    chain,
    limits: { ...TEST_LIMITS, logResults: 10_000 },
    scope: OWN_SCOPE,
    retention: { states: undefined, bodies: undefined },
    monotonicMs: () => performance.now(),
    execution: {
      engine: productionEngine,
      precompiles: precompileTable(chain.registeredPrecompiles),
      hooks: MODULE_HOOKS,
      yieldUntil: (deadlineMs: number) => async () => {
        if (performance.now() > deadlineMs) throw new ExecutionTimeout('deadline')
      },
    },
  } as unknown as RpcContext
  return invoke(filter, context, wanted)
}

const searches = (addresses: readonly string[]): object[] => [
  {},
  ...addresses.flatMap((address) => [{ fromAddress: [address] }, { toAddress: [address] }]),
  ...addresses.flatMap((address, index) => {
    const both = { fromAddress: [address, bytesToHex(WALLET)], toAddress: [TARGETS[index % TARGETS.length]!, address] }
    return [both, { ...both, mode: 'union' }, { ...both, fromBlock: '0x7', count: 3, after: 1 }]
  }),
  { toAddress: Array.from({ length: 300 }, (_, index) => `0x${index.toString(16).padStart(40, '0')}`) },
]

/** All addresses that traces name. */
function addressesIn(traces: unknown): readonly string[] {
  return [...new Set(JSON.stringify(traces).match(/(?<=")0x[0-9a-f]{40}(?=")/g))]
}

const HEIGHT = 24

describe('who called whom', () => {
  let chain: TestChain
  beforeAll(async () => {
    chain = await createTestChain({}, { indexTraces: true })
    await produce(chain, 1, HEIGHT)
  })
  afterAll(() => chain.close())

  it('is found by the index as without it, in fewer blocks', async () => {
    await readView(chain, async (view) => {
      expect(view.chain.callsFrom).toBe(1)
      const unindexed = { ...view, chain: { ...view.chain, callsFrom: Number.POSITIVE_INFINITY } as ChainReader }
      const addresses = addressesIn(await traced(chain, view, {}))
      expect(addresses.length).toBeGreaterThan(20)
      let found = 0
      for (const wanted of searches(addresses.slice(0, 14))) {
        const answer = await traced(chain, view, wanted)
        expect(answer).toEqual(await traced(chain, unindexed, wanted))
        found += (answer as unknown[]).length
      }
      expect(found).toBeGreaterThan(50)
      const first = await view.chain.callHeights([hexToBytes(TARGETS[0])], 1, HEIGHT, PAUSE)
      expect(first.length).toBeGreaterThan(1)
      expect(first.length).toBeLessThan(HEIGHT / 2)
      expect(await view.chain.callHeights([hexToBytes(TARGETS[0])], first[1]!, HEIGHT - 1, PAUSE)).toEqual(
        first.slice(1).filter((height) => height < HEIGHT),
      )
    })
  })

  it.each([
    ['without the index', {}],
    ['on the other engine', { indexTraces: true, engine: createReferenceEngine() }],
    ['with another engine that checks', { indexTraces: true, shadow: createReferenceEngine() }],
  ])('changes no block: %s', async (_, options) => {
    const other = await createTestChain({}, options)
    await produce(other, 1, HEIGHT)
    const [mine, theirs] = await Promise.all([chain, other].map((each) => each.executor.application.info()))
    expect(theirs!.appHash).toEqual(mine!.appHash)
    expect(theirs!.lastBlockId).toEqual(mine!.lastBlockId)
    expect(await entriesOf(other)).toEqual('indexTraces' in options ? await entriesOf(chain) : [])
    await other.close()
  })
})

describe('a node that is killed', () => {
  it('has the calls of the blocks that it has, whatever the setting was', async () => {
    const whole = await createTestChain({}, { indexTraces: true })
    await produce(whole, 1, 9)
    const expected = (await entriesOf(whole)).map((key) => ({ key, height: Number(`0x${key.slice(-12)}`) }))
    await whole.close()
    const keysOf = (isThere: (height: number) => boolean) =>
      expected.filter(({ height }) => isThere(height)).map(({ key }) => key)
    // It is killed after each block.
    const isOn = (height: number) => height < 4 || height > 6
    const chains = [await createTestChain({}, { indexTraces: true })]
    for (let height = 1; height <= 9; height++) {
      await produce(chains.at(-1)!, height, height)
      const chain = await chains.at(-1)!.afterKill({ indexTraces: isOn(height + 1) })
      chains.push(chain)
      expect(await entriesOf(chain)).toEqual(keysOf((at) => at <= height && isOn(at)))
      const callsFrom = isOn(height + 1) ? (height < 4 ? 1 : 7) : Number.POSITIVE_INFINITY
      expect(await readView(chain, async (view) => view.chain.callsFrom)).toBe(callsFrom)
    }
    for (const chain of chains) await chain.close()
  })
})

describe('coind prune', () => {
  it('deletes the index where the setting is off', async () => {
    const chain = await createTestChain({}, { indexTraces: true })
    await produce(chain, 1, 5)
    const entries = await entriesOf(chain)
    const copy = await chain.afterKill({ indexTraces: true })
    await chain.executor.close()
    const database = await Database.open(chain.location)
    const request = { database, pruning: 'archive', blockHistory: 0, index: 'all' } as const
    const progressOf = () => ({ update: () => undefined, end: () => undefined })
    const dropped = { states: 0, bodies: 0, headers: 0, files: 0 }
    expect(await pruneNow({ ...request, progressOf, indexTraces: true })).toEqual({ ...dropped, indexEntries: 0 })
    const step = { entries: 3, bodies: 1 }
    expect(await pruneNow({ ...request, progressOf, step })).toEqual({ ...dropped, indexEntries: entries.length })
    expect(readCallsFrom(database)).toBe(Number.POSITIVE_INFINITY)
    await database.close()
    expect(await entriesOf(chain)).toEqual([])
    expect(await entriesOf(copy)).toEqual(entries)
    await copy.close()
    rmSync(dirname(chain.location), { recursive: true })
  })
})

describe('a node whose setting changes', () => {
  it('uses the index from the last time on that it was switched on', async () => {
    let chain = await createTestChain({}, { indexTraces: true })
    await produce(chain, 1, 5)
    chain = await chain.reopen({ indexTraces: true })
    await produce(chain, 6, 8)
    expect(await readView(chain, async (view) => view.chain.callsFrom)).toBe(1)
    const before = await entriesOf(chain)
    chain = await chain.reopen({ indexTraces: false })
    await produce(chain, 9, 15)
    expect(await readView(chain, async (view) => view.chain.callsFrom)).toBe(Number.POSITIVE_INFINITY)
    expect(await entriesOf(chain)).toEqual(before)
    chain = await chain.reopen({ indexTraces: true })
    await produce(chain, 16, HEIGHT)
    await readView(chain, async (view) => {
      expect(view.chain.callsFrom).toBe(16)
      const unindexed = { ...view, chain: { ...view.chain, callsFrom: Number.POSITIVE_INFINITY } as ChainReader }
      for (const wanted of searches(TARGETS)) {
        expect(await traced(chain, view, wanted)).toEqual(await traced(chain, unindexed, wanted))
      }
    })
    await chain.close()
  })
})
