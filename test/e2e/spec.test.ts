import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GetNodeInfoResponse } from 'cosmjs-types/cosmos/base/tendermint/v1beta1/query'
import {
  getContractAddress,
  type Hex,
  recoverTransactionAddress,
  type TransactionSerializedLegacy,
  toHex,
  toRlp,
} from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { frame, grpcCall, openSession, readFrames } from '../support/rpc/cosmos/grpc/grpcCall.ts'
import { ACCOUNTS, CHAIN_ID, GWEI, NATIVE_TOKEN } from './devChain.ts'
import { mined, post, rpc, until } from './rpc.ts'
import { runCoind } from './runCoind.ts'
import { freePort, startNode, type TestNode } from './startNode.ts'

interface Heartbeat {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly contentType: string | undefined
  readonly body: Readonly<Record<string, unknown>>
}

const WALLET = ACCOUNTS[0]!.address
const PUBLIC_URL = 'https://rpc.example.org/'
let explorer: Server
let node: TestNode
let metricsPort: number
let privatePort: number
let grpcPort: number
const heartbeats: Heartbeat[] = []

const ask = <T = unknown>(method: string, ...params: readonly unknown[]): Promise<T> =>
  rpc<T>(node.url, method, ...params)

async function readBody(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request) body += chunk
  return body
}

beforeAll(async () => {
  explorer = createServer(async (request, response) => {
    const { method, url, headers } = request
    const body = JSON.parse(await readBody(request)) as Heartbeat['body']
    heartbeats.push({ method, url, contentType: headers['content-type'], body })
    response.end()
  })
  await new Promise<void>((resolve) => explorer.listen(0, '127.0.0.1', resolve))
  metricsPort = await freePort()
  privatePort = await freePort()
  grpcPort = await freePort()
  node = await startNode({
    command: 'start',
    environment: {
      NETWORK: 'testnet',
      MONIKER: 'node-of-the-test',
      GENESIS_WALLET: WALLET,
      PUBLIC_RPC_URL: PUBLIC_URL,
      EXPLORER_HEARTBEAT_URL: `http://127.0.0.1:${(explorer.address() as AddressInfo).port}/api/network/heartbeat`,
      METRICS_PORT: String(metricsPort),
      PRIVATE_RPC_PORT: String(privatePort),
      GRPC_PORT: String(grpcPort),
      RPC_ALLOW_UNPROTECTED_TXS: 'true',
    },
  })
})
afterAll(async () => {
  await node?.stop()
  explorer.closeAllConnections()
  explorer.close()
})

