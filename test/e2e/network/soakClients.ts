import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { accountOf, sign } from '../../../bench/load/sign.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { JsonRpcError, rpc, rpcBatch } from '../rpc.ts'
import type { NetworkNode } from './localNetwork.ts'

/** One of these is the reason why a transaction that was sent again is not taken: the network has it already. */
const KNOWN = /already known|nonce too low/
const RECEIPTS_AT_ONCE = 200

/** Transactions that nodes took, and what was seen of them. */
export interface SoakTransfers {
  /** hashes that a node answered with, in order */
  readonly sent: readonly string[]
  /** block hash of each transaction whose receipt a client has read */
  readonly receipts: ReadonlyMap<string, string>
  /** Ends it; throws an answer that a node should not have given. */
  stop(): Promise<void>
}

/** The accounts that {@link startSoakTransfers} sends from, one for each node. */
export function soakAccounts(count: number) {
  return Array.from({ length: count }, (_, index) => accountOf(`soak ${index}`))
}

/**
 * Sends transfers, `perSecond` in all, through each running node from an account of its own, and reads their receipts. The same nonce
 * always makes the same transaction: what a killed node had only in its memory is sent again as it was.
 */
export function startSoakTransfers(nodes: readonly NetworkNode[], perSecond: number): SoakTransfers {
  const stopping = new AbortController()
  const sent: string[] = []
  const receipts = new Map<string, string>()
  const accounts = soakAccounts(nodes.length)
  const everyMs = (1_000 * nodes.length) / perSecond

  const send = async (node: NetworkNode, index: number): Promise<void> => {
    const account = accounts[index]!
    const url = `${node.rpcUrl}/`
    let nonce: number | undefined
    let dueMs = performance.now()
    while (!stopping.signal.aborted) {
      try {
        nonce ??= Number(await rpc(url, 'eth_getTransactionCount', bytesToHex(account.address), 'pending'))
        const { raw, hash } = sign(account, { nonce: BigInt(nonce), to: account.address, value: 1n })
        await rpc(url, 'eth_sendRawTransaction', raw).catch((error: unknown) => {
          if (!(error instanceof JsonRpcError && KNOWN.test(error.message))) throw error
        })
        sent.push(hash)
        nonce++
      } catch (error) {
        // It was killed: it is asked again when it is back.
        if (node.isRunning() && !isBroken(error)) throw error
        nonce = undefined
        await sleep(1_000)
        dueMs = performance.now()
      }
      dueMs += everyMs
      if (dueMs > performance.now()) await sleep(dueMs - performance.now())
    }
  }
  const readReceipts = async (): Promise<void> => {
    for (let at = 0; !stopping.signal.aborted; ) {
      await sleep(500)
      const node = nodes[0]!
      const hashes = sent.slice(at, at + RECEIPTS_AT_ONCE)
      const calls = hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
      const found = (await rpcBatch(`${node.rpcUrl}/`, calls)) as readonly ({ readonly blockHash: string } | null)[]
      for (const [index, receipt] of found.entries()) {
        if (receipt === null) break
        receipts.set(hashes[index]!, receipt.blockHash)
        at++
      }
    }
  }
  const ended = Promise.all([...nodes.map(send), readReceipts()])
  // `stop` is where a failure is reported.
  ended.catch(() => undefined)
  return {
    sent,
    receipts,
    stop: async () => {
      stopping.abort()
      await ended
    },
  }
}

/** What the clients of {@link startReaders} have got so far. */
interface ReaderCounts {
  calls: number
  traces: number
  notifications: number
  /** answers and connections that broke: more than kills explain is a defect */
  broken: number
}

const READ_EVERY_MS = 50
const TRACE_EVERY_MS = 1_000
const SOCKETS = 20
/** A WebSocket is closed and made again after this time, so that what a node keeps of one that is gone would add up. */
const SOCKET_LIFE_MS = 30_000

/** Reads, traces and subscribes at each node as explorers and wallets do; `transaction` gives one to look at. */
export function startReaders(nodes: readonly NetworkNode[], transaction: () => string | undefined) {
  const stopping = new AbortController()
  const counts: ReaderCounts = { calls: 0, traces: 0, notifications: 0, broken: 0 }
  const reads = (): readonly (readonly [string, ...unknown[]])[] => [
    ['eth_getBalance', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 'latest'],
    ['eth_call', { to: '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE', data: '0x18160ddd' }, 'latest'],
    ['eth_getBlockByNumber', 'latest', true],
    ['eth_getLogs', { fromBlock: 'earliest', toBlock: 'latest', topics: [`0x${'11'.repeat(32)}`] }],
    ['eth_getTransactionReceipt', transaction() ?? `0x${'22'.repeat(32)}`],
    ['eth_newFilter', { address: '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE' }],
  ]
  const repeat = async (node: NetworkNode, everyMs: number, step: () => Promise<void>): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        if (node.isRunning()) await step()
      } catch {
        counts.broken++
      }
      await sleep(everyMs)
    }
  }
  const work = nodes.flatMap((node) => {
    const url = `${node.rpcUrl}/`
    let next = 0
    return [
      repeat(node, READ_EVERY_MS, async () => {
        const all = reads()
        const [method, ...params] = all[next++ % all.length]!
        await rpc(url, method, ...params)
        counts.calls++
      }),
      repeat(node, TRACE_EVERY_MS, async () => {
        const hash = transaction()
        if (hash === undefined) return
        await rpc(url, 'debug_traceTransaction', hash, { tracer: 'callTracer' })
        counts.traces++
      }),
      ...Array.from({ length: SOCKETS }, (_, index) =>
        repeat(node, 100, () => subscribe(`${url}ws`.replace(/^http/, 'ws'), index, counts, stopping.signal)),
      ),
    ]
  })
  return {
    counts,
    stop: async () => {
      stopping.abort()
      await Promise.all(work)
    },
  }
}

/** Holds one WebSocket with a subscription for a while. */
function subscribe(url: string, index: number, counts: ReaderCounts, signal: AbortSignal): Promise<void> {
  const socket = new WebSocket(url)
  const kind = ['newHeads', 'logs', 'newPendingTransactions'][index % 3]!
  return new Promise((resolve, reject) => {
    const end = (): void => socket.close()
    const timer = setTimeout(end, SOCKET_LIFE_MS)
    signal.addEventListener('abort', end, { once: true })
    socket.on('open', () =>
      socket.send(
        JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'eth_subscribe',
          params: kind === 'logs' ? [kind, {}] : [kind],
        }),
      ),
    )
    socket.on('message', () => void counts.notifications++)
    socket.on('error', reject)
    socket.on('close', () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    })
  })
}

/** The node ended while it was asked, or has not begun to listen: `fetch` says so only in the message. */
function isBroken(error: unknown): boolean {
  return error instanceof TypeError && /^(fetch failed|terminated)$/.test(error.message)
}
