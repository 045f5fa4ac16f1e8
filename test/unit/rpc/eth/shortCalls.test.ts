import { Registry } from 'prom-client'
import { beforeAll, describe, expect, test } from 'vitest'
import { chooseEngine } from '../../../../src/evm/engines/createEngine.ts'
import { createWasmEngine } from '../../../../src/evm/engines/wasm/wasmEngine.ts'
import type { StatefulPrecompile } from '../../../../src/evm/precompile.ts'
import { nativeToken } from '../../../../src/modules/bank/precompile/nativeToken.ts'
import { precompileTable } from '../../../../src/precompiles/registry.ts'
import { bytesKey, bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { call } from '../../../../src/rpc/eth/call.ts'
import { createShortCalls, type ShortCallsOptions } from '../../../../src/rpc/eth/shortCalls.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { RpcError } from '../../../../src/rpc/jsonrpc/errors.ts'
import type { RpcContext } from '../../../../src/rpc/jsonrpc/method.ts'
import type { ShortCalls } from '../../../../src/rpc/jsonrpc/runMethod.ts'
import { createSocketMetrics } from '../../../../src/telemetry/metrics.ts'
import {
  alice,
  broken,
  constant,
  counter,
  createContractNode,
  echo,
  environment,
  forwarder,
  hexOf,
  loop,
  reverter,
  word,
} from '../../../support/rpc/contractNode.ts'
import { invoke } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import { createTestThread } from '../../../support/rpc/rpcTestServer.ts'

const precompile = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`

let node: MemoryNode
beforeAll(async () => {
  node = await createContractNode()
})

const engine = await chooseEngine('wasm')
if (engine.kind !== 'wasm') throw new Error('the tests are of the wasm engine')
const { module: engineModule } = engine

interface Trial extends ShortCalls {
  /** how many calls had an outcome */
  readonly counted: () => Promise<Readonly<Record<string, number>>>
  nowMs: number
  headHeight: number
  context: () => RpcContext
  client: string
}

/** Short calls on the node, whose engine is loaded and whose clock stands. */
async function trialOf(
  options: Partial<ShortCallsOptions> = {},
  onNode = node,
  lightPrecompiles: readonly StatefulPrecompile[] = [],
): Promise<Trial> {
  const registry = new Registry()
  const metrics = createSocketMetrics(registry)
  const shortEngine = createWasmEngine(engineModule, { hashSeed: 1n })
  const shortCalls = createShortCalls({
    chain: { ...node.chain, registeredPrecompiles: [hexToBytes(constant)] },
    lease: () => ({ context: trial.context(), release: () => undefined }),
    headHeight: () => trial.headHeight,
    openEngine: async () => ({ engine: shortEngine, lightPrecompiles }),
    nowMs: () => trial.nowMs,
    onError: (error) => {
      throw error
    },
    metrics,
    ...options,
  })
  // One view for all calls on a head, as a feed gives it.
  const context = onNode.context()
  const trial: Trial = {
    tryCall: (method, params, scope) => shortCalls.tryCall(method, params, { ...scope, client: trial.client }),
    counted: async () => {
      const { values } = await metrics.shortCallsTotal.get()
      return Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]))
    },
    nowMs: 0,
    headHeight: 2,
    context: () => context,
    client: 'somebody',
  }
  expect(shortCalls.tryCall(call, [{ to: echo }], OWN_SCOPE)).toBeUndefined()
  await nextTurn()
  return trial
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** What a call gives, or the error that it is answered with; undefined: it is left to a view thread. */
function tried(shortCalls: ShortCalls, ...params: readonly unknown[]): unknown {
  try {
    const text = shortCalls.tryCall(call, params, OWN_SCOPE)
    return text === undefined ? undefined : JSON.parse(text)
  } catch (error) {
    return errorOf(error)
  }
}

async function answered(onNode: MemoryNode, ...params: readonly unknown[]): Promise<unknown> {
  try {
    return await invoke(call, onNode.context(), ...params)
  } catch (error) {
    return errorOf(error)
  }
}

function errorOf(error: unknown): unknown {
  if (!(error instanceof RpcError)) throw error
  const { code, message, data } = error
  return { code, message, data }
}

const from = alice.hex
/** EIP-1167's proxy of the echo. */
const proxyOfEcho = `0x363d3d373d3d3d363d73${echo.slice(2)}5af43d82803e903d91602b57fd5bf3`
const returning = (code: string): string => `0x${code}5f5260205ff3`

describe('answers are those of a view thread', () => {
  test.each<readonly [string, readonly unknown[]]>([
    ['what a contract returns', [{ to: echo, data: '0x0102' }]],
    ['input before data', [{ to: echo, data: '0x0102', input: '0x03' }, 'latest']],
    ['nothing at all', [{ to: echo }, 'finalized', null, null]],
    ['the block by its number', [{ to: environment }, '0x2']],
    ['fees', [{ to: environment, from, gas: '0xf4240', maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x5' }]],
    ['a gas price', [{ to: environment, from, gas: '0xf4240', gasPrice: '0x77359400' }]],
    ['a sender who cannot pay', [{ to: echo, gas: '0xf4240', gasPrice: '0x77359400' }]],
    ['a fee below the base fee', [{ to: echo, from, gasPrice: '0x1' }]],
    ['both kinds of fees', [{ to: echo, from, gasPrice: '0x1', maxFeePerGas: '0x1' }]],
    ['value', [{ to: echo, from, value: '0x10', data: '0x01' }]],
    ['value that the sender does not have', [{ to: echo, value: '0x10' }]],
    ['a revert without a reason', [{ to: reverter }]],
    ['a revert with a reason', [{ to: reverter, data: `0x08c379a0${word(32)}${word(2)}${'6e6f'.padEnd(64, '0')}` }]],
    ['an invalid opcode', [{ to: broken }]],
    ['no code', [{ to: hexOf('99'), data: '0x01' }]],
    ['a creation', [{ data: '0x602a5f5360015ff3' }]],
    ['a creation with a proxy of a contract', [{ data: `0x602d5f8160095f39f3${proxyOfEcho.slice(2)}`, from }]],
    ['init code that reads the block', [{ data: returning('42') }]],
    ['the gas of the call, not of the attempt', [{ data: returning('5a'), gas: '0x30d40' }]],
    ['the gas that a caller has by default', [{ data: returning('5a') }]],
    ['too little gas', [{ to: echo, gas: '0x5207' }]],
    ['gas that runs out in the code', [{ to: counter, gas: '0x5300' }]],
    ['a slot', [{ to: counter }]],
    ['logs, a destruction and a log of it', [{ data: '0x5f5f5fa033ff', from }]],
    ['the hash of a block', [{ data: returning('600140') }]],
    ['the hash of no block', [{ data: returning('600940') }]],
    ['ecrecover', [{ to: precompile(1), data: `0x${word(1).repeat(4)}` }]],
    ['SHA-256', [{ to: precompile(2), data: '0x01' }]],
    ['identity', [{ to: precompile(4), data: '0x0102' }]],
    ['modexp', [{ to: precompile(5), data: `0x${word(1).repeat(3)}020305` }]],
    ['P-256', [{ to: precompile(0x100), data: '0x' }]],
    ['a nonce that is not looked at', [{ to: echo, nonce: '0x7', data: '0x01' }]],
    ['a chain that is another', [{ to: echo, chainId: '0x1' }]],
    ['an address that is none', [{ to: '0x12' }]],
    ['data that is none', [{ to: echo, data: '0x0' }]],
    ['a block that is none', [{ to: echo }, 'newest']],
    ['too many parameters', [{ to: echo }, 'latest', null, null, 1]],
  ])('%s', async (_name, params) => {
    const expected = await answered(node, ...params)
    expect(tried(await trialOf(), ...params)).toEqual(expected)
  })
})

test('the native token answers here, called by clients and by code', async () => {
  const { address } = nativeToken
  const token = bytesToHex(address)
  // Passes its calldata on to the token and returns or reverts as that does.
  const proxy = hexToBytes(`0x365f5f375f5f365f5f73${token.slice(2)}5af13d5f5f3e5f3d91602b57fd5bf3`)
  const chain = { registeredPrecompiles: [address] }
  const withToken = await createMemoryNode({
    accounts: [
      { address: alice.address, balance: 10n ** 18n },
      { address, nonce: 1n, code: Uint8Array.of(0) },
      { address: hexToBytes(echo), nonce: 1n, balance: 7n, code: proxy },
    ],
    chain,
    precompiles: new Map([[bytesKey(address), nativeToken]]),
  })
  const trial = await trialOf({ chain: withToken.chain }, withToken, [nativeToken])
  const dataOf = (selector: string, ...words: readonly string[]): string =>
    `0x${selector}${words.map((value) => value.replace('0x', '').padStart(64, '0')).join('')}`
  const data = [
    dataOf('06fdde03'),
    dataOf('18160ddd'),
    dataOf('70a08231', alice.hex),
    dataOf('dd62ed3e', alice.hex, echo),
    dataOf('a9059cbb', alice.hex, '0x5'),
    dataOf('a9059cbb', alice.hex, '0xffff'),
    dataOf('095ea7b3', echo, '0x5'),
    dataOf('23b872dd', alice.hex, echo, '0x5'),
    dataOf('d0e30db0'),
    dataOf('ffffffff'),
    '0x70a08231',
  ]
  for (const to of [token, echo]) {
    for (const input of data) {
      const request = { to, input, from: echo }
      expect(tried(trial, request), `${to} ${input}`).toEqual(await answered(withToken, request))
    }
  }
  expect(await trial.counted()).toEqual({ loading: 1, here: 2 * data.length })
})

describe('left to a view thread are', () => {
  test.each<readonly [string, string, readonly unknown[]]>([
    ['unfit', 'overrides of the state', [{ to: echo }, 'latest', {}]],
    ['unfit', 'overrides of the block', [{ to: echo }, 'latest', null, {}]],
    ['unfit', 'another block', [{ to: echo }, '0x1']],
    ['unfit', 'the pending block', [{ to: echo }, 'pending']],
    ['unfit', 'a block by its hash', [{ to: echo }, `0x${word(1)}`]],
    ['unfit', 'an access list', [{ to: echo, accessList: [] }]],
    ['unfit', 'authorizations', [{ to: echo, authorizationList: [] }]],
    ['unfit', 'blobs', [{ to: echo, blobVersionedHashes: [] }]],
    ['unfit', 'long data', [{ to: echo, data: `0x${'00'.repeat(8_193)}` }]],
    ['unfit', 'no request', []],
    ['work', 'code that takes long', [{ to: loop }]],
    ['work', 'code that calls what takes long', [{ to: forwarder, data: `0x${loop.slice(2).padStart(64, '0')}` }]],
    ['precompile', "the chain's precompiles", [{ to: constant }]],
    ['precompile', 'code that calls them', [{ to: forwarder, data: `0x${constant.slice(2).padStart(64, '0')}` }]],
    ['precompile', 'costly precompiles', [{ to: precompile(0xf), data: `0x${'00'.repeat(384)}` }]],
  ])('%s: %s', async (outcome, _name, params) => {
    const trial = await trialOf()
    expect(tried(trial, ...params)).toBeUndefined()
    expect(await trial.counted()).toEqual({ loading: 1, [outcome]: 1 })
    // What was dropped has left nothing behind.
    expect(tried(trial, { to: echo, data: '0x07' })).toBe('0x07')
  })

  test('calls that need rules which the engine does not have', async () => {
    const trial = await trialOf({ chain: { ...node.chain, forks: [{ height: 0, fork: 'shanghai' }] } })
    expect(tried(trial, { to: echo })).toBeUndefined()
  })

  test('calls of clients who are gone', async () => {
    const trial = await trialOf()
    expect(trial.tryCall(call, [{ to: echo }], { ...OWN_SCOPE, signal: AbortSignal.abort() })).toBeUndefined()
  })

  test('all, where the engine cannot be loaded', async () => {
    const errors: unknown[] = []
    const trial = await trialOf({
      openEngine: () => Promise.reject(new Error('no engine')),
      onError: (error) => errors.push(error),
    })
    expect(tried(trial, { to: echo })).toBeUndefined()
    expect(errors).toHaveLength(1)
  })

  test('what reads too much of the state, until its caches have it', async () => {
    const trial = await trialOf({ limits: { reads: 2 } })
    const { view, ...rest } = node.context()
    const known = new Set<string>()
    const state = view.stateAt(2)
    const stateAt = (_: number, onRead = () => undefined) => ({
      ...state,
      getAccount: (address: Uint8Array) => {
        const key = String(address)
        if (!known.has(key)) onRead()
        known.add(key)
        return state.getAccount(address)
      },
      getCode: (hash: Uint8Array) => state.getCode(hash),
      getNative: (key: Uint8Array) => state.getNative(key),
    })
    const context = { ...rest, view: { ...view, stateAt } } as RpcContext
    trial.context = () => context
    const ask = () => tried(trial, { to: forwarder, data: `0x${echo.slice(2).padStart(64, '0')}` })
    const tries = Array.from({ length: 5 }, ask)
    expect(tries[0]).toBeUndefined()
    expect(tries.at(-1)).toBe('0x')
    expect((await trial.counted())['reads']).toBeLessThan(4)
  })
})

describe('budgets', () => {
  const long = { to: loop, data: '0x01020304' }

  test('what has taken long is not tried again for some blocks, whoever calls it', async () => {
    const trial = await trialOf()
    tried(trial, long)
    trial.client = 'another'
    tried(trial, { ...long, data: '0x0102030405' })
    expect(await trial.counted()).toEqual({ loading: 1, work: 1, long: 1 })
    trial.headHeight = 31
    tried(trial, long)
    expect(await trial.counted()).toEqual({ loading: 1, work: 1, long: 2 })
    trial.headHeight = 32
    tried(trial, long)
    // Another function of the contract may be short.
    tried(trial, { ...long, data: '0x05060708' })
    expect(await trial.counted()).toEqual({ loading: 1, work: 3, long: 2 })
  })

  test('a client whose attempts are in vain has no more of them until the next block', async () => {
    const trial = await trialOf({ limits: { clientDrops: 3 } })
    const another = (selector: number) => tried(trial, { to: loop, data: `0x0000000${selector}` })
    for (let selector = 0; selector < 5; selector++) another(selector)
    expect(await trial.counted()).toEqual({ loading: 1, work: 3, client: 2 })
    expect(tried(trial, { to: echo })).toBeUndefined()
    trial.client = 'another'
    expect(tried(trial, { to: echo })).toBe('0x')
    trial.client = 'somebody'
    trial.headHeight = 3
    expect(tried(trial, { to: echo })).toBe('0x')
  })

  test('a turn of the event loop has time for some, and the next turn for others', async () => {
    const trial = await trialOf()
    const ask = () => tried(trial, { to: echo, data: '0x01' })
    expect(ask()).toBe('0x01')
    trial.nowMs += 10
    // At 3,000 gas and a little each, a machine that is slow has not done much yet.
    const rest = Array.from({ length: 120 }, ask)
    const here = rest.indexOf(undefined)
    expect(here).toBeGreaterThan(90)
    expect(here).toBeLessThan(100)
    expect(rest.slice(here).every((answer) => answer === undefined)).toBe(true)
    await nextTurn()
    expect(ask()).toBe('0x01')
    trial.nowMs += 10
    const costly = Array.from({ length: 8 }, (_, selector) => tried(trial, { to: loop, data: `0x0000000${selector}` }))
    expect(costly.every((answer) => answer === undefined)).toBe(true)
    expect(await trial.counted()).toMatchObject({ here: here + 2, work: 6, busy: 122 - here })
  })

  test('while the time of a turn lasts, any number may run', async () => {
    const trial = await trialOf()
    const ask = () => tried(trial, { to: echo, data: '0x01' })
    expect(Array.from({ length: 200 }, ask).every((answer) => answer === '0x01')).toBe(true)
  })
})

test('a new head is seen at once', async () => {
  const trial = await trialOf()
  const [, , latest] = [0, 1, 2].map((height) => node.blocks[height]!.header.number)
  expect(BigInt(tried(trial, { data: returning('43') }) as string)).toBe(BigInt(latest!))
  const older = await createContractNode()
  await older.produce([])
  const context = older.context()
  trial.context = () => context
  trial.headHeight = 3
  expect(BigInt(tried(trial, { data: returning('43') }) as string)).toBe(3n)
})

test('the precompiles that drop an attempt are those of a view thread', async () => {
  for (const address of precompileTable([]).keys()) {
    const trial = await trialOf()
    expect(tried(trial, { to: `0x${Buffer.from(address, 'latin1').toString('hex')}` })).toBeUndefined()
    expect(await trial.counted()).toEqual({ loading: 1, precompile: 1 })
  }
})

test('a flood of long calls of one client leaves the short ones and other methods of others where they are', async () => {
  const trial = await trialOf()
  const asked: string[] = []
  const thread = createTestThread(node, {
    shortCalls: trial,
    views: {
      call: async (queue, method) => {
        asked.push(`${queue} ${method}`)
        return '"0xfe"'
      },
    },
  })
  const ask = (id: number, to: string, data: string) =>
    thread.ask({ jsonrpc: '2.0', id, method: 'eth_call', params: [{ to, data }, 'latest'] })
  const flood = Array.from({ length: 100 }, (_, id) => ask(id, loop, `0x${String(id).padStart(8, '0')}`))
  trial.client = 'another'
  const short = ask(1, echo, '0x05')
  const read = thread.ask({ jsonrpc: '2.0', id: 2, method: 'eth_blockNumber' })
  expect(await Promise.race([...flood.slice(-1), short])).toMatchObject({ result: '0x05' })
  expect(await read).toMatchObject({ result: '0x2' })
  await Promise.all(flood)
  expect(asked).toEqual(Array(100).fill('heavy eth_call'))
  expect(await trial.counted()).toMatchObject({ here: 1, work: 64, client: 36 })
})
