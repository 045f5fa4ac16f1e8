import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { checkRollback, rollback } from '../../../src/app/rollback.ts'
import { openChainReader } from '../../../src/chain/store.ts'
import type { DecidedBlock } from '../../../src/consensus/application.ts'
import { advanceState } from '../../../src/consensus/consensusState.ts'
import { MsgSend } from '../../../src/modules/bank/messages.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { bytesKey, hexToBytes } from '../../../src/primitives/bytes.ts'
import { createViewCaches, openView } from '../../../src/state/view.ts'
import type { WorldState } from '../../../src/state/world.ts'
import type { WriteBatch } from '../../../src/storage/batch.ts'
import { Column } from '../../../src/storage/columns.ts'
import { Database } from '../../../src/storage/database.ts'
import { anyOf, signTestTransaction } from '../../native/signTransaction.ts'
import { firstSeed, runs } from '../../propertyRuns.ts'
import { setPower } from '../modules/staking/setPower.ts'
import { createRandom, describeState, randomChange } from '../state/randomChain.ts'
import { WALLET_KEY } from './testChain.ts'
import {
  blockTimeMs,
  type NetworkNode,
  type NodeOptions,
  networkGenesis,
  openNetworkNode,
  proposeBlock,
  scriptedHooks,
  testValidator,
} from './testNetwork.ts'

const account = privateKeyToAccount(WALLET_KEY)
const GENESIS = networkGenesis(4)
/** Initialization code of a contract that logs what it is called with: CALLDATACOPY, LOG0. */
const LOGGER = '0x600b600a600039600b6000f3366000600037366000a000' as const

let nodes: NetworkNode[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const node of nodes) await node.close()
  nodes = []
})

/** What a block's end does besides: random changes of accounts, storage and native entries, wipes, and other validators. */
function script(seed: number): (height: number, world: WorldState) => void {
  return (height, world) => {
    const random = createRandom(seed * 1_000 + height)
    for (let step = random(12); step > 0; step--) randomChange(world, random)
    if (random(5) > 0) return
    const { operator, key } = testValidator(3 + random(3))
    const context = { world, block: { height, timeMs: blockTimeMs(height) } }
    setPower(context, { operator, publicKey: key.publicKey, power: BigInt(random(3) * 50) })
  }
}

async function open(seed: number, options: NodeOptions = {}): Promise<NetworkNode> {
  const node = await openNetworkNode(GENESIS, { hooks: scriptedHooks(script(seed)), ...options })
  nodes.push(node)
  return node
}

/** EVM transfers and calls with logs, and native transactions: of each block as many as `random` says. */
async function transactions(nonce: number, random: (below: number) => number): Promise<Uint8Array[]> {
  const raws: Uint8Array[] = []
  for (let count = random(3); count > 0; count--) {
    const sequence = nonce + raws.length
    const fields = {
      chainId: 76287,
      type: 'eip1559',
      gas: 100_000n,
      maxFeePerGas: 10n ** 10n,
      nonce: sequence,
    } as const
    if (random(3) === 0) {
      const to = toBech32(new Uint8Array(20).fill(1 + random(9)))
      const message = anyOf(MsgSend, {
        fromAddress: toBech32(hexToBytes(account.address)),
        toAddress: to,
        amount: [{ denom: 'acoin', amount: 7n }],
      })
      const signers = [{ privateKey: hexToBytes(WALLET_KEY), sequence }]
      raws.push(signTestTransaction({ messages: [message], signers, gasLimit: 100_000n }))
    } else if (random(2) === 0) {
      raws.push(hexToBytes(await account.signTransaction({ ...fields, data: LOGGER })))
    } else {
      raws.push(hexToBytes(await account.signTransaction({ ...fields, to: account.address, value: 1n })))
    }
  }
  return raws
}

/** Lets the node decide blocks up to `height`. */
async function extend(
  node: NetworkNode,
  height: number,
  seed: number,
  each?: () => Promise<void>,
): Promise<DecidedBlock[]> {
  const decisions: DecidedBlock[] = []
  const random = createRandom(seed)
  for (let state = await node.state(); state.lastHeight < height; ) {
    const raws = await transactions(await nonceOf(node), random)
    const decided = await proposeBlock(node, state, {
      raws,
      ...(random(4) === 0 ? { absent: [state.validators.validators.length - 1] } : {}),
    })
    expect(decided.block.txs).toEqual(raws)
    state = advanceState(state, decided, await node.executor.application.finalizeBlock(decided))
    decisions.push(decided)
    await each?.()
  }
  return decisions
}

async function nonceOf(node: NetworkNode): Promise<number> {
  return withDatabase(node, async (database) => {
    const view = openView(database, createViewCaches())
    return Number(
      view.stateAt(openChainReader(database).headHeight).getAccount(hexToBytes(account.address))?.nonce ?? 0n,
    )
  })
}

async function withDatabase<T>(
  node: NetworkNode,
  use: (database: Database) => Promise<T>,
  readOnly = true,
): Promise<T> {
  const database = await Database.open(node.location, { readOnly })
  try {
    return await use(database)
  } finally {
    await database.close()
  }
}

/** All entries of all columns by their keys. What is found by its hash alone may stay of undone blocks, so it comes apart. */
interface Contents {
  readonly entries: Map<string, string>
  readonly byHash: Set<string>
}

