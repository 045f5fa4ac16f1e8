/**
 * What compressed answers save and cost: a devnet is asked for batches of blocks at a fixed rate, in each form that it has, while another
 * client asks for the chain's ID all the time. Prints for each form the bytes of an answer, the node's processor time for an answer, and the
 * other client's latency.
 * `--help` lists the flags.
 */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { startQuickDevnet } from '../test/e2e/quickDevnet.ts'
import { readFlags } from './flags.ts'

const HELP = `node bench/compressedAnswers.ts [flags]
  --blocks 100          of a batch, some 1.9 KB each
  --rate 40             batches a second
  --seconds 8           for each form
`

const flags = readFlags(HELP, {
  blocks: { type: 'string', default: '100' },
  rate: { type: 'string', default: '40' },
  seconds: { type: 'string', default: '8' },
})
const [blocks, rate, seconds] = [flags.blocks, flags.rate, flags.seconds].map(Number) as [number, number, number]
const FORMS = ['identity', 'gzip', 'br', 'zstd', 'identity'] as const
/** Linux's USER_HZ */
const MS_PER_TICK = 10
const WARM_UP_MS = 2_000

const agent = new Agent({ keepAlive: true, maxSockets: 16 })
const otherAgent = new Agent({ keepAlive: true, maxSockets: 1 })

/** The bytes of the answer as they came, and the form that it had. */
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

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Milliseconds of the node's processor time. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK
}

function quantile(values: readonly number[], share: number): string {
  return values[Math.min(values.length - 1, Math.floor(values.length * share))]!.toFixed(2)
}

interface Row {
  readonly bytes: number
  readonly forms: ReadonlySet<string>
  readonly answers: number
  readonly cpuMs: number
  readonly latenciesMs: readonly number[]
}

async function measure(url: string, pid: number, acceptEncoding: string, perSecond: number): Promise<Row> {
  const batch = JSON.stringify(
    Array.from({ length: blocks }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'eth_getBlockByNumber',
      params: [`0x${((id % 20) + 1).toString(16)}`, true],
    })),
  )
  const other = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
  const untilMs = performance.now() + seconds * 1000
  const forms = new Set<string>()
  let bytes = 0
  const begunMs = processorMs(pid)
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
  const cpuMs = processorMs(pid) - begunMs
  return { bytes, forms, answers: asked.length, cpuMs, latenciesMs: latenciesMs.sort((a, b) => a - b) }
}

const node = await startQuickDevnet({ environment: { RPC_RATE_LIMIT: '0' } })
try {
  await sleep(WARM_UP_MS + 20 * 200)
  const pid = node.process.pid!
  const idle = await measure(node.url, pid, 'identity', 0)
  console.log(`${blocks} blocks a batch, ${rate} batches a second, ${seconds} s each`)
  console.log('form       bytes     cpu ms/answer   other client p50 / p99 / most ms')
  console.log(
    `none       -         -               ${[0.5, 0.99, 1].map((share) => quantile(idle.latenciesMs, share)).join(' / ')}`,
  )
  for (const form of FORMS) {
    const row = await measure(node.url, pid, form, rate)
    const perAnswer = (row.cpuMs - idle.cpuMs) / row.answers
    console.log(
      `${[...row.forms].join('+').padEnd(10)} ${String(row.bytes).padEnd(9)} ${perAnswer.toFixed(2).padEnd(15)} ${[0.5, 0.99, 1].map((share) => quantile(row.latenciesMs, share)).join(' / ')}`,
    )
  }
} finally {
  agent.destroy()
  otherAgent.destroy()
  await node.stop()
}
