import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { UnsignedTransaction } from '../../src/chain/block/transaction.ts'
import { formatGenesis } from '../../src/chain/genesis/genesis.ts'
import { advanceState } from '../../src/consensus/consensusState.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { createNodeKey } from '../../src/p2p/nodeKey.ts'
import type { Address } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import { rpc } from '../../test/e2e/rpc.ts'
import { freePort, startNode, type TestNode } from '../../test/e2e/startNode.ts'
import { networkGenesis, openNetworkNode, proposeBlock } from '../../test/support/execution/testNetwork.ts'
import { accountOf, GWEI, sign } from '../load/sign.ts'
import type { Row } from '../report.ts'

const VALIDATORS = 4
/** Accounts with coins in the chain that is made. */
export const SENDERS = Array.from({ length: 200 }, (_, index) => accountOf(`join ${index}`))
const RECIPIENTS = Array.from({ length: 20_000 }, (_, index) => keccak256(Buffer.from(`to ${index}`)).slice(12))
const SEEDS = 2
const POLL_MS = 100

/**
 * Measures how fast a node that joins a network of four validators catches up with a chain of this
 * length, from peers of this machine. First comes a stretch of empty blocks, then full ones; at the
 * end the state roots are compared.
 */
export async function measureJoin(emptyBlocks: number, fullBlocks: number, transfers: number): Promise<readonly Row[]> {
  const directory = mkdtempSync(join(tmpdir(), 'coind-bench-join-'))
  const running: TestNode[] = []
  try {
    const genesis = await produce(join(directory, 'chain'), [
      ...emptyBlocksOf(emptyBlocks),
      ...transferBlocks(fullBlocks, transfers),
    ])
    const seeds = []
    for (let index = 0; index < SEEDS; index++) {
      const home = join(directory, `seed${index}`)
      makeHome(home, genesis)
      cpSync(join(directory, 'chain', 'db'), dataPaths(home).db, { recursive: true })
      const { id } = createNodeKey(dataPaths(home).nodeKey, randomBytes(32))
      const p2pPort = await freePort()
      const node = await start(home, { P2P_PORT: String(p2pPort) })
      running.push(node)
      seeds.push({ id, peer: `127.0.0.1:${p2pPort}`, node })
    }
    const home = join(directory, 'joining')
    makeHome(home, genesis)
    const begin = performance.now()
    const joining = await start(home, {
      PERSISTENT_PEERS: seeds.map(({ id, peer }) => `${id}@${peer}`).join(','),
    })
    running.push(joining)
    const firstBlocks = Math.floor(emptyBlocks / 10)
    const emptyBegun = await reached(joining, firstBlocks)
    const emptyDone = await reached(joining, emptyBlocks)
    const emptySeconds = (emptyDone.atMs - emptyBegun.atMs) / 1000
    const allDone = await reached(joining, emptyBlocks + fullBlocks)
    const [own, theirs] = await Promise.all(
      [joining, seeds[0]!.node].map(async ({ url }) =>
        rpc<{ stateRoot: string }>(url, 'eth_getBlockByNumber', 'latest', false),
      ),
    )
    if (own!.stateRoot !== theirs!.stateRoot)
      throw new Error(`the roots differ: ${own!.stateRoot} ${theirs!.stateRoot}`)
    const fullSeconds = (allDone.atMs - emptyDone.atMs) / 1000
    return [
      { name: 'join: from the start to all blocks', unit: 's', value: (allDone.atMs - begin) / 1000 },
      { name: 'join: empty blocks', unit: 'per second', value: (emptyDone.height - emptyBegun.height) / emptySeconds },
      { name: 'join: transfers in full blocks', unit: 'per second', value: transfers / fullSeconds },
    ]
  } finally {
    for (const node of running) await node.kill('SIGKILL')
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Transactions of blocks one after the other, as they are in them. */
export type Blocks = readonly (readonly Uint8Array[])[]

export function emptyBlocksOf(count: number): Blocks {
  return Array.from({ length: count }, () => [])
}

/** Makes blocks with transfers of coins, spread evenly over them, by all senders in turn: their first transactions. */
export function transferBlocks(count: number, transfers: number): Blocks {
  return spread(count, transfers, (index) => {
    const nonce = BigInt(Math.floor(index / SENDERS.length))
    return signedBy(index % SENDERS.length, { nonce, to: recipientOf(index), value: 1n })
  })
}

/** @param make returns the transaction with this index */
export function spread(blocks: number, transactions: number, make: (index: number) => Uint8Array): Blocks {
  const perBlock = Math.ceil(transactions / blocks)
  return Array.from({ length: blocks }, (_, block) => {
    const first = block * perBlock
    return Array.from({ length: Math.max(0, Math.min(perBlock, transactions - first)) }, (_, at) => make(first + at))
  })
}

/** Returns the recipient of a transfer. */
export function recipientOf(index: number): Address {
  return RECIPIENTS[index % RECIPIENTS.length]!
}

export function signedBy(sender: number, fields: Partial<UnsignedTransaction>): Uint8Array {
  return hexToBytes(sign(SENDERS[sender]!, { maxFeePerGas: 500n * GWEI, ...fields }).raw)
}

/** Makes the chain to catch up with, in a database that is closed afterwards. */
export async function produce(directory: string, blocks: Blocks) {
  const genesis = networkGenesis(VALIDATORS, {
    blockGasLimit: 150_000_000n,
    fundedAccounts: SENDERS.map(({ address }) => ({ address, balanceAcoin: 10n ** 21n })),
  })
  mkdirSync(directory, { recursive: true })
  const node = await openNetworkNode(genesis, { directory, pruning: 50_000 })
  let state = await node.state()
  for (const raws of blocks) {
    const decided = await proposeBlock(node, state, { raws: [...raws] })
    const { application } = node.executor
    state = advanceState(state, decided, await application.finalizeBlock({ ...decided, catchingUp: true }))
  }
  await node.close()
  return genesis
}

export function makeHome(home: string, genesis: Parameters<typeof formatGenesis>[0]): void {
  mkdirSync(dataPaths(home).config, { recursive: true, mode: 0o700 })
  writeFileSync(dataPaths(home).genesis, formatGenesis(genesis))
}

export async function start(homedir: string, environment: Readonly<Record<string, string>>): Promise<TestNode> {
  const rpcPort = await freePort()
  const common = { NETWORK: 'devnet', P2P_HOST: '127.0.0.1', LOG_FORMAT: 'json' }
  return startNode({ command: 'start', homedir, rpcPort, environment: { ...common, ...environment } })
}

/** Waits until the node has this block, and returns when, and the block that it has then. */
async function reached(node: TestNode, wanted: number): Promise<{ readonly height: number; readonly atMs: number }> {
  for (;;) {
    const height = Number(await rpc<string>(node.url, 'eth_blockNumber'))
    if (height >= wanted) return { height, atMs: performance.now() }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
