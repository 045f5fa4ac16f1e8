import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { afterEach, describe, expect, test } from 'vitest'
import * as ws from 'ws'
import { createClientAddresses } from '../../../../src/config/clientAddress.ts'
import { createClientBudget } from '../../../../src/rpc/transport/clientBudget.ts'
import { createRateLimit } from '../../../../src/rpc/transport/rateLimit.ts'
import type { SocketProtocol } from '../../../../src/rpc/transport/socketProtocol.ts'
import { UnfinishedMessage } from '../../../../src/rpc/transport/unfinishedMessage.ts'
import { createWebSocketEndpoint } from '../../../../src/rpc/transport/websocket.ts'

/** What a WebSocket of `ws` reads with; it is exported, but its types do not say so. */
const { Receiver } = ws as unknown as { readonly Receiver: new (options: object) => Writable }

const [CONTINUATION, TEXT, CLOSE, PING, PONG] = [0x0, 0x1, 0x8, 0x9, 0xa]

interface FrameOptions {
  readonly isLast?: boolean
  /** what the header says instead of the payload's own length */
  readonly length?: number
}

/** A masked frame, as clients send it. */
function frame(opcode: number, payload: Uint8Array, { isLast = true, length = payload.length }: FrameOptions = {}) {
  const header = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10)
  header[0] = opcode | (isLast ? 0x80 : 0)
  header[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127)
  if (header.length === 4) header.writeUInt16BE(length, 2)
  if (header.length === 10) header.writeBigUInt64BE(BigInt(length), 2)
  // A mask of zeros changes nothing.
  return Buffer.concat([header, Buffer.alloc(4), payload])
}

describe('the bytes of one connection', () => {
  let taken = 0
  const budget = createClientBudget({
    total: 1_000_000,
    onChange: (now) => {
      taken = now
    },
  })
  const message = Buffer.alloc(1_000, 'x')

  test('nothing is taken for messages that come whole', () => {
    const unfinished = new UnfinishedMessage(budget, 'a')
    const bytes = Buffer.concat([frame(PING, Buffer.alloc(0)), frame(TEXT, message), frame(TEXT, Buffer.alloc(70_000))])
    expect(unfinished.add(bytes, 0)).toBe(true)
    expect([taken, unfinished.isLate(1e9, 0)]).toEqual([0, false])
  })

  test('is taken from the first byte of a message to its last, wherever it is cut', () => {
    const whole = Buffer.concat([
      frame(TEXT, message, { isLast: false }),
      frame(PING, Buffer.from('still there?')),
      frame(CONTINUATION, Buffer.alloc(0), { isLast: false }),
      frame(CONTINUATION, message),
    ])
    for (let cut = 1; cut < whole.length; cut++) {
      const unfinished = new UnfinishedMessage(budget, 'a')
      unfinished.add(whole.subarray(0, cut), 0)
      expect(taken).toBeGreaterThan(cut)
      unfinished.add(whole.subarray(cut), 0)
      expect(taken).toBe(0)
    }
  })

  test('a message is begun anew behind one that ends', () => {
    const unfinished = new UnfinishedMessage(budget, 'a')
    const [first, second] = [frame(TEXT, Buffer.alloc(200_000)), frame(TEXT, message)]
    unfinished.add(first.subarray(0, 150_000), 10)
    expect(taken).toBeGreaterThan(150_000)
    unfinished.add(Buffer.concat([first.subarray(150_000), second.subarray(0, 5)]), 20)
    expect(taken).toBeGreaterThan(50_000)
    expect(taken).toBeLessThan(51_000)
    expect([unfinished.isLate(25, 5), unfinished.isLate(26, 5)]).toEqual([false, true])
    unfinished.restart(26)
    expect(unfinished.isLate(26, 5)).toBe(false)
    unfinished.add(second.subarray(5), 30)
    expect([taken, unfinished.isLate(1e9, 5)]).toEqual([0, false])
  })

  test('many small pieces count as what they cost', () => {
    const unfinished = new UnfinishedMessage(budget, 'a')
    const fragments = Array.from({ length: 500 }, (_, i) =>
      frame(i === 0 ? TEXT : CONTINUATION, Buffer.from('x'), { isLast: false }),
    )
    unfinished.add(Buffer.concat(fragments), 0)
    expect(taken).toBeGreaterThan(500 * 128)
    unfinished.release()
    expect(taken).toBe(0)
  })

  test('agrees with ws about where messages end', () => {
    const payloads = [0, 1, 125, 126, 127, 65_535, 65_536, 100_000].map((length) => Buffer.alloc(length, 'x'))
    const stream = Buffer.concat(
      payloads.flatMap((payload) => [
        frame(TEXT, payload, { isLast: false }),
        frame(PING, Buffer.alloc(125)),
        frame(CONTINUATION, payload),
        frame(TEXT, payload),
      ]),
    )
    const receiver = new Receiver({ isServer: true })
    let ended = 0
    receiver.on('message', () => ended++)
    const unfinished = new UnfinishedMessage(createClientBudget({ total: 1e9 }), 'a')
    let known = 0
    for (let offset = 0; offset < stream.length; ) {
      const length = 1 + ((offset * 7_919) % 5_003)
      const piece = stream.subarray(offset, offset + length)
      offset += length
      unfinished.add(piece, offset)
      receiver.write(piece)
      // A message that ended leaves nothing that is older than this piece.
      if (ended > known) expect(unfinished.isLate(offset + 1, 1)).toBe(false)
      known = ended
    }
    expect(known).toBe(2 * payloads.length)
    expect(unfinished.isLate(1e9, 0)).toBe(false)
  })
})

