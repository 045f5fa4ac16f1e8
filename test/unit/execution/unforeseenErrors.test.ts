import fc from 'fast-check'
import { keccak256, type TransactionSerializable } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { entryHash } from '../../../src/chain/block/entries.ts'
import type { Engine } from '../../../src/evm/engine.ts'
import { EngineTrapError } from '../../../src/evm/engines/errorKinds.ts'
import { createReferenceEngine } from '../../../src/evm/engines/reference/referenceEngine.ts'
import { type BlockHooks, MODULE_HOOKS } from '../../../src/execution/blockHooks.ts'
import type { UnforeseenReport } from '../../../src/execution/unforeseenError.ts'
import { MsgSend } from '../../../src/modules/bank/messages.ts'
import { NATIVE_TOKEN_ADDRESS } from '../../../src/modules/bank/precompile/nativeToken.ts'
import { MESSAGES } from '../../../src/modules/messageTable.ts'
import { moduleStoreKey } from '../../../src/modules/storeKey.ts'
import { precompileTable } from '../../../src/precompiles/registry.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { bytesKey, bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { StateReadError } from '../../../src/state/reader.ts'
import type { WorldState } from '../../../src/state/world.ts'
import { anyOf, signTestTransaction } from '../../native/signTransaction.ts'
import { runs } from '../../propertyRuns.ts'
import { productionEngine } from '../../support/evm/productionEngine.ts'
import {
  createTestChain,
  type TestChain,
  type TestChainOptions,
  WALLET,
  WALLET_KEY,
} from '../../support/execution/testChain.ts'

const KEYS = [1, 2, 3, 4].map((last) => `0x${'00'.repeat(31)}0${last}` as const)
const ACCOUNTS = KEYS.map((key) => privateKeyToAccount(key))
const RECEIVER = '0x00000000000000000000000000000000000000aa'
const DEFECTIVE = '0x0000000000000000000000000000000000000bad'
/** A native transaction that sends this comes upon a bug. */
const DEFECTIVE_AMOUNT = 666n
/** Init code that only stops: plain transfers need no engine. */
const STOPS = '0x00'
/** Init code: SSTORE(0, 1), then a call of the defective precompile with all gas, whose failure it ignores. */
const CALLS_PRECOMPILE = `0x60015f555f5f5f5f5f73${DEFECTIVE.slice(2)}5af100` as const
const FEES = { chainId: 76287, type: 'eip1559', maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n } as const

let chains: TestChain[] = []

/** A chain whose first block gives each account coins. */
async function start(options: TestChainOptions = {}): Promise<{ chain: TestChain; reports: UnforeseenReport[] }> {
  const reports: UnforeseenReport[] = []
  const chain = await createTestChain({}, { unforeseen: (report) => reports.push(report), ...options })
  chains.push(chain)
  const wallet = privateKeyToAccount(WALLET_KEY)
  const grants = ACCOUNTS.map(({ address }, nonce) =>
    wallet.signTransaction({ ...FEES, to: address, nonce, value: 10n ** 18n, gas: 21_000n }),
  )
  await chain.produce((await Promise.all(grants)).map(hexToBytes))
  expect(reports).toEqual([])
  return { chain, reports }
}

afterEach(async () => {
  vi.restoreAllMocks()
  for (const chain of chains) await chain.close()
  chains = []
})

async function sign(index: number, fields: Partial<TransactionSerializable>): Promise<Uint8Array> {
  const transaction = { ...FEES, nonce: 0, gas: 200_000n, ...fields } as TransactionSerializable
  return hexToBytes(await ACCOUNTS[index]!.signTransaction(transaction))
}

const transfer = (index: number): Promise<Uint8Array> => sign(index, { to: RECEIVER, value: 5n, gas: 21_000n })

