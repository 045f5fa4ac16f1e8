import { describe, expect, it } from 'vitest'
import type { Hardfork } from '../../../../src/chain/genesis/hardfork.ts'
import { chooseEngine, createEngine } from '../../../../src/evm/engines/createEngine.ts'
import { applyCall } from '../../../../src/evm/transition.ts'
import { callOf, contextOn, stateWith } from '../../../support/evm/evmFixture.ts'

const OPTIONS = { hashSeed: 7n }

describe('createEngine', () => {
  it.each(['wasm', 'reference'] as const)('makes the %s engine', async (kind) => {
    expect((await createEngine(await chooseEngine(kind), OPTIONS)).name).toBe(kind)
  })

  // PUSH0 is Shanghai's, MCOPY Cancun's
  it.each<[Hardfork, string | undefined]>([
    ['london', 'invalid opcode: opcode 0x5f not defined'],
    ['shanghai', 'invalid opcode: opcode 0x5e not defined'],
    ['cancun', undefined],
    ['prague', undefined],
    ['osaka', undefined],
  ])('runs the rules of %s, whichever engine knows them', async (fork, failure) => {
    const engine = await createEngine(await chooseEngine('wasm'), OPTIONS)
    const outcome = await applyCall({ ...contextOn(stateWith('0x5f5f5f5e'), { fork, engine }), call: callOf() })
    expect(outcome).toMatchObject({ kind: 'applied', failure })
  })
})
