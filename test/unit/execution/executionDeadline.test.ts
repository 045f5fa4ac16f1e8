import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import { entryHash } from '../../../src/chain/block/entries.ts'
import { loadEvmModule } from '../../../src/evm/engines/wasm/evmModule.ts'
import { createWasmEngine } from '../../../src/evm/engines/wasm/wasmEngine.ts'
import type { PrecompileTable } from '../../../src/evm/precompile.ts'
import type { StoppedReport } from '../../../src/execution/executionDeadline.ts'
import { moduleStoreKey } from '../../../src/modules/storeKey.ts'
import { precompileTable } from '../../../src/precompiles/registry.ts'
import { bytesKey, bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { productionEngine } from '../../support/evm/productionEngine.ts'
import {
  createTestChain,
  type TestChain,
  type TestChainOptions,
  WALLET_KEY,
} from '../../support/execution/testChain.ts'

const KEYS = [1, 2].map((last) => `0x${'00'.repeat(31)}0${last}` as const)
const SENDERS = KEYS.map((key) => privateKeyToAccount(key))
const RECEIVER = '0x00000000000000000000000000000000000000aa'
const ENDLESS = '0x0000000000000000000000000000000000000bad'
/** Init code that loops until its gas is used up. */
const LOOPS = '0x5b5f56'
const FEES = { chainId: 76287, type: 'eip1559', maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n } as const
/** The most that a transaction may have: it needs several slices of the engine. */
const GAS = 16_000_000n

/** Reads native entries for a million times. */
function endlessPrecompile(): PrecompileTable {
  const address = hexToBytes(ENDLESS)
  const key = moduleStoreKey('bank', Uint8Array.of(99))
  return new Map([
    ...precompileTable([]),
    [
      bytesKey(address),
      {
        address,
        run: ({ world, gasLimit }) => {
          world.addBalance(address, 1n)
          for (let i = 0; i < 1_000_000; i++) world.native.get(key)
          return { status: 'success', output: new Uint8Array(), gasUsed: gasLimit }
        },
      },
    ],
  ])
}

/** It polls a deadline often. */
const engine = createWasmEngine(await loadEvmModule(), { hashSeed: 1n, sliceGas: 10_000n })

const chains: TestChain[] = []
afterEach(async () => {
  for (const chain of chains.splice(0)) await chain.close()
})

/** A chain with a clock that the test can let run, by `step` milliseconds whenever somebody looks at it. */
async function start(options: TestChainOptions = {}) {
  let nowMs = 0
  let step = 0
  const stopped: StoppedReport[] = []
  const dropped: string[] = []
  const chain = await createTestChain(
    {},
    {
      engine,
      now: () => (nowMs += step),
      precompiles: endlessPrecompile(),
      stopped: (report) => stopped.push(report),
      unexecutable: (hashes) => dropped.push(...hashes.map(bytesToHex)),
      ...options,
    },
  )
  chains.push(chain)
  const wallet = privateKeyToAccount(WALLET_KEY)
  const grants = SENDERS.map(({ address }, nonce) =>
    wallet.signTransaction({ ...FEES, to: address, nonce, value: 10n ** 18n, gas: 21_000n }),
  )
  await chain.produce((await Promise.all(grants)).map(hexToBytes))
  const whileRunning = async <T>(milliseconds: number, work: () => Promise<T>): Promise<T> => {
    step = milliseconds
    try {
      return await work()
    } finally {
      step = 0
    }
  }
  return { chain, stopped, dropped, whileRunning }
}

const transfer = async (nonce: number): Promise<Uint8Array> =>
  hexToBytes(await SENDERS[1]!.signTransaction({ ...FEES, to: RECEIVER, value: 5n, gas: 21_000n, nonce }))

const SLOW: [string, { to?: `0x${string}`; data?: `0x${string}` }][] = [
  ['code', { data: LOOPS }],
  ['a precompile of this chain', { to: ENDLESS }],
]

describe.each(SLOW)('a transaction that takes too long in %s', (_, fields) => {
  const slow = async () => hexToBytes(await SENDERS[0]!.signTransaction({ ...FEES, ...fields, nonce: 0, gas: GAS }))

  it('is stopped while a block is built, waits longer after each stop, and is dropped in the end', async () => {
    const { chain, stopped, dropped, whileRunning } = await start()
    const raw = await slow()
    const tried: number[] = []
    for (let nonce = 0; nonce < 60; nonce++) {
      const before = stopped.length
      const others = [await transfer(nonce)]
      const { block } = await whileRunning(100, () => chain.produce([raw, ...others]))
      if (stopped.length > before) tried.push(block.header.height)
      // The time that it took is given to the others once more.
      expect(block.txs.map(bytesToHex)).toEqual(others.map(bytesToHex))
      if (dropped.length > 0) break
    }
    expect(tried).toEqual([2, 6, 14, 30])
    expect(stopped[0]).toEqual({ place: 'build', height: 2, transaction: entryHash(raw) })
    expect(dropped).toEqual([bytesToHex(entryHash(raw))])
  })

  it('stops the check of a block, which is executed all the same when it is decided', async () => {
    const { chain, stopped, whileRunning } = await start()
    const decided = await chain.decide([await slow()])
    const { application } = chain.executor
    expect(await whileRunning(100, () => application.processProposal(decided.block, 1_000))).toBeUndefined()
    expect(stopped).toEqual([{ place: 'check', height: 2, transaction: undefined }])
    await whileRunning(10_000, () => application.finalizeBlock(decided))
    expect(chain.executor.head().header.number).toBe(2)
  })
})

it('a check that has time enough is not stopped', async () => {
  const { chain, stopped } = await start()
  const decided = await chain.decide([await transfer(0)])
  expect(await chain.executor.application.processProposal(decided.block, 250)).toEqual({ accepted: true })
  expect(stopped).toEqual([])
})

it('a deadline is looked at for each million gas of code', async () => {
  let looks = 0
  const now = (): number => {
    looks++
    return 0
  }
  const { chain } = await start({ engine: productionEngine, now })
  const looksFor = async (raw: Uint8Array): Promise<number> => {
    const before = looks
    const { block } = await chain.produce([raw])
    expect(block.txs).toHaveLength(1)
    return looks - before
  }
  const plain = await looksFor(await transfer(0))
  const code = { ...FEES, data: LOOPS, nonce: 0, gas: GAS } as const
  expect(await looksFor(hexToBytes(await SENDERS[0]!.signTransaction(code)))).toBeGreaterThanOrEqual(plain + 15)
})

it('an engine that checks another one may take any time', async () => {
  const { chain, stopped, whileRunning } = await start({ engine: productionEngine, shadow: engine })
  const raw = hexToBytes(await SENDERS[0]!.signTransaction({ ...FEES, data: LOOPS, nonce: 0, gas: 1_000_000n }))
  // The first engine looks at the clock every 1,000,000 gas, the second one every 10,000.
  const { block } = await whileRunning(2_000, () => chain.produce([raw]))
  expect([block.txs.length, stopped]).toEqual([1, []])
})
