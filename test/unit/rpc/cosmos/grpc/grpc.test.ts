import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import { gzipSync } from 'node:zlib'
import { QueryClientImpl as BankClient } from 'cosmjs-types/cosmos/bank/v1beta1/query'
import { ServiceClientImpl as TendermintClient } from 'cosmjs-types/cosmos/base/tendermint/v1beta1/query'
import { QueryParamsRequest, QueryClientImpl as StakingClient } from 'cosmjs-types/cosmos/staking/v1beta1/query'
import { BroadcastMode, ServiceClientImpl as TxClient } from 'cosmjs-types/cosmos/tx/v1beta1/service'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createClientAddresses } from '../../../../../src/config/clientAddress.ts'
import { createGrpcServer, type GrpcServer, type GrpcServerOptions } from '../../../../../src/rpc/cosmos/grpc/server.ts'
import { grpcServices } from '../../../../../src/rpc/cosmos/grpc/services.ts'
import { QUERIES } from '../../../../../src/rpc/cosmos/queries.ts'
import type { NativeCall, NativePort } from '../../../../../src/rpc/cosmos/queryPort.ts'
import { createRateLimit } from '../../../../../src/rpc/transport/rateLimit.ts'
import { frame, grpcCall, openSession } from '../../../../support/rpc/cosmos/grpc/grpcCall.ts'
import { HOLDER, makeHistory, OTHER, sendMessage, signed } from '../../../../support/rpc/cosmos/nativeHistory.ts'
import { createNativeNode, type NativeNode } from '../../../../support/rpc/cosmos/nativeNode.ts'

let node: NativeNode
let server: GrpcServer
let session: ClientHttp2Session
/** what reached a view thread */
const calls: { readonly path: string; readonly height: number; readonly client: string; readonly leftMs: number }[] = []
const open: { close(): Promise<void> }[] = []

const BALANCE = '/cosmos.bank.v1beta1.Query/Balance'

async function start(options: Partial<GrpcServerOptions> = {}): Promise<GrpcServer> {
  const port: NativePort = {
    query: (queue, call: NativeCall, scope) => {
      const leftMs = scope.deadlineMs - Number(process.hrtime.bigint()) / 1e6
      calls.push({ path: call.path, height: call.height, client: scope.client, leftMs })
      return node.port.query(queue, call, scope)
    },
  }
  return createGrpcServer({
    services: grpcServices({ queries: QUERIES, port }),
    host: '127.0.0.1',
    port: 0,
    clients: createClientAddresses([]),
    rateLimit: createRateLimit({ perSecond: 0 }),
    connectionRate: createRateLimit({ perSecond: 0 }),
    requestBytes: 1_000_000,
    responseBytes: 1_000_000,
    ...options,
  })
}

/** What the clients that cosmjs-types generates from the SDK's own files call. */
const rpc = {
  request: async (service: string, method: string, data: Uint8Array): Promise<Uint8Array> => {
    const { message, status, text } = await grpcCall(session, `/${service}/${method}`, frame(data))
    if (status !== 0) throw new Error(`${status}: ${text}`)
    return message!
  },
}

beforeAll(async () => {
  node = await createNativeNode()
  await makeHistory(node)
  server = await start()
  session = await openSession(server.port)
})
afterEach(async () => {
  for (const opened of open.splice(0)) await opened.close()
})
afterAll(async () => {
  session.close()
  await server.close()
  expect(node.logged).toEqual([])
  await node.close()
})

/** Until a stream has ended, by an error too. */
function closing(stream: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve) => stream.once('close', () => resolve()))
}

/** Another server, which ends with the test. */
async function another(options: Partial<GrpcServerOptions>) {
  const started = await start(options)
  open.push(started)
  const opened = await openSession(started.port)
  open.unshift({ close: async () => opened.destroy() })
  return opened
}

