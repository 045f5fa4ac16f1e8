import { setTimeout as sleep } from 'node:timers/promises'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { runLoad } from '../load/httpLoad.ts'
import { requestBody } from '../load/rpc.ts'
import { type Account, GWEI, sign } from '../load/sign.ts'
import { residentMegabytes } from '../measure/processUsage.ts'
import type { Row } from '../report.ts'
import type { Target } from '../targets/target.ts'
import { noncesOf } from './accounts.ts'
import { measureThroughput } from './throughput.ts'
import type { TransactionMaker } from './transactions.ts'

const MEGABYTE = 1_048_576
/** Requests of one round of the reads. */
const ROUND = 20_000
/** Transactions per second of the mixed load, its requests under way, and how often memory is noted. */
const MIXED_RATE = 200
const MIXED_IN_FLIGHT = 20
const NOTE_SECONDS = 30

interface MemoryOptions {
  /** of the idle node, before and after the load */
  readonly idleSeconds: number
  readonly transfers: number
  readonly readSeconds: number
  /** of the mixed load; 0: none */
  readonly mixedSeconds: number
  readonly inFlight: number
  readonly pipeline: number
  readonly transfer: TransactionMaker
  /** transactions of several kinds */
  readonly mixed: TransactionMaker
}

/**
 * Measures resident memory of an idle node, after transfers and reads, after a rest from them, and
 * during a mixed load; coind's by thread.
 */
export async function* measureMemory(
  target: Target,
  accounts: readonly Account[],
  options: MemoryOptions,
): AsyncGenerator<readonly Row[], void, void> {
  const resident = (): number => residentMegabytes(target.pid)
  const row = (label: string): Row => ({ name: `memory ${label}`, unit: 'MB', value: resident() })
  const load = { accounts, batch: 1, inFlight: options.inFlight, pipeline: options.pipeline }

  await sleep(options.idleSeconds * 1_000)
  yield [row('idle'), ...(await heapsOf(target, 'idle'))]

  await measureThroughput(target, {
    ...load,
    label: 'transfers',
    count: options.transfers,
    transaction: options.transfer,
  })
  yield [row(`after ${options.transfers} transfers`), ...(await heapsOf(target, 'after transfers'))]
  const bodies = Array.from({ length: ROUND }, (_, index) =>
    requestBody(index, 'eth_getBalance', [bytesToHex(accounts[index % accounts.length]!.address), 'latest']),
  )
  for (const endMs = performance.now() + options.readSeconds * 1_000; performance.now() < endMs; ) {
    await runLoad({ port: target.port, bodies, inFlight: options.inFlight })
  }
  yield [row(`after ${options.readSeconds} s of reads`), ...(await heapsOf(target, 'after reads'))]
  await sleep(options.idleSeconds * 1_000)
  yield [row('when idle again')]

  if (options.mixedSeconds === 0) return
  const noted: number[] = []
  const nonces = await noncesOf(target, accounts)
  for (let second = 1; second <= options.mixedSeconds; second++) {
    const endMs = performance.now() + 1_000
    const bodies = Array.from({ length: MIXED_RATE }, (_, at) => {
      const index = second * MIXED_RATE + at
      const sender = index % accounts.length
      const { raw } = sign(accounts[sender]!, {
        nonce: BigInt(nonces[sender]!++),
        maxFeePerGas: 500n * GWEI,
        ...options.mixed(index, sender),
      })
      return requestBody(at, 'eth_sendRawTransaction', [raw])
    })
    const sent = await runLoad({ port: target.port, bodies, inFlight: MIXED_IN_FLIGHT })
    if (sent.errors > 0) throw new Error(`the mixed load: ${sent.firstError}`)
    await sleep(Math.max(0, endMs - performance.now()))
    if (second % NOTE_SECONDS === 0) noted.push(resident())
  }
  const half = noted.slice(Math.floor(noted.length / 2))
  const label = `memory, ${MIXED_RATE} tx/s mixed for ${options.mixedSeconds / 60} min`
  yield [
    { name: `${label}: most`, unit: 'MB', value: Math.max(...noted), note: noted.map(Math.round).join(' ') },
    { name: `${label}: second half, growth`, unit: 'MB', value: half.at(-1)! - half[0]! },
    ...(await heapsOf(target, 'mixed load')),
  ]
}

/** Returns the memory of V8 for the threads of each role: their heaps, and external memory. */
async function heapsOf({ metricsUrl }: Target, label: string): Promise<readonly Row[]> {
  if (metricsUrl === undefined) return []
  const page = await (await fetch(metricsUrl)).text()
  const byThread = new Map<string, Record<string, number>>()
  for (const [, thread = '', kind = '', bytes] of page.matchAll(
    /^coind_thread_memory_bytes\{thread="([^"]+)",kind="([^"]+)"\} (\S+)$/gm,
  )) {
    byThread.set(thread, { ...byThread.get(thread), [kind]: Number(bytes) / MEGABYTE })
  }
  return [...byThread].map(([thread, { used = 0, committed = 0, external = 0 }]) => ({
    name: `heap ${label}, ${thread}`,
    unit: 'MB',
    value: committed,
    note: `${used.toFixed(1)} in use, ${external.toFixed(1)} external`,
  }))
}
