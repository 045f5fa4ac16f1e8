/**
 * Measures what compressed answers save and cost, here and on geth. Each node is asked at a fixed rate for the receipts of the same
 * transfers, in one batch and in each form of answer. Another client asks for the chain's ID all the time. Prints for each form the
 * bytes of an answer, the node's processor time for it, and the other client's latency. geth is measured where the variable GETH
 * names it or it is on the PATH.
 * `--help` lists the flags.
 */
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { readFlags } from './flags.ts'
import { call, requestBody, waitForReceipt } from './load/rpc.ts'
import { FUNDER, sign } from './load/sign.ts'
import { percentile } from './measure/percentile.ts'
import { familyMs } from './measure/processUsage.ts'
import { benchAccounts, nonceOf } from './parts/accounts.ts'
import { startCoind } from './targets/coind.ts'
import { hasGeth, startGeth } from './targets/geth.ts'
import type { Target } from './targets/target.ts'

const HELP = `node bench/compressedAnswers.ts [flags]
  --receipts 200        of a batch, some 800 bytes each
  --rate 40             batches per second
  --seconds 8           for each form
`

const flags = readFlags(HELP, {
  receipts: { type: 'string', default: '200' },
  rate: { type: 'string', default: '40' },
  seconds: { type: 'string', default: '8' },
})
const [receipts, rate, seconds] = [flags.receipts, flags.rate, flags.seconds].map(Number) as [number, number, number]
/** The plain answer twice: the difference is what the machine's own variation does. */
const FORMS = ['identity', 'gzip', 'br', 'zstd', 'identity'] as const
const GAS_LIMIT = 60_000_000
const TRANSFER_GAS = 21_000n
const WARM_UP_SECONDS = 3

const agent = new Agent({ keepAlive: true, maxSockets: 16 })
const otherAgent = new Agent({ keepAlive: true, maxSockets: 1 })

/** Returns the bytes of the answer as they arrived, and their form. */
function ask(
  url: string,
  body: string,
  acceptEncoding: string,
  through: Agent,
): Promise<{ bytes: number; form: string }> {
  const headers = { 'content-type': 'application/json', 'accept-encoding': acceptEncoding }
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent: through, headers }, (response) => {
      let bytes = 0
      response.on('data', (part: Buffer) => {
        bytes += part.length
      })
      response.on('end', () => resolve({ bytes, form: response.headers['content-encoding'] ?? 'identity' }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Sends transfers of the funder to an account each; returns their hashes. */
async function sendTransfers({ url }: Target): Promise<readonly string[]> {
  const first = await nonceOf({ url }, FUNDER)
  const transfers = benchAccounts(receipts).map(({ address }, index) =>
    sign(FUNDER, { nonce: BigInt(first + index), to: address, value: BigInt(index), gasLimit: TRANSFER_GAS }),
  )
  for (const { raw } of transfers) await call(url, 'eth_sendRawTransaction', [raw])
  for (const { hash } of transfers) await waitForReceipt(url, hash)
  return transfers.map(({ hash }) => hash)
}

interface Row {
  readonly bytes: number
  readonly forms: ReadonlySet<string>
  readonly answers: number
  readonly cpuMs: number
  readonly latenciesMs: readonly number[]
}

interface Measured {
  readonly batch: string
  readonly acceptEncoding: string
  readonly perSecond: number
  readonly forSeconds: number
}

async function measure({ url, pid }: Target, { batch, acceptEncoding, perSecond, forSeconds }: Measured): Promise<Row> {
  const other = requestBody(1, 'eth_chainId', [])
  const untilMs = performance.now() + forSeconds * 1000
  const forms = new Set<string>()
  let bytes = 0
  const begunMs = familyMs(pid)
  const asked: Promise<void>[] = []
  const asking = async (): Promise<void> => {
    for (let next = performance.now(); next < untilMs && perSecond > 0; next += 1000 / perSecond) {
      await sleep(Math.max(0, next - performance.now()))
      asked.push(
        ask(url, batch, acceptEncoding, agent).then((answer) => {
          bytes = answer.bytes
          forms.add(answer.form)
        }),
      )
    }
  }
  const latenciesMs: number[] = []
  const watching = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const sentMs = performance.now()
      await ask(url, other, 'identity', otherAgent)
      latenciesMs.push(performance.now() - sentMs)
      await sleep(2)
    }
  }
  await Promise.all([asking(), watching()])
  await Promise.all(asked)
  const cpuMs = familyMs(pid) - begunMs
  return { bytes, forms, answers: asked.length, cpuMs, latenciesMs: latenciesMs.sort((a, b) => a - b) }
}

function print(node: string, form: string, bytes: string, cpu: string, latenciesMs: readonly number[]): void {
  const latency = [50, 99, 100].map((percent) => percentile(latenciesMs, percent).toFixed(2)).join(' / ')
  console.log(`${node.padEnd(7)}${form.padEnd(11)}${bytes.padEnd(10)}${cpu.padEnd(16)}${latency}`)
}

async function measureNode(start: () => Promise<Target>): Promise<void> {
  const node = await start()
  try {
    const hashes = await sendTransfers(node)
    const batch = `[${hashes.map((hash, id) => requestBody(id, 'eth_getTransactionReceipt', [hash])).join(',')}]`
    const rows = (acceptEncoding: string, perSecond: number, forSeconds: number): Promise<Row> =>
      measure(node, { batch, acceptEncoding, perSecond, forSeconds })
    for (const form of new Set(FORMS)) await rows(form, rate, WARM_UP_SECONDS)
    const idle = await rows('identity', 0, seconds)
    print(node.name, 'none asked', '-', '-', idle.latenciesMs)
    for (const asked of FORMS) {
      const { bytes, forms, answers, cpuMs, latenciesMs } = await rows(asked, rate, seconds)
      const form = forms.has(asked) && forms.size === 1 ? asked : `${asked}: ${[...forms].join('+')}`
      print(node.name, form, String(bytes), ((cpuMs - idle.cpuMs) / answers).toFixed(2), latenciesMs)
    }
  } finally {
    await node.stop()
  }
}

console.log(`${receipts} receipts per batch, ${rate} batches per second, ${seconds} s each`)
console.log('node   form       bytes     cpu ms/answer   other client p50 / p99 / most ms')
await measureNode(() => startCoind({ gasLimit: GAS_LIMIT }))
if (hasGeth()) await measureNode(() => startGeth({ gasLimit: GAS_LIMIT }))
else console.log('geth   not measured: it is not installed')
agent.destroy()
otherAgent.destroy()
