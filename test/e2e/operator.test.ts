import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ACCOUNTS } from './devChain.ts'
import { startQuickDevnet } from './quickDevnet.ts'
import { post, rpc, until } from './rpc.ts'
import { runCoind } from './runCoind.ts'
import { freePort, startNode } from './startNode.ts'

const USAGE = 64
const DATA = 65
const UNAVAILABLE = 69
const WALLET = ACCOUNTS[0]!.address

let directory: string
let homes = 0
const freshHome = (): string => join(directory, `home-${++homes}`)

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-operator-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** Starts a node that should refuse to start; gives what it says. */
async function refusal(homedir: string, environment: Readonly<Record<string, string>>) {
  const [rpc, p2p] = [String(await freePort()), String(await freePort())]
  const ports = { RPC_HOST: '127.0.0.1', RPC_PORT: rpc, P2P_HOST: '127.0.0.1', P2P_PORT: p2p, METRICS_PORT: '0' }
  return runCoind(['start', '--homedir', homedir], { environment: { ...ports, ...environment }, killAfterMs: 20_000 })
}

describe('a wrong configuration', () => {
  it.each([
    ['GENESIS_WALLET is missing', { NETWORK: 'testnet' }, /GENESIS_WALLET/],
    ['GENESIS_WALLET is no address', { GENESIS_WALLET: '0x12' }, /GENESIS_WALLET.*0x12.*address/],
    ['RPC_PORT', { GENESIS_WALLET: WALLET, RPC_PORT: '70000' }, /RPC_PORT.*70000.*65535/],
    ['chain IDs that differ', { GENESIS_WALLET: WALLET, CHAIN_ID: 'coin_5-1', EVM_CHAIN_ID: '6' }, /CHAIN_ID/],
    ['JOIN_NETWORK', { JOIN_NETWORK: 'true' }, /JOIN_NETWORK/],
    ['a snapshot', { GENESIS_WALLET: WALLET, FORCE_SNAPSHOT_RESTORE: 'true' }, /FORCE_SNAPSHOT_RESTORE/],
    ['two equal ports', { GENESIS_WALLET: WALLET, RPC_PORT: '26656', P2P_PORT: '26656' }, /_PORT/],
  ] as const)('%s stops the start with one line', async (_name, environment, text) => {
    const homedir = freshHome()
    const { code, output } = await refusal(homedir, environment)
    expect(output).toMatch(/^coind: [^\n]+\n$/)
    expect(output).toMatch(text)
    expect(code).toBe(USAGE)
    expect(existsSync(homedir)).toBe(false)
  })
})

