import { randomInt } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { type Account, accountOf, sign } from '../../bench/load/sign.ts'
import { toAddress } from '../../src/primitives/address.ts'
import { rpc } from '../e2e/rpc.ts'
import type { Attack, Run } from './attack.ts'
import { keepPosting } from './load.ts'

const RECEIVER = toAddress(new Uint8Array(20).fill(0xcc))
const PER_BATCH = 100
const CONNECTIONS = 16
/** How far apart the nonces hash of the transactions with gaps are. */
const GAP = 2

/** An account with coins in the genesis of the attacked chain. */
export function attackerAccount(index: number): Account {
  return accountOf(`attacker ${index}`)
}

/** Shares of the accounts with coins: each of these attacks has its own, whose nonces are 0. */
const SHARES = ['single messages', 'conflicting transactions', 'busy relayers', 'postponed transactions'] as const

/** The accounts of an attack, by their numbers. */
export function senderRange(
  { target }: Run,
  attack: (typeof SHARES)[number],
): { readonly from: number; readonly to: number } {
  const size = Math.floor(target.fundedSenders / SHARES.length)
  const from = SHARES.indexOf(attack) * size
  return { from, to: from + size }
}

/** Batches of `eth_sendRawTransaction`, made without keeping the thread from ending when it is told to. */
async function batchesOf(run: Run, count: number, make: (index: number) => string): Promise<readonly string[]> {
  const batches: string[] = []
  for (let at = 0; at < count && !run.signal.aborted; at += PER_BATCH) {
    const calls = Array.from(
      { length: Math.min(PER_BATCH, count - at) },
      (_, index) =>
        `{"jsonrpc":"2.0","id":${index},"method":"eth_sendRawTransaction","params":["${make(at + index)}"]}`,
    )
    batches.push(`[${calls.join(',')}]`)
    await turn()
  }
  return batches
}

/** Sends them over and over from a random one on, because an attacker does not stop when all were sent. */
function sendAll(run: Run, batches: readonly string[]): Promise<void> {
  let next = randomInt(batches.length)
  return keepPosting(run, CONNECTIONS, () => {
    run.count('transactions', PER_BATCH)
    return batches[next++ % batches.length]!
  })
}

/** What clients can send into the mempool. */
export const TRANSACTION_ATTACKS: readonly Attack[] = [
  {
    name: 'nonces with gaps',
    what: '# transactions of one sender, every second nonce missing',
    size: 100_000,
    prepare: async (run) => {
      const account = attackerAccount(0)
      const make = (index: number): string =>
        sign(account, { nonce: BigInt(1 + index * GAP), to: RECEIVER, value: 1n }).raw
      const batches = await batchesOf(run, run.size, make)
      return () => sendAll(run, batches)
    },
  },
  {
    name: 'lowest fee',
    what: 'transfers of # senders at the lowest fee',
    size: 50_000,
    prepare: async (run) => {
      const { host, rpcPort, fundedSenders } = run.target
      const url = `http://${host}:${rpcPort}/`
      const tip = BigInt(await rpc<string>(url, 'eth_maxPriorityFeePerGas'))
      const { baseFeePerGas } = await rpc<{ readonly baseFeePerGas: string }>(
        url,
        'eth_getBlockByNumber',
        'latest',
        false,
      )
      const fees = { maxFeePerGas: BigInt(baseFeePerGas) + tip, maxPriorityFeePerGas: tip }
      const make = (index: number): string =>
        sign(attackerAccount(1 + index), { nonce: 0n, to: RECEIVER, value: 1n, ...fees }).raw
      const batches = await batchesOf(run, Math.min(run.size, fundedSenders - 1), make)
      return () => sendAll(run, batches)
    },
  },
]
