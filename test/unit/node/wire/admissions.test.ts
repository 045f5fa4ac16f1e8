import { MessageChannel } from 'node:worker_threads'
import { zeroAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import type { Admission, PooledTransaction } from '../../../../src/mempool/types.ts'
import {
  AdmissionServer,
  connectAdmissions,
  connectBatchAdmissions,
  createRecoveryBudget,
} from '../../../../src/node/wire/admissions.ts'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'

let channels: MessageChannel[] = []

const transactionOf = (raw: Uint8Array, hash: Uint8Array, authorizations = 0) => ({
  raw,
  hash,
  sender: new Uint8Array(20),
  authorizations,
})

const noAuthorities = async (): Promise<Uint8Array> => expect.unreachable('no transaction has authorizations')

function serverOf(options: Partial<ConstructorParameters<typeof AdmissionServer>[0]> = {}): AdmissionServer {
  return new AdmissionServer({
    before: () => undefined,
    onError: (_, error) => expect.unreachable(String(error)),
    learn: () => expect.unreachable('no transaction has authorizations'),
    now: () => performance.now(),
    defer: (work) => void setImmediate(work),
    ...options,
  })
}

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
  serverOf({ onError: ({ raw }, error) => void failures.push([raw[0], error]) }).serve(channel.port2, admit)
  const add = connectAdmissions(channel.port1, noAuthorities, createRecoveryBudget())
  const offer = (n: number) => add(transactionOf(Uint8Array.of(n), new Uint8Array(32).fill(n)), '')
  return { offer, offered, failures, messages: () => messages, ...channel }
}

afterEach(() => {
  for (const { port1 } of channels) port1.close()
  channels = []
})