/** Runs these statements in each thread of a node before its own code. */
const pretending = (statements: string) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(statements)}`,
})

describe('a Node.js whose private functions are others', () => {
  const ownThreads = "import { isMainThread } from 'node:worker_threads'; if (!isMainThread) "
  it.each([
    ['a missing one', 'delete Buffer.prototype.hexSlice', /hexSlice of Buffer fails/],
    [
      'another one',
      'Buffer.prototype.latin1Slice = function () { return "" }',
      /latin1Slice of Buffer returned nothing instead/,
    ],
    [
      'another one in a thread',
      `${ownThreads}Buffer.prototype.hexSlice = () => ""`,
      /hexSlice of Buffer returned 0x instead/,
    ],
  ])('%s stops the start with one line', async (_name, statements, text) => {
    const environment = { ...pretending(statements), NETWORK: 'testnet', GENESIS_WALLET: WALLET }
    const { code, output } = await refusal(freshHome(), environment)
    const last = output.split('\n').at(-2)
    expect(last).toMatch(/^coind: self-test: .*run npm ci/)
    expect(last).toMatch(text)
    expect(code).toBe(UNAVAILABLE)
  })
})

describe('another Node.js than the pinned one', () => {
  it('stops a validator before it signs', async () => {
    const { code, output } = await refusal(freshHome(), {
      ...pretending("Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '25.1.0' } })"),
      NETWORK: 'testnet',
      GENESIS_WALLET: WALLET,
    })
    expect(output.split('\n').at(-2)).toMatch(
      /^coind: a validator does not sign with this Node\.js: this is Node\.js 25\.1\.0/,
    )
    expect(output).not.toContain('block decided')
    expect(code).toBe(UNAVAILABLE)
  })
})

describe('a port or an address that cannot be had', () => {
  it('ends every program with one line that names it', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const port = String((taken.address() as AddressInfo).port)
    const chain = { NETWORK: 'testnet', GENESIS_WALLET: WALLET }
    const cases: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
      [{ P2P_PORT: port }, `P2P_PORT is ${port}`],
      [{ P2P_HOST: '192.0.2.1' }, 'P2P_HOST is 192.0.2.1'],
      [{ METRICS_HOST: '192.0.2.1', METRICS_PORT: port }, 'METRICS_HOST is 192.0.2.1'],
      [{ GRPC_PORT: port }, `GRPC_PORT is ${port}`],
      [{ PRIVATE_RPC_PORT: port }, `PRIVATE_RPC_PORT is ${port}`],
      [{ PRIV_VALIDATOR_LADDR: `tcp://127.0.0.1:${port}` }, `PRIV_VALIDATOR_LADDR is tcp://127.0.0.1:${port}`],
      [{ PRIV_VALIDATOR_LADDR: 'unix:///no/such/signer' }, 'PRIV_VALIDATOR_LADDR is unix:///no/such/signer'],
      // With blocks to wait for, the ports are still tried first.
      [{ JOIN_NETWORK: 'true', SEED_NODE_URL: 'http://127.0.0.1:1/', P2P_PORT: port }, `P2P_PORT is ${port}`],
    ]
    const seed = { SEED_NODE_ID: 'a'.repeat(40), SEED_PEER_HOST: '127.0.0.1:1' }
    const explorer = { EXPLORER_HOST: '127.0.0.1', EXPLORER_PORT: port, EXPLORER_DATABASE: join(directory, 'e.sqlite') }
    const ended = await Promise.all([
      ...cases.map(([environment]) =>
        refusal(freshHome(), {
          ...('JOIN_NETWORK' in environment ? { NETWORK: 'testnet', ...seed } : chain),
          ...environment,
        }),
      ),
      runCoind(['explorer'], { environment: explorer, killAfterMs: 20_000 }),
    ])
    const lines = [...cases.map(([, line]) => line), `EXPLORER_PORT is ${port}`]
    for (const [index, { code, output }] of ended.entries()) {
      const [first, ...rest] = output.split('\n')
      expect(first).toContain(`coind: ${lines[index]}: `)
      expect(rest).toEqual([''])
      expect(code).toBe(UNAVAILABLE)
    }
    taken.close()
  })

  it('ends a node whose address book cannot be read', async () => {
    const homedir = freshHome()
    mkdirSync(join(homedir, 'peers.json'), { recursive: true })
    const { code, output } = await refusal(homedir, { NETWORK: 'testnet', GENESIS_WALLET: WALLET, LOG_LEVEL: 'warn' })
    expect(output).toBe(`coind: ${homedir}/peers.json is a directory, but a file is needed\n`)
    expect(code).toBe(UNAVAILABLE)
  })
})