const BUDGET = 1_000_000
/** A client that is alone has room for two. */
const LARGE = Buffer.alloc(80_000, 'x')

const lengths: SocketProtocol = {
  answer: async (text) => String(text.length),
  refuse: () => 'refused',
  confirms: () => true,
}

interface TestEndpoint {
  readonly port: number
  /** the most that was taken of the budget */
  mostTaken(): number
  /** Resolves as soon as no more than that is taken. */
  untilTaken(bytes: number): Promise<void>
}

const servers: Server[] = []
const sockets: Socket[] = []

async function startEndpoint(limits = {}): Promise<TestEndpoint> {
  let [taken, most] = [0, 0]
  const changes = new EventEmitter()
  const endpoint = createWebSocketEndpoint({
    protocols: new Map([['/ws', () => lengths]]),
    clients: createClientAddresses([{ address: '127.0.0.1', prefix: 32 }]),
    requests: createClientBudget({
      total: BUDGET,
      onChange: (now) => {
        taken = now
        most = Math.max(most, now)
        changes.emit('change')
      },
    }),
    rateLimit: createRateLimit({ perSecond: 0 }),
    allowedOrigins: ['*'],
    requestBytes: 200_000,
    limits,
  })
  const server = createServer().on('upgrade', endpoint.upgrade).on('close', endpoint.close)
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    mostTaken: () => most,
    untilTaken: async (bytes) => {
      while (taken > bytes) await once(changes, 'change')
    },
  }
}

interface RawClient {
  readonly socket: Socket
  /** Sends the bytes and gives the opcode and payload of the next frame from the server. */
  ask(...frames: Buffer[]): Promise<readonly [opcode: number, payload: Buffer]>
}

async function openRaw({ port }: TestEndpoint, client: string): Promise<RawClient> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => socket.destroy())
  sockets.push(socket)
  socket.write(
    `GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Forwarded-For: ${client}\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n` +
      'Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n',
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  expect(head.toString()).toContain('HTTP/1.1 101')
  // What is compressed could be a thousand times as long as what was counted.
  expect(head.toString().toLowerCase()).not.toContain('permessage-deflate')
  return {
    socket,
    ask: async (...frames) => {
      socket.write(Buffer.concat(frames))
      const [bytes] = (await once(socket, 'data')) as [Buffer]
      return [bytes[0]! & 0x0f, bytes.subarray(2, 2 + bytes[1]!)]
    },
  }
}