describe('a fresh testnet', () => {
  it('gives the whole supply to the genesis wallet', async () => {
    expect(await ask('eth_getBalance', WALLET, '0x0')).toBe('0x33b2e3c9fd0803ce8000000')
    expect(await ask('eth_getBalance', WALLET, 'earliest')).toBe('0x33b2e3c9fd0803ce8000000')
  })

  it('has contracts of accounts without a key, whose transactions have no chain ID, where the operator takes those', async () => {
    // Nobody knows a key for this signature; it is for this transaction alone.
    const signature: Hex = `0x${'2'.repeat(64)}`
    const gasPrice = 100n * GWEI
    // returns one byte of code, STOP
    const fields: readonly Hex[] = ['0x', toHex(gasPrice), toHex(100_000), '0x', '0x', '0x60015ff3']
    const raw = toRlp([...fields, '0x1b', signature, signature]) as TransactionSerializedLegacy
    const from = await recoverTransactionAddress({ serializedTransaction: raw })
    const paid = await ACCOUNTS[0]!.signTransaction({
      chainId: CHAIN_ID,
      nonce: Number(await ask('eth_getTransactionCount', WALLET, 'latest')),
      to: from,
      value: 100_000n * gasPrice,
      gas: 21_000n,
      maxFeePerGas: gasPrice,
      maxPriorityFeePerGas: GWEI,
    })
    await mined(node.url, await ask('eth_sendRawTransaction', paid))
    const hash = await ask<string>('eth_sendRawTransaction', raw)
    const created = getContractAddress({ from, nonce: 0n }).toLowerCase()
    expect(await mined(node.url, hash)).toMatchObject({ status: '0x1', contractAddress: created })
    expect(await ask('eth_getCode', created, 'latest')).toBe('0x00')
    const transaction = await ask('eth_getTransactionByHash', hash)
    expect(transaction).toMatchObject({ from: from.toLowerCase(), v: '0x1b' })
    expect(transaction).not.toHaveProperty('chainId')
  })

  it('is described to wallets by its genesis', async () => {
    const { code, output } = await runCoind([
      'chain-info',
      '--format',
      'keplr',
      '--node',
      node.url,
      '--rpc-url',
      PUBLIC_URL,
    ])
    expect(code).toBe(0)
    expect(JSON.parse(output)).toMatchObject({
      chainId: 'coin_76287-1',
      rpc: `${PUBLIC_URL}rpc`,
      evm: { chainId: 76287 },
    })
  })

  it('has the chain ID of the testnet', async () => {
    expect(await ask('eth_chainId')).toBe(`0x${(76287).toString(16)}`)
    expect(await ask('net_version')).toBe('76287')
    expect(await ask('net_listening')).toBe(true)
    expect(await ask('net_peerCount')).toBe('0x0')
    expect(await ask('web3_sha3', '0x68656c6c6f20776f726c64')).toBe(
      '0x47173285a8d7341e5e972fc677286384f802f8ef42a5ec5f03bbfa254cb01fad',
    )
  })

  it('answers the two calls of the native token', async () => {
    const call = (data: string) => ask<string>('eth_call', { to: NATIVE_TOKEN, data }, 'latest')
    const word = (text: string) => text.padStart(64, '0')
    expect(await call('0x95d89b41')).toBe(`0x${word('20')}${word('4')}${'434f494e'.padEnd(64, '0')}`)
    expect(await call('0x313ce567')).toBe(`0x${word('12')}`)
    expect(await ask('eth_getCode', NATIVE_TOKEN, 'latest')).not.toBe('0x')
  })

  it('counts the bonded coins in the supply', async () => {
    const supply = await ask<string>('eth_call', { to: NATIVE_TOKEN, data: '0x18160ddd' }, 'latest')
    expect(BigInt(supply)).toBe(10n ** 27n + 10n ** 24n)
  })

  it('shows its status', async () => {
    const status = async () => {
      const response = await fetch(new URL('/rpc/status', node.url))
      expect(response.headers.get('content-type')).toMatch(/^application\/json/)
      return ((await response.json()) as { result: Record<string, Record<string, unknown>> }).result
    }
    const first = await until('first block', async () => {
      const answer = await status()
      return answer.sync_info!.latest_block_height !== '0' && answer
    })
    expect(first.node_info!.id).toMatch(/^[0-9a-f]{40}$/)
    expect(first.node_info).toMatchObject({ network: 'coin_76287-1', moniker: 'node-of-the-test' })
    expect(first.node_info!.other).toMatchObject({ rpc_address: PUBLIC_URL })
    expect(first.sync_info!.latest_block_height).toMatch(/^[1-9][0-9]*$/)
    expect(first.sync_info!.catching_up).toBe(false)
    await until('a higher block', async () => {
      const { sync_info } = await status()
      return Number(sync_info!.latest_block_height) > Number(first.sync_info!.latest_block_height)
    })
  })

  it('makes a block about every 400 ms', async () => {
    const last = 12
    await until(`block ${last}`, async () => Number(await ask('eth_blockNumber')) >= last, 60_000)
    const timeOf = async (height: number): Promise<number> => {
      const response = await fetch(new URL(`/rpc/block?height=${height}`, node.url))
      const { result } = (await response.json()) as { result: { block: { header: { time: string } } } }
      return Date.parse(result.block.header.time)
    }
    const blockMs = ((await timeOf(last)) - (await timeOf(2))) / (last - 2)
    console.log(`a block every ${blockMs.toFixed(0)} ms`)
    // How late they come depends on the machine; after a late one they come faster, but never before their time.
    expect(blockMs).toBeGreaterThan(300)
  })
})