describe('queries', () => {
  test('of clients that are generated from the SDK’s own files', async () => {
    const bank = new BankClient(rpc)
    const { balance } = await bank.Balance({ address: OTHER.bech32, denom: 'acoin' })
    expect(balance).toEqual({ denom: 'acoin', amount: '5000000000000000007' })
    const { validators } = await new StakingClient(rpc).Validators({ status: 'BOND_STATUS_BONDED' })
    expect(validators).toHaveLength(1)
    const { sdkBlock, block } = await new TendermintClient(rpc).GetLatestBlock()
    expect((sdkBlock ?? block)!.header.height).toBe(4n)
  })

  test('on the state of a height, which the answer names', async () => {
    const request = frame(Buffer.from([]))
    const params = '/cosmos.staking.v1beta1.Query/Params'
    const newest = await grpcCall(session, params, request)
    expect(newest.headers['x-cosmos-block-height']).toBe('4')
    const older = await grpcCall(session, params, request, { 'x-cosmos-block-height': '2' })
    expect(older.headers['x-cosmos-block-height']).toBe('2')
    expect(calls.at(-1)).toMatchObject({ path: params, height: 2, client: '127.0.0.1' })
    const future = await grpcCall(session, params, request, { 'x-cosmos-block-height': '99' })
    expect(future).toMatchObject({ status: 3, text: expect.stringContaining('height in the future') })
    const wrong = await grpcCall(session, params, request, { 'x-cosmos-block-height': 'x' })
    expect(wrong).toMatchObject({ status: 3, text: 'invalid height header "x"' })
  })

  test('by whatever name a client has for its encoder', async () => {
    for (const name of ['application/grpc+proto', 'application/grpc+cosmos-sdk-grpc-codec']) {
      const request = frame(Buffer.from([]))
      const answer = await grpcCall(session, '/cosmos.staking.v1beta1.Query/Params', request, { 'content-type': name })
      expect(answer).toMatchObject({ status: 0 })
    }
  })

  test('errors have the SDK’s codes and texts', async () => {
    const bank = new BankClient(rpc)
    await expect(bank.Balance({ address: '', denom: 'acoin' })).rejects.toThrow(/^3: .*empty address/)
    const tx = new TxClient(rpc)
    await expect(tx.GetTx({ hash: '00'.repeat(32) })).rejects.toThrow(/^5: tx not found/)
    expect(await grpcCall(session, BALANCE, frame(Buffer.from([0xff, 0xff])))).toMatchObject({ status: 13 })
  })

  test('what is not there holds no stream, though its message does not end', async () => {
    const small = await another({ limits: { totalStreams: 10, messageMs: 60_000 } })
    for (let index = 0; index < 20; index++) {
      const stream = small.request({
        ':method': 'POST',
        ':path': '/cosmos.none.v1.Query/None',
        'content-type': 'application/grpc',
      })
      stream.write(Buffer.alloc(10))
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
      expect(headers['grpc-status']).toBe('12')
      await closing(stream)
    }
  })

  test('what is not there is told apart: a service and a method', async () => {
    const words: [path: string, text: string][] = [
      ['/cosmos.bank.v1beta1.Query/None', 'unknown method None for service cosmos.bank.v1beta1.Query'],
      ['/ibc.core.connection.v1.Query/ConnectionParams', 'unknown service ibc.core.connection.v1.Query'],
      ['/none', 'malformed method name: "/none"'],
      ['/a%20b%/c', 'unknown service a%20b%'],
    ]
    for (const [path, text] of words) {
      const answer = await grpcCall(session, path, frame(Buffer.alloc(0)))
      expect(answer).toMatchObject({ status: 12, text, headers: { ':status': 200 } })
    }
    const other = await grpcCall(session, BALANCE.replace('bank', 'none'), Buffer.alloc(0), {
      'content-type': 'text/plain',
    })
    expect(other.headers[':status']).toBe(404)
  })

  test('a transaction is simulated and sent', async () => {
    const tx = new TxClient(rpc)
    const raw = signed(9, [sendMessage(1n)])
    const { gasInfo } = await tx.Simulate({ txBytes: raw } as never).catch(() => ({ gasInfo: undefined }))
    expect(gasInfo?.gasUsed ?? 0n).toBeGreaterThanOrEqual(0n)
    node.pool.answer = { accepted: true, hash: new Uint8Array(32) }
    await tx.BroadcastTx({ txBytes: raw, mode: BroadcastMode.BROADCAST_MODE_SYNC })
    expect(node.pool.submitted.at(-1)).toEqual(raw)
    const { txs } = await tx.GetBlockWithTxs({ height: 2n } as never)
    expect(txs.length).toBeGreaterThan(0)
    expect(HOLDER).toMatch(/^coin1/)
  })
})