/** A transaction with so many authorizations. */
async function signWith(authorizations: number): Promise<Uint8Array> {
  const account = privateKeyToAccount(`0x${'01'.repeat(32)}`)
  const authorization = await account.signAuthorization({ chainId: 1, address: zeroAddress, nonce: 0 })
  const authorizationList = Array(authorizations).fill(authorization)
  return hexToBytes(await account.signTransaction({ type: 'eip7702', chainId: 1, to: zeroAddress, authorizationList }))
}

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
    serverOf().serve(port2, admit)
    const offer = connectBatchAdmissions(port1, noAuthorities)
    const batchOf = (kinds: readonly number[]) =>
      kinds.map((kind) => ({ raw: Uint8Array.of(kind), hash: new Uint8Array(32), sender: new Uint8Array(20) }))
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
    const add = connectAdmissions(port1, noAuthorities, createRecoveryBudget())
    const offer = () => add(transactionOf(Uint8Array.of(1), new Uint8Array(32)), '')
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

  it('are made in slices, one of each port in turn, and what must not wait is served before each', async () => {
    const [a, b] = [new MessageChannel(), new MessageChannel()]
    channels.push(a, b)
    const order: string[] = []
    const deferred: (() => void)[] = []
    let nowMs = 0
    const server = serverOf({
      before: () => void order.push('executor'),
      now: () => nowMs,
      defer: (work) => void deferred.push(work),
    })
    for (const [name, port] of Object.entries({ a: a.port2, b: b.port2 })) {
      server.serve(port, ({ raw, hash }) => {
        order.push(`${name}${raw[0]}`)
        nowMs += 0.5
        return { accepted: true, hash }
      })
    }
    const batch = [1, 2, 3].map((n) => ({
      raw: Uint8Array.of(n),
      sender: new Uint8Array(20),
      hash: new Uint8Array(32).fill(n),
    }))
    const offers = [a, b].map(({ port1 }) => connectBatchAdmissions(port1, noAuthorities)(batch))
    await expect.poll(() => deferred.length).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(order).toEqual([])
    const slices: string[][] = []
    for (let work = deferred.shift(); work !== undefined; work = deferred.shift()) {
      order.length = 0
      work()
      slices.push([...order])
    }
    expect(slices.slice(0, 3)).toEqual([
      ['executor', 'a1', 'executor', 'b1'],
      ['executor', 'a2', 'executor', 'b2'],
      ['executor', 'a3', 'executor', 'b3'],
    ])
    expect(await Promise.all(offers)).toEqual([3, 3])
  })

  it('of authorizations are refused where the client has used up its recoveries, which others have left', async () => {
    const raw = await signWith(50)
    const channel = new MessageChannel()
    channels.push(channel)
    let recovered = 0
    let asked = 0
    const recover = async (): Promise<Uint8Array> => {
      recovered++
      return new Uint8Array(0)
    }
    // The pool remembers none.
    const known = new Set<number>()
    const numberOf = (hash: Uint8Array) => new DataView(hash.buffer, hash.byteOffset).getUint32(0)
    serverOf({ learn: (hash) => void known.add(numberOf(hash)) }).serve(channel.port2, ({ hash }) => {
      asked++
      return { accepted: false, reason: 'full', ...(!known.has(numberOf(hash)) && { needsAuthorities: true }) }
    })
    let nowMs = 0
    const add = connectAdmissions(
      channel.port1,
      recover,
      createRecoveryBudget(() => nowMs),
    )
    let sent = 0
    const offer = (client: string) => {
      const hash = new Uint8Array(32)
      new DataView(hash.buffer).setUint32(0, ++sent)
      return add(transactionOf(raw, hash, 50), client)
    }
    const reasons: unknown[] = []
    for (let n = 0; n < 300; n++) reasons.push(((await offer('192.0.2.1')) as { reason?: string }).reason)
    expect(recovered).toBe(10_000 / 50)
    expect(asked).toBe(2 * recovered)
    expect(reasons.at(-1)).toBe('too many authorizations: try again in 1 s')
    await offer('192.0.2.2')
    expect(recovered).toBe(201)
    nowMs = 1_000
    for (let n = 0; n < 100; n++) await offer('192.0.2.1')
    expect(recovered).toBe(201 + 1_000 / 50)
  })

  it('of authorizations are asked for again with their signers, which another thread recovers once', async () => {
    const raw = await signWith(1)
    const channel = new MessageChannel()
    channels.push(channel)
    const known = new Map<number, Uint8Array>()
    const recovered: number[] = []
    const recover = async (raw: Uint8Array): Promise<Uint8Array> => {
      recovered.push(raw[0]!)
      return new Uint8Array(40).fill(raw[0]!)
    }
    const learnt: [number, number][] = []
    serverOf({
      learn: (hash, authorities) => {
        known.set(hash[0]!, authorities)
        learnt.push([hash[0]!, authorities.length])
      },
    }).serve(channel.port2, ({ hash }) => {
      if (hash[0]! < 10 || known.has(hash[0]!)) return { accepted: true, hash }
      return { accepted: false, reason: 'not known', needsAuthorities: true }
    })
    const add = connectAdmissions(channel.port1, recover, createRecoveryBudget())
    const offer = (n: number) =>
      add(transactionOf(n < 10 ? Uint8Array.of(n) : raw, new Uint8Array(32).fill(n), n < 10 ? 0 : 1), '::1')
    const outcomes = await Promise.all([1, 10, 2, 11].map(offer))
    expect(outcomes.every(({ accepted }) => accepted)).toBe(true)
    expect(recovered).toEqual([4, 4])
    expect(learnt).toEqual([
      [10, 40],
      [11, 40],
    ])
    const batches = new MessageChannel()
    channels.push(batches)
    serverOf({ learn: (hash, authorities) => void known.set(hash[0]!, authorities) }).serve(
      batches.port2,
      ({ raw, hash }) => {
        if (raw[0] === 3) return { accepted: false, reason: 'full' }
        if (known.has(hash[0]!)) return { accepted: true, hash }
        return { accepted: false, reason: 'not known', needsAuthorities: true }
      },
    )
    const batch = [3, 20, 21].map((n) => ({
      raw: Uint8Array.of(n),
      sender: new Uint8Array(20),
      hash: new Uint8Array(32).fill(n),
    }))
    expect(await connectBatchAdmissions(batches.port1, recover)(batch)).toBe(2)
    expect(recovered).toEqual([4, 4, 20, 21])
  })
})
