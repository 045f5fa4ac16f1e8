import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { SERVED_BYTES } from '../../../src/p2p/limits.ts'
import { ServedBytes } from '../../../src/p2p/servedBytes.ts'
import type { Session } from '../../../src/p2p/session.ts'

const FRAME = 1 << 20
const connections = new Map<string, { status: string }>()

/** `network.peer` */
function sessionOf(id: string): Session {
  const connection = connections.get(id) ?? { status: 'open' }
  connections.set(id, connection)
  return { id, connection } as unknown as Session
}

let served: ServedBytes
let sent: Map<string, number>

beforeEach(() => {
  vi.useFakeTimers()
  connections.clear()
  sent = new Map()
  served = new ServedBytes({
    isReserved: ({ id }) => id.startsWith('validator'),
    ownerOf: ({ id }) => id.split('.')[0]!,
    now: () => Date.now(),
  })
})
afterEach(() => {
  vi.useRealTimers()
})

/** An answer that never ends. */
async function keepSending(id: string): Promise<void> {
  for (;;) {
    await served.take(sessionOf(id), FRAME)
    sent.set(id, (sent.get(id) ?? 0) + FRAME)
    if (id.startsWith('validator')) return
  }
}

const sentBy = (network: string): number =>
  [...sent].filter(([id]) => id.startsWith(`${network}.`)).reduce((sum, [, bytes]) => sum + bytes, 0)

test('strangers have a rate for all of them together, whose shares are equal by network, however many peers it has', async () => {
  for (let peer = 0; peer < 20; peer++) void keepSending(`many.${peer}`)
  void keepSending('one.0')
  await vi.advanceTimersByTimeAsync(20_000)
  const [many, one] = [sentBy('many'), sentBy('one')]
  const most = SERVED_BYTES.burst + 20 * SERVED_BYTES.perSecond
  expect(many + one).toBeLessThanOrEqual(most + FRAME)
  expect(many + one).toBeGreaterThan(most * 0.95)
  // The first saved bytes were of those who came first.
  expect(one).toBeGreaterThan(9 * SERVED_BYTES.perSecond)
})

test('validators do not wait', async () => {
  for (let peer = 0; peer < 4; peer++) void keepSending(`many.${peer}`)
  await vi.advanceTimersByTimeAsync(5_000)
  void keepSending('validator.0')
  await vi.advanceTimersByTimeAsync(0)
  expect(sentBy('validator')).toBe(FRAME)
})

test('what waits for a peer that has gone ends, and costs the others nothing', async () => {
  for (let peer = 0; peer < 2; peer++) void keepSending(`many.${peer}`)
  await vi.advanceTimersByTimeAsync(5_000)
  const ended = expect(served.take(sessionOf('gone.0'), 1e12)).rejects.toThrow('the peer has gone')
  connections.get('gone.0')!.status = 'closed'
  const before = sentBy('many')
  await vi.advanceTimersByTimeAsync(5_000)
  await ended
  expect(sentBy('many') - before).toBeGreaterThan(4 * SERVED_BYTES.perSecond)
})
