import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { assemble, creationCode } from '../code/assemble.ts'
import { deploy } from '../contracts/deploy.ts'
import { runLoad } from '../load/httpLoad.ts'
import { call, requestBody } from '../load/rpc.ts'
import { type Account, GWEI, sign } from '../load/sign.ts'
import { percentile } from '../measure/percentile.ts'
import type { Row } from '../report.ts'
import type { Target } from '../targets/target.ts'
import { nonceOf } from './accounts.ts'

/** A loop that runs until its gas is used up. */
const ENDLESS_LOOP = creationCode(assemble(':loop @loop JUMP'))

const PHASE_MS = 12_000
const SEND_EVERY_MS = 50
const HEAVY_CALLS = 8
/** Calls that run into the node's time limit. */
const HEAVY_CALL_GAS = 50_000_000
/** Several of these fill a block, or the time for one. */
const BURN_GAS = 15_000_000n
const BURN_FEE = 50n * GWEI
const BURNERS = 6
const READS_IN_FLIGHT = 100
const READS_A_ROUND = 2_000

/** Load that runs until the signal aborts. */
type Pressure = (signal: AbortSignal) => Promise<void>

/**
 * Measures how much other load delays a sender and the consensus thread: `eth_sendRawTransaction` alone, with calls that loop for
 * seconds, and with saturated reads and full blocks.
 */
export async function measureIsolation(target: Target, accounts: readonly Account[]): Promise<Row[]> {
  const { address } = await deploy(target, ENDLESS_LOOP)
  const [sender, ...others] = accounts
  const phases: readonly (readonly [string, Pressure])[] = [
    ['alone', () => Promise.resolve()],
    ['with endless eth_call', (signal) => heavyCalls(target, address, signal)],
    [
      'with reads and full blocks',
      async (signal) => {
        await Promise.all([saturate(target, others[0]!, signal), burn(target, address, others, signal)])
      },
    ],
  ]
  const rows: Row[] = []
  for (const [name, pressure] of phases) {
    target.takeBlocks()
    await target.mainDelayMs()
    const stop = new AbortController()
    const running = pressure(stop.signal)
    const latencies = await sendSteadily(target, sender!, PHASE_MS)
    const mainDelay = (await target.mainDelayMs()) ?? Number.NaN
    stop.abort()
    await running
    const blocks = target.takeBlocks() ?? []
    const intervals = blocks.slice(1).map(({ atMs }, index) => atMs - blocks[index]!.atMs)
    rows.push(
      { name: `send ${name}: p50`, unit: 'ms', value: percentile(latencies, 50), note: `${latencies.length} sent` },
      { name: `send ${name}: p99`, unit: 'ms', value: percentile(latencies, 99) },
      { name: `send ${name}: main timers p99`, unit: 'ms', value: mainDelay },
      { name: `send ${name}: longest block interval`, unit: 'ms', value: Math.max(...intervals) },
    )
  }
  return rows
}

/** Sends a transfer from time to time and returns the latencies, ascending. */
async function sendSteadily(target: Target, sender: Account, forMs: number): Promise<number[]> {
  const latencies: number[] = []
  let nonce = await nonceOf(target, sender)
  for (const endMs = performance.now() + forMs; performance.now() < endMs; ) {
    const { raw } = sign(sender, { nonce: BigInt(nonce++), to: sender.address, value: 1n })
    const beginMs = performance.now()
    await call(target.url, 'eth_sendRawTransaction', [raw])
    latencies.push(performance.now() - beginMs)
    await sleep(SEND_EVERY_MS)
  }
  return latencies.sort((a, b) => a - b)
}

async function heavyCalls(target: Target, to: Address, signal: AbortSignal): Promise<void> {
  const one = async (): Promise<void> => {
    while (!signal.aborted) {
      // It ends with an error: out of gas or out of time.
      await call(target.url, 'eth_call', [{ to: bytesToHex(to), gas: HEAVY_CALL_GAS }, 'latest']).catch(() => undefined)
    }
  }
  await Promise.all(Array.from({ length: HEAVY_CALLS }, one))
}

async function saturate(target: Target, account: Account, signal: AbortSignal): Promise<void> {
  const body = requestBody(1, 'eth_getBalance', [bytesToHex(account.address), 'latest'])
  const bodies = Array.from({ length: READS_A_ROUND }, () => body)
  while (!signal.aborted) await runLoad({ port: target.port, bodies, inFlight: READS_IN_FLIGHT })
}

async function burn(target: Target, to: Address, senders: readonly Account[], signal: AbortSignal): Promise<void> {
  const one = async (account: Account): Promise<void> => {
    while (!signal.aborted) {
      const nonce = await nonceOf(target, account)
      const { raw } = sign(account, {
        nonce: BigInt(nonce),
        to,
        gasLimit: BURN_GAS,
        maxFeePerGas: BURN_FEE,
      })
      await call(target.url, 'eth_sendRawTransaction', [raw]).catch(() => undefined)
      await sleep(SEND_EVERY_MS * 4)
    }
  }
  await Promise.all(senders.slice(1, 1 + BURNERS).map(one))
}
