import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openChainReader } from '../../src/chain/store/chainReader.ts'
import { advanceState } from '../../src/consensus/consensusState.ts'
import { exportBlocks } from '../../src/datadir/exportBlocks.ts'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { Database } from '../../src/storage/database.ts'
import { WALLET_KEY } from '../support/execution/testChain.ts'
import { networkGenesis, openNetworkNode, proposeBlock } from '../support/execution/testNetwork.ts'

const BLOCKS = 800
const KILLS = 4
/** Blocks that a child follows before it is killed, more or less: not the same in each round. */
const BLOCKS_BEFORE_KILL = [30, 150, 210, 90]
/** It may follow so many more until it is: all children together never come to the end, however late the kill. */
const BLOCKS_UNTIL_KILLED = 60

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-catch-up-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

/** A chain of empty blocks with some transfers; gives its file and the hashes by height. */
async function makeChain(): Promise<{ readonly path: string; readonly hashes: readonly string[] }> {
  const account = privateKeyToAccount(WALLET_KEY)
  const node = await openNetworkNode(networkGenesis(2))
  let state = await node.state()
  const hashes = [bytesToHex(state.appHash)]
  for (let height = 1, nonce = 0; height <= BLOCKS; height++) {
    const fields = { chainId: 76287, type: 'eip1559', gas: 21_000n, maxFeePerGas: 10n ** 10n } as const
    const raws =
      height % 50 === 0
        ? [hexToBytes(await account.signTransaction({ ...fields, nonce: nonce++, to: account.address, value: 1n }))]
        : []
    const decided = await proposeBlock(node, state, { raws })
    const result = await node.executor.application.finalizeBlock({ ...decided, catchingUp: true })
    state = advanceState(state, decided, result)
    hashes.push(bytesToHex(state.appHash))
  }
  await node.reopen()
  const path = join(directory, 'blocks')
  const database = await Database.open(node.location, { readOnly: true })
  await exportBlocks({
    chain: openChainReader(database),
    genesisHash: node.chain.genesisHash,
    path,
    from: 1,
    to: BLOCKS,
  })
  await database.close()
  await node.close()
  return { path, hashes }
}

/** Runs a child until it has followed `blocks` blocks, or to its end. @returns the last height that it had followed */
async function follow(
  home: string,
  path: string,
  blocks: number,
): Promise<{ readonly last: number; readonly code: number | null }> {
  const script = new URL('./importChild.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [script, home, path, `${blocks + BLOCKS_UNTIL_KILLED}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let last = 0
  let followed = 0
  child.stdout.on('data', (data: Buffer) => {
    const lines = data.toString().trim().split('\n')
    followed += lines.length
    last = Number(lines.at(-1))
    if (followed >= blocks) child.kill('SIGKILL')
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { last, code }
}

it('a node that is killed while it catches up has a whole chain, and goes on from there', async () => {
  const { path, hashes } = await makeChain()
  const home = mkdtempSync(join(directory, 'home-'))
  let before = 0
  for (let kill = 0; kill < KILLS; kill++) {
    const { last, code } = await follow(home, path, BLOCKS_BEFORE_KILL[kill]!)
    expect(code).toBeNull()
    const node = await openNetworkNode(networkGenesis(2), { directory: home })
    const { header, hash } = node.executor.head()
    await node.close()
    expect(header.number).toBeGreaterThanOrEqual(before)
    expect(header.number).toBeLessThanOrEqual(last + 1)
    expect(bytesToHex(hash)).toBe(hashes[header.number])
    before = header.number
  }
  expect(before).toBeGreaterThan(0)
  expect((await follow(home, path, Number.POSITIVE_INFINITY)).code).toBe(0)
  const node = await openNetworkNode(networkGenesis(2), { directory: home })
  expect(bytesToHex(node.executor.head().hash)).toBe(hashes[BLOCKS])
  await node.close()
}, 300_000)
