import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeAll, expect, it, vi } from 'vitest'
import { openChainReader } from '../../../src/chain/store/chainReader.ts'
import type { DecidedBlock } from '../../../src/consensus/application.ts'
import { advanceState } from '../../../src/consensus/consensusState.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { Database, DatabaseError } from '../../../src/storage/database.ts'
import { WALLET_KEY } from '../../support/execution/testChain.ts'
import {
  type NetworkNode,
  type NodeOptions,
  networkGenesis,
  openNetworkNode,
  proposeBlock,
} from '../../support/execution/testNetwork.ts'

const account = privateKeyToAccount(WALLET_KEY)
const GENESIS = networkGenesis(4)
const BLOCKS = 12

async function transfer(nonce: number): Promise<Uint8Array> {
  const fields = { chainId: 76287, type: 'eip1559', gas: 21_000n, maxFeePerGas: 10n ** 10n, value: 1n } as const
  return hexToBytes(await account.signTransaction({ ...fields, nonce, to: `0x${'aa'.repeat(19)}0${nonce % 8}` }))
}

let decisions: DecidedBlock[]
let hashes: string[]
let nodes: NetworkNode[] = []

async function start(options: NodeOptions = {}): Promise<NetworkNode> {
  const node = await openNetworkNode(GENESIS, options)
  nodes.push(node)
  return node
}

beforeAll(async () => {
  const node = await openNetworkNode(GENESIS)
  let state = await node.state()
  decisions = []
  hashes = []
  for (let nonce = 0; nonce < BLOCKS; nonce++) {
    const decided = await proposeBlock(node, state, { raws: [await transfer(nonce)] })
    state = advanceState(state, decided, await node.executor.application.finalizeBlock(decided))
    decisions.push(decided)
    hashes.push(hashOf(node))
  }
  await node.close()
})

afterEach(async () => {
  vi.restoreAllMocks()
  for (const node of nodes) await node.close()
  nodes = []
})

const finalize = (node: NetworkNode, height: number) => node.executor.application.finalizeBlock(decisions[height - 1]!)
const hashOf = (node: NetworkNode): string => bytesToHex(node.executor.head().hash)
/** Lets everything happen that waits for no write. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 20))

/** What another thread, or a start after a crash, finds. */
async function heightIn(location: string): Promise<number> {
  const database = await Database.open(location, { readOnly: true })
  const { headHeight } = openChainReader(database)
  await database.close()
  return headHeight
}

async function contentOf(node: NetworkNode): Promise<readonly string[]> {
  await node.reopen()
  const database = await Database.open(node.location, { readOnly: true })
  const entries: string[] = []
  for await (const [key, value] of database.entries({ start: new Uint8Array(0), end: undefined })) {
    entries.push(`${bytesToHex(key)} ${bytesToHex(value)}`)
  }
  await database.close()
  return entries
}

/** A disk that takes every write only when it is told to, or refuses it. */
function slowDisk() {
  const { write } = Database.prototype
  const waiting: PromiseWithResolvers<void>[] = []
  vi.spyOn(Database.prototype, 'write').mockImplementation(async function (this: Database, batch, options) {
    const turn = Promise.withResolvers<void>()
    waiting.push(turn)
    await turn.promise
    await write.call(this, batch, options)
  })
  return {
    waiting,
    take: () => waiting.shift()!.resolve(),
    refuse: () => waiting.shift()!.reject(new DatabaseError('io', 'the disk cannot be written: it is full', undefined)),
  }
}

it('builds, checks and executes the next block while the last one is being written', async () => {
  const seen: string[] = []
  const node = await start({
    writesBehind: true,
    onHead: (height) => seen.push(`head ${height}`),
    onPublished: (height) => seen.push(`published ${height}`),
  })
  const disk = slowDisk()
  expect((await finalize(node, 1)).durableHeight).toBe(0)
  expect(hashOf(node)).toBe(hashes[0])
  expect(await node.executor.application.processProposal(decisions[1]!.block)).toEqual({ accepted: true })
  const built = await proposeBlock(node, await node.state(), { raws: [await transfer(1)] })
  expect(built.block.txs).toHaveLength(1)
  expect(await heightIn(node.location)).toBe(0)
  expect(seen).toEqual(['head 1'])

  // The block after it is executed too, but not stored before the first is.
  const second = finalize(node, 2)
  await settled()
  expect(disk.waiting).toHaveLength(1)
  expect(seen).toEqual(['head 1'])
  disk.take()
  expect((await second).durableHeight).toBe(1)
  expect(hashOf(node)).toBe(hashes[1])
  expect(seen).toEqual(['head 1', 'published 1', 'head 2'])
  expect(await heightIn(node.location)).toBe(1)
  disk.take()
  await expect.poll(() => seen.at(-1)).toBe('published 2')
})

