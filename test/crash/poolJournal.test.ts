import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { DEVNET_ACCOUNTS } from '../../src/cli/devnetAccounts.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { mined, rpc, until } from '../e2e/rpc.ts'
import { startNode, type TestNode } from '../e2e/startNode.ts'
import { createRandom } from '../support/state/randomChain.ts'
import { findNative, lostTransactions } from './facts.ts'
import { journalRead, killHard } from './killNode.ts'
import { signSend } from './load.ts'

const EVM_ACCOUNT = privateKeyToAccount(DEVNET_ACCOUNTS[1]!.privateKey as Hex)
const NATIVE_ACCOUNT = DEVNET_ACCOUNTS[2]!
const WAITING = 30

let directory: string
let homedir: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-journal-'))
  homedir = join(directory, 'home')
})
afterEach(() => rmSync(directory, { recursive: true }))

const start = (environment: Readonly<Record<string, string>> = {}): Promise<TestNode> =>
  startNode({ homedir, environment: { VIEW_THREADS: '1', RPC_THREADS: '1', ...environment } })

interface Sent {
  readonly hash: string
  readonly raw: Uint8Array
}

async function sendEvm(url: string, nonce: number): Promise<Sent> {
  const signed = await EVM_ACCOUNT.signTransaction({
    type: 'eip1559',
    chainId: 76287,
    nonce,
    gas: 21_000n,
    maxFeePerGas: 100_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
    to: `0x${'77'.repeat(20)}`,
    value: 1n,
  })
  return { hash: await rpc(url, 'eth_sendRawTransaction', signed), raw: hexToBytes(signed) }
}

async function sendNative(url: string, sequence: number): Promise<Sent> {
  const key = hexToBytes(NATIVE_ACCOUNT.privateKey)
  const address = privateKeyToAccount(NATIVE_ACCOUNT.privateKey as Hex).address
  // The first draw of this seed is a transfer that can be paid.
  const raw = signSend(address, key, sequence, createRandom(3))
  const answer = await rpc(`${url}rpc`, 'broadcast_tx_sync', Buffer.from(raw).toString('base64'))
  const { code, hash, log } = answer as { readonly code: number; readonly hash: string; readonly log: string }
  expect(`${code} ${log}`).toBe('0 ')
  return { hash, raw }
}

/** Transactions of both kinds that wait for the first nonces of their senders. */
async function sendWaiting(url: string): Promise<Sent[]> {
  const sent: Sent[] = []
  for (let nonce = 1; nonce <= WAITING; nonce++) {
    sent.push(await sendEvm(url, nonce))
    sent.push(await sendNative(url, nonce))
  }
  return sent
}

function isJournaled({ raw }: Sent): boolean {
  return readFileSync(dataPaths(homedir).poolJournal).includes(raw)
}

const hashesOf = (sent: readonly Sent[]): readonly string[] => sent.map(({ hash }) => hash)

it('has accepted transactions in the pool after a kill, which reach blocks', { timeout: 120_000 }, async () => {
  let node = await start()
  const sent = await sendWaiting(node.url)
  await until('the last transactions in the journal', async () => sent.every(isJournaled))
  await killHard(node)
  // As a kill in the middle of a write leaves it.
  appendFileSync(dataPaths(homedir).poolJournal, readFileSync(dataPaths(homedir).poolJournal).subarray(45, 90))

  node = await start()
  await journalRead(node)
  expect(await lostTransactions(node.url, hashesOf(sent))).toEqual([])
  sent.push(await sendEvm(node.url, 0), await sendNative(node.url, 0))
  for (const { hash } of sent) {
    if (hash.startsWith('0x')) expect((await mined(node.url, hash)).status).toBe('0x1')
    else expect(await until('a native transaction in a block', () => findNative(node.url, hash))).toContain('"code":0')
  }
  await killHard(node)

  // What is in blocks stays out of the pool.
  node = await start()
  await journalRead(node)
  expect(await rpc(node.url, 'txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
  expect(await rpc(`${node.url}rpc`, 'num_unconfirmed_txs')).toMatchObject({ total: '0' })
  expect(existsSync(`${dataPaths(homedir).poolJournal}.aside`)).toBe(false)
  expect(await node.kill('SIGTERM')).toBe(0)
})

it('has all accepted transactions after a stop', { timeout: 120_000 }, async () => {
  let node = await start()
  const sent = await sendWaiting(node.url)
  expect(await node.kill('SIGTERM')).toBe(0)
  node = await start()
  await journalRead(node)
  expect(await lostTransactions(node.url, hashesOf(sent))).toEqual([])
  await killHard(node)

  // Damaged in the middle: the start warns and keeps a copy, and blocks are made.
  const { poolJournal } = dataPaths(homedir)
  const damaged = readFileSync(poolJournal)
  damaged[Math.floor(damaged.length / 2)]! ^= 1
  writeFileSync(poolJournal, damaged)
  node = await start()
  await journalRead(node)
  expect(node.output()).toMatch(/the pool's journal is not whole/)
  expect(readFileSync(`${poolJournal}.aside`)).toEqual(damaged)
  const first = await sendEvm(node.url, 0)
  expect((await mined(node.url, first.hash)).status).toBe('0x1')
  await until('that in the journal', async () => isJournaled(first))
  expect(await node.kill('SIGTERM')).toBe(0)
})

it('writes and reads no journal without POOL_JOURNAL', { timeout: 120_000 }, async () => {
  let node = await start({ POOL_JOURNAL: 'false' })
  await sendWaiting(node.url)
  expect(await node.kill('SIGTERM')).toBe(0)
  expect(existsSync(dataPaths(homedir).poolJournal)).toBe(false)
  node = await start({ POOL_JOURNAL: 'false' })
  expect(await rpc(node.url, 'txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
  expect(await node.kill('SIGTERM')).toBe(0)
})