describe('a data directory', () => {
  it('serves one process, ends although a client stays, and refuses another genesis', async () => {
    const homedir = freshHome()
    const environment = { NETWORK: 'testnet', GENESIS_WALLET: WALLET }
    const node = await startNode({ command: 'start', homedir, environment })
    await until('a block', async () => Number(await rpc(node.url, 'eth_blockNumber')) > 1)

    const second = await refusal(homedir, environment)
    expect(second.output).toMatch(new RegExp(`^coind: another coind \\(process ${node.process.pid}\\)[^\\n]*\\n$`))
    expect(second.code).toBe(USAGE)
    expect(await runCoind(['debug', 'invariants', '--homedir', homedir], { environment })).toEqual({
      code: 0,
      output: expect.stringMatching(/^block \d+: all invariants hold, \d+ accounts\n$/),
    })
    const samePort = { ...environment, RPC_PORT: String(node.rpcPort) }
    const third = await refusal(freshHome(), samePort)
    expect(third.output).toMatch(/^coind: RPC_PORT is \d+: another program listens on 127\.0\.0\.1:\d+;[^\n]*\n$/)
    expect(third.code).toBe(UNAVAILABLE)

    // A client that stays connected must not hold the node up.
    const socket = new WebSocket(node.wsUrl)
    await new Promise((resolve) => socket.addEventListener('open', resolve))
    const number = Number(await rpc(node.url, 'eth_blockNumber'))
    expect(await node.kill('SIGTERM')).toBe(0)
    expect(node.output().trim().split('\n').at(-1)).toContain('node has stopped')

    const path = join(homedir, 'config', 'genesis.json')
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replace(/"genesis_time": ?"2/, '"genesis_time":"3'))
    expect(readFileSync(path, 'utf8')).not.toBe(text)
    const other = await refusal(homedir, environment)
    expect(other.output).toMatch(/^coind: [^\n]*genesis[^\n]*\n$/)
    expect(other.code).toBe(DATA)
    writeFileSync(path, text)

    const wrongHash = await refusal(homedir, { ...environment, GENESIS_HASH: '00'.repeat(32) })
    expect(wrongHash.output).toMatch(/^coind: GENESIS_HASH[^\n]*\n$/)
    expect(wrongHash.code).toBe(USAGE)

    const again = await startNode({ command: 'start', homedir, environment })
    expect(Number(await rpc(again.url, 'eth_blockNumber'))).toBeGreaterThanOrEqual(number)
    expect(await again.kill('SIGINT')).toBe(0)
  })
})

describe('state history', () => {
  it('is kept for the window of a pruned node and for ever in an archive', async () => {
    const [pruned, archive] = await Promise.all([
      startQuickDevnet({ environment: { PRUNING: '20' } }),
      startQuickDevnet({
        environment: { PRUNING: 'archive', INDEX_TRACES: 'true', RPC_NAMESPACES: 'eth,net,web3,txpool,debug,trace' },
      }),
    ])
    try {
      const to = `0x${'ab'.repeat(20)}` as const
      const fees = { gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n }
      const transfer = { chainId: 76287, type: 'eip1559', nonce: 0, to, value: 5n, ...fees } as const
      const hash = await rpc(archive.url, 'eth_sendRawTransaction', await ACCOUNTS[1]!.signTransaction(transfer))
      const balanceAt1 = { method: 'eth_getBalance', params: [WALLET, '0x1'] }
      const isPast = async () => Number(await rpc(pruned.url, 'eth_blockNumber')) > 30
      await until('30 blocks', isPast, 40_000)
      const { error } = await post(pruned.url, balanceAt1)
      expect(error?.code).toBe(-32000)
      const oldest = Number(
        /^historical state of block 1 is not available: the oldest block with state is (\d+)$/.exec(
          error?.message ?? '',
        )?.[1],
      )
      const head = Number(await rpc(pruned.url, 'eth_blockNumber'))
      expect(oldest).toBeGreaterThan(1)
      expect(oldest).toBeLessThanOrEqual(head - 15)
      for (const [method, ...params] of [
        ['eth_call', { to: WALLET }],
        ['eth_getProof', WALLET, []],
        ['eth_getTransactionCount', WALLET],
        ['eth_getCode', WALLET],
        ['eth_getStorageAt', WALLET, '0x0'],
        ['eth_estimateGas', { to: WALLET }],
      ] as const) {
        const answer = await post(pruned.url, { method, params: [...params, '0x1'] })
        expect(answer.error).toMatchObject({
          code: -32000,
          message: expect.stringMatching(/^historical state of block 1/),
        })
      }
      const recent = `0x${(head - 10).toString(16)}`
      expect(await rpc(pruned.url, 'eth_getBalance', WALLET, recent)).toMatch(/^0x/)
      // Blocks are not state.
      expect(await rpc(pruned.url, 'eth_getBlockByNumber', '0x1', true)).toMatchObject({ number: '0x1' })

      expect(await rpc(archive.url, 'eth_getBalance', WALLET, '0x1')).toBe('0x33b2e3c9fd0803ce8000000')
      expect(await rpc(archive.url, 'eth_getProof', WALLET, [], '0x1')).toMatchObject({ nonce: '0x0' })
      const trace = { action: { to, value: '0x5' }, transactionHash: hash, traceAddress: [] }
      expect(await rpc(archive.url, 'trace_filter', { toAddress: [to] })).toMatchObject([trace])
    } finally {
      await Promise.all([pruned.stop(), archive.stop()])
    }
  })
})
