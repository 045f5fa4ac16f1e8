import { setTimeout as sleep } from 'node:timers/promises'
import { MsgSend } from '../../src/modules/bank/messages.ts'
import { coinsOf } from '../../src/modules/coin.ts'
import { toBech32 } from '../../src/primitives/address.ts'
import { bytesToHex, toBuffer } from '../../src/primitives/bytes.ts'
import { runLoad } from '../load/httpLoad.ts'
import { batchCall, call, requestBody } from '../load/rpc.ts'
import { type Account, GWEI } from '../load/sign.ts'
import { signNative } from '../load/signNative.ts'
import { threadTimes, usedBetween } from '../measure/processUsage.ts'
import type { Row } from '../report.ts'
import type { Target } from '../targets/target.ts'
import { chunks, noncesOf } from './accounts.ts'
import { type Load, latencyRows } from './throughput.ts'
import { RECIPIENTS } from './transactions.ts'

const GAS = 30_000n
const FEE = 500n * GWEI * GAS
const POLL_MS = 20
/** Requests of one batch: nodes limit them. */
const BATCH = 500
const TO = RECIPIENTS.map((address) => toBech32(address))

/** Sends MsgSends through broadcast_tx_sync, the accounts in turn, and waits until all are in blocks. */
export async function measureNativeSends(target: Target, load: Omit<Load, 'transaction' | 'batch'>): Promise<Row[]> {
  const { label: name, count } = load
  const bodies = (await signSends(target, load)).map((raw, index) =>
    requestBody(index, 'broadcast_tx_sync', [toBuffer(raw).toString('base64')]),
  )
  const before = threadTimes(target.pid)
  const received = await totalReceived(target)
  const beginMs = performance.now()
  const sent = await runLoad({
    port: target.port,
    path: '/rpc',
    bodies,
    inFlight: load.inFlight,
    pipeline: load.pipeline,
  })
  if (sent.errors > 0) throw new Error(`${sent.errors} of ${count} were refused, first: ${sent.firstError}`)
  while ((await unconfirmed(target)) > 0) await sleep(POLL_MS)
  const elapsedMs = performance.now() - beginMs
  const used = usedBetween(before, threadTimes(target.pid))
  const arrived = (await totalReceived(target)) - received
  if (arrived !== BigInt(count)) throw new Error(`${arrived} of ${count} sends have succeeded`)
  return [
    { name: `${name}: in blocks`, unit: '/s', value: (count / elapsedMs) * 1_000 },
    { name: `${name}: accepted`, unit: '/s', value: (count / sent.elapsedMs) * 1_000 },
    ...latencyRows(`${name}: request`, sent),
    {
      name: `${name}: CPU of the node`,
      unit: 'µs each',
      value: (used.reduce((sum, [, ms]) => sum + ms, 0) * 1_000) / count,
      note: used
        .slice(0, 7)
        .map(([thread, ms]) => `${thread} ${Math.round((ms * 1_000) / count)}`)
        .join(', '),
    },
  ]
}

async function signSends(
  target: Target,
  { count, accounts }: Pick<Load, 'count' | 'accounts'>,
): Promise<readonly Uint8Array[]> {
  const sequences = await noncesOf(target, accounts)
  const senders = accounts.map(({ address }) => toBech32(address))
  return Array.from({ length: count }, (_, index) => {
    const sender = index % accounts.length
    const send = { fromAddress: senders[sender]!, toAddress: TO[index % TO.length]!, amount: coinsOf(1n) }
    const account: Account = accounts[sender]!
    return signNative(account, {
      sequence: BigInt(sequences[sender]!++),
      messages: [{ typeUrl: MsgSend.typeUrl, value: MsgSend.encode(send) }],
      gasLimit: GAS,
      feeAcoin: FEE,
    })
  })
}

async function unconfirmed(target: Target): Promise<number> {
  const { total } = await call<{ readonly total: string }>(`${target.url}rpc`, 'num_unconfirmed_txs')
  return Number(total)
}

/** Returns the acoin that the recipients have together. */
async function totalReceived(target: Target): Promise<bigint> {
  let sum = 0n
  for (const part of chunks(RECIPIENTS, BATCH)) {
    const calls = part.map((address) => ['eth_getBalance', [bytesToHex(address), 'latest']] as const)
    for (const balance of await batchCall<string>(target.url, calls)) sum += BigInt(balance)
  }
  return sum
}