function contentsOf(node: NetworkNode): Promise<Contents> {
  return withDatabase(node, async (database) => {
    const contents: Contents = { entries: new Map(), byHash: new Set() }
    for await (const [key, value] of database.entries({ start: Uint8Array.of(0), end: undefined })) {
      if (key[0] === Column.code || key[0] === Column.validatorSet) contents.byHash.add(bytesKey(key))
      else contents.entries.set(Buffer.from(key).toString('hex'), bytesKey(value))
    }
    return contents
  })
}

function expectSame(found: Contents, expected: Contents): void {
  const keys = new Set([...found.entries.keys(), ...expected.entries.keys()])
  expect([...keys].filter((key) => found.entries.get(key) !== expected.entries.get(key))).toEqual([])
  expect([...expected.byHash].filter((key) => !found.byHash.has(key))).toEqual([])
}

/** Rolls the node's database back, as the command does while the node is stopped. */
async function rollBack(node: NetworkNode, height: number, options?: Parameters<typeof rollback>[2]) {
  await node.executor.close()
  const result = await withDatabase(node, (database) => rollback(database, height, options), false)
  await node.reopen()
  return result
}

describe('rollback', () => {
  it.each(Array.from({ length: runs(1) }, (_, run) => firstSeed(1) + run))(
    'leaves the database of a node that stopped there, which goes on with the same or with other blocks (seed %i)',
    async (seed) => {
      const node = await open(seed)
      const heights = [28, 27, 25, 17, 1, 0]
      const contents = new Map([[0, await contentsOf(node)]])
      const decisions = await extend(node, 28, seed, async () => {
        const height = node.executor.head().header.number
        if (heights.includes(height)) contents.set(height, await contentsOf(node))
      })
      for (const height of heights) {
        await rollBack(node, height)
        expectSame(await contentsOf(node), contents.get(height)!)
      }
      for (const decided of decisions.slice(0, 17)) await node.executor.application.finalizeBlock(decided)
      expectSame(await contentsOf(node), contents.get(17)!)
      await rollBack(node, 12)

      const other = await open(seed)
      for (const decided of decisions.slice(0, 12)) await other.executor.application.finalizeBlock(decided)
      expectSame(await contentsOf(node), await contentsOf(other))
      for (const decided of await extend(other, 20, seed + 1)) await node.executor.application.finalizeBlock(decided)
      expectSame(await contentsOf(node), await contentsOf(other))
    },
  )

  it('gives every state that is still kept, when old ones were dropped', async () => {
    const node = await open(3, { pruning: 6 })
    const states: unknown[] = []
    const describe = (): Promise<unknown[]> =>
      withDatabase(node, async (database) => {
        const view = openView(database, createViewCaches())
        const { headHeight } = openChainReader(database)
        const heights = Array.from(
          { length: headHeight - view.oldestState + 1 },
          (_, index) => view.oldestState + index,
        )
        return heights.map((height) => [height, describeState(view.stateAt(height))])
      })
    await extend(node, 16, 3, async () => void states.push((await describe()).at(-1)))
    await rollBack(node, 13)
    expect(await describe()).toEqual(states.slice(9, 13))
    await extend(node, 20, 4)
    expect(await describe()).toHaveLength(7)
  })

  it('goes on where a crash has ended it', async () => {
    const node = await open(5)
    const contents: Contents[] = [await contentsOf(node)]
    await extend(node, 12, 5, async () => void contents.push(await contentsOf(node)))
    await node.executor.close()
    // Each step is written alone, and the process ends in the middle of the third one.
    const write = Database.prototype.write
    let writes = 0
    vi.spyOn(Database.prototype, 'write').mockImplementation(function (this: Database, batch: WriteBatch, options) {
      return ++writes === 3 ? Promise.reject(new Error('killed')) : write.call(this, batch, options)
    })
    const stop = new AbortController()
    const undone = (height: number) =>
      withDatabase(node, (database) => rollback(database, height, { signal: stop.signal }), false)
    expect(await undone(10)).toEqual({ from: 12, to: 10 })
    expect(await undone(9)).toEqual({ from: 10, to: 9 })
    await expect(undone(4)).rejects.toThrow('killed')
    expectSame(await contentsOf(node), contents[9]!)
    expect(await undone(4)).toEqual({ from: 9, to: 4 })
    expectSame(await contentsOf(node), contents[4]!)
    stop.abort()
    expect(await undone(1)).toEqual({ from: 4, to: 4 })
    await node.reopen()
  })

  it('refuses what it cannot do, and changes nothing', async () => {
    const node = await open(7, { pruning: 8, blockHistory: 4 })
    await extend(node, 14, 7)
    await node.executor.close()
    const before = await contentsOf(node)
    for (const [height, why] of [
      [15, 'block 15 is above the newest, 14'],
      [5, 'a rollback can go back to block 6 (PRUNING)'],
      [8, 'a rollback can go back to block 10 (BLOCK_HISTORY)'],
    ] as const) {
      await expect(withDatabase(node, (database) => rollback(database, height), false)).rejects.toThrow(why)
    }
    expectSame(await contentsOf(node), before)
    await withDatabase(node, async (database) => expect(checkRollback(database, 10)).toBe(14))
    await node.reopen()
  })
})