/** Begins a large message; the answer to the ping behind its first fragment tells that this was read. */
async function begin(client: RawClient): Promise<'held' | number> {
  const [opcode, payload] = await client.ask(frame(TEXT, LARGE, { isLast: false }), frame(PING, Buffer.alloc(0)))
  if (opcode === PONG) return 'held'
  expect(opcode).toBe(CLOSE)
  return payload.readUInt16BE()
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))))
})

describe('messages that are begun and not ended', () => {
  test('have a budget in which each client has a share', async () => {
    const endpoint = await startEndpoint()
    const attackers: RawClient[] = []
    const outcomes: unknown[] = []
    for (let i = 0; i < 6; i++) {
      attackers.push(await openRaw(endpoint, '192.0.2.1'))
      outcomes.push(await begin(attackers[i]!))
    }
    expect(outcomes).toEqual(['held', 'held', 1013, 1013, 1013, 1013])
    // Another client is not concerned.
    const other = await openRaw(endpoint, '192.0.2.2')
    expect(await begin(other)).toBe('held')
    expect(await other.ask(frame(CONTINUATION, Buffer.from('y')))).toEqual([TEXT, Buffer.from('80001')])
    // Those that end their messages are answered, and make room.
    const [first, second, ...refused] = attackers as [RawClient, RawClient, ...RawClient[]]
    expect(await first.ask(frame(CONTINUATION, Buffer.from('y')))).toEqual([TEXT, Buffer.from('80001')])
    for (const { socket } of refused) socket.destroy()
    await endpoint.untilTaken(1.2 * LARGE.length)
    expect(await begin(await openRaw(endpoint, '192.0.2.1'))).toBe('held')
    expect(await second.ask(frame(CONTINUATION, Buffer.from('y')))).toEqual([TEXT, Buffer.from('80001')])
  })

  test('of many clients together stay within the budget, which is free again when they are gone', async () => {
    const endpoint = await startEndpoint()
    const outcomes: unknown[] = []
    for (let i = 0; i < 20; i++) outcomes.push(await begin(await openRaw(endpoint, `192.0.2.${i}`)))
    expect(new Set(outcomes)).toEqual(new Set(['held', 1013]))
    expect(endpoint.mostTaken()).toBeLessThanOrEqual(BUDGET)
    expect(outcomes.filter((outcome) => outcome === 'held').length * LARGE.length).toBeLessThanOrEqual(BUDGET)
    const small = await openRaw(endpoint, '192.0.2.99')
    expect(await small.ask(frame(TEXT, Buffer.from('hello')))).toEqual([TEXT, Buffer.from('5')])
    for (const socket of sockets) socket.destroy()
    await endpoint.untilTaken(0)
  })

  test('have a time', async () => {
    const endpoint = await startEndpoint({ messageMs: 0 })
    const [slow, quick] = [await openRaw(endpoint, '192.0.2.1'), await openRaw(endpoint, '192.0.2.2')]
    expect(await quick.ask(frame(TEXT, Buffer.from('hello')))).toEqual([TEXT, Buffer.from('5')])
    const [opcode, payload] = await slow.ask(frame(TEXT, Buffer.from('x'), { length: 100 }))
    expect([opcode, payload.readUInt16BE()]).toEqual([CLOSE, 1008])
    expect(await quick.ask(frame(TEXT, Buffer.from('hello')))).toEqual([TEXT, Buffer.from('5')])
    slow.socket.destroy()
    await endpoint.untilTaken(0)
  })

  test('a message that is longer than it may be is refused at its header', async () => {
    const endpoint = await startEndpoint()
    const client = await openRaw(endpoint, '192.0.2.1')
    const [opcode, payload] = await client.ask(frame(TEXT, Buffer.alloc(0), { length: 200_001 }))
    expect([opcode, payload.readUInt16BE()]).toEqual([CLOSE, 1009])
  })
})
