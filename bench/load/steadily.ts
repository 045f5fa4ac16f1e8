import { setTimeout as sleep } from 'node:timers/promises'

interface SteadyLoad {
  readonly url: string
  /** JSON-RPC bodies of single calls */
  readonly bodies: readonly string[]
  readonly perSecond: number
}

/** How often a batch is sent. */
const EVERY_MS = 20

/**
 * Sends calls at an even rate, in small batches, whether those before are answered or not.
 * @throws Error when one is refused
 */
export async function sendSteadily({ url, bodies, perSecond }: SteadyLoad): Promise<void> {
  const beginMs = performance.now()
  const answers: Promise<void>[] = []
  for (let next = 0; next < bodies.length; ) {
    const due = Math.min(bodies.length, Math.ceil(((performance.now() - beginMs + EVERY_MS) * perSecond) / 1_000))
    if (due > next) answers.push(post(url, bodies.slice(next, due)))
    next = Math.max(next, due)
    await sleep(EVERY_MS)
  }
  await Promise.all(answers)
}

async function post(url: string, bodies: readonly string[]): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const text = await (await fetch(url, { method: 'POST', headers, body: `[${bodies.join(',')}]` })).text()
  if (text.includes('"error"')) throw new Error(`a call was refused: ${text.slice(0, 300)}`)
}
