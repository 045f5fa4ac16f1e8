import { describe, expect, it } from 'vitest'
import type { Engine } from '../../../src/evm/engine.ts'
import { OP } from '../../../src/evm/opcodes.ts'
import { BROKEN_ENGINES } from '../../fuzz/brokenEngines.ts'
import { findDifference } from '../../fuzz/findDifference.ts'
import { type FuzzCase, formatCase, parseCase } from '../../fuzz/fuzzCase.ts'
import { generateCase } from '../../fuzz/generateCase.ts'
import { investigate } from '../../fuzz/investigate.ts'
import { minimise } from '../../fuzz/minimise.ts'
import { createTestEngine } from '../../testEngines.ts'

/** The seed and number of cases with which each of these faults is found. */
const SEED = 1
const MOST_CASES = 800

const wasm = await createTestEngine('wasm')

async function firstDifference(
  engines: readonly [Engine, Engine],
): Promise<{ index: number; fuzzCase: FuzzCase } | undefined> {
  for (let index = 0; index < MOST_CASES; index++) {
    const fuzzCase = generateCase(SEED, index)
    if ((await findDifference(fuzzCase, engines)).length > 0) return { index, fuzzCase }
  }
  return undefined
}

describe('the fuzzer', () => {
  it('makes the same case of the same seed and number, and other cases of others', () => {
    const text = (seed: number, index: number) => formatCase(generateCase(seed, index))
    expect(text(7, 42)).toBe(text(7, 42))
    expect(new Set([text(7, 42), text(7, 43), text(8, 42), text(8, 43), text(2 ** 32 + 7, 42)]).size).toBe(5)
  })

  it('makes cases of every kind', () => {
    const kinds = new Set(Array.from({ length: 3_000 }, (_, index) => generateCase(SEED, index).kind))
    expect([...kinds].sort()).toEqual([
      'arithmetic',
      'bytecode',
      'compiled',
      'deep',
      'large',
      'many',
      'mutated',
      'precompile',
      'reverts',
      'structured',
    ])
  })

  it('reads the cases that it writes', () => {
    for (let index = 0; index < 50; index++) {
      const fuzzCase = generateCase(SEED, index)
      expect(formatCase(parseCase(formatCase(fuzzCase)))).toBe(formatCase(fuzzCase))
    }
  })

  it.each(Object.keys(BROKEN_ENGINES))('finds %s', async (fault) => {
    expect(await firstDifference([wasm, BROKEN_ENGINES[fault]!()])).toBeDefined()
  })

  it('minimises what it finds, and names the opcode', async () => {
    const engines = [wasm, BROKEN_ENGINES['ADDMOD that loses the carry']!()] as const
    const found = (await firstDifference(engines))!
    const differs = async (candidate: FuzzCase) => (await findDifference(candidate, engines)).length > 0
    const smallest = await minimise(found.fuzzCase, differs)
    expect(await differs(smallest)).toBe(true)
    const neededBytes = ({ accounts }: FuzzCase) =>
      accounts.flatMap(({ code }) => [...code]).filter((byte) => byte !== OP.JUMPDEST).length
    expect(neededBytes(smallest)).toBeLessThan(neededBytes(found.fuzzCase) / 3)
    expect(await investigate(smallest, engines)).toMatch(/last common step: .* ADDMOD /)
  })
})
