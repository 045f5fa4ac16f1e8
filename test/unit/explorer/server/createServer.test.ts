import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { amountToBytes } from '../../../../explorer/database/amount.ts'
import type { IndexDatabase } from '../../../../explorer/database/indexDatabase.ts'
import type { IndexedBlocks } from '../../../../explorer/database/indexedBlocks.ts'
import { openDatabase } from '../../../../explorer/database/open.ts'
import { openServices, type ServiceQueries } from '../../../../explorer/database/services.ts'
import { createTestServer, refuse } from '../../../support/explorer/testServer.ts'

const listeners = new Set<(indexed: IndexedBlocks) => void>()
/** what the database fails with */
let problem: Error | undefined
let directory: string
let database: IndexDatabase
let services: ServiceQueries
let app: Awaited<ReturnType<typeof createTestServer>>
let port: number
const sockets: Socket[] = []
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-live-'))
  const path = join(directory, 'index.sqlite')
  database = await openDatabase(path)
  services = await openServices(path)
  const bytes = new Uint8Array(32)
  const rows = Array.from({ length: 10 }, (_, index) => {
    const own = bytes.subarray(0, 20)
    return {
      height: index + 1,
      hash: bytes,
      consensus_hash: bytes,
      time: 0,
      proposer: own,
      miner: own,
      gas_used: 0,
      gas_limit: 0,
      base_fee: amountToBytes(0n),
      evm_count: 0,
      native_count: 0,
      size: 0,
    }
  })
  await database.write((writer) => writer.insert('block', rows))
  app = await createTestServer({
    queries: database.queries.withPlugin({
      transformQuery: ({ node }) => {
        if (problem !== undefined) throw problem
        return node
      },
      transformResult: async ({ result }) => result,
    }),
    services,
    node: { ethereum: async () => ['0x'], comet: refuse, rest: refuse },
    listeners,
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  port = (app.server.address() as AddressInfo).port
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await app.close()
  await services.destroy()
  await database.close()
  listeners.clear()
  rmSync(directory, { recursive: true })
})

/** Asks for live updates. @returns the connection, which has got the first bytes of the answer, and these */
async function listen(client: string): Promise<{ readonly socket: Socket; readonly answer: string }> {
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  socket.write(`GET /api/v1/live HTTP/1.1\r\nhost: test\r\nx-forwarded-for: ${client}\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  return { socket, answer: answer.toString('latin1') }
}

describe('live updates', () => {
  it('come with each block, and end when the explorer is stopped', async () => {
    const { socket } = await listen('198.51.100.1')
    let text = ''
    socket.on('data', (part) => {
      text += part.toString('latin1')
    })
    while (!text.includes('"height":10')) {
      for (const listener of listeners) listener({ height: 10, nodeHeight: 10 })
      await setImmediate()
    }
    await Promise.all([once(socket, 'close'), app.close()])
    expect(text).toMatch(/data: \{[^\n]*"height":10[^\n]*\}\n\n/)
  })

  it('leave places to others: one client has 50 at most, and gives back those that it leaves', async () => {
    const own = []
    for (let at = 0; at < 50; at++) own.push(await listen('198.51.100.1'))
    expect(own.filter(({ answer }) => answer.startsWith('HTTP/1.1 200')).length).toBe(50)
    expect((await listen('198.51.100.1')).answer).toContain('too many open streams')
    expect((await listen('198.51.100.2')).answer).toContain('HTTP/1.1 200')
    own[0]!.socket.destroy()
    while (!(await listen('198.51.100.1')).answer.startsWith('HTTP/1.1 200')) await setImmediate()
  })

  it('are no reason to stay for an explorer that is stopped, when somebody does not read them', async () => {
    let accepted: Socket | undefined
    app.server.once('connection', (socket: Socket) => {
      accepted = socket
    })
    const { socket } = await listen('198.51.100.1')
    socket.pause()
    while (!(accepted!.writableLength > 0)) {
      for (const listener of listeners) listener({ height: 10, nodeHeight: 10 })
      await setImmediate()
    }
    await app.close()
    expect(accepted!.destroyed).toBe(true)
  })
})

it.each([
  '/api/v1/blocks',
  '/api/v1/status',
  '/health',
  `/api?module=account&action=txlist&address=0x${'11'.repeat(20)}`,
])('says of %s that the database is away while it is, and no more of it', async (url) => {
  problem = Object.assign(new Error('terminating connection due to administrator command'), { code: '57P01' })
  const away = await app.inject({ url })
  expect([away.statusCode, away.json()]).toEqual([
    503,
    { error: expect.stringMatching(/^the database does not respond/) },
  ])
  problem = new Error('no such column: secret')
  const broken = await app.inject({ url })
  expect([broken.statusCode, broken.json()]).toEqual([
    500,
    { error: 'internal error of the explorer: try again later' },
  ])
  problem = undefined
  expect((await app.inject({ url })).statusCode).toBe(200)
})

it('takes only so many questions to the node from one client', async () => {
  const ask = (client: string) =>
    app.inject({ url: `/api/v1/contracts/0x${'c1'.repeat(20)}`, headers: { 'x-forwarded-for': client } })
  const answers = await Promise.all(Array.from({ length: 200 }, () => ask('198.51.100.1')))
  const refused = answers.filter(({ statusCode }) => statusCode === 429)
  expect(answers.filter(({ statusCode }) => statusCode === 404).length).toBe(200 - refused.length)
  expect(refused[0]?.json().error).toContain('too many requests from this address that need the node')
  expect((await ask('198.51.100.2')).statusCode).toBe(404)
})