describe('reflection', () => {
  test.each(['v1', 'v1alpha'])('%s lists services and gives their files', async (version) => {
    const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`
    const text = (field: number, value: string): Buffer =>
      frame(Buffer.from([(field << 3) | 2, value.length, ...Buffer.from(value)]))
    const { messages, status } = await grpcCall(
      session,
      path,
      Buffer.concat([
        text(7, ''),
        text(4, 'cosmos.bank.v1beta1.Query.Balance'),
        text(4, 'cosmos.none.Nothing'),
        text(3, 'google/protobuf/any.proto'),
        text(6, 'google.protobuf.FieldOptions'),
      ]),
    )
    expect(status).toBe(0)
    expect(messages).toHaveLength(5)
    const [list, file, none, any, extensions] = messages.map((message) => Buffer.from(message).toString('latin1'))
    for (const path of QUERIES.keys()) expect(list).toContain(path.split('/')[1])
    expect(list).not.toContain('cosmos.bank.v1beta1.Msg')
    expect(file).toContain('QueryBalanceRequest')
    // Of gogoproto and others.
    expect(extensions!.length).toBeGreaterThan(60)
    expect(none).toContain('there is no such file or symbol')
    expect(any).toContain('google.protobuf')
  })
})

describe('who asks for too much', () => {
  test('is refused before its message is read: rate, streams at a time', async () => {
    const limited = await another({
      clients: createClientAddresses([]),
      rateLimit: { ...createRateLimit({ perSecond: 0 }), admit: () => 7 },
    })
    expect(await grpcCall(limited, BALANCE, frame(Buffer.alloc(0)))).toMatchObject({
      status: 8,
      text: 'too many requests: try again in 7 s',
    })
    expect(await grpcCall(limited, '/cosmos.none.Query/Nothing', frame(Buffer.alloc(0)))).toMatchObject({ status: 8 })
    const crowded = await another({ limits: { totalStreams: 0 } })
    expect(await grpcCall(crowded, BALANCE, frame(Buffer.alloc(0)))).toMatchObject({ status: 8 })
  })

  test('each message of a stream is a request', async () => {
    let admitted = 0
    const limited = await another({
      rateLimit: { ...createRateLimit({ perSecond: 0 }), admit: () => (admitted++ < 3 ? 0 : 7) },
    })
    const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
    const list = frame(Buffer.from([0x3a, 0]))
    const { messages, status, text } = await grpcCall(limited, path, Buffer.concat([list, list, list]))
    expect(messages).toHaveLength(2)
    expect({ status, text }).toEqual({ status: 8, text: 'too many requests: try again in 7 s' })
  })

  test('messages without an end take no more than there is', async () => {
    const crowded = await another({ limits: { messageBytes: 50_000 } })
    const unfinished = (): ClientHttp2Stream => {
      const stream = crowded.request({ ':method': 'POST', ':path': BALANCE, 'content-type': 'application/grpc' })
      stream.on('error', () => undefined)
      stream.write(frame(Buffer.alloc(40_000)).subarray(0, 30_000))
      return stream
    }
    const first = unfinished()
    const second = unfinished()
    await Promise.race([closing(first), closing(second)])
    expect([first.rstCode, second.rstCode]).toContain(constants.NGHTTP2_ENHANCE_YOUR_CALM)
    expect([first.closed, second.closed]).toContain(false)
  })

  test.each([
    ['/cosmos.staking.v1beta1.Query/Params', frame(QueryParamsRequest.encode({}).finish())],
    ['/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', frame(Buffer.from([0x3a, 0]))],
  ])('answers of %s that nobody reads are given up', async (path, request) => {
    const crowded = await start({ limits: { pendingBytes: 10 } })
    open.push(crowded)
    const reader = connect(`http://127.0.0.1:${crowded.port}`, { settings: { initialWindowSize: 0 } })
    open.unshift({ close: async () => reader.destroy() })
    const streams = [1, 2].map(() => {
      const stream = reader.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
      })
      stream.on('error', () => undefined)
      stream.end(request)
      return stream
    })
    await Promise.race(streams.map(closing))
    expect(streams.map(({ closed }) => closed).sort()).toEqual([false, true])
  })

  test('a message that is too long, also one that is only long when it is decompressed', async () => {
    const long = Buffer.alloc(2_000_000)
    expect(await grpcCall(session, BALANCE, frame(long))).toMatchObject({ status: 8 })
    const bomb = frame(gzipSync(long), true)
    expect(bomb.length).toBeLessThan(10_000)
    expect(await grpcCall(session, BALANCE, bomb, { 'grpc-encoding': 'gzip' })).toMatchObject({ status: 8 })
  })

  test('frames that are none', async () => {
    for (const body of [
      Buffer.from([0, 0, 0]),
      Buffer.from([0, 0xff, 0xff, 0xff, 0xff]),
      Buffer.from([9, 0, 0, 0, 0]),
    ]) {
      const { status } = await grpcCall(session, BALANCE, body)
      expect(status).toBeGreaterThan(0)
    }
    expect((await grpcCall(session, BALANCE, frame(Buffer.alloc(0)))).status).toBe(3)
  })

  test('requests to hosts that are none', async () => {
    for (const authority of ['[[[', 'x:99999']) {
      const answer = await grpcCall(session, BALANCE, frame(Buffer.alloc(0)), { ':authority': authority })
      expect(answer.status, authority).toBe(3)
    }
  })

  test('the deadline is the client’s where that is earlier', async () => {
    calls.length = 0
    await grpcCall(session, BALANCE, frame(Buffer.alloc(0)), { 'grpc-timeout': '500m' })
    await grpcCall(session, BALANCE, frame(Buffer.alloc(0)), { 'grpc-timeout': '90S' })
    const [short, long] = calls
    expect(short!.leftMs).toBeLessThanOrEqual(500)
    expect(long!.leftMs).toBeLessThanOrEqual(30_000)
    expect(long!.leftMs).toBeGreaterThan(10_000)
  })

  test('a stream whose message does not end is closed, also one that sends a byte now and then', async () => {
    const impatient = await another({ limits: { messageMs: 50 } })
    const stream = impatient.request({ ':method': 'POST', ':path': BALANCE, 'content-type': 'application/grpc' })
    stream.on('error', () => undefined)
    const bytes = setInterval(() => stream.write(Buffer.alloc(1)), 10)
    stream.once('close', () => clearInterval(bytes))
    stream.write(Buffer.from([0, 0, 0, 0xff, 0xff]))
    await closing(stream)
  })
})
