import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { createAddress } from '../../src/evm/contractAddress.ts'
import { tokenCode, transferData } from '../contracts/token.ts'
import {
  type Blocks,
  emptyBlocksOf,
  makeHome,
  produce,
  recipientOf,
  SENDERS,
  signedBy,
  spread,
  start,
  transferBlocks,
} from '../parts/join.ts'
import type { Row } from '../report.ts'
import { type BenchExplorer, indexed, type Place, processorMs, runExplorer } from './runExplorer.ts'

interface CatchUpOptions {
  readonly place: Place
  readonly emptyBlocks: number
  /** as many with transfers of coins as with transfers of a token */
  readonly fullBlocks: number
  /** of either kind */
  readonly transfers: number
  readonly explorerFlags: readonly string[]
}

const CREATION_GAS = 6_000_000n
const TOKEN_GAS = 100_000n
const SHARE = 10n ** 18n

/** Measures how fast an explorer catches up with a node on this machine: empty blocks, transfers of coins, transfers of a token. */
export async function measureCatchUp(options: CatchUpOptions): Promise<readonly Row[]> {
  const { place, emptyBlocks, fullBlocks, transfers, explorerFlags } = options
  const directory = mkdtempSync(join(tmpdir(), 'coind-bench-catch-up-'))
  const chain = [
    ...emptyBlocksOf(emptyBlocks),
    ...transferBlocks(fullBlocks, transfers),
    ...tokenBlocks(fullBlocks, transfers),
  ]
  const genesis = await produce(join(directory, 'chain'), chain)
  const home = join(directory, 'node')
  makeHome(home, genesis)
  cpSync(join(directory, 'chain', 'db'), dataPaths(home).db, { recursive: true })
  const node = await start(home, {})
  const explorer = await runExplorer({ nodeUrl: node.url, database: place.database, nodeFlags: explorerFlags })
  try {
    const marks: (Awaited<ReturnType<typeof indexed>> & { readonly usedMs: readonly number[] })[] = []
    const coinStart = emptyBlocks
    const tokenStart = chain.length - fullBlocks
    for (const height of [Math.floor(emptyBlocks / 10), coinStart, tokenStart, chain.length]) {
      const mark = await indexed(explorer, height)
      marks.push({
        ...mark,
        usedMs: [...[explorer.pid, node.process.pid!].map(processorMs), place.processorMs() ?? Number.NaN],
      })
    }
    await checkToken(explorer, transfers)
    const kinds = ['empty blocks', 'coin transfers', 'token transfers']
    return kinds.flatMap((kind, index): Row[] => {
      const [from, to] = [marks[index]!, marks[index + 1]!]
      const blocks = chain.slice(from.height, to.height)
      const count = index === 0 ? blocks.length : blocks.reduce((sum, raws) => sum + raws.length, 0)
      const seconds = (to.atMs - from.atMs) / 1000
      const each = [0, 1, 2].map((at) => ((to.usedMs[at]! - from.usedMs[at]!) * 1000) / count)
      return [
        { name: `catch-up: ${kind}`, unit: 'per second', value: count / seconds },
        { name: `catch-up: ${kind}, processor of the explorer`, unit: 'µs each', value: each[0]! },
        { name: `catch-up: ${kind}, processor of the node`, unit: 'µs each', value: each[1]! },
        { name: `catch-up: ${kind}, processor of the database`, unit: 'µs each', value: each[2]! },
      ].filter(({ value }) => !Number.isNaN(value))
    })
  } finally {
    await explorer.stop()
    await node.kill('SIGTERM')
    rmSync(directory, { recursive: true, force: true })
  }
}

/**
 * Makes a block in which a token is created and sent to all senders, then blocks in which they
 * transfer it, after {@link transferBlocks}.
 */
function tokenBlocks(fullBlocks: number, transfers: number): Blocks {
  const before = SENDERS.map((_, sender) => Math.max(0, Math.ceil((transfers - sender) / SENDERS.length)))
  const token = createAddress(SENDERS[0]!.address, BigInt(before[0]!))
  const preparing = [signedBy(0, { nonce: BigInt(before[0]!), data: tokenCode(), gasLimit: CREATION_GAS })]
  for (const { address } of SENDERS.slice(1)) {
    const nonce = BigInt(before[0]! + preparing.length)
    preparing.push(signedBy(0, { nonce, to: token, data: transferData(address, SHARE), gasLimit: TOKEN_GAS }))
  }
  const next = before.map((nonce, sender) => nonce + (sender === 0 ? preparing.length : 0))
  const full = spread(fullBlocks, transfers, (index) => {
    const sender = index % SENDERS.length
    const nonce = BigInt(next[sender]!++)
    return signedBy(sender, { nonce, to: token, data: transferData(recipientOf(index), 1n), gasLimit: TOKEN_GAS })
  })
  return [preparing, ...full]
}

/** @throws Error when the index does not have all transfers: some transaction has failed, or the index is wrong */
async function checkToken(explorer: BenchExplorer, transfers: number): Promise<void> {
  const { items } = (await (await fetch(`${explorer.url}api/v1/tokens`)).json()) as {
    readonly items: readonly { readonly address: string; readonly transfers: number }[]
  }
  // The creation mints, then all other senders get some.
  const expected = transfers + SENDERS.length
  if (items[0]?.transfers !== expected)
    throw new Error(`the index has ${items[0]?.transfers} transfers of the token instead of ${expected}`)
}
