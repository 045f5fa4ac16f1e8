import { keccak256, type TransactionSerializable } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import type { Engine } from '../../../src/evm/engine.ts'
import { createReferenceEngine } from '../../../src/evm/engines/reference/referenceEngine.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { StateReadError } from '../../../src/state/reader.ts'
import { BROKEN_ENGINES } from '../../fuzz/brokenEngines.ts'
import { productionEngine } from '../../support/evm/productionEngine.ts'
import {
  createTestChain,
  type TestChain,
  type TestChainOptions,
  WALLET_KEY,
} from '../../support/execution/testChain.ts'

const account = privateKeyToAccount(WALLET_KEY)
const BASE = {
  chainId: 76287,
  type: 'eip1559',
  to: null,
  gas: 200_000n,
  maxFeePerGas: 10n ** 10n,
  maxPriorityFeePerGas: 10n ** 9n,
} as const

async function sign(nonce: number, fields: Partial<TransactionSerializable>): Promise<Uint8Array> {
  return hexToBytes(await account.signTransaction({ ...BASE, nonce, ...fields } as TransactionSerializable))
}

/** Init code. */
const HARMLESS = '0x60015f5560aa5f5360015fa0'
/** Stores (2^256 - 1 + 2) mod 5 and logs nothing: with a lost carry another number, at the same price. */
const STORES_ADDMOD = `0x600560027f${'ff'.repeat(32)}085f55` as const
/** Makes a creation that fails, and then a log. */
const LOGS_AFTER_REVERT = '0x60fd5f5360015f5ff0505f5fa0'

let chains: TestChain[] = []

async function start(options: TestChainOptions): Promise<TestChain> {
  const chain = await createTestChain({}, options)
  chains.push(chain)
  return chain
}

afterEach(async () => {
  for (const chain of chains) await chain.close()
  chains = []
})

/** Tries to build a block of these transactions, and to execute it as another node's; the reports. */
async function reportsOf(shadow: Engine, raws: readonly Uint8Array[]): Promise<string[]> {
  const chain = await start({ shadow })
  await chain.produce()
  const reports: string[] = []
  for (const asGiven of [false, true]) {
    const error = await chain.produce(raws, { asGiven }).then(
      () => undefined,
      (reason: Error) => reason,
    )
    expect(error?.name).toBe('ShadowMismatchError')
    reports.push(error!.message)
  }
  expect(chain.executor.head().header.number).toBe(1)
  return reports
}

describe('blocks executed on two engines', () => {
  it('are those of one engine when both agree', async () => {
    const raws = await Promise.all([
      sign(0, { data: HARMLESS }),
      sign(1, { data: '0x5f5ffd' }),
      sign(2, { data: STORES_ADDMOD }),
      sign(3, { to: '0x00000000000000000000000000000000000000aa', value: 7n }),
      sign(9, { data: HARMLESS }),
    ])
    const alone = await start({})
    const shadowed = await start({ shadow: createReferenceEngine() })
    for (const chain of [alone, shadowed]) {
      await chain.produce()
      await chain.produce(raws)
      // the last one cannot start, and its block says so
      await chain.produce([await sign(7, { data: HARMLESS })], { asGiven: true })
    }
    expect(shadowed.executor.head().header.gasUsed).toBe(0n)
    expect(bytesToHex(shadowed.executor.head().hash)).toBe(bytesToHex(alone.executor.head().hash))
  })

  it('are not committed when a transaction gives different logs', async () => {
    const shadow = BROKEN_ENGINES['a log that a revert before it swallows']!()
    const bad = await sign(1, { data: LOGS_AFTER_REVERT })
    for (const report of await reportsOf(shadow, [await sign(0, { data: HARMLESS }), bad])) {
      expect(report).toContain(
        `the engines wasm and reference differ in block 2, transaction ${keccak256(bytesToHex(bad))}\nlogs: 0x`,
      )
      expect(report).toContain('no step differs')
    }
  })

  it('are not committed when only the state differs, and the report finds the transaction and the step', async () => {
    const shadow = BROKEN_ENGINES['ADDMOD that loses the carry']!()
    const bad = await sign(1, { data: STORES_ADDMOD })
    const raws = [await sign(0, { data: HARMLESS }), bad, await sign(2, { data: HARMLESS })]
    for (const report of await reportsOf(shadow, raws)) {
      const [head, difference, , last, ...engines] = report.split('\n')
      expect(head).toBe(`the engines wasm and reference differ in block 2, transaction ${keccak256(bytesToHex(bad))}`)
      expect(difference).toMatch(/^account 0x[0-9a-f]{40} slot 0x0{64}: 0x02 and 0x01$/)
      expect(last).toContain('pc 37 ADDMOD')
      expect(engines).toEqual([
        expect.stringMatching(/^then wasm: .* top first\) 0x2$/),
        expect.stringMatching(/^then reference: .* top first\) 0x1$/),
      ])
    }
  })

  it('are not committed when the second engine breaks', async () => {
    const reference = createReferenceEngine()
    const shadow: Engine = {
      name: 'reference',
      run: (message, environment) => {
        if (message.to === undefined) throw new Error('it broke')
        return reference.run(message, environment)
      },
    }
    const raw = await sign(0, { data: HARMLESS })
    for (const report of await reportsOf(shadow, [raw])) {
      expect(report).toContain(
        `differ in block 2, transaction ${keccak256(bytesToHex(raw))}\nreference threw Error: it broke`,
      )
    }
  })

  it('fail as any block does when the state cannot be read', async () => {
    const shadow: Engine = {
      name: 'reference',
      run: async (message, environment) => {
        if (message.to === undefined) throw new StateReadError(new Error('a bad disk'))
        return productionEngine.run(message, environment)
      },
    }
    const chain = await start({ shadow })
    await expect(chain.produce([await sign(0, { data: HARMLESS })])).rejects.toThrow(StateReadError)
  })
})