describe('methods that are not there', () => {
  it.each([
    'personal_listAccounts',
    'personal_unlockAccount',
    'admin_nodeInfo',
    'admin_peers',
    'miner_start',
    'ots_getApiLevel',
    'engine_newPayloadV4',
    'eth_sign',
    'eth_sendTransaction',
    'debug_setHead',
    'debug_dbGet',
    'debug_verbosity',
    'txpool_clear',
    'no_such',
  ])('%s', async (method) => {
    expect((await post(node.url, { method, params: [] })).error).toEqual({
      code: -32601,
      message: `the method ${method} does not exist/is not available`,
    })
  })

  it('has the namespaces that are promised', async () => {
    const modules = await ask<Record<string, string>>('rpc_modules')
    expect(Object.keys(modules).sort()).toEqual(['debug', 'eth', 'net', 'rpc', 'txpool', 'web3'])
    const trusted = await rpc<Record<string, string>>(`http://127.0.0.1:${privatePort}`, 'rpc_modules')
    expect(Object.keys(trusted).sort()).toEqual(['debug', 'eth', 'net', 'rpc', 'trace', 'txpool', 'web3'])
    expect(await ask('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
    expect(await ask('txpool_inspect')).toEqual({ pending: {}, queued: {} })
  })
})

describe('a tracer in JavaScript', () => {
  const tracer = `{
    words: [],
    step: function(log) { if (log.stack.length() > 0) this.words.push(log.stack.peek(0).toString()) },
    fault: function() {},
    result: function(ctx) { return [this.words, toHex(ctx.output)] }
  }`
  const params = [{ data: '0x60075f5260205ff3' }, 'latest', { tracer }] as const

  it('runs for the operator', async () => {
    const [words, output] = await rpc<[string[], string]>(
      `http://127.0.0.1:${privatePort}`,
      'debug_traceCall',
      ...params,
    )
    expect(words).toEqual(['7', '0', '32', '0'])
    expect(output).toBe(`0x${'7'.padStart(64, '0')}`)
  })

  it('does not run for others', async () => {
    await expect(ask('debug_traceCall', ...params)).rejects.toThrow('RPC_JS_TRACERS=true')
  })
})

describe('gRPC', () => {
  it('answers on its port, and for browsers on that of the RPC', async () => {
    const session = await openSession(grpcPort)
    const path = '/cosmos.base.tendermint.v1beta1.Service/GetNodeInfo'
    const { status, message } = await grpcCall(session, path, frame(new Uint8Array(0)))
    session.close()
    expect(status).toBe(0)
    expect(GetNodeInfoResponse.decode(message!).defaultNodeInfo?.network).toBe('coin_76287-1')
    const response = await fetch(new URL(path, node.url), {
      method: 'POST',
      headers: { 'content-type': 'application/grpc-web+proto' },
      body: frame(new Uint8Array(0)),
    })
    const [first] = readFrames(Buffer.from(await response.arrayBuffer()))
    expect(GetNodeInfoResponse.decode(first!).defaultNodeInfo?.moniker).toBe('node-of-the-test')
  })
})

describe('reports', () => {
  it('posts a heartbeat to the explorer', async () => {
    const { method, url, contentType, body } = await until('a heartbeat', async () => heartbeats[0])
    expect({ method, url }).toEqual({ method: 'POST', url: '/api/network/heartbeat' })
    expect(contentType).toMatch(/^application\/json/)
    const status = (await (await fetch(new URL('/rpc/status', node.url))).json()) as {
      result: { node_info: { id: string } }
    }
    expect(body).toEqual({
      moniker: 'node-of-the-test',
      network: 'testnet',
      chain_id: 'coin_76287-1',
      evm_chain_id: 76287,
      node_id: status.result.node_info.id,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      height: expect.any(Number),
      block_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      block_time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      peers: 0,
      rpc_address: PUBLIC_URL,
    })
    const block = await ask<{ hash: string }>(
      'eth_getBlockByNumber',
      `0x${(body.height as number).toString(16)}`,
      false,
    )
    expect(body.block_hash).toBe(block.hash)
  })

  it('serves metrics', async () => {
    const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`)
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/)
    const page = await response.text()
    for (const name of [
      'coind_block_height',
      'coind_block_interval_seconds_count',
      'coind_wal_fsync_seconds_count',
      'coind_mempool_transactions{',
      'coind_rpc_requests_total{',
      'coind_view_task_seconds_count{',
      'coind_event_loop_delay_seconds{',
      'coind_thread_memory_bytes{',
      'process_resident_memory_bytes',
    ]) {
      expect(page).toContain(name)
    }
    const height = Number(/^coind_block_height (\d+)/m.exec(page)?.[1])
    expect(height).toBeGreaterThan(0)
    expect(height).toBeLessThanOrEqual(Number(await ask('eth_blockNumber')) + 1)
  })

  it('keeps the address of the explorer out of its log', () => {
    expect(node.output()).not.toContain('/api/network/heartbeat')
  })
})
