import { MessageChannel } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import { packTransactions } from '../../../src/mempool/packedMessages.ts'
import type { Admission, PooledTransaction } from '../../../src/mempool/types.ts'
import { connectAdmissions, connectBatchAdmissions, serveAdmissions } from '../../../src/threads/admissions.ts'

let channels: MessageChannel[] = []

/** A pool that refuses what ends in 1 and, with a number, what ends in 4, fails at what ends in 2 and takes the rest; and what it was offered, by message. */
function connected() {
  const channel = new MessageChannel()
  channels.push(channel)
  const offered: number[] = []
  let messages = 0
  channel.port2.on('message', () => messages++)
  const failures: unknown[] = []
  const admit = ({ raw, hash }: PooledTransaction): Admission => {
    offered.push(raw[0]!)
    if (raw[0]! % 10 === 1) return { accepted: false, reason: `${raw[0]} is refused` }
    if (raw[0]! % 10 === 4) return { accepted: false, reason: 'used', error: { codespace: 'sdk', code: 32 } }
    if (raw[0]! % 10 === 2) throw new Error(`${raw[0]} fails`)
    return { accepted: true, hash }
  }
  serveAdmissions(channel.port2, admit, ({ raw }, error) => failures.push([raw[0], error]))
  const add = connectAdmissions(channel.port1)
  const offer = (n: number) => add(Uint8Array.of(n), new Uint8Array(20).fill(n), new Uint8Array(32).fill(n))
  return { offer, offered, failures, messages: () => messages, ...channel }
}

afterEach(() => {
  for (const { port1 } of channels) port1.close()
  channels = []
})

describe('admissions', () => {
  it('of one turn go in one message and are made in order', async () => {
    const { offer, offered, messages } = connected()
    const admissions = await Promise.all([5, 3, 6].map(offer))
    expect(admissions).toEqual([5, 3, 6].map((n) => ({ accepted: true, hash: new Uint8Array(32).fill(n) })))
    expect(offered).toEqual([5, 3, 6])
    expect(messages()).toBe(1)
  })

  it('tell each caller its own outcome', async () => {
    const { offer, failures } = connected()
    const first = Promise.allSettled([10, 11, 12, 14, 13].map(offer))
    await new Promise((resolve) => setImmediate(resolve))
    const second = Promise.allSettled([21, 20].map(offer))
    expect(await first).toMatchObject([
      { value: { accepted: true } },
      { value: { accepted: false, reason: '11 is refused' } },
      { status: 'rejected', reason: { message: '12 fails' } },
      { value: { accepted: false, reason: 'used', error: { codespace: 'sdk', code: 32 } } },
      { value: { accepted: true } },
    ])
    expect(await second).toMatchObject([
      { value: { accepted: false, reason: '21 is refused' } },
      { value: { accepted: true } },
    ])
    expect(failures).toEqual([[12, new Error('12 fails')]])
  })

  it('of a batch are counted', async () => {
    const { port1, port2 } = new MessageChannel()
    const admit = ({ raw, hash }: PooledTransaction): Admission => {
      if (raw[0] === 1) return { accepted: false, reason: 'full' }
      if (raw[0] === 2) return { accepted: false, reason: 'used', error: { codespace: 'sdk', code: 32 } }
      return { accepted: true, hash }
    }
    serveAdmissions(port2, admit, (_, error) => expect.unreachable(String(error)))
    const offer = connectBatchAdmissions(port1)
    const batchOf = (kinds: readonly number[]) =>
      packTransactions(
        kinds.map((kind) => ({ raw: Uint8Array.of(kind), hash: new Uint8Array(32), sender: new Uint8Array(20) })),
      )
    expect(
      await Promise.all(
        [
          [0, 1, 2, 0],
          [2, 1],
          [0, 0],
        ].map((kinds) => offer(batchOf(kinds))),
      ),
    ).toEqual([2, 0, 2])
    port1.close()
  })

  it('fail when the pool has stopped, those under way and later ones', async () => {
    const { port1, port2 } = new MessageChannel()
    const add = connectAdmissions(port1)
    const offer = () => add(Uint8Array.of(1), new Uint8Array(20), new Uint8Array(32))
    const closed = new Promise((resolve) => port1.once('close', resolve))
    const sent = offer()
    await new Promise((resolve) => setImmediate(resolve))
    const unsent = offer()
    port2.close()
    await expect(sent).rejects.toThrow('the thread has stopped')
    await expect(unsent).rejects.toThrow('the thread has stopped')
    await closed
    await expect(offer()).rejects.toThrow('the thread has stopped')
  })
})