function nativeSend(index: number, amount: bigint): Uint8Array {
  const fromAddress = toBech32(hexToBytes(ACCOUNTS[index]!.address))
  const message = { fromAddress, toAddress: toBech32(WALLET), amount: [{ denom: 'acoin', amount }] }
  const signers = [{ privateKey: hexToBytes(KEYS[index]!), sequence: 0 }]
  return signTestTransaction({ messages: [anyOf(MsgSend, message)], signers, gasLimit: 100_000n })
}

/** Changes the world in many ways and leaves it in the middle of them. */
function mess(world: WorldState): void {
  world.checkpoint()
  world.addBalance(WALLET, 1n)
  world.setStorage(NATIVE_TOKEN_ADDRESS, new Uint8Array(32), Uint8Array.of(9))
  world.native.set(moduleStoreKey('bank', Uint8Array.of(99)), Uint8Array.of(1))
  world.emitLog({ address: WALLET, topics: [], data: Uint8Array.of(1) })
  world.checkpoint()
  world.deleteAccount(hexToBytes(RECEIVER))
}

/** Breaks when it runs a creation with this code. */
function brokenEngine(engine: Engine, error: () => Error, code: string = STOPS): Engine {
  return {
    name: engine.name,
    run: async (message, environment) => {
      if (message.to !== undefined || bytesToHex(message.data) !== code) return engine.run(message, environment)
      mess(environment.world)
      throw error()
    },
  }
}

function breakingPrecompile(): TestChainOptions['precompiles'] {
  const address = hexToBytes(DEFECTIVE)
  const run = ({ world }: { world: WorldState }) => {
    mess(world)
    throw new TypeError('a bug')
  }
  return new Map([...precompileTable([]), [bytesKey(address), { address, run }]])
}

/** Lets the handler of MsgSend come upon a bug after half of its work. */
function breakHandler(): void {
  const handler = MESSAGES.get(MsgSend.typeUrl)!
  const run = handler.run.bind(handler)
  vi.spyOn(handler, 'run').mockImplementation((context, value) => {
    const result = run(context, value)
    if ((value as { amount: { amount: bigint }[] }).amount[0]!.amount !== DEFECTIVE_AMOUNT) return result
    mess(context.world)
    throw new TypeError('a bug')
  })
}

const aBug = () => new TypeError('a bug')

/** Where a bug can be, with a transaction of the account 1 that comes upon it. */
const BUGS: [string, () => TestChainOptions, () => Promise<Uint8Array> | Uint8Array][] = [
  [
    'in the WebAssembly engine',
    () => ({ engine: brokenEngine(productionEngine, aBug) }),
    () => sign(1, { to: undefined, data: STOPS }),
  ],
  [
    'that traps the engine',
    () => ({ engine: brokenEngine(productionEngine, () => new EngineTrapError('it broke', new Error('unreachable'))) }),
    () => sign(1, { to: undefined, data: STOPS }),
  ],
  [
    'in a precompile that a contract calls',
    () => ({ precompiles: breakingPrecompile()! }),
    () => sign(1, { to: undefined, data: CALLS_PRECOMPILE }),
  ],
  [
    'in a precompile, on the reference engine',
    () => ({ precompiles: breakingPrecompile()!, engine: createReferenceEngine() }),
    () => sign(1, { to: undefined, data: CALLS_PRECOMPILE }),
  ],
  ['in the handler of a native message', () => ({}), () => nativeSend(1, DEFECTIVE_AMOUNT)],
]

