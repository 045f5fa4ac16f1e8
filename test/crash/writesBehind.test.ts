import { spawnSync } from 'node:child_process'
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
import type { Moment } from './behindChild.ts'

const BLOCKS = 9

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-behind-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

/** A chain with a transfer in each block; gives its file and the hashes by height. */
async function makeChain(): Promise<{ readonly path: string; readonly hashes: readonly string[] }> {
  const account = privateKeyToAccount(WALLET_KEY)
  const node = await openNetworkNode(networkGenesis(2))
  let state = await node.state()
  const hashes = [bytesToHex(state.appHash)]
  for (let height = 1; height <= BLOCKS; height++) {
    const fields = { chainId: 76287, type: 'eip1559', gas: 21_000n, maxFeePerGas: 10n ** 10n } as const
    const raw = await account.signTransaction({ ...fields, nonce: height - 1, to: account.address, value: 1n })
    const decided = await proposeBlock(node, state, { raws: [hexToBytes(raw)] })
    state = advanceState(state, decided, await node.executor.application.finalizeBlock(decided))
    hashes.push(bytesToHex(state.appHash))
  }
  const path = join(directory, 'blocks')
  const database = await Database.open(node.location, { readOnly: true })
  const { genesisHash } = node.chain
  await exportBlocks({ chain: openChainReader(database), genesisHash, path, from: 1, to: BLOCKS })
  await database.close()
  await node.close()
  return { path, hashes }
}

it('a node that is killed at any moment of a write has the block whole or not at all, and goes on from there', async () => {
  const { path, hashes } = await makeChain()
  const home = mkdtempSync(join(directory, 'home-'))
  const script = new URL('./behindChild.ts', import.meta.url).pathname
  /** Executes blocks until it is killed. @returns the last block that it went on from */
  const run = (height: number, moment: Moment): number => {
    const child = spawnSync(process.execPath, [script, home, path, `${height}`, moment], { encoding: 'utf8' })
    expect(child.stderr).toBe('')
    expect(child.signal).toBe('SIGKILL')
    return Number(child.stdout.trim().split('\n').at(-1))
  }
  const head = async (): Promise<number> => {
    const node = await openNetworkNode(networkGenesis(2), { directory: home })
    const { header, hash } = node.executor.head()
    await node.close()
    expect(bytesToHex(hash)).toBe(hashes[header.number])
    return header.number
  }
  expect(run(2, 'before')).toBe(2)
  expect(await head()).toBe(1)
  run(4, 'during')
  expect([3, 4]).toContain(await head())
  expect(run(6, 'next')).toBe(6)
  expect([5, 6]).toContain(await head())
  expect(run(8, 'after')).toBe(8)
  expect(await head()).toBe(8)
}, 300_000)