it.each(['archive', 4] as const)(
  'writes the same database as a node that waits, with state of %s blocks',
  async (pruning) => {
    const waiting = await start({ pruning })
    for (let height = 1; height <= BLOCKS; height++) await finalize(waiting, height)
    const behind = await start({ pruning, writesBehind: true })
    const disk = slowDisk()
    for (let height = 1; height <= BLOCKS; height++) {
      const finalized = finalize(behind, height)
      await settled()
      if (height > 1) disk.take()
      await finalized
      expect(hashOf(behind)).toBe(hashes[height - 1])
    }
    disk.take()
    vi.restoreAllMocks()
    expect(await contentOf(behind)).toEqual(await contentOf(waiting))
  },
)

it('drops what it has executed for a block that is not decided', async () => {
  const node = await start({ writesBehind: true })
  const disk = slowDisk()
  await finalize(node, 1)
  const state = await node.state()
  const other = await proposeBlock(node, state, { raws: [], round: 1 })
  expect(await node.executor.application.processProposal(other.block)).toEqual({ accepted: true })
  const second = finalize(node, 2)
  disk.take()
  await second
  expect(hashOf(node)).toBe(hashes[1])
  disk.take()
})

it('begins to catch up while a block is being written', async () => {
  const node = await start({ writesBehind: true })
  const disk = slowDisk()
  await finalize(node, 1)
  const second = node.executor.application.finalizeBlock({ ...decisions[1]!, catchingUp: true })
  await settled()
  disk.take()
  await second
  vi.restoreAllMocks()
  await finalize(node, 3)
  expect(hashOf(node)).toBe(hashes[2])
})

it('stops at a write that fails, and goes on from the block before it', async () => {
  const failures: unknown[] = []
  const published: number[] = []
  const directory = mkdtempSync(join(tmpdir(), 'coind-behind-'))
  const options = { directory, writesBehind: true, onPublished: (height: number) => void published.push(height) }
  const node = await openNetworkNode(GENESIS, { ...options, onWriteFailed: (error) => failures.push(error) })
  const disk = slowDisk()
  await finalize(node, 1)
  disk.take()
  await expect.poll(() => published).toEqual([1])
  await finalize(node, 2)
  expect(await node.executor.application.processProposal(decisions[2]!.block)).toEqual({ accepted: true })
  disk.refuse()
  await expect.poll(() => failures).toMatchObject([{ name: 'DatabaseError', message: /cannot be written/ }])
  await expect(node.executor.application.processProposal(decisions[2]!.block)).rejects.toThrow('cannot be written')
  await expect(finalize(node, 3)).rejects.toThrow('cannot be written')
  expect(disk.waiting).toHaveLength(0)
  expect(published).toEqual([1])
  await expect(node.executor.close()).rejects.toThrow('cannot be written')
  vi.restoreAllMocks()

  const again = await start(options)
  expect(again.executor.head().header.number).toBe(1)
  for (const height of [2, 3]) await finalize(again, height)
  expect(hashOf(again)).toBe(hashes[2])
  await again.close()
  nodes = []
  rmSync(directory, { recursive: true })
})

it('leaves whole blocks on the disk at every moment', async () => {
  const node = await start({ writesBehind: true })
  const disk = slowDisk()
  const copies: [string, number][] = []
  const copy = (height: number): void => {
    const directory = mkdtempSync(join(tmpdir(), 'coind-behind-'))
    cpSync(dirname(node.location), directory, { recursive: true, filter: (path) => !path.endsWith('LOCK') })
    copies.push([directory, height])
  }
  await finalize(node, 1)
  copy(0)
  disk.take()
  await node.executor.application.processProposal(decisions[1]!.block)
  await expect.poll(() => heightIn(node.location)).toBe(1)
  await finalize(node, 2)
  copy(1)
  disk.take()
  vi.restoreAllMocks()
  for (const [directory, height] of copies) {
    const restarted = await start({ directory, writesBehind: true })
    expect(restarted.executor.head().header.number).toBe(height)
    for (let next = height + 1; next <= 4; next++) await finalize(restarted, next)
    expect(hashOf(restarted)).toBe(hashes[3])
    await restarted.close()
    nodes = nodes.filter((other) => other !== restarted)
    rmSync(directory, { recursive: true })
  }
})