describe.each(BUGS)('a transaction that comes upon a bug %s', (_name, options, makeBad) => {
  it('is left out of a proposal without a trace, dropped from the pool, and not tried again', async () => {
    breakHandler()
    const dropped: string[] = []
    const unexecutable = (hashes: readonly Uint8Array[]) => void dropped.push(...hashes.map(bytesToHex))
    const { chain, reports } = await start({ ...options(), unexecutable })
    const healthy = await start()
    const bad = await makeBad()
    const good = [await transfer(0), nativeSend(2, 7n), await sign(3, { to: undefined, data: '0x60015f5500' })]
    const { block } = await chain.produce([good[0]!, bad, good[1]!, good[2]!])
    expect(block.txs).toEqual(good)
    expect(reports).toEqual([
      { place: 'build', height: 2, transaction: entryHash(bad), error: expect.any(Error) as unknown },
    ])
    expect(dropped).toEqual([bytesToHex(entryHash(bad))])
    await healthy.chain.produce(good)
    expect(bytesToHex(chain.executor.head().hash)).toBe(bytesToHex(healthy.chain.executor.head().hash))
    // Somebody sends it again.
    expect((await chain.propose([bad]))?.txs).toEqual([])
    expect(reports.length).toBe(1)
    expect(dropped.length).toBe(2)
  })

  it('gets no vote for its block, and the node halts only when that is decided', async () => {
    breakHandler()
    const { chain, reports } = await start(options())
    const { application, head } = chain.executor
    const bad = await makeBad()
    const transaction = entryHash(bad)
    const decided = await chain.decide([await transfer(0), bad])
    expect(await application.processProposal(decided.block)).toBeUndefined()
    expect(reports).toMatchObject([{ place: 'check', height: 2, transaction }])
    const error = await application.finalizeBlock(decided).catch((reason: Error) => reason)
    expect(error).toMatchObject({ name: 'DecidedBlockError' })
    for (const text of ['block 2', bytesToHex(transaction), 'unforeseenErrors.test.ts', 'Start the node again once']) {
      expect((error as Error).message).toContain(text)
    }
    expect(reports[1]).toMatchObject({ place: 'decided', height: 2, transaction })
    expect(head().header.number).toBe(1)
    // Another block of the same height is decided instead.
    await chain.produce([await transfer(0)], { asGiven: true })
    expect(head().header.number).toBe(2)
  })
})

it('a block that could not be checked is executed again when it is decided', async () => {
  let isBroken = true
  const broken = brokenEngine(productionEngine, aBug)
  const run: Engine['run'] = (...args) => (isBroken ? broken : productionEngine).run(...args)
  const { chain } = await start({ engine: { name: 'wasm', run } })
  const decided = await chain.decide([await sign(1, { to: undefined, data: STOPS })])
  expect(await chain.executor.application.processProposal(decided.block)).toBeUndefined()
  isBroken = false
  await chain.executor.application.finalizeBlock(decided)
  expect(chain.executor.head().header.gasUsed).toBeGreaterThan(0n)
})

describe.each<[string, (error: Error) => TestChainOptions]>([
  ['the begin of a block', (error) => ({ hooks: breakingHooks('begin', error) })],
  ['the end of a block', (error) => ({ hooks: breakingHooks('end', error) })],
  ['a system call', (error) => ({ engine: breakingSystemCalls(error) })],
])('a bug at %s', (_name, options) => {
  it('costs a proposal, then a vote, and halts the node only in a decided block', async () => {
    const { chain, reports } = await start(options(aBug()))
    const { application, head } = chain.executor
    expect(await chain.propose([await transfer(0)])).toBeUndefined()
    const decided = await chain.decide([await transfer(0)])
    expect(await application.processProposal(decided.block)).toBeUndefined()
    await expect(application.finalizeBlock(decided)).rejects.toThrow(/block 2 was decided.*outside of its transactions/)
    expect(reports.map(({ place, transaction }) => [place, transaction])).toEqual([
      ['build', undefined],
      ['check', undefined],
      ['decided', undefined],
    ])
    expect(head().header.number).toBe(1)
  })

  it('is no matter of places when this machine fails', async () => {
    const error = new StateReadError(new Error('a bad disk'))
    const { chain, reports } = await start(options(error))
    const { application } = chain.executor
    const decided = await chain.decide([])
    await expect(chain.propose([])).rejects.toBe(error)
    await expect(application.processProposal(decided.block)).rejects.toBe(error)
    await expect(application.finalizeBlock(decided)).rejects.toBe(error)
    expect(reports).toEqual([])
  })
})

