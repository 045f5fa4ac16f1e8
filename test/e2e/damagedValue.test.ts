import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { createWalletClient, type Hex, http } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { accountKey, codeKey } from '../../src/state/flatState.ts'
import { Column, columnKey } from '../../src/storage/columns.ts'
import { variants } from '../propertyRuns.ts'
import { ACCOUNTS, CHAIN_ID, GWEI, VAULT_ABI, vaultBytecode, viemChain } from './devChain.ts'
import { mined, post, rpc } from './rpc.ts'
import { runCoind } from './runCoind.ts'
import { freePort, startNode } from './startNode.ts'

const EXIT_DATA = 65
const TIMEOUT_MS = 90_000
const ENVIRONMENT = { NETWORK: 'devnet' }
/** It has done nothing since the genesis. */
const IDLE = ACCOUNTS[5]!

let directory: string
let homes = 0
/** in the chain */
let contract: { readonly address: Hex; readonly codeHash: Hex }

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-damaged-'))
  const home = join(directory, 'whole')
  const node = await startNode({ homedir: home })
  const transport = http(node.url)
  const writer = createWalletClient({ chain: viemChain(node.url), transport, account: ACCOUNTS[1]! })
  const created = await writer.deployContract({ abi: VAULT_ABI, bytecode: vaultBytecode(), args: [7n], value: 3n })
  const address = (await mined(node.url, created)).contractAddress!
  const { codeHash } = await rpc<{ readonly codeHash: Hex }>(node.url, 'eth_getProof', address, [], 'latest')
  contract = { address, codeHash }
  expect(await node.kill('SIGTERM')).toBe(0)
})
afterAll(() => rmSync(directory, { recursive: true }))

/** A data directory in which one bit of every value that `isDamaged` chooses is flipped. */
async function damagedHome(isDamaged: (key: Uint8Array) => boolean): Promise<string> {
  const home = join(directory, `home-${++homes}`)
  cpSync(join(directory, 'whole'), home, { recursive: true })
  const encodings = { keyEncoding: 'view', valueEncoding: 'view' } as const
  const level = new ClassicLevel<Uint8Array, Uint8Array>(dataPaths(home).db, encodings)
  for await (const [key, stored] of level.iterator()) {
    if (!isDamaged(key)) continue
    const changed = Uint8Array.from(stored)
    changed[0]! ^= 1
    await level.put(key, changed)
  }
  await level.close()
  return home
}

const isKey =
  (wanted: Uint8Array) =>
  (key: Uint8Array): boolean =>
    Buffer.compare(key, wanted) === 0

async function transfer(): Promise<Hex> {
  const fees = { gas: 21_000n, maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI }
  return IDLE.signTransaction({ type: 'eip1559', chainId: CHAIN_ID, nonce: 0, to: IDLE.address, ...fees })
}

const idle = accountKey(hexToBytes(IDLE.address))

describe('one flipped bit of a value', () => {
  const READS = [
    [
      'view',
      'code',
      () => codeKey(hexToBytes(contract.codeHash)),
      'eth_call',
      async () => [{ to: contract.address }, 'latest'],
    ],
    ['socket', 'account', () => idle, 'eth_getBalance', async () => [IDLE.address, 'latest']],
    ['pool', 'account', () => idle, 'eth_sendRawTransaction', async () => [await transfer()]],
  ] as const
  it.each(variants(READS, 1))('ends the node when a %s thread reads it', async (_, column, keyOf, method, params) => {
    const key = keyOf()
    const homedir = await damagedHome(isKey(key))
    const node = await startNode({ command: 'start', homedir, environment: ENVIRONMENT })
    const exit = new Promise<number | null>((resolve) => node.process.once('exit', resolve))
    const timer = setTimeout(() => node.process.kill('SIGKILL'), TIMEOUT_MS)
    const answer = await post(node.url, { method, params: await params() }).catch((error: unknown) => ({ error }))
    expect(await exit).toBe(EXIT_DATA)
    clearTimeout(timer)
    expect(answer).not.toHaveProperty('result')
    const name = Buffer.from(key.subarray(1)).toString('hex')
    expect(node.output()).toContain(
      `${dataPaths(homedir).db} is damaged (the value of ${column} 0x${name} does not match`,
    )
  })

  const EXECUTIONS = [
    ['executes a block', 'trieNode', (key: Uint8Array) => key[0] === Column.trieNode],
    ['starts', 'chainMeta', isKey(columnKey(Column.chainMeta, new TextEncoder().encode('head')))],
  ] as const
  it.each(variants(EXECUTIONS, 1))('ends the node when the executor %s with it', async (_, column, isDamaged) => {
    const homedir = await damagedHome(isDamaged)
    const ports = { RPC_PORT: String(await freePort()), P2P_PORT: String(await freePort()), METRICS_PORT: '0' }
    const environment = { ...ENVIRONMENT, ...ports, HOMEDIR: homedir }
    const { code, output } = await runCoind(['start'], { environment, killAfterMs: TIMEOUT_MS })
    expect(code).toBe(EXIT_DATA)
    expect(output).toContain(`${dataPaths(homedir).db} is damaged (the value of ${column} 0x`)
  })
})