/** Hooks that work in the first block only. */
function breakingHooks(name: keyof BlockHooks, error: Error): BlockHooks {
  const broken = (run: (world: WorldState) => never) => ({ ...MODULE_HOOKS, [name]: run })
  const hooks = broken((world) => {
    mess(world)
    throw error
  })
  return {
    ...MODULE_HOOKS,
    begin: (world, start) => (start.height === 1 ? MODULE_HOOKS : hooks).begin(world, start),
    end: (world, block) => (block.height === 1 ? MODULE_HOOKS : hooks).end(world, block),
  }
}

function breakingSystemCalls(error: Error): Engine {
  return {
    name: 'wasm',
    run: async (message, environment) => {
      const isSystem = bytesToHex(message.caller) === '0xfffffffffffffffffffffffffffffffffffffffe'
      if (isSystem && environment.block.number > 1) throw error
      return productionEngine.run(message, environment)
    },
  }
}

describe('what a transaction did before it came upon a bug', () => {
  it('is gone, whatever it was', async () => {
    const marker = '0x5b00'
    let script: readonly number[] = []
    const engine: Engine = {
      name: 'wasm',
      run: async (message, environment) => {
        const isBad = message.to === undefined && bytesToHex(message.data) === marker
        if (!isBad) return productionEngine.run(message, environment)
        for (const step of script) act(environment.world, step)
        throw aBug()
      },
    }
    const { chain } = await start({ engine })
    const healthy = await start()
    let height = 1
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(STEPS.length - 1), { maxLength: 30 }), async (steps) => {
        script = steps
        const nonce = height++ - 1
        const gasPrice = { maxFeePerGas: 10n ** 10n + BigInt(nonce) }
        const bad = await sign(1, { to: undefined, data: marker, ...gasPrice })
        const good = [
          await sign(0, { to: RECEIVER, value: 5n, nonce }),
          await sign(2, { to: undefined, data: '0x60015f5500', nonce }),
        ]
        await chain.produce([good[0]!, bad, good[1]!])
        await healthy.chain.produce(good)
        expect(bytesToHex(chain.executor.head().hash)).toBe(bytesToHex(healthy.chain.executor.head().hash))
      }),
      { numRuns: runs(20) },
    )
  })
})

const SLOT = new Uint8Array(32).fill(1)
const PLACES = [WALLET, hexToBytes(RECEIVER), NATIVE_TOKEN_ADDRESS, hexToBytes(ACCOUNTS[0]!.address)]
const KEY = moduleStoreKey('bank', Uint8Array.of(98))

/** What a transaction can do to the world, at each of the places. */
const STEPS: ((world: WorldState) => void)[] = [
  (world) => world.checkpoint(),
  (world) => closeIfOpen(() => world.commit()),
  (world) => closeIfOpen(() => world.revert()),
  (world) => world.native.set(KEY, Uint8Array.of(1)),
  (world) => world.native.delete(KEY),
  ...PLACES.flatMap((place) => [
    (world: WorldState) => world.addBalance(place, 3n),
    (world: WorldState) => world.setBalance(place, 0n),
    (world: WorldState) => world.setNonce(place, 9n),
    (world: WorldState) => world.setCode(place, Uint8Array.of(0)),
    (world: WorldState) => world.setStorage(place, SLOT, Uint8Array.of(7)),
    (world: WorldState) => world.clearStorage(place),
    (world: WorldState) => world.deleteAccount(place),
    (world: WorldState) => world.markSelfDestructed(place),
    (world: WorldState) => world.touch(place),
  ]),
]

function act(world: WorldState, step: number): void {
  STEPS[step]!(world)
}

/** A bug may close more checkpoints than it opened: the one around the transaction stays. */
function closeIfOpen(close: () => void): void {
  try {
    close()
  } catch (error) {
    expect(error).toMatchObject({ message: 'no checkpoint is open' })
  }
}

it('hashes of the reports are those that clients know', async () => {
  const raw = await transfer(0)
  expect(bytesToHex(entryHash(raw))).toBe(keccak256(raw))
})
